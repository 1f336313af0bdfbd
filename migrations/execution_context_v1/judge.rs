//! Which records are open, and why (contract.md §3, Open).

use serde_json::Value;

use crate::facts::{Facts, Pair, pairs, short_branch};
use crate::finding::Code;
use crate::state::record::{DIRECT_SPEC, Record};
use crate::step::RecordsDraft;

/// How a record stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// Done; only its history matters.
    Finished,
    /// Planned, and nobody ever began.
    NeverStarted,
    /// Somebody may still be at work: the reasons.
    Open(Vec<String>),
}

impl Standing {
    /// Whether the owner must act.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Standing::Open(_))
    }
}

const RUNNING: [&str; 5] = ["planned", "active", "review", "integrating", "blocked"];

/// Judge one record by its status and by what git shows.
pub(super) fn judge(d: &RecordsDraft<'_>, record: &Record) -> Standing {
    let status = record.status();
    let attempts = record.value.pointer("/integration/attempts").and_then(Value::as_u64).unwrap_or(0);
    let is_done =
        matches!(status, "integrated" | "removed") || (record.ticket == DIRECT_SPEC && status == "cancelled");
    let untouched = status == "planned" && record.text("source_checkpoint").is_none() && attempts == 0;
    if untouched && d.facts.is_some_and(|f| !f.has_own(record)) {
        return Standing::NeverStarted;
    }
    let mut reasons = Vec::new();
    if RUNNING.contains(&status) {
        reasons.push(format!("its status is {status}"));
    } else if !is_done {
        reasons.push(format!("its status {status:?} is not known"));
    }
    if let Some(facts) = d.facts {
        seen(d, facts, record, &mut reasons);
    }
    if reasons.is_empty() { Standing::Finished } else { Standing::Open(reasons) }
}

/// What git shows against a record being finished.
fn seen(d: &RecordsDraft<'_>, facts: &Facts, record: &Record, reasons: &mut Vec<String>) {
    let sides = pairs(&record.value);
    for side in &sides {
        for worktree in facts.registered(side) {
            let files = facts.dirty(worktree);
            if !files.is_empty() {
                let path = facts.below_root(worktree).unwrap_or_else(|| worktree.path.display().to_string());
                reasons.push(format!(
                    "{path} holds {} ({})",
                    count(files.len(), "uncommitted file"),
                    first(files)
                ));
            }
        }
    }
    if matches!(record.status(), "integrated" | "removed")
        && let (Some(checkpoint), Some(branch)) =
            (record.text("source_checkpoint"), sides.first().and_then(|s| s.branch.as_deref()))
        && let Some(tip) = facts.tip(branch)
    {
        let is_checkpoint = facts.commits.resolve(checkpoint) == Some(tip);
        if !is_checkpoint && !contained(d, facts, record, tip) {
            reasons.push(format!("branch {branch} has moved on to {} since its checkpoint", short(tip)));
        }
    }
    if record.status() == "removed" && sides.iter().any(|s| !facts.registered(s).is_empty()) {
        reasons.push("it is recorded as removed, but its worktree is still registered".into());
    }
}

fn contained(d: &RecordsDraft<'_>, facts: &Facts, record: &Record, revision: &str) -> bool {
    parent(d, record).is_some_and(|p| facts.commits.contains(&p, revision) == Some(true))
}

/// The parent branch of a record: its own word, else the configuration's, else the one checked out.
pub(super) fn parent(d: &RecordsDraft<'_>, record: &Record) -> Option<String> {
    let own = record.text("parent_branch").map(|b| short_branch(b.to_string()));
    own.or_else(|| d.default_branch.map(str::to_string))
        .or_else(|| d.facts.and_then(|f| f.survey.head_branch.clone()))
}

/// Report every open record for which there is no decision; whether there was one.
pub(super) fn raise_open(
    d: &mut RecordsDraft<'_>,
    standings: &[Standing],
    is_decided: impl Fn(&str) -> bool,
) -> bool {
    let mut any = false;
    for (n, standing) in standings.iter().enumerate() {
        let record = &d.records.list[n];
        match standing {
            Standing::Open(reasons) if !is_decided(&record.ticket) => {
                any = true;
                let (message, next) = (describe(d, record, reasons), look(d, record));
                super::raise_at(d, n, Code::ActiveWorktree, message, next);
            }
            Standing::NeverStarted => {
                let text =
                    format!("{} was planned and never started; its record goes into history", record.ticket);
                super::raise_at(d, n, Code::NeverStarted, text, Vec::new());
            }
            _ => {}
        }
    }
    any
}

/// What is open, what git shows, and what the owner must do.
fn describe(d: &RecordsDraft<'_>, record: &Record, reasons: &[String]) -> String {
    let owners = record.owners();
    let owner = if owners.is_empty() { "nobody".to_string() } else { owners.join(", ") };
    let mut text = format!("{} of {} is open: {}", record.ticket, owner, reasons.join("; "));
    match d.facts {
        None => text += "; git shows nothing here (no repository, or --no-git)",
        Some(facts) => {
            for side in pairs(&record.value) {
                text += &format!("; {}", shows(d, facts, record, &side));
            }
        }
    }
    text += ". the owner must (1) stop or hand over the writer, (2) account for every branch, worktree, checkpoint \
             and pending action, (3) confirm the change's one workspace";
    text
}

fn shows(d: &RecordsDraft<'_>, facts: &Facts, record: &Record, side: &Pair) -> String {
    let path = side.path.as_deref().unwrap_or("no path");
    let registered = facts.registered(side);
    let mut text = match registered.first() {
        Some(w) => format!("{path}: registered worktree{}", if w.exists { "" } else { ", folder missing" }),
        None if facts.folders.contains(path) => format!("{path}: no worktree, but a folder"),
        None => format!("{path}: no worktree, no folder"),
    };
    if let Some(w) = registered.first() {
        text += &format!(", {}", count(facts.dirty(w).len(), "uncommitted file"));
    }
    let Some(branch) = side.branch.as_deref() else { return text };
    match facts.tip(branch) {
        None => text += &format!(", branch {branch} does not exist"),
        Some(tip) => {
            text += &format!(", branch {branch} at {}", short(tip));
            if let Some(parent) = parent(d, record)
                && let Some(n) = facts.commits.missing_from(tip, &parent)
            {
                text += &format!(", {} not in {parent}", count(n, "commit"));
            }
        }
    }
    text
}

/// Commands to look, and the one that prints the decisions file.
fn look(d: &RecordsDraft<'_>, record: &Record) -> Vec<String> {
    let mut next = Vec::new();
    if let Some(facts) = d.facts {
        for side in pairs(&record.value) {
            for worktree in facts.registered(&side).into_iter().filter(|w| w.exists) {
                let path = facts.below_root(worktree).unwrap_or_else(|| worktree.path.display().to_string());
                next.push(format!("git -C {} status", quoted(&path)));
            }
            if let (Some(branch), Some(parent)) =
                (side.branch.as_deref().filter(|b| facts.tip(b).is_some()), parent(d, record))
            {
                next.push(format!("git log --oneline {}", quoted(&format!("{parent}..{branch}"))));
            }
        }
    }
    next.push("specdev-migrate decisions > decisions.yaml".into());
    next.push("specdev-migrate --decisions decisions.yaml --dry-run".into());
    next
}

/// A word for a shell.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:=,%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_string()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

pub(super) fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

pub(super) fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn first(files: &[String]) -> String {
    let shown = files.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    if files.len() > 3 { format!("{shown}, …") } else { shown }
}
