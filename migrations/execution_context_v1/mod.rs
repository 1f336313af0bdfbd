//! Worktree records → one execution context per change (contract.md §3).
//!
//! `judge` says which records are open and why, `inventory` what belongs to nobody, `decide` applies
//! the owner's answers, `context` confirms the one workspace, `convert` says what becomes of every record,
//! `record` writes the new ones.

mod context;
mod convert;
mod decide;
mod inventory;
mod judge;
mod propose;
mod record;

pub use propose::propose;

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
    decide::settled(d);
    if !concerned(d).is_empty() {
        convert::run(d);
    }
}

/// The records that the release has no place for as they are, by position. Release 0.7.3 keeps those of
/// version 5 on and knows none in Evidence; older ones cannot become records of version 5.
fn concerned(d: &RecordsDraft<'_>) -> Vec<usize> {
    let all = 0..d.records.list.len();
    if d.cx.release.has_contexts() {
        return all.collect();
    }
    let is_old = |n: &usize| d.version < 5 && matches!(d.records.list[*n].source, Source::Worktrees(_));
    all.filter(is_old).collect()
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
