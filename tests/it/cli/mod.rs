//! The real command, as its users meet it: started as a process in repositories made on the spot.
//!
//! [`Project`] is a small state at old versions in a git repository; [`Project::snapshot`] is everything
//! below it, so that "nothing was written" and "only this was written" can be said exactly.
#![expect(clippy::disallowed_methods, reason = "tests set up trees, look at them and start processes")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod batch;
mod endings;
mod guards;
mod history;
mod links;
mod metadata;
mod names;
mod patch;
mod places;
mod restore;
mod streams;
mod text;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const BIN: &str = env!("CARGO_BIN_EXE_specdev-migrate");
pub(crate) const STATE: &str = "speculo/.speculo";
pub(crate) const SPECDEV: &str = "speculo/.speculo/specdev";
pub(crate) const ALPHA: &str = "2026-01-02-alpha";
pub(crate) const BETA: &str = "2026-01-03-beta";

pub(crate) const CONFIG: &str = r#"{
  "schema_version": 3,
  "interaction_language": "en",
  "artifact_language": "en",
  "git": {
    "auto_commit": false,
    "default_branch": "main",
    "worktree_for_parallel": true
  },
  "execution": {
    "max_parallel": 3,
    "deep_ticket_human_approval": true,
    "shared_path_owner": "Lead"
  },
  "verification": {"test": null},
  "planning": {"default_depth": "deep"}
}
"#;

pub(crate) const INDEX: &str = r#"{
  "schema_version": 4,
  "workflow": "specdev",
  "active": [
    {"change": "2026-01-02-alpha", "current_work": "specdev/I-implement", "works_run": ["specdev/I-implement"]},
    {"change": "2026-01-03-beta", "current_work": null, "works_run": []}
  ],
  "archived": []
}
"#;

/// A change-status of version 3 for this change.
pub(crate) fn status(change: &str) -> String {
    format!(
        r#"{{
  "schema_version": 3,
  "artifact": "change-status",
  "change": "{change}",
  "change_status": "active",
  "current_work": null,
  "created_at": "2026-01-02T03:04:05+0800",
  "updated_at": "2026-01-02T03:04:05+0800",
  "completed_at": null,
  "archived": false,
  "archive_path": null,
  "blockers": [],
  "deviations": []
}}
"#
    )
}

/// A goal plan of version 3 for this change.
pub(crate) fn plan(change: &str) -> String {
    format!(
        "---\nschema_version: 3\nartifact: goal-plan\nchange: {change}\nstatus: draft\n\
         modes: [coordination, migration]\nready_for_execution: false\n---\n\n# Goal Plan\n"
    )
}

/// Everything below a folder: type, mode, and content or target, by path.
pub(crate) type Snapshot = BTreeMap<String, (String, Vec<u8>)>;

/// A project in a repository of its own.
pub(crate) struct Project {
    pub(crate) dir: TempDir,
    /// The git top level.
    pub(crate) top: PathBuf,
    /// The project root.
    pub(crate) root: PathBuf,
}

impl Project {
    /// Two changes, one with a goal plan, all committed, the project at the git top level.
    pub(crate) fn new() -> Project {
        let project = Project::bare("repo", "");
        project.fill();
        project.commit();
        project
    }

    /// The same without a repository.
    pub(crate) fn without_git() -> Project {
        let dir = folder();
        let top = dir.path().join("repo");
        let project = Project { root: top.clone(), top, dir };
        project.fill();
        project
    }

    /// An empty repository in a folder of this name, with the project below it.
    pub(crate) fn bare(top: &str, below: &str) -> Project {
        let dir = folder();
        let top = dir.path().join(top);
        let root = if below.is_empty() { top.clone() } else { top.join(below) };
        fs::create_dir_all(&root).unwrap();
        let project = Project { dir, top, root };
        project.git(&["init", "-q", "-b", "main"]);
        project
    }

    /// Write the state.
    pub(crate) fn fill(&self) {
        self.write("config.json", CONFIG);
        self.write("status.json", INDEX);
        for change in [ALPHA, BETA] {
            self.write(&format!("changes/{change}/.status.json"), status(change));
        }
        self.write(&format!("changes/{ALPHA}/goal-plan.md"), plan(ALPHA));
    }

    pub(crate) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "state"]);
    }

    /// A path below `specdev/`.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(SPECDEV).join(path)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap()
    }

    pub(crate) fn text(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).unwrap()
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        serde_json::from_slice(&self.bytes(path)).unwrap()
    }

    /// Replace a piece of text that stands in the file.
    pub(crate) fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.text(path);
        assert!(text.contains(from), "{path} holds no {from:?}");
        self.write(path, text.replacen(from, to, 1));
    }

    pub(crate) fn mode(&self, path: &str) -> u32 {
        self.path(path).symlink_metadata().unwrap().mode() & 0o7777
    }

    pub(crate) fn set_mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = git(&self.top, args);
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Everything below the temporary folder, the repository's own files among it.
    pub(crate) fn snapshot(&self) -> Snapshot {
        snapshot(self.dir.path())
    }

    /// The state alone, paths below `specdev/`.
    pub(crate) fn state(&self) -> Snapshot {
        snapshot(&self.root.join(SPECDEV))
    }

    /// The command in the project root, in an environment of its own.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        command(&self.root, args)
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// A run that must succeed.
    pub(crate) fn done(&self, args: &[&str]) -> Ran {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{ran}");
        ran
    }

    /// REFUSE: the code, these pieces of text on standard error, and nothing written.
    #[track_caller]
    pub(crate) fn refused(&self, args: &[&str], code: i32, needles: &[&str]) -> Ran {
        let before = self.snapshot();
        let ran = self.run(args);
        assert_eq!(ran.code, Some(code), "{ran}");
        for needle in needles {
            assert!(ran.stderr.contains(needle), "no {needle:?} in {ran}");
        }
        assert_same(&before, &self.snapshot());
        ran
    }

    /// The same for the real run, the dry run and the check, which must agree.
    #[track_caller]
    pub(crate) fn refused_in_all_modes(&self, code: i32, needles: &[&str]) {
        for args in [&[][..], &["--dry-run"], &["--check"], &["--format", "json"]] {
            let ran = self.refused(args, code, needles);
            let is_json = args.contains(&"json");
            assert!(is_json || ran.stdout.is_empty(), "{ran}");
        }
    }
}

/// A folder that is gone with its test; in memory where there is such a place.
pub(crate) fn folder() -> TempDir {
    let dir = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

/// Our command in a folder, with nothing inherited that changes what it or git says.
pub(crate) fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(BIN);
    command.args(args);
    clean(&mut command, folder);
    command
}

/// Give a command the environment of these tests.
pub(crate) fn clean(command: &mut Command, folder: &Path) {
    command.current_dir(folder).stdin(Stdio::null()).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", "/nonexistent");
}

/// A line typed into a shell where the command is known by its name.
pub(crate) fn shell(folder: &Path, line: &str) -> Ran {
    let bin = Path::new(BIN).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    clean(command.args(["-c", line]), folder);
    let author = [("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@b"), ("GIT_COMMITTER_NAME", "A")];
    Ran::of(command.env("PATH", path).envs(author).env("GIT_COMMITTER_EMAIL", "a@b"))
}

pub(crate) fn git(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("git");
    clean(&mut command, folder);
    command.env("GIT_CONFIG_NOSYSTEM", "1");
    command.args(["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]);
    command.args(["-c", "safe.directory=*", "-c", "core.autocrlf=false"]).args(args).output().unwrap()
}

/// How a run of the command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Ran {
        let start = Instant::now();
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Ran::from(output, start.elapsed())
    }

    pub(crate) fn from(output: Output, took: Duration) -> Ran {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let ran = Ran {
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: output.stdout,
            stderr,
            took,
        };
        assert!(ran.code != Some(101) && !ran.stderr.contains("panicked"), "{ran}");
        ran
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// Standard output as one JSON document, and nothing beside it.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let out = String::from_utf8_lossy(&self.stdout);
        write!(f, "code {:?} signal {:?}\n-- out\n{out}\n-- err\n{}", self.code, self.signal, self.stderr)
    }
}

pub(crate) fn snapshot(root: &Path) -> Snapshot {
    let mut all = Snapshot::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            let kind = meta.file_type();
            let mode = format!("{:o}", meta.mode());
            let content = if kind.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if kind.is_file() {
                fs::read(&path).unwrap_or_default()
            } else {
                if kind.is_dir() {
                    folders.push(path.clone());
                } else {
                    assert!(kind.is_fifo() || kind.is_socket(), "{path:?}");
                }
                Vec::new()
            };
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            all.insert(name, (mode, content));
        }
    }
    all
}

#[track_caller]
pub(crate) fn assert_same(before: &Snapshot, after: &Snapshot) {
    let differences: Vec<&String> =
        before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path)).collect();
    assert!(differences.is_empty(), "differ: {differences:?}");
}

/// The paths whose type, mode or content differ, each once.
pub(crate) fn different(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let mut paths: Vec<String> = before.keys().chain(after.keys()).cloned().collect();
    paths.sort();
    paths.dedup();
    paths.retain(|path| before.get(path) != after.get(path));
    paths
}

/// Whether a program can be started; says so on the terminal when it cannot, since the test then proves
/// nothing.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    if !found {
        eprintln!("SKIPPED: {program} is missing, nothing is proved here");
    }
    found
}

/// Whether tests may act for another user.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn can_be_others() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("SKIPPED: not root, nothing is proved here");
    }
    root && has("setpriv")
}

/// A plain user, who owns the project from now on, and the command where that user can start it.
pub(crate) struct Nobody {
    dir: TempDir,
    root: PathBuf,
}

impl Nobody {
    pub(crate) fn takes(project: &Project) -> Nobody {
        let nobody = Nobody { dir: folder(), root: project.root.clone() };
        // The real one may lie where nobody may read.
        fs::copy(BIN, nobody.program()).unwrap();
        fs::set_permissions(nobody.program(), fs::Permissions::from_mode(0o755)).unwrap();
        let chown = Command::new("chown").args(["-hR", "65534:65534"]).arg(project.dir.path()).status();
        assert!(chown.unwrap().success());
        nobody
    }

    fn program(&self) -> PathBuf {
        self.dir.path().join("specdev-migrate")
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(self.program()).args(args);
        clean(&mut command, &self.root);
        Ran::of(&mut command)
    }
}
