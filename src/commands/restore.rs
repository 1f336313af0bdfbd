//! Put the newest run, or the named one, back.

use std::fmt::Write as _;

use serde_json::json;

use super::recover::edited_text;
use super::session::{find, layout, target};
use super::{Outcome, Surroundings};
use crate::apply::{self, Disk, FileChange};
use crate::cli::{Format, Restore};
use crate::error::{Kind, Result};
use crate::render::human::{count, plain};
use crate::render::json;
use crate::render::patch::{Patch, PatchedFile};
use crate::restore::{Restore as Plan, restore};
use crate::state::layout::Layout;
use crate::state::tree::Tree;

/// Restore.
pub fn run(args: &Restore, around: &Surroundings) -> Result<Outcome> {
    let layout = layout(find(&args.place)?)?;
    let tree = Tree::read(&layout)?;
    let Some(plan) = restore(&tree, args.run.as_deref())? else { return Ok(nothing(args)) };
    let mut code = if plan.left.is_empty() { 0 } else { Kind::Blocked.exit() };
    let (mut edited, mut changed) = (Vec::new(), false);
    if !args.dry_run && !plan.files.is_empty() {
        let target = target(&layout)?;
        around.stop.hold();
        let lock = apply::lock(&target)?;
        let changes: Vec<FileChange> = plan
            .files
            .iter()
            .map(|f| FileChange {
                path: layout.shown(&f.path),
                before: Some(f.current.shared()),
                after: f.old.clone().map(Into::into),
            })
            .collect();
        let applied = apply::apply(&target, &lock, &changes, &[], &around.stop, &Disk)?;
        drop(lock);
        code = around.stop.requested().map_or(code, Kind::exit);
        (edited, changed) = (applied.edited, true);
    }
    let stdout = match args.report.format {
        Format::Json => document(&layout, &plan, code),
        Format::Human => Vec::new(),
    };
    let is_patch = args.dry_run && args.report.format == Format::Human;
    let patch = if is_patch { patch(&layout, &plan) } else { Patch::default() };
    let mut stderr = text(&layout, &plan, args);
    for edited in &edited {
        let _ = writeln!(stderr, "kept: {}", plain(&edited_text(edited)));
    }
    Ok(Outcome { stdout, patch, stderr: stderr.into_bytes(), code, changed })
}

/// No run is left.
fn nothing(args: &Restore) -> Outcome {
    let stdout = match args.report.format {
        Format::Json => {
            json::document("restore", 0, json!({"run": null, "seq": null, "files": [], "left": []}))
        }
        Format::Human => Vec::new(),
    };
    let text = if args.report.quiet { "" } else { "nothing to restore: no run is recorded in this state\n" };
    Outcome { stdout, stderr: text.into(), code: 0, ..Outcome::default() }
}

fn text(layout: &Layout, plan: &Plan, args: &Restore) -> String {
    let mut out = String::new();
    for left in &plan.left {
        let whole = match &left.change {
            Some(_) => "the whole change is left as it is",
            None => "config, status and their history are left as they are",
        };
        let _ = writeln!(out, "left alone: {}: {}; {whole}", plain(&layout.shown(&left.file)), left.reason);
    }
    if args.report.quiet {
        return out;
    }
    if !plan.is_whole {
        out += "note: the run wrote more files than its history still names: a change was moved, deleted or \
                restored before\n";
    }
    let removed = plan.files.iter().filter(|f| f.old.is_none()).count();
    let files = count(plan.files.len(), "file", "files");
    let again = if removed == 0 { String::new() } else { format!(" ({removed} that the run created go)") };
    let done = match (plan.files.is_empty(), args.dry_run) {
        (true, _) => "nothing was restored".to_string(),
        (false, true) => format!("{files} would be put back{again}; nothing was written"),
        (false, false) => format!("{files} put back{again}"),
    };
    let _ = writeln!(out, "run {} (number {}): {done}", plan.run, plan.seq);
    out
}

fn patch(layout: &Layout, plan: &Plan) -> Patch {
    let one = |f: &crate::restore::RestoredFile| PatchedFile {
        path: layout.shown(&f.path),
        old: Some(f.current.clone()),
        new: f.old.as_deref().map(Into::into),
        mode: f.mode,
    };
    Patch { files: plan.files.iter().map(one).collect() }
}

fn document(layout: &Layout, plan: &Plan, code: u8) -> Vec<u8> {
    let files: Vec<_> = plan
        .files
        .iter()
        .map(|f| json!({"path": layout.shown(&f.path), "removed": f.old.is_none()}))
        .collect();
    let left: Vec<_> = plan
        .left
        .iter()
        .map(|l| json!({"file": layout.shown(&l.file), "change": l.change, "reason": l.reason}))
        .collect();
    json::document(
        "restore",
        code,
        json!({"run": plan.run, "seq": plan.seq, "whole": plan.is_whole, "files": files, "left": left}),
    )
}
