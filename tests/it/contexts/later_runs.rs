//! Records in history own their items on later runs, until a branch moves on (contract.md §3, Inventory).

use serde_json::{Value, json};

use super::lab::*;

const PLAN: &str = "orchestration: lead-directed\nlead: codex:/root\nimplementation_agent_limit: 2\nticket_workspace_policy: required\n\
                    integration_gate: candidate-merge\n";

/// A change whose records went into history, and which a later run writes again: its plan of version 5
/// is put there afterwards.
fn settled(record: Value, make: impl Fn(&Lab)) -> Lab {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![record]).evidence(&["T-01"])]);
    make(&lab);
    lab.upgrade(&[]).assert_done();
    again(&lab);
    lab
}

/// Give the change something to write.
fn again(lab: &Lab) {
    let plan = format!(
        "---\nschema_version: 5\nartifact: goal-plan\nchange: {CHANGE}\nstatus: draft\nmodes: []\n{PLAN}ready_for_execution: false\n---\n\n# P\n"
    );
    lab.write(&spec(&in_change("goal-plan.md")), plan);
    lab.commit();
}

#[track_caller]
fn assert_owned(lab: &Lab) {
    let run = lab.check(&[]);
    run.assert_done();
    assert_eq!(run.notes(), "", "{}", run.text);
    assert!(run.writes().contains(&in_change("goal-plan.md").as_str()));
}

#[track_caller]
fn assert_stray(lab: &Lab, name: &str) {
    let run = lab.check(&[]);
    run.assert_blocked("unrecorded-worktree");
    let message = run.message("unrecorded-worktree");
    assert!(message.contains(&format!(" {name} names ")), "{message}");
    assert!(message.contains("moved on since its record went into history"), "{message}");
}

#[test]
fn branch_at_its_checkpoint() {
    let source = Lab::new();
    let tip = source.side(&source.m(0), "work");
    for checkpoint in [tip.as_str(), &tip[..8]] {
        let record = with(v5(&source, "T-01", "integrated"), &[("/source_checkpoint", json!(checkpoint))]);
        let lab = settled(record, |lab| {
            assert_eq!(lab.side(&lab.m(0), "work"), tip);
            lab.branch(&branch_of("T-01"), &tip);
        });
        assert_owned(&lab);
        lab.branch(&branch_of("T-01"), &lab.side(&tip, "afterthought"));
        assert_stray(&lab, &branch_of("T-01"));
    }
}

#[test]
fn branch_contained_in_the_parent() {
    let source = Lab::new();
    let record = with(v5(&source, "T-01", "integrated"), &[("/source_checkpoint", Value::Null)]);
    let lab = settled(record, |lab| lab.branch(&branch_of("T-01"), &lab.m(2)));
    assert_owned(&lab);
    lab.branch(&branch_of("T-01"), &lab.side(&lab.m(2), "afterthought"));
    assert_stray(&lab, &branch_of("T-01"));
}

#[test]
fn branch_contained_in_the_parent_that_the_record_in_history_names() {
    let source = Lab::new();
    let places = [("/source_checkpoint", Value::Null), ("/parent_branch", json!("develop"))];
    let record = with(v5(&source, "T-01", "integrated"), &places);
    let lab = settled(record, |lab| {
        lab.branch("develop", &lab.side(&lab.m(2), "on develop"));
        lab.branch(&branch_of("T-01"), "develop");
    });
    assert_owned(&lab);
}

#[test]
fn branch_at_the_tip_that_the_owner_retired() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "active")]).evidence(&["T-01"])]);
    let tip = lab.side(&lab.m(1), "half done");
    lab.branch(&branch_of("T-01"), &tip);
    let file = lab.decide("retire");
    lab.upgrade(&["--decisions", &file]).assert_done();
    assert_eq!(lab.record_entries("evidence/T-01.md")[0].0["decision"]["branch_tip"], tip);
    again(&lab);
    assert_owned(&lab);
    lab.branch(&branch_of("T-01"), &lab.side(&tip, "afterthought"));
    assert_stray(&lab, &branch_of("T-01"));
    lab.git(&["branch", "-q", "-D", &branch_of("T-01")]);
    assert_owned(&lab);
}

#[test]
fn worktree_whose_path_and_branch_both_agree() {
    let source = Lab::new();
    let lab = settled(v5(&source, "T-01", "integrated"), |lab| {
        lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
    });
    assert_owned(&lab);
    // Uncommitted files are nobody's question any more; a commit is.
    lab.write(&format!("{}/new.txt", path_of("T-01")), "x");
    assert_owned(&lab);
    lab.git_in(&path_of("T-01"), &["add", "-A"]);
    lab.git_in(&path_of("T-01"), &["commit", "-q", "-m", "afterthought"]);
    assert_stray(&lab, &path_of("T-01"));
}

#[test]
fn worktree_that_changed_its_branch() {
    let source = Lab::new();
    let lab = settled(v5(&source, "T-01", "integrated"), |lab| {
        lab.worktree(&path_of("T-01"), &branch_of("T-01"), &lab.m(1));
    });
    lab.git_in(&path_of("T-01"), &["checkout", "-q", "-b", "other"]);
    lab.check(&[]).assert_blocked("unrecorded-worktree");
}

#[test]
fn candidate_at_the_commit_its_record_names() {
    let source = Lab::new();
    let candidate = source.side(&source.m(0), "candidate");
    let record = with(v5(&source, "T-01", "integrated"), &[("/integration/candidate_sha", json!(candidate))]);
    let lab = settled(record, |lab| {
        lab.side(&lab.m(0), "candidate");
        lab.branch(&candidate_branch("T-01"), &candidate);
    });
    assert_owned(&lab);
    // That commit says nothing of the source.
    lab.branch(&branch_of("T-01"), &candidate);
    assert_stray(&lab, &branch_of("T-01"));
}

#[test]
fn record_that_stood_in_evidence() {
    let lab = Lab::new();
    let tip = lab.side(&lab.m(0), "work");
    let record = with(v5(&lab, "T-01", "integrated"), &[("/source_checkpoint", json!(tip))]);
    lab.state(&[Change::v5(vec![]).file("evidence/T-01.md", legacy("T-01", &record))]);
    lab.branch(&branch_of("T-01"), &tip);
    lab.upgrade(&[]).assert_done();
    again(&lab);
    assert_owned(&lab);
}

#[test]
fn version_3_records_own_their_branches_after_a_run_for_an_older_release() {
    let lab = Lab::new();
    lab.state(&[Change::of(3, vec![v3(&lab, "T-01", "integrated")]).evidence(&["T-01"])]);
    lab.branch(&branch_of("T-01"), &lab.m(2));
    lab.upgrade(&["--to", "0.7.3"]).assert_done();
    again(&lab);
    assert_owned(&lab);
    // It had no checkpoint: an uncontained tip is nobody's.
    lab.branch(&branch_of("T-01"), &lab.side(&lab.m(1), "work"));
    assert_stray(&lab, &branch_of("T-01"));
}

#[test]
fn planned_record_that_never_started_owns_a_branch_only_while_it_is_contained() {
    let source = Lab::new();
    let lab = settled(v5(&source, "T-01", "planned"), |_| {});
    lab.branch(&branch_of("T-01"), "main");
    assert_owned(&lab);
    lab.branch(&branch_of("T-01"), &lab.side(&lab.m(1), "started after all"));
    assert_stray(&lab, &branch_of("T-01"));
}

#[test]
fn restored_run_makes_the_record_count_again() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")]).evidence(&["T-01"])]);
    lab.upgrade_and_back(&[]).assert_done();
    assert_eq!(lab.run(&["restore"]).code, 0);
    lab.branch(&branch_of("T-01"), &lab.side(&lab.m(1), "more"));
    lab.check(&[]).assert_blocked("active-worktree");
}
