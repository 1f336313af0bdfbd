//! What is uncommitted: the files of whole worktrees, and how single files stand to git.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::program::{self, Call, GitFault, text_of};
use super::{DOT_GIT, Git, resolve, survey};

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

impl Git {
    /// The uncommitted and untracked files of one worktree of this repository, sorted; paths relative to
    /// it. One process; none for a folder that does not exist, where nothing can be uncommitted.
    ///
    /// # Errors
    /// The folder holds no `.git` (git would answer for the repository around it), or git fails.
    pub fn dirty(&self, worktree: &Path) -> Result<Vec<String>, GitFault> {
        Ok(self.dirty_in(&[worktree])?.pop().unwrap_or_default())
    }

    /// The same of many worktrees, in their order. A few processes run at the same time.
    ///
    /// # Errors
    /// As [`dirty`](Git::dirty), for the first worktree with a fault.
    pub fn dirty_in(&self, worktrees: &[impl AsRef<Path>]) -> Result<Vec<Vec<String>>, GitFault> {
        let mut args = STATUS.to_vec();
        args.push("--untracked-files=all");
        let mut dirty = Vec::new();
        for group in worktrees.chunks(AT_ONCE) {
            let folders: Vec<Result<Option<PathBuf>, GitFault>> =
                group.iter().map(|worktree| self.folder_of(worktree.as_ref())).collect();
            let asked = folders.iter().map_while(|folder| folder.as_ref().ok()).flatten();
            let calls: Vec<Call<'_>> =
                asked.map(|f| Call { ceiling: f.parent(), ..Call::new(f.as_path(), &args) }).collect();
            let mut answers = self.run_all(calls);
            for folder in &folders {
                let files: BTreeSet<String> = match folder {
                    Ok(Some(_)) => survey::parse_status(&answers.next()?.stdout)?.into_iter().collect(),
                    Ok(None) => BTreeSet::new(),
                    Err(fault) => return Err(fault.clone()),
                };
                dirty.push(files.into_iter().collect());
            }
        }
        Ok(dirty)
    }

    /// A worktree as it can be asked about; `None` when it does not exist.
    fn folder_of(&self, worktree: &Path) -> Result<Option<PathBuf>, GitFault> {
        match worktree.symlink_metadata() {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(GitFault::new(format!("cannot look into {}: {e}", worktree.display()))),
            Ok(_) => {}
        }
        let folder = resolve(worktree);
        if folder.join(DOT_GIT).symlink_metadata().is_err() {
            let message = format!("the worktree folder {} holds no .git", worktree.display());
            return Err(GitFault::new(message).hint(program::command(&self.root, &["worktree", "list"])));
        }
        Ok(Some(folder))
    }

    /// How each of these files stands to git; paths relative to the top level, POSIX. Two processes at the
    /// same time and at most one after them, and no list of foreign untracked files is ever made. One
    /// answer per path.
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
        let mut status = STATUS.to_vec();
        status.extend(["--untracked-files=no", "--", &folder]);
        let list = ["ls-files", "-z", "-v", "--cached", "--", &folder];
        let mut answers = self.run_all(vec![Call::new(&*self.top, &status), Call::new(&*self.top, &list)]);
        let changed: BTreeSet<String> = survey::parse_status(&answers.next()?.stdout)?.into_iter().collect();
        let tracked = survey::parse_tracked(&answers.next()?.stdout)?;

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

    /// Which of these untracked paths are ignored.
    fn ignored(&self, paths: &BTreeSet<&str>) -> Result<Vec<String>, GitFault> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        // This command takes no `:(literal)`, but reads a path as a path unless it starts with a colon.
        let input: Vec<u8> = paths.iter().flat_map(|path| format!("./{path}\0").into_bytes()).collect();
        let args = ["check-ignore", "-z", "--stdin"];
        let output = self.run(Call { input: Some(input), codes: &[0, 1], ..Call::new(&*self.top, &args) })?;
        let unexpected = || GitFault::new("`git check-ignore` answered something unexpected");
        let mut ignored = Vec::new();
        for field in output.stdout.split(|b| *b == 0).filter(|field| !field.is_empty()) {
            let field = text_of(field);
            let path = field.strip_prefix("./").filter(|path| paths.contains(path));
            ignored.push(path.ok_or_else(unexpected)?.to_owned());
        }
        Ok(ignored)
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

/// Renames are two entries, submodules count, and configuration has no say.
const STATUS: [&str; 5] = ["status", "--porcelain=v1", "-z", "--ignore-submodules=none", "--no-renames"];

/// How many worktrees are looked into at the same time.
const AT_ONCE: usize = 4;
