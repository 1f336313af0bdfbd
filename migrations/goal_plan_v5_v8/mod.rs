//! Goal plan 5 (6, 7) → 8: one workspace per change instead of a policy per ticket (contract.md §2).

use serde_json::Value;

use crate::state::artifact::Artifact;
use crate::step::{PlanDraft, Run, Step};

/// The step.
pub const STEP: Step = Step {
    name: "goal_plan_v5_v8",
    artifact: Artifact::GoalPlan,
    from: &[5, 6, 7],
    to: Some(8),
    summary: "workspace policy and gate retire into a section of the body; ticket_execution and attempt limit are set",
    page: include_str!("README.md"),
    run: Run::Plan(run),
};

const KNOWN: [&str; 14] = [
    "schema_version",
    "artifact",
    "change",
    "status",
    "modes",
    "orchestration",
    "lead",
    LIMIT,
    "implementation_agent_limit",
    ATTEMPTS,
    POLICY,
    GATE,
    "ready_for_execution",
    "ticket_execution",
];
const LIMIT: &str = "concurrent_implementation_limit";
const ATTEMPTS: &str = "integration_attempt_limit";
const POLICY: &str = "ticket_workspace_policy";
const GATE: &str = "integration_gate";
const SECTION: &str = "Execution Policy Source";

fn run(d: &mut PlanDraft<'_>) {
    let version = d.get("schema_version").and_then(Value::as_u64).unwrap_or(5);
    let serial = d.text(POLICY) == Some("current");
    d.appended = source(d, version);
    d.renumber(8);
    if d.get("implementation_agent_limit").is_some() {
        if d.get(LIMIT).is_some() {
            d.retire("implementation_agent_limit", "concurrent_implementation_limit is there already");
        } else {
            d.rename("implementation_agent_limit", LIMIT);
        }
    }
    for key in [POLICY, GATE] {
        if d.get(key).is_some() {
            d.retire(key, "one workspace per change, named in the README");
        }
    }
    d.close(&KNOWN);
    attempts(d);
    execution(d, version, serial);
}

/// The plan's own limit, else the smaller of the configuration's and 3.
fn attempts(d: &mut PlanDraft<'_>) {
    let limit = d.cx.limits.integration_attempts;
    match d.get(ATTEMPTS) {
        None => d.insert(ATTEMPTS, limit.into()),
        Some(v) if v.as_u64().is_some_and(|n| n >= 1) => {}
        Some(_) => {
            d.convert(ATTEMPTS, limit.into(), "no limit of its own: the smaller of the configuration's and 3")
        }
    }
}

fn execution(d: &mut PlanDraft<'_>, version: u64, serial: bool) {
    let decided = d.cx.decision().and_then(|c| c.plan.clone()).unwrap_or_default();
    let implied = if serial { "serial" } else { "auto" };
    let execution = decided.ticket_execution.map_or(implied, |e| e.as_str());
    match d.get("ticket_execution") {
        None => d.insert("ticket_execution", execution.into()),
        Some(_) if decided.ticket_execution.is_some() => {
            d.convert("ticket_execution", execution.into(), "the owner's decision");
        }
        Some(_) => {}
    }
    // A plan that was older than 5 on disk was made under rules nobody confirmed.
    let keeps = serial || (decided.keep_ready && d.version_on_disk >= 5);
    if !keeps {
        super::replan(d, version, "the body orders a worktree per ticket, which exists no more");
    }
}

/// The rules that end with version 8, for whoever reads the plan. Said so that it is true of a plan that
/// passed through version 5 within one run, too.
fn source(d: &mut PlanDraft<'_>, version: u64) -> Option<String> {
    let heading = match d.outline.section(2, SECTION) {
        Ok(None) => format!("## {SECTION}\n"),
        Ok(Some(_)) => format!("### Carried over from version {version}\n"),
        Err(fault) => {
            d.notes.raise(fault.code, None, fault.message).next =
                vec![format!("leave one section `## {SECTION}` in the plan, then run again")];
            return None;
        }
    };
    let said = |key: &str| match d.get(key) {
        None => "not set".to_string(),
        Some(Value::String(text)) => code(text),
        Some(value) => code(&value.to_string()),
    };
    let limit = if d.get(LIMIT).is_some() { LIMIT } else { "implementation_agent_limit" };
    let lines: String =
        [POLICY, GATE, limit, ATTEMPTS].map(|key| format!("- {key}: {}\n", said(key))).concat();
    let entry = (d.cx.entry_id)("frontmatter");
    Some(format!(
        "{heading}\nThe rules of version {version} for this plan, which version 8 replaces:\n\n{lines}\n\
         The header as it was before the upgrade is kept in `HISTORY.md`, entry `{entry}`.\n"
    ))
}

/// A code span, whatever the text holds.
fn code(text: &str) -> String {
    let text = text.replace(['\r', '\n'], " ");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}
