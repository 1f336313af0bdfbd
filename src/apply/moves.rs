//! Moves that clobber nothing, with what takes their place where a file system does not know them.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::effects::{Effect, Effects};
use super::journal::Slot;

/// Give a file another name that must not exist.
pub(super) fn rename(fx: &dyn Effects, from: &Path, to: &Path) -> io::Result<()> {
    match fx.perform(&Effect::Rename(from, to)) {
        Err(error) if is_unsupported(&error) => {
            match fx.perform(&Effect::Link(from, to)) {
                Ok(()) => fx.perform(&Effect::Unlink(from)),
                // Not even links: the best that is left is to look first.
                Err(error) if is_unsupported(&error) || error.kind() == io::ErrorKind::PermissionDenied => {
                    match to.symlink_metadata() {
                        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
                        Err(_) => fx.perform(&Effect::Replace(from, to)),
                    }
                }
                Err(error) => Err(error),
            }
        }
        result => result,
    }
}

/// Let two files trade places; `false` where that is not known, and then nothing has happened.
pub(super) fn exchange(fx: &dyn Effects, a: &Path, b: &Path) -> io::Result<bool> {
    match fx.perform(&Effect::Exchange(a, b)) {
        Ok(()) => Ok(true),
        Err(error) if is_unsupported(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Remove a folder if it is there and empty; whether it was.
pub(super) fn remove_if_empty(fx: &dyn Effects, folder: &Path) -> io::Result<bool> {
    match fx.perform(&Effect::RemoveFolder(folder)) {
        Ok(()) => Ok(true),
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT | Errno::NOTDIR) => Ok(false),
            _ => Err(error),
        },
    }
}

/// Bring all files of a run, and the folders they lie in, to the disk: one call per file system rather
/// than one per file.
pub(super) fn sync(fx: &dyn Effects, root: &Path, slots: &[Slot]) -> io::Result<()> {
    let mut by_device: BTreeMap<u64, (PathBuf, Vec<&Slot>)> = BTreeMap::new();
    for slot in slots {
        // The nearest folder that exists: undoing removes those that the run created.
        let mut path = parent(&slot.path);
        let (folder, metadata) = loop {
            let folder = root.join(path);
            if path.is_empty() {
                let metadata = folder.metadata()?;
                break (folder, metadata);
            }
            match folder.symlink_metadata() {
                Ok(metadata) if metadata.is_dir() => break (folder, metadata),
                _ => path = parent(path),
            }
        };
        by_device.entry(metadata.dev()).or_insert_with(|| (folder, Vec::new())).1.push(slot);
    }
    for (folder, slots) in by_device.into_values() {
        match fx.perform(&Effect::SyncFileSystem(&folder)) {
            Err(error) if is_unsupported(&error) => sync_each(fx, root, &slots)?,
            result => result?,
        }
    }
    Ok(())
}

fn sync_each(fx: &dyn Effects, root: &Path, slots: &[&Slot]) -> io::Result<()> {
    let mut folders = std::collections::BTreeSet::from([String::new()]);
    for slot in slots {
        for path in [&slot.staged, &slot.path] {
            let path = root.join(path);
            if path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
                fx.perform(&Effect::Sync(&path))?;
            }
        }
        let mut folder = parent(&slot.path);
        while !folder.is_empty() {
            folders.insert(folder.to_owned());
            folder = parent(folder);
        }
    }
    for folder in folders.iter().rev().map(|folder| root.join(folder)) {
        if folder.is_dir() {
            fx.perform(&Effect::Sync(&folder))?;
        }
    }
    Ok(())
}

/// The folder part of a relative path; empty for the root.
pub(super) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Whether a failure only says that the operation is not known here.
fn is_unsupported(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL))
}
