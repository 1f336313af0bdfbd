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
mod files;
mod paths;
mod program;
mod running;
mod survey;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

pub use commits::Commits;
pub use files::FileState;
pub use paths::{Resolved, Resolver, resolve};
pub use program::{GitFault, Program};
pub use survey::{Head, ObjectFormat, Operation, Survey, Worktree};

use program::{Answers, Call, Output, path_of};
use running::Starting;

/// The nearest folder, `root` or above, that holds an entry named `.git` (folder, file or link).
/// Looks at metadata only; no process.
pub fn find_top(root: &Path) -> Option<PathBuf> {
    let root = resolve(root);
    root.ancestors().find(|folder| folder.join(DOT_GIT).symlink_metadata().is_ok()).map(Path::to_path_buf)
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

/// Whether the files of the repository that `root` lies in say that it has no worktree but the main one,
/// and no branch below `speculo/`: a survey would list nothing of ours. `false` where they do not say so
/// plainly. Looks at a few names and one file; no process.
#[expect(clippy::disallowed_methods, reason = "the one file in which git lists refs")]
pub fn is_quiet(root: &Path) -> bool {
    let Some(dot_git) = find_top(root).map(|top| top.join(DOT_GIT)) else { return false };
    let is_absent = |name: &str| {
        let look = dot_git.join(name).symlink_metadata();
        look.is_err_and(|e| e.kind() == io::ErrorKind::NotFound)
    };
    let packed = std::fs::read(dot_git.join("packed-refs"));
    let has_none = match packed {
        Ok(refs) => memchr::memmem::find(&refs, OURS.as_bytes()).is_none(),
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    };
    has_none
        && dot_git.symlink_metadata().is_ok_and(|look| look.is_dir())
        && dot_git.join("refs/heads").is_dir()
        && ["worktrees", "commondir", "reftable", OURS.trim_end_matches('/')].into_iter().all(is_absent)
}

/// A repository that is being opened. When it is dropped, so are the processes that work on it.
pub struct Opening {
    git: Git,
    starting: Starting,
    asks_head: bool,
    /// Whether the survey is asked for already.
    surveys: bool,
}

impl Opening {
    /// Waits for what `open` would have answered.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn open(self) -> Result<Git, GitFault> {
        Ok(self.answers()?.0)
    }

    /// Waits for all answers. A survey that was not begun is asked for now.
    ///
    /// # Errors
    /// The first of what `open` and `survey` would have met one after the other.
    pub fn finish(self) -> Result<(Git, Survey), GitFault> {
        let (asks_head, surveys) = (self.asks_head, self.surveys);
        let (git, answers) = self.answers()?;
        let survey = if surveys { git.survey_of(answers, asks_head) } else { git.survey() };
        Ok((git, survey?))
    }

    /// The repository, and the answers to what was asked beside where it is.
    fn answers(self) -> Result<(Git, Answers), GitFault> {
        let Opening { mut git, starting, .. } = self;
        let mut answers = git.program.answers(starting.started());
        git.place(&answers.next()?)?;
        Ok((git, answers))
    }
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening").field("git", &self.git).finish_non_exhaustive()
    }
}

impl Git {
    /// The repository that the folder `root` lies in; `None`, without starting anything, when no `.git`
    /// is found upward.
    ///
    /// # Errors
    /// `.git` is there, but git is missing, fails, hangs or does not take it for a repository.
    pub fn open(root: &Path, program: &Program) -> Result<Option<Git>, GitFault> {
        let Some(mut git) = Git::at(root, program) else { return Ok(None) };
        let answer = git.ask_all(&[WHERE]).next()?;
        git.place(&answer)?;
        Ok(Some(git))
    }

    /// Begins to do what [`open`](Git::open) and [`survey`](Git::survey) do: all processes run at the same
    /// time, while the caller does something else. `None`, without starting anything, when no `.git` is
    /// found upward.
    pub fn begin(root: &Path, program: &Program) -> Option<Opening> {
        Git::start(root, program, true)
    }

    /// The same, without the survey, which may turn out not to be needed.
    pub fn begin_open(root: &Path, program: &Program) -> Option<Opening> {
        Git::start(root, program, false)
    }

    fn start(root: &Path, program: &Program, surveys: bool) -> Option<Opening> {
        let git = Git::at(root, program)?;
        // A `.git` that is a folder belongs to the main worktree, of which the list tells the branch.
        let asks_head = !git.top.join(DOT_GIT).is_dir();
        let head = asks_head.then_some(HEAD);
        let survey = [WORKTREES].into_iter().chain(head).chain([BRANCHES]).filter(|_| surveys);
        let call = |q: Question| Call { codes: q.codes, ..Call::new(git.root.clone(), q.args) };
        let calls: Vec<Call<'static>> = [WHERE].into_iter().chain(survey).map(call).collect();
        git.started.fetch_add(calls.len(), Ordering::Relaxed);
        // Whoever starts a process stands still until it runs.
        let starting = Starting::new(program, calls);
        Some(Opening { git, starting, asks_head, surveys })
    }

    /// Worktrees, the branches below `refs/heads/speculo/` and the one checked out here, and what is in
    /// progress here. Two processes at the same time; in a linked worktree a third, and where the list
    /// of worktrees does not tell what is checked out here, one or two more after them.
    ///
    /// # Errors
    /// git fails, or names a branch it cannot read.
    pub fn survey(&self) -> Result<Survey, GitFault> {
        let asks_head = self.git_dir != self.common_dir;
        let head = asks_head.then_some(HEAD);
        let questions: Vec<Question> = [WORKTREES].into_iter().chain(head).chain([BRANCHES]).collect();
        let answers = self.ask_all(&questions);
        self.survey_of(answers, asks_head)
    }

    fn at(root: &Path, program: &Program) -> Option<Git> {
        let top = find_top(root)?;
        Some(Git {
            program: program.clone(),
            top,
            root: resolve(root),
            common_dir: PathBuf::new(),
            git_dir: PathBuf::new(),
            object_format: ObjectFormat::Sha1,
            shallow: false,
            work_tree: false,
            started: AtomicUsize::new(0),
        })
    }

    /// Reads the answers to what a survey asks.
    fn survey_of(&self, mut answers: Answers, asks_head: bool) -> Result<Survey, GitFault> {
        let mut worktrees = survey::parse_worktrees(&answers.next()?.stdout)?;
        if self.work_tree
            && self.git_dir == self.common_dir
            && let Some(main) = worktrees.first_mut()
        {
            // For a submodule git derives the main path from the git directory, where nothing lies.
            main.place(self.top.clone());
        }
        let named = if asks_head { Some(head_of(&answers.next()?)?) } else { None };
        let mut branches = survey::parse_branches(&answers.next()?.stdout)?;

        let main = worktrees.first().filter(|_| self.git_dir == self.common_dir);
        let named = match named.or_else(|| survey::checked_out(main?)) {
            Some(named) => named,
            None => head_of(&self.ask_all(&[HEAD]).next()?)?,
        };
        // A worktree that is on this branch tells its tip as well.
        let is_here = |worktree: &&Worktree| survey::checked_out(worktree).as_ref() == Some(&named);
        match worktrees.iter().find(is_here).and_then(|worktree| worktree.head.clone()) {
            _ if named.is_empty() => {}
            Some(tip) => drop(branches.entry(named.clone()).or_insert(tip)),
            None => {
                let here = format!("{HEADS}{named}");
                let refs = self.ask(&self.root, &["for-each-ref", REFS, &here], None)?;
                // Also what lies below a branch of that name.
                let mut found = survey::parse_branches(&refs.stdout)?;
                branches.extend(found.remove_entry(&named));
            }
        }

        let head = if !self.work_tree {
            Head::Bare
        } else if named.is_empty() {
            Head::Detached
        } else if branches.contains_key(&named) {
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
            head_branch: (head == Head::Branch).then_some(named),
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
    pub fn history<'a>(
        &self,
        branches: impl IntoIterator<Item = &'a String>,
        revisions: impl IntoIterator<Item = &'a String>,
    ) -> Result<Commits, GitFault> {
        let branches: BTreeSet<&str> =
            branches.into_iter().map(String::as_str).filter(|b| commits::is_name(b)).collect();
        let revisions: BTreeSet<&str> =
            revisions.into_iter().map(String::as_str).filter(|r| commits::is_name(r)).collect();
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

    /// Whether it is a shallow clone.
    pub fn is_shallow(&self) -> bool {
        self.shallow
    }

    /// How many processes were started so far.
    pub fn processes(&self) -> usize {
        self.started.load(Ordering::Relaxed)
    }

    /// Takes over the answer of `rev-parse`.
    fn place(&mut self, answer: &Output) -> Result<(), GitFault> {
        self.read_place(&answer.stdout).ok_or_else(|| {
            GitFault::new("`git rev-parse` answered something unexpected; git 2.36 or newer is needed")
        })
    }

    fn read_place(&mut self, answer: &[u8]) -> Option<()> {
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
        self.run(Call { input, ..Call::new(folder, args) })
    }

    /// Asks these at the same time.
    fn ask_all(&self, questions: &[Question]) -> Answers {
        let call =
            |question: &Question| Call { codes: question.codes, ..Call::new(&*self.root, question.args) };
        self.run_all(questions.iter().map(call).collect())
    }

    fn run(&self, call: Call<'_>) -> Result<Output, GitFault> {
        self.run_all(vec![call]).next()
    }

    fn run_all(&self, calls: Vec<Call<'_>>) -> Answers {
        self.started.fetch_add(calls.len(), Ordering::Relaxed);
        self.program.run_all(calls)
    }
}

/// A question that is the same for every repository: arguments, and the exit codes of an answer.
struct Question {
    args: &'static [&'static str],
    codes: &'static [i32],
}

/// The branch that `symbolic-ref` names, below `refs/heads/`; empty when HEAD is none.
fn head_of(answer: &Output) -> Result<String, GitFault> {
    let target = String::from_utf8_lossy(&answer.stdout);
    let target = target.trim_end_matches('\n');
    if answer.code == 0 && !target.starts_with("refs/") {
        return Err(GitFault::new("`git symbolic-ref` answered something unexpected"));
    }
    Ok(target.strip_prefix(HEADS).unwrap_or_default().to_owned())
}

fn absolute(bytes: &[u8]) -> Option<PathBuf> {
    path_of(bytes).filter(|path| path.is_absolute()).map(|path| resolve(&path))
}

/// git repeats an option it does not know: a mark between paths that may hold line ends.
const WHERE: Question = Question {
    args: &[
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
    codes: &[0],
};
const WORKTREES: Question = Question { args: &["worktree", "list", "--porcelain", "-z"], codes: &[0] };
const HEAD: Question = Question { args: &["symbolic-ref", "-q", "HEAD"], codes: &[0, 1] };
const BRANCHES: Question = Question { args: &["for-each-ref", REFS, OURS], codes: &[0] };
const REFS: &str = "--format=%(refname)%00%(objectname)";

const DOT_GIT: &str = ".git";
const HEADS: &str = "refs/heads/";
/// Where the branches of a change are.
const OURS: &str = "refs/heads/speculo/";
/// No option of git, and it must not become one.
const MARK: &str = "--specdev-migrate-mark";
