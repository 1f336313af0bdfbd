//! One run at a time: a lock of the kernel on a file in the journal folder, which all worktrees of a
//! repository share. It goes with its process, so nobody ever has to delete a stale one; the file says
//! who holds it (contract.md §7, exit 7).

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use super::journal;
use super::{Target, remedy};
use crate::error::{Error, Kind, Result};

/// The right to write; held until it is dropped, or its process ends.
#[derive(Debug)]
pub struct Lock {
    // Holds the kernel's lock until it is closed.
    file: File,
    path: PathBuf,
    dir: PathBuf,
    dir_is_ours: bool,
}

impl Lock {
    /// Whether this is the lock of that target.
    pub(super) fn is_of(&self, target: &Target) -> bool {
        self.dir == target.journal_dir
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While the lock is held: whoever opened the file before finds that it is no longer there. When
        // somebody deleted it meanwhile, what is there now is the lock of another run.
        if is_at(&self.file, &self.path).unwrap_or(false) {
            let _ = rustix::fs::unlink(&self.path);
        }
        if self.dir_is_ours {
            // Stays when it is not empty.
            let _ = rustix::fs::rmdir(&self.dir);
        }
    }
}

/// Take the lock, or say who holds it.
pub fn lock(target: &Target) -> Result<Lock> {
    let dir = &target.journal_dir;
    let path = dir.join("lock");
    let failed = |error: &io::Error| {
        Error::new(Kind::Failed, format!("cannot lock {}: {error}; nothing was changed", path.display()))
            .hint(remedy(error, dir))
    };
    for _ in 0..ATTEMPTS {
        if target.dir_is_ours {
            make_folder(dir).map_err(|error| failed(&error))?;
        }
        let (mut file, writable) = match open(&path) {
            Ok(opened) => opened,
            // The run that ends just now removed the folder.
            Err(error) if error.kind() == io::ErrorKind::NotFound && target.dir_is_ours => continue,
            Err(error) => return Err(failed(&error)),
        };
        match file.try_lock() {
            Ok(()) => {}
            // Somebody who only looks goes away soon; so does a process that is being started and has the
            // handle of one who looked.
            Err(TryLockError::WouldBlock) if file.try_lock_shared().is_ok() => {
                drop(file);
                std::thread::sleep(PAUSE);
                continue;
            }
            Err(TryLockError::WouldBlock) => return Err(held(&mut file)),
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
        }
        // The run that ends just now removed the file after we opened it.
        if !is_at(&file, &path).map_err(|error| failed(&error))? {
            continue;
        }
        check_is_ours(&mut file).map_err(|error| failed(&error))?;
        if !writable {
            // Left by a killed run of another user; the next turn creates one of our own.
            rustix::fs::unlink(&path).map_err(|error| failed(&error.into()))?;
            continue;
        }
        let mut lock = Lock { file, path: path.clone(), dir: dir.clone(), dir_is_ours: target.dir_is_ours };
        sign(&mut lock.file).map_err(|error| failed(&error))?;
        if let Some(draft) = journal::draft(dir) {
            rustix::fs::unlink(&draft).map_err(|error| failed(&error.into()))?;
        }
        return Ok(lock);
    }
    Err(Error::new(Kind::Locked, "other runs keep taking the lock; try again"))
}

/// Nobody may begin or end a run while this is held; only for looking. `None` when there is no lock file,
/// so that no run is under way, or when it may not be looked at.
pub(super) fn look(dir: &Path) -> Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    let Ok(mut file) = options.open(dir.join("lock")) else { return Ok(None) };
    match file.try_lock_shared() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(held(&mut file)),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

fn make_folder(dir: &Path) -> io::Result<()> {
    match rustix::fs::mkdir(dir, Mode::from_raw_mode(0o777)) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::EXIST) if dir.symlink_metadata()?.is_dir() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The lock file, created if need be, and whether it may be written to.
fn open(path: &Path) -> io::Result<(File, bool)> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags);
    match options.clone().write(true).create(true).truncate(false).open(path) {
        Ok(file) => Ok((file, true)),
        // Another user's: enough to find out whether it is held.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Ok((options.open(path).map_err(|_| error)?, false))
        }
        Err(error) => Err(error),
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match path.symlink_metadata() {
        Ok(there) => Ok(there.dev() == ours.dev() && there.ino() == ours.ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A file that is not ours is neither written to nor removed.
fn check_is_ours(file: &mut File) -> io::Result<()> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    if !bytes.is_empty() && !bytes.starts_with(MAGIC.as_bytes()) {
        return Err(io::Error::other("there is another file of this name"));
    }
    Ok(())
}

/// Write down who holds the lock.
fn sign(file: &mut File) -> io::Result<()> {
    let command: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().escape_debug().to_string()).collect();
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{MAGIC}\npid {}\ncommand {}\n", std::process::id(), command.join(" "))
}

fn held(file: &mut File) -> Error {
    let mut text = String::new();
    // Its owner may be about to write it.
    let _ = file.read_to_string(&mut text);
    let word = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    let owner = match (word("pid "), word("command ")) {
        (Some(pid), Some(command)) => format!("process {pid} ({command})"),
        _ => "another process".to_owned(),
    };
    Error::new(Kind::Locked, format!("another run holds the lock: {owner}; wait until it has ended"))
}

/// The command that finishes or undoes an interrupted run.
pub(super) const RECOVER: &str = "specdev-migrate recover";

const ATTEMPTS: usize = 100;
const PAUSE: Duration = Duration::from_millis(20);
const MAGIC: &str = "specdev-migrate lock";
