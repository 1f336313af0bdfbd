//! The owner's answers about open records (contract.md §6).

use crate::decisions::{Action, TicketDecision};
use crate::facts::pairs;
use crate::finding::Code;
use crate::history::entry::Decided;
use crate::history::sha256;
use crate::step::RecordsDraft;

use super::context::Workspace;
use super::judge::Standing;

/// The decision about a record, when there is one.
pub(super) fn of<'a>(d: &RecordsDraft<'a>, ticket: &str) -> Option<&'a TicketDecision> {
    d.cx.decisions.change(&d.change.name)?.tickets.get(ticket)
}

/// Check every decision that is needed against the facts of today; whether all of them hold.
pub(super) fn hold(d: &mut RecordsDraft<'_>, standings: &[Standing], workspace: Option<&Workspace>) -> bool {
    let mut ok = true;
    for (n, standing) in standings.iter().enumerate() {
        let ticket = d.records.list[n].ticket.clone();
        let Some(decision) = of(d, &ticket) else { continue };
        if !standing.is_open() {
            let text = format!("the decision about {ticket} was not needed: its record is finished");
            super::raise_at(d, n, Code::AlreadyCurrent, text, Vec::new());
            continue;
        }
        ok &= confirmed(d, n, decision) & fresh(d, n, decision) & clean(d, n, workspace);
        if decision.action == Action::Continue {
            ok &= merged(d, n, workspace);
        }
    }
    ok
}

/// Say which decisions are about no record (any more).
pub(super) fn raise_needless(d: &mut RecordsDraft<'_>) {
    let Some(decided) = d.cx.decision() else { return };
    for ticket in decided.tickets.keys().filter(|t| !d.records.list.iter().any(|r| r.ticket == **t)) {
        let text = format!("the decision about {ticket} was not needed: the change has no old record of it");
        d.notes.raise(Code::AlreadyCurrent, None, text);
    }
}

/// Somebody who may speak for the record said so.
fn confirmed(d: &mut RecordsDraft<'_>, n: usize, decision: &TicketDecision) -> bool {
    let record = &d.records.list[n];
    let mut allowed = record.owners();
    allowed.extend(d.cx.lead.clone());
    let may = |name: &str| allowed.iter().any(|a| a == name);
    if may(&decision.confirmed_by) || decision.on_behalf_of.as_deref().is_some_and(may) {
        return true;
    }
    let who = match &decision.on_behalf_of {
        None => format!("confirmed_by {:?} is no owner; add on_behalf_of", decision.confirmed_by),
        Some(name) => format!("on_behalf_of {name:?} is no owner"),
    };
    d.usage.push(format!("{} {}: {who} (owners: {})", d.change.name, record.ticket, allowed.join(", ")));
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
    super::raise_at(
        d,
        n,
        Code::StaleDecision,
        text,
        vec!["specdev-migrate decisions > decisions.new.yaml".into()],
    );
    false
}

/// What `seen` is where git shows nothing.
pub(super) const NO_FACTS: &str = "000000000000";

/// No uncommitted files in a ticket's worktree that is not the workspace.
fn clean(d: &mut RecordsDraft<'_>, n: usize, workspace: Option<&Workspace>) -> bool {
    let Some(facts) = d.facts else { return true };
    let record = &d.records.list[n];
    let mut found = Vec::new();
    for side in pairs(&record.value) {
        for w in facts.registered(&side) {
            let path = facts.below_root(w).unwrap_or_else(|| w.path.display().to_string());
            let files = facts.dirty(w);
            if !files.is_empty()
                && workspace.is_none_or(|ws| ws.locator != path)
                && !found.iter().any(|(p, _)| *p == path)
            {
                found.push((path, files.join(", ")));
            }
        }
    }
    let any = found.is_empty();
    let ticket = record.ticket.clone();
    for (path, files) in found {
        let text = format!("{path} of {ticket} holds uncommitted files ({files}); no decision can lift that");
        let next = vec![format!(
            "git -C {} status   (commit, move or discard the files with their owner)",
            super::judge::quoted(&path)
        )];
        super::raise_at(d, n, Code::DirtySource, text, next);
    }
    any
}

/// The work of a record that goes on is in the workspace.
fn merged(d: &mut RecordsDraft<'_>, n: usize, workspace: Option<&Workspace>) -> bool {
    let (Some(facts), Some(workspace)) = (d.facts, workspace) else { return true };
    let record = &d.records.list[n];
    let sides = pairs(&record.value);
    let Some(branch) = sides.first().and_then(|s| s.branch.clone()) else { return true };
    let Some(tip) = facts.tip(&branch) else { return true };
    if branch == workspace.branch || facts.commits.contains(&workspace.branch, tip) == Some(true) {
        return true;
    }
    let text = format!(
        "branch {branch} of {} is not contained in {}, the branch of the workspace",
        record.ticket, workspace.branch
    );
    let range = super::judge::quoted(&format!("{}..{branch}", workspace.branch));
    let next = vec![
        format!("git log --oneline {range}"),
        "merge the branch, or name its worktree as the change's workspace in the decisions file".into(),
    ];
    super::raise_at(d, n, Code::UnmergedSource, text, next);
    false
}

/// What the history entry says of the decision.
pub(super) fn written(d: &RecordsDraft<'_>, n: usize, decision: &TicketDecision) -> Decided {
    let record = &d.records.list[n];
    let branch = pairs(&record.value).first().and_then(|s| s.branch.clone());
    Decided {
        action: decision.action.as_str().into(),
        confirmed_by: decision.confirmed_by.clone(),
        on_behalf_of: decision.on_behalf_of.clone(),
        reference: decision.reference.clone(),
        branch_tip: branch.and_then(|b| d.facts?.tip(&b).map(str::to_string)),
    }
}
