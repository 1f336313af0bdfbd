//! Where one value went, and where it came from (contract.md §5, `history show --trace`). Pure.
//!
//! The state before every run is rebuilt from history, newest run first, and the run is planned once
//! more on it: its value account answers. What the owner decided then is taken from the history entries
//! and from what the run needed to go through. What git showed then is not known; records that git
//! facts turned into version 1 records are answered from the record that stands in Evidence.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::account::Fate;
use crate::decisions::Decisions;
use crate::doc::json::Document;
use crate::error::{Error, Kind, Result};
use crate::finding::{Code, Finding, Scope};
use crate::history::section::History;
use crate::migrations;
use crate::plan::{Plan, Request, plan};
use crate::restore::restore;
use crate::state::record::{CONTEXT, SECTION, json_fence};
use crate::state::tree::Tree;

/// Everything known about the value at `FILE#POINTER`, newest run first; the file is named below
/// `specdev/`. Fails with [`Kind::Usage`] when the text is no such place.
pub fn trace(tree: &Tree, place: &str) -> Result<Vec<String>> {
    let usage = |text: String| {
        Error::new(Kind::Usage, text).hint("specdev-migrate history show --trace config.json#/execution")
    };
    let Some((file, pointer)) =
        place.split_once('#').filter(|(f, p)| !f.is_empty() && (p.is_empty() || p.starts_with('/')))
    else {
        return Err(usage(format!("{place:?} is no FILE#/POINTER, the file named below specdev/")));
    };
    let mut lines = Vec::new();
    let now = value_at(tree, file, pointer);
    if let Some(value) = &now {
        lines.push(format!("now: {place} is {value}"));
    }
    // The places the value may have had, as the runs are undone one by one.
    let mut places: BTreeSet<String> = BTreeSet::from([place.to_string()]);
    let mut current = tree.with([]);
    while let Ok(Some(run)) = restore(&current, None) {
        if run.files.is_empty() {
            break;
        }
        let title = format!("run {} (number {})", run.run, run.seq);
        let before = undone(&current, &run.files);
        let release = release_of(&current, run.seq);
        let mut account = account_of(&before, release)?;
        // What git showed may have kept a value that goes without it.
        account.retain(|(from, fate)| {
            let at = |tree: &Tree| value_at(tree, &from.file, &from.pointer.to_string());
            !matches!(fate, Fate::Retired { .. }) || at(&before) != at(&current)
        });
        let mut older = places.clone();
        for (from, fate) in &account {
            let from = from.to_string();
            let to = match fate {
                Fate::Moved(to) | Fate::Converted { to, .. } => Some(to.to_string()),
                _ => None,
            };
            let about = |p: &String| is_at(&from, p) || to.as_deref().is_some_and(|t| is_at(t, p));
            if places.iter().any(about) {
                lines.push(format!("{title}: {from} {}", told(fate)));
                older.insert(from);
            }
        }
        for place in &places {
            if account.iter().any(|(from, _)| is_at(&from.to_string(), place)) {
                continue;
            }
            lines.extend(
                kept(&current, place, run.seq)
                    .map(|entry| format!("{title}: {place} stands in history, entry {entry}")),
            );
        }
        for place in &places {
            let Some((file, pointer)) = place.split_once('#') else { continue };
            let (was, is) = (value_at(&before, file, pointer), value_at(&current, file, pointer));
            let booked = account.iter().any(|(from, _)| is_at(&from.to_string(), place));
            match (was, is) {
                (Some(was), Some(is)) if was == is && !booked => {
                    lines.push(format!("{title}: {place} was kept as {is}"))
                }
                (None, Some(is)) if !account.iter().any(|(_, f)| ends_at(f, place)) => {
                    lines.push(format!("{title}: {place} was added as {is}"));
                }
                _ => {}
            }
        }
        places = older;
        current = before;
    }
    if lines.is_empty() {
        return Err(usage(format!("there is no value at {place}, now or before any run")));
    }
    Ok(lines)
}

/// Whether `place` is `asked` or lies below it.
fn is_at(place: &str, asked: &str) -> bool {
    place.strip_prefix(asked).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn ends_at(fate: &Fate, place: &str) -> bool {
    match fate {
        Fate::Moved(to) | Fate::Converted { to, .. } => is_at(&to.to_string(), place),
        _ => false,
    }
}

fn told(fate: &Fate) -> String {
    match fate {
        Fate::Moved(to) => format!("moved to {to}"),
        Fate::Converted { to, rule } => format!("was converted to {to} ({rule})"),
        Fate::Retired { rule } => format!("was retired ({rule}); its bytes stand in history"),
        Fate::Accepted => "was let go by a decision; its bytes stand in history".to_string(),
    }
}

/// The history entry of a run that keeps the value at a place, when the entry is of no whole file.
fn kept(tree: &Tree, place: &str, seq: u64) -> Option<String> {
    let (file, pointer) = place.split_once('#')?;
    let hosts = tree.files().filter(|f| f.path.ends_with(".md"));
    hosts.filter_map(|f| History::read(&f.bytes).ok()).find_map(|history| {
        let ids: BTreeSet<&String> =
            history.runs.iter().filter(|r| r.value.seq == seq).flat_map(|r| &r.value.entries).collect();
        let entry = history.entries.iter().map(|e| &e.meta).find(|m| {
            ids.contains(&m.id) && m.source == file && !m.pointer.is_empty() && is_at(pointer, &m.pointer)
        })?;
        Some(entry.id.clone())
    })
}

/// The state before a run.
fn undone(tree: &Tree, files: &[crate::restore::RestoredFile]) -> Tree {
    let mut before = tree.with(files.iter().filter_map(|f| Some((f.path.as_str(), f.old.as_deref()?))));
    for file in files.iter().filter(|f| f.old.is_none()) {
        before.forget(&file.path);
    }
    before
}

fn release_of(tree: &Tree, seq: u64) -> &'static crate::step::Release {
    let hosts = tree.files().filter(|f| f.path.ends_with("HISTORY.md"));
    let name = hosts
        .filter_map(|f| History::read(&f.bytes).ok())
        .flat_map(|h| h.runs)
        .find(|r| r.value.seq == seq)
        .map(|r| r.value.release);
    name.and_then(|n| migrations::release(&n)).unwrap_or(migrations::NEWEST)
}

/// The account of a run over the state before it, with whatever decisions it needs to go through.
fn account_of(
    before: &Tree,
    release: &'static crate::step::Release,
) -> Result<Vec<(crate::account::Location, Fate)>> {
    let mut decisions = Decisions { schema_version: 1, ..Decisions::default() };
    let made = |decisions: &Decisions| {
        plan(Request { tree: before, release, decisions, partial: true, facts: None, account: true })
    };
    // Each round clears at least one finding; the second round finds what the first one hid.
    for _ in 0..4 {
        let made = made(&decisions)?;
        if !assume(before, &made, &mut decisions) {
            return Ok(made.account);
        }
    }
    Ok(made(&decisions)?.account)
}

/// Take for decided what stopped the plan, since the run went through. Whether anything was added.
fn assume(tree: &Tree, made: &Plan, decisions: &mut Decisions) -> bool {
    let mut any = false;
    for finding in made.findings.iter().filter(|f| f.stops()) {
        match finding.code {
            Code::UnmappedField => any |= accept(tree, finding, decisions),
            Code::InconsistentArchiveState => {
                if let Scope::Change(name) = &finding.scope {
                    let change = decisions.changes.entry(name.clone()).or_default();
                    any |= change.archived.replace(false).is_none();
                }
            }
            _ => {}
        }
    }
    any
}

fn accept(tree: &Tree, finding: &Finding, decisions: &mut Decisions) -> bool {
    let Some(place) = &finding.place else { return false };
    let prefix = tree.layout.shown("");
    let file = place.file.strip_prefix(&prefix).unwrap_or(&place.file);
    let field = format!("{file}#{}", place.pointer.as_deref().unwrap_or_default());
    let is_new = !decisions.accepts(&field);
    if is_new {
        decisions.accept_unmapped.push(field);
    }
    is_new
}

/// A value of a JSON file, a goal plan's header, an Evidence file's record or a README's context.
fn value_at(tree: &Tree, path: &str, pointer: &str) -> Option<Value> {
    let bytes = &tree.file(path)?.bytes;
    let whole = if path.ends_with(".json") {
        Document::parse(bytes).ok()?.value().clone()
    } else if path.ends_with("goal-plan.md") {
        bytes.header().ok()?.value().clone()
    } else {
        let title = if path.ends_with("README.md") { CONTEXT } else { SECTION };
        let (_, fence) = json_fence(bytes, title).ok()??;
        Document::parse(&bytes[fence]).ok()?.value().clone()
    };
    whole.pointer(pointer).cloned()
}
