//! Fixtures, and the projects they are laid out as.
//!
//! A folder of `fixtures/` that holds `before` is one fixture; `fixtures/README.md` says what else may
//! stand beside it. Nothing is ever run on the fixture itself: it is copied to a folder of its own, the
//! real binary works on the copy, and what comes of it is compared with what the fixture holds.
//! `UPDATE_FIXTURES=1` writes that instead (never where `CI` is set).
#![expect(clippy::disallowed_methods, reason = "tests lay out folders and start the binary")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use clap::Parser;
use rayon::prelude::*;
use specdev_migrate::cli::{Cli, Upgrade};
use specdev_migrate::commands::session::Session;
use specdev_migrate::plan::Plan;
use tempfile::TempDir;

/// The folder that holds the fixtures.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

/// What a check comes to: nothing, or what is wrong.
pub(crate) type Checked = Result<(), String>;

/// One folder of `fixtures/`.
#[derive(Debug, Clone)]
pub(crate) struct Fixture {
    /// Its path below `fixtures/`.
    pub(crate) name: String,
    folder: PathBuf,
}

/// All fixtures of a group, by name.
pub(crate) fn fixtures(group: &str) -> Vec<Fixture> {
    let mut out = Vec::new();
    gather(&Path::new(ROOT).join(group), &mut out);
    out.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!out.is_empty(), "there is no fixture in {group}");
    out
}

fn gather(folder: &Path, out: &mut Vec<Fixture>) {
    if folder.join("before").exists() {
        let name = folder.strip_prefix(ROOT).unwrap().to_str().unwrap().to_string();
        return out.push(Fixture { name, folder: folder.to_path_buf() });
    }
    let mut children: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    children.retain(|c| c.is_dir());
    assert!(!children.is_empty(), "{} is no fixture and holds none", folder.display());
    children.iter().for_each(|c| gather(c, out));
}

/// Check every fixture (or, with `FIXTURE=text`, those whose name holds the text) and report all that
/// fail at once.
pub(crate) fn check_all(fixtures: &[Fixture], check: impl Fn(&Fixture) -> Checked + Sync) {
    let only = only();
    let failed: Vec<String> = fixtures
        .par_iter()
        .filter(|f| f.name.contains(&only))
        .filter_map(|f| check(f).err().map(|e| format!("fixtures/{}: {e}", f.name)))
        .collect();
    assert!(failed.is_empty(), "{} of {}:\n\n{}", failed.len(), fixtures.len(), failed.join("\n\n"));
}

/// Whether not all fixtures are looked at.
pub(crate) fn is_filtered() -> bool {
    !only().is_empty()
}

fn only() -> String {
    std::env::var("FIXTURE").unwrap_or_default()
}

/// Whether what comes of a run is to be written into the fixtures.
pub(crate) fn is_updating() -> bool {
    let asked = std::env::var_os("UPDATE_FIXTURES").is_some_and(|v| !v.is_empty());
    assert!(!asked || std::env::var_os("CI").is_none(), "fixtures are not updated where CI is set");
    asked
}

impl Fixture {
    /// The state before the run: the folder `before`, or the one that the file `before` names.
    pub(crate) fn before(&self) -> PathBuf {
        let path = self.folder.join("before");
        if path.is_dir() {
            return path;
        }
        let text = fs::read_to_string(&path).unwrap();
        let folder = self.folder.join(text.trim());
        assert!(folder.is_dir(), "{}: `before` names {}, which is no folder", self.name, text.trim());
        folder
    }

    /// A file of the fixture; `None` when it has none of that name.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(name)).ok()
    }

    /// Arguments for the command line.
    pub(crate) fn options(&self) -> Vec<String> {
        words(&self.text("options").unwrap_or_default())
    }

    /// Whether the fixture has a file of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.folder.join(name).exists()
    }

    /// A project of its own, as the fixture describes it.
    pub(crate) fn lay_out(&self) -> Project {
        let project = Project::new();
        copy(&self.before(), &project.root);
        for name in ["decisions.yaml"] {
            if let Some(text) = self.text(name) {
                fs::write(project.root.with_file_name(name), text).unwrap();
            }
        }
        if let Some(setup) = self.text("setup") {
            setup.lines().for_each(|line| project.set_up(line));
        }
        project
    }

    /// Compare with a file of the fixture, or write it.
    pub(crate) fn expect(&self, name: &str, found: &[u8]) -> Checked {
        let path = self.folder.join(name);
        if is_updating() {
            fs::write(&path, found).unwrap();
            return Ok(());
        }
        let wanted = fs::read(&path).map_err(|_| {
            format!("has no {name}; write it with UPDATE_FIXTURES=1 and read it:\n{}", text(found))
        })?;
        same(name, &wanted, found)
    }

    /// The files of the folder `after`.
    pub(crate) fn after(&self) -> BTreeMap<String, Vec<u8>> {
        bytes_below(&self.folder.join("after"))
    }

    /// Compare with the folder `after`, or write it.
    pub(crate) fn expect_tree(&self, project: &Project) -> Checked {
        let path = self.folder.join("after");
        if is_updating() {
            let _ = fs::remove_dir_all(&path);
            for (name, node) in project.files() {
                let file = path.join(&name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(&file, node.bytes).unwrap();
            }
            return Ok(());
        }
        let wanted = self.after();
        let found: BTreeMap<String, Vec<u8>> =
            project.files().into_iter().map(|(name, node)| (name, node.bytes)).collect();
        let names = |map: &BTreeMap<String, Vec<u8>>| map.keys().cloned().collect::<Vec<_>>().join("\n");
        same("list of files after the run", names(&wanted).as_bytes(), names(&found).as_bytes())?;
        wanted.iter().try_for_each(|(name, bytes)| same(name, bytes, &found[name]))
    }
}

/// A laid out project in a folder of its own; files that belong to no project stand beside it.
pub(crate) struct Project {
    /// The project root.
    pub(crate) root: PathBuf,
    _dir: TempDir,
}

/// What a run of the binary came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    /// The exit code and what a user reads.
    pub(crate) fn report(&self) -> Vec<u8> {
        format!("exit {}\n{}", self.code, self.stderr).into_bytes()
    }
}

impl Project {
    fn new() -> Project {
        let memory = Path::new("/dev/shm");
        let dir = TempDir::new_in(memory).or_else(|_| TempDir::new()).unwrap();
        let inside = dir.path().ancestors().any(|a| a.join(".git").exists());
        assert!(!inside, "the folder for temporary files lies in a repository: {}", dir.path().display());
        // What git and others read from the user's home must not matter.
        fs::create_dir(dir.path().join("home")).unwrap();
        let root = dir.path().join("project");
        fs::create_dir(&root).unwrap();
        Project { root, _dir: dir }
    }

    /// The same project elsewhere, without its repository.
    pub(crate) fn copy(&self) -> Project {
        let project = Project::new();
        for (name, node) in self.files() {
            let path = project.root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &node.bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(node.mode)).unwrap();
        }
        project
    }

    /// Run the binary in the project root.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        let mut command = self.command(env!("CARGO_BIN_EXE_specdev-migrate"));
        command.args(arguments).stdin(Stdio::null());
        // Neither the place on earth nor the language of the user may show in a byte.
        command.env("TZ", "Pacific/Auckland").env("LC_ALL", "de_DE.UTF-8");
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains("panicked"), "the binary panicked:\n{stderr}");
        // Neither colour nor progress where nobody watches.
        assert!(!stderr.contains(['\x1b', '\r']), "control characters on a pipe:\n{stderr:?}");
        Ran { code: output.status.code().unwrap(), stdout: output.stdout, stderr }
    }

    /// The same command line, in this process.
    pub(crate) fn upgrade(&self, options: &[String]) -> Upgrade {
        let all = ["specdev-migrate"].into_iter().chain(options.iter().map(String::as_str));
        let mut upgrade = Cli::try_parse_from(all).unwrap().upgrade;
        upgrade.place.path = self.root.join(&upgrade.place.path);
        upgrade.place.state = upgrade.place.state.map(|p| self.root.join(p));
        upgrade.goal.decisions = upgrade.goal.decisions.map(|p| self.root.join(p));
        upgrade
    }

    /// Where the options say that the state lies, for other commands.
    pub(crate) fn place(&self, options: &[String]) -> Vec<String> {
        let place = self.upgrade(options).place;
        let text = |path: &Path| path.to_str().unwrap().to_string();
        let state = place.state.iter().flat_map(|s| ["--state".to_string(), text(s)]);
        state.chain([text(&place.path)]).collect()
    }

    /// The library's session over the project.
    pub(crate) fn session(&self, options: &[String]) -> Result<Session, String> {
        let upgrade = self.upgrade(options);
        let opened = Session::open(&upgrade.place, &upgrade.goal, true).map_err(|e| e.to_string())?;
        opened.map_err(|refused| format!("discovery was refused: {refused:?}"))
    }

    /// The library's plan for the project.
    pub(crate) fn plan(&self, options: &[String]) -> Result<Plan, String> {
        self.session(options)?.plan(self.upgrade(options).partial).map_err(|e| e.to_string())
    }

    /// `git apply` of a patch; `None` when git is missing.
    #[expect(clippy::print_stderr, reason = "what is not checked is said aloud")]
    pub(crate) fn git_apply(&self, patch: &[u8]) -> Option<Checked> {
        let file = self.root.with_file_name("dry-run.diff");
        fs::write(&file, patch).unwrap();
        let output = match self.command("git").args(["apply", "-p1"]).arg(&file).output() {
            Ok(output) => output,
            Err(e) if std::env::var_os("CI").is_some() => panic!("git is missing: {e}"),
            Err(e) => {
                eprintln!("NOT CHECKED: git is missing ({e}), no patch was applied");
                return None;
            }
        };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Some(if output.status.success() { Ok(()) } else { Err(format!("git apply: {said}")) })
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let home = self.root.with_file_name("home");
        command.current_dir(&self.root).env("HOME", &home).env("XDG_CONFIG_HOME", &home);
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CEILING_DIRECTORIES", self.root.parent().unwrap());
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"] {
            command.env_remove(name);
        }
        command
    }

    /// One line of a fixture's `setup`.
    pub(crate) fn set_up(&self, line: &str) {
        let words = words(line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let at = |path: &str| self.root.join(path);
        match words.as_slice() {
            [] | ["#", ..] => {}
            ["git", arguments @ ..] => self.git(arguments),
            ["link", target, path] => symlink(target, at(path)).unwrap(),
            ["fifo", path] => {
                let kind = rustix::fs::FileType::Fifo;
                rustix::fs::mknodat(rustix::fs::CWD, at(path), kind, 0o644.into(), 0).unwrap();
            }
            ["mode", octal, path] => {
                let mode = u32::from_str_radix(octal, 8).unwrap();
                fs::set_permissions(at(path), fs::Permissions::from_mode(mode)).unwrap();
            }
            ["folder", path] => fs::create_dir_all(at(path)).unwrap(),
            ["move", from, to] => fs::rename(at(from), at(to)).unwrap(),
            ["write", path, words @ ..] => {
                fs::create_dir_all(at(path).parent().unwrap()).unwrap();
                fs::write(at(path), words.join(" ") + "\n").unwrap();
            }
            _ => panic!("no such line in a setup: {line}"),
        }
    }

    fn git(&self, arguments: &[&str]) {
        let mut command = self.command("git");
        // Commit ids depend on nothing but what is committed and in which order.
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "dev")
                .env(format!("GIT_{who}_EMAIL"), "dev@example.invalid");
            command.env(format!("GIT_{who}_DATE"), "1785000000 +0000");
        }
        let output = command.args(arguments).output().expect("git is there");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {said}");
    }

    /// Everything below the project root, repository included.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut nodes = BTreeMap::new();
        look(&self.root, "", &mut nodes);
        Snapshot(nodes)
    }

    /// The regular files that are neither the repository's nor a ticket worktree's.
    pub(crate) fn files(&self) -> BTreeMap<String, Node> {
        let mut nodes = self.snapshot().0;
        nodes.retain(|name, node| {
            node.kind == "file" && !name.starts_with(".git/") && !name.starts_with("specdev-worktree/")
        });
        nodes
    }
}

/// Every path of a project and what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot(pub(crate) BTreeMap<String, Node>);

/// A path of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) kind: &'static str,
    pub(crate) mode: u32,
    /// Content of a file, target of a link.
    pub(crate) bytes: Vec<u8>,
    pub(crate) written: Option<SystemTime>,
}

impl Snapshot {
    /// The same without the times of writing, and without the repository's own files: what an undo must
    /// give back.
    pub(crate) fn lasting(&self) -> Snapshot {
        let ours = self.0.iter().filter(|(name, _)| !name.starts_with(".git/"));
        Snapshot(ours.map(|(name, node)| (name.clone(), Node { written: None, ..node.clone() })).collect())
    }

    /// Whether another look found the same; else the first difference of each path.
    pub(crate) fn check(&self, what: &str, other: &Snapshot) -> Checked {
        let mut out = String::new();
        for name in self.0.keys().filter(|n| !other.0.contains_key(*n)) {
            let _ = writeln!(out, "  {name}: gone");
        }
        for (name, now) in &other.0 {
            match self.0.get(name) {
                None => drop(writeln!(out, "  {name}: new {}", now.kind)),
                Some(was) if was.kind != now.kind => drop(writeln!(out, "  {name}: now a {}", now.kind)),
                Some(was) if was.bytes != now.bytes => {
                    let _ = writeln!(out, "  {name}: {}", difference(&was.bytes, &now.bytes));
                }
                Some(was) if was.mode != now.mode => {
                    let _ = writeln!(out, "  {name}: mode {:o}, now {:o}", was.mode, now.mode);
                }
                Some(was) if was.written != now.written => drop(writeln!(out, "  {name}: written again")),
                Some(_) => {}
            }
        }
        if out.is_empty() { Ok(()) } else { Err(format!("{what}:\n{out}")) }
    }
}

fn look(folder: &Path, below: &str, out: &mut BTreeMap<String, Node>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let own = path.file_name().unwrap().to_str().unwrap();
        let name = if below.is_empty() { own.to_string() } else { format!("{below}/{own}") };
        let meta = fs::symlink_metadata(&path).unwrap();
        let kind = meta.file_type();
        let (kind, bytes) = if kind.is_symlink() {
            ("link", fs::read_link(&path).unwrap().to_str().unwrap().as_bytes().to_vec())
        } else if kind.is_dir() {
            look(&path, &name, out);
            ("folder", Vec::new())
        } else if kind.is_fifo() {
            ("fifo", Vec::new())
        } else {
            ("file", fs::read(&path).unwrap())
        };
        let node = Node { kind, mode: meta.mode() & 0o7777, bytes, written: meta.modified().ok() };
        out.insert(name, node);
    }
}

/// Every file below a folder, by its path.
fn bytes_below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut nodes = BTreeMap::new();
    if folder.is_dir() {
        look(folder, "", &mut nodes);
    }
    nodes.into_iter().filter(|(_, n)| n.kind == "file").map(|(name, n)| (name, n.bytes)).collect()
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy(&path, &target);
        } else {
            fs::write(&target, fs::read(&path).unwrap()).unwrap();
            fs::set_permissions(&target, fs::Permissions::from_mode(0o644)).unwrap();
        }
    }
}

/// Whether two texts are equal; else where they part.
pub(crate) fn same(what: &str, wanted: &[u8], found: &[u8]) -> Checked {
    if wanted == found {
        return Ok(());
    }
    Err(format!("{what}: {}", difference(wanted, found)))
}

fn difference(wanted: &[u8], found: &[u8]) -> String {
    let lines = |bytes: &[u8]| -> Vec<String> {
        bytes.split_inclusive(|b| *b == b'\n').map(|l| format!("{:?}", String::from_utf8_lossy(l))).collect()
    };
    let (wanted, found) = (lines(wanted), lines(found));
    let at = wanted.iter().zip(&found).take_while(|(a, b)| a == b).count();
    let line = |lines: &[String]| lines.get(at).cloned().unwrap_or_else(|| "the end".into());
    format!("line {}:\n    wanted {}\n    found  {}", at + 1, line(&wanted), line(&found))
}

/// Words parted by blanks; `"two words"` are one.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for (i, part) in text.split('"').enumerate() {
        match i % 2 {
            0 => out.extend(part.split_whitespace().map(str::to_string)),
            _ => out.push(part.to_string()),
        }
    }
    out
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
