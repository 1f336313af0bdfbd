//! The owner's answers about open records (contract.md §6).

use serde_json::Value;

use crate::decisions::{Action, TicketDecision};
use crate::facts::pairs;
use crate::finding::Code;
use crate::history::entry::Decided;
use crate::history::sha256;
use crate::state::record::DIRECT_SPEC;
use crate::step::RecordsDraft;

use super::context::Workspace;
use super::judge::{Standing, print_again, quoted};

/// What `seen` is where git shows nothing.
pub(super) const NO_FACTS: &str = "000000000000";

/// The decision about a record, when there is one.
pub(super) fn of<'a>(d: &RecordsDraft<'a>, ticket: &str) -> Option<&'a TicketDecision> {
    d.cx.decisions.change(&d.change.name)?.tickets.get(ticket)
}

/// A fault of the decisions file at a value about a record.
fn fault(d: &mut RecordsDraft<'_>, ticket: &str, key: &str, text: String) {
    let name = d.change.name.clone();
    let at = ["changes", &name, "tickets", ticket, key];
    let at = if key.is_empty() { &at[..4] } else { &at[..] };
    d.usage.push(d.cx.decisions.fault(at, format!("{name} {ticket}: {text}")));
}

/// Decisions about records that are gone: a note for those that stand in history or are of version 1, and
/// for changes that have no old record at all; a fault of the decisions file for those that never were.
pub(super) fn settled(d: &mut RecordsDraft<'_>) {
    let Some(decision) = d.cx.decision() else { return };
    for ticket in decision.tickets.keys() {
        if d.records.list.iter().any(|r| r.ticket == *ticket) {
            continue;
        }
        let is_about = |value: &Value| match value.get("purpose").and_then(Value::as_str) {
            Some(DIRECT_SPEC) => ticket == DIRECT_SPEC,
            _ => value.get("ticket_id").and_then(Value::as_str) == Some(ticket),
        };
        let is_past = d.records.current.contains(ticket) || d.past.iter().any(|p| is_about(&p.value));
        if is_past || d.records.list.is_empty() {
            let why = if is_past {
                "its old record stands in history already"
            } else {
                "the change has no old record"
            };
            let text = format!("the decision about {ticket} is settled: {why}");
            let file = d.change.path(".status.json");
            d.notes.raise(Code::AlreadyCurrent, None, text).file = Some(file);
        } else {
            fault(d, ticket, "", "there is no record of this ticket".into());
        }
    }
}

/// Whether nothing that lives stands against any decision.
pub(super) fn allowed(
    d: &mut RecordsDraft<'_>,
    standings: &[Standing],
    workspace: Option<&Workspace>,
) -> bool {
    let mut ok = true;
    for (n, decision) in decided(d, standings) {
        ok &= clean(d, n, workspace);
        if decision.action == Action::Continue {
            ok &= merged(d, n, workspace);
        }
    }
    ok
}

/// Whether everybody who decided may, and decided about the facts of today.
pub(super) fn pinned(d: &mut RecordsDraft<'_>, standings: &[Standing]) -> bool {
    let mut ok = true;
    for (n, standing) in standings.iter().enumerate() {
        let ticket = d.records.list[n].ticket.clone();
        let Some(decision) = of(d, &ticket) else { continue };
        let why = match standing {
            Standing::Open(_) => {
                ok &= confirmed(d, n, decision) & fresh(d, n, decision);
                continue;
            }
            Standing::Untouched => format!("release {} leaves its record as it is", d.cx.release.name),
            // Whoever decided may have seen other facts, and meant those.
            _ if !fresh(d, n, decision) => {
                ok = false;
                continue;
            }
            _ => "its record is finished".into(),
        };
        let text = format!("the decision about {ticket} was not needed: {why}");
        super::raise_at(d, n, Code::AlreadyCurrent, text, Vec::new());
    }
    ok
}

/// The open records that are decided about.
fn decided<'a>(d: &RecordsDraft<'a>, standings: &[Standing]) -> Vec<(usize, &'a TicketDecision)> {
    let open = (0..standings.len()).filter(|n| standings[*n].is_open());
    open.filter_map(|n| Some((n, of(d, &d.records.list[n].ticket)?))).collect()
}

/// Somebody who may speak for the record said so.
fn confirmed(d: &mut RecordsDraft<'_>, n: usize, decision: &TicketDecision) -> bool {
    let record = &d.records.list[n];
    let mut allowed = record.owners();
    allowed.extend(d.cx.lead.clone().filter(|lead| !allowed.contains(lead)));
    let may = |name: &str| allowed.iter().any(|a| a == name.trim());
    if may(&decision.confirmed_by) || decision.on_behalf_of.as_deref().is_some_and(may) {
        return true;
    }
    let (key, who) = match &decision.on_behalf_of {
        None => ("confirmed_by", format!("{:?} is no owner; add on_behalf_of", decision.confirmed_by)),
        Some(name) => ("on_behalf_of", format!("{name:?} is no owner")),
    };
    let (ticket, owners) = (record.ticket.clone(), allowed.join(", "));
    fault(d, &ticket, key, format!("{key} {who} (owners: {owners})"));
    false
}

/// Record and git facts are those the owner saw.
fn fresh(d: &mut RecordsDraft<'_>, n: usize, decision: &TicketDecision) -> bool {
    let record = &d.records.list[n];
    let seen = d.facts.map(|f| f.seen(record)).unwrap_or_else(|| NO_FACTS.to_string());
    let mut stale = Vec::new();
    if !decision.record_sha256.eq_ignore_ascii_case(&sha256(&record.bytes)) {
        stale.push("the record (record_sha256)");
    }
    if !decision.seen.eq_ignore_ascii_case(&seen) {
        stale.push("what git shows (seen)");
    }
    if stale.is_empty() {
        return true;
    }
    let text = format!(
        "the decision about {} is about other facts: {} changed since",
        record.ticket,
        stale.join(" and ")
    );
    let next = vec![print_again(d)];
    super::raise_at(d, n, Code::StaleDecision, text, next);
    false
}

/// No uncommitted files in a ticket's worktree that is not the workspace.
fn clean(d: &mut RecordsDraft<'_>, n: usize, workspace: Option<&Workspace>) -> bool {
    let Some(facts) = d.facts else { return true };
    let record = &d.records.list[n];
    let mut found: Vec<(String, String)> = Vec::new();
    for side in pairs(&record.value) {
        for w in facts.registered(&side) {
            let (path, files) = (facts.shown(w), facts.dirty(w));
            let is_workspace = workspace.is_some_and(|ws| ws.locator == path);
            if !files.is_empty() && !is_workspace && !found.iter().any(|(p, _)| *p == path) {
                found.push((path, files.join(", ")));
            }
        }
    }
    let is_clean = found.is_empty();
    let ticket = record.ticket.clone();
    for (path, files) in found {
        let text = format!(
            "{path} of {ticket} holds uncommitted files ({files}); no decision lifts that: with their owner, \
             commit or move them, or name this worktree as the change's workspace"
        );
        let next = vec![format!("git -C {} status", quoted(&path)), print_again(d)];
        super::raise_at(d, n, Code::DirtySource, text, next);
    }
    is_clean
}

/// The work of a record that goes on is in the workspace.
fn merged(d: &mut RecordsDraft<'_>, n: usize, workspace: Option<&Workspace>) -> bool {
    let (Some(facts), Some(workspace)) = (d.facts, workspace) else { return true };
    let record = &d.records.list[n];
    let holds = |revision: &str| facts.commits.contains(&workspace.branch, revision) == Some(true);
    let branch = record.branch().filter(|b| facts.tip(b).is_some());
    let source = match (&branch, record.checkpoint()) {
        (Some(branch), _) if *branch == workspace.branch => return true,
        (Some(branch), _) if facts.tip(branch).is_some_and(holds) => return true,
        (Some(branch), _) => format!("branch {branch}"),
        // The branch is gone; what the record calls its checkpoint must not be lost with it.
        (None, Some(checkpoint)) if !holds(checkpoint) => format!("checkpoint {checkpoint}"),
        (None, _) => return true,
    };
    let text = format!(
        "{source} of {} is not contained in {}, the branch of the workspace: merge it there, or name its \
         worktree as the change's workspace",
        record.ticket, workspace.branch
    );
    let tip = branch.or_else(|| facts.commits.resolve(record.checkpoint()?).map(str::to_string));
    let range = tip.map(|tip| quoted(&format!("{}..{tip}", workspace.branch)));
    let mut next: Vec<String> = range.map(|r| format!("git log --oneline {r}")).into_iter().collect();
    next.push(print_again(d));
    super::raise_at(d, n, Code::UnmergedSource, text, next);
    false
}

/// What the history entry says of the decision.
pub(super) fn written(d: &RecordsDraft<'_>, n: usize, decision: &TicketDecision) -> Decided {
    let branch = d.records.list[n].branch();
    Decided {
        action: decision.action.as_str().into(),
        confirmed_by: decision.confirmed_by.clone(),
        on_behalf_of: decision.on_behalf_of.clone(),
        reference: decision.reference.clone(),
        branch_tip: branch.and_then(|b| d.facts?.tip(&b).map(str::to_string)),
    }
}
