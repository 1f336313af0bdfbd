//! What lies in git beside the records: drift, strays, leftovers, strangers (contract.md §3, Inventory).

use serde_json::{Value, json};

use super::lab::*;
use super::open::run_next;

/// A finished record, so that the change is written.
fn finished() -> Lab {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")]).evidence(&["T-01"])]);
    lab
}

#[track_caller]
fn assert_quiet(run: &Run) {
    run.assert_done();
    assert_eq!((run.notes().as_str(), run.warnings().as_str()), ("", ""), "{}", run.text);
}

// ---- what belongs to a record -----------------------------------------------------------------------

#[test]
fn source_and_candidate_that_agree_belong_to_the_record() {
    let lab = finished();
    lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
    lab.worktree(&candidate_path("T-01"), &candidate_branch("T-01"), &lab.m(1));
    assert_quiet(&lab.check(&[]));
}

#[test]
fn branches_without_worktree_belong_by_their_names() {
    let lab = finished();
    lab.branch(&branch_of("T-01"), &lab.m(1));
    // The candidate's tip is in no other branch; only the source's is asked about.
    lab.branch(&candidate_branch("T-01"), &lab.side(&lab.m(1), "candidate"));
    assert_quiet(&lab.check(&[]));
}

#[test]
fn prefix_of_a_recorded_branch_does_not_matter() {
    let lab = Lab::new();
    let record = with(
        v5(&lab, "T-01", "integrated"),
        &[("/branch", json!(format!("refs/heads/{}", branch_of("T-01"))))],
    );
    lab.state(&[Change::v5(vec![record]).evidence(&["T-01"])]);
    lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
    assert_quiet(&lab.check(&[]));
}

#[test]
fn branch_with_a_suffix_belongs_when_the_record_says_so() {
    let lab = Lab::new();
    let record = with(v5(&lab, "T-01", "integrated"), &[("/branch", json!(branch_of("T-01-v2")))]);
    lab.state(&[Change::v5(vec![record]).evidence(&["T-01"])]);
    lab.worktree(&path_of("T-01"), &branch_of("T-01-v2"), &lab.m(1));
    assert_quiet(&lab.check(&[]));
}

#[test]
fn items_that_name_one_change_and_belong_to_a_record_of_another() {
    let lab = Lab::new();
    let moved = with(
        v5(&lab, "T-01", "integrated"),
        &[
            ("/branch", json!(format!("speculo/{OTHER}/T-01"))),
            ("/workspace_ref", json!(format!("specdev-worktree/{OTHER}/T-01"))),
        ],
    );
    lab.state(&[
        Change::v5(vec![moved]).evidence(&["T-01"]),
        Change::v5(vec![v5(&lab, "T-02", "integrated")]).named(OTHER).evidence(&["T-02"]),
    ]);
    lab.worktree(&format!("specdev-worktree/{OTHER}/T-01"), &format!("speculo/{OTHER}/T-01"), &lab.m(1));
    assert_quiet(&lab.check(&[]));
    lab.git(&["worktree", "remove", &format!("specdev-worktree/{OTHER}/T-01")]);
    assert_quiet(&lab.check(&[]));
}

#[test]
fn worktree_and_branch_of_the_change_s_context_belong_to_it() {
    let lab = Lab::new();
    let context = |branch: &str| {
        let context = json!({
            "schema_version": 1, "change": CHANGE, "workspace_policy": "worktree",
            "workspace_ref": format!("specdev-worktree/{CHANGE}"), "branch": branch,
            "base_sha": lab.m(0), "owner": LEAD, "ticket_execution": "auto",
        });
        format!("# R\n\n## Execution Context\n\n```json\n{}```\n", pretty(&context))
    };
    // A plan of version 7 is written; there is no record.
    let plan = "orchestration: lead-directed\nlead: codex:/root\nconcurrent_implementation_limit: 2\nintegration_attempt_limit: 3\n\
                ticket_workspace_policy: current\nintegration_gate: direct-parent\n";
    let branch = format!("speculo/{CHANGE}");
    lab.state(&[Change::v5(vec![]).plan(7, plan).file("README.md", context(&branch))]);
    lab.worktree(&format!("specdev-worktree/{CHANGE}"), &branch, &lab.side(&lab.m(1), "work"));
    let run = lab.check(&[]);
    assert_quiet(&run);
    assert!(run.writes().contains(&in_change("goal-plan.md").as_str()));
    // On another branch it is not the context's any more.
    lab.state(&[Change::v5(vec![]).plan(7, plan).file("README.md", context("main"))]);
    lab.check(&[]).assert_blocked("unrecorded-worktree");
}

// ---- drift ------------------------------------------------------------------------------------------

#[test]
fn recorded_path_on_another_branch_is_drift() {
    let lab = finished();
    lab.worktree(&path_of("T-01"), "elsewhere", &lab.m(1));
    let run = lab.check(&[]);
    run.assert_blocked("worktree-drift");
    let finding = run.one("worktree-drift");
    let message = finding["message"].as_str().unwrap();
    let want = format!(
        "T-01 records {path} on {branch}, but git has {path} on elsewhere",
        path = path_of("T-01"),
        branch = branch_of("T-01")
    );
    assert!(message.starts_with(&want), "{message}");
    assert_eq!(finding["owners"], json!([WORKER, OWNER]));
    assert_eq!(finding["pointer"], "/worktrees/0");
    run_next(&lab, &run, 2);
}

#[test]
fn recorded_path_on_a_detached_head_is_drift() {
    let lab = finished();
    lab.git(&["worktree", "add", "-q", "--detach", &path_of("T-01"), &lab.m(1)]);
    assert!(lab.check(&[]).message("worktree-drift").contains("on a detached HEAD"));
}

#[test]
fn recorded_branch_at_another_path_is_drift() {
    let lab = finished();
    lab.worktree("specdev-worktree/other", &branch_of("T-01"), &lab.m(1));
    let run = lab.check(&[]);
    run.assert_blocked("worktree-drift");
    assert!(run.message("worktree-drift").contains("but git has specdev-worktree/other on speculo/"));
}

#[test]
fn recorded_branch_outside_the_project_is_drift() {
    let lab = finished();
    let path = lab.beside("away");
    lab.worktree(path.to_str().unwrap(), &branch_of("T-01"), &lab.m(1));
    let run = lab.check(&[]);
    run.assert_blocked("worktree-drift");
    assert!(run.message("worktree-drift").contains(path.to_str().unwrap()));
    run_next(&lab, &run, 2);
}

#[test]
fn candidate_that_drifts() {
    let lab = finished();
    lab.worktree(&candidate_path("T-01"), "elsewhere", &lab.m(1));
    assert!(lab.check(&[]).message("worktree-drift").contains(&candidate_path("T-01")));
}

#[test]
fn source_path_on_the_candidate_s_branch_is_drift_and_told_once() {
    let lab = finished();
    lab.worktree(&path_of("T-01"), &candidate_branch("T-01"), &lab.m(1));
    lab.check(&[]).assert_blocked("worktree-drift");
    assert_eq!(lab.check(&[]).all("worktree-drift").len(), 1);
}

#[test]
fn drift_of_an_open_record_is_told_beside_it() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "active")]).evidence(&["T-01"])]);
    lab.worktree(&path_of("T-01"), "elsewhere", &lab.m(1));
    lab.check(&[]).assert_blocked("active-worktree worktree-drift");
}

#[test]
fn path_reached_through_a_link_is_the_same() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")]).evidence(&["T-01"])]);
    let real = lab.beside("real");
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, lab.root.join("specdev-worktree")).unwrap();
    lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
    assert_quiet(&lab.check(&[]));
}

// ---- strays -----------------------------------------------------------------------------------------

#[test]
fn registered_worktree_without_a_record_blocks() {
    let lab = finished();
    lab.worktree(&path_of("T-09"), &branch_of("T-09"), "main");
    let run = lab.check(&[]);
    run.assert_blocked("unrecorded-worktree");
    let finding = run.one("unrecorded-worktree");
    let tip = lab.git(&["rev-parse", "main"]);
    assert_eq!(
        finding["message"],
        format!(
            "registered worktree {} names {CHANGE}, but no record does; it is on branch {}; its tip is {}, \
             0 commits not in the parent branch",
            path_of("T-09"),
            branch_of("T-09"),
            &tip[..12]
        )
    );
    assert_eq!(finding["change"], CHANGE);
    assert_eq!(finding["owners"], json!([LEAD]));
    run_next(&lab, &run, 2);
}

#[test]
fn registered_worktree_whose_folder_is_gone_blocks() {
    let lab = finished();
    lab.worktree(&path_of("T-09"), &branch_of("T-09"), "main");
    std::fs::remove_dir_all(lab.root.join(path_of("T-09"))).unwrap();
    let run = lab.check(&[]);
    run.assert_blocked("unrecorded-worktree");
    run_next(&lab, &run, 1);
}

#[test]
fn worktree_named_by_its_branch_alone_blocks() {
    // As before version 5.
    let lab = finished();
    lab.worktree("specdev-worktree/T-09", &branch_of("T-09"), "main");
    lab.check(&[]).assert_blocked("unrecorded-worktree");
}

#[test]
fn worktree_named_by_its_path_alone_blocks() {
    let lab = finished();
    lab.git(&["worktree", "add", "-q", "--detach", &path_of("T-09"), "main"]);
    lab.check(&[]).assert_blocked("unrecorded-worktree");
}

#[test]
fn worktree_that_names_two_changes_blocks_both() {
    let lab = Lab::new();
    lab.state(&[
        Change::v5(vec![v5(&lab, "T-01", "integrated")]).evidence(&["T-01"]),
        Change::v5(vec![v5(&lab, "T-01", "integrated")]).named(OTHER).evidence(&["T-01"]),
    ]);
    lab.worktree(&path_of("T-09"), &format!("speculo/{OTHER}/T-09"), "main");
    let run = lab.check(&[]);
    let changes: Vec<&Value> = run.all("unrecorded-worktree").iter().map(|f| &f["change"]).collect();
    assert_eq!(changes, [CHANGE, OTHER]);
}

#[test]
fn worktree_of_the_change_itself_blocks() {
    let lab = finished();
    lab.worktree(&format!("specdev-worktree/{CHANGE}"), &format!("speculo/{CHANGE}"), "main");
    lab.check(&[]).assert_blocked("unrecorded-worktree");
}

#[test]
fn branch_with_commits_of_its_own_blocks() {
    for branch in [branch_of("T-09"), candidate_branch("T-09"), format!("speculo/{CHANGE}")] {
        let lab = finished();
        lab.branch(&branch, &lab.side(&lab.side(&lab.m(1), "one"), "two"));
        let run = lab.check(&[]);
        run.assert_blocked("unrecorded-worktree");
        let message = run.message("unrecorded-worktree");
        assert!(message.starts_with(&format!("branch {branch} names {CHANGE}")), "{message}");
        assert!(message.ends_with(", 2 commits not in the parent branch"), "{message}");
    }
}

#[test]
fn branch_with_commits_of_its_own_checked_out_elsewhere_blocks() {
    for elsewhere in [true, false] {
        let lab = finished();
        let tip = lab.side(&lab.m(2), "work");
        if elsewhere {
            let path = lab.beside("away");
            lab.worktree(path.to_str().unwrap(), &branch_of("T-09"), &tip);
        } else {
            lab.branch(&branch_of("T-09"), &lab.side(&lab.git(&["rev-parse", "main"]), "work"));
            lab.git(&["checkout", "-q", &branch_of("T-09")]);
        }
        let run = lab.check(&[]);
        run.assert_blocked("unrecorded-worktree");
        assert!(run.message("unrecorded-worktree").starts_with(&format!("branch {}", branch_of("T-09"))));
    }
}

#[test]
fn branch_that_is_contained_is_a_note() {
    for branch in [branch_of("T-09"), candidate_branch("T-09")] {
        let lab = finished();
        lab.branch(&branch, &lab.m(2));
        let run = lab.upgrade(&[]);
        run.assert_done();
        assert_eq!(run.notes(), "leftover-branch");
        assert!(run.message("leftover-branch").ends_with("all of its commits are in the parent branch"));
    }
}

#[test]
fn containment_is_asked_of_the_records_parent_branch() {
    let lab = Lab::new();
    let record = with(v5(&lab, "T-01", "integrated"), &[("/parent_branch", json!("develop"))]);
    lab.state(&[Change::v5(vec![record]).evidence(&["T-01"])]);
    lab.branch("develop", &lab.side(&lab.m(1), "on develop"));
    lab.branch(&branch_of("T-09"), "develop");
    assert_eq!(lab.check(&[]).notes(), "leftover-branch");
    lab.branch("develop", &lab.m(1));
    lab.check(&[]).assert_blocked("unrecorded-worktree");
}

#[test]
fn stray_of_a_change_that_is_not_written_is_nobody_s_business() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![])]);
    lab.worktree(&path_of("T-09"), &branch_of("T-09"), &lab.side(&lab.m(1), "work"));
    let run = lab.check(&[]);
    run.assert_done();
    assert_eq!(run.notes(), "already-current");
}

#[test]
fn stray_of_a_change_that_is_written_for_another_reason_blocks() {
    let lab = Lab::new();
    lab.state(&[Change::of(3, vec![])]);
    lab.worktree(&path_of("T-09"), &branch_of("T-09"), "main");
    lab.check(&[]).assert_blocked("unrecorded-worktree");
}

#[test]
fn stray_blocks_its_change_alone() {
    let lab = Lab::new();
    lab.state(&[
        Change::v5(vec![v5(&lab, "T-01", "integrated")]).evidence(&["T-01"]),
        Change::v5(vec![v5(&lab, "T-01", "integrated")]).named(OTHER).evidence(&["T-01"]),
    ]);
    lab.worktree(&path_of("T-09"), &branch_of("T-09"), "main");
    let run = lab.upgrade(&["--partial"]);
    run.assert_blocked("unrecorded-worktree");
    assert!(run.writes().iter().all(|p| p.contains(OTHER)), "{:?}", run.writes());
    assert!(lab.exists(&format!("changes/{OTHER}/README.md")) && !lab.exists(&in_change("README.md")));
}

#[test]
fn accounted_lifts_a_stray_by_path_or_by_branch() {
    for name in [
        path_of("T-09"),
        branch_of("T-09"),
        format!("{}/", path_of("T-09")),
        format!("refs/heads/{}", branch_of("T-09")),
    ] {
        let lab = finished();
        lab.worktree(&path_of("T-09"), &branch_of("T-09"), "main");
        let file =
            lab.decided(&format!("schema_version: 1\nchanges:\n  {CHANGE}: {{accounted: [\"{name}\"]}}\n"));
        lab.upgrade(&["--decisions", &file]).assert_done();
    }
}

#[test]
fn accounted_lifts_only_what_it_names() {
    let lab = finished();
    lab.branch(&branch_of("T-08"), &lab.side(&lab.m(1), "work"));
    lab.branch(&branch_of("T-09"), &lab.side(&lab.m(1), "work"));
    let file = lab.decided(&format!(
        "schema_version: 1\nchanges:\n  {CHANGE}: {{accounted: [\"{}\"]}}\n",
        branch_of("T-08")
    ));
    let run = lab.check(&["--decisions", &file]);
    run.assert_blocked("unrecorded-worktree");
    assert!(run.message("unrecorded-worktree").contains("T-09"));
}

#[test]
fn printed_decisions_name_every_stray() {
    let lab = finished();
    lab.worktree(&path_of("T-07"), &branch_of("T-07"), "main");
    lab.branch(&branch_of("T-08"), &lab.side(&lab.m(1), "work"));
    lab.branch(&branch_of("T-09"), &lab.m(1));
    let text = lab.decisions(&[]);
    let want = format!("      - \"{}\"\n      - \"{}\"\n", path_of("T-07"), branch_of("T-08"));
    assert!(text.ends_with(&want), "{text}");
    let run = lab.upgrade(&["--decisions", &lab.decided(&text)]);
    run.assert_done();
    assert_eq!(run.notes(), "leftover-branch");
}

// ---- strangers --------------------------------------------------------------------------------------

#[test]
fn items_that_name_no_change_are_notes() {
    let lab = finished();
    lab.worktree("specdev-worktree/tryout", "tryout", "main");
    lab.worktree("specdev-worktree/2026-09-09-gone/T-01", "speculo/2026-09-09-gone/T-01", "main");
    lab.branch("speculo/notes", &lab.side(&lab.m(1), "work"));
    let run = lab.upgrade(&[]);
    run.assert_done();
    assert_eq!(run.notes(), "other-worktree");
    let told: Vec<String> = run.all("other-worktree").iter().map(|f| f["message"].to_string()).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    for name in ["specdev-worktree/tryout", "specdev-worktree/2026-09-09-gone/T-01", "speculo/notes"] {
        assert!(told.iter().any(|t| t.contains(name)), "{name}: {told:?}");
    }
}

#[test]
fn worktrees_and_branches_elsewhere_are_not_told() {
    let lab = finished();
    lab.worktree(lab.beside("away").to_str().unwrap(), "away", "main");
    lab.worktree("specdev-worktree-of-mine", "mine", "main");
    lab.branch("feature/x", &lab.m(1));
    assert_quiet(&lab.check(&[]));
}

#[test]
fn items_a_record_owns_by_other_names_are_not_told() {
    let lab = Lab::new();
    let record = with(
        v5(&lab, "T-01", "integrated"),
        &[
            ("/branch", json!("speculo/specdev/login-12")),
            ("/workspace_ref", json!("specdev-worktree/T-01")),
            ("/integration/candidate_branch", json!("speculo/candidates/12")),
        ],
    );
    lab.state(&[Change::v5(vec![record]).evidence(&["T-01"])]);
    lab.worktree("specdev-worktree/T-01", "speculo/specdev/login-12", &lab.m(1));
    lab.branch("speculo/candidates/12", &lab.m(1));
    assert_quiet(&lab.upgrade(&[]));
    // Neither are they later, when the record stands in history.
    assert_eq!(lab.check(&[]).notes(), "already-current");
}

#[test]
fn strays_below_a_linked_worktree_folder_are_seen() {
    let lab = finished();
    let real = lab.beside("real");
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, lab.root.join("specdev-worktree")).unwrap();
    lab.git(&["worktree", "add", "-q", "--detach", &path_of("T-09"), "main"]);
    let run = lab.check(&[]);
    run.assert_blocked("unrecorded-worktree");
    assert!(
        run.message("unrecorded-worktree")
            .starts_with(&format!("registered worktree {} names", path_of("T-09")))
    );
}
