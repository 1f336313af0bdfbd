//! One run: compare, journal, stage, compare again, trade places, compare a last time, done.
//!
//! Whatever goes wrong before the journal says *done* is undone on the spot, also by a panic; what cannot
//! be undone is left to `recover`. It refuses, before any effect: files that differ from what the
//! plan was made from (exit 8), files with several names, and a journal of an interrupted run (exit 9).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::effects::{Access, Effect, Effects};
use super::file::{Parent, Seen, hex, look, parent_of, sha256};
use super::journal::{self, After, Before, Found, Journal, Phase, Slot};
use super::lock::{Lock, RECOVER};
use super::moves::{exchange, parent, rename, sync};
use super::place::Place;
use super::undo::{Edited, Reach, Undo};
use super::{FileChange, Stop, Target, Unchanged, quoted, remedy};
use crate::error::{Error, Kind, Result};

/// A run that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// How many files were replaced, created or deleted.
    pub files: usize,
    /// The kind to end with when somebody asked to stop too late: all files are new all the same.
    pub stopped: Option<Kind>,
    /// Old files that somebody still wrote to after they had been replaced; `saved` holds that version.
    pub edited: Vec<Edited>,
}

/// Put all changes on the disk, or none. `also` are files that must still be as they were.
///
/// Fails with [`Kind::Changed`], [`Kind::Failed`], [`Kind::Interrupted`] or [`Kind::Terminated`] when
/// nothing has changed, and with [`Kind::Recovery`] when `recover` has to finish or undo the run.
pub fn apply(
    target: &Target,
    lock: &Lock,
    changes: &[FileChange],
    also: &[Unchanged],
    stop: &Stop,
    fx: &dyn Effects,
) -> Result<Applied> {
    if !lock.is_of(target) {
        return Err(Error::internal("the lock is that of another folder"));
    }
    if journal::load(&target.journal_dir)?.is_some() {
        return Err(Error::new(Kind::Recovery, "an earlier run was interrupted").hint(RECOVER));
    }
    // In one of the threads that made the plan: what they have let go is room enough.
    let journal = rayon::scope(|_| survey(target, changes, also))?;
    check_stop(stop).map_err(nothing_changed)?;
    if journal.slots.is_empty() {
        return Ok(Applied { files: 0, stopped: None, edited: Vec::new() });
    }
    let news = changes.iter().filter(|change| change.before != change.after);
    let news = news.map(|change| change.after.as_deref().map(Vec::as_slice)).collect();
    let mut run = Transaction { target, journal, news, also, stop, fx, reach: Reach::default(), open: true };
    if let Err(error) = run.carry_out() {
        return Err(run.roll_back(error));
    }
    run.open = false;
    run.finish()
}

/// Compare every file with what the plan was made from, and lay down what will be done.
fn survey(target: &Target, changes: &[FileChange], also: &[Unchanged]) -> Result<Journal> {
    let root = &target.root;
    let mut journal = Journal {
        place: Place::of(target).map_err(|error| failed(root, READ, &target.state, &error))?,
        folders: Vec::new(),
        slots: Vec::new(),
    };
    let mut differences = Vec::new();
    let mut linked = None;
    let mut folders = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for change in changes {
        let path = &change.path;
        let is_in_state =
            journal::is_below_root(path) && journal.place.rebased(path, &target.state).is_some();
        if !is_in_state || !taken.insert(Cow::Borrowed(path.as_str())) {
            return Err(Error::internal(format_args!("a change of the path {path:?}")));
        }
        let seen = look(root, path).map_err(|error| failed(root, READ, path, &error))?;
        if let Some(difference) = difference(&seen, change.before.as_deref().map(Vec::as_slice)) {
            differences.push(format!("{path} ({difference})"));
            continue;
        }
        if change.before == change.after {
            continue;
        }
        let before = match seen {
            Seen::File(content) => {
                if content.links > 1 && linked.is_none() {
                    linked = Some((path, content.links));
                }
                change.before.as_ref().map(|bytes| Before::new(content.metadata, bytes))
            }
            Seen::Missing | Seen::Other(_) => {
                missing_folders(root, path, &mut folders)
                    .map_err(|error| failed(root, READ, path, &error))?;
                None
            }
        };
        let after = change.after.as_deref().map(Vec::as_slice);
        let [staged, spare] = free_names(root, path, after, &mut taken);
        journal.slots.push(Slot { path: path.clone(), staged, spare, before, after: after.map(After::new) });
    }
    differences.extend(differences_of(root, also)?);
    if !differences.is_empty() {
        return Err(nothing_changed(changed(&differences)));
    }
    if let Some((path, links)) = linked {
        let message = format!("{path} is one of {links} names of one file, which replacing it would part");
        let (path, single) = (quoted(path), quoted(&format!("{path}.single")));
        let hint = format!("cp -p {path} {single} && mv {single} {path}");
        return Err(nothing_changed(Error::new(Kind::Failed, message)).hint(hint));
    }
    journal.folders = folders.into_iter().collect();
    Ok(journal)
}

struct Transaction<'a> {
    target: &'a Target,
    journal: Journal,
    /// The new content of each slot.
    news: Vec<Option<&'a [u8]>>,
    also: &'a [Unchanged],
    stop: &'a Stop,
    fx: &'a dyn Effects,
    reach: Reach,
    /// Neither done nor undone.
    open: bool,
}

impl Transaction<'_> {
    /// Everything up to the point of no return.
    fn carry_out(&mut self) -> Result<()> {
        let dir = &self.target.journal_dir;
        self.journal.create(dir, self.fx)?;
        self.stage()?;
        self.compare_again()?;
        check_stop(self.stop)?;
        journal::advance(dir, Phase::Staging, Phase::Swapping, self.fx)?;
        journal::sync(dir, self.fx)?;
        self.swap()?;
        journal::advance(dir, Phase::Swapping, Phase::Done, self.fx)
    }

    fn stage(&mut self) -> Result<()> {
        for folder in &self.journal.folders {
            let made = self.fx.perform(&Effect::MakeFolder(&self.target.root.join(folder)));
            made.map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => changed(&[format!("{folder} (appeared)")]),
                _ => failed(&self.target.root, "create", folder, &error),
            })?;
            self.reach.folders += 1;
        }
        for (slot, new) in self.journal.slots.iter().zip(&self.news) {
            check_stop(self.stop)?;
            self.reach.staged += 1;
            let Some(bytes) = *new else { continue };
            let access = slot.before.as_ref().map_or(Access::Umask, |before| Access::Like(&before.metadata));
            let path = &self.target.root.join(&slot.staged);
            let written = self.fx.perform(&Effect::Write { path, parts: &[bytes], access, sync: false });
            if let Err(error) = written {
                if error.kind() == io::ErrorKind::AlreadyExists {
                    // Somebody else's, so none of ours to remove.
                    self.reach.staged -= 1;
                }
                let verb = format!("write {} for", slot.staged);
                return Err(failed(&self.target.root, &verb, &slot.path, &error));
            }
        }
        self.sync()
    }

    /// Right before the first file is touched: everything must be as it was.
    fn compare_again(&self) -> Result<()> {
        let root = &self.target.root;
        let mut differences = differences_of(root, self.also)?;
        for slot in &self.journal.slots {
            let seen = look(root, &slot.path).map_err(|error| failed(root, READ, &slot.path, &error))?;
            let difference = match (&seen, &slot.before) {
                (Seen::File(content), Some(before)) if content.metadata != before.metadata => {
                    Some("its mode, owner or attributes differ")
                }
                (seen, before) => difference(seen, before.as_ref().map(|before| before.bytes.as_slice())),
            };
            differences.extend(difference.map(|difference| format!("{} ({difference})", slot.path)));
        }
        if differences.is_empty() { Ok(()) } else { Err(changed(&differences)) }
    }

    fn swap(&mut self) -> Result<()> {
        for slot in &self.journal.slots {
            self.reach.swapped += 1;
            let result = self.swap_one(slot);
            if result.is_err() && slot.after.is_none() && !self.exists(&slot.staged) {
                // It was not moved aside, so putting it back would undo somebody else's deletion.
                self.reach.swapped -= 1;
            }
            result?;
        }
        // What was really in the places: an edit made since the last look shows here.
        let mut differences = Vec::new();
        for slot in self.journal.slots.iter().filter(|slot| slot.before.is_some()) {
            let seen = look(&self.target.root, &slot.staged)
                .map_err(|error| failed(&self.target.root, READ, &slot.staged, &error))?;
            if slot.judge(&seen) == Found::Other {
                differences.push(format!("{} (edited just now)", slot.path));
            }
        }
        if !differences.is_empty() {
            return Err(changed(&differences));
        }
        self.sync()
    }

    fn swap_one(&self, slot: &Slot) -> Result<()> {
        let (path, staged) = (self.target.root.join(&slot.path), self.target.root.join(&slot.staged));
        let swapped = match (&slot.before, &slot.after) {
            (None, _) => rename(self.fx, &staged, &path),
            (Some(_), None) => {
                self.look_once_more(slot)?;
                rename(self.fx, &path, &staged)
            }
            (Some(_), Some(_)) => match exchange(self.fx, &staged, &path) {
                Ok(false) => {
                    // Files cannot trade places here: the last look is just before, not after.
                    self.look_once_more(slot)?;
                    self.fx.perform(&Effect::Replace(&staged, &path))
                }
                result => result.map(|_| ()),
            },
        };
        swapped.map_err(|error| match self.difference_now(slot) {
            Some(difference) => changed(&[format!("{} ({difference})", slot.path)]),
            None => failed(&self.target.root, "replace", &slot.path, &error),
        })
    }

    /// How a target that could not be moved differs from what it was; the failure is its own then.
    fn difference_now(&self, slot: &Slot) -> Option<&'static str> {
        let seen = look(&self.target.root, &slot.path).ok()?;
        let before = slot.before.as_ref().map(|before| before.bytes.as_slice());
        if slot.is_new(slot.judge(&seen)) && slot.after.is_some() { None } else { difference(&seen, before) }
    }

    fn look_once_more(&self, slot: &Slot) -> Result<()> {
        let root = &self.target.root;
        let seen = look(root, &slot.path).map_err(|error| failed(root, READ, &slot.path, &error))?;
        if slot.judge(&seen) != Found::Before {
            return Err(changed(&[format!("{} (edited just now)", slot.path)]));
        }
        Ok(())
    }

    fn exists(&self, path: &str) -> bool {
        self.target.root.join(path).symlink_metadata().is_ok()
    }

    fn sync(&self) -> Result<()> {
        sync(self.fx, &self.target.root, &self.journal.slots).map_err(|error| {
            Error::new(Kind::Failed, format!("cannot bring the new files to the disk: {error}"))
                .hint(remedy(&error, &self.target.root))
        })
    }

    /// The run is done; what is left is clean-up.
    fn finish(self) -> Result<Applied> {
        let dir = &self.target.journal_dir;
        // Should the mark get lost with the power, the journal is found as it was before, and all files
        // are new: the same end.
        let _ = journal::sync(dir, self.fx);
        let mut undo = Undo::new(&self.target.root, dir, &self.journal, self.fx);
        let cleared = undo.clear_away().map_err(|error| error.to_string());
        cleared.and_then(|()| journal::remove(dir, self.fx).map_err(|error| error.message)).map_err(
            |why| {
                let message = format!("all files are written, but cleaning up failed: {why}");
                Error::new(Kind::Recovery, message).hint(RECOVER)
            },
        )?;
        let edited = std::mem::take(&mut undo.edited);
        Ok(Applied { files: self.journal.slots.len(), stopped: self.stop.requested(), edited })
    }

    /// Put everything back; the failure that is reported then is the one that made it necessary.
    fn roll_back(mut self, mut error: Error) -> Error {
        match self.undo() {
            Ok(edited) => {
                for Edited { path, saved } in &edited {
                    error.message.push_str(&match saved {
                        Some(saved) => {
                            format!("; the edit of {path} was kept, the old version is in {saved}")
                        }
                        None => format!("; the edit of {path} was kept"),
                    });
                }
                nothing_changed(error)
            }
            Err(why) => {
                let message = format!("{error}; putting the old files back failed too: {why}");
                Error::new(Kind::Recovery, message).hint(RECOVER)
            }
        }
    }

    fn undo(&mut self) -> std::result::Result<Vec<Edited>, String> {
        self.open = false;
        let dir = &self.target.journal_dir;
        let mut undo = Undo::new(&self.target.root, dir, &self.journal, self.fx);
        undo.put_everything_back(self.reach)?;
        journal::remove(dir, self.fx).map_err(|error| error.message)?;
        Ok(std::mem::take(&mut undo.edited))
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open {
            // A panic; what cannot be undone now the journal keeps for `recover`.
            let _ = self.undo();
        }
    }
}

fn check_stop(stop: &Stop) -> Result<()> {
    match stop.requested() {
        Some(kind) => Err(Error::new(kind, "stopped by a signal")),
        None => Ok(()),
    }
}

/// How what is there differs from what must be there.
fn difference(seen: &Seen, before: Option<&[u8]>) -> Option<&'static str> {
    match (seen, before) {
        (Seen::Missing, None) => None,
        (Seen::Missing, Some(_)) => Some("is gone"),
        (Seen::Other(what), _) => Some(what),
        (Seen::File(_), None) => Some("appeared"),
        (Seen::File(content), Some(before)) if content.bytes == before => None,
        (Seen::File(_), Some(_)) => Some("its content differs"),
    }
}

fn differences_of(root: &Path, also: &[Unchanged]) -> Result<Vec<String>> {
    let mut differences = Vec::new();
    for Unchanged { path, sha256: sum } in also {
        let seen = look(root, path).map_err(|error| failed(root, READ, path, &error))?;
        let difference = match (&seen, sum) {
            (Seen::File(content), Some(sum)) if sha256(&content.bytes) == *sum => None,
            (Seen::File(_), Some(_)) => Some("its content differs"),
            (seen, sum) => difference(seen, sum.as_ref().map(|sum| sum.as_slice())),
        };
        differences.extend(difference.map(|difference| format!("{path} ({difference})")));
    }
    Ok(differences)
}

/// The folders that a new file needs, outer ones first in the order of the set.
fn missing_folders(root: &Path, path: &str, folders: &mut BTreeSet<String>) -> io::Result<()> {
    let mut path = path;
    while let Parent::Missing = parent_of(root, path)? {
        path = parent(path);
        folders.insert(path.to_owned());
    }
    // What is above the outermost missing folder exists; it is a folder only if nothing else is there.
    Ok(())
}

/// Two names beside the target that nobody has: short, whatever the length of the target's own, and the
/// same in every run over the same files.
fn free_names<'a>(
    root: &Path,
    path: &str,
    after: Option<&[u8]>,
    taken: &mut BTreeSet<Cow<'a, str>>,
) -> [String; 2] {
    let folder = parent(path);
    let seed = [path.as_bytes(), &[0], after.unwrap_or_default()];
    let digest = hex(&seed.into_iter().fold(Sha256::new(), Sha256::chain_update).finalize()[..6]);
    let mut numbers = 0..;
    let mut next = || loop {
        let number: usize = numbers.next().unwrap_or_default();
        let name = format!(".sdm-{digest}-{number}.tmp");
        let name = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        // Also a link that leads nowhere is somebody's.
        if root.join(&name).symlink_metadata().is_err() && taken.insert(Cow::Owned(name.clone())) {
            return name;
        }
    };
    [next(), next()]
}

fn changed(differences: &[String]) -> Error {
    Error::new(Kind::Changed, format!("changed since the plan was made: {}", differences.join(", ")))
        .hint("look at what changed, then run the same command again")
}

/// `path` is relative to the root.
fn failed(root: &Path, verb: &str, path: &str, error: &io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied if verb == READ => {
            let file = quoted(&root.join(path).to_string_lossy());
            format!("ls -l {file}   # it must be readable; then run the same command again")
        }
        _ => remedy(error, &root.join(parent(path))),
    };
    Error::new(Kind::Failed, format!("cannot {verb} {path}: {error}")).hint(hint)
}

fn nothing_changed(mut error: Error) -> Error {
    error.message.push_str("; nothing was changed");
    error
}

const READ: &str = "read";
