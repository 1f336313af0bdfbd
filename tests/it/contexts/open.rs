//! Which records are open, and what their blocker says (contract.md §3, Open).

use serde_json::{Value, json};

use super::lab::*;

/// One record of a ticket, Evidence there, and what `make` puts into git.
fn one(record: impl Fn(&Lab) -> Value, make: impl Fn(&Lab)) -> (Lab, Run) {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![record(&lab)]).evidence(&["T-01"]).tickets("done", &["T-01"])]);
    make(&lab);
    let run = lab.check(&[]);
    (lab, run)
}

fn status_of(status: &'static str) -> impl Fn(&Lab) -> Value {
    move |lab| v5(lab, "T-01", status)
}

fn nothing(_: &Lab) {}

#[track_caller]
fn assert_open(run: &Run, reason: &str) {
    run.assert_blocked("active-worktree");
    let message = run.message("active-worktree");
    assert!(message.contains(&format!("is open: {reason}")), "{message}");
    assert_eq!(run.writes(), Vec::<&str>::new());
}

// ---- by status --------------------------------------------------------------------------------------

#[test]
fn active_is_open() {
    assert_open(&one(status_of("active"), nothing).1, "its status is active");
}

#[test]
fn review_is_open() {
    assert_open(&one(status_of("review"), nothing).1, "its status is review");
}

#[test]
fn integrating_is_open() {
    assert_open(&one(status_of("integrating"), nothing).1, "its status is integrating");
}

#[test]
fn blocked_is_open() {
    assert_open(&one(status_of("blocked"), nothing).1, "its status is blocked");
}

#[test]
fn unknown_status_is_open() {
    assert_open(&one(status_of("parked"), nothing).1, "its status \"parked\" is not known");
}

#[test]
fn cancelled_is_no_end_for_a_ticket() {
    assert_open(&one(status_of("cancelled"), nothing).1, "its status \"cancelled\" is not known");
}

#[test]
fn integrated_without_branch_is_finished() {
    one(status_of("integrated"), nothing).1.assert_done();
}

#[test]
fn removed_without_branch_is_finished() {
    one(status_of("removed"), nothing).1.assert_done();
}

// ---- planned ----------------------------------------------------------------------------------------

#[test]
fn planned_and_never_started_is_finished_with_a_note() {
    let (lab, run) = one(status_of("planned"), nothing);
    run.assert_done();
    assert!(run.message("never-started").contains("T-01 was planned and never started"));
    assert_eq!(run.warnings(), "");
    lab.upgrade_and_back(&[]).assert_done();
}

#[test]
fn planned_with_a_branch_is_open() {
    let (_, run) = one(status_of("planned"), |lab| lab.branch(&branch_of("T-01"), "main"));
    assert_open(&run, "its status is planned");
}

#[test]
fn planned_with_a_worktree_is_open() {
    let (_, run) =
        one(status_of("planned"), |lab| lab.worktree(&path_of("T-01"), &branch_of("T-01"), "main"));
    assert_open(&run, "its status is planned");
}

#[test]
fn planned_with_a_branch_of_another_kind_of_name_is_open() {
    let record = |lab: &Lab| with(v5(lab, "T-01", "planned"), &[("/branch", json!("feature/login"))]);
    let (_, run) = one(record, |lab| lab.branch("feature/login", "main"));
    assert_open(&run, "its status is planned");
}

#[test]
fn planned_with_a_folder_that_is_no_worktree_is_finished() {
    let (_, run) = one(status_of("planned"), |lab| lab.write(&format!("{}/notes.txt", path_of("T-01")), "x"));
    run.assert_done();
}

#[test]
fn planned_with_a_checkpoint_is_open() {
    let record = |lab: &Lab| with(v5(lab, "T-01", "planned"), &[("/source_checkpoint", json!(lab.m(1)))]);
    assert_open(&one(record, nothing).1, "its status is planned");
}

#[test]
fn planned_with_an_attempt_is_open() {
    let record = |lab: &Lab| with(v5(lab, "T-01", "planned"), &[("/integration/attempts", json!(1))]);
    assert_open(&one(record, nothing).1, "its status is planned");
}

#[test]
fn planned_without_git_is_open() {
    let (lab, _) = one(status_of("planned"), nothing);
    let run = lab.check(&["--no-git"]);
    assert_open(&run, "its status is planned");
    assert!(run.message("active-worktree").contains("git shows nothing here"));
}

#[test]
fn planned_in_the_current_checkout_is_finished() {
    let (_, run) = one(|lab| current(lab, "T-01", "planned"), nothing);
    run.assert_done();
    run.one("never-started");
}

#[test]
fn planned_and_never_started_beside_a_finished_one_does_not_count() {
    let lab = Lab::new();
    let planned =
        with(v5(&lab, "T-02", "planned"), &[("/parent_branch", json!("gone")), ("/base_sha", json!("0000"))]);
    let change = Change::v5(vec![v5(&lab, "T-01", "integrated"), planned]).evidence(&["T-01", "T-02"]);
    lab.state(&[change]);
    let run = lab.upgrade(&[]);
    run.assert_done();
    assert_eq!(run.warnings(), "");
    assert_eq!(lab.context()["base_sha"], lab.m(0));
    assert_eq!(lab.record("T-02"), Value::Null);
}

// ---- worktrees --------------------------------------------------------------------------------------

#[test]
fn integrated_with_a_clean_worktree_is_finished() {
    let (_, run) = one(status_of("integrated"), |lab| {
        lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
    });
    run.assert_done();
}

#[test]
fn integrated_with_an_untracked_file_in_its_worktree_is_open() {
    let (_, run) = one(status_of("integrated"), |lab| {
        lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
        lab.write(&format!("{}/new.txt", path_of("T-01")), "x");
    });
    assert_open(&run, &format!("{} holds 1 uncommitted file (new.txt)", path_of("T-01")));
}

#[test]
fn integrated_with_a_changed_file_in_its_worktree_is_open() {
    let (_, run) = one(status_of("integrated"), |lab| {
        lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
        lab.write(&format!("{}/code.txt", path_of("T-01")), "mine\n");
    });
    assert_open(&run, &format!("{} holds 1 uncommitted file (code.txt)", path_of("T-01")));
}

#[test]
fn integrated_with_an_ignored_file_in_its_worktree_is_finished() {
    let (_, run) = one(status_of("integrated"), |lab| {
        lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
        lab.write(&format!("{}/specdev-worktree/x.txt", path_of("T-01")), "x");
    });
    run.assert_done();
}

#[test]
fn integrated_with_a_dirty_candidate_worktree_is_open() {
    let (_, run) = one(status_of("integrated"), |lab| {
        lab.worktree(&candidate_path("T-01"), &candidate_branch("T-01"), &lab.m(1));
        for name in ["a", "b", "c", "d"] {
            lab.write(&format!("{}/{name}.txt", candidate_path("T-01")), "x");
        }
    });
    let files = "holds 4 uncommitted files (a.txt, b.txt, c.txt, …)";
    assert_open(&run, &format!("{} {files}", candidate_path("T-01")));
}

#[test]
fn integrated_with_a_registered_worktree_whose_folder_is_gone_is_finished() {
    let (_, run) = one(status_of("integrated"), |lab| {
        lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
        std::fs::remove_dir_all(lab.root.join(path_of("T-01"))).unwrap();
    });
    run.assert_done();
}

#[test]
fn removed_with_a_registered_worktree_is_open() {
    let (_, run) = one(status_of("removed"), |lab| {
        lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
    });
    assert_open(&run, "it is recorded as removed, but its worktree is still registered");
}

#[test]
fn removed_with_a_registered_worktree_whose_folder_is_gone_is_open() {
    let (_, run) = one(status_of("removed"), |lab| {
        lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
        std::fs::remove_dir_all(lab.root.join(path_of("T-01"))).unwrap();
    });
    assert_open(&run, "it is recorded as removed, but its worktree is still registered");
    assert!(run.message("active-worktree").contains("registered worktree, folder missing"));
}

#[test]
fn removed_whose_folder_another_change_uses_now_is_finished() {
    // Before version 5 the folder bears the ticket alone, and ticket numbers begin anew in every change.
    let lab = Lab::new();
    let mut theirs = v3(&lab, "T-01", "active");
    theirs["branch"] = json!(format!("speculo/{OTHER}/T-01"));
    lab.state(&[Change::of(3, vec![v3(&lab, "T-01", "removed")]), Change::of(3, vec![theirs]).named(OTHER)]);
    lab.worktree("specdev-worktree/T-01", &format!("speculo/{OTHER}/T-01"), "main");
    lab.write("specdev-worktree/T-01/new.txt", "x");
    let run = lab.check(&["--partial"]);
    run.assert_blocked("active-worktree");
    assert_eq!(run.one("active-worktree")["change"], OTHER);
    assert!(run.writes().contains(&in_change(".status.json").as_str()), "{}", run.text);
}

// ---- branches ---------------------------------------------------------------------------------------

#[test]
fn integrated_with_its_branch_at_the_checkpoint_is_finished() {
    // The checkpoint is in no other branch.
    let lab = Lab::new();
    let tip = lab.side(&lab.m(0), "work");
    let record = with(v5(&lab, "T-01", "integrated"), &[("/source_checkpoint", json!(tip))]);
    lab.state(&[Change::v5(vec![record]).evidence(&["T-01"])]);
    lab.branch(&branch_of("T-01"), &tip);
    lab.check(&[]).assert_done();
}

#[test]
fn integrated_with_its_branch_at_a_short_checkpoint_is_finished() {
    let lab = Lab::new();
    let tip = lab.side(&lab.m(0), "work");
    let record = with(v5(&lab, "T-01", "integrated"), &[("/source_checkpoint", json!(&tip[..8]))]);
    lab.state(&[Change::v5(vec![record]).evidence(&["T-01"])]);
    lab.branch(&branch_of("T-01"), &tip);
    lab.check(&[]).assert_done();
}

#[test]
fn integrated_with_its_branch_contained_in_the_parent_is_finished() {
    let (_, run) = one(status_of("integrated"), |lab| lab.branch(&branch_of("T-01"), &lab.m(2)));
    run.assert_done();
}

#[test]
fn integrated_with_a_branch_that_moved_on_is_open() {
    for status in ["integrated", "removed"] {
        let (lab, run) = one(status_of(status), |lab| {
            lab.branch(&branch_of("T-01"), &lab.side(&lab.m(1), "afterthought"));
        });
        let tip = lab.git(&["rev-parse", &branch_of("T-01")]);
        let branch = branch_of("T-01");
        assert_open(&run, &format!("branch {branch} has moved on to {} since its checkpoint", &tip[..12]));
        assert!(run.message("active-worktree").contains("1 commit not in main"));
    }
}

#[test]
fn integrated_without_checkpoint_and_a_branch_that_is_not_contained_is_finished() {
    let record = |lab: &Lab| with(v5(lab, "T-01", "integrated"), &[("/source_checkpoint", Value::Null)]);
    let (_, run) = one(record, |lab| lab.branch(&branch_of("T-01"), &lab.side(&lab.m(1), "work")));
    run.assert_done();
}

#[test]
fn integrated_with_a_composite_checkpoint_is_open_while_its_branch_is_not_contained() {
    let record = |lab: &Lab| {
        let text = format!("backend:{};frontend:{}", lab.m(1), lab.m(2));
        with(v5(lab, "T-01", "integrated"), &[("/source_checkpoint", json!(text))])
    };
    let (lab, run) = one(record, |lab| lab.branch(&branch_of("T-01"), &lab.side(&lab.m(1), "work")));
    assert!(run.message("active-worktree").contains("has moved on"));
    lab.branch(&branch_of("T-01"), &lab.m(2));
    lab.check(&[]).assert_done();
}

#[test]
fn branch_is_compared_with_the_parent_branch_of_the_record() {
    let record =
        |lab: &Lab| with(v5(lab, "T-01", "integrated"), &[("/parent_branch", json!("refs/heads/develop"))]);
    let (lab, run) = one(record, |lab| {
        lab.branch("develop", &lab.side(&lab.m(1), "on develop"));
        lab.branch(&branch_of("T-01"), "develop");
    });
    run.assert_done();
    lab.branch("develop", &lab.m(1));
    assert!(lab.check(&[]).message("active-worktree").contains("1 commit not in develop"));
}

#[test]
fn a_branch_moved_on_under_another_kind_of_name_is_seen_too() {
    let record = |lab: &Lab| with(v5(lab, "T-01", "integrated"), &[("/branch", json!("feature/login"))]);
    let (_, run) = one(record, |lab| lab.branch("feature/login", &lab.side(&lab.m(1), "more")));
    assert_open(&run, "branch feature/login has moved on");
}

#[test]
fn a_tag_called_like_the_checkpoint_does_not_stand_for_it() {
    let (_, run) = one(
        |lab| with(v5(lab, "T-01", "integrated"), &[("/source_checkpoint", json!("done"))]),
        |lab| {
            let tip = lab.side(&lab.m(1), "work");
            lab.branch(&branch_of("T-01"), &tip);
            lab.git(&["tag", "done", &tip]);
        },
    );
    assert!(run.message("active-worktree").contains("has moved on"));
}

// ---- in the current checkout ------------------------------------------------------------------------

#[test]
fn current_and_integrated_is_finished_whatever_git_shows() {
    let (_, run) = one(
        |lab| with(current(lab, "T-01", "integrated"), &[("/source_checkpoint", json!("no such commit"))]),
        |lab| lab.write("code.txt", "uncommitted\n"),
    );
    run.assert_done();
}

#[test]
fn current_and_active_is_open() {
    let (lab, run) = one(|lab| current(lab, "T-01", "active"), nothing);
    assert_open(&run, "its status is active");
    let tip = lab.git(&["rev-parse", "main"]);
    let message = run.message("active-worktree");
    assert!(
        message.contains(&format!("it works in the current checkout, branch main at {}", &tip[..12])),
        "{message}"
    );
}

// ---- without git ------------------------------------------------------------------------------------

#[test]
fn without_git_only_the_status_counts() {
    let (lab, run) = one(status_of("integrated"), |lab| {
        lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.side(&lab.m(1), "more"));
        lab.write(&format!("{}/new.txt", path_of("T-01")), "x");
    });
    run.assert_blocked("active-worktree");
    lab.check(&["--no-git"]).assert_done();
}

#[test]
fn without_a_repository_open_records_block_and_no_context_is_written() {
    let source = Lab::new();
    let lab = Lab::without_git();
    lab.state(&[
        Change::v5(vec![v5(&source, "T-01", "active")]),
        Change::v5(vec![v5(&source, "T-02", "integrated")]).named(OTHER).evidence(&["T-02"]),
    ]);
    let run = lab.upgrade(&["--partial"]);
    run.assert_blocked("active-worktree");
    assert_eq!(run.one("active-worktree")["change"], CHANGE);
    let message = run.message("verification-unproven");
    assert!(message.contains("no git facts (no repository, or --no-git)"), "{message}");
    assert!(!lab.exists(&format!("changes/{OTHER}/README.md")));
    assert!(run.json["git"].is_null());
}

// ---- the message ------------------------------------------------------------------------------------

#[test]
fn message_names_ticket_owners_reason_what_git_shows_and_what_to_do() {
    let (lab, run) = one(status_of("integrating"), |lab| {
        lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.side(&lab.m(1), "work"));
        lab.write(&format!("{}/new.txt", path_of("T-01")), "x");
        lab.write(&format!("{}/left.txt", candidate_path("T-01")), "x");
    });
    let finding = run.one("active-worktree");
    let tip = lab.git(&["rev-parse", &branch_of("T-01")]);
    assert_eq!(
        finding["message"],
        format!(
            "T-01 of {WORKER}, {OWNER} is open: its status is integrating; {path} holds 1 uncommitted file (new.txt); \
             {path}: registered worktree, 1 uncommitted file, branch {branch} at {tip}, 1 commit not in main; \
             {candidate}: no worktree, but a folder, branch {other} does not exist. \
             the owner must (1) stop or hand over the writer, (2) account for every branch, worktree, checkpoint and \
             pending action, (3) confirm the change's one workspace",
            path = path_of("T-01"),
            branch = branch_of("T-01"),
            tip = &tip[..12],
            candidate = candidate_path("T-01"),
            other = candidate_branch("T-01"),
        )
    );
    assert_eq!(finding["owners"], json!([WORKER, OWNER]));
    assert_eq!(finding["file"], spec(&in_change(".status.json")));
    assert_eq!(finding["pointer"], "/worktrees/0");
    assert!(finding["line"].is_u64() && finding["column"].is_u64());
    assert_eq!(
        finding["next"],
        json!([
            format!("git -C {} status", path_of("T-01")),
            format!("git log --oneline main..{}", branch_of("T-01")),
            "specdev-migrate decisions > decisions.yaml",
            "specdev-migrate --decisions decisions.yaml --dry-run",
        ])
    );
}

#[test]
fn human_report_says_the_same() {
    let (lab, _) = one(status_of("active"), |lab| lab.worktree(&path_of("T-01"), &branch_of("T-01"), "main"));
    let run = lab.run(&["--dry-run"]);
    assert_eq!((run.code, run.stdout.as_str()), (4, ""));
    for part in [
        "blocked: active-worktree\n",
        "T-01 of agent:alpha, lead-7 is open: its status is active",
        "owner: agent:alpha, lead-7",
        "next:  git -C specdev-worktree/2026-08-01-login/T-01 status",
        "specdev-migrate decisions > decisions.yaml",
        "git: saw 2 worktrees and 1 speculo branch; other clones cannot be seen from here",
        "nothing was written: 1 blocker",
    ] {
        assert!(run.stderr.contains(part), "{part:?} is missing:\n{}", run.stderr);
    }
}

#[test]
fn next_commands_run_while_blocked_also_with_odd_names() {
    let record = |lab: &Lab| {
        with(
            v5(lab, "T-01", "active"),
            &[
                ("/branch", json!("speculo/it's/T 01".replace(' ', "$"))),
                ("/workspace_ref", json!("specdev-worktree/it's a \"test\" $HOME")),
            ],
        )
    };
    let (lab, run) = one(record, |lab| {
        lab.worktree("specdev-worktree/it's a \"test\" $HOME", "speculo/it's/T$01", "main");
    });
    run.assert_blocked("active-worktree");
    run_next(&lab, &run, 4);
}

/// Run every command that the findings name, at the project root.
pub(super) fn run_next(lab: &Lab, run: &Run, at_least: usize) {
    run_next_in(&lab.root, run, at_least);
}

/// Run every command that the findings name, in a folder.
pub(super) fn run_next_in(folder: &std::path::Path, run: &Run, at_least: usize) {
    let mut done = 0;
    for finding in run.json["findings"].as_array().unwrap() {
        for line in finding["next"].as_array().unwrap().iter().filter_map(Value::as_str) {
            let is_tool = line.starts_with("specdev-migrate ");
            if !is_tool && !line.starts_with("git ") {
                continue;
            }
            done += 1;
            let mut shell = std::process::Command::new("sh");
            shell.current_dir(folder).env_clear().env("PATH", path_with_tool()).env("HOME", "/nonexistent");
            shell.env("GIT_PAGER", "cat").args(["-c", line]);
            let out = super::lab::run(&mut shell);
            // The printed decisions file is not filled in: the run with it says so.
            let is_unfilled = line.contains("--decisions");
            assert_eq!(out.code, if is_unfilled { 2 } else { 0 }, "{line}\n{}", out.text);
            if is_unfilled {
                assert!(out.stderr.contains("is left open"), "{}", out.text);
            }
        }
    }
    assert!(done >= at_least, "only {done} commands: {}", run.text);
}
