//! Which records are open, and why (contract.md §3, Open).

use serde_json::Value;

use crate::facts::{Facts, Pair, is_current, pairs, short_branch};
use crate::finding::Code;
use crate::migrations::NEWEST;
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
    /// None of this release's business.
    Untouched,
}

impl Standing {
    /// Whether the owner must act.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Standing::Open(_))
    }
}

const RUNNING: [&str; 5] = ["planned", "active", "review", "integrating", "blocked"];

/// How every record stands, in their order.
pub(super) fn standings(d: &RecordsDraft<'_>) -> Vec<Standing> {
    let mut standings = vec![Standing::Untouched; d.records.list.len()];
    super::concerned(d).into_iter().for_each(|n| standings[n] = judge(d, &d.records.list[n]));
    standings
}

/// Judge one record by its status and by what git shows.
fn judge(d: &RecordsDraft<'_>, record: &Record) -> Standing {
    let status = record.status();
    let attempts = record.value.pointer("/integration/attempts");
    let is_untried = attempts.is_none_or(|n| n.is_null() || n.as_u64() == Some(0));
    let is_done =
        matches!(status, "integrated" | "removed") || (record.ticket == DIRECT_SPEC && status == "cancelled");
    let untouched = status == "planned" && record.checkpoint().is_none() && is_untried;
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
    let mut told: Vec<String> = Vec::new();
    for worktree in sides.iter().flat_map(|side| facts.registered(side)) {
        let (path, files) = (facts.shown(worktree), facts.dirty(worktree));
        if !files.is_empty() && !told.contains(&path) {
            reasons.push(format!(
                "{path} holds {} ({})",
                count(files.len(), "uncommitted file"),
                first(files)
            ));
            told.push(path);
        }
    }
    let is_done = matches!(record.status(), "integrated" | "removed");
    if is_done
        && !is_current(&record.value)
        && let (Some(checkpoint), Some(branch)) = (record.checkpoint(), record.branch())
        && let Some(tip) = facts.tip(&branch)
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
    parent(d, &record.value).is_some_and(|p| facts.commits.contains(&p, revision) == Some(true))
}

/// The parent branch of a record: its own word, else the configuration's, else the one checked out.
pub(super) fn parent(d: &RecordsDraft<'_>, record: &Value) -> Option<String> {
    let own = record.get("parent_branch").and_then(Value::as_str);
    let named = [own, d.default_branch].into_iter().flatten().find(|b| !b.trim().is_empty());
    named.map(|b| short_branch(b.to_string())).or_else(|| d.facts.and_then(|f| f.survey.head_branch.clone()))
}

/// Report every open record for which there is no decision; whether there was one.
pub(super) fn raise_open(d: &mut RecordsDraft<'_>, standings: &[Standing]) -> bool {
    let mut any = false;
    for (n, standing) in standings.iter().enumerate() {
        let record = &d.records.list[n];
        match standing {
            Standing::Open(reasons) if super::decide::of(d, &record.ticket).is_none() => {
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
            if is_current(&record.value) {
                let branch = record.branch().unwrap_or_else(|| "no branch".into());
                let tip = facts.tip(&branch).map_or("does not exist".into(), |t| format!("at {}", short(t)));
                text += &format!("; it works in the current checkout, branch {branch} {tip}");
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
            if let Some(parent) = parent(d, &record.value)
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
                next.push(format!("git -C {} status", quoted(&facts.shown(worktree))));
            }
            if let Some(branch) = side.branch.as_deref().filter(|b| facts.tip(b).is_some())
                && let Some(parent) = parent(d, &record.value).filter(|p| facts.tip(p).is_some())
            {
                next.push(format!("git log --oneline {}", quoted(&format!("{parent}..{branch}"))));
            }
        }
        if is_current(&record.value) {
            next.push("git status".into());
        }
    }
    next.push(print_decisions(d));
    next.push(format!("specdev-migrate --decisions decisions.yaml --dry-run{}", to(d)));
    next
}

/// The command that prints the decisions file.
pub(super) fn print_decisions(d: &RecordsDraft<'_>) -> String {
    format!("specdev-migrate decisions{} > decisions.yaml", to(d))
}

/// The command that prints it once more, without destroying the one that was given.
pub(super) fn print_again(d: &RecordsDraft<'_>) -> String {
    format!("specdev-migrate decisions{} > decisions.new.yaml", to(d))
}

fn to(d: &RecordsDraft<'_>) -> String {
    let release = d.cx.release.name;
    if release == NEWEST.name { String::new() } else { format!(" --to {release}") }
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
