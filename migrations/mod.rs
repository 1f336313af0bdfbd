//! What changes: values and pure functions. No I/O is possible here.
//!
//! [`CHAIN`] is the registry: one `mod` line and one name per step. A gap between two steps of one
//! artifact does not compile.

pub mod change_status_v3_v5;
pub mod change_status_values;
pub mod config_v3_v4;
pub mod execution_context_v1;
pub mod goal_plan_v3_v5;
pub mod goal_plan_v5_v8;
pub mod status_v3_v4;
pub mod status_v4_v5;
pub mod status_values;

mod index_values;
pub mod lead;

pub use execution_context_v1::propose;

use crate::finding::Code;
use crate::state::artifact::Artifact;
use crate::step::{Cx, PlanDraft, Release, Step, decide};

/// Every step. Steps of one artifact stand in the order they run.
pub const CHAIN: [&Step; 9] = [
    &config_v3_v4::STEP,
    &status_v3_v4::STEP,
    &status_v4_v5::STEP,
    &status_values::STEP,
    &goal_plan_v3_v5::STEP,
    &goal_plan_v5_v8::STEP,
    &execution_context_v1::STEP,
    &change_status_v3_v5::STEP,
    &change_status_values::STEP,
];

/// The releases one can upgrade to; the last is the default (contract.md §1).
pub const RELEASES: [Release; 2] = [
    Release {
        name: "0.7.3",
        targets: &[
            (Artifact::Config, 4),
            (Artifact::Status, 5),
            (Artifact::ChangeStatus, 5),
            (Artifact::GoalPlan, 5),
        ],
    },
    Release {
        name: "2.0.6",
        targets: &[
            (Artifact::Config, 4),
            (Artifact::Status, 5),
            (Artifact::ChangeStatus, 5),
            (Artifact::GoalPlan, 8),
            (Artifact::ExecutionContext, 1),
            (Artifact::ExecutionRecord, 1),
        ],
    },
];

/// What stands in place of a lead nobody names.
pub const UNASSIGNED: &str = "unassigned";
const UNASSIGNED_TEXT: &str = "nobody is named as lead; the lead is `unassigned` until somebody takes it";

fn unassigned_next(cx: &Cx<'_>) -> Vec<String> {
    let name = cx.change.map(|c| c.name.as_str()).unwrap_or_default();
    decide("to name the lead", &["changes:".into(), format!("  {name}: {{lead: OWNER}}")])
}

/// A plan that has to be planned again: not ready, and blocked where it was running.
fn replan(d: &mut PlanDraft<'_>, version: u64, why: &'static str) {
    let status = d.text("status").unwrap_or_default();
    let running = matches!(status, "ready" | "in_progress");
    let ready = d.get("ready_for_execution").and_then(serde_json::Value::as_bool) == Some(true);
    if running {
        d.convert("status", "blocked".into(), why);
    }
    if d.get("ready_for_execution").is_some() {
        d.convert("ready_for_execution", false.into(), why);
    }
    if running || (ready && d.text("status") != Some("completed")) {
        let now = if running { "blocked" } else { status };
        let text = format!(
            "was {status} (ready_for_execution {ready}) under version {version}, is {now} (false) now: {why}"
        );
        d.notes.raise(Code::ReplanRequired, None, text);
    }
}

/// The release that is the goal when none is named.
pub const NEWEST: &Release = &RELEASES[RELEASES.len() - 1];

/// The release of this name.
pub fn release(name: &str) -> Option<&'static Release> {
    RELEASES.iter().find(|r| r.name == name)
}

/// The steps of one artifact, in order.
pub fn steps(artifact: Artifact) -> impl Iterator<Item = &'static Step> {
    CHAIN.into_iter().filter(move |s| s.artifact as u8 == artifact as u8)
}

const _: () = assert!(is_joined(&CHAIN), "a step does not begin where the one before it ends");

/// Whether each renumbering step accepts the version that the step before it on the same artifact writes.
const fn is_joined(chain: &[&Step]) -> bool {
    let mut i = 0;
    while i < chain.len() {
        let Some(to) = chain[i].to else {
            i += 1;
            continue;
        };
        let mut j = i + 1;
        while j < chain.len() {
            if chain[j].artifact as u8 == chain[i].artifact as u8 && chain[j].to.is_some() {
                if !accepts(chain[j].from, to) {
                    return false;
                }
                break;
            }
            j += 1;
        }
        i += 1;
    }
    true
}

const fn accepts(from: &[u64], version: u64) -> bool {
    let mut i = 0;
    while i < from.len() {
        if from[i] == version {
            return true;
        }
        i += 1;
    }
    false
}
