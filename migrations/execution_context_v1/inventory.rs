//! What lies in git and belongs to no record (contract.md §3, Inventory).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::facts::{Facts, Pair, pairs};
use crate::finding::Code;
use crate::git::Worktree;
use crate::state::record::{PastRecord, Record};
use crate::step::{Raised, RecordsDraft};

use super::judge::{count, quoted, short};

/// A worktree or branch that names a change, and whose record nobody finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stray {
    /// Path below the project root, or branch name.
    pub name: String,
    /// Its branch, when it has one.
    pub branch: Option<String>,
    /// Whether a worktree is registered.
    pub is_worktree: bool,
    /// Whether a folder is there to look into.
    pub exists: bool,
    /// How many commits the branch has that its parent has not.
    pub ahead: usize,
}

impl Stray {
    pub(super) fn blocks(&self) -> bool {
        self.is_worktree || self.ahead > 0
    }
}

/// Report drift and strays of the change.
pub(super) fn check(d: &mut RecordsDraft<'_>) {
    let Some(facts) = d.facts else { return };
    drift(d, facts);
    let accounted: Vec<String> = d.cx.decision().map(|c| c.accounted.clone()).unwrap_or_default();
    for stray in strays(d, facts) {
        let is_known = |name: &str| accounted.iter().any(|a| short(a) == name);
        if is_known(&stray.name) || stray.branch.as_deref().is_some_and(is_known) {
            continue;
        }
        let raised = report(d, facts, &stray);
        d.inventory.push(raised);
    }

    /// An item as a decision may call it.
    fn short(name: &str) -> &str {
        name.strip_prefix("refs/heads/").unwrap_or(name).trim_end_matches('/')
    }
}

/// Path or branch of a registered worktree agrees with a record, but not both.
fn drift(d: &mut RecordsDraft<'_>, facts: &Facts) {
    for n in super::concerned(d) {
        let record = &d.records.list[n];
        let sides = pairs(&record.value);
        let mut found: Vec<(&Worktree, String)> = Vec::new();
        for side in &sides {
            for w in facts.registered(side) {
                let is_told = found.iter().any(|(known, _)| known.resolved == w.resolved);
                if is_told || sides.iter().any(|s| facts.agrees(s, w)) {
                    continue;
                }
                let text = format!(
                    "{} records {} on {}, but git has {} on {}; its owner must put the worktree back on its \
                     branch, or correct the record",
                    record.ticket,
                    side.path.as_deref().unwrap_or("no path"),
                    side.branch.as_deref().unwrap_or("no branch"),
                    facts.shown(w),
                    w.branch.as_deref().unwrap_or("a detached HEAD"),
                );
                found.push((w, text));
            }
        }
        for (worktree, text) in found {
            let mut next = vec!["git worktree list".to_string()];
            if worktree.exists {
                next.push(format!("git -C {} status", quoted(&facts.shown(worktree))));
            }
            super::raise_at(d, n, Code::WorktreeDrift, text, next);
        }
    }
}

/// Everything below the worktree folder, and every branch of ours, that names this change and belongs to
/// no record.
pub(super) fn strays(d: &RecordsDraft<'_>, facts: &Facts) -> Vec<Stray> {
    let parent = d.records.list.iter().find_map(|r| super::judge::parent(d, &r.value));
    let parent = parent.or_else(|| d.past.iter().find_map(|p| super::judge::parent(d, &p.value)));
    let parent = parent.or_else(|| super::judge::parent(d, &Value::Null));
    let ahead = |tip: &str| match &parent {
        Some(p) => facts.commits.missing_from(tip, p).unwrap_or(usize::MAX),
        None => usize::MAX,
    };
    let items = facts.items(&d.change.name);
    let mut out = Vec::new();
    let mut told = BTreeSet::new();
    for i in items.worktrees.iter().copied() {
        let w = &facts.survey.worktrees[i];
        told.extend(w.branch.as_deref());
        if !owns_worktree(d, facts, i) {
            let ahead = w.head.as_deref().map_or(0, &ahead);
            let name = facts.shown(w);
            out.push(Stray { name, branch: w.branch.clone(), is_worktree: true, exists: w.exists, ahead });
        }
    }
    for branch in items.branches.iter().filter(|b| !told.contains(b.as_str())) {
        let tip = facts.tip(branch).unwrap_or_default();
        if !owns_branch(d, facts, branch, tip) {
            let ahead = ahead(tip);
            let name = branch.clone();
            out.push(Stray { name, branch: Some(branch.clone()), is_worktree: false, exists: false, ahead });
        }
    }
    out
}

fn owns_worktree(d: &RecordsDraft<'_>, facts: &Facts, worktree: usize) -> bool {
    if facts.is_owned(worktree) {
        return true;
    }
    let w = &facts.survey.worktrees[worktree];
    // One of the two alone is drift, which has its own finding.
    let has_drifted = |r: &Record| {
        pairs(&r.value).iter().any(|side| facts.registered(side).iter().any(|x| x.resolved == w.resolved))
    };
    d.records.list.iter().any(has_drifted)
        || d.records.context.iter().flat_map(pairs).any(|side| facts.agrees(&side, w))
        || d.past.iter().any(|p| {
            let sides = pairs(&p.value);
            let side = sides.iter().find(|side| facts.agrees(side, w));
            side.is_some_and(|s| w.head.as_deref().is_some_and(|tip| is_settled(d, facts, p, s, tip)))
        })
}

fn owns_branch(d: &RecordsDraft<'_>, facts: &Facts, branch: &str, tip: &str) -> bool {
    let names = |side: &Pair| side.branch.as_deref() == Some(branch);
    let context = d.records.context.as_ref().and_then(|c| c.get("branch")?.as_str());
    facts.is_owned_branch(branch)
        || context == Some(branch)
        || d.past
            .iter()
            .any(|p| pairs(&p.value).iter().filter(|s| names(s)).any(|s| is_settled(d, facts, p, s, tip)))
}

/// A record in history still owns a branch whose tip is accounted for.
fn is_settled(d: &RecordsDraft<'_>, facts: &Facts, past: &PastRecord, side: &Pair, tip: &str) -> bool {
    let text = |pointer: &str| past.value.pointer(pointer).and_then(Value::as_str);
    let candidate = text("/integration/candidate_sha").filter(|_| side.is_candidate);
    let known = [text("/source_checkpoint"), candidate, past.branch_tip.as_deref()];
    let is_known = known.into_iter().flatten().any(|k| facts.commits.resolve(k) == Some(tip));
    let parent = super::judge::parent(d, &past.value);
    is_known || parent.is_some_and(|p| facts.commits.contains(&p, tip) == Some(true))
}

fn report(d: &RecordsDraft<'_>, facts: &Facts, stray: &Stray) -> Raised {
    let mut next = Vec::new();
    let what = if stray.is_worktree { "registered worktree" } else { "branch" };
    let mut message = format!("{what} {} names {}, but no record does", stray.name, d.change.name);
    if let Some(branch) = stray.branch.as_deref().filter(|b| *b != stray.name) {
        message += &format!("; it is on branch {branch}");
    }
    if let Some(tip) = stray.branch.as_deref().and_then(|b| facts.tip(b)) {
        message += &format!("; its tip is {}", short(tip));
    }
    if stray.blocks() {
        let is_branch = |side: &Pair| side.branch.is_some() && side.branch == stray.branch;
        if d.past.iter().any(|p| pairs(&p.value).iter().any(is_branch)) {
            message += ", moved on since its record went into history";
        }
        if stray.ahead != usize::MAX {
            message += &format!(", {} not in the parent branch", count(stray.ahead, "commit"));
        }
        if stray.exists {
            next.push(format!("git -C {} status", quoted(&stray.name)));
        }
        // One list per change: only the printed file can hold them all.
        next.push("look at each with its owner; what may stay as it is, leave under `accounted` in:".into());
        next.push(super::judge::print_decisions(d));
    } else {
        message += "; all of its commits are in the parent branch";
    }
    Raised {
        code: if stray.blocks() { Code::UnrecordedWorktree } else { Code::LeftoverBranch },
        pointer: None,
        message,
        next,
        change: Some(d.change.name.clone()),
        owners: d.cx.lead.clone().into_iter().collect(),
        file: Some(d.change.path(".status.json")),
    }
}
