//! The transaction of the real command, stopped for real: strace kills it, fails it, signals it or holds it
//! up at any of its system calls, and what is left is looked at and recovered.
//!
//! The tree is small (two changes, eight files), so that every call of every kind can be tried. Only the
//! main thread is traced: it alone writes.
#![expect(clippy::disallowed_methods, reason = "tests set up trees, look at them and start processes")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod edits;
mod fail;
mod kill;
mod lock;
mod places;
mod signals;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cli::{BIN, Project, Ran, Snapshot, clean, snapshot};

/// System calls that change the disk, by effect, and how many a run over the small tree makes at least;
/// should it make fewer, they go by another name now. strace counts each call by itself.
const EFFECTS: [(&[&str], usize); 6] = [
    // The journal's draft, its two steps, and eight files.
    (&[SWAP, STEP, "rename"], 11),
    (&["fsync", "fdatasync", "syncfs", "sync"], 5),
    // Five old files, the journal, the lock, the journal's folder.
    (&["unlinkat", "unlink", "rmdir"], 8),
    // The lock's signature, the journal, eight files.
    (&[WRITE, "pwrite64", "writev"], 10),
    (&[MKDIR, "mkdir"], 1),
    (&["fchmod", "fchmodat", "fchown"], 5),
];

/// The call that moves files, eight times.
const SWAP: &str = "renameat2";
/// The call that moves the journal to its next phase: the draft, the swapping, the end.
const STEP: &str = "renameat";
const WRITE: &str = "write";
const MKDIR: &str = "mkdirat";

/// A project that can be put back to how it was, under the same path.
struct Lab {
    project: Project,
    saved: PathBuf,
    old: Snapshot,
    new: Snapshot,
}

impl Lab {
    fn new() -> Lab {
        Lab::over(Project::new(), &["--no-git"])
    }

    /// Over what a run with these arguments makes of the project.
    fn over(project: Project, args: &[&str]) -> Lab {
        let saved = project.dir.path().with_extension("saved");
        copy(project.dir.path(), &saved);
        let old = project.snapshot();
        let ran = project.run(args);
        assert_eq!(ran.code, Some(0), "{ran}");
        let new = project.snapshot();
        assert_ne!(old, new);
        let lab = Lab { project, saved, old, new };
        lab.reset();
        lab
    }

    fn reset(&self) {
        self.reset_to(&self.saved);
    }

    fn reset_to(&self, saved: &Path) {
        let top = self.project.dir.path();
        for entry in fs::read_dir(top).unwrap() {
            fs::remove_dir_all(entry.unwrap().path()).unwrap();
        }
        let status = Command::new("cp").arg("-a").arg(saved.join(".")).arg(top).status();
        assert!(status.unwrap().success());
    }

    /// Keep how it is now.
    fn save(&self, name: &str) -> PathBuf {
        let saved = self.project.dir.path().with_extension(name);
        let _ = fs::remove_dir_all(&saved);
        copy(self.project.dir.path(), &saved);
        saved
    }

    fn snapshot(&self) -> Snapshot {
        self.project.snapshot()
    }

    /// Whether everything is new; fails when it is neither old nor new, or when anything else is left.
    #[track_caller]
    fn is_new(&self, said: &impl std::fmt::Display) -> bool {
        let now = self.snapshot();
        if now == self.new {
            return true;
        }
        let different = crate::cli::different(&self.old, &now);
        assert!(different.is_empty(), "neither old nor new: {different:?}\n{said}");
        false
    }

    /// Run with an injection at the `when`th time of a call, and whether it got that far.
    fn inject(&self, args: &[&str], call: &str, what: &str, when: &str) -> (Ran, bool) {
        let log = self.project.dir.path().with_extension("log");
        let mut command = strace(&self.project, args, call, what, when, &log);
        let ran = Ran::of(&mut command);
        let text = fs::read_to_string(&log).unwrap_or_default();
        let fired = ran.signal.is_some() || text.contains("INJECTED") || text.contains("--- SIG");
        (ran, fired)
    }

    /// The folder for lock and journal, when it is there.
    fn journal_dir(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(self.project.top.join(".git")).unwrap().map(|e| e.unwrap().path());
        entries
            .into_iter()
            .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("specdev-migrate-"))
    }

    /// Whether a journal lies there, which is what the next run finds.
    fn has_journal(&self) -> bool {
        let Some(dir) = self.journal_dir() else { return false };
        ["staging", "swapping", "done"].iter().any(|phase| dir.join(format!("journal-{phase}")).exists())
    }

    /// What was interrupted is found by the next run, and `recover` makes it whole: whether all is new.
    #[track_caller]
    fn recovers(&self, said: &impl std::fmt::Display) -> bool {
        if self.has_journal() {
            let before = self.snapshot();
            let next = self.project.run(&["--no-git"]);
            assert_eq!(next.code, Some(9), "{next}\nafter {said}");
            assert!(next.stderr.contains("next: specdev-migrate recover\n"), "{next}");
            crate::cli::assert_same(&before, &self.snapshot());
        }
        let recovered = self.project.run(&["recover"]);
        assert_eq!(recovered.code, Some(0), "{recovered}\nafter {said}");
        self.is_new(&recovered)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let dir = self.project.dir.path();
        for name in ["saved", "crashed", "log"] {
            let path = dir.with_extension(name);
            let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
    }
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
    assert_eq!(snapshot(from), snapshot(to));
}

fn strace(project: &Project, args: &[&str], call: &str, what: &str, when: &str, log: &Path) -> Command {
    let mut command = Command::new("strace");
    command.args(["-qq", "-o"]).arg(log).args(["-e", &format!("trace={call}")]);
    command.args(["-e", &format!("inject={call}:{what}:when={when}"), BIN]).args(args);
    clean(&mut command, &project.root);
    command
}

/// A run that is held up for a while before the `n`th time of a call.
fn held(lab: &Lab, args: &[&str], call: &str, n: usize, wait: Duration) -> Child {
    let log = lab.project.dir.path().with_extension("log");
    let what = format!("delay_enter={}", wait.as_micros());
    let mut command = strace(&lab.project, args, call, &what, &n.to_string(), &log);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until something is so.
#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what} takes too long");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether strace is there and may do its work; says so on the terminal when not, since nothing is proved.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn can_inject() -> bool {
    let mut command = Command::new("strace");
    command.args(["-qq", "-o", "/dev/null", "-e", "trace=rmdir", "-e", "inject=rmdir:error=EIO", "true"]);
    let works = command.status().is_ok_and(|status| status.success());
    if !works {
        eprintln!("SKIPPED: strace is missing or may not trace, nothing is proved here");
    }
    works
}
