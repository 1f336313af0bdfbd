//! The only writer: puts a planned set of files on the disk, all or nothing.
//!
//! The files are the user's only copy, so at every moment, also when the process is killed or the power
//! fails, either every file is as it was or every file is new once [`recover`] has run, and no edit made
//! meanwhile is lost. How:
//!
//! 1. Every file is compared with what the plan was made from; a difference refuses the run (exit 8).
//! 2. A journal with every old byte is on the disk before anything else is.
//! 3. New content is staged beside its target and synced; all files are compared once more.
//! 4. Each staged file *trades places* with its target, so that what was really there, not what we
//!    believe was there, lies in the staged name; that is compared a last time, and an edit made in the
//!    middle of all this puts everything back. (Where a file system cannot let files trade places, the
//!    last comparison is right before each rename.)
//! 5. Journal marked as done, old files and journal removed.
//!
//! It refuses links, special files, files with several names, and paths that lead out of the root. It
//! reads no clock, draws no random number and uses no temporary folder (contract.md §7, exits 1, 7, 8, 9).

mod effects;
mod file;
mod journal;
mod lock;
mod moves;
mod place;
mod recover;
mod transaction;
mod undo;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub use effects::{Access, Disk, Effect, Effects, Metadata};
pub use lock::{Lock, lock};
pub use place::Worktree;
pub use recover::{Edited, Interrupted, Outcome, Recovered, interrupted, recover};
pub use transaction::{Applied, apply};

use crate::error::Kind;

/// Where a run writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The folder that every path of a [`FileChange`] is relative to.
    pub root: PathBuf,
    /// The project's folder; relative to the root, POSIX separators, empty for the root itself.
    pub project: String,
    /// The folder that holds every file of a run, written the same way; it exists.
    pub state: String,
    /// The worktree whose top level the root is; `None` without git.
    pub worktree: Option<Worktree>,
    /// The folder for lock and journal: one for all worktrees of a repository.
    pub journal_dir: PathBuf,
    /// The folder bears our name: it is created on demand, and removed when it is left empty.
    pub dir_is_ours: bool,
}

impl Target {
    fn state_folder(&self) -> PathBuf {
        self.root.join(&self.state)
    }
}

/// One file of a run. `before` and `after` differ; one that is the same in both is only compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Relative to the root; POSIX separators.
    pub path: String,
    /// The bytes that the plan was made from; `None`: there must be nothing.
    pub before: Option<Arc<Vec<u8>>>,
    /// The bytes to write; `None`: delete the file, and the folders that it leaves empty.
    pub after: Option<Arc<Vec<u8>>>,
}

/// A file that the plan was made from and that stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unchanged {
    /// Relative to the root; POSIX separators.
    pub path: String,
    /// SHA-256 of its bytes; `None`: there must be nothing.
    pub sha256: Option<[u8; 32]>,
}

impl Unchanged {
    /// A file with these bytes.
    pub fn new(path: impl Into<String>, bytes: Option<&[u8]>) -> Unchanged {
        Unchanged { path: path.into(), sha256: bytes.map(file::sha256) }
    }
}

/// A request to stop, set from a signal handler.
///
/// [`apply`] honours it until the first file trades places: then nothing has changed and it fails with
/// [`Kind::Interrupted`] or [`Kind::Terminated`]. Later it goes on to the end, which is the shortest way
/// to a whole state, and [`Applied::stopped`] says that there was a request.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    signal: Arc<AtomicUsize>,
    at_once: Arc<AtomicBool>,
}

impl Stop {
    /// Nobody has asked to stop, and whoever asks is heard when it is safe.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Until [`Stop::hold`] nothing is under way, so that a signal may end the process at once.
    pub fn at_once() -> Stop {
        let stop = Stop::default();
        stop.at_once.store(true, Ordering::SeqCst);
        stop
    }

    /// From now on the process must not end before what it does is whole.
    pub fn hold(&self) {
        self.at_once.store(false, Ordering::SeqCst);
    }

    /// The number of the signal that came, 0 for none; for `signal_hook::flag::register_usize`.
    pub fn flag(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.signal)
    }

    /// Whether a signal ends the process at once; for `signal_hook::flag::register_conditional_shutdown`.
    pub fn ends_at_once(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.at_once)
    }

    /// What the signal that came makes of the run; `None` when none came.
    pub fn requested(&self) -> Option<Kind> {
        match self.signal.load(Ordering::SeqCst) {
            0 => None,
            SIGINT => Some(Kind::Interrupted),
            _ => Some(Kind::Terminated),
        }
    }
}

/// What to do about a failure of the disk, given the whole path of the folder that was to be written to;
/// where that is not there yet, the nearest one above it counts.
fn remedy(error: &io::Error, folder: &Path) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            let folder = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(folder);
            let folder = quoted(&folder.to_string_lossy());
            format!("ls -ld {folder}   # it must be writable; then run the same command again")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "df -h .   # free some space, then run the same command again".to_owned()
        }
        _ => "run the same command again".to_owned(),
    }
}

/// A word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

const SIGINT: usize = 2;
