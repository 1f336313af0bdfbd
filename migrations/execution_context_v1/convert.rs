//! What becomes of finished and decided records: version 1 records and a context, or history only
//! (contract.md §3, Finished record; §6, continue and retire).

use serde_json::Value;

use super::context::{self, NoWorkspace, Workspace, workspace_of};
use super::judge::{self, Standing, print_decisions};
use super::{decide, record};
use crate::account::{Booking, Fate};
use crate::decisions::Action;
use crate::doc::pointer::Pointer;
use crate::finding::Code;
use crate::state::record::{Record, Source};
use crate::step::{KeptRecord, RecordsDraft};

/// What becomes of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    Untouched,
    HistoryOnly,
    Record,
    Continued,
}

pub(super) fn run(d: &mut RecordsDraft<'_>) {
    let standings = judge::standings(d);
    let has_open = judge::raise_open(d, &standings);
    let has_second = raise_second_record(d, &standings);
    // What is wrong with the decisions there are is told at once; what a stale one says means nothing.
    if !decide::pinned(d, &standings) | has_open | has_second {
        return;
    }
    let status =
        d.change.status_doc().and_then(|s| s.value().get("change_status")?.as_str()).unwrap_or_default();
    let is_live = matches!(status, "active" | "blocked");
    let goals: Vec<Goal> = (0..standings.len()).map(|n| goal(d, &standings[n], n, is_live)).collect();
    refuse_to_continue(d, &goals);
    let counted: Vec<usize> =
        (0..standings.len()).filter(|n| counts(d, &standings[*n], *n, is_live)).collect();
    let Ok(workspace) = workspace(d, &counted, &standings) else { return };
    if !decide::allowed(d, &standings, workspace.as_ref()) {
        return;
    }
    keep(d, &standings);
    if let Some(workspace) = &workspace {
        d.context = Some(context::context(d, workspace));
    }
    for (n, goal) in goals.into_iter().enumerate() {
        match (goal, &workspace) {
            (Goal::Untouched, _) => {}
            (Goal::Record, Some(_)) if !has_evidence(d, n) => raise_no_evidence(d, n),
            (Goal::Record, Some(workspace)) => record::finished(d, n, workspace),
            (Goal::Continued, Some(_)) => record::continued(d, n),
            _ if d.cx.release.has_contexts() => record::unwrite(d, n),
            _ => {}
        }
    }
    if is_live {
        raise_history_only(d, &standings);
    }
}

/// What is meant to become of a record, if the workspace is confirmed.
fn goal(d: &RecordsDraft<'_>, standing: &Standing, n: usize, is_live: bool) -> Goal {
    let record = &d.records.list[n];
    match standing {
        Standing::Untouched => Goal::Untouched,
        Standing::Open(_) => match decide::of(d, &record.ticket) {
            // A planned record has nothing to go on with but the plan.
            Some(t) if t.action == Action::Continue && record.status() != "planned" => Goal::Continued,
            _ => Goal::HistoryOnly,
        },
        Standing::Finished if is_live && record.is_gated && is_integrated(record) => Goal::Record,
        _ => Goal::HistoryOnly,
    }
}

/// Whether a record counts for the change's context.
fn counts(d: &RecordsDraft<'_>, standing: &Standing, n: usize, is_live: bool) -> bool {
    let record = &d.records.list[n];
    if !d.cx.release.has_contexts() {
        return false;
    }
    match standing {
        Standing::Open(_) => decide::of(d, &record.ticket).is_some_and(|t| t.action == Action::Continue),
        Standing::Finished => is_live && is_integrated(record),
        Standing::NeverStarted | Standing::Untouched => false,
    }
}

fn is_integrated(record: &Record) -> bool {
    matches!(record.status(), "integrated" | "removed")
}

fn has_evidence(d: &RecordsDraft<'_>, n: usize) -> bool {
    d.change.evidence.contains_key(&d.records.list[n].ticket)
}

/// A release without contexts has no place to go on in.
fn refuse_to_continue(d: &mut RecordsDraft<'_>, goals: &[Goal]) {
    if d.cx.release.has_contexts() {
        return;
    }
    for n in (0..goals.len()).filter(|n| goals[*n] == Goal::Continued) {
        let (name, ticket) = (d.change.name.as_str(), d.records.list[n].ticket.as_str());
        let release = d.cx.release.name;
        let text = format!("{name} {ticket}: release {release} has no records to continue in; use retire");
        d.usage.push(d.cx.decisions.fault(&["changes", name, "tickets", ticket, "action"], text));
    }
}

/// The workspace the decisions name or git confirms. `Err` when something was raised that stops the
/// change; `Ok(None)` when there is nothing to write a context for.
fn workspace(
    d: &mut RecordsDraft<'_>,
    counted: &[usize],
    standings: &[Standing],
) -> Result<Option<Workspace>, ()> {
    if counted.is_empty() {
        return Ok(None);
    }
    if let Some(named) = d.cx.decision().and_then(|c| c.workspace.clone()) {
        let workspace = context::decided(d, &named).ok_or(())?;
        if let Some((plan, status)) = context::lead_conflict(d) {
            context::raise_lead_conflict(d, plan, status);
            return Err(());
        }
        return Ok(Some(workspace));
    }
    let records: Vec<&Record> = counted.iter().map(|n| &d.records.list[*n]).collect();
    let reason = match workspace_of(d, &records) {
        Ok(workspace) => return Ok(Some(workspace)),
        Err(NoWorkspace::LeadConflict(plan, status)) => {
            context::raise_lead_conflict(d, plan, status);
            return Err(());
        }
        Err(NoWorkspace::Unproven(reason)) => reason,
    };
    if let Some(n) = counted.iter().copied().find(|n| standings[*n].is_open()) {
        let ticket = &d.records.list[n].ticket;
        let text = format!("{ticket} cannot go on: {reason}; name the workspace in the decisions file");
        let next = vec![print_decisions(d)];
        super::raise_at(d, n, Code::ActiveWorktree, text, next);
        return Err(());
    }
    let text = format!("no execution context was written, the records go into history only: {reason}");
    let (file, pointer) = super::place(d, &d.records.list[counted[0]]);
    let raised = d.notes.raise(Code::VerificationUnproven, pointer, text);
    raised.file = Some(file);
    Ok(None)
}

/// Every record goes into history, with the decision that let an open one go, and `worktrees` becomes `[]`.
fn keep(d: &mut RecordsDraft<'_>, standings: &[Standing]) {
    for (n, standing) in standings.iter().enumerate().filter(|(_, s)| **s != Standing::Untouched) {
        let record = &d.records.list[n];
        let decision = decide::of(d, &record.ticket).filter(|_| standing.is_open());
        let is_retired = decision.is_some_and(|t| t.action == Action::Retire);
        let source = record.source.clone();
        d.kept.push(KeptRecord { record: n, decision: decision.map(|t| decide::written(d, n, t)) });
        if let Source::Worktrees(i) = source {
            d.clears_worktrees = true;
            let from = Pointer::new(["worktrees"]).join(i);
            d.notes.bookings.push(Booking { from, fate: gone(is_retired) });
        }
    }
}

/// The fate of the values that no version 1 record carries.
pub(super) fn gone(by_decision: bool) -> Fate {
    if by_decision { Fate::Accepted } else { Fate::Retired { rule: "the record stands in history" } }
}

/// A version 1 record stands in Evidence beside an old one in `worktrees[]`.
fn raise_second_record(d: &mut RecordsDraft<'_>, standings: &[Standing]) -> bool {
    let is_second = |n: &usize| {
        let record = &d.records.list[*n];
        standings[*n] != Standing::Untouched
            && d.cx.release.has_contexts()
            && matches!(record.source, Source::Worktrees(_))
            && d.records.current.contains(&record.ticket)
    };
    let twice: Vec<usize> = (0..standings.len()).filter(is_second).collect();
    for n in &twice {
        let ticket = d.records.list[*n].ticket.clone();
        let text =
            format!("{ticket} has an old record in worktrees[] and a version 1 record in its Evidence");
        let next = vec!["remove the one that is not true, then run again".into()];
        super::raise_at(d, *n, Code::ConflictingRecord, text, next);
    }
    !twice.is_empty()
}

/// Condition (4), which holds per record.
fn raise_no_evidence(d: &mut RecordsDraft<'_>, n: usize) {
    let text = format!("{} goes into history only: it has no Evidence file", d.records.list[n].ticket);
    super::raise_at(d, n, Code::VerificationUnproven, text, Vec::new());
}

/// Version 3 and 4 records have no candidate gate and no E2E disposition to carry.
fn raise_history_only(d: &mut RecordsDraft<'_>, standings: &[Standing]) {
    let is_old = |n: &usize| {
        let record = &d.records.list[*n];
        standings[*n] == Standing::Finished && is_integrated(record) && !record.is_gated
    };
    let old: Vec<usize> = (0..standings.len()).filter(is_old).collect();
    let Some(first) = old.first() else { return };
    let names: Vec<&str> = old.iter().map(|n| d.records.list[*n].ticket.as_str()).collect();
    let (go, record) = if old.len() == 1 { ("goes", "its record has") } else { ("go", "their records have") };
    let text = format!(
        "{} {go} into history only: {record} no candidate gate and no E2E disposition",
        names.join(", ")
    );
    let (file, pointer) = match d.records.list[*first].source {
        Source::Worktrees(_) => (d.change.path(".status.json"), Some(Pointer::new(["worktrees"]))),
        Source::Evidence(_) => super::place(d, &d.records.list[*first]),
    };
    d.notes.raise(Code::HistoryOnly, pointer, text).file = Some(file);
}

/// A text that says something.
pub(super) fn said(value: Option<&Value>) -> bool {
    value.and_then(Value::as_str).is_some_and(|t| !t.trim().is_empty())
}
