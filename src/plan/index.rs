//! The index, planned after the changes whose values it gives away (contract.md §2, status 4 → 5).

use std::collections::BTreeMap;

use super::Shared;
use super::change::ChangePlan;
use super::json_chain::{StatePlan, state_file};
use crate::error::Result;
use crate::finding::{Finding, Scope};
use crate::state::artifact::Artifact;
use crate::step::Settled;

/// The first version in which the change-status is the authority.
pub(super) const AUTHORITY: u64 = 5;

/// Plan `status.json`.
pub(super) fn plan(shared: &Shared<'_>, changes: &[ChangePlan]) -> Result<StatePlan> {
    let request = shared.request;
    let mut settled: BTreeMap<String, Settled> = BTreeMap::new();
    for change in changes {
        settled.insert(change.name.clone(), settle(shared, change));
    }
    let mut renumbers = true;
    if request.partial {
        let strange = |e: &crate::state::index::Entry| {
            !settled.contains_key(&e.change) && e.has_values() && !request.tree.archived.contains(&e.change)
        };
        renumbers = !settled.values().any(|s| s.held) && !shared.index.entries.iter().any(strange);
    }
    state_file(shared, request.tree.index.as_ref(), Artifact::Status, &settled, renumbers)
}

/// What the index must know of a change.
fn settle(shared: &Shared<'_>, change: &ChangePlan) -> Settled {
    let newer = change.version.is_some_and(|v| v >= AUTHORITY);
    let is_stopped =
        change.findings.iter().any(|f| Finding::stops(f) && f.scope == Scope::Change(change.name.clone()));
    if !is_stopped {
        return Settled { status: change.status.clone(), taken: change.taken.clone(), held: false, newer };
    }
    let listed = shared.index.entry(&change.name).is_some();
    let needed = !newer || !change.taken.is_empty();
    Settled {
        status: None,
        taken: Default::default(),
        held: shared.request.partial && listed && needed,
        newer,
    }
}
