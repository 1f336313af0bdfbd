//! Putting the old files back, after a failure and after a crash alike: from the journal and from what
//! the tree shows, so that it can itself be stopped anywhere and begun again.
//!
//! Nobody else's bytes are removed. A file that is neither old nor new was edited meanwhile: it stays, and
//! the old version is kept beside it as `<name>.specdev-old` when the run had already replaced it.

use std::io;
use std::path::{Path, PathBuf};

use super::effects::{Access, Effect, Effects, Metadata};
use super::file::{Parent, Seen, look, look_at, parent_of};
use super::journal::{Before, Found, Journal, Slot};
use super::moves::{exchange, parent, remove_if_empty, rename, sync};

/// A file that somebody edited while the run was under way or interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The file; the edit is in it.
    pub path: String,
    /// The other version: beside it, relative to the root, or in the journal folder when its own folder
    /// is gone. `None` when the edit was made to the version that the run left, so there is no other.
    pub saved: Option<String>,
}

/// How much of a run may have been done.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reach {
    pub(super) folders: usize,
    pub(super) staged: usize,
    pub(super) swapped: usize,
}

/// Work on the files of one journal.
pub(super) struct Undo<'a> {
    root: &'a Path,
    journal_dir: &'a Path,
    journal: &'a Journal,
    fx: &'a dyn Effects,
    /// Files with an edit of somebody else.
    pub(super) edited: Vec<Edited>,
    /// Files under our temporary names that are not ours.
    pub(super) left: Vec<String>,
}

impl<'a> Undo<'a> {
    pub(super) fn new(
        root: &'a Path,
        journal_dir: &'a Path,
        journal: &'a Journal,
        fx: &'a dyn Effects,
    ) -> Undo<'a> {
        Undo { root, journal_dir, journal, fx, edited: Vec::new(), left: Vec::new() }
    }

    /// Put everything back and sync it; the journal stays. Goes on after a failure and names them all.
    pub(super) fn put_everything_back(&mut self, reach: Reach) -> Result<(), String> {
        let mut failures = Vec::new();
        for (index, slot) in self.journal.slots.iter().enumerate().rev() {
            let result = if index < reach.swapped {
                self.put_back(slot)
            } else if index < reach.staged {
                self.unstage(slot)
            } else {
                continue;
            };
            failures.extend(result.err().map(|error| format!("{}: {error}", slot.path)));
        }
        for folder in self.journal.folders.iter().take(reach.folders).rev() {
            let result = remove_if_empty(self.fx, &self.root.join(folder));
            failures.extend(result.err().map(|error| format!("{folder}: {error}")));
        }
        if reach.folders + reach.staged + reach.swapped > 0 {
            let result = sync(self.fx, self.root, &self.journal.slots);
            failures.extend(result.err().map(|error| format!("sync: {error}")));
        }
        if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
    }

    /// Remove the old files of a run that is done, and the folders that deleted files left empty.
    pub(super) fn clear_away(&mut self) -> io::Result<()> {
        for slot in &self.journal.slots {
            match (self.found(slot, &slot.staged)?, &slot.before) {
                (Found::Missing, _) => {}
                (Found::Before | Found::After, _) => self.unlink(&slot.staged)?,
                // Somebody had the old file open and wrote to it.
                (Found::Other, Some(before)) => self.keep(slot, before, Some(&slot.staged))?,
                (Found::Other, None) => self.left.push(slot.staged.clone()),
            }
            let mut folder = parent(&slot.path);
            while slot.after.is_none() && !folder.is_empty() {
                match remove_if_empty(self.fx, &self.root.join(folder)) {
                    Ok(true) => folder = parent(folder),
                    Ok(false) => break,
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// No target was touched: only what was staged goes.
    fn unstage(&mut self, slot: &Slot) -> io::Result<()> {
        let Some(after) = &slot.after else { return Ok(()) };
        match self.temporary(&slot.staged)? {
            Seen::Missing => Ok(()),
            // Killed or failed in the middle of writing it: a part of it.
            Seen::File(content) if content.links == 1 && content.bytes.len() <= after.length => {
                self.unlink(&slot.staged)
            }
            Seen::File(_) | Seen::Other(_) => {
                self.left.push(slot.staged.clone());
                Ok(())
            }
        }
    }

    fn put_back(&mut self, slot: &Slot) -> io::Result<()> {
        let target = self.found(slot, &slot.path)?;
        let staged = self.found(slot, &slot.staged)?;
        if slot.is_old(target) {
            self.return_parked(slot)?;
        } else if slot.is_new(target) {
            match (&slot.before, &slot.after) {
                (Some(before), Some(_)) => self.put_back_replaced(slot, before, staged)?,
                (Some(before), None) => self.put_back_deleted(slot, before, staged)?,
                (None, _) => self.take_back_created(slot)?,
            }
        } else {
            self.keep_edit(slot, staged)?;
        }
        self.clear(slot)
    }

    fn put_back_replaced(&mut self, slot: &Slot, before: &Before, staged: Found) -> io::Result<()> {
        let source = match staged {
            Found::Before | Found::Other => &slot.staged,
            // Where files cannot trade places the old one is in the journal alone.
            Found::Missing | Found::After => {
                self.write_spare(slot, before)?;
                &slot.spare
            }
        };
        let (from, to) = (self.root.join(source), self.root.join(&slot.path));
        if exchange(self.fx, &from, &to)? {
            if self.found(slot, source)? != Found::After {
                // Edited at this very moment: the edit goes back to its place.
                exchange(self.fx, &from, &to)?;
                return self.keep_edit(slot, self.found(slot, &slot.staged)?);
            }
        } else {
            if self.found(slot, &slot.path)? != Found::After {
                return self.keep_edit(slot, staged);
            }
            self.fx.perform(&Effect::Replace(&from, &to))?;
        }
        if staged == Found::Other {
            // What traded places with the new file was not the old one: an edit made just before.
            self.edited.push(Edited { path: slot.path.clone(), saved: None });
        }
        Ok(())
    }

    fn put_back_deleted(&mut self, slot: &Slot, before: &Before, staged: Found) -> io::Result<()> {
        if !matches!(parent_of(self.root, &slot.path)?, Parent::Folder) {
            return self.keep_edit(slot, staged);
        }
        let source = match staged {
            Found::Before | Found::Other => &slot.staged,
            Found::Missing | Found::After => {
                self.write_spare(slot, before)?;
                &slot.spare
            }
        };
        rename(self.fx, &self.root.join(source), &self.root.join(&slot.path))?;
        if staged == Found::Other {
            self.edited.push(Edited { path: slot.path.clone(), saved: None });
        }
        Ok(())
    }

    /// Moved aside and looked at before it is removed, so that an edit made meanwhile is seen.
    fn take_back_created(&mut self, slot: &Slot) -> io::Result<()> {
        if self.found(slot, &slot.spare)? == Found::After {
            self.unlink(&slot.spare)?;
        }
        let (path, spare) = (self.root.join(&slot.path), self.root.join(&slot.spare));
        rename(self.fx, &path, &spare)?;
        self.return_parked(slot)
    }

    /// A created file that was moved aside and turned out to be edited goes back to its place.
    fn return_parked(&mut self, slot: &Slot) -> io::Result<()> {
        if slot.before.is_none() && self.found(slot, &slot.spare)? == Found::Other {
            rename(self.fx, &self.root.join(&slot.spare), &self.root.join(&slot.path))?;
            self.edited.push(Edited { path: slot.path.clone(), saved: None });
        }
        Ok(())
    }

    /// The target is somebody else's: it stays.
    fn keep_edit(&mut self, slot: &Slot, staged: Found) -> io::Result<()> {
        match (&slot.before, staged) {
            // The file never traded places, so it is the old one that was edited.
            (None, _) | (Some(_), Found::After) => {
                self.edited.push(Edited { path: slot.path.clone(), saved: None });
                Ok(())
            }
            (Some(before), Found::Before | Found::Other) => self.keep(slot, before, Some(&slot.staged)),
            (Some(before), Found::Missing) => self.keep(slot, before, None),
        }
    }

    /// Keep a version beside the target under a name of its own: a file, or else the old bytes.
    fn keep(&mut self, slot: &Slot, before: &Before, source: Option<&str>) -> io::Result<()> {
        let in_place = matches!(parent_of(self.root, &slot.path)?, Parent::Folder);
        let folder =
            if in_place { self.root.join(parent(&slot.path)) } else { self.journal_dir.to_path_buf() };
        let bytes = match source.map(|source| self.temporary(source)).transpose()? {
            Some(Seen::File(content)) => Some(content.bytes),
            Some(_) => None,
            None => Some(before.bytes.to_vec()),
        };
        let name = slot.path.rsplit('/').next().unwrap_or(&slot.path);
        let mut number = 1;
        let path = loop {
            let path = folder.join(saved_name(name, number));
            match look_at(&path)? {
                Seen::Missing => break path,
                // Kept already, before an earlier attempt was stopped.
                Seen::File(content) if Some(&content.bytes) == bytes.as_ref() => {
                    self.note_saved(slot, &path, in_place);
                    return Ok(());
                }
                Seen::File(_) | Seen::Other(_) => number += 1,
            }
        };
        match source {
            Some(source) => rename(self.fx, &self.root.join(source), &path)?,
            None if in_place => {
                self.write_spare(slot, before)?;
                rename(self.fx, &self.root.join(&slot.spare), &path)?;
            }
            None => {
                let draft = self.journal_dir.join(SAVED_DRAFT);
                if draft.symlink_metadata().is_ok() {
                    self.fx.perform(&Effect::Unlink(&draft))?;
                }
                self.write(&draft, before, &before.metadata)?;
                rename(self.fx, &draft, &path)?;
            }
        }
        self.note_saved(slot, &path, in_place);
        Ok(())
    }

    fn note_saved(&mut self, slot: &Slot, path: &Path, in_place: bool) {
        let saved = if in_place { path.strip_prefix(self.root).unwrap_or(path) } else { path };
        let saved = Some(saved.to_string_lossy().into_owned());
        self.edited.push(Edited { path: slot.path.clone(), saved });
    }

    /// Remove what is ours under the temporary names; the target is settled.
    fn clear(&mut self, slot: &Slot) -> io::Result<()> {
        match self.found(slot, &slot.staged)? {
            Found::Missing => {}
            Found::Before | Found::After => self.unlink(&slot.staged)?,
            Found::Other if self.is_name_of_target(slot)? => self.unlink(&slot.staged)?,
            Found::Other => self.left.push(slot.staged.clone()),
        }
        match self.temporary(&slot.spare)? {
            Seen::Missing => {}
            seen if is_our_spare(slot, &seen) => self.unlink(&slot.spare)?,
            _ => self.left.push(slot.spare.clone()),
        }
        Ok(())
    }

    /// Lay the old bytes ready.
    fn write_spare(&mut self, slot: &Slot, before: &Before) -> io::Result<()> {
        let seen = self.temporary(&slot.spare)?;
        if is_our_spare(slot, &seen) {
            self.unlink(&slot.spare)?;
        }
        let metadata = match look(self.root, &slot.path)? {
            Seen::File(content) => content.metadata,
            _ => before.metadata.clone(),
        };
        self.write(&self.root.join(&slot.spare), before, &metadata)
    }

    fn write(&self, path: &Path, before: &Before, metadata: &Metadata) -> io::Result<()> {
        let access = Access::Like(metadata);
        self.fx.perform(&Effect::Write { path, parts: &[&before.bytes], access, sync: true })
    }

    fn unlink(&self, path: &str) -> io::Result<()> {
        self.fx.perform(&Effect::Unlink(&self.root.join(path)))
    }

    fn found(&self, slot: &Slot, path: &str) -> io::Result<Found> {
        if path == slot.path {
            Ok(slot.judge(&look(self.root, path)?))
        } else {
            Ok(slot.judge(&self.temporary(path)?))
        }
    }

    /// Whether a move by linking was interrupted halfway: the staged name is a second one of the target.
    fn is_name_of_target(&self, slot: &Slot) -> io::Result<bool> {
        Ok(match (self.temporary(&slot.staged)?, look(self.root, &slot.path)?) {
            (Seen::File(staged), Seen::File(target)) => staged.identity == target.identity,
            _ => false,
        })
    }

    /// What stands under a temporary name; nothing that can be reached when its folder is gone.
    fn temporary(&self, path: &str) -> io::Result<Seen> {
        match parent_of(self.root, path)? {
            Parent::Folder => look_at(&self.root.join(path)),
            Parent::Missing | Parent::Other(_) => Ok(Seen::Missing),
        }
    }
}

/// The new bytes moved aside, or the old ones, perhaps not all of them yet.
fn is_our_spare(slot: &Slot, seen: &Seen) -> bool {
    let Seen::File(content) = seen else { return false };
    slot.judge(seen) == Found::After
        || slot.before.as_ref().is_some_and(|before| before.bytes.starts_with(&content.bytes))
}

/// `<name>.specdev-old`, `<name>.specdev-old-2` and so on; a long name is cut to what a folder can hold.
fn saved_name(name: &str, number: u32) -> PathBuf {
    let ending = if number == 1 { ".specdev-old".to_owned() } else { format!(".specdev-old-{number}") };
    let mut end = name.len().min(NAME_LIMIT - ending.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    PathBuf::from(format!("{}{ending}", &name[..end]))
}

const NAME_LIMIT: usize = 255;
const SAVED_DRAFT: &str = "saved-draft";
