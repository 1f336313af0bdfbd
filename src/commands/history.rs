//! What earlier runs kept: list, show, verify.

use std::fmt::Write as _;

use serde_json::json;

use super::Outcome;
use super::session::{find, layout};
use crate::cli::{Format, Place, Report};
use crate::error::{Error, Kind, Result};
use crate::history::section::History;
use crate::render::json as document;
use crate::state::change::SourceFile;
use crate::state::tree::Tree;
use crate::trace::trace;

struct Host<'a> {
    file: &'a SourceFile,
    history: History,
}

/// A file whose history cannot be read, and why.
type Unread = (String, String);

/// The hosts that can be read, and those that cannot; both by their paths.
fn hosts(tree: &Tree) -> (Vec<Host<'_>>, Vec<Unread>) {
    let (mut out, mut unread) = (Vec::new(), Vec::new());
    for file in tree.files().chain(tree.orphans.values()).filter(|f| f.path.ends_with(".md")) {
        match History::read(&file.bytes) {
            Ok(history) if history.runs.is_empty() && history.entries.is_empty() => {}
            Ok(history) => out.push(Host { file, history }),
            Err(fault) => unread.push((tree.layout.shown(&file.path), fault.message)),
        }
    }
    out.sort_by(|a, b| a.file.path.cmp(&b.file.path));
    unread.sort();
    (out, unread)
}

/// Runs, newest first, and the entries of each.
pub fn list(place: &Place, report: &Report) -> Result<Outcome> {
    let tree = Tree::read(&layout(find(place)?)?)?;
    let (hosts, unread) = hosts(&tree);
    let mut keys: Vec<(u64, &str, &str)> = hosts
        .iter()
        .flat_map(|h| h.history.runs.iter())
        .map(|r| (r.value.seq, r.value.run.as_str(), r.value.release.as_str()))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys.reverse();
    let mut text = String::new();
    let mut runs = Vec::new();
    for (seq, run, release) in &keys {
        let _ = writeln!(text, "run {run}  number {seq}  release {release}");
        let mut entries = Vec::new();
        for host in &hosts {
            let own = host.history.runs.iter().map(|r| &r.value).filter(|r| r.seq == *seq && r.run == *run);
            for id in own.flat_map(|r| &r.entries) {
                let Some(entry) = host.history.entry(id) else { continue };
                let meta = &entry.meta;
                let pointer = if meta.pointer.is_empty() { "whole file" } else { &meta.pointer };
                let _ = writeln!(text, "  {id}  {} {pointer} ({} bytes)", meta.source, meta.length);
                entries.push(json!({
                    "id": id, "source": meta.source, "pointer": meta.pointer, "length": meta.length,
                    "sha256": meta.sha256, "steps": meta.steps, "host": tree.layout.shown(&host.file.path),
                }));
            }
        }
        runs.push(json!({"run": run, "seq": seq, "release": release, "entries": entries}));
    }
    if keys.is_empty() {
        text += "no runs\n";
    }
    for (file, why) in &unread {
        let _ = writeln!(text, "not listed: {file}: {why}");
    }
    let code = if unread.is_empty() { 0 } else { Kind::Blocked.exit() };
    let unread: Vec<_> = unread.iter().map(|(file, why)| json!({"host": file, "reason": why})).collect();
    Ok(output(report, text, "history list", json!({"runs": runs, "not_listed": unread}), code))
}

/// The old bytes of one entry, exactly; or what became of one value.
pub fn show(id: Option<&str>, pointer: Option<&str>, place: &Place, report: &Report) -> Result<Outcome> {
    // With --trace there is no id: the one positional argument is the path.
    let named = id.filter(|_| pointer.is_some()).map(|path| Place { path: path.into(), ..place.clone() });
    let tree = Tree::read(&layout(find(named.as_ref().unwrap_or(place))?)?)?;
    if let Some(pointer) = pointer {
        let lines = trace(&tree, pointer)?;
        let text: String = lines.iter().map(|l| format!("{l}\n")).collect();
        return Ok(output(report, text, "history show", json!({"trace": lines}), 0));
    }
    let id = id.unwrap_or_default();
    let (hosts, unread) = hosts(&tree);
    for host in hosts {
        let Some(entry) = host.history.entry(id) else { continue };
        let bytes = entry.bytes(&host.file.bytes).map_err(|damage| {
            let text = format!("entry {id} in {}: {}", tree.layout.shown(&host.file.path), damage.as_str());
            Error::new(Kind::Invalid, text).hint("specdev-migrate history verify")
        })?;
        return Ok(match report.format {
            Format::Human => Outcome { stdout: bytes, ..Outcome::default() },
            Format::Json => {
                let text = String::from_utf8(bytes.clone()).ok();
                let members = json!({"entry": entry.meta, "text": text});
                Outcome { stdout: document::document("history show", 0, members), ..Outcome::default() }
            }
        });
    }
    if let Some((file, why)) = unread.first() {
        let text = format!("history entry {id:?} was not found, and {file} cannot be read: {why}");
        return Err(Error::new(Kind::Blocked, text).hint("specdev-migrate history list"));
    }
    Err(Error::new(Kind::Usage, format!("there is no history entry {id:?}"))
        .hint("specdev-migrate history list"))
}

/// Every entry against its digest.
pub fn verify(place: &Place, report: &Report) -> Result<Outcome> {
    let tree = Tree::read(&layout(find(place)?)?)?;
    let mut text = String::new();
    let (mut good, mut bad) = (0, Vec::new());
    let (hosts, unread) = hosts(&tree);
    for (shown, why) in unread {
        let _ = writeln!(text, "{shown}: {why}");
        bad.push(json!({"host": shown, "id": null, "damage": why}));
    }
    for (path, run, why) in orphaned(&hosts) {
        let shown = tree.layout.shown(&path);
        let _ = writeln!(text, "{shown}: run {run}: {why}");
        bad.push(json!({"host": shown, "id": run, "damage": why}));
    }
    for host in &hosts {
        let shown = tree.layout.shown(&host.file.path);
        for entry in &host.history.entries {
            match entry.bytes(&host.file.bytes) {
                Ok(_) => good += 1,
                Err(damage) => {
                    let _ = writeln!(text, "{shown}: entry {}: {}", entry.meta.id, damage.as_str());
                    bad.push(json!({"host": shown, "id": entry.meta.id, "damage": damage.as_str()}));
                }
            }
        }
        for id in host.history.runs.iter().flat_map(|r| &r.value.entries) {
            if host.history.entry(id).is_none() {
                let _ = writeln!(text, "{shown}: entry {id}: missing");
                bad.push(json!({"host": shown, "id": id, "damage": "missing"}));
            }
        }
    }
    let entries = if good == 1 { "1 entry" } else { &format!("{good} entries") };
    let _ = writeln!(text, "{entries} intact, {} damaged", bad.len());
    let code = if bad.is_empty() { 0 } else { Kind::Invalid.exit() };
    Ok(output(report, text, "history verify", json!({"intact": good, "damaged": bad}), code))
}

/// Run lines whose counterpart is gone: that of the index in the state's history, that of an Evidence file
/// in its change's.
fn orphaned(hosts: &[Host<'_>]) -> Vec<(String, String, &'static str)> {
    let lines: std::collections::BTreeSet<(&str, &str, u64)> = hosts
        .iter()
        .flat_map(|h| {
            h.history.runs.iter().map(|r| (h.file.path.as_str(), r.value.run.as_str(), r.value.seq))
        })
        .collect();
    let mut out = Vec::new();
    for host in hosts {
        for run in host.history.runs.iter().map(|r| &r.value) {
            let path = host.file.path.as_str();
            let missing = |home: &str| !lines.contains(&(home, run.run.as_str(), run.seq));
            let change = path.strip_prefix("changes/").and_then(|p| p.split_once('/')).map(|(name, _)| name);
            let twin = change.map(|name| format!("changes/{name}/HISTORY.md")).filter(|t| t != path);
            if run.index && missing("HISTORY.md") {
                out.push((path.to_string(), run.run.clone(), "the state's HISTORY.md lacks its line"));
            } else if twin.is_some_and(|t| missing(&t)) {
                out.push((path.to_string(), run.run.clone(), "the change's HISTORY.md lacks its line"));
            }
        }
    }
    out
}

fn output(report: &Report, text: String, kind: &str, members: serde_json::Value, code: u8) -> Outcome {
    let stdout = match report.format {
        Format::Human => text.into_bytes(),
        Format::Json => document::document(kind, code, members),
    };
    Outcome { stdout, stderr: Vec::new(), code, ..Outcome::default() }
}
