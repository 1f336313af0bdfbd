//! What a repository holds, as data, and how git's listings are read. No process here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::program::{GitFault, path_of, text_of};
use super::resolve;

/// How a repository names its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ObjectFormat {
    /// 40 hexadecimal digits.
    #[default]
    Sha1,
    /// 64 hexadecimal digits.
    Sha256,
}

/// What HEAD is at the project root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Head {
    /// A branch with commits.
    #[default]
    Branch,
    /// A branch without a commit yet.
    Unborn,
    /// A commit.
    Detached,
    /// No files of the repository lie here.
    Bare,
}

/// What is half done in a worktree; the guard `operation-in-progress` (contract.md §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `git merge`
    Merge,
    /// `git rebase`
    Rebase,
    /// `git am`
    Am,
    /// `git cherry-pick`
    CherryPick,
    /// `git revert`
    Revert,
    /// `git bisect`
    Bisect,
}

impl Operation {
    /// The name of the git command.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Merge => "merge",
            Operation::Rebase => "rebase",
            Operation::Am => "am",
            Operation::CherryPick => "cherry-pick",
            Operation::Revert => "revert",
            Operation::Bisect => "bisect",
        }
    }
}

/// The facts of contract.md §3 and §7 about one repository. Other clones cannot be seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// The top level, resolved; for a bare repository the folder that holds `.git`.
    pub top: PathBuf,
    /// The git directory that all worktrees share, resolved.
    pub common_dir: PathBuf,
    /// The git directory of the worktree the project root lies in, resolved.
    pub git_dir: PathBuf,
    /// How objects are named.
    pub object_format: ObjectFormat,
    /// Whether history was cut off; then ancestry can be confirmed, hardly ever denied.
    pub shallow: bool,
    /// Whether the main entry of the worktree list has no files.
    pub bare: bool,
    /// What HEAD is at the project root.
    pub head: Head,
    /// The branch checked out at the project root (short name) when [`Head::Branch`].
    pub head_branch: Option<String>,
    /// Every registered worktree, the main one first.
    pub worktrees: Vec<Worktree>,
    /// Tips of the branches below `speculo/`, and of the one checked out at the project root, by the
    /// name below `refs/heads/`.
    pub branches: BTreeMap<String, String>,
    /// What is half done at the project root.
    pub operation: Option<Operation>,
}

impl Survey {
    /// The worktree at this place, both paths resolved.
    pub fn worktree_at(&self, path: &Path) -> Option<&Worktree> {
        let path = resolve(path);
        self.worktrees.iter().find(|worktree| worktree.resolved == path)
    }

    /// The worktree that has this branch (short name) checked out.
    pub fn worktree_on(&self, branch: &str) -> Option<&Worktree> {
        self.worktrees.iter().find(|worktree| worktree.branch.as_deref() == Some(branch))
    }
}

/// One entry of `git worktree list`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Worktree {
    /// The path as git says it.
    pub path: PathBuf,
    /// The path with links followed as far as it exists.
    pub resolved: PathBuf,
    /// The commit checked out; `None` when there is none yet.
    pub head: Option<String>,
    /// The branch checked out, below `refs/heads/`.
    pub branch: Option<String>,
    /// The main entry of a repository without files.
    pub bare: bool,
    /// A commit is checked out, no branch (also during a rebase).
    pub detached: bool,
    /// Locked, and the reason, which may be empty.
    pub locked: Option<String>,
    /// `git worktree prune` would forget it, and why.
    pub prunable: Option<String>,
    /// Whether the folder is there.
    pub exists: bool,
    /// The first entry: the repository's own.
    pub main: bool,
}

impl Worktree {
    /// The entry for a path, without anything else known.
    pub fn at(path: impl Into<PathBuf>) -> Worktree {
        let mut worktree = Worktree::default();
        worktree.place(path.into());
        worktree
    }

    pub(super) fn place(&mut self, path: PathBuf) {
        self.resolved = resolve(&path);
        self.exists = path.is_dir();
        self.path = path;
    }
}

/// Reads `git worktree list --porcelain -z`.
pub(super) fn parse_worktrees(bytes: &[u8]) -> Result<Vec<Worktree>, GitFault> {
    let unexpected = || GitFault::new("`git worktree list` answered something unexpected");
    let mut worktrees: Vec<Worktree> = Vec::new();
    let mut inside = false;
    let body = bytes.strip_suffix(b"\0\0").ok_or_else(unexpected)?;
    for field in body.split(|b| *b == 0) {
        if field.is_empty() {
            inside = false;
            continue;
        }
        if !inside {
            let path = field.strip_prefix(b"worktree ").and_then(path_of).ok_or_else(unexpected)?;
            let main = worktrees.is_empty();
            worktrees.push(Worktree { main, ..Worktree::at(path) });
            inside = true;
            continue;
        }
        let worktree = worktrees.last_mut().ok_or_else(unexpected)?;
        let field = text_of(field);
        let (key, value) = field.split_once(' ').unwrap_or((&field, ""));
        match key {
            "HEAD" if !is_id(value) => return Err(unexpected()),
            "HEAD" => worktree.head = value.bytes().any(|b| b != b'0').then(|| value.to_owned()),
            "branch" => {
                worktree.branch = Some(value.strip_prefix("refs/heads/").unwrap_or(value).to_owned());
            }
            "bare" => worktree.bare = true,
            "detached" => worktree.detached = true,
            "locked" => worktree.locked = Some(value.to_owned()),
            "prunable" => worktree.prunable = Some(value.to_owned()),
            // A later git may say more; what it says today is all we use.
            _ => {}
        }
    }
    Ok(worktrees)
}

/// The branch that an entry of the list says is checked out, empty for a commit; `None` when it says
/// neither, or a ref that is no branch.
pub(super) fn checked_out(worktree: &Worktree) -> Option<String> {
    match &worktree.branch {
        Some(branch) => Some(branch.clone()).filter(|branch| !branch.starts_with("refs/")),
        None => worktree.detached.then(String::new),
    }
}

/// Reads lines `refname NUL objectname` into short names and tips.
pub(super) fn parse_branches(bytes: &[u8]) -> Result<BTreeMap<String, String>, GitFault> {
    let mut branches = BTreeMap::new();
    for line in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        let line = text_of(line);
        let (name, tip) = line
            .split_once('\0')
            .and_then(|(name, tip)| Some((name.strip_prefix("refs/heads/")?, tip)))
            .filter(|(_, tip)| is_id(tip))
            .ok_or_else(|| GitFault::new("`git for-each-ref` answered something unexpected"))?;
        branches.insert(name.to_owned(), tip.to_owned());
    }
    Ok(branches)
}

/// Reads `git status --porcelain=v1 -z`: the path of each entry.
pub(super) fn parse_status(bytes: &[u8]) -> Result<Vec<String>, GitFault> {
    let unexpected = || GitFault::new("`git status` answered something unexpected");
    let mut entries = Vec::new();
    let Some(body) = bytes.strip_suffix(b"\0") else {
        return if bytes.is_empty() { Ok(entries) } else { Err(unexpected()) };
    };
    for field in body.split(|b| *b == 0) {
        match field {
            [x, y, b' ', path @ ..] if !path.is_empty() && LETTERS.contains(x) && LETTERS.contains(y) => {
                entries.push(text_of(path));
            }
            _ => return Err(unexpected()),
        }
    }
    Ok(entries)
}

/// Reads `git ls-files -z -v`: each tracked path, and whether git compares it with the file at all.
pub(super) fn parse_tracked(bytes: &[u8]) -> Result<BTreeMap<String, bool>, GitFault> {
    let mut tracked = BTreeMap::new();
    for field in bytes.split(|b| *b == 0).filter(|field| !field.is_empty()) {
        match field {
            [tag, b' ', path @ ..] if tag.is_ascii_alphabetic() => {
                tracked.insert(text_of(path), *tag == b'H' || *tag == b'M');
            }
            _ => return Err(GitFault::new("`git ls-files` answered something unexpected")),
        }
    }
    Ok(tracked)
}

/// A full object id, 40 or 64 lower-case hexadecimal digits.
pub(super) fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Files in the git directory of a worktree that tell an operation in progress; a rebase comes first,
/// since it uses the others.
pub(super) const OPERATIONS: [(&str, Operation); 8] = [
    ("rebase-merge", Operation::Rebase),
    ("rebase-apply/applying", Operation::Am),
    ("rebase-apply", Operation::Rebase),
    ("MERGE_HEAD", Operation::Merge),
    ("CHERRY_PICK_HEAD", Operation::CherryPick),
    ("REVERT_HEAD", Operation::Revert),
    // Between two commits of a series, when neither of those is there; picks and reverts alike.
    ("sequencer", Operation::CherryPick),
    ("BISECT_LOG", Operation::Bisect),
];

/// Letters of the porcelain format; renames are switched off.
const LETTERS: &[u8] = b" MTADU?!";
