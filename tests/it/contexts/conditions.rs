//! What git must confirm before a context is written, each condition failing alone (contract.md §3).

use serde_json::{Value, json};

use super::lab::*;

/// Two finished records of an active change, both with Evidence and done tickets.
fn lab_with(places: &[(&str, Value)], change: impl Fn(Change) -> Change) -> Lab {
    let lab = Lab::new();
    let second = with(v5(&lab, "T-02", "integrated"), places);
    let records = vec![v5(&lab, "T-01", "integrated"), second];
    let plain = Change::v5(records).evidence(&["T-01", "T-02"]).tickets("done", &["T-01", "T-02"]);
    lab.state(&[change(plain)]);
    lab
}

fn as_it_is(change: Change) -> Change {
    change
}

/// History only, and one warning that names what failed.
#[track_caller]
fn assert_unproven(lab: &Lab, reason: &str) {
    let run = lab.upgrade_and_back(&[]);
    assert_eq!(
        run.warnings().split(' ').filter(|w| *w != "lead-unassigned").collect::<Vec<_>>(),
        ["verification-unproven"]
    );
    assert_eq!(
        run.message("verification-unproven"),
        format!("no execution context was written, the records go into history only: {reason}")
    );
    assert!(!lab.exists(&in_change("README.md")));
    for ticket in ["T-01", "T-02"] {
        assert_eq!(lab.record(ticket), Value::Null);
        assert_eq!(lab.record_entries(&format!("evidence/{ticket}.md")).len(), 1);
    }
    assert_eq!(lab.status("worktrees"), json!([]));
}

#[test]
fn members_spelled_with_escapes_are_the_same() {
    let lab = lab_with(&[], as_it_is);
    let status = lab.read(&in_change(".status.json"));
    let escaped = status.replace("\"candidate_tree_sha\"", "\"candidate\\u005ftree_sha\"");
    assert_eq!(escaped.matches("u005f").count(), 2);
    lab.write(&spec(&in_change(".status.json")), escaped);
    lab.commit();
    let run = lab.upgrade(&[]);
    run.assert_done();
    assert_eq!(run.warnings(), "");
    assert_eq!(lab.record("T-01")["status"], "verified");
}

#[test]
fn all_conditions_hold() {
    let lab = lab_with(&[], as_it_is);
    let run = lab.upgrade(&[]);
    run.assert_done();
    assert_eq!(run.warnings(), "");
    assert_eq!(
        lab.context(),
        json!({
            "schema_version": 1, "change": CHANGE, "workspace_policy": "current", "workspace_ref": "current",
            "branch": "main", "base_sha": lab.m(0), "owner": LEAD, "ticket_execution": "auto",
        })
    );
    let text = lab.read(&in_change("README.md"));
    let order = [
        "schema_version",
        "change",
        "workspace_policy",
        "workspace_ref",
        "branch",
        "base_sha",
        "owner",
        "ticket_execution",
    ];
    let places: Vec<usize> = order.iter().map(|k| text.find(&format!("\"{k}\":")).unwrap()).collect();
    assert!(places.is_sorted());
}

// ---- (1) one parent branch, existing here -----------------------------------------------------------

#[test]
fn parent_branches_that_differ() {
    let lab = lab_with(&[("/parent_branch", json!("develop"))], as_it_is);
    lab.branch("develop", "main");
    assert_unproven(&lab, "the records name several parent branches: main, develop");
}

#[test]
fn parent_branch_that_does_not_exist() {
    let lab = Lab::new();
    let record = with(v5(&lab, "T-01", "integrated"), &[("/parent_branch", json!("develop"))]);
    lab.state(&[Change::v5(vec![record]).evidence(&["T-01"])]);
    let run = lab.upgrade_and_back(&[]);
    assert!(run.message("verification-unproven").ends_with(": parent branch develop does not exist here"));
}

#[test]
fn parent_branch_that_is_only_a_tag() {
    let lab = Lab::new();
    let record = with(v5(&lab, "T-01", "integrated"), &[("/parent_branch", json!("v1"))]);
    lab.state(&[Change::v5(vec![record]).evidence(&["T-01"])]);
    lab.git(&["tag", "v1"]);
    assert!(
        lab.check(&[]).message("verification-unproven").ends_with("parent branch v1 does not exist here")
    );
}

#[test]
fn parent_branch_is_read_without_its_prefix() {
    let lab = lab_with(&[("/parent_branch", json!("refs/heads/main"))], as_it_is);
    lab.upgrade(&[]).assert_done();
    assert_eq!(lab.context()["branch"], "main");
}

#[test]
fn parent_branch_of_a_version_3_record_is_the_configured_one() {
    let lab = Lab::new();
    lab.branch("develop", &lab.m(1));
    lab.state_with(json!("develop"), &[Change::of(3, vec![v3(&lab, "T-01", "integrated")]).led_by(LEAD)]);
    lab.upgrade(&[]).assert_done();
    assert_eq!(lab.context()["branch"], "develop");
}

#[test]
fn parent_branch_of_a_version_3_record_is_else_the_one_checked_out() {
    let lab = Lab::new();
    lab.git(&["checkout", "-q", "-b", "trunk"]);
    lab.state_with(Value::Null, &[Change::of(3, vec![v3(&lab, "T-01", "integrated")]).led_by(LEAD)]);
    lab.upgrade(&[]).assert_done();
    assert_eq!(lab.context()["branch"], "trunk");
}

#[test]
fn parent_branch_of_a_version_3_record_when_none_is_checked_out() {
    let lab = Lab::new();
    lab.state_with(Value::Null, &[Change::of(3, vec![v3(&lab, "T-01", "integrated")]).led_by(LEAD)]);
    lab.git(&["checkout", "-q", "--detach"]);
    let run = lab.upgrade(&[]);
    run.assert_done();
    assert!(
        run.message("verification-unproven").ends_with("T-01 names no parent branch and none is checked out")
    );
}

// ---- (2) base commits -------------------------------------------------------------------------------

#[test]
fn base_that_is_no_commit_here() {
    // Of a submodule, or of a history that was rewritten.
    let base = "00000000000000000000000000000000deadbeef";
    let lab = lab_with(&[("/base_sha", json!(base))], as_it_is);
    assert_unproven(&lab, &format!("base_sha {base:?} of T-02 is no commit of this repository"));
}

#[test]
fn base_that_is_composite() {
    let source = Lab::new();
    let base = format!("backend:{};frontend:{}", source.m(0), source.m(1));
    let lab = lab_with(&[("/base_sha", json!(base))], as_it_is);
    assert_unproven(&lab, &format!("base_sha {base:?} of T-02 is no commit of this repository"));
}

#[test]
fn base_that_is_a_branch_name() {
    let lab = lab_with(&[("/base_sha", json!("main"))], as_it_is);
    assert_unproven(&lab, "base_sha \"main\" of T-02 is no commit of this repository");
}

#[test]
fn base_that_is_a_tree() {
    let lab = Lab::new();
    let tree = lab.git(&["rev-parse", "main^{tree}"]);
    let record = with(v5(&lab, "T-01", "integrated"), &[("/base_sha", json!(tree))]);
    lab.state(&[Change::v5(vec![record]).evidence(&["T-01"])]);
    assert!(lab.check(&[]).message("verification-unproven").ends_with("is no commit of this repository"));
}

#[test]
fn base_that_is_ambiguous() {
    let lab = lab_with(&[("/base_sha", json!("a"))], as_it_is);
    assert_unproven(&lab, "base_sha \"a\" of T-02 is no commit of this repository");
}

#[test]
fn base_that_is_no_ancestor_of_the_parent() {
    let lab = Lab::new();
    let aside = lab.side(&lab.m(0), "aside");
    lab.branch("aside", &aside);
    let records = vec![
        v5(&lab, "T-01", "integrated"),
        with(v5(&lab, "T-02", "integrated"), &[("/base_sha", json!(aside))]),
    ];
    lab.state(&[Change::v5(records).evidence(&["T-01", "T-02"]).tickets("done", &["T-01", "T-02"])]);
    assert_unproven(&lab, &format!("base_sha {aside:?} of T-02 is not an ancestor of main"));
}

#[test]
fn base_that_is_short_becomes_the_full_one() {
    let lab = Lab::new();
    let record = with(v5(&lab, "T-01", "integrated"), &[("/base_sha", json!(&lab.m(0)[..8]))]);
    lab.state(&[Change::v5(vec![record]).evidence(&["T-01"])]);
    lab.upgrade(&[]).assert_done();
    assert_eq!(lab.context()["base_sha"], lab.m(0));
}

#[test]
fn base_of_the_context_is_the_oldest_by_ancestry() {
    // By position the newest would come first and last.
    let lab = Lab::new();
    let record =
        |ticket: &str, n: usize| with(v5(&lab, ticket, "integrated"), &[("/base_sha", json!(lab.m(n)))]);
    lab.state(&[Change::v5(vec![record("T-01", 2), record("T-02", 0), record("T-03", 1)])]);
    lab.upgrade(&[]).assert_done();
    assert_eq!(lab.context()["base_sha"], lab.m(0));
}

#[test]
fn bases_that_are_not_in_one_line() {
    let lab = Lab::new();
    let (left, right) = (lab.side(&lab.m(2), "left"), lab.side(&lab.m(2), "right"));
    let tree = format!("{left}^{{tree}}");
    let merge = lab.git(&["commit-tree", &tree, "-p", &left, "-p", &right, "-m", "merge"]);
    lab.git(&["reset", "-q", "--hard", &merge]);
    let record =
        |ticket: &str, base: &str| with(v5(&lab, ticket, "integrated"), &[("/base_sha", json!(base))]);
    let change = Change::v5(vec![record("T-01", &left), record("T-02", &right)]);
    lab.state(&[change.evidence(&["T-01", "T-02"]).tickets("done", &["T-01", "T-02"])]);
    assert_unproven(&lab, "the base_sha commits of the records are not in one line of ancestry");
}

#[test]
fn base_that_a_shallow_clone_does_not_have() {
    let lab = lab_with(&[], as_it_is);
    let shallow = lab.beside("shallow");
    git(
        &lab.top,
        &["clone", "-q", "--depth", "1", &format!("file://{}", lab.top.display()), shallow.to_str().unwrap()],
    );
    let run = run(lab.tool(&shallow).args(["--dry-run", "--format", "json"]));
    run.assert_done();
    assert_eq!(run.json["git"]["shallow"], true);
    let message = run.message("verification-unproven");
    assert!(message.ends_with("is no commit of this repository (this is a shallow clone)"), "{message}");
    let human = super::lab::run(lab.tool(&shallow).args(["--dry-run"]));
    assert!(
        human.stderr.contains(", a shallow clone; other clones cannot be seen from here"),
        "{}",
        human.stderr
    );
}

// ---- (3) an owner -----------------------------------------------------------------------------------

#[test]
fn nobody_is_named_as_owner() {
    let lab = lab_with(&[], |c| c.leadership("unassigned"));
    assert_unproven(&lab, "nobody is named as owner");
    let next = &lab.check(&["--to", "2.0.6"]);
    assert_eq!(next.writes(), Vec::<&str>::new());
}

#[test]
fn owner_is_the_plans_lead_first() {
    let readme = "# R\n\n## Ownership\n\nOwner: reader\n";
    let lab = lab_with(&[], |c| c.leadership("unassigned").led_by("planner").file("README.md", readme));
    lab.upgrade(&[]).assert_done();
    assert_eq!(lab.context()["owner"], "planner");
}

#[test]
fn owner_is_the_readmes_second() {
    let readme = "# R\n\n## Ownership\n\n- **Owner:** `reader`\n";
    let lab = lab_with(&[], |c| c.leadership("status").file("README.md", readme));
    lab.upgrade(&[]).assert_done();
    assert_eq!(lab.context()["owner"], "reader");
}

#[test]
fn owner_is_the_leadership_of_the_status_last() {
    let readme = "# R\n\n## Ownership\n\nOwner: unassigned\n";
    let lab = lab_with(&[], |c| c.leadership("status").file("README.md", readme));
    lab.upgrade(&[]).assert_done();
    assert_eq!(lab.context()["owner"], "status");
}

#[test]
fn owner_is_never_taken_from_the_body_of_a_plan() {
    let lab = Lab::new();
    let change = Change::of(3, vec![v3(&lab, "T-01", "integrated")]);
    let plan = format!(
        "---\nschema_version: 3\nartifact: goal-plan\nchange: {CHANGE}\nstatus: draft\nmodes: [coordination]\n\
         ready_for_execution: false\n---\n\n# Plan\n\n| Lead / Provider | `body` / `native` |\n"
    );
    lab.state(&[change.file("goal-plan.md", plan)]);
    let run = lab.upgrade(&[]);
    run.assert_done();
    assert!(run.message("verification-unproven").ends_with("nobody is named as owner"));
    assert_eq!(lab.status("leadership")["current"], "body");
}

#[test]
fn owner_by_decision_comes_before_all_others() {
    let lab = lab_with(&[], |c| c.led_by(LEAD));
    let file = lab.decided(&format!("schema_version: 1\nchanges:\n  {CHANGE}: {{lead: decided}}\n"));
    lab.upgrade(&["--decisions", &file]).assert_done();
    assert_eq!(lab.context()["owner"], "decided");
}

#[test]
fn plan_and_leadership_that_differ_conflict_until_decided() {
    let lab = lab_with(&[], |c| c.leadership("somebody").led_by("planner"));
    let run = lab.check(&[]);
    run.assert_blocked("conflicting-lead");
    let finding = run.one("conflicting-lead");
    assert_eq!(finding["message"], "the goal plan is led by planner, the change-status by somebody");
    assert_eq!(finding["owners"], json!(["planner", "somebody"]));
    assert_eq!(finding["pointer"], "/leadership/current");
    // The advice is a decisions file that works.
    let lines: Vec<&str> =
        finding["next"].as_array().unwrap().iter().skip(1).filter_map(Value::as_str).collect();
    let file = lab.decided(&format!("{}\n", lines.join("\n")));
    lab.upgrade(&["--decisions", &file]).assert_done();
    assert_eq!(lab.context()["owner"], "planner");
}

#[test]
fn plan_and_leadership_that_differ_do_not_matter_where_no_context_is_written() {
    let lab = lab_with(&[], |c| c.status("completed").leadership("somebody").led_by("planner"));
    lab.check(&[]).assert_done();
    let lab = lab_with(&[("/base_sha", json!("deadbeef"))], |c| c.leadership("somebody").led_by("planner"));
    assert_unproven(&lab, "base_sha \"deadbeef\" of T-02 is no commit of this repository");
}

#[test]
fn leadership_that_is_unassigned_conflicts_with_nobody() {
    let lab = lab_with(&[], |c| c.leadership("unassigned").led_by("planner"));
    lab.upgrade(&[]).assert_done();
    assert_eq!(lab.context()["owner"], "planner");
}

// ---- (4) Evidence -----------------------------------------------------------------------------------

#[test]
fn evidence_that_is_missing_concerns_its_record_alone() {
    let lab = Lab::new();
    let records = vec![v5(&lab, "T-01", "integrated"), v5(&lab, "T-02", "integrated")];
    lab.state(&[Change::v5(records).evidence(&["T-01"]).tickets("done", &["T-01", "T-02"])]);
    let run = lab.upgrade_and_back(&[]);
    assert_eq!(run.message("verification-unproven"), "T-02 goes into history only: it has no Evidence file");
    assert_eq!(run.one("verification-unproven")["pointer"], "/worktrees/1");
    assert_eq!(lab.record("T-01")["status"], "verified");
    assert!(!lab.exists(&in_change("evidence/T-02.md")));
    assert_eq!(lab.context()["owner"], LEAD);
}

// ---- the first that fails is named ------------------------------------------------------------------

#[test]
fn first_condition_that_fails_is_named() {
    // All of them fail.
    let lab = Lab::new();
    let places = [("/parent_branch", json!("gone")), ("/base_sha", json!("deadbeef"))];
    let record = with(v5(&lab, "T-01", "integrated"), &places);
    lab.state(&[Change::v5(vec![record]).leadership("unassigned")]);
    let run = lab.check(&[]);
    assert!(
        run.message("verification-unproven").ends_with("parent branch gone does not exist here"),
        "{}",
        run.text
    );

    // All but the first.
    let record = with(v5(&lab, "T-01", "integrated"), &[("/base_sha", json!("deadbeef"))]);
    lab.state(&[Change::v5(vec![record]).leadership("unassigned")]);
    let run = lab.check(&[]);
    assert!(
        run.message("verification-unproven").ends_with("is no commit of this repository"),
        "{}",
        run.text
    );
}
