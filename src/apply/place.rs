//! Where a run works, and where that is later, when folders have been moved, copied or removed.
//!
//! Found from the folders themselves and from git's files, without git: it must be the same for every run.
//! A run is known by its state folder, which keeps device and inode under every name. Failing that, by
//! its place: the worktree as git numbers it and the path below, both of which are the same in a copy.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Target;
use super::file::{Seen, look};
use super::journal::{Found, Journal};

/// A worktree of a repository, as git's files tell of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// The git folder that all worktrees of the repository share.
    pub common: PathBuf,
    /// The worktree's own folder below that, empty for the main worktree: the same wherever the worktree
    /// is moved to, and in a copy of the repository.
    pub id: String,
}

impl Worktree {
    /// The one with this top level; `None` where there is no `.git` that leads to a git folder.
    #[expect(clippy::disallowed_methods, reason = "one-line files of git that say where its folders are")]
    pub fn at(top: &Path) -> Option<Worktree> {
        let dot = top.join(".git");
        if dot.is_dir() {
            return Some(Worktree { common: dot.canonicalize().ok()?, id: String::new() });
        }
        let text = fs::read_to_string(&dot).ok()?;
        let own = top.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
        let common = match fs::read_to_string(own.join("commondir")) {
            Ok(common) => own.join(common.trim()).canonicalize().ok()?,
            Err(_) => own.clone(),
        };
        let id = own.strip_prefix(&common).unwrap_or(&own).to_string_lossy().into_owned();
        Some(Worktree { common, id })
    }

    /// The top levels that git's files name, in a fixed order; they may be gone.
    #[expect(clippy::disallowed_methods, reason = "one-line files of git that say where its worktrees are")]
    fn tops(&self) -> Vec<PathBuf> {
        let mut tops = Vec::from_iter(self.common.parent().map(Path::to_path_buf));
        for own in folders_in(&self.common.join("worktrees")) {
            let dot = fs::read_to_string(own.join("gitdir")).map(|dot| own.join(dot.trim_end_matches('\n')));
            tops.extend(dot.ok().and_then(|dot| dot.parent()?.canonicalize().ok()));
        }
        tops
    }
}

/// Which folder it is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(folder: &Path) -> io::Result<Identity> {
        let metadata = folder.metadata()?;
        Ok(Identity { device: metadata.dev(), inode: metadata.ino() })
    }
}

/// Where a run works, as its journal keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// The root, for people; bytes that are no UTF-8 are replaced.
    pub(super) root: String,
    /// [`Worktree::id`]; `None` without git.
    worktree: Option<String>,
    /// [`Target::project`].
    pub(super) project: String,
    /// [`Target::state`].
    pub(super) state: String,
    state_is: Identity,
    /// The folder in which journals lie; it is another one in a copy.
    shelf_is: Identity,
}

/// Where the folder of a run is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Now {
    /// It is the one that was asked about.
    Here,
    /// At its place, in the worktree with this top level.
    There(PathBuf),
    /// Not at its place. The worktree, where that is still one of the repository.
    Lost(Option<PathBuf>),
}

impl Place {
    pub(super) fn of(target: &Target) -> io::Result<Place> {
        let root = target.root.canonicalize()?;
        Ok(Place {
            root: root.to_string_lossy().into_owned(),
            worktree: target.worktree.as_ref().map(|worktree| worktree.id.clone()),
            project: target.project.clone(),
            state: target.state.clone(),
            state_is: Identity::of(&target.state_folder())?,
            shelf_is: Identity::of(&shelf_of(&target.journal_dir))?,
        })
    }

    /// The top level of the worktree it lies in: the one in which the folder is at its place, else the one
    /// that git knows by the same name.
    fn top_now(&self, target: &Target) -> Option<PathBuf> {
        let Some(own) = &target.worktree else {
            // Without git a journal lies in the folder that it is about.
            return Some(target.root.clone());
        };
        // Two folders may share one git folder that lies elsewhere, and git names none of them.
        let tops = [target.root.clone(), PathBuf::from(&self.root)].into_iter().chain(own.tops());
        let tops: Vec<(PathBuf, Worktree)> = tops
            .filter_map(|top| Worktree::at(&top).map(|worktree| (top, worktree)))
            .filter(|(_, worktree)| worktree.common == own.common)
            .collect();
        let first = tops
            .iter()
            .find(|(top, _)| self.is_very_folder(top))
            .or_else(|| tops.iter().find(|(_, worktree)| Some(&worktree.id) == self.worktree.as_ref()));
        first.map(|(top, _)| top.clone())
    }

    /// Whether the folder is still at its place below this top level: by its inode alone, since device
    /// numbers may change when a machine restarts.
    fn is_very_folder(&self, top: &Path) -> bool {
        Identity::of(&top.join(&self.state)).is_ok_and(|there| there.inode == self.state_is.inode)
    }
}

impl Journal {
    /// Where the folder of its run is now; `dir` is where the journal lies.
    pub(super) fn now(&self, dir: &Path, target: &Target) -> Now {
        let place = &self.place;
        if Identity::of(&target.state_folder()).ok() == Some(place.state_is) {
            return Now::Here;
        }
        match place.top_now(target) {
            Some(top) if !self.is_at_its_place(dir, &top) => Now::Lost(Some(top)),
            Some(top) if top == target.root && place.state == target.state => Now::Here,
            Some(top) => Now::There(top),
            None => Now::Lost(None),
        }
    }

    /// Whether the folder at the recorded place is the one of the run, not another one that was put there
    /// since: it is the very folder, or everything was copied together, or it holds what the run left.
    fn is_at_its_place(&self, dir: &Path, top: &Path) -> bool {
        let (place, shelf) = (&self.place, Identity::of(&shelf_of(dir)));
        top.join(&place.state).is_dir()
            && (place.is_very_folder(top)
                || shelf.is_ok_and(|shelf| shelf.inode != place.shelf_is.inode)
                || self.has_marks(top, &place.state))
    }

    /// Whether a state folder holds what only this run can have left there: a file under one of its
    /// temporary names, or one that it created.
    pub(super) fn has_marks(&self, root: &Path, state: &str) -> bool {
        self.slots.iter().any(|slot| {
            let seen = |path: &str| {
                let path = self.place.rebased(path, state)?;
                look(root, &path).ok()
            };
            let is_there = |path: &str| matches!(seen(path), Some(Seen::File(_)));
            is_there(&slot.staged)
                || is_there(&slot.spare)
                || slot.before.is_none() && seen(&slot.path).is_some_and(|s| slot.judge(&s) == Found::After)
        })
    }

    /// Search a worktree for the folder of the run, which is not at its place: its path below the top level,
    /// and whether it is the very folder or a copy of it.
    pub(super) fn search(&self, top: &Path) -> Option<(String, bool)> {
        let device = Identity::of(top).ok()?.device;
        let wanted = Identity { device, ..self.place.state_is };
        let name = self.place.state.rsplit('/').next();
        let mut copy = None;
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            for path in folders_in(&top.join(&folder)) {
                let Some(last) = path.file_name().and_then(|last| last.to_str()) else { continue };
                if last == ".git" || path.is_symlink() {
                    continue;
                }
                let below = if folder.is_empty() { last.to_owned() } else { format!("{folder}/{last}") };
                if Identity::of(&path).ok() == Some(wanted) {
                    return Some((below, true));
                }
                if copy.is_none() && Some(last) == name && self.has_marks(top, &below) {
                    copy = Some(below.clone());
                }
                folders.push(below);
            }
        }
        copy.map(|below| (below, false))
    }

    /// The same journal for the state folder under the name that it has now.
    pub(super) fn rebase(&mut self, state: &str) {
        let place = self.place.clone();
        let slots = self.slots.iter_mut().flat_map(|s| [&mut s.path, &mut s.staged, &mut s.spare]);
        for path in slots.chain(&mut self.folders) {
            if let Some(rebased) = place.rebased(path, state) {
                *path = rebased;
            }
        }
    }
}

impl Place {
    /// A path of the run when its state folder is called `state`; `None` when it lies outside.
    pub(super) fn rebased(&self, path: &str, state: &str) -> Option<String> {
        let below = path.strip_prefix(&self.state)?.strip_prefix('/')?;
        Some(format!("{state}/{below}"))
    }
}

/// The folders in which a journal of this project may lie beside its own: those of other projects, since a
/// project may have had another name, and the one that it has without git.
pub(super) fn other_dirs(target: &Target) -> Vec<PathBuf> {
    let Some(worktree) = &target.worktree else { return Vec::new() };
    let is_ours = |dir: &PathBuf| {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("specdev-migrate-")
    };
    let mut dirs: Vec<PathBuf> = folders_in(&worktree.common).into_iter().filter(is_ours).collect();
    dirs.push(target.root.join(&target.project).join(".specdev-migrate"));
    dirs.retain(|dir| *dir != target.journal_dir);
    dirs
}

/// The folder in which journal folders lie.
fn shelf_of(journal_dir: &Path) -> PathBuf {
    journal_dir.join("..")
}

#[expect(clippy::disallowed_methods, reason = "the folders of journals and worktrees in git's folder")]
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}
