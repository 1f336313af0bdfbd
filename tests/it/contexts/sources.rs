//! Where records stand: `worktrees[]` and Evidence, and what happens when both speak (contract.md §3,
//! Sources).

use serde_json::{Value, json};

use super::lab::*;

fn lab_with(make: impl Fn(&Lab) -> Change) -> Lab {
    let lab = Lab::new();
    lab.state(&[make(&lab)]);
    lab
}

// ---- legacy records in Evidence ---------------------------------------------------------------------

#[test]
fn legacy_record_in_evidence_becomes_a_version_1_record_in_its_place() {
    let lab = lab_with(|lab| {
        let evidence = legacy("T-01", &v5(lab, "T-01", "integrated"));
        Change::v5(vec![]).file("evidence/T-01.md", evidence).tickets("done", &["T-01"])
    });
    let before = lab.evidence("T-01");
    let run = lab.upgrade_and_back(&[]);
    run.assert_done();
    assert_eq!(run.warnings(), "");
    assert_eq!(lab.record("T-01")["status"], "verified");
    let after = lab.evidence("T-01");
    let entries = lab.record_entries("evidence/T-01.md");
    assert_eq!(entries.len(), 1);
    let (meta, kept) = &entries[0];
    assert_eq!(
        (&meta["pointer"], &meta["source"]),
        (&json!("record"), &json!(in_change("evidence/T-01.md")))
    );
    // The whole section is kept, and nothing else of the file is touched.
    let section = before.split("## Workspace").nth(1).unwrap().split("\n## 9.").next().unwrap();
    assert_eq!(format!("{kept}\n"), format!("## Workspace{section}\n"));
    assert!(after.starts_with("# Evidence: T-01\n\nSeen.\n\n## Workspace Execution Record\n\n```json\n{\n"));
    let line = format!(
        "```\n\nOld record: history entry {}.\n\n## 9. Rest\n\nNone.\n\n## Migration History\n",
        meta["id"].as_str().unwrap()
    );
    assert!(after.contains(&line), "{after}");
    // Nothing in the change-status had to change.
    assert_eq!(
        run.writes(),
        [in_change("HISTORY.md"), in_change("README.md"), in_change("evidence/T-01.md")]
    );
}

#[test]
fn legacy_record_in_evidence_is_open_like_any_other() {
    let lab = lab_with(|lab| {
        Change::v5(vec![]).file("evidence/T-01.md", legacy("T-01", &v5(lab, "T-01", "active")))
    });
    let run = lab.check(&[]);
    run.assert_blocked("active-worktree");
    let finding = run.one("active-worktree");
    assert_eq!(finding["file"], spec(&in_change("evidence/T-01.md")));
    assert_eq!((&finding["line"], &finding["column"]), (&json!(8), &json!(1)));
}

#[test]
fn legacy_record_that_goes_into_history_only_leaves_a_section_without_fence() {
    for status in ["completed", "active"] {
        // Active: the base is unknown here, so nothing can be confirmed.
        let lab = lab_with(|lab| {
            let record = with(v5(lab, "T-01", "integrated"), &[("/base_sha", json!("deadbeef"))]);
            Change::v5(vec![]).status(status).file("evidence/T-01.md", legacy("T-01", &record))
        });
        let run = lab.upgrade_and_back(&[]);
        assert_eq!(run.warnings(), if status == "active" { "verification-unproven" } else { "" });
        assert_eq!(lab.record("T-01"), Value::Null);
        let id = lab.record_entries("evidence/T-01.md")[0].0["id"].clone();
        let want = format!(
            "## Workspace Execution Record\n\nOld record: history entry {}.\n\n## 9. Rest\n",
            id.as_str().unwrap()
        );
        assert!(lab.evidence("T-01").contains(&want), "{}", lab.evidence("T-01"));
        assert!(!lab.exists(&in_change("README.md")));
    }
}

#[test]
fn legacy_record_in_evidence_with_crlf_keeps_its_line_ends() {
    let lab = lab_with(|lab| {
        let text = legacy("T-01", &v5(lab, "T-01", "integrated")).replace('\n', "\r\n");
        Change::v5(vec![]).file("evidence/T-01.md", text).tickets("done", &["T-01"])
    });
    lab.upgrade_and_back(&[]).assert_done();
    let after = lab.evidence("T-01");
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count());
    assert_eq!(lab.record("T-01")["status"], "verified");
}

#[test]
fn legacy_record_as_the_last_section_of_a_file_without_final_newline() {
    let lab = lab_with(|lab| {
        let text = legacy("T-01", &v5(lab, "T-01", "integrated"));
        let text = text.split("\n## 9.").next().unwrap().trim_end().to_string();
        Change::v5(vec![]).file("evidence/T-01.md", text).tickets("done", &["T-01"])
    });
    lab.upgrade_and_back(&[]).assert_done();
    assert_eq!(lab.record("T-01")["status"], "verified");
    assert_eq!(lab.record_entries("evidence/T-01.md")[0].0["final_newline"], false);
}

#[test]
fn section_with_text_only_is_no_record_and_takes_the_new_one_in() {
    for rest in ["", "\n## 9. Rest\n\nNone.\n"] {
        let text = format!("# Evidence: T-01\n\n## Workspace Execution Record\n\nTold below.\n{rest}");
        let lab = lab_with(|lab| {
            Change::v5(vec![v5(lab, "T-01", "integrated")])
                .file("evidence/T-01.md", &text)
                .tickets("done", &["T-01"])
        });
        lab.upgrade_and_back(&[]).assert_done();
        assert_eq!(lab.record("T-01")["status"], "verified");
        let after = lab.evidence("T-01");
        let own = after.split("## Migration History").next().unwrap();
        assert_eq!(own.matches("\n## Workspace Execution Record\n").count(), 1, "{after}");
        assert!(after.contains("\n## Workspace Execution Record\n\nTold below.\n\n```json\n{\n"), "{after}");
    }
}

#[test]
fn section_with_text_only_and_no_record_anywhere_is_left_alone() {
    let text = "# Evidence: T-01\n\n## Workspace Execution Record\n\nTold elsewhere.\n";
    let lab = lab_with(|_| Change::v5(vec![]).file("evidence/T-01.md", text));
    let run = lab.check(&[]);
    run.assert_done();
    assert_eq!(run.writes(), Vec::<&str>::new());
}

#[test]
fn record_of_another_fence_or_heading_is_none() {
    for text in [
        "# E\n\n### Workspace Execution Record\n\n```json\n{}\n```\n",
        "# E\n\n## Workspace Execution Record\n\n```text\n{}\n```\n",
        "# E\n\n````md\n## Workspace Execution Record\n\n```json\n{}\n```\n````\n",
    ] {
        let lab = lab_with(|_| Change::v5(vec![]).file("evidence/T-01.md", text));
        let run = lab.check(&[]);
        run.assert_done();
        assert_eq!(run.writes(), Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn direct_spec_evidence_without_record_is_left_alone() {
    let lab = lab_with(|_| {
        Change::v5(vec![]).file("evidence/direct-spec.md", "# Evidence: direct-spec\n\nDone.\n")
    });
    let run = lab.check(&[]);
    run.assert_done();
    assert_eq!(run.writes(), Vec::<&str>::new());
}

// ---- both places ------------------------------------------------------------------------------------

#[test]
fn equal_records_in_both_places_are_one() {
    let lab = lab_with(|lab| {
        let record = v5(lab, "T-01", "integrated");
        // Equal in value: order and spacing do not matter.
        let mut members: Vec<(String, Value)> = record.as_object().unwrap().clone().into_iter().collect();
        members.reverse();
        let other = Value::Object(members.into_iter().collect());
        Change::v5(vec![record]).file("evidence/T-01.md", legacy("T-01", &other)).tickets("done", &["T-01"])
    });
    let run = lab.upgrade_and_back(&[]);
    run.assert_done();
    assert_eq!(lab.record("T-01")["status"], "verified");
    assert_eq!(lab.status("worktrees"), json!([]));
    let pointers: Vec<Value> =
        lab.record_entries("evidence/T-01.md").into_iter().map(|(m, _)| m["pointer"].clone()).collect();
    assert_eq!(pointers, [json!("/worktrees/0"), json!("record")]);
    assert_eq!(
        lab.evidence("T-01").matches("\n## Workspace Execution Record\n").count(),
        2,
        "one of them in history"
    );
}

#[test]
fn equal_records_in_both_places_of_a_completed_change() {
    let lab = lab_with(|lab| {
        let record = v5(lab, "T-01", "integrated");
        let evidence = legacy("T-01", &record);
        Change::v5(vec![record]).status("completed").file("evidence/T-01.md", evidence)
    });
    lab.upgrade_and_back(&[]).assert_done();
    assert_eq!(lab.record("T-01"), Value::Null);
}

#[test]
fn different_records_of_one_ticket_conflict() {
    let lab = lab_with(|lab| {
        let record = v5(lab, "T-01", "integrated");
        let other = with(record.clone(), &[("/integration/attempts", json!(2))]);
        Change::v5(vec![record]).file("evidence/T-01.md", legacy("T-01", &other))
    });
    let run = lab.check(&[]);
    run.assert_blocked("conflicting-record");
    assert!(run.message("conflicting-record").contains("T-01 has another record in worktrees[]"));
    assert_eq!(run.one("conflicting-record")["line"], 8);
}

#[test]
fn one_ticket_twice_in_worktrees_conflicts_also_when_equal() {
    let lab = lab_with(|lab| {
        let record = v5(lab, "T-01", "integrated");
        Change::v5(vec![record.clone(), record]).evidence(&["T-01"])
    });
    let run = lab.check(&[]);
    run.assert_blocked("conflicting-record");
    assert_eq!(run.one("conflicting-record")["pointer"], "/worktrees/1");
    assert!(run.message("conflicting-record").contains("the first is worktrees[0]"));
}

#[test]
fn old_record_beside_a_version_1_record_conflicts() {
    let lab = lab_with(|lab| {
        let new = json!({"schema_version": 1, "ticket_id": "T-01", "workspace_context": "README.md#execution-context"});
        Change::v5(vec![v5(lab, "T-01", "integrated")]).file("evidence/T-01.md", legacy("T-01", &new))
    });
    let run = lab.check(&[]);
    run.assert_blocked("conflicting-record");
    assert!(
        run.message("conflicting-record").contains("an old record in worktrees[] and a version 1 record")
    );
}

#[test]
fn version_1_record_alone_is_done() {
    let lab = lab_with(|_| {
        let new = json!({"schema_version": 1, "ticket_id": "T-01", "workspace_context": "README.md#execution-context"});
        Change::v5(vec![]).file("evidence/T-01.md", legacy("T-01", &new))
    });
    let run = lab.check(&[]);
    run.assert_done();
    assert_eq!(run.notes(), "already-current");
}

#[test]
fn records_of_tickets_and_of_a_direct_spec_never_coexist() {
    let lab = lab_with(|lab| {
        Change::v5(vec![v5(lab, "T-01", "integrated")])
            .evidence(&["T-01"])
            .file("evidence/direct-spec.md", legacy("direct-spec", &direct_spec(lab, "integrated")))
    });
    let run = lab.check(&[]);
    run.assert_blocked("conflicting-record");
    assert!(run.message("conflicting-record").contains("records of tickets and of a Direct Spec"));
}

#[test]
fn version_1_record_of_a_ticket_and_a_legacy_direct_spec_never_coexist() {
    let lab = lab_with(|lab| {
        let new = json!({"schema_version": 1, "ticket_id": "T-01", "workspace_context": "README.md#execution-context"});
        Change::v5(vec![])
            .file("evidence/T-01.md", legacy("T-01", &new))
            .file("evidence/direct-spec.md", legacy("direct-spec", &direct_spec(lab, "integrated")))
    });
    lab.check(&[]).assert_blocked("conflicting-record");
}

// ---- what cannot be read ----------------------------------------------------------------------------

#[test]
fn two_record_sections_are_ambiguous() {
    let lab = lab_with(|lab| {
        let section = legacy("T-01", &v5(lab, "T-01", "integrated"));
        Change::v5(vec![]).file("evidence/T-01.md", format!("{section}\n{section}"))
    });
    lab.check(&[]).assert_blocked("ambiguous-section");
}

#[test]
fn two_fences_in_one_section_are_ambiguous() {
    let lab = lab_with(|lab| {
        let json = pretty(&v5(lab, "T-01", "integrated"));
        let text =
            format!("# E\n\n## Workspace Execution Record\n\n```json\n{json}```\n\n```json\n{json}```\n");
        Change::v5(vec![]).file("evidence/T-01.md", text)
    });
    let run = lab.check(&[]);
    run.assert_blocked("ambiguous-section");
    assert!(run.message("ambiguous-section").contains("more than one json fence"));
}

#[test]
fn record_that_is_no_json_is_an_error_with_its_place() {
    let text = "# E\n\n## Workspace Execution Record\n\n```json\n{\n  \"ticket_id\": \"T-01\",\n}\n```\n";
    let lab = lab_with(|_| Change::v5(vec![]).file("evidence/T-01.md", text));
    let run = lab.check(&[]);
    assert_eq!((run.code, run.stops().as_str()), (6, "invalid-json"), "{}", run.text);
    assert_eq!(run.one("invalid-json")["line"], 7);
}

#[test]
fn record_that_names_another_ticket_than_its_file_conflicts() {
    let lab = lab_with(|lab| {
        Change::v5(vec![]).file("evidence/T-02.md", legacy("T-02", &v5(lab, "T-01", "integrated")))
    });
    let run = lab.check(&[]);
    run.assert_blocked("conflicting-record");
    assert!(run.message("conflicting-record").contains("names \"T-01\", its Evidence file \"T-02\""));
}

#[test]
fn direct_spec_record_of_another_change_is_a_mismatch() {
    let lab = lab_with(|lab| {
        let record = with(direct_spec(lab, "integrated"), &[("/change", json!(OTHER))]);
        Change::v5(vec![]).file("evidence/direct-spec.md", legacy("direct-spec", &record))
    });
    lab.check(&[]).assert_blocked("change-name-mismatch");
}

#[test]
fn paths_of_records_never_lead_out_of_the_project() {
    for (pointer, path) in [
        ("/workspace_ref", "specdev-worktree/../../x"),
        ("/workspace_ref", "/etc"),
        ("/integration/candidate_workspace_ref", "..\\x"),
    ] {
        for in_evidence in [false, true] {
            let lab = lab_with(|lab| {
                let record = with(v5(lab, "T-01", "integrated"), &[(pointer, json!(path))]);
                if in_evidence {
                    Change::v5(vec![]).file("evidence/T-01.md", legacy("T-01", &record))
                } else {
                    Change::v5(vec![record]).evidence(&["T-01"])
                }
            });
            let run = lab.check(&[]);
            run.assert_blocked("outside-root");
            let message = run.message("outside-root");
            assert!(message.contains(&pointer[pointer.rfind('/').unwrap() + 1..]), "{message}");
            assert!(message.contains(&format!("{path:?}")), "{message}");
        }
    }
}

#[test]
fn newer_versions_of_records_and_contexts_are_never_guessed() {
    let record = json!({"schema_version": 2, "ticket_id": "T-01"});
    let lab = lab_with(|_| Change::v5(vec![]).file("evidence/T-01.md", legacy("T-01", &record)));
    let run = lab.check(&[]);
    assert_eq!((run.code, run.stops().as_str()), (5, "newer-version"), "{}", run.text);
    assert!(run.message("newer-version").contains("execution-record version 2"));

    let readme = "# R\n\n## Execution Context\n\n```json\n{\"schema_version\": 2}\n```\n";
    let lab = lab_with(|_| Change::v5(vec![]).file("README.md", readme));
    let run = lab.check(&[]);
    assert_eq!((run.code, run.stops().as_str()), (5, "newer-version"), "{}", run.text);
    assert_eq!(
        (&run.one("newer-version")["line"], &run.one("newer-version")["column"]),
        (&json!(6), &json!(20))
    );
}

#[test]
fn version_of_a_record_that_is_no_integer_is_unsupported() {
    for version in [json!("1"), json!(1.0), json!(true), json!(0)] {
        let record = json!({"schema_version": version, "ticket_id": "T-01"});
        let lab = lab_with(|_| Change::v5(vec![]).file("evidence/T-01.md", legacy("T-01", &record)));
        let run = lab.check(&[]);
        assert_eq!((run.code, run.stops().as_str()), (6, "unsupported-version"), "{version}: {}", run.text);
    }
}

#[test]
fn worktree_record_without_a_ticket_is_invalid() {
    let lab =
        lab_with(|lab| Change::v5(vec![with(v5(lab, "T-01", "integrated"), &[("/ticket_id", json!("T1"))])]));
    let run = lab.check(&[]);
    assert_eq!((run.code, run.stops().as_str()), (6, "schema-violation"), "{}", run.text);
}
