//! Everything that changes the disk, one effect at a time.
//!
//! Every change goes through [`Effects`], so that a test can fail or stop the run at each of them and
//! look at what is left. [`Disk`] is the real thing. It refuses to clobber: what it creates must not be
//! there, and only [`Effect::Replace`] puts one file over another.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{CWD, Gid, Mode, RenameFlags, Uid, XattrFlags};
use rustix::io::Errno;

/// Who may use a file that is about to be created.
#[derive(Debug, Clone, Copy)]
pub enum Access<'a> {
    /// Everybody, minus the umask.
    Umask,
    /// The owner alone.
    Private,
    /// Whoever may use the file it stands for.
    Like(&'a Metadata),
}

/// What a replaced file hands on to the one that takes its place.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Metadata {
    /// Permission bits, with setuid, setgid and sticky.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Extended attributes that belong to the file as such, by name.
    pub attributes: Vec<(String, Vec<u8>)>,
}

/// One change to the disk.
#[derive(Debug, Clone, Copy)]
pub enum Effect<'a> {
    /// Create a folder; it must not exist.
    MakeFolder(&'a Path),
    /// Remove a folder; it must be empty.
    RemoveFolder(&'a Path),
    /// Create a file with these bytes; it must not exist.
    Write {
        /// Where.
        path: &'a Path,
        /// What, in parts that follow each other.
        parts: &'a [&'a [u8]],
        /// For whom.
        access: Access<'a>,
        /// Whether the bytes must be on the disk when the effect returns.
        sync: bool,
    },
    /// Bring one file or folder to the disk.
    Sync(&'a Path),
    /// Bring the whole file system that holds this folder to the disk.
    SyncFileSystem(&'a Path),
    /// Let two files trade places.
    Exchange(&'a Path, &'a Path),
    /// Give a file (first) another name (second) that must not exist.
    Rename(&'a Path, &'a Path),
    /// Put a file (first) over another (second).
    Replace(&'a Path, &'a Path),
    /// Give a file (first) a further name (second) that must not exist.
    Link(&'a Path, &'a Path),
    /// Remove one name of a file.
    Unlink(&'a Path),
}

/// Whoever carries out effects.
pub trait Effects {
    /// Carry out one effect: wholly, or fail. A failed [`Effect::Write`] may leave a part of the file.
    fn perform(&self, effect: &Effect<'_>) -> io::Result<()>;
}

/// The disk itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Effects for Disk {
    fn perform(&self, effect: &Effect<'_>) -> io::Result<()> {
        match *effect {
            Effect::MakeFolder(path) => rustix::fs::mkdir(path, Mode::from_raw_mode(0o777))?,
            Effect::RemoveFolder(path) => rustix::fs::rmdir(path)?,
            Effect::Write { path, parts, access, sync } => write(path, parts, access, sync)?,
            Effect::Sync(path) => sync(path)?,
            Effect::SyncFileSystem(folder) => sync_file_system(&open(folder)?)?,
            Effect::Exchange(a, b) => rename_with(a, b, RenameFlags::EXCHANGE)?,
            Effect::Rename(from, to) => rename_with(from, to, RenameFlags::NOREPLACE)?,
            Effect::Replace(from, to) => rustix::fs::rename(from, to)?,
            Effect::Link(from, to) => rustix::fs::link(from, to)?,
            Effect::Unlink(path) => rustix::fs::unlink(path)?,
        }
        Ok(())
    }
}

/// The attributes that belong to a file as such; others describe its content or are the kernel's own.
fn is_carried(name: &str) -> bool {
    name.starts_with("user.") || name == ACCESS_LIST || name == SELINUX
}

/// The attributes of an open file that are handed on.
pub(super) fn attributes(file: &File) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut attributes = Vec::new();
    for name in attribute_names(file)?.into_iter().filter(|name| is_carried(name)) {
        match attribute(file, &name) {
            Ok(value) => attributes.push((name, value)),
            // The policy of the system may forbid to read its labels; a new file gets the right one.
            Err(_) if name == SELINUX => {}
            Err(error) => return Err(error),
        }
    }
    Ok(attributes)
}

fn attribute(file: &File, name: &str) -> io::Result<Vec<u8>> {
    let mut value = vec![0; rustix::fs::fgetxattr_query(file, name)?];
    if !value.is_empty() {
        let length = rustix::fs::fgetxattr(file, name, &mut value[..])?;
        value.truncate(length);
    }
    Ok(value)
}

/// Names of the extended attributes of an open file; none where the file system has no such thing.
fn attribute_names(file: &File) -> io::Result<Vec<String>> {
    let mut list = vec![0; rustix::fs::flistxattr_query(file).or_else(none_if_unsupported)?];
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let length = rustix::fs::flistxattr(file, &mut list[..])?;
    list.truncate(length);
    let mut names: Vec<String> =
        list.split(|b| *b == 0).filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect();
    names.retain(|name| !name.is_empty());
    names.sort();
    Ok(names)
}

fn none_if_unsupported(error: Errno) -> Result<usize, Errno> {
    if error == Errno::OPNOTSUPP || error == Errno::NOSYS {
        return Ok(0);
    }
    Err(error)
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32).open(path)
}

fn sync(path: &Path) -> io::Result<()> {
    let file = open(path)?;
    match file.sync_all() {
        // Some file systems write folders through and know no sync of them.
        Err(error)
            if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) && file.metadata()?.is_dir() =>
        {
            Ok(())
        }
        result => result,
    }
}

fn write(path: &Path, parts: &[&[u8]], access: Access<'_>, sync: bool) -> io::Result<()> {
    let mode = match access {
        Access::Umask => 0o666,
        Access::Private | Access::Like(_) => 0o600,
    };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    let mut writer = BufWriter::with_capacity(BUFFER, &mut file);
    parts.iter().try_for_each(|part| writer.write_all(part))?;
    writer.flush()?;
    drop(writer);
    if let Access::Like(like) = access {
        dress(&file, like)?;
    }
    if sync {
        file.sync_all()?;
    }
    Ok(())
}

/// Give a new file owner, group, attributes and mode of the one it stands for. The group and the
/// access list decide who can read, so they must be kept; the owner is kept where that is permitted.
fn dress(file: &File, like: &Metadata) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(like.uid), Gid::from_raw(like.gid));
    if rustix::fs::fchown(file, Some(uid), Some(gid)).is_err() {
        rustix::fs::fchown(file, None, Some(gid))?;
    }
    // A folder's default list may have given the new file a list that the old one did not have.
    if attribute_names(file)?.iter().any(|name| name == ACCESS_LIST)
        && !like.attributes.iter().any(|(name, _)| name == ACCESS_LIST)
    {
        rustix::fs::fremovexattr(file, ACCESS_LIST)?;
    }
    for (name, value) in &like.attributes {
        let set = rustix::fs::fsetxattr(file, name.as_str(), value, XattrFlags::empty());
        // A security label follows from the policy of the system where it may not be set.
        if name != SELINUX {
            set?;
        }
    }
    // After the owner: changing that clears setuid and setgid.
    file.set_permissions(std::fs::Permissions::from_mode(like.mode))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn sync_file_system(folder: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(folder)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn sync_file_system(_folder: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn rename_with(from: &Path, to: &Path, flags: RenameFlags) -> io::Result<()> {
    Ok(rustix::fs::renameat_with(CWD, from, CWD, to, flags)?)
}

/// How much of small parts is written at once.
const BUFFER: usize = 128 * 1024;
const ACCESS_LIST: &str = "system.posix_acl_access";
const SELINUX: &str = "security.selinux";
