//! The writer: all or nothing, through every failure, crash and edit that can come between.
//!
//! One small tree is upgraded: three files replaced, one created in a new folder, one deleted from a
//! folder that it leaves empty. [`Script`] stands between the run and the disk and fails it, stops it dead
//! or lets somebody edit a file at any one of its effects.
#![expect(clippy::disallowed_methods, reason = "tests set up trees, look at them and start processes")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod crash;
mod edits;
mod files;
mod guards;
mod places;
mod process;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use specdev_migrate::apply::{
    Applied, Disk, Effect, Effects, FileChange, Recovered, Stop, Target, Unchanged, Worktree, apply, lock,
    recover,
};
use specdev_migrate::error::Result;
use tempfile::TempDir;

/// A repository in a folder of its own.
pub(crate) struct Repo {
    _dir: TempDir,
    pub(crate) root: PathBuf,
}

pub(crate) const CONFIG: &str = "specdev/config.json";
pub(crate) const STATUS: &str = "specdev/status.json";
pub(crate) const CHANGE: &str = "specdev/changes/x/.status.json";
pub(crate) const EVIDENCE: &str = "specdev/changes/x/evidence/T-01.md";
pub(crate) const GONE: &str = "specdev/done/HISTORY.md";
pub(crate) const PATHS: [&str; 5] = [CONFIG, STATUS, CHANGE, EVIDENCE, GONE];

impl Repo {
    /// The tree before the upgrade; in memory where there is such a place, since the grids are large.
    pub(crate) fn new() -> Repo {
        let memory = Path::new("/dev/shm");
        Repo::below(TempDir::new_in(memory).or_else(|_| TempDir::new()).unwrap())
    }

    /// The same tree on a file system that outlives the machine's next start.
    pub(crate) fn on_disk() -> Repo {
        Repo::below(TempDir::new().unwrap())
    }

    fn below(dir: TempDir) -> Repo {
        let root = dir.path().join("repo");
        let repo = Repo { _dir: dir, root };
        for folder in [".git", "specdev/changes/x", "specdev/done"] {
            fs::create_dir_all(repo.path(folder)).unwrap();
        }
        repo.write(CONFIG, "old config\n", 0o644);
        repo.write(STATUS, "old status, longer than the new one\n", 0o664);
        repo.write(CHANGE, "old change\n", 0o600);
        repo.write(GONE, "old history\n", 0o644);
        repo.write("specdev/neighbour.txt", "not ours\n", 0o755);
        repo
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str, mode: u32) {
        fs::write(self.path(path), text).unwrap();
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(crate) fn target(&self) -> Target {
        target_of(&self.root)
    }

    pub(crate) fn apply(&self, fx: &dyn Effects) -> Result<Applied> {
        self.apply_changes(&changes(), &[], &Stop::new(), fx)
    }

    pub(crate) fn apply_changes(
        &self,
        changes: &[FileChange],
        also: &[Unchanged],
        stop: &Stop,
        fx: &dyn Effects,
    ) -> Result<Applied> {
        let target = self.target();
        let lock = lock(&target)?;
        apply(&target, &lock, changes, also, stop, fx)
    }

    pub(crate) fn recover(&self, fx: &dyn Effects) -> Result<Recovered> {
        let target = self.target();
        let lock = lock(&target)?;
        recover(&target, &lock, fx)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::new();
        add_folder(&self.root, &self.root, &mut snapshot);
        snapshot
    }
}

/// What a run over the tree with this root is about.
pub(crate) fn target_of(root: &Path) -> Target {
    Target {
        root: root.to_path_buf(),
        project: String::new(),
        state: "specdev".into(),
        worktree: Worktree::at(root),
        journal_dir: root.join(".git/specdev-migrate"),
        dir_is_ours: true,
    }
}

/// Everything below a folder: kind and mode, content.
pub(crate) type Snapshot = BTreeMap<String, (String, String)>;

fn add_folder(root: &Path, folder: &Path, snapshot: &mut Snapshot) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let content = if metadata.is_dir() {
            add_folder(root, &path, snapshot);
            String::new()
        } else if metadata.is_symlink() {
            fs::read_link(&path).unwrap().to_string_lossy().into_owned()
        } else {
            String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
        };
        snapshot.insert(name, (format!("{:o}", metadata.mode()), content));
    }
}

/// Everything below a folder, with the modes, under a name that is free.
pub(crate) fn copy(from: &Path, to: &Path) {
    assert!(std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}

pub(crate) fn changes() -> Vec<FileChange> {
    vec![
        change(CONFIG, Some("old config\n"), Some("new config, longer than the old one\n")),
        change(STATUS, Some("old status, longer than the new one\n"), Some("new status\n")),
        change(CHANGE, Some("old change\n"), Some("new change\n")),
        change(EVIDENCE, None, Some("new evidence\n")),
        change(GONE, Some("old history\n"), None),
    ]
}

pub(crate) fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    let bytes = |text: Option<&str>| text.map(|text| Arc::new(text.as_bytes().to_vec()));
    FileChange { path: path.into(), before: bytes(before), after: bytes(after) }
}

/// The tree before and after.
pub(crate) fn old_and_new() -> (Snapshot, Snapshot) {
    let old = Repo::new().snapshot();
    let mut new = old.clone();
    let umask = umask();
    new.get_mut(CONFIG).unwrap().1 = "new config, longer than the old one\n".into();
    new.get_mut(STATUS).unwrap().1 = "new status\n".into();
    new.get_mut(CHANGE).unwrap().1 = "new change\n".into();
    new.insert(EVIDENCE.into(), (format!("{:o}", 0o100_666 & !umask), "new evidence\n".into()));
    new.insert("specdev/changes/x/evidence".into(), (format!("{:o}", 0o040_777 & !umask), String::new()));
    new.remove(GONE);
    new.remove("specdev/done");
    (old, new)
}

/// Asked without setting it: other tests are running.
pub(crate) fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:")).unwrap();
    u32::from_str_radix(umask.trim(), 8).unwrap()
}

/// The disk, with something happening at one of its effects.
pub(crate) struct Script<'a> {
    count: Cell<usize>,
    dead: Cell<bool>,
    /// These effects fail.
    pub(crate) fail_at: Vec<usize>,
    /// The process ends before this effect.
    pub(crate) kill_at: Option<usize>,
    /// ... or in the middle of it, when it writes.
    pub(crate) halfway: bool,
    /// Somebody does something right before this effect.
    pub(crate) at: Option<(usize, &'a dyn Fn())>,
    /// A file system where files cannot trade places and a rename always clobbers.
    pub(crate) is_plain: bool,
    /// A file system without hard links.
    pub(crate) lacks_links: bool,
    /// A file system that can only be synced file by file.
    pub(crate) lacks_syncfs: bool,
    pub(crate) log: RefCell<Vec<String>>,
}

impl<'a> Script<'a> {
    pub(crate) fn new(is_plain: bool) -> Script<'a> {
        Script {
            count: Cell::new(0),
            dead: Cell::new(false),
            fail_at: Vec::new(),
            kill_at: None,
            halfway: false,
            at: None,
            is_plain,
            lacks_links: false,
            lacks_syncfs: false,
            log: RefCell::new(Vec::new()),
        }
    }

    pub(crate) fn killing(is_plain: bool, at: usize) -> Script<'a> {
        Script { kill_at: Some(at), ..Script::new(is_plain) }
    }

    pub(crate) fn failing(is_plain: bool, at: &[usize]) -> Script<'a> {
        Script { fail_at: at.to_vec(), ..Script::new(is_plain) }
    }

    /// How many effects there were.
    pub(crate) fn count(&self) -> usize {
        self.count.get()
    }

    pub(crate) fn was_killed(&self) -> bool {
        self.dead.get()
    }
}

impl Effects for Script<'_> {
    fn perform(&self, effect: &Effect<'_>) -> io::Result<()> {
        if self.dead.get() {
            return Err(io::Error::other("the process is dead"));
        }
        if self.is_plain && matches!(effect, Effect::Exchange(..) | Effect::Rename(..)) {
            return Err(Errno::INVAL.into());
        }
        if self.lacks_links && matches!(effect, Effect::Link(..)) {
            return Err(Errno::PERM.into());
        }
        if self.lacks_syncfs && matches!(effect, Effect::SyncFileSystem(..)) {
            return Err(Errno::NOSYS.into());
        }
        let number = self.count.replace(self.count.get() + 1);
        self.log.borrow_mut().push(described(effect));
        if let Some((at, act)) = self.at
            && at == number
        {
            act();
        }
        if self.kill_at == Some(number) {
            if let Effect::Write { path, parts, .. } = effect
                && self.halfway
            {
                let bytes = parts.concat();
                fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
            }
            self.dead.set(true);
            return Err(io::Error::other("killed"));
        }
        if self.fail_at.contains(&number) {
            return Err(Errno::IO.into());
        }
        match effect {
            // Slow, and of no consequence while the machine stays up.
            Effect::Sync(_) | Effect::SyncFileSystem(_) => Ok(()),
            Effect::Write { path, parts, access, .. } => {
                Disk.perform(&Effect::Write { path, parts, access: *access, sync: false })
            }
            effect => Disk.perform(effect),
        }
    }
}

fn described(effect: &Effect<'_>) -> String {
    let name = |path: &Path| {
        let name = path.file_name().map_or("..".into(), |name| name.to_string_lossy().into_owned());
        // The digest says nothing to a reader.
        if name.starts_with(".sdm-") { format!("tmp{}", &name[17..]) } else { name }
    };
    match effect {
        Effect::MakeFolder(path) => format!("mkdir {}", name(path)),
        Effect::RemoveFolder(path) => format!("rmdir {}", name(path)),
        Effect::Write { path, sync: true, .. } => format!("write and sync {}", name(path)),
        Effect::Write { path, .. } => format!("write {}", name(path)),
        Effect::Sync(path) => format!("sync {}", name(path)),
        Effect::SyncFileSystem(_) => "sync file system".into(),
        Effect::Exchange(a, b) => format!("exchange {} {}", name(a), name(b)),
        Effect::Rename(a, b) => format!("rename {} {}", name(a), name(b)),
        Effect::Replace(a, b) => format!("replace {} {}", name(a), name(b)),
        Effect::Link(a, b) => format!("link {} {}", name(a), name(b)),
        Effect::Unlink(path) => format!("unlink {}", name(path)),
    }
}
