//! Values leave the index without a new number: an overfull version 5, or a version that has to stay
//! because a listed change stays (contract.md §2).

use serde_json::Value;

use super::index_values::{fates, present, raise_faults, raise_overfull, raise_strangers};
use crate::doc::json::Op;
use crate::doc::pointer::Pointer;
use crate::state::artifact::Artifact;
use crate::step::{JsonDraft, Run, Step, index_of};

/// The step.
pub const STEP: Step = Step {
    name: "status_values",
    artifact: Artifact::Status,
    from: &[3, 4, 5],
    to: None,
    summary: "values of migrated changes leave an index that keeps its number (overfull version 5, or --partial)",
    page: include_str!("README.md"),
    run: Run::Json(run),
};

fn run(d: &mut JsonDraft<'_>) {
    let index = index_of(d);
    let names_only = d.get("/schema_version").and_then(Value::as_u64) == Some(5);
    if !names_only {
        raise_faults(d, &index);
    }
    if !names_only || index.entries.iter().any(|e| e.has_values()) {
        raise_strangers(d, &index);
    }
    let mut overfull = Vec::new();
    for entry in &index.entries {
        let settled = d.cx.settled.get(&entry.change);
        let stranger = settled.is_none()
            && (!names_only || (entry.has_values() && !d.cx.archived.contains(&entry.change)));
        if stranger || settled.is_some_and(|s| s.held) {
            continue;
        }
        let mut any = false;
        for i in &entry.at {
            let at = Pointer::new(["active"]).join(i);
            for member in present(d, &at) {
                any |= empty(d, &entry.change, &at, member, names_only);
            }
        }
        if any && (names_only || settled.is_some_and(|s| s.newer)) {
            overfull.push(entry.change.clone());
        }
    }
    raise_overfull(d, &overfull);
}

/// Take one member out: away where only names may stand, else down to the empty value of its type.
fn empty(d: &mut JsonDraft<'_>, change: &str, at: &Pointer, member: &str, names_only: bool) -> bool {
    let here = at.join(member);
    let value = d.get(&here.to_string()).cloned().unwrap_or_default();
    let rest = match member {
        _ if names_only => None,
        "current_work" => Some(Value::Null),
        "works_run" => Some(Value::Array(Vec::new())),
        _ => None,
    };
    if rest.as_ref() == Some(&value) {
        return false;
    }
    fates(d, change, at, member).into_iter().for_each(|(from, fate)| d.book(from, fate));
    d.ops.push(match rest {
        Some(value) => Op::Replace { at: here, value },
        None => Op::Remove { at: here },
    });
    true
}
