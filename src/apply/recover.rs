//! After an interrupted run: finish it when every file had traded places, else undo it.
//!
//! It decides from the journal and from what the tree shows, so it may be killed at any point and run
//! again; the journal goes last. It refuses a journal that is damaged, newer, or of another folder
//! (contract.md §7, exit 9).

use std::path::Path;

pub use super::undo::Edited;

use super::effects::Effects;
use super::file::look;
use super::journal::{self, Found, Journal, Phase, Root};
use super::lock::{self, Lock, RECOVER};
use super::moves::sync;
use super::undo::{Reach, Undo};
use super::{Target, quoted};
use crate::error::{Error, Kind, Result};

/// A run that was interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupted {
    /// The folder it worked on.
    pub root: String,
    /// Whether that is the folder that was asked about; else `recover` must be run there.
    pub is_here: bool,
    /// The files it was about to write.
    pub files: Vec<String>,
}

/// What `recover` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// There was no interrupted run.
    Nothing,
    /// The files are new.
    Finished,
    /// The files are as they were before.
    Undone,
}

/// The result of [`recover`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// What was done.
    pub outcome: Outcome,
    /// How many files the interrupted run was about.
    pub files: usize,
    /// Files that somebody edited meanwhile; the edits are still there.
    pub edited: Vec<Edited>,
    /// Files under temporary names of the run that are not the run's; they are still there.
    pub left: Vec<String>,
}

/// Whether an interrupted run waits for [`recover`]. Writes nothing; fails with [`Kind::Locked`] while a
/// run is under way, whose journal would look just the same.
pub fn interrupted(target: &Target) -> Result<Option<Interrupted>> {
    let _still = lock::look(target)?;
    let Some((journal, _)) = journal::load(&target.journal_dir)? else { return Ok(None) };
    let is_here = belongs_to(&journal, &target.root)?;
    let files = journal.slots.into_iter().map(|slot| slot.path).collect();
    Ok(Some(Interrupted { root: journal.root.path, is_here, files }))
}

/// Finish or undo an interrupted run.
pub fn recover(target: &Target, lock: &Lock, fx: &dyn Effects) -> Result<Recovered> {
    if !lock.is_of(target) {
        return Err(Error::internal("the lock is that of another folder"));
    }
    let (root, dir) = (&target.root, &target.journal_dir);
    let Some((journal, phase)) = journal::load(dir)? else {
        return Ok(Recovered { outcome: Outcome::Nothing, files: 0, edited: Vec::new(), left: Vec::new() });
    };
    if !belongs_to(&journal, root)? {
        let owner = &journal.root.path;
        let message = format!("the interrupted run worked on {owner}, not here; nothing was touched");
        return Err(Error::new(Kind::Recovery, message).hint(format!("{RECOVER} {}", quoted(owner))));
    }
    let mut undo = Undo::new(root, dir, &journal, fx);
    let complete = match phase {
        Phase::Staging => None,
        Phase::Swapping => edits_if_complete(&journal, root)?,
        Phase::Done => Some(Vec::new()),
    };
    let outcome = if let Some(edited) = complete {
        undo.edited = edited;
        if phase != Phase::Done {
            sync(fx, root, &journal.slots).map_err(|error| unfinished("finish", error))?;
            journal::advance(dir, phase, Phase::Done, fx).map_err(|error| unfinished("finish", error))?;
            journal::sync(dir, fx).map_err(|error| unfinished("finish", error))?;
        }
        undo.clear_away().map_err(|error| unfinished("finish", error))?;
        Outcome::Finished
    } else {
        let (folders, staged) = (journal.folders.len(), journal.slots.len());
        let swapped = if phase == Phase::Swapping { staged } else { 0 };
        undo.put_everything_back(Reach { folders, staged, swapped })
            .map_err(|error| unfinished("undo", error))?;
        Outcome::Undone
    };
    journal::remove(dir, fx)?;
    let Undo { edited, left, .. } = undo;
    Ok(Recovered { outcome, files: journal.slots.len(), edited, left })
}

/// When every file had traded places with what the plan was made from: those edited since.
fn edits_if_complete(journal: &Journal, root: &Path) -> Result<Option<Vec<Edited>>> {
    let mut edited = Vec::new();
    for slot in &journal.slots {
        let found = |path: &str| {
            look(root, path).map(|seen| slot.judge(&seen)).map_err(|error| unfinished("read", error))
        };
        let (target, staged) = (found(&slot.path)?, found(&slot.staged)?);
        let was_swapped = slot.is_new(target) && (slot.before.is_none() || staged != Found::Other);
        // That the old file lies aside shows that the new one was in place when it was edited.
        if target == Found::Other && staged == Found::Before {
            edited.push(Edited { path: slot.path.clone(), saved: None });
        } else if !was_swapped {
            return Ok(None);
        }
    }
    Ok(Some(edited))
}

fn belongs_to(journal: &Journal, root: &Path) -> Result<bool> {
    let here = Root::of(root).map_err(|error| unfinished("read", error))?;
    Ok(journal.root.is(&here))
}

fn unfinished(verb: &str, why: impl std::fmt::Display) -> Error {
    Error::new(Kind::Recovery, format!("cannot {verb} the interrupted run: {why}")).hint(RECOVER)
}
