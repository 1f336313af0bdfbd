//! Goal plan 3 (4) → 5: led, limited, and to be planned again (contract.md §2).

use serde_json::Value;

use crate::finding::Code;
use crate::state::artifact::Artifact;
use crate::step::{PlanDraft, Run, Step};

/// The step.
pub const STEP: Step = Step {
    name: "goal_plan_v3_v5",
    artifact: Artifact::GoalPlan,
    from: &[3, 4],
    to: Some(5),
    summary: "adds lead, limit, workspace policy and gate; addenda move into history; ready plans must be planned again",
    page: include_str!("README.md"),
    run: Run::Plan(run),
};

const KNOWN: [&str; 11] = [
    "schema_version",
    "artifact",
    "change",
    "status",
    "modes",
    "orchestration",
    "lead",
    "implementation_agent_limit",
    "ticket_workspace_policy",
    "integration_gate",
    "ready_for_execution",
];
const RETIRED: [&str; 3] = ["coordination_mode", "workspace_strategy", "terminal_action"];
const ADDENDA: [&str; 2] = ["Delegated Execution Addendum", "Isolated Workspace Addendum"];

fn run(d: &mut PlanDraft<'_>) {
    let is_v3 = d.get("schema_version").and_then(Value::as_u64) == Some(3);
    d.renumber(5);
    d.retire_items("modes", "coordination", "every plan is coordinated by its lead");
    for key in RETIRED {
        if d.get(key).is_some() {
            d.retire(key, "replaced by workspace policy and gate");
        }
    }
    let known: Vec<&str> = KNOWN.into_iter().chain(RETIRED).collect();
    d.close(&known);
    d.insert("orchestration", "lead-directed".into());
    lead(d);
    d.insert("implementation_agent_limit", d.cx.limits.implementation_agents.into());
    d.insert("ticket_workspace_policy", "required".into());
    d.insert("integration_gate", "candidate-merge".into());
    readiness(d, is_v3);
    addenda(d);
}

fn lead(d: &mut PlanDraft<'_>) {
    if d.get("lead").is_some() {
        return;
    }
    let lead = d.cx.lead.clone().unwrap_or_else(|| {
        d.notes.raise(Code::LeadUnassigned, None, super::UNASSIGNED_TEXT).next = super::unassigned_next(d.cx);
        super::UNASSIGNED.to_string()
    });
    d.insert("lead", lead.into());
}

/// A version 3 plan has to be planned again, whatever it says; of version 4 only contradictions go.
fn readiness(d: &mut PlanDraft<'_>, is_v3: bool) {
    let running = matches!(d.text("status"), Some("ready" | "in_progress"));
    let ready = d.get("ready_for_execution").and_then(Value::as_bool) == Some(true);
    if is_v3 {
        super::replan(d, 3, "a version 3 plan must be planned again");
    } else if running && !ready {
        d.convert("status", "blocked".into(), "not ready for execution");
    } else if ready && !running {
        d.convert(
            "ready_for_execution",
            false.into(),
            "ready goes with the status ready or in_progress only",
        );
    }
}

/// Sections that version 5 forbids leave the body byte for byte; history keeps them.
fn addenda(d: &mut PlanDraft<'_>) {
    for title in ADDENDA {
        match d.outline.section(2, title) {
            Ok(None) => {}
            Ok(Some(section)) => d.moved.push((title.to_string(), section.heading.start..section.body.end)),
            Err(fault) => {
                d.notes.raise(fault.code, None, fault.message).next =
                    vec![format!("leave one section `## {title}` in the plan, then run again")];
            }
        }
    }
}
