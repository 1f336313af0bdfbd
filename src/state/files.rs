//! Where bytes come from: the disk, or memory for callers that bring their own (tests, editors, servers).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::buffer::spare_capacity;
use rustix::io::{read, retry_on_intr};

/// What stands at a path; links are not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// A regular file with these permission bits.
    File(u32),
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// Anything else.
    Special,
}

/// Read-only files.
pub trait Files: Sync {
    /// What stands at a path; [`io::ErrorKind::NotFound`] when nothing does.
    fn look(&self, path: &Path) -> io::Result<Look>;
    /// The bytes of a regular file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// What stands at a path and, of a regular file, its bytes.
    fn fetch(&self, path: &Path) -> io::Result<(Look, Vec<u8>)> {
        let look = self.look(path)?;
        let bytes = if matches!(look, Look::File(_)) { self.read(path)? } else { Vec::new() };
        Ok((look, bytes))
    }
    /// The names in a folder, in any order, and what each is (permission bits may be missing).
    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, Look)>>;
}

/// The file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

#[expect(clippy::disallowed_methods, reason = "the tree is read through here")]
impl Files for Disk {
    fn look(&self, path: &Path) -> io::Result<Look> {
        Ok(look_of(&fs::symlink_metadata(path)?))
    }

    /// One look less: the file that is open is the one that is judged. Nothing waits for a FIFO.
    fn fetch(&self, path: &Path) -> io::Result<(Look, Vec<u8>)> {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let file = match fs::OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(e),
            // A link, a socket, or a file that may not be read.
            Err(e) => {
                return match self.look(path)? {
                    Look::File(_) | Look::Folder => Err(e),
                    look => Ok((look, Vec::new())),
                };
            }
        };
        let meta = file.metadata()?;
        let look = look_of(&meta);
        let mut bytes = Vec::new();
        if matches!(look, Look::File(_)) {
            let length = usize::try_from(meta.len()).unwrap_or_default();
            // With room for one byte more the end is seen at once: the file is as long as it says.
            bytes.reserve_exact(length + 1);
            while retry_on_intr(|| read(&file, spare_capacity(&mut bytes)))? != 0 && bytes.len() != length {
                bytes.reserve(1);
            }
        }
        Ok((look, bytes))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, Look)>> {
        fs::read_dir(path)?
            .map(|entry| {
                let entry = entry?;
                let look = match entry.file_type()? {
                    t if t.is_symlink() => Look::Link,
                    t if t.is_dir() => Look::Folder,
                    t if t.is_file() => Look::File(0),
                    _ => Look::Special,
                };
                Ok((entry.file_name(), look))
            })
            .collect()
    }
}

fn look_of(meta: &fs::Metadata) -> Look {
    match meta.file_type() {
        t if t.is_symlink() => Look::Link,
        t if t.is_dir() => Look::Folder,
        t if t.is_file() => Look::File(meta.permissions().mode() & 0o7777),
        _ => Look::Special,
    }
}

/// Files in memory, by their full paths. Folders are where files are below them.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Memory {
    /// No files.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// The same files and one more, with mode 0644.
    pub fn with(mut self, path: impl Into<PathBuf>, bytes: impl Into<Vec<u8>>) -> Memory {
        self.files.insert(path.into(), bytes.into());
        self
    }
}

impl Files for Memory {
    fn look(&self, path: &Path) -> io::Result<Look> {
        if self.files.contains_key(path) {
            return Ok(Look::File(0o644));
        }
        match self.files.keys().any(|file| file.starts_with(path)) {
            true => Ok(Look::Folder),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<(OsString, Look)>> {
        let below = self.files.keys().filter_map(|file| file.strip_prefix(path).ok());
        let names: BTreeSet<OsString> =
            below.filter_map(|rest| Some(rest.components().next()?.as_os_str().to_os_string())).collect();
        names.into_iter().map(|name| Ok((name.clone(), self.look(&path.join(&name))?))).collect()
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test of what reads")]
mod tests {
    use super::*;

    /// The kernel's files say that they hold nothing.
    #[test]
    fn files_are_read_to_their_end_whatever_length_they_tell() {
        let (look, bytes) = Disk.fetch(Path::new("/proc/self/status")).unwrap();
        assert!(matches!(look, Look::File(_)) && bytes.starts_with(b"Name:") && bytes.ends_with(b"\n"));
        let dir = tempfile::tempdir().unwrap();
        for length in [0, 1, 4096, 300_000] {
            let path = dir.path().join(length.to_string());
            let expected = vec![b'x'; length];
            fs::write(&path, &expected).unwrap();
            assert_eq!(Disk.fetch(&path).unwrap().1, expected);
        }
    }
}
