//! What git knows, read-only, as plain data (contract.md §3, §7, §8).
//!
//! This is the only module that starts a process, and the only process is `git`. [`Program`] runs it;
//! [`Git`] asks a fixed number of questions per repository (plus one `status` per worktree asked about)
//! and answers with [`Survey`], [`Commits`] and [`FileState`], which hold no handle to anything and can
//! be made without git.
//!
//! Refused: writing of any kind, hooks, transport (nothing is fetched), questions about a repository
//! named by the environment, and silence. A git that is missing, fails, hangs or answers something else
//! than expected is a [`GitFault`], never an empty list. Revision texts come from state files, so they
//! reach git through standard input only and never as options.

mod commits;
mod program;
mod survey;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

pub use commits::Commits;
pub use program::{GitFault, Program};
pub use survey::{Head, ObjectFormat, Operation, Survey, Worktree};

use program::{Call, Output, path_of, text_of};

/// The nearest folder, `root` or above, that holds an entry named `.git` (folder, file or link).
/// Looks at metadata only; no process.
pub fn find_top(root: &Path) -> Option<PathBuf> {
    let root = resolve(root);
    root.ancestors().find(|folder| folder.join(DOT_GIT).symlink_metadata().is_ok()).map(Path::to_path_buf)
}

/// A path as it is compared: links followed as far as it exists, the rest as written. An absolute path
/// is expected.
pub fn resolve(path: &Path) -> PathBuf {
    let mut at = path;
    let mut rest = Vec::new();
    loop {
        if let Ok(mut found) = at.canonicalize() {
            found.extend(rest.iter().rev());
            return found;
        }
        match (at.parent(), at.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name);
                at = parent;
            }
            _ => return path.to_path_buf(),
        }
    }
}

/// How one file stands to git; what the guard `uncommitted-changes` asks (contract.md §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileState {
    /// Tracked, and neither the index nor the file differs from HEAD.
    Clean,
    /// Tracked, and the index or the file differs from HEAD, is deleted or unmerged; or git was told not
    /// to look (`assume-unchanged`, `skip-worktree`), so that nobody can say.
    Changed,
    /// There, but unknown to git and not ignored.
    Untracked,
    /// There, and ignored.
    Ignored,
    /// Neither there nor tracked.
    Absent,
}

/// An opened repository, seen from one of its worktrees.
#[derive(Debug)]
pub struct Git {
    program: Program,
    /// Where git is asked: the project root, resolved.
    root: PathBuf,
    top: PathBuf,
    common_dir: PathBuf,
    git_dir: PathBuf,
    object_format: ObjectFormat,
    shallow: bool,
    /// Whether there are files at the project root that git looks after.
    work_tree: bool,
    started: AtomicUsize,
}

impl Git {
    /// The repository that the folder `root` lies in; `None`, without starting anything, when no `.git`
    /// is found upward.
    ///
    /// # Errors
    /// `.git` is there, but git is missing, fails, hangs or does not take it for a repository.
    pub fn open(root: &Path, program: &Program) -> Result<Option<Git>, GitFault> {
        let Some(found) = find_top(root) else { return Ok(None) };
        let root = resolve(root);
        let mut git = Git {
            program: program.clone(),
            top: found,
            root,
            common_dir: PathBuf::new(),
            git_dir: PathBuf::new(),
            object_format: ObjectFormat::Sha1,
            shallow: false,
            work_tree: false,
            started: AtomicUsize::new(0),
        };
        // git repeats an option it does not know: a mark between paths that may hold line ends.
        let output = git.ask(
            &git.root,
            &[
                "rev-parse",
                "--path-format=absolute",
                "--show-object-format",
                "--is-shallow-repository",
                MARK,
                "--absolute-git-dir",
                MARK,
                "--git-common-dir",
                MARK,
                "--show-cdup",
            ],
            None,
        )?;
        git.place(&output.stdout).ok_or_else(|| {
            GitFault::new("`git rev-parse` answered something unexpected; git 2.36 or newer is needed")
        })?;
        Ok(Some(git))
    }

    /// Worktrees, the branches below `refs/heads/speculo/` and the one checked out here, and what is in
    /// progress here. Three processes.
    ///
    /// # Errors
    /// git fails, or names a branch it cannot read.
    pub fn survey(&self) -> Result<Survey, GitFault> {
        let list = self.ask(&self.root, &["worktree", "list", "--porcelain", "-z"], None)?;
        let mut worktrees = survey::parse_worktrees(&list.stdout)?;
        if self.work_tree
            && self.git_dir == self.common_dir
            && let Some(main) = worktrees.first_mut()
        {
            // For a submodule git derives the main path from the git directory, where nothing lies.
            main.place(self.top.clone());
        }

        let symbolic = self.ask_for(&self.root, &["symbolic-ref", "-q", "HEAD"], None, &[0, 1])?;
        let target = String::from_utf8_lossy(&symbolic.stdout);
        let target = target.trim_end_matches('\n');
        if symbolic.code == 0 && !target.starts_with("refs/") {
            return Err(GitFault::new("`git symbolic-ref` answered something unexpected"));
        }
        let named = target.strip_prefix(HEADS).unwrap_or_default();

        let here = format!("{HEADS}{named}");
        let mut args = vec!["for-each-ref", "--format=%(refname)%00%(objectname)", "refs/heads/speculo/"];
        if !named.is_empty() {
            args.push(&here);
        }
        let refs = self.ask(&self.root, &args, None)?;
        let mut branches = survey::parse_branches(&refs.stdout)?;
        branches.retain(|name, _| name == named || name.starts_with("speculo/"));

        let head = if !self.work_tree {
            Head::Bare
        } else if named.is_empty() {
            Head::Detached
        } else if branches.contains_key(named) {
            Head::Branch
        } else {
            Head::Unborn
        };
        Ok(Survey {
            top: self.top.clone(),
            common_dir: self.common_dir.clone(),
            git_dir: self.git_dir.clone(),
            object_format: self.object_format,
            shallow: self.shallow,
            bare: worktrees.first().is_some_and(|main| main.bare),
            head,
            head_branch: (head == Head::Branch).then(|| named.to_owned()),
            worktrees,
            branches,
            operation: self.operation()?,
        })
    }

    /// What these branches (short names) and revision texts stand for, and how they are related. Two
    /// processes, however many there are; none when there is nothing to ask.
    ///
    /// A revision is a full or short object id or a ref name. Other texts (composite, option-like,
    /// `main~3`, `:/text`) are unknown without asking, and so is a hexadecimal text that only names a
    /// ref: a record's SHA is never read as a branch.
    ///
    /// # Errors
    /// git fails, or part of the history cannot be read.
    pub fn history(&self, branches: &[String], revisions: &[String]) -> Result<Commits, GitFault> {
        let branches: BTreeSet<&str> =
            branches.iter().map(String::as_str).filter(|b| commits::is_name(b)).collect();
        let revisions: BTreeSet<&str> =
            revisions.iter().map(String::as_str).filter(|r| commits::is_name(r)).collect();
        if branches.is_empty() && revisions.is_empty() {
            return Commits::new(BTreeMap::new(), BTreeMap::new(), b"", self.shallow);
        }

        let mut input = String::new();
        for branch in &branches {
            input.push_str(&format!("{HEADS}{branch}^{{commit}}\n"));
        }
        for revision in &revisions {
            input.push_str(&format!("{revision}^{{commit}}\n"));
        }
        let ids = self.commits(input, branches.len() + revisions.len())?;
        let (tips, found) = ids.split_at(branches.len());
        let tips: BTreeMap<String, String> =
            branches.iter().zip(tips).filter_map(|(b, id)| Some((b.to_string(), id.clone()?))).collect();
        let found: BTreeMap<String, String> = revisions
            .iter()
            .zip(found)
            .filter_map(|(text, id)| Some((text.to_string(), id.clone()?)))
            .filter(|(text, id)| commits::stands_for(text, id))
            .collect();

        let starts: BTreeSet<&str> = tips.values().chain(found.values()).map(String::as_str).collect();
        if starts.is_empty() {
            return Commits::new(tips, found, b"", self.shallow);
        }
        let mut input = String::new();
        for id in starts {
            input.push_str(id);
            input.push('\n');
        }
        let args = ["rev-list", "--topo-order", "--parents", "--stdin"];
        let graph = self.ask(&self.root, &args, Some(input.into_bytes()))?;
        Commits::new(tips, found, &graph.stdout, self.shallow)
    }

    /// The uncommitted and untracked files of one worktree of this repository, sorted; paths relative to
    /// it. One process; none for a folder that does not exist, where nothing can be uncommitted.
    ///
    /// # Errors
    /// The folder holds no `.git` (git would answer for the repository around it), or git fails.
    pub fn dirty(&self, worktree: &Path) -> Result<Vec<String>, GitFault> {
        match worktree.symlink_metadata() {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(GitFault::new(format!("cannot look into {}: {e}", worktree.display()))),
            Ok(_) => {}
        }
        let folder = resolve(worktree);
        if folder.join(DOT_GIT).symlink_metadata().is_err() {
            let message = format!("the worktree folder {} holds no .git", worktree.display());
            return Err(GitFault::new(message).hint(program::command(&self.root, &["worktree", "list"])));
        }
        let mut args = STATUS.to_vec();
        args.push("--untracked-files=all");
        let call = Call { folder: &folder, args: &args, input: None, ceiling: folder.parent() };
        let output = self.run(call, &[0])?;
        let files: BTreeSet<String> = survey::parse_status(&output.stdout)?.into_iter().collect();
        Ok(files.into_iter().collect())
    }

    /// How each of these files stands to git; paths relative to the top level, POSIX. At most three
    /// processes, and no list of foreign untracked files is ever made. One answer per path.
    ///
    /// # Errors
    /// git fails, for instance because a path leads through a symbolic link or into a submodule.
    pub fn changes(&self, paths: &[String]) -> Result<BTreeMap<String, FileState>, GitFault> {
        let mut states = BTreeMap::new();
        if paths.is_empty() {
            return Ok(states);
        }
        let there = |path: &str| self.top.join(path).symlink_metadata().is_ok();
        if !self.work_tree {
            for path in paths {
                let state = if there(path) { FileState::Untracked } else { FileState::Absent };
                states.insert(path.clone(), state);
            }
            return Ok(states);
        }

        let folder = format!(":(literal){}", common_folder(paths));
        let mut args = STATUS.to_vec();
        args.extend(["--untracked-files=no", "--", &folder]);
        let changed = self.ask(&self.top, &args, None)?;
        let changed: BTreeSet<String> = survey::parse_status(&changed.stdout)?.into_iter().collect();
        let args = ["ls-files", "-z", "-v", "--cached", "--", &folder];
        let tracked = survey::parse_tracked(&self.ask(&self.top, &args, None)?.stdout)?;

        let mut unknown = BTreeSet::new();
        for path in paths {
            let state = if changed.contains(path) {
                FileState::Changed
            } else if let Some(watched) = tracked.get(path) {
                if *watched { FileState::Clean } else { FileState::Changed }
            } else if there(path) {
                unknown.insert(path.as_str());
                FileState::Untracked
            } else {
                FileState::Absent
            };
            states.insert(path.clone(), state);
        }
        for path in self.ignored(&unknown)? {
            states.insert(path, FileState::Ignored);
        }
        Ok(states)
    }

    /// The folder whose files git looks after; for a bare repository the one that holds `.git`. Resolved.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// `path` relative to the top level, resolved, with POSIX separators; `None` when it lies outside or
    /// is no text.
    pub fn relative(&self, path: &Path) -> Option<String> {
        let resolved = resolve(path);
        let inside = resolved.strip_prefix(&self.top).ok()?;
        let mut parts = Vec::new();
        for component in inside.components() {
            match component {
                Component::Normal(name) => parts.push(name.to_str()?),
                _ => return None,
            }
        }
        Some(parts.join("/"))
    }

    /// How many processes were started so far.
    pub fn processes(&self) -> usize {
        self.started.load(Ordering::Relaxed)
    }

    /// Reads the answer of `rev-parse`.
    fn place(&mut self, answer: &[u8]) -> Option<()> {
        let mark = format!("\n{MARK}\n").into_bytes();
        let mut parts = Vec::new();
        let mut rest = answer;
        while let Some(at) = rest.windows(mark.len()).position(|window| window == mark) {
            parts.push(&rest[..at]);
            rest = &rest[at + mark.len()..];
        }
        let [facts, git_dir, common_dir] = parts.as_slice() else { return None };
        (self.object_format, self.shallow) = match *facts {
            b"sha1\nfalse" => (ObjectFormat::Sha1, false),
            b"sha1\ntrue" => (ObjectFormat::Sha1, true),
            b"sha256\nfalse" => (ObjectFormat::Sha256, false),
            b"sha256\ntrue" => (ObjectFormat::Sha256, true),
            _ => return None,
        };
        self.git_dir = absolute(git_dir)?;
        self.common_dir = absolute(common_dir)?;
        // Nothing at all: a bare repository. An empty line: the root is the top level.
        self.work_tree = !rest.is_empty();
        if self.work_tree {
            let up = path_of(rest.strip_suffix(b"\n")?)?;
            self.top = resolve(&self.root.join(up));
        }
        Some(())
    }

    /// Which of these untracked paths are ignored.
    fn ignored(&self, paths: &BTreeSet<&str>) -> Result<Vec<String>, GitFault> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        // This command takes no `:(literal)`, but reads a path as a path unless it starts with a colon.
        let input: Vec<u8> = paths.iter().flat_map(|path| format!("./{path}\0").into_bytes()).collect();
        let output = self.ask_for(&self.top, &["check-ignore", "-z", "--stdin"], Some(input), &[0, 1])?;
        let unexpected = || GitFault::new("`git check-ignore` answered something unexpected");
        let mut ignored = Vec::new();
        for field in output.stdout.split(|b| *b == 0).filter(|field| !field.is_empty()) {
            let field = text_of(field);
            let path = field.strip_prefix("./").filter(|path| paths.contains(path));
            ignored.push(path.ok_or_else(unexpected)?.to_owned());
        }
        Ok(ignored)
    }

    /// What is in progress in this worktree, from the files git keeps about it.
    fn operation(&self) -> Result<Option<Operation>, GitFault> {
        let there = |name: &str| self.git_dir.join(name).symlink_metadata().is_ok();
        if let Some((_, operation)) = survey::OPERATIONS.iter().find(|(name, _)| there(name)) {
            return Ok(Some(*operation));
        }
        // Only with this ref storage are these two not files.
        if self.common_dir.join("reftable").is_dir() {
            let input = "CHERRY_PICK_HEAD^{commit}\nREVERT_HEAD^{commit}\n".to_owned();
            let ids = self.commits(input, 2)?;
            let operations = [Operation::CherryPick, Operation::Revert];
            return Ok(operations.into_iter().zip(ids).find_map(|(operation, id)| id.map(|_| operation)));
        }
        Ok(None)
    }

    /// The commits that the lines of `input` stand for.
    fn commits(&self, input: String, lines: usize) -> Result<Vec<Option<String>>, GitFault> {
        let args = ["cat-file", "--buffer", "--batch-check=%(objectname) %(objecttype)"];
        let output = self.ask(&self.root, &args, Some(input.into_bytes()))?;
        commits::parse_ids(&output.stdout, lines)
    }

    fn ask(&self, folder: &Path, args: &[&str], input: Option<Vec<u8>>) -> Result<Output, GitFault> {
        self.ask_for(folder, args, input, &[0])
    }

    fn ask_for(
        &self,
        folder: &Path,
        args: &[&str],
        input: Option<Vec<u8>>,
        codes: &[i32],
    ) -> Result<Output, GitFault> {
        self.run(Call { folder, args, input, ceiling: None }, codes)
    }

    fn run(&self, call: Call<'_>, codes: &[i32]) -> Result<Output, GitFault> {
        self.started.fetch_add(1, Ordering::Relaxed);
        self.program.run(call, codes)
    }
}

/// The deepest folder that holds all these paths; empty when that is the top level.
fn common_folder(paths: &[String]) -> String {
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    let mut common = paths.first().map_or(String::new(), |path| folder(path));
    for path in paths {
        while !common.is_empty() && !path.strip_prefix(&common).is_some_and(|rest| rest.starts_with('/')) {
            common = folder(&common);
        }
    }
    common
}

fn absolute(bytes: &[u8]) -> Option<PathBuf> {
    path_of(bytes).filter(|path| path.is_absolute()).map(|path| resolve(&path))
}

/// Renames are two entries, submodules count, and configuration has no say.
const STATUS: [&str; 5] = ["status", "--porcelain=v1", "-z", "--ignore-submodules=none", "--no-renames"];

const DOT_GIT: &str = ".git";
const HEADS: &str = "refs/heads/";
/// No option of git, and it must not become one.
const MARK: &str = "--specdev-migrate-mark";
