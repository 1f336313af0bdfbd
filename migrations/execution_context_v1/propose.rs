//! What a pre-filled decisions file says of a change (contract.md §6).

use super::context::{confirmed, owner};
use super::inventory;
use super::judge::{Standing, judge, parent};
use crate::facts::pairs;
use crate::history::sha256;
use crate::state::record::Record;
use crate::step::{Proposal, ProposedTicket, ProposedWorkspace, RecordsDraft};

/// Everything git and the records can fill in; the owner's parts stay open.
pub fn propose(d: &RecordsDraft<'_>) -> Proposal {
    let standings: Vec<Standing> = d.records.list.iter().map(|r| judge(d, r)).collect();
    let concerns = d.cx.release.has_contexts() || d.version < 5;
    let tickets: Vec<ProposedTicket> = d
        .records
        .list
        .iter()
        .zip(&standings)
        .filter_map(|(record, standing)| match standing {
            Standing::Open(reasons) if concerns => Some(ticket(d, record, reasons)),
            _ => None,
        })
        .collect();
    let strays = d.facts.map(|f| inventory::strays(d, f)).unwrap_or_default();
    let accounted = strays.into_iter().filter(inventory::Stray::blocks).map(|s| s.name).collect();
    let workspace = if tickets.is_empty() { Err(String::new()) } else { workspace(d, &standings) };
    let needs_lead = !tickets.is_empty() && owner(d).is_none();
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
    }
}

/// The one worktree in which work is left, else what git confirms for the records.
fn workspace(d: &RecordsDraft<'_>, standings: &[Standing]) -> Result<ProposedWorkspace, String> {
    let facts = d.facts.ok_or("no git facts")?;
    let counted: Vec<&Record> = d
        .records
        .list
        .iter()
        .zip(standings)
        .filter(|(_, s)| **s != Standing::NeverStarted)
        .map(|(r, _)| r)
        .collect();
    let mut live = Vec::new();
    for record in counted.iter().copied().filter(|r| judge(d, r).is_open()) {
        let Some(side) = pairs(&record.value).into_iter().next() else { continue };
        for w in facts.registered(&side).into_iter().filter(|w| w.exists) {
            let (Some(branch), Some(tip)) = (w.branch.clone(), w.head.as_deref()) else { continue };
            let merged = parent(d, record).is_some_and(|p| facts.commits.contains(&p, tip) == Some(true));
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
