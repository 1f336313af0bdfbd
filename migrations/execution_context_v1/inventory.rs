//! What lies in git and belongs to no record (contract.md §3, Inventory).

use crate::facts::{Facts, WORKTREES, pairs, short_branch};
use crate::finding::Code;
use crate::git::Worktree;
use crate::state::change::is_change_name;
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
    /// How many commits the branch has that its parent has not.
    pub ahead: usize,
}

impl Stray {
    pub(super) fn blocks(&self) -> bool {
        self.is_worktree || self.ahead > 0
    }
}

/// The change a branch name or a worktree path speaks of.
pub fn named_change(name: &str) -> Option<&str> {
    let rest =
        name.strip_prefix("speculo/").map(|r| r.strip_prefix("integration/").unwrap_or(r)).or_else(|| {
            name.strip_prefix(WORKTREES)?
                .strip_prefix('/')
                .map(|r| r.strip_prefix(".integration/").unwrap_or(r))
        })?;
    rest.split('/').next().filter(|c| is_change_name(c))
}

/// Report drift and strays of the change.
pub(super) fn check(d: &mut RecordsDraft<'_>) {
    let Some(facts) = d.facts else { return };
    drift(d, facts);
    let accounted: Vec<String> = d.cx.decision().map(|c| c.accounted.clone()).unwrap_or_default();
    for stray in strays(d, facts) {
        let is_known = |name: &str| accounted.iter().any(|a| a.trim_end_matches('/') == name);
        if is_known(&stray.name) || stray.branch.as_deref().is_some_and(is_known) {
            continue;
        }
        let raised = report(d, facts, &stray);
        d.inventory.push(raised);
    }
}

/// Path or branch of a registered worktree agrees with a record, but not both.
fn drift(d: &mut RecordsDraft<'_>, facts: &Facts) {
    for n in 0..d.records.list.len() {
        let record = &d.records.list[n];
        let sides = pairs(&record.value);
        let mut found = Vec::new();
        for side in &sides {
            for w in facts.registered(side) {
                // The candidate's worktree may stand on the branch of the source, and the other way round.
                if !sides.iter().any(|s| facts.agrees(s, w)) {
                    found.push(format!(
                        "{} records {} on {}, but git has {} on {}",
                        record.ticket,
                        side.path.as_deref().unwrap_or("no path"),
                        side.branch.as_deref().unwrap_or("no branch"),
                        facts.below_root(w).unwrap_or_else(|| w.path.display().to_string()),
                        w.branch.as_deref().unwrap_or("a detached HEAD"),
                    ));
                }
            }
        }
        for text in found {
            let next = vec![
                "git worktree list".into(),
                "put the worktree back on its branch (or correct the record) with its owner, then run again"
                    .into(),
            ];
            super::raise_at(d, n, Code::WorktreeDrift, text, next);
        }
    }
}

/// Everything below the worktree folder, and every branch of ours, that names this change and belongs to
/// no record of it.
pub(super) fn strays(d: &RecordsDraft<'_>, facts: &Facts) -> Vec<Stray> {
    let name = d.change.name.as_str();
    let parent = d.records.list.iter().find_map(|r| super::judge::parent(d, r));
    let parent = parent
        .or_else(|| {
            d.past.iter().find_map(|p| p.value.get("parent_branch")?.as_str().map(|b| short_branch(b.into())))
        })
        .or_else(|| d.default_branch.map(str::to_string))
        .or_else(|| facts.survey.head_branch.clone());
    let ahead = |tip: &str| match &parent {
        Some(p) => facts.commits.missing_from(tip, p).unwrap_or(usize::MAX),
        None => usize::MAX,
    };
    let mut out = Vec::new();
    for w in &facts.survey.worktrees {
        let Some(path) = facts.below_root(w).filter(|p| p.starts_with(WORKTREES)) else { continue };
        let names = w.branch.as_deref().and_then(named_change).or_else(|| named_change(&path));
        if names == Some(name) && !owns_worktree(d, facts, w) {
            let ahead = w.head.as_deref().map_or(0, &ahead);
            out.push(Stray { name: path, branch: w.branch.clone(), is_worktree: true, ahead });
        }
    }
    for (branch, tip) in &facts.survey.branches {
        let registered = facts.survey.worktrees.iter().any(|w| w.branch.as_deref() == Some(branch));
        if named_change(branch) == Some(name) && !registered && !owns_branch(d, facts, branch, tip) {
            let ahead = ahead(tip);
            out.push(Stray { name: branch.clone(), branch: Some(branch.clone()), is_worktree: false, ahead });
        }
    }
    out
}

fn owns_worktree(d: &RecordsDraft<'_>, facts: &Facts, w: &Worktree) -> bool {
    // One of the two alone is drift, which has its own finding.
    let own = d.records.list.iter().any(|r| {
        pairs(&r.value).iter().any(|side| facts.registered(side).iter().any(|x| x.resolved == w.resolved))
    });
    own || d.past.iter().any(|p| {
        pairs(&p.value).iter().any(|side| facts.agrees(side, w))
            && w.head.as_deref().is_some_and(|tip| is_settled(d, facts, p, tip))
    })
}

fn owns_branch(d: &RecordsDraft<'_>, facts: &Facts, branch: &str, tip: &str) -> bool {
    let names = |value| pairs(value).iter().any(|s| s.branch.as_deref() == Some(branch));
    d.records.list.iter().any(|r| names(&r.value))
        || d.past.iter().any(|p| names(&p.value) && is_settled(d, facts, p, tip))
}

/// A record in history still owns a branch whose tip is accounted for.
fn is_settled(d: &RecordsDraft<'_>, facts: &Facts, past: &crate::step::PastRecord, tip: &str) -> bool {
    let text = |v: Option<&serde_json::Value>| v.and_then(|v| v.as_str()).map(str::to_string);
    let known = [
        text(past.value.get("source_checkpoint")),
        text(past.value.pointer("/integration/candidate_sha")),
        past.branch_tip.clone(),
    ];
    let is_known = known.iter().flatten().any(|k| facts.commits.resolve(k) == Some(tip) || k == tip);
    let parent = text(past.value.get("parent_branch")).map(short_branch);
    let parent =
        parent.or_else(|| d.default_branch.map(str::to_string)).or_else(|| facts.survey.head_branch.clone());
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
        if stray.ahead != usize::MAX {
            message += &format!(", {} not in the parent branch", count(stray.ahead, "commit"));
        }
        if stray.is_worktree {
            next.push(format!("git -C {} status", quoted(&stray.name)));
        }
        // One list per change: only the printed file can hold them all.
        next.push("look at each with its owner; what may stay as it is, leave under `accounted` in:".into());
        next.push("specdev-migrate decisions > decisions.yaml".into());
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
