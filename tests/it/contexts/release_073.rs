//! What release 0.7.3 does with records (contract.md §3, last paragraph).

use serde_json::{Value, json};

use super::lab::*;
use super::open::run_next;

const TO: [&str; 2] = ["--to", "0.7.3"];

#[test]
fn finished_version_3_records_go_into_history() {
    let lab = Lab::new();
    let records =
        vec![v3(&lab, "T-01", "integrated"), v3(&lab, "T-02", "removed"), v3(&lab, "T-03", "planned")];
    lab.state(&[Change::of(3, records).evidence(&["T-01"])]);
    let run = lab.upgrade_and_back(&TO);
    run.assert_done();
    assert_eq!(run.notes(), "never-started");
    assert!(run.message("history-only").starts_with("T-01, T-02 go into history only"));
    assert_eq!(run.all("verification-unproven").len(), 0);
    assert_eq!(lab.status("schema_version"), 5);
    assert_eq!(lab.status("worktrees"), json!([]));
    assert_eq!(lab.record_entries("evidence/T-01.md").len(), 1);
    assert_eq!(lab.record_entries("HISTORY.md").len(), 2);
    assert!(!lab.exists(&in_change("README.md")));
    assert_eq!(lab.record("T-01"), Value::Null);
}

#[test]
fn open_version_3_record_blocks_and_its_advice_is_for_this_release() {
    let lab = Lab::new();
    lab.state(&[Change::of(3, vec![v3(&lab, "T-01", "review")])]);
    lab.worktree("specdev-worktree/T-01", &branch_of("T-01"), "main");
    let run = lab.check(&TO);
    run.assert_blocked("active-worktree");
    let next = &run.one("active-worktree")["next"];
    assert_eq!(next[2], "specdev-migrate decisions --to 0.7.3 > decisions.yaml");
    assert_eq!(next[3], "specdev-migrate --decisions decisions.yaml --dry-run --to 0.7.3");
    run_next(&lab, &run, 4);
}

#[test]
fn open_version_4_record_blocks() {
    let lab = Lab::new();
    lab.state(&[Change::of(4, vec![v5(&lab, "T-01", "active")])]);
    lab.check(&TO).assert_blocked("active-worktree");
}

#[test]
fn open_version_3_record_may_be_retired() {
    let lab = Lab::new();
    lab.state(&[Change::of(3, vec![v3(&lab, "T-01", "active")]).evidence(&["T-01"])]);
    let tip = lab.side(&lab.m(1), "half done");
    lab.worktree("specdev-worktree/T-01", &branch_of("T-01"), &tip);
    let text = lab.decisions(&TO);
    assert!(!text.contains("workspace:") && !text.contains("lead:") && !text.contains("e2e:"), "{text}");
    let file = lab.decided(&filled(&text, "retire"));
    let run = lab.upgrade(&[&TO[..], &["--decisions", &file]].concat());
    run.assert_done();
    let entries = lab.record_entries("evidence/T-01.md");
    assert_eq!(entries[0].0["decision"]["action"], "retire");
    assert_eq!(entries[0].0["decision"]["branch_tip"], tip);
    assert_eq!(lab.status("worktrees"), json!([]));
}

#[test]
fn open_version_3_record_cannot_be_continued() {
    let lab = Lab::new();
    lab.state(&[Change::of(3, vec![v3(&lab, "T-01", "active")])]);
    let text = filled(&lab.decisions(&TO), "continue");
    let line = text.lines().position(|l| l.contains("action: continue")).unwrap() + 1;
    let run = lab.check(&[&TO[..], &["--decisions", &lab.decided(&text)]].concat());
    assert_eq!(run.code, 2, "{}", run.text);
    let want = format!(
        "line {line} column 17: {CHANGE} T-01: release 0.7.3 has no records to continue in; use retire"
    );
    assert!(run.error().contains(&want), "{}", run.text);
}

#[test]
fn uncommitted_files_are_not_lifted_by_retiring() {
    let lab = Lab::new();
    lab.state(&[Change::of(3, vec![v3(&lab, "T-01", "active")])]);
    lab.worktree("specdev-worktree/T-01", &branch_of("T-01"), "main");
    lab.write("specdev-worktree/T-01/new.txt", "x");
    let file = lab.decided(&filled(&lab.decisions(&TO), "retire"));
    lab.check(&[&TO[..], &["--decisions", &file]].concat()).assert_blocked("dirty-source");
}

#[test]
fn version_5_records_stay_whatever_git_shows() {
    let lab = Lab::new();
    let twice = v5(&lab, "T-02", "active");
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "active"), twice]).evidence(&["T-01"])]);
    lab.worktree(&path_of("T-01"), "elsewhere", "main");
    lab.write(&format!("{}/new.txt", path_of("T-01")), "x");
    lab.worktree(&path_of("T-09"), &branch_of("T-09"), "main");
    let run = lab.upgrade(&TO);
    run.assert_done();
    assert_eq!((run.notes().as_str(), run.writes().len()), ("already-current", 0));
}

#[test]
fn version_5_records_stay_also_where_the_change_is_written() {
    let lab = Lab::new();
    let plan = "coordination_mode: single-session\nworkspace_strategy: worktree\n";
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "active")]).plan(3, plan)]);
    let before = lab.status("worktrees");
    let run = lab.upgrade_and_back(&TO);
    assert_eq!(run.writes(), [in_change("HISTORY.md"), in_change("goal-plan.md")]);
    assert_eq!(lab.status("worktrees"), before);
}

#[test]
fn records_in_evidence_stay() {
    // They came with a later release; this one knows none.
    let lab = Lab::new();
    let old = v3(&lab, "T-01", "integrated");
    let evidence = legacy("T-01", &old);
    lab.state(&[
        Change::of(3, vec![old]).file("evidence/T-01.md", &evidence),
        Change::of(3, vec![])
            .named(OTHER)
            .file("evidence/T-02.md", legacy("T-02", &v3(&lab, "T-02", "active"))),
    ]);
    let run = lab.upgrade_and_back(&TO);
    run.assert_done();
    assert!(lab.evidence("T-01").starts_with(&evidence));
    assert_eq!(lab.record_entries("evidence/T-01.md").len(), 1);
    assert_eq!(lab.status("worktrees"), json!([]));
}

#[test]
fn stray_of_a_change_that_is_written_blocks() {
    let lab = Lab::new();
    lab.state(&[Change::of(3, vec![])]);
    lab.worktree(&path_of("T-09"), &branch_of("T-09"), "main");
    lab.check(&TO).assert_blocked("unrecorded-worktree");
}

#[test]
fn conflicting_leads_do_not_matter() {
    let lab = Lab::new();
    let plan = "orchestration: lead-directed\nlead: planner\nimplementation_agent_limit: 2\nticket_workspace_policy: required\n\
                integration_gate: candidate-merge\n";
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")]).leadership("somebody").plan(5, plan)]);
    lab.check(&TO).assert_done();
}
