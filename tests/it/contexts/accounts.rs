//! What the report says became of every value of a record (contract.md §5).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::lab::*;

/// The rows of one kind: from, and to where there is one.
fn rows(run: &Run, kind: &str) -> BTreeMap<String, String> {
    let list = run.json["account"][kind].as_array().unwrap_or_else(|| panic!("{}", run.text));
    let text = |v: &Value| v.as_str().unwrap_or_default().replace(&in_change(""), "");
    list.iter().map(|row| (text(&row["from"]), text(&row["to"]))).collect()
}

#[test]
fn values_of_a_record_that_lives_on_are_moved_converted_and_retired() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")])
        .evidence(&["T-01"])
        .tickets("done", &["T-01"])]);
    let run = lab.check(&[]);
    let (moved, converted, retired) = (rows(&run, "moved"), rows(&run, "converted"), rows(&run, "retired"));
    for (from, to) in [
        ("ticket_id", "ticket_id"),
        ("implementation_owner", "implementation_owners/0"),
        ("integration/result_sha", "checkpoint"),
        ("integration/evidence", "verification/evidence"),
        ("integration/verification", "verification/status"),
        ("integration/e2e/required", "verification/e2e/required"),
        ("integration/e2e/status", "verification/e2e/status"),
        ("integration/e2e/reason", "verification/e2e/reason"),
        ("integration/e2e/evidence", "verification/e2e/evidence"),
        ("integration/attempts", "attempts"),
    ] {
        assert_eq!(
            moved.get(&format!(".status.json#/worktrees/0/{from}")),
            Some(&format!("evidence/T-01.md#/{to}")),
            "{from}"
        );
    }
    assert_eq!(moved.len(), 10, "{moved:#?}");
    assert_eq!(
        converted.get(".status.json#/worktrees/0/status"),
        Some(&"evidence/T-01.md#/status".to_string())
    );
    for gone in [
        "owner",
        "base_sha",
        "branch",
        "workspace_ref",
        "source_checkpoint",
        "integration/candidate_sha",
        "integration/conflict_paths",
    ] {
        assert!(retired.contains_key(&format!(".status.json#/worktrees/0/{gone}")), "{gone}");
    }
    assert_eq!(rows(&run, "accepted"), BTreeMap::new());
}

#[test]
fn values_of_a_record_that_goes_into_history_only_are_retired() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")]).status("completed").evidence(&["T-01"])]);
    let run = lab.check(&[]);
    assert_eq!(
        (rows(&run, "moved").len(), rows(&run, "converted").len(), rows(&run, "accepted").len()),
        (0, 0, 0)
    );
    assert!(rows(&run, "retired").contains_key(".status.json#/worktrees/0/ticket_id"));
}

#[test]
fn values_of_a_record_that_its_owner_retired_are_accepted() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "active")]).evidence(&["T-01"])]);
    let file = lab.decide("retire");
    let run = lab.check(&["--decisions", &file]);
    run.assert_done();
    assert!(rows(&run, "accepted").contains_key(".status.json#/worktrees/0/ticket_id"));
    assert_eq!(rows(&run, "retired"), BTreeMap::new());
}

#[test]
fn values_of_a_record_in_evidence_have_an_account_too() {
    let lab = Lab::new();
    let record = direct_spec(&lab, "integrated");
    lab.state(&[Change::v5(vec![]).file("evidence/direct-spec.md", legacy("direct-spec", &record))]);
    let run = lab.check(&[]);
    let (moved, converted, retired) = (rows(&run, "moved"), rows(&run, "converted"), rows(&run, "retired"));
    let at = |p: &str| format!("evidence/direct-spec.md#/{p}");
    assert_eq!(moved.get(&at("integration/result_sha")), Some(&at("checkpoint")));
    assert_eq!(
        moved.get(&at("integration_attempt_limit")),
        Some(&"README.md#/integration_attempt_limit".to_string())
    );
    assert_eq!(converted.get(&at("integration/verification")), Some(&at("verification/status")));
    assert!(retired.contains_key(&at("branch")));
    // What stands where it stood is kept, and has no row.
    for kept in ["purpose", "change"] {
        assert!(
            !moved.contains_key(&at(kept))
                && !converted.contains_key(&at(kept))
                && !retired.contains_key(&at(kept))
        );
    }
}

#[test]
fn values_of_a_record_in_evidence_that_goes_into_history_only_are_retired() {
    let lab = Lab::new();
    let record = v5(&lab, "T-01", "integrated");
    lab.state(&[Change::v5(vec![]).status("completed").file("evidence/T-01.md", legacy("T-01", &record))]);
    let run = lab.check(&[]);
    let retired = rows(&run, "retired");
    for gone in ["ticket_id", "status", "integration/attempts"] {
        assert!(retired.contains_key(&format!("evidence/T-01.md#/{gone}")), "{gone}");
    }
    assert_eq!(rows(&run, "moved").len(), 0);
}

#[test]
fn trace_of_a_value_of_a_record_says_where_it_is() {
    let lab = Lab::new();
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")])
        .evidence(&["T-01"])
        .tickets("done", &["T-01"])]);
    lab.upgrade(&[]).assert_done();
    let place = format!("{}#/checkpoint", in_change("evidence/T-01.md"));
    let run = lab.run(&["history", "show", "--trace", &place]);
    assert_eq!(run.code, 0, "{}", run.text);
    assert!(run.stdout.contains(&format!("{place} is {}", json!(lab.m(1)))), "{}", run.text);
}
