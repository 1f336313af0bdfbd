//! Worktree records → one execution context per change (contract.md §3).
//!
//! [`judge`] says which records are open and why, [`inventory`] what belongs to nobody, [`decide`] applies
//! the owner's answers, [`convert`] writes the new records and the context.

mod context;
mod convert;
mod decide;
mod inventory;
mod judge;
mod propose;

pub use inventory::named_change;
pub use propose::propose;

use crate::account::{Booking, Fate};
use crate::doc::pointer::Pointer;
use crate::finding::Code;
use crate::state::artifact::Artifact;
use crate::state::record::Source;
use crate::step::{RecordsDraft, Run, Step};

/// The step.
pub const STEP: Step = Step {
    name: "execution_context_v1",
    artifact: Artifact::ExecutionRecord,
    from: &[0],
    to: Some(1),
    summary: "finished worktree records go into history; active changes get one execution context and version 1 records",
    page: include_str!("README.md"),
    run: Run::Records(run),
};

fn run(d: &mut RecordsDraft<'_>) {
    inventory::check(d);
    decide::raise_needless(d);
    // Release 0.7.3 keeps the records of version 5; older ones cannot become such records.
    if d.records.list.is_empty() || (!d.cx.release.has_contexts() && d.version >= 5) {
        return;
    }
    if !d.cx.release.has_contexts() {
        return convert::into_history(d);
    }
    convert::run(d);
}

/// Empty `worktrees` and book what stood there.
fn clear(d: &mut RecordsDraft<'_>) {
    d.clears_worktrees = d.records.list.iter().any(|r| matches!(r.source, Source::Worktrees(_)));
    for record in &d.records.list {
        if let Source::Worktrees(i) = record.source {
            let from = Pointer::new(["worktrees"]).join(i);
            d.notes
                .bookings
                .push(Booking { from, fate: Fate::Retired { rule: "the record stands in history" } });
        }
    }
}

/// Where a record stands, for findings: the file below `specdev/` and the pointer.
fn place(d: &RecordsDraft<'_>, record: &crate::state::record::Record) -> (String, Option<Pointer>) {
    match record.source {
        Source::Worktrees(i) => (d.change.path(".status.json"), Some(Pointer::new(["worktrees"]).join(i))),
        Source::Evidence(_) => (d.change.path(&format!("evidence/{}.md", record.ticket)), None),
    }
}

/// Raise a finding at a record.
fn raise_at(d: &mut RecordsDraft<'_>, n: usize, code: Code, message: String, next: Vec<String>) {
    let record = &d.records.list[n];
    let (file, pointer) = place(d, record);
    let owners = record.owners();
    let raised = d.notes.raise(code, pointer, message);
    raised.file = Some(file);
    raised.next = next;
    raised.owners = owners;
}
