//! Finish or undo an interrupted run.

use std::fmt::Write as _;

use serde_json::json;

use super::session::{find_unsettled, layout, target};
use super::{Outcome, Surroundings};
use crate::apply::{self, Disk};
use crate::cli::{Format, Recover};
use crate::error::{Kind, Result};
use crate::render::human::{count, plain};
use crate::render::json;

/// Recover.
pub fn run(args: &Recover, around: &Surroundings) -> Result<Outcome> {
    let layout = layout(find_unsettled(&args.place)?)?;
    let mut target = target(&layout)?;
    let paths = match apply::interrupted(&target)? {
        Some(run) if run.refusal.is_some() => return Err(run.error()),
        Some(run) => {
            target.journal_dir = run.journal_dir;
            run.files
        }
        None => Vec::new(),
    };
    around.stop.hold();
    let lock = apply::lock(&target)?;
    let done = apply::recover(&target, &lock, &Disk)?;
    drop(lock);
    let files = count(done.files, "file", "files");
    let (word, text) = match done.outcome {
        apply::Outcome::Nothing => ("nothing", "there is no interrupted run".to_string()),
        apply::Outcome::Finished => {
            ("finished", format!("the interrupted run over {files} is finished: everything is new"))
        }
        apply::Outcome::Undone => {
            ("undone", format!("the interrupted run over {files} is undone: everything is as it was before"))
        }
    };
    // Whoever asked to stop meanwhile gets their code; the work is done all the same.
    let code = around.stop.requested().map_or(0, Kind::exit);
    let mut stderr = String::new();
    for edited in &done.edited {
        let _ = writeln!(stderr, "kept: {}", plain(&edited_text(edited)));
    }
    for left in &done.left {
        let _ = writeln!(stderr, "left alone: {} (not a file of the run)", plain(left));
    }
    if !args.report.quiet {
        let _ = writeln!(stderr, "{text}");
    }
    let stdout = match args.report.format {
        Format::Human => Vec::new(),
        Format::Json => {
            let edited: Vec<String> = done.edited.iter().map(edited_text).collect();
            json::document(
                "recover",
                code,
                json!({"outcome": word, "files": paths, "edited": edited, "left": done.left}),
            )
        }
    };
    let changed = done.outcome != apply::Outcome::Nothing;
    Ok(Outcome { stdout, stderr: stderr.into_bytes(), code, changed, ..Outcome::default() })
}

/// What became of a file that somebody edited while a run was under way.
pub(super) fn edited_text(edited: &apply::Edited) -> String {
    match &edited.saved {
        Some(saved) => {
            format!("{} was edited meanwhile and stays; the other version is {saved}", edited.path)
        }
        None => format!("{} was edited meanwhile and stays", edited.path),
    }
}
