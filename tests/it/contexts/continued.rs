//! What owners decide about open records, and the change's one workspace (contract.md §6).

use serde_json::{Value, json};

use super::lab::*;
use super::open::run_next;

/// One record of an active change led by nobody but its leadership.
fn lab_of(record: impl Fn(&Lab) -> Value) -> Lab {
    let lab = Lab::new();
    let record = record(&lab);
    let version = if record.get("integration").is_some() { 5 } else { 3 };
    let change = Change::of(version, vec![record]).evidence(&["T-01"]);
    lab.state(&[if version == 3 { change.led_by(LEAD) } else { change }]);
    lab
}

/// The printed decisions with the workspace replaced.
fn with_workspace(text: &str, workspace: &str) -> String {
    let lines = text.lines().map(|l| match l.trim_start().split(':').next() {
        Some("workspace" | "# workspace") => format!("    workspace: {workspace}\n"),
        _ => format!("{l}\n"),
    });
    lines.collect()
}

fn current_workspace(lab: &Lab) -> String {
    format!("{{policy: current, ref: current, branch: main, base_sha: \"{}\"}}", lab.m(0))
}

fn worktree_workspace(lab: &Lab, ticket: &str) -> String {
    format!(
        "{{policy: worktree, ref: {}, branch: {}, base_sha: \"{}\"}}",
        path_of(ticket),
        branch_of(ticket),
        lab.m(0)
    )
}

// ---- continue, by status ----------------------------------------------------------------------------

#[test]
fn continue_maps_every_status() {
    for (status, want) in
        [("active", "active"), ("review", "review"), ("blocked", "blocked"), ("integrating", "review")]
    {
        let lab = lab_of(|lab| v5(lab, "T-01", status));
        let file = lab.decide("continue");
        let run = lab.upgrade(&["--decisions", &file]);
        run.assert_done();
        let record = lab.record("T-01");
        assert_eq!(
            (&record["status"], &record["verification"]["status"]),
            (&json!(want), &json!("pending")),
            "{status}"
        );
        assert_eq!(run.warnings(), "");
    }
}

#[test]
fn continue_of_an_integrated_or_removed_record_goes_back_to_review() {
    for status in ["integrated", "removed"] {
        let lab = lab_of(|lab| v5(lab, "T-01", status));
        lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
        lab.write(&format!("{}/new.txt", path_of("T-01")), "x");
        let text = filled(&lab.decisions(&[]), "continue");
        assert!(text.contains(&format!("policy: worktree, ref: \"{}\"", path_of("T-01"))), "{text}");
        lab.upgrade(&["--decisions", &lab.decided(&text)]).assert_done();
        let record = lab.record("T-01");
        // The old verification is no word about what is there now.
        assert_eq!(
            (&record["status"], &record["verification"]["status"]),
            (&json!("review"), &json!("pending"))
        );
        assert_eq!(record["checkpoint"], lab.m(1));
        assert_eq!(lab.context()["workspace_ref"], path_of("T-01"));
    }
}

#[test]
fn continue_of_a_planned_record_makes_the_context_but_no_record() {
    let lab = lab_of(|lab| v5(lab, "T-01", "planned"));
    lab.worktree(&path_of("T-01"), &branch_of("T-01"), "main");
    let file = lab.decide("continue");
    lab.upgrade(&["--decisions", &file]).assert_done();
    assert_eq!(lab.record("T-01"), Value::Null);
    assert_eq!(lab.context()["owner"], LEAD);
    assert_eq!(lab.record_entries("evidence/T-01.md")[0].0["decision"]["action"], "continue");
}

#[test]
fn continue_takes_the_source_checkpoint_and_nothing_of_the_result() {
    for (status, want) in [("review", true), ("active", false)] {
        let lab =
            lab_of(|lab| with(v5(lab, "T-01", status), &[("/integration/result_sha", json!(lab.m(2)))]));
        let file = lab.decide("continue");
        lab.upgrade(&["--decisions", &file]).assert_done();
        assert_eq!(lab.record("T-01")["checkpoint"], if want { json!(lab.m(1)) } else { Value::Null });
    }
}

#[test]
fn continue_of_a_failed_verification_is_pending() {
    let lab =
        lab_of(|lab| with(v5(lab, "T-01", "review"), &[("/integration/verification", json!("failed"))]));
    let file = lab.decide("continue");
    lab.upgrade(&["--decisions", &file]).assert_done();
    assert_eq!(lab.record("T-01")["verification"]["status"], "pending");
}

#[test]
fn continue_in_the_current_checkout() {
    let lab = Lab::new();
    lab.state(&[Change::of(6, vec![current(&lab, "T-01", "active")]).evidence(&["T-01"])]);
    let file = lab.decide("continue");
    lab.upgrade(&["--decisions", &file]).assert_done();
    assert_eq!(lab.record("T-01")["status"], "active");
    assert_eq!(lab.context()["workspace_policy"], "current");
}

#[test]
fn continue_of_a_direct_spec() {
    let lab = Lab::new();
    let evidence = legacy("direct-spec", &direct_spec(&lab, "active"));
    lab.state(&[Change::v5(vec![]).file("evidence/direct-spec.md", evidence)]);
    let file = lab.decide("continue");
    lab.upgrade(&["--decisions", &file]).assert_done();
    let record = lab.record("direct-spec");
    assert_eq!(
        (&record["purpose"], &record["change"], &record["status"]),
        (&json!("direct-spec"), &json!(CHANGE), &json!("active"))
    );
    assert_eq!(lab.context()["integration_attempt_limit"], 4);
}

#[test]
fn continue_makes_the_evidence_file_when_it_is_missing() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "active")])]);
    let before = lab.files();
    let file = lab.decide("continue");
    lab.upgrade(&["--decisions", &file]).assert_done();
    let text = lab.evidence("T-01");
    assert!(text.starts_with("# Evidence: T-01\n\n## Workspace Execution Record\n\n```json\n{\n"), "{text}");
    assert_eq!(lab.record_entries("evidence/T-01.md").len(), 1);
    assert_eq!(lab.record_entries("HISTORY.md").len(), 0);
    assert_eq!(lab.run(&["restore"]).code, 0);
    assert_eq!(before, lab.files());
}

#[test]
fn continue_in_a_completed_change() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "review"), v5(&lab, "T-02", "integrated")])
        .status("completed")
        .evidence(&["T-01", "T-02"])]);
    let file = lab.decide("continue");
    lab.upgrade(&["--decisions", &file]).assert_done();
    assert_eq!(lab.record("T-01")["status"], "review");
    // That is all for the finished record of a completed change.
    assert_eq!(lab.record("T-02"), Value::Null);
}

#[test]
fn finished_records_beside_a_continued_one_are_checked_against_the_workspace() {
    let lab = Lab::new();
    let records = vec![v5(&lab, "T-01", "integrated"), v5(&lab, "T-02", "active")];
    lab.state(&[Change::v5(records).evidence(&["T-01", "T-02"]).tickets("done", &["T-01"])]);
    // The work goes on where the result of T-01 (m1) is not.
    lab.worktree(&path_of("T-02"), &branch_of("T-02"), &lab.side(&lab.m(0), "work"));
    let file = lab.decide("continue");
    let run = lab.upgrade(&["--decisions", &file]);
    run.assert_done();
    assert_eq!(lab.context()["branch"], branch_of("T-02"));
    assert!(
        run.message("result-not-contained").contains(&format!("is not contained in {}", branch_of("T-02")))
    );
    assert_eq!(lab.record("T-01")["status"], "review");
    assert_eq!(lab.record("T-02")["status"], "active");
}

// ---- E2E --------------------------------------------------------------------------------------------

#[test]
fn e2e_of_the_record_comes_first() {
    let lab = lab_of(|lab| v5(lab, "T-01", "active"));
    let text = filled(&lab.decisions(&[]), "continue")
        + "        e2e: {required: true, status: failed, reason: null, evidence: null}\n";
    let run = lab.upgrade(&["--decisions", &lab.decided(&text)]);
    run.assert_done();
    assert_eq!(lab.record("T-01")["verification"]["e2e"]["reason"], "no user interface");
    assert_eq!(run.warnings(), "");
}

#[test]
fn e2e_by_decision_where_the_record_has_none() {
    let lab = lab_of(|lab| v3(lab, "T-01", "active"));
    let e2e = "{required: false, status: not-required, reason: \"no screen\", evidence: null}";
    let text = filled(&lab.decisions(&[]), "continue").replace(
        "# e2e: {required: true, status: pending, reason: null, evidence: null}",
        &format!("e2e: {e2e}"),
    );
    let run = lab.upgrade(&["--decisions", &lab.decided(&text)]);
    run.assert_done();
    let want = json!({"required": false, "status": "not-required", "reason": "no screen", "evidence": null});
    assert_eq!(lab.record("T-01")["verification"]["e2e"], want);
    assert_eq!(run.all("e2e-undecided").len(), 0);
}

#[test]
fn e2e_undecided_is_required_and_pending() {
    let lab = lab_of(|lab| v3(lab, "T-01", "active"));
    let file = lab.decide("continue");
    let run = lab.upgrade(&["--decisions", &file]);
    run.assert_done();
    run.one("e2e-undecided");
    let record = lab.record("T-01");
    assert_eq!(
        record["verification"]["e2e"],
        json!({"required": true, "status": "pending", "reason": null, "evidence": null})
    );
    // A version 3 record says no more than this.
    assert_eq!(
        (
            &record["implementation_owners"],
            &record["attempts"],
            &record["checkpoint"],
            &record["verification"]["evidence"]
        ),
        (&json!([OWNER]), &json!(0), &Value::Null, &Value::Null)
    );
}

#[test]
fn e2e_of_version_4_has_no_reason_and_is_no_disposition() {
    let lab = Lab::new();
    let mut record = v5(&lab, "T-01", "active");
    record["integration"]["e2e"].as_object_mut().unwrap().shift_remove("reason");
    lab.state(&[Change::of(4, vec![record]).evidence(&["T-01"]).led_by(LEAD)]);
    let file = lab.decide("continue");
    lab.upgrade(&["--decisions", &file]).one("e2e-undecided");
    assert_eq!(lab.record("T-01")["verification"]["e2e"]["required"], true);
}

// ---- retire -----------------------------------------------------------------------------------------

#[test]
fn retire_is_history_only_with_the_tip_and_the_decision() {
    let lab = lab_of(|lab| v5(lab, "T-01", "active"));
    let tip = lab.side(&lab.m(1), "half done");
    lab.worktree(&path_of("T-01"), &branch_of("T-01"), &tip);
    let file = lab.decide("retire");
    let run = lab.upgrade(&["--decisions", &file]);
    run.assert_done();
    assert_eq!((run.warnings().as_str(), lab.record("T-01")), ("", Value::Null));
    assert!(!lab.exists(&in_change("README.md")));
    assert_eq!(
        lab.record_entries("evidence/T-01.md")[0].0["decision"],
        json!({"action": "retire", "confirmed_by": OWNER, "on_behalf_of": null, "reference": "LOG.md", "branch_tip": tip})
    );
    // The work is still there.
    assert_eq!(lab.git(&["rev-parse", &branch_of("T-01")]), tip);
    assert!(lab.root.join(path_of("T-01")).exists());
}

#[test]
fn retire_without_a_branch_has_no_tip() {
    let lab = lab_of(|lab| v5(lab, "T-01", "blocked"));
    let file = lab.decide("retire");
    lab.upgrade(&["--decisions", &file]).assert_done();
    assert_eq!(lab.record_entries("evidence/T-01.md")[0].0["decision"]["branch_tip"], Value::Null);
}

#[test]
fn retire_of_a_branch_of_another_kind_of_name_has_its_tip() {
    let lab = lab_of(|lab| with(v5(lab, "T-01", "active"), &[("/branch", json!("feature/login"))]));
    lab.branch("feature/login", &lab.m(2));
    let file = lab.decide("retire");
    lab.upgrade(&["--decisions", &file]).assert_done();
    assert_eq!(lab.record_entries("evidence/T-01.md")[0].0["decision"]["branch_tip"], lab.m(2));
}

#[test]
fn retire_of_a_record_in_the_current_checkout_has_the_tip_of_its_branch() {
    let lab = Lab::new();
    lab.state(&[Change::of(6, vec![current(&lab, "T-01", "active")]).evidence(&["T-01"])]);
    let file = lab.decide("retire");
    lab.upgrade(&["--decisions", &file]).assert_done();
    let tip = lab.git(&["rev-parse", "main"]);
    assert_eq!(lab.record_entries("evidence/T-01.md")[0].0["decision"]["branch_tip"], tip);
}

#[test]
fn retire_every_status() {
    for status in ["active", "review", "blocked", "integrating", "parked"] {
        let lab = lab_of(|lab| v5(lab, "T-01", status));
        let file = lab.decide("retire");
        lab.upgrade(&["--decisions", &file]).assert_done();
        assert_eq!(lab.record("T-01"), Value::Null, "{status}");
        assert_eq!(lab.status("worktrees"), json!([]));
    }
}

#[test]
fn retire_a_legacy_record_in_evidence() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![]).file("evidence/T-01.md", legacy("T-01", &v5(&lab, "T-01", "active")))]);
    let file = lab.decide("retire");
    lab.upgrade(&["--decisions", &file]).assert_done();
    assert_eq!(lab.record("T-01"), Value::Null);
    assert_eq!(lab.record_entries("evidence/T-01.md")[0].0["decision"]["action"], "retire");
}

#[test]
fn retire_beside_finished_records_leaves_them_their_context() {
    let lab = Lab::new();
    let records = vec![v5(&lab, "T-01", "integrated"), v5(&lab, "T-02", "active")];
    lab.state(&[Change::v5(records).evidence(&["T-01", "T-02"]).tickets("done", &["T-01"])]);
    let file = lab.decide("retire");
    lab.upgrade(&["--decisions", &file]).assert_done();
    assert_eq!(lab.record("T-01")["status"], "verified");
    assert_eq!(lab.record("T-02"), Value::Null);
    assert_eq!(lab.record_entries("evidence/T-01.md")[0].0.get("decision"), None);
}

// ---- one decided, another not -----------------------------------------------------------------------

#[test]
fn every_open_record_needs_a_decision() {
    let lab = Lab::new();
    lab.state(&[
        Change::v5(vec![v5(&lab, "T-01", "active"), v5(&lab, "T-02", "review")]).evidence(&["T-01", "T-02"])
    ]);
    let text = filled(&lab.decisions(&[]), "continue");
    let second = text.find("      T-02:").unwrap();
    let second = text[..second].rfind("      # its").unwrap();
    let run = lab.check(&["--decisions", &lab.decided(&text[..second])]);
    run.assert_blocked("active-worktree");
    assert!(run.message("active-worktree").starts_with("T-02 of"));
}

#[test]
fn stale_decision_is_told_beside_an_open_record() {
    let lab = Lab::new();
    lab.state(&[
        Change::v5(vec![v5(&lab, "T-01", "active"), v5(&lab, "T-02", "review")]).evidence(&["T-01", "T-02"])
    ]);
    let text = filled(&lab.decisions(&[]), "continue");
    let second = text[..text.find("      T-02:").unwrap()].rfind("      # its").unwrap();
    lab.branch(&branch_of("T-01"), "main");
    let run = lab.check(&["--decisions", &lab.decided(&text[..second])]);
    run.assert_blocked("active-worktree stale-decision");
}

// ---- dirty and unmerged sources ---------------------------------------------------------------------

#[test]
fn uncommitted_files_outside_the_workspace_are_lifted_by_nothing() {
    for action in ["continue", "retire"] {
        let lab = lab_of(|lab| v5(lab, "T-01", "active"));
        lab.worktree(&path_of("T-01"), &branch_of("T-01"), "main");
        lab.write(&format!("{}/new.txt", path_of("T-01")), "x");
        let text = with_workspace(&filled(&lab.decisions(&[]), action), &current_workspace(&lab));
        let text =
            text.replace("    tickets:", &format!("    accounted: [{}]\n    tickets:", path_of("T-01")));
        let run = lab.check(&["--decisions", &lab.decided(&text)]);
        run.assert_blocked("dirty-source");
        let message = run.message("dirty-source");
        assert!(
            message.starts_with(&format!(
                "{} of T-01 holds uncommitted files (new.txt); no decision lifts that",
                path_of("T-01")
            )),
            "{message}"
        );
        run_next(&lab, &run, 2);
    }
}

#[test]
fn uncommitted_files_of_a_candidate_are_lifted_by_nothing() {
    let lab = lab_of(|lab| v5(lab, "T-01", "integrating"));
    lab.worktree(&candidate_path("T-01"), &candidate_branch("T-01"), "main");
    lab.write(&format!("{}/new.txt", candidate_path("T-01")), "x");
    let file = lab.decide("retire");
    let run = lab.check(&["--decisions", &file]);
    run.assert_blocked("dirty-source");
    assert!(run.message("dirty-source").starts_with(&candidate_path("T-01")));
}

#[test]
fn uncommitted_files_in_the_workspace_are_work_going_on() {
    let lab = lab_of(|lab| v5(lab, "T-01", "active"));
    lab.worktree(&path_of("T-01"), &branch_of("T-01"), "main");
    lab.write(&format!("{}/new.txt", path_of("T-01")), "x");
    for locator in [path_of("T-01"), format!("{}/", path_of("T-01")), format!("./{}", path_of("T-01"))] {
        let workspace = worktree_workspace(&lab, "T-01").replacen(&path_of("T-01"), &locator, 1);
        let text = with_workspace(&filled(&lab.decisions(&[]), "continue"), &workspace);
        let run = lab.check(&["--decisions", &lab.decided(&text)]);
        assert_eq!((run.code, run.stops().as_str()), (0, ""), "{locator}: {}", run.text);
        // However it is called, the context calls it by its path below the project root.
        let readme = run.json["files"]
            .as_array()
            .unwrap()
            .iter()
            .find(|f| f["path"].as_str().unwrap().ends_with("README.md"));
        let diff = readme.unwrap()["diff"].as_str().unwrap();
        assert!(diff.contains(&format!("+  \"workspace_ref\": \"{}\",", path_of("T-01"))), "{diff}");
    }
}

#[test]
fn work_that_is_not_in_the_workspace_must_be_merged_first() {
    let lab = lab_of(|lab| v5(lab, "T-01", "review"));
    let tip = lab.side(&lab.m(1), "work");
    lab.branch(&branch_of("T-01"), &tip);
    let text = with_workspace(&filled(&lab.decisions(&[]), "continue"), &current_workspace(&lab));
    let file = lab.decided(&text);
    let run = lab.check(&["--decisions", &file]);
    run.assert_blocked("unmerged-source");
    let message = run.message("unmerged-source");
    let want =
        format!("branch {} of T-01 is not contained in main, the branch of the workspace", branch_of("T-01"));
    assert!(message.starts_with(&want), "{message}");
    run_next(&lab, &run, 2);
    // Nobody but the owner may merge; then it is contained. The decision is about the same facts.
    lab.git(&["merge", "-q", "-m", "merge", &branch_of("T-01")]);
    lab.upgrade(&["--decisions", &file]).assert_done();
}

#[test]
fn work_that_is_retired_need_not_be_merged() {
    let lab = lab_of(|lab| v5(lab, "T-01", "review"));
    lab.branch(&branch_of("T-01"), &lab.side(&lab.m(1), "work"));
    let text = with_workspace(&filled(&lab.decisions(&[]), "retire"), &current_workspace(&lab));
    lab.check(&["--decisions", &lab.decided(&text)]).assert_done();
}

#[test]
fn checkpoint_whose_branch_is_gone_must_be_in_the_workspace() {
    let lab = Lab::new();
    let lost = lab.side(&lab.m(1), "work");
    let record = with(v5(&lab, "T-01", "review"), &[("/source_checkpoint", json!(lost))]);
    lab.state(&[Change::v5(vec![record]).evidence(&["T-01"])]);
    let file = lab.decide("continue");
    let run = lab.check(&["--decisions", &file]);
    run.assert_blocked("unmerged-source");
    assert!(
        run.message("unmerged-source")
            .starts_with(&format!("checkpoint {lost} of T-01 is not contained in main"))
    );
    run_next(&lab, &run, 2);
}

#[test]
fn branch_of_a_record_in_the_current_checkout_must_be_in_the_workspace_too() {
    let lab = Lab::new();
    let records = vec![current(&lab, "T-01", "active"), v5(&lab, "T-02", "active")];
    lab.state(&[Change::of(6, records).evidence(&["T-01", "T-02"])]);
    lab.worktree(&path_of("T-02"), &branch_of("T-02"), &lab.side(&lab.m(1), "work"));
    let text = with_workspace(&filled(&lab.decisions(&[]), "continue"), &worktree_workspace(&lab, "T-02"));
    let run = lab.check(&["--decisions", &lab.decided(&text)]);
    run.assert_blocked("unmerged-source");
    assert!(run.message("unmerged-source").starts_with("branch main of T-01"));
}

// ---- the workspace ----------------------------------------------------------------------------------

#[test]
fn workspace_that_is_the_current_checkout() {
    let lab = lab_of(|lab| v5(lab, "T-01", "review"));
    let workspace = format!("{{policy: current, ref: current, branch: main, base_sha: \"{}\"}}", lab.m(1));
    let text = with_workspace(&filled(&lab.decisions(&[]), "continue"), &workspace);
    lab.upgrade(&["--decisions", &lab.decided(&text)]).assert_done();
    let context = lab.context();
    assert_eq!(
        (&context["workspace_policy"], &context["workspace_ref"], &context["branch"], &context["base_sha"]),
        (&json!("current"), &json!("current"), &json!("main"), &json!(lab.m(1)))
    );
}

#[test]
fn workspace_that_is_a_registered_worktree() {
    let lab = lab_of(|lab| v5(lab, "T-01", "active"));
    lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.side(&lab.m(1), "work"));
    let text = with_workspace(&filled(&lab.decisions(&[]), "continue"), &worktree_workspace(&lab, "T-01"));
    lab.upgrade(&["--decisions", &lab.decided(&text)]).assert_done();
    assert_eq!(
        lab.context(),
        json!({
            "schema_version": 1, "change": CHANGE, "workspace_policy": "worktree", "workspace_ref": path_of("T-01"),
            "branch": branch_of("T-01"), "base_sha": lab.m(0), "owner": LEAD, "ticket_execution": "auto",
        })
    );
    assert_eq!(lab.run(&["validate", "--to", "2.0.6"]).code, 0);
}

#[test]
fn workspace_may_be_any_worktree_below_the_project_root_on_any_branch() {
    let lab = lab_of(|lab| v5(lab, "T-01", "review"));
    lab.worktree("work/here", "feature/login", &lab.m(2));
    let workspace = format!(
        "{{policy: worktree, ref: work/here, branch: refs/heads/feature/login, base_sha: \"{}\"}}",
        lab.m(1)
    );
    let text = with_workspace(&filled(&lab.decisions(&[]), "continue"), &workspace);
    lab.upgrade(&["--decisions", &lab.decided(&text)]).assert_done();
    let context = lab.context();
    assert_eq!(
        (&context["workspace_ref"], &context["branch"]),
        (&json!("work/here"), &json!("feature/login"))
    );
}

#[test]
fn workspace_replaces_what_git_could_not_confirm() {
    // Two parents, an unknown base, and nobody but the decisions' own lead.
    let lab = Lab::new();
    let records = vec![
        with(v5(&lab, "T-01", "integrated"), &[("/parent_branch", json!("gone"))]),
        with(v5(&lab, "T-02", "integrated"), &[("/base_sha", json!("deadbeef"))]),
    ];
    lab.state(&[Change::v5(records)
        .leadership("unassigned")
        .evidence(&["T-01", "T-02"])
        .tickets("done", &["T-01", "T-02"])]);
    let text = format!(
        "schema_version: 1\nlead: last-resort\nchanges:\n  {CHANGE}:\n    workspace: {}\n",
        current_workspace(&lab)
    );
    let run = lab.upgrade(&["--decisions", &lab.decided(&text)]);
    run.assert_done();
    assert_eq!(run.warnings(), "");
    assert_eq!(lab.context()["owner"], "last-resort");
    assert_eq!(
        (&lab.record("T-01")["status"], &lab.record("T-02")["status"]),
        (&json!("verified"), &json!("verified"))
    );
}

#[test]
fn continue_without_a_workspace_where_git_cannot_confirm_one() {
    let lab = Lab::new();
    let record = with(v5(&lab, "T-01", "active"), &[("/base_sha", json!("deadbeef"))]);
    lab.state(&[Change::v5(vec![record]).evidence(&["T-01"])]);
    let file = lab.decide("continue");
    let run = lab.check(&["--decisions", &file]);
    run.assert_blocked("active-worktree");
    let message = run.message("active-worktree");
    let want = "T-01 cannot go on: base_sha \"deadbeef\" of T-01 is no commit of this repository; name the workspace in the decisions file";
    assert_eq!(message, want);
    run_next(&lab, &run, 1);
}

#[test]
fn workspace_that_is_wrong_is_a_fault_with_its_place() {
    let lab = lab_of(|lab| v5(lab, "T-01", "active"));
    lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
    lab.worktree(lab.beside("away").to_str().unwrap(), "away", "main");
    let aside = lab.side(&lab.m(0), "aside");
    let (path, branch, base) = (path_of("T-01"), branch_of("T-01"), lab.m(0));
    let worktree = |path: &str, branch: &str, base: &str| {
        format!("{{policy: worktree, ref: {path}, branch: {branch}, base_sha: \"{base}\"}}")
    };
    let current = |branch: &str, base: &str| {
        format!("{{policy: current, ref: current, branch: {branch}, base_sha: \"{base}\"}}")
    };
    let away = lab.beside("away");
    let away = away.to_str().unwrap();
    for (workspace, key, want) in [
        (current("gone", &base), "branch", "workspace branch gone does not exist here".to_string()),
        (current("main", &aside), "base_sha", format!("base_sha {aside} is no commit of branch main")),
        (current("main", &"0".repeat(40)), "base_sha", "is no commit of branch main".into()),
        (
            worktree("specdev-worktree/none", &branch, &base),
            "ref",
            "specdev-worktree/none is no registered worktree below the project root".into(),
        ),
        (
            worktree("speculo", &branch, &base),
            "ref",
            "speculo is no registered worktree below the project root".into(),
        ),
        (worktree(".", "main", &base), "ref", ". is no registered worktree below the project root".into()),
        (
            worktree(away, "away", &base),
            "ref",
            format!("{away} is no registered worktree below the project root"),
        ),
        (worktree(&path, "main", &base), "branch", format!("worktree {path} is on {branch}, not on main")),
        (
            worktree(&path, &branch, &lab.m(2)),
            "base_sha",
            format!("base_sha {} is no commit of branch {branch}", lab.m(2)),
        ),
        (
            worktree("current", &branch, &base),
            "policy",
            "policy current goes with ref current, policy worktree with a path".into(),
        ),
        (
            current("main", &base[..8]),
            "base_sha",
            "base_sha must be a full commit id of 40 or 64 lower-case hex digits".into(),
        ),
        (current("main", &base.to_uppercase()), "base_sha", "base_sha must be a full commit id".into()),
        (
            "{policy: candidate, ref: current, branch: main, base_sha: x}".into(),
            "policy",
            "unknown variant `candidate`".into(),
        ),
    ] {
        let text = with_workspace(&filled(&lab.decisions(&[]), "continue"), &workspace);
        let row = text.lines().position(|l| l.starts_with("    workspace:")).unwrap();
        let line = text.lines().nth(row).unwrap();
        let column = line.find(&format!("{key}: ")).unwrap() + key.len() + 3;
        let run = lab.check(&["--decisions", &lab.decided(&text)]);
        assert_eq!(run.code, 2, "{workspace}: {}", run.text);
        assert!(
            run.error().contains(&format!("line {} column {column}: ", row + 1)),
            "{workspace} ({column}): {}",
            run.text
        );
        assert!(run.error().contains(&want), "{workspace}: {}", run.text);
    }
}

#[test]
fn workspace_whose_folder_is_gone() {
    let lab = lab_of(|lab| v5(lab, "T-01", "review"));
    lab.worktree("work/here", "feature/login", &lab.m(2));
    std::fs::remove_dir_all(lab.root.join("work/here")).unwrap();
    let workspace =
        format!("{{policy: worktree, ref: work/here, branch: feature/login, base_sha: \"{}\"}}", lab.m(1));
    let text = with_workspace(&filled(&lab.decisions(&[]), "continue"), &workspace);
    let run = lab.check(&["--decisions", &lab.decided(&text)]);
    assert_eq!(run.code, 2, "{}", run.text);
    assert!(
        run.error().contains("worktree work/here is registered, but its folder is missing"),
        "{}",
        run.text
    );
}

#[test]
fn workspace_without_a_repository() {
    let source = Lab::new();
    let lab = Lab::without_git();
    lab.state(&[Change::v5(vec![v5(&source, "T-01", "active")]).evidence(&["T-01"])]);
    let text = with_workspace(&filled(&lab.decisions(&[]), "continue"), &current_workspace(&source));
    let run = lab.check(&["--decisions", &lab.decided(&text)]);
    assert_eq!(run.code, 2, "{}", run.text);
    assert!(run.error().contains("a workspace cannot be confirmed without git"), "{}", run.text);
    let file = lab.decide("retire");
    lab.upgrade(&["--decisions", &file]).assert_done();
}

#[test]
fn workspace_beside_another_context_in_the_readme_conflicts() {
    let lab = Lab::new();
    let readme = "# R\n\n## Execution Context\n\n```json\n{\"schema_version\": 1}\n```\n";
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "review")]).evidence(&["T-01"]).file("README.md", readme)]);
    let file = lab.decide("continue");
    lab.check(&["--decisions", &file]).assert_blocked("conflicting-execution-context");
}

#[test]
fn workspace_does_not_say_who_leads() {
    let lab = Lab::new();
    let change = Change::v5(vec![v5(&lab, "T-01", "review")]).evidence(&["T-01"]);
    lab.state(&[change.leadership("somebody").led_by("planner")]);
    let text = filled(&lab.decisions(&[]), "continue");
    lab.check(&["--decisions", &lab.decided(&text)]).assert_blocked("conflicting-lead");
    let text = text.replace(&format!("  {CHANGE}:\n"), &format!("  {CHANGE}:\n    lead: somebody\n"));
    lab.upgrade(&["--decisions", &lab.decided(&text)]).assert_done();
    assert_eq!(lab.context()["owner"], "somebody");
}

#[test]
fn accounted_items_and_decisions_in_one_file() {
    let lab = lab_of(|lab| v5(lab, "T-01", "active"));
    lab.worktree(&path_of("T-09"), &branch_of("T-09"), "main");
    lab.check(&[]).assert_blocked("active-worktree");
    let file = lab.decide("continue");
    lab.upgrade(&["--decisions", &file]).assert_done();
}
