//! After an interrupted run: finish it when every file had traded places, else undo it.
//!
//! It decides from the journal and from what the tree shows, so it may be killed at any point and run
//! again; the journal goes last. It refuses a journal that is damaged, newer, or of a folder elsewhere
//! (contract.md §7, exit 9).

use std::path::{Path, PathBuf};

pub use super::undo::Edited;

use super::effects::Effects;
use super::file::look;
use super::journal::{self, Found, Journal, Phase};
use super::lock::{self, Lock, RECOVER};
use super::moves::{self, sync};
use super::place::{Now, Place, other_dirs};
use super::undo::{Reach, Undo};
use super::{Target, quoted};
use crate::error::{Error, Kind, Result};

/// A run that was interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupted {
    /// Where its journal lies: [`Target::journal_dir`] for [`recover`]. That of another project where the
    /// project had another name.
    pub journal_dir: PathBuf,
    /// The files it was about to write.
    pub files: Vec<String>,
    /// Why it cannot be recovered from here, and what can be done; `None` when it can.
    pub refusal: Option<Error>,
}

impl Interrupted {
    /// The failure for whatever else was to be done.
    pub fn error(self) -> Error {
        let what = files_of(self.files.len());
        self.refusal.unwrap_or_else(|| {
            let text = format!(
                "an earlier run over {what} was interrupted; nothing else is done before it is settled"
            );
            Error::new(Kind::Recovery, text).hint(RECOVER)
        })
    }
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
    let dir = &target.journal_dir;
    let still = lock::look(dir)?;
    if let Some((journal, _)) = journal::load(dir)? {
        return Ok(Some(found(journal, dir, target)));
    }
    drop(still);
    for dir in other_dirs(target) {
        // A run that is under way there has found its folder under the name that it has.
        let Ok(_still) = lock::look(&dir) else { continue };
        let Some((journal, _)) = journal::load(&dir)? else { continue };
        let is_ours = match journal.now(&dir, target) {
            Now::Here => true,
            Now::There(_) => false,
            // Copied to another name and removed.
            Now::Lost(_) => journal.has_marks(&target.root, &target.state),
        };
        if is_ours {
            return Ok(Some(found(journal, &dir, target)));
        }
    }
    Ok(None)
}

fn found(mut journal: Journal, dir: &Path, target: &Target) -> Interrupted {
    let refusal = refusal(&journal, dir, target);
    if refusal.is_none() {
        journal.rebase(&target.state);
    }
    let files = journal.slots.into_iter().map(|slot| slot.path).collect();
    Interrupted { journal_dir: dir.to_path_buf(), files, refusal }
}

/// Finish or undo an interrupted run.
pub fn recover(target: &Target, lock: &Lock, fx: &dyn Effects) -> Result<Recovered> {
    if !lock.is_of(target) {
        return Err(Error::internal("the lock is that of another folder"));
    }
    let (root, dir) = (&target.root, &target.journal_dir);
    let Some((mut journal, phase)) = journal::load(dir)? else {
        return Ok(Recovered { outcome: Outcome::Nothing, files: 0, edited: Vec::new(), left: Vec::new() });
    };
    if let Some(error) = refusal(&journal, dir, target) {
        return Err(error);
    }
    journal.rebase(&target.state);
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

/// Why a run cannot be recovered from here: what was recorded, what there is, and what can be done.
fn refusal(journal: &Journal, dir: &Path, target: &Target) -> Option<Error> {
    let place = &journal.place;
    let what = files_of(journal.slots.len());
    let refused = |text: String| Error::new(Kind::Recovery, format!("{text}; nothing was touched"));
    let remove = || {
        format!("rm -r -- {}   # holds the old text of {what}; only if they are gone for good", shell(dir))
    };
    match journal.now(dir, target) {
        Now::Here => None,
        Now::There(top) => {
            let folder = top.join(&place.state);
            let which = if top == target.root {
                "over another state"
            } else {
                "in another worktree of this repository"
            };
            let text = format!("a run {which} was interrupted: {} ({what})", folder.display());
            Some(refused(text).hint(recover_in(&top, &place.project, &place.state)))
        }
        Now::Lost(None) => {
            let text = format!(
                "a run over {what} was interrupted in {}, which is no worktree of this repository any more (if it \
                 was moved, recover there)",
                place.root
            );
            Some(refused(text).hint(remove()))
        }
        Now::Lost(Some(top)) => {
            let folder = top.join(&place.state);
            let is = if folder.is_dir() { "is another folder now" } else { "is not there any more" };
            let text = format!("a run over {what} was interrupted in {}, which {is}", folder.display());
            let whole = |state: &str| top.join(state).display().to_string();
            Some(match journal.search(&top) {
                Some((state, true)) => {
                    let text = format!("{text}; it is {} now", whole(&state));
                    let below = place.state.strip_prefix(&place.project).unwrap_or_default();
                    let project = state.strip_suffix(below).unwrap_or_default();
                    refused(text).hint(recover_in(&top, project, &state))
                }
                Some((state, false)) => {
                    let text = format!("{text}; files of it are in {}", whole(&state));
                    refused(text).hint(move_back(&top, place, &state))
                }
                None => {
                    let text = format!("{text}, and it is nowhere else below {}", top.display());
                    refused(text).hint(remove())
                }
            })
        }
    }
}

/// The command that recovers a run whose folder is at this place.
fn recover_in(top: &Path, project: &str, state: &str) -> String {
    // Without the slash that an empty name would leave.
    let below = |path: &str| top.join(path).components().collect::<PathBuf>();
    let (project, state) = (below(project), below(moves::parent(state)));
    if state == project.join(DEFAULT_STATE) {
        format!("{RECOVER} {}", shell(&project))
    } else {
        format!("{RECOVER} --state {} {}", shell(&state), shell(&project))
    }
}

/// The command that gives a state folder, or a folder around it, its recorded name.
fn move_back(top: &Path, place: &Place, state: &str) -> String {
    let (mut here, mut there) = (state, place.state.as_str());
    // The outermost folders that differ in nothing but their names, where the old one is free.
    let mut pairs = vec![(here, there)];
    while here.rsplit('/').next() == there.rsplit('/').next() {
        (here, there) = (moves::parent(here), moves::parent(there));
        if here.is_empty() || there.is_empty() {
            break;
        }
        pairs.push((here, there));
    }
    let is_free = |there: &str| top.join(there).symlink_metadata().is_err();
    let fits = |(here, there): &&(&str, &str)| is_free(there) && !Path::new(there).starts_with(here);
    let (here, there) = pairs.iter().rev().find(fits).unwrap_or(&pairs[0]);
    let (from, to) = (top.join(here), top.join(there));
    let mut steps = Vec::new();
    if !is_free(there) {
        let aside = PathBuf::from(format!("{}.aside", to.display()));
        steps.push(format!("mv -T -- {} {}", shell(&to), shell(&aside)));
    }
    if let Some(folder) = to.parent().filter(|folder| !folder.is_dir()) {
        steps.push(format!("mkdir -p -- {}", shell(folder)));
    }
    steps.push(format!("mv -T -- {} {}", shell(&from), shell(&to)));
    steps.push(recover_in(top, &place.project, &place.state));
    steps.join(" && ")
}

fn files_of(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

fn shell(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// Where a project's state lies when nobody says so: the folder that holds [`Target::state`].
const DEFAULT_STATE: &str = "speculo/.speculo";

fn unfinished(verb: &str, why: impl std::fmt::Display) -> Error {
    Error::new(Kind::Recovery, format!("cannot {verb} the interrupted run: {why}")).hint(RECOVER)
}
