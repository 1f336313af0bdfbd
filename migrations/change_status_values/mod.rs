//! A change-status of version 5 or above takes from the index what it leaves empty (contract.md §2).

use serde_json::Value;

use crate::doc::pointer::Pointer;
use crate::state::artifact::Artifact;
use crate::state::index::with_session;
use crate::step::{JsonDraft, Run, Step};

/// The step.
pub const STEP: Step = Step {
    name: "change_status_values",
    artifact: Artifact::ChangeStatus,
    from: &[5, 6],
    to: None,
    summary: "a newer change-status takes from an overfull index what it leaves empty itself",
    page: include_str!("README.md"),
    run: Run::Json(run),
};

fn run(d: &mut JsonDraft<'_>) {
    let Some(entry) = d.cx.entry else { return };
    let list =
        |values: &[(Value, Pointer)]| Value::Array(values.iter().map(|(v, _)| with_session(v)).collect());
    let offers = [
        ("current_work", entry.current_work.as_ref().map(|(v, _)| v.clone())),
        ("works_run", Some(list(&entry.works_run)).filter(|_| !entry.works_run.is_empty())),
        ("claimed_investigations", Some(list(&entry.claims)).filter(|_| !entry.claims.is_empty())),
    ];
    for (key, offer) in offers {
        let Some(value) = offer else { continue };
        let own = d.get(&format!("/{key}"));
        match own {
            None => d.insert(key, value, Artifact::ChangeStatus, 5),
            Some(own) if own.is_null() || own.as_array().is_some_and(Vec::is_empty) => {
                d.convert(&Pointer::new([key]), value, "an empty value, filled from the index");
            }
            Some(_) => {}
        }
    }
}
