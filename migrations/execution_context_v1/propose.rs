//! What a pre-filled decisions file says of a change (contract.md §6).

use super::context::{confirmed, owner};
use super::judge::{Standing, parent, standings};
use super::{inventory, record};
use crate::facts::pairs;
use crate::history::sha256;
use crate::state::record::Record;
use crate::step::{Proposal, ProposedTicket, ProposedWorkspace, RecordsDraft};

/// Everything git and the records can fill in; the owner's parts stay open.
pub fn propose(d: &RecordsDraft<'_>) -> Proposal {
    let standings = standings(d);
    let all = || d.records.list.iter().zip(&standings);
    let tickets: Vec<ProposedTicket> = all()
        .filter_map(|(record, standing)| match standing {
            Standing::Open(reasons) => Some(ticket(d, record, reasons)),
            _ => None,
        })
        .collect();
    let strays = d.facts.map(|f| inventory::strays(d, f)).unwrap_or_default();
    let accounted = strays.into_iter().filter(inventory::Stray::blocks).map(|s| s.name).collect();
    let has_place = d.cx.release.has_contexts() && !tickets.is_empty();
    let workspace = if has_place { workspace(d, &standings) } else { Err(String::new()) };
    let needs_lead = has_place && owner(d).is_none();
    Proposal { change: d.change.name.clone(), tickets, accounted, workspace, needs_lead }
}

fn ticket(d: &RecordsDraft<'_>, record: &Record, reasons: &[String]) -> ProposedTicket {
    let mut owners = record.owners();
    owners.extend(d.cx.lead.clone().filter(|l| !owners.contains(l)));
    ProposedTicket {
        ticket: record.ticket.clone(),
        owners,
        reasons: reasons.to_vec(),
        record_sha256: sha256(&record.bytes),
        seen: d.facts.map_or_else(|| super::decide::NO_FACTS.to_string(), |f| f.seen(record)),
        needs_e2e: d.cx.release.has_contexts() && record::disposition(record).is_none(),
    }
}

/// The one worktree in which work is left, else what git confirms for the records.
fn workspace(d: &RecordsDraft<'_>, standings: &[Standing]) -> Result<ProposedWorkspace, String> {
    let facts = d.facts.ok_or("no git facts")?;
    let all = || d.records.list.iter().zip(standings);
    let counted: Vec<&Record> =
        all().filter(|(_, s)| **s != Standing::NeverStarted).map(|(r, _)| r).collect();
    let mut live = Vec::new();
    for record in all().filter(|(_, s)| s.is_open()).map(|(r, _)| r) {
        let Some(side) = pairs(&record.value).into_iter().find(|s| !s.is_candidate) else { continue };
        for w in facts.registered(&side).into_iter().filter(|w| w.exists) {
            let (Some(branch), Some(tip)) = (w.branch.clone(), w.head.as_deref()) else { continue };
            let merged =
                parent(d, &record.value).is_some_and(|p| facts.commits.contains(&p, tip) == Some(true));
            if (!merged || !facts.dirty(w).is_empty()) && facts.agrees(&side, w) {
                live.push((record, facts.below_root(w).unwrap_or_default(), branch));
            }
        }
    }
    let confirmed = confirmed(d, facts, &counted);
    if let [(record, path, branch)] = live.as_slice() {
        let own = facts.commits.resolve(record.text("base_sha").unwrap_or_default()).map(str::to_string);
        let base = confirmed.as_ref().map(|(_, base)| base.clone()).ok().or(own);
        if let Some(base_sha) = base.filter(|b| facts.commits.contains(branch, b) == Some(true)) {
            return Ok(ProposedWorkspace {
                policy: "worktree",
                locator: path.clone(),
                branch: branch.clone(),
                base_sha,
            });
        }
    }
    let (branch, base_sha) = confirmed?;
    Ok(ProposedWorkspace { policy: "current", locator: "current".into(), branch, base_sha })
}
