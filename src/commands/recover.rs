//! Finish or undo an interrupted run.

use std::fmt::Write as _;

use serde_json::json;

use super::Outcome;
use super::session::{layout, target};
use crate::apply::{self, Disk};
use crate::cli::{Format, Recover};
use crate::error::Result;
use crate::render::human::count;
use crate::render::json;

/// Recover.
pub fn run(args: &Recover) -> Result<Outcome> {
    let layout = layout(&args.place)?;
    let target = target(&layout)?;
    let lock = apply::lock(&target)?;
    let done = apply::recover(&target, &lock, &Disk)?;
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
    let mut stderr = String::new();
    for edited in &done.edited {
        let _ = writeln!(stderr, "kept: {}", edited_text(edited));
    }
    for left in &done.left {
        let _ = writeln!(stderr, "left alone: {left} (not a file of the run)");
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
                0,
                json!({"outcome": word, "files": done.files, "edited": edited, "left": done.left}),
            )
        }
    };
    Ok(Outcome { stdout, stderr: stderr.into_bytes(), code: 0 })
}

fn edited_text(edited: &apply::Edited) -> String {
    match &edited.saved {
        Some(saved) => {
            format!("{} was edited meanwhile and stays; the other version is {saved}", edited.path)
        }
        None => format!("{} was edited meanwhile and stays", edited.path),
    }
}
