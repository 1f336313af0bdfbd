//! The context in the README: made, appended, left, or in conflict (contract.md §3, v1 context).

use serde_json::{Value, json};

use super::lab::*;

fn lab_with(change: impl Fn(Change) -> Change) -> Lab {
    let lab = Lab::new();
    let plain = Change::v5(vec![v5(&lab, "T-01", "integrated")]).evidence(&["T-01"]);
    lab.state(&[change(plain)]);
    lab
}

fn section(lab: &Lab) -> String {
    let context = json!({
        "schema_version": 1, "change": CHANGE, "workspace_policy": "current", "workspace_ref": "current",
        "branch": "main", "base_sha": lab.m(0), "owner": LEAD, "ticket_execution": "auto",
    });
    format!("## Execution Context\n\n```json\n{}```\n", pretty(&context))
}

fn readme(lab: &Lab) -> String {
    lab.read(&in_change("README.md"))
}

#[test]
fn readme_that_is_not_there_is_made() {
    let lab = lab_with(|c| c);
    lab.upgrade_and_back(&[]).assert_done();
    assert_eq!(readme(&lab), format!("# {CHANGE}\n\nOutcome: active\n\n{}", section(&lab)));
}

#[test]
fn readme_of_a_blocked_change_has_no_outcome() {
    let lab = lab_with(|c| c.status("blocked"));
    lab.upgrade_and_back(&[]).assert_done();
    assert_eq!(readme(&lab), format!("# {CHANGE}\n\n{}", section(&lab)));
}

#[test]
fn readme_with_content_of_its_own_gets_the_section_at_its_end() {
    let own = "# Login\n\nOurs, with a hard break.  \n\n- [ ] todo\n";
    let lab = lab_with(|c| c.file("README.md", own));
    lab.upgrade_and_back(&[]).assert_done();
    assert_eq!(readme(&lab), format!("{own}\n{}", section(&lab)));
}

#[test]
fn readme_without_final_newline() {
    let lab = lab_with(|c| c.file("README.md", "# Login"));
    lab.upgrade_and_back(&[]).assert_done();
    assert_eq!(readme(&lab), format!("# Login\n\n{}", section(&lab)));
}

#[test]
fn readme_with_crlf() {
    let own = "# Login\r\n\r\nOurs.\r\n";
    let lab = lab_with(|c| c.file("README.md", own));
    lab.upgrade_and_back(&[]).assert_done();
    assert_eq!(readme(&lab), format!("{own}\r\n{}", section(&lab).replace('\n', "\r\n")));
}

#[test]
fn readme_that_leaves_a_fence_open() {
    let own = "# Login\n\n```sh\nmake test\n";
    let lab = lab_with(|c| c.file("README.md", own));
    lab.upgrade_and_back(&[]).assert_done();
    assert_eq!(readme(&lab), format!("{own}```\n\n{}", section(&lab)));
}

#[test]
fn readme_that_is_empty() {
    let lab = lab_with(|c| c.file("README.md", ""));
    lab.upgrade_and_back(&[]).assert_done();
    assert_eq!(readme(&lab), section(&lab));
}

#[test]
fn equal_context_stays_as_it_is_spelled() {
    let lab = Lab::new();
    let own = format!(
        "# Login\n\n## Execution Context\n\nAs agreed.\n\n```json\n{{\"ticket_execution\": \"auto\", \"owner\": \"{LEAD}\",\n \
         \"base_sha\": \"{}\", \"branch\": \"main\", \"workspace_ref\": \"current\", \"workspace_policy\": \"current\", \
         \"change\": \"{CHANGE}\", \"schema_version\": 1}}\n```\n\n## More\n",
        lab.m(0)
    );
    lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")])
        .evidence(&["T-01"])
        .file("README.md", &own)]);
    let run = lab.upgrade_and_back(&[]);
    run.assert_done();
    assert_eq!(readme(&lab), own);
    assert!(!run.writes().contains(&in_change("README.md").as_str()));
    assert_eq!(lab.record("T-01")["workspace_context"], "README.md#execution-context");
}

#[test]
fn another_context_is_a_conflict() {
    for (key, value) in [
        ("owner", json!("somebody")),
        ("branch", json!("develop")),
        ("base_sha", json!("0000000000000000000000000000000000000000")),
        ("ticket_execution", json!("serial")),
        ("max_parallel_tickets", json!(2)),
    ] {
        let lab = Lab::new();
        let mut context: Value = fenced(&section(&lab), "## Execution Context").unwrap();
        context[key] = value;
        let own = format!("# Login\n\n## Execution Context\n\n```json\n{}```\n", pretty(&context));
        lab.state(&[Change::v5(vec![v5(&lab, "T-01", "integrated")])
            .evidence(&["T-01"])
            .file("README.md", own)]);
        let run = lab.check(&[]);
        run.assert_blocked("conflicting-execution-context");
        let finding = run.one("conflicting-execution-context");
        assert_eq!(finding["file"], spec(&in_change("README.md")));
        assert_eq!(finding["line"], 3);
        assert_eq!(finding["owners"], json!([LEAD]));
    }
}

#[test]
fn context_that_is_no_json_or_not_there_is_a_conflict() {
    for text in ["", "```json\n{]\n```\n", "```text\n{}\n```\n", "Told elsewhere.\n"] {
        let lab = lab_with(|c| c.file("README.md", format!("# Login\n\n## Execution Context\n\n{text}")));
        lab.check(&[]).assert_blocked("conflicting-execution-context");
    }
}

#[test]
fn two_contexts_are_ambiguous() {
    let own = "# R\n\n## Execution Context\n\n## Execution Context\n";
    let lab = lab_with(|c| c.file("README.md", own));
    lab.check(&[]).assert_blocked("ambiguous-section");
}

#[test]
fn context_inside_a_fence_is_none() {
    let own = "# R\n\n````md\n## Execution Context\n\n```json\n{}\n```\n````\n";
    let lab = lab_with(|c| c.file("README.md", own));
    lab.upgrade_and_back(&[]).assert_done();
    assert_eq!(readme(&lab), format!("{own}\n{}", section(&lab)));
}

// ---- ticket_execution -------------------------------------------------------------------------------

const V6: &str = "orchestration: lead-directed\nlead: codex:/root\nimplementation_agent_limit: 2\nintegration_attempt_limit: 3\n";

#[test]
fn ticket_execution_is_that_of_the_plan_as_it_will_be() {
    for (policy, want) in [
        ("ticket_workspace_policy: current\nintegration_gate: direct-parent\n", "serial"),
        ("ticket_workspace_policy: required\nintegration_gate: candidate-merge\n", "auto"),
    ] {
        let lab = lab_with(|c| c.plan(6, &format!("{V6}{policy}")));
        lab.upgrade_and_back(&[]).assert_done();
        assert_eq!(lab.context()["ticket_execution"], want, "{policy}");
    }
}

#[test]
fn ticket_execution_of_a_plan_of_version_8_is_its_own() {
    let lines = "orchestration: lead-directed\nlead: codex:/root\nintegration_attempt_limit: 3\nticket_execution: parallel\n";
    let lab = lab_with(|c| c.plan(8, lines));
    lab.upgrade(&[]).assert_done();
    assert_eq!(lab.context()["ticket_execution"], "parallel");
}

#[test]
fn ticket_execution_by_decision() {
    let lab = lab_with(|c| {
        c.plan(6, &format!("{V6}ticket_workspace_policy: required\nintegration_gate: candidate-merge\n"))
    });
    let text = format!("schema_version: 1\nchanges:\n  {CHANGE}: {{plan: {{ticket_execution: parallel}}}}\n");
    lab.upgrade(&["--decisions", &lab.decided(&text)]).assert_done();
    assert_eq!(lab.context()["ticket_execution"], "parallel");
}

#[test]
fn ticket_execution_without_a_plan_is_auto() {
    let lab = lab_with(|c| c);
    lab.upgrade(&[]).assert_done();
    assert_eq!(lab.context()["ticket_execution"], "auto");
    assert_eq!(lab.context().get("integration_attempt_limit"), None);
}
