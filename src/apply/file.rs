//! Looking at files without following links and without waiting for anybody.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::effects::{Metadata, attributes};

/// What stands at a path.
#[derive(Debug, Clone)]
pub(super) enum Seen {
    Missing,
    File(Content),
    /// Neither file nor nothing; says what.
    Other(&'static str),
}

/// A regular file.
#[derive(Debug, Clone)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    pub(super) metadata: Metadata,
    /// How many names it has.
    pub(super) links: u64,
    /// Device and inode: which file it is, whatever its name.
    pub(super) identity: (u64, u64),
}

/// Look at a path below `root`; a link among the folders that lead there is not followed.
pub(super) fn look(root: &Path, path: &str) -> io::Result<Seen> {
    match parent_of(root, path)? {
        Parent::Folder => look_at(&root.join(path)),
        Parent::Missing => Ok(Seen::Missing),
        Parent::Other(what) => Ok(Seen::Other(what)),
    }
}

/// The folder that a path below `root` lies in.
pub(super) enum Parent {
    Folder,
    Missing,
    Other(&'static str),
}

pub(super) fn parent_of(root: &Path, path: &str) -> io::Result<Parent> {
    let mut folder = root.to_path_buf();
    let Some((parents, _)) = path.rsplit_once('/') else { return Ok(Parent::Folder) };
    for name in parents.split('/') {
        folder.push(name);
        match folder.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(metadata) if metadata.is_symlink() => {
                return Ok(Parent::Other("a path through a symbolic link"));
            }
            Ok(_) => return Ok(Parent::Other("a path through a file")),
            Err(error) if is_missing(&error) => return Ok(Parent::Missing),
            Err(error) => return Err(error),
        }
    }
    Ok(Parent::Folder)
}

/// Look at one path; its folder is taken as it is.
pub(super) fn look_at(path: &Path) -> io::Result<Seen> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if is_missing(&error) => return Ok(Seen::Missing),
        Err(error) => return Err(error),
    };
    if let Some(what) = kind_of(&metadata) {
        return Ok(Seen::Other(what));
    }
    // Whatever took the file's place since: a link is not followed, a pipe is not waited for.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let mut file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if is_missing(&error) => return Ok(Seen::Missing),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    if let Some(what) = kind_of(&metadata) {
        return Ok(Seen::Other(what));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    let attributes = attributes(&file)?;
    let (mode, uid, gid) = (metadata.mode() & 0o7777, metadata.uid(), metadata.gid());
    let metadata_of = Metadata { mode, uid, gid, attributes };
    let identity = (metadata.dev(), metadata.ino());
    Ok(Seen::File(Content { bytes, metadata: metadata_of, links: metadata.nlink(), identity }))
}

pub(super) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn kind_of(metadata: &std::fs::Metadata) -> Option<&'static str> {
    if metadata.is_file() {
        None
    } else if metadata.is_symlink() {
        Some("a symbolic link")
    } else if metadata.is_dir() {
        Some("a folder")
    } else {
        Some("a special file")
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
