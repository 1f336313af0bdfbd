//! What becomes of finished records: history, and a version 1 record where git and the old record say
//! so (contract.md §3, Finished record and v1 record).

use serde_json::{Value, json};

use super::lab::*;

/// One finished record of version 5, its ticket done; upgraded.
fn upgraded(places: &[(&str, Value)], ticket: Option<&'static str>) -> (Lab, Run) {
    let lab = Lab::new();
    let record = with(v5(&lab, "T-01", "integrated"), places);
    let mut change = Change::v5(vec![record]).evidence(&["T-01"]);
    if let Some(status) = ticket {
        change = change.tickets(status, &["T-01"]);
    }
    lab.state(&[change]);
    let run = lab.upgrade(&[]);
    run.assert_done();
    (lab, run)
}

#[track_caller]
fn assert_state(lab: &Lab, status: &str, verification: &str) {
    let record = lab.record("T-01");
    assert_eq!(
        (&record["status"], &record["verification"]["status"]),
        (&json!(status), &json!(verification))
    );
}

// ---- the record -------------------------------------------------------------------------------------

#[test]
fn version_1_record_carries_what_it_has_a_place_for() {
    let (lab, run) = upgraded(&[("/integration/attempts", json!(2))], Some("done"));
    let evidence = format!("<Path>{{roots.state}}/specdev/changes/{CHANGE}/evidence/T-01.md</Path>");
    let want = json!({
        "schema_version": 1,
        "ticket_id": "T-01",
        "workspace_context": "README.md#execution-context",
        "implementation_owners": [WORKER],
        "status": "verified",
        "checkpoint": lab.m(1),
        "verification": {
            "status": "passed", "evidence": evidence,
            "e2e": {"required": false, "status": "not-required", "reason": "no user interface", "evidence": null},
        },
        "attempts": 2,
    });
    // Byte for byte, members in the order of the contract.
    let id = lab.record_entries("evidence/T-01.md")[0].0["id"].clone();
    let section = format!(
        "# Evidence: T-01\n\nAll seen.\n\n## Workspace Execution Record\n\n```json\n{}```\n\n\
         Old record: history entry {}.\n\n## Migration History\n",
        pretty(&want),
        id.as_str().unwrap()
    );
    assert!(lab.evidence("T-01").starts_with(&section), "{}", lab.evidence("T-01"));
    assert_eq!(run.warnings(), "");
    assert_eq!(lab.run(&["validate", "--to", "2.0.6"]).code, 0);
}

#[test]
fn exact_bytes_of_the_old_record_stand_in_the_history_of_its_evidence() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")]).evidence(&["T-01"])]);
    // Odd spacing, escapes and order are kept.
    let old = lab.read(&in_change(".status.json"));
    let odd = old.replace("\"owner\": \"lead-7\"", "\"owner\" :\t\"l\\u0065ad-7\"");
    assert_ne!(old, odd);
    lab.write(&spec(&in_change(".status.json")), &odd);
    lab.commit();
    lab.upgrade_and_back(&[]).assert_done();
    let entries = lab.record_entries("evidence/T-01.md");
    let (meta, kept) = &entries[0];
    assert_eq!(meta["pointer"], "/worktrees/0");
    let range = meta["range"].as_array().unwrap();
    let range = range[0].as_u64().unwrap() as usize..range[1].as_u64().unwrap() as usize;
    assert_eq!(*kept, odd[range]);
    assert!(kept.starts_with('{') && kept.ends_with('}') && kept.contains(":\t\"l\\u0065ad-7\""));
    assert_eq!(lab.status("worktrees"), json!([]));
}

#[test]
fn record_without_evidence_stands_in_the_history_of_the_change() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")])]);
    let run = lab.upgrade_and_back(&[]);
    assert_eq!(lab.record_entries("HISTORY.md").len(), 1);
    assert!(!lab.exists(&in_change("evidence/T-01.md")));
    // Condition (4) holds per record; the context of the change is written all the same.
    assert_eq!(run.message("verification-unproven"), "T-01 goes into history only: it has no Evidence file");
    assert_eq!(lab.context()["branch"], "main");
}

#[test]
fn removed_record_becomes_a_version_1_record_too() {
    let (lab, _) = upgraded(&[("/status", json!("removed"))], Some("done"));
    assert_state(&lab, "verified", "passed");
}

#[test]
fn record_in_the_current_checkout_becomes_a_version_1_record_too() {
    let lab = Lab::new();
    let change = Change::of(6, vec![current(&lab, "T-01", "integrated")]).evidence(&["T-01"]);
    lab.state(&[change.tickets("done", &["T-01"])]);
    lab.upgrade_and_back(&[]).assert_done();
    assert_state(&lab, "verified", "passed");
    assert_eq!(lab.status("schema_version"), 6);
}

#[test]
fn blocked_change_gets_records_and_context_but_no_outcome() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")]).status("blocked").evidence(&["T-01"])]);
    lab.upgrade_and_back(&[]).assert_done();
    assert_state(&lab, "review", "pending");
    assert!(lab.read(&in_change("README.md")).starts_with(&format!("# {CHANGE}\n\n## Execution Context\n")));
}

#[test]
fn completed_change_goes_into_history_only() {
    for record in [v5 as fn(&Lab, &str, &str) -> Value, v3] {
        let lab = Lab::new();
        let version = if record(&lab, "T-01", "integrated").get("integration").is_some() { 5 } else { 3 };
        let records = vec![record(&lab, "T-01", "integrated"), record(&lab, "T-02", "removed")];
        lab.state(&[Change::of(version, records).status("completed").evidence(&["T-01"])]);
        let run = lab.upgrade_and_back(&[]);
        assert!(
            !run.warnings().contains("history-only") && !run.warnings().contains("unproven"),
            "{}",
            run.text
        );
        assert_eq!(lab.record("T-01"), Value::Null);
        assert!(!lab.exists(&in_change("README.md")));
        assert_eq!(lab.record_entries("evidence/T-01.md").len(), 1);
        assert_eq!(lab.record_entries("HISTORY.md").len(), 1);
        assert_eq!(lab.status("worktrees"), json!([]));
    }
}

#[test]
fn completed_change_with_an_open_record_is_blocked() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "review")]).status("completed").evidence(&["T-01"])]);
    lab.check(&[]).assert_blocked("active-worktree");
}

// ---- S and V ----------------------------------------------------------------------------------------

#[test]
fn passed_done_and_contained_is_verified() {
    let (lab, run) = upgraded(&[], Some("done"));
    assert_state(&lab, "verified", "passed");
    assert_eq!(run.warnings(), "");
}

#[test]
fn ticket_that_is_not_done_stays_in_review() {
    for status in ["in_progress", "cancelled", "DONE"] {
        assert_state(&upgraded(&[], Some(status)).0, "review", "pending");
    }
}

#[test]
fn ticket_without_a_file_stays_in_review() {
    assert_state(&upgraded(&[], None).0, "review", "pending");
}

#[test]
fn each_word_of_the_old_record_is_needed() {
    let not_required = |reason: Value| json!({"required": false, "status": "not-required", "reason": reason, "evidence": null});
    for (pointer, value) in [
        ("/integration/status", json!("candidate")),
        ("/integration/verification", json!("pending")),
        ("/integration/promotion_status", json!("applying")),
        ("/integration/full_suite/status", json!("pending")),
        ("/integration/full_suite/status", json!("failed")),
        ("/integration/full_suite", not_required(Value::Null)),
        ("/integration/full_suite", not_required(json!(" "))),
        ("/integration/e2e/status", json!("pending")),
        ("/integration/e2e/status", json!("failed")),
        ("/integration/e2e/reason", Value::Null),
        ("/integration/e2e/reason", json!("")),
    ] {
        let (lab, run) = upgraded(&[(pointer, value)], Some("done"));
        assert_state(&lab, "review", "pending");
        assert_eq!(run.warnings(), "", "{pointer}");
    }
}

#[test]
fn suites_may_be_passed_or_not_required_with_a_reason() {
    let suite = |required: bool, status: &str, reason: Value| json!({"required": required, "status": status, "reason": reason, "evidence": null});
    for (pointer, value) in [
        ("/integration/full_suite", suite(false, "not-required", json!("one file"))),
        ("/integration/e2e", suite(true, "passed", Value::Null)),
    ] {
        assert_state(&upgraded(&[(pointer, value)], Some("done")).0, "verified", "passed");
    }
}

#[test]
fn failed_verification_stays_failed() {
    let (lab, _) = upgraded(&[("/integration/verification", json!("failed"))], Some("done"));
    assert_state(&lab, "review", "failed");
}

#[test]
fn e2e_disposition_is_carried_as_it_is() {
    let e2e = json!({"required": true, "status": "failed", "reason": "flaky", "evidence": "run 7"});
    let (lab, _) = upgraded(&[("/integration/e2e", e2e.clone())], Some("done"));
    assert_eq!(lab.record("T-01")["verification"]["e2e"], e2e);
}

#[test]
fn result_that_is_not_contained_must_be_reviewed_again() {
    let lab = Lab::new();
    let squashed = lab.side(&lab.m(0), "squashed away");
    let record = with(v5(&lab, "T-01", "integrated"), &[("/integration/result_sha", json!(squashed))]);
    lab.state(&[Change::v5(vec![record]).evidence(&["T-01"]).tickets("done", &["T-01"])]);
    let run = lab.upgrade(&[]);
    run.assert_done();
    assert_state(&lab, "review", "pending");
    assert_eq!(lab.record("T-01")["checkpoint"], squashed);
    assert_eq!(run.warnings(), "result-not-contained");
    assert_eq!(
        run.message("result-not-contained"),
        format!("result {squashed} of T-01 is not contained in main; it must be reviewed again")
    );
    assert_eq!(run.one("result-not-contained")["pointer"], "/worktrees/0");
}

#[test]
fn result_that_is_no_commit_here_must_be_reviewed_again() {
    // Of a submodule, or composite.
    for result in ["00000000000000000000000000000000deadbeef", "backend:1234567;frontend:89abcde"] {
        let (lab, run) = upgraded(&[("/integration/result_sha", json!(result))], Some("done"));
        assert_state(&lab, "review", "pending");
        assert_eq!(run.warnings(), "result-not-contained");
        assert_eq!(lab.record("T-01")["checkpoint"], result);
    }
}

#[test]
fn short_result_that_is_contained_is_verified_and_kept_as_it_is() {
    let lab = Lab::new();
    let (lab, run) = upgraded(&[("/integration/result_sha", json!(&lab.m(1)[..8]))], Some("done"));
    assert_state(&lab, "verified", "passed");
    assert_eq!(lab.record("T-01")["checkpoint"], lab.m(1)[..8]);
    assert_eq!(run.warnings(), "");
}

#[test]
fn record_without_result_stays_in_review_without_a_warning() {
    let (lab, run) = upgraded(&[("/integration/result_sha", Value::Null)], Some("done"));
    assert_state(&lab, "review", "pending");
    assert_eq!(lab.record("T-01")["checkpoint"], Value::Null);
    assert_eq!(run.warnings(), "");
}

#[test]
fn containment_alone_raises_nothing() {
    let places = [("/integration/verification", json!("pending")), ("/integration/status", json!("pending"))];
    let (lab, run) = upgraded(&places, Some("done"));
    assert_state(&lab, "review", "pending");
    assert_eq!(run.warnings(), "");
}

// ---- older shapes -----------------------------------------------------------------------------------

#[test]
fn version_3_records_go_into_history_only_but_count_for_the_context() {
    let lab = Lab::new();
    let readme = "# Login\n\n## Ownership\n\n- **Owner:** `codex:/root`\n";
    let change = Change::of(3, vec![v3(&lab, "T-01", "integrated"), v3(&lab, "T-02", "removed")]);
    lab.state(&[change.evidence(&["T-01", "T-02"]).tickets("done", &["T-01"]).file("README.md", readme)]);
    let run = lab.upgrade_and_back(&[]);
    assert_eq!(
        run.message("history-only"),
        "T-01, T-02 go into history only: their records have no candidate gate and no E2E disposition"
    );
    assert_eq!((lab.record("T-01"), lab.record("T-02")), (Value::Null, Value::Null));
    assert!(!lab.evidence("T-01").contains("Workspace Execution Record"));
    let context = lab.context();
    assert_eq!(
        (&context["branch"], &context["base_sha"], &context["owner"]),
        (&json!("main"), &json!(lab.m(0)), &json!(LEAD))
    );
    assert_eq!(lab.status("schema_version"), 5);
    assert_eq!(lab.status("worktrees"), json!([]));
}

#[test]
fn version_4_shape_counts_as_old() {
    let lab = Lab::new();
    let mut record = v5(&lab, "T-01", "integrated");
    record["integration"]["e2e"].as_object_mut().unwrap().shift_remove("reason");
    for key in ["parent_ref", "candidate_tree_sha", "full_suite", "promotion_status"] {
        record["integration"].as_object_mut().unwrap().shift_remove(key);
    }
    lab.state(&[Change::of(4, vec![record]).evidence(&["T-01"]).led_by(LEAD)]);
    let run = lab.upgrade(&[]);
    run.assert_done();
    run.one("history-only");
    assert_eq!(lab.record("T-01"), Value::Null);
    assert_eq!(lab.context()["owner"], LEAD);
}

#[test]
fn version_5_shape_in_a_version_3_file_becomes_a_record() {
    let lab = Lab::new();
    let change = Change::of(3, vec![v5(&lab, "T-01", "integrated")]).evidence(&["T-01"]).led_by(LEAD);
    lab.state(&[change.tickets("done", &["T-01"])]);
    lab.upgrade_and_back(&[]).assert_done();
    assert_state(&lab, "verified", "passed");
}

#[test]
fn old_and_new_shapes_side_by_side() {
    let lab = Lab::new();
    let old = with(v3(&lab, "T-02", "integrated"), &[("/base_sha", json!(lab.m(1)))]);
    let change =
        Change::of(4, vec![old, v5(&lab, "T-01", "integrated")]).evidence(&["T-01", "T-02"]).led_by(LEAD);
    lab.state(&[change.tickets("done", &["T-01", "T-02"])]);
    let run = lab.upgrade_and_back(&[]);
    assert!(run.message("history-only").starts_with("T-02 go"));
    assert_state(&lab, "verified", "passed");
    assert_eq!(lab.record("T-02"), Value::Null);
    // The pointers in history are those of the old file.
    assert_eq!(lab.record_entries("evidence/T-01.md")[0].0["pointer"], "/worktrees/1");
}

#[test]
fn unknown_members_of_old_records_are_kept_in_history() {
    let lab = Lab::new();
    let mut record = v3(&lab, "T-01", "integrated");
    record["integrated_sha"] = json!(lab.m(1));
    record["branch"] = json!("speculo/specdev/2026-08-01-login-12");
    lab.state(&[Change::of(3, vec![record]).evidence(&["T-01"])]);
    lab.upgrade_and_back(&[]).assert_done();
    assert!(lab.record_entries("evidence/T-01.md")[0].1.contains("integrated_sha"));
}

// ---- Direct Spec ------------------------------------------------------------------------------------

fn direct(status: &str, change_status: &'static str) -> (Lab, Run) {
    let lab = Lab::new();
    let evidence = legacy("direct-spec", &direct_spec(&lab, status));
    lab.state(&[Change::v5(vec![]).status(change_status).file("evidence/direct-spec.md", evidence)]);
    let run = lab.upgrade(&[]);
    (lab, run)
}

#[test]
fn direct_spec_becomes_a_record_with_purpose_and_change() {
    let (lab, run) = direct("integrated", "active");
    run.assert_done();
    let record = lab.record("direct-spec");
    assert_eq!(record["purpose"], "direct-spec");
    assert_eq!(record["change"], CHANGE);
    assert_eq!(record.get("ticket_id"), None);
    assert_eq!(record.get("integration_attempt_limit"), None);
    let keys: Vec<&String> = record.as_object().unwrap().keys().collect();
    assert_eq!(keys[..4], ["schema_version", "purpose", "change", "workspace_context"]);
    // No ticket file says that it is done.
    assert_eq!((&record["status"], &record["verification"]["status"]), (&json!("review"), &json!("pending")));
    assert_eq!(run.warnings(), "");
    assert_eq!(lab.run(&["validate", "--to", "2.0.6"]).code, 0);
}

#[test]
fn direct_spec_without_plan_hands_its_attempt_limit_to_the_context() {
    let (lab, _) = direct("integrated", "active");
    let context = lab.context();
    assert_eq!(context["integration_attempt_limit"], 4);
    assert_eq!(context.as_object().unwrap().keys().next_back().unwrap(), "integration_attempt_limit");
}

#[test]
fn direct_spec_beside_a_plan_keeps_its_attempt_limit_to_history() {
    let lab = Lab::new();
    let evidence = legacy("direct-spec", &direct_spec(&lab, "integrated"));
    lab.state(&[Change::v5(vec![]).file("evidence/direct-spec.md", evidence).led_by(LEAD)]);
    lab.upgrade(&[]).assert_done();
    assert_eq!(lab.context().get("integration_attempt_limit"), None);
}

#[test]
fn direct_spec_with_an_attempt_limit_that_is_none_hands_over_nothing() {
    for limit in [Value::Null, json!(0), json!("4")] {
        let lab = Lab::new();
        let record = with(direct_spec(&lab, "integrated"), &[("/integration_attempt_limit", limit)]);
        lab.state(&[Change::v5(vec![]).file("evidence/direct-spec.md", legacy("direct-spec", &record))]);
        lab.upgrade(&[]).assert_done();
        assert_eq!(lab.context().get("integration_attempt_limit"), None);
    }
}

#[test]
fn direct_spec_that_is_active_is_open() {
    let lab = Lab::new();
    let evidence = legacy("direct-spec", &direct_spec(&lab, "active"));
    lab.state(&[Change::v5(vec![]).file("evidence/direct-spec.md", evidence)]);
    let run = lab.check(&[]);
    run.assert_blocked("active-worktree");
    assert!(run.message("active-worktree").starts_with("direct-spec of "));
}

#[test]
fn direct_spec_that_is_cancelled_is_finished_and_counts_for_nothing() {
    let (lab, run) = direct("cancelled", "active");
    run.assert_done();
    assert_eq!(run.warnings(), "");
    assert_eq!(lab.record("direct-spec"), Value::Null);
    assert!(!lab.exists(&in_change("README.md")));
    assert_eq!(lab.record_entries("evidence/direct-spec.md").len(), 1);
}

#[test]
fn direct_spec_that_is_cancelled_with_a_dirty_worktree_is_open() {
    let lab = Lab::new();
    let evidence = legacy("direct-spec", &direct_spec(&lab, "cancelled"));
    lab.state(&[Change::v5(vec![]).file("evidence/direct-spec.md", evidence)]);
    let path = format!("specdev-worktree/{CHANGE}/direct-spec");
    lab.worktree(&path, &format!("speculo/{CHANGE}/direct-spec"), "main");
    lab.check(&[]).assert_done();
    lab.write(&format!("{path}/new.txt"), "x");
    lab.check(&[]).assert_blocked("active-worktree");
}

#[test]
fn direct_spec_of_a_completed_change_goes_into_history_only() {
    let (lab, run) = direct("integrated", "completed");
    run.assert_done();
    assert_eq!(lab.record("direct-spec"), Value::Null);
    assert!(!lab.exists(&in_change("README.md")));
}
