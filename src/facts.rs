//! What git shows about the records of a state, as plain data (contract.md §3, §8).
//!
//! Collected once, with a fixed number of processes plus one per registered worktree of a record; every
//! question after that is answered from here, without looking at the disk.

mod questions;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use hashbrown::{HashMap, HashSet};
use serde_json::Value;

use crate::decisions::Decisions;
use crate::git::{self, Commits, Git, GitFault, Resolver, Survey, Worktree};
use crate::history::short_sha256;
use crate::state::change::is_change_name;
use crate::state::record::{Record, Records};

use questions::Questions;

pub use crate::state::record::short_branch;

/// The folder of worktrees below the project root.
pub const WORKTREES: &str = "specdev-worktree";
const BRANCHES: &str = "speculo/";

/// Git facts of one repository.
#[derive(Debug)]
pub struct Facts {
    /// The project root, resolved.
    pub root: PathBuf,
    /// Worktrees, branches, state of the repository.
    pub survey: Survey,
    /// Existence and ancestry of everything the records name, as far as something is judged by it.
    pub commits: Commits,
    /// Uncommitted and untracked files, by resolved worktree path.
    pub dirty: BTreeMap<PathBuf, Vec<String>>,
    /// Paths of records, below the project root, at which something lies.
    pub folders: BTreeSet<String>,
    /// The folder of worktrees, resolved: it may be a link.
    worktrees: PathBuf,
    /// What records, contexts and decisions call a path, and where it leads.
    resolved: HashMap<String, PathBuf>,
    /// Worktrees whose path and branch both agree with a record on disk, by position.
    owned: BTreeSet<usize>,
    /// Branches that records on disk name.
    owned_branches: HashSet<String>,
    /// Paths and branches that any record or context names, those in history included.
    recorded: (HashSet<PathBuf>, HashSet<String>),
    /// What names a change, by the change's name.
    items: BTreeMap<String, Items>,
    /// Positions of registered worktrees, the main one apart, by resolved path.
    by_path: HashMap<PathBuf, Vec<usize>>,
    /// The same by branch.
    by_branch: HashMap<String, Vec<usize>>,
}

/// One side of a record: its source or its candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// Path below the project root.
    pub path: Option<String>,
    /// Branch name.
    pub branch: Option<String>,
    /// Whether it is the candidate.
    pub is_candidate: bool,
}

/// Worktrees below the worktree folder, and branches of ours, that name one change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Items {
    /// Positions in the survey's list.
    pub worktrees: Vec<usize>,
    /// Branch names, sorted.
    pub branches: Vec<String>,
}

/// The source and the candidate side of a record; none for one that works in the current checkout.
pub fn pairs(value: &Value) -> Vec<Pair> {
    let text = |v: Option<&Value>| v.and_then(Value::as_str).filter(|t| !t.is_empty()).map(str::to_string);
    if is_current(value) {
        return Vec::new();
    }
    let source = Pair {
        path: text(value.get("workspace_ref")),
        branch: text(value.get("branch")).map(short_branch),
        is_candidate: false,
    };
    let candidate = Pair {
        path: text(value.pointer("/integration/candidate_workspace_ref")),
        branch: text(value.pointer("/integration/candidate_branch")).map(short_branch),
        is_candidate: true,
    };
    [source, candidate].into_iter().filter(|p| p.path.is_some() || p.branch.is_some()).collect()
}

/// Whether a record, or a context, has no worktree of its own.
pub fn is_current(value: &Value) -> bool {
    value.get("workspace_ref").and_then(Value::as_str) == Some("current")
}

/// The change a branch name or a worktree path speaks of.
pub fn named_change(name: &str) -> Option<&str> {
    let rest = match name.strip_prefix(BRANCHES) {
        Some(rest) => rest.strip_prefix("integration/").unwrap_or(rest),
        None => {
            let rest = below_worktrees(name)?;
            rest.strip_prefix(".integration/").unwrap_or(rest)
        }
    };
    rest.split('/').next().filter(|c| is_change_name(c))
}

fn below_worktrees(path: &str) -> Option<&str> {
    path.strip_prefix(WORKTREES)?.strip_prefix('/')
}

/// Whether there is a worktree below the worktree folder, or a branch of ours: anything that may name a
/// change, belong to a record in history, or be a stranger.
pub fn shows_items(survey: &Survey, root: &Path) -> bool {
    let (root, worktrees) = places(root);
    let is_ours = |w| below_root(&root, &worktrees, w).is_some_and(|p| below_worktrees(&p).is_some());
    survey.branches.keys().any(|b| b.starts_with(BRANCHES)) || survey.worktrees.iter().any(is_ours)
}

/// The project root and the folder of worktrees in it, resolved.
fn places(root: &Path) -> (PathBuf, PathBuf) {
    let root = git::resolve(root);
    let worktrees = git::resolve(&root.join(WORKTREES));
    (root, worktrees)
}

fn below_root(root: &Path, worktrees: &Path, worktree: &Worktree) -> Option<String> {
    let joined = |below: &Path| {
        let parts: Vec<_> = below.components().map(|c| c.as_os_str().to_string_lossy()).collect();
        (!parts.is_empty()).then(|| parts.join("/"))
    };
    match worktree.resolved.strip_prefix(root) {
        Ok(below) => joined(below),
        Err(_) => {
            let below = worktree.resolved.strip_prefix(worktrees).ok()?;
            joined(below).map(|below| format!("{WORKTREES}/{below}"))
        }
    }
}

impl Facts {
    /// Survey the repository, then collect by what it [shows](Facts::from_survey).
    ///
    /// # Errors
    /// git fails.
    pub fn collect<'a>(
        git: &Git,
        root: &Path,
        records: impl IntoIterator<Item = &'a Records>,
        default_branch: Option<&str>,
        decisions: &Decisions,
    ) -> Result<Facts, GitFault> {
        Facts::from_survey(git, git.survey()?, root, records, default_branch, decisions)
    }

    /// Ask git about everything that records, decisions and what the survey shows can be judged by. About
    /// commits it is not asked when there is nothing to judge: no record on disk, no decision about a
    /// workspace, and no [item](shows_items).
    ///
    /// # Errors
    /// git fails.
    pub fn from_survey<'a>(
        git: &Git,
        survey: Survey,
        root: &Path,
        records: impl IntoIterator<Item = &'a Records>,
        default_branch: Option<&str>,
        decisions: &Decisions,
    ) -> Result<Facts, GitFault> {
        let has_items = shows_items(&survey, root);
        let mut asked = Questions::default();
        let mut has_records = false;
        for records in records {
            has_records |= !records.list.is_empty();
            Questions::of(records, has_items, &mut asked);
        }
        // The survey lists all of ours there are.
        asked.branches.retain(|branch| !branch.starts_with(BRANCHES));
        asked.branches.extend(survey.branches.keys().cloned());
        asked.branches.extend(survey.head_branch.clone());
        asked.branches.extend(default_branch.map(|b| short_branch(b.to_string())));
        asked.revisions.extend(survey.branches.values().cloned());
        asked.revisions.extend(survey.worktrees.iter().filter_map(|w| w.head.clone()));
        let mut named = BTreeSet::new();
        for workspace in decisions.changes.values().filter_map(|c| c.workspace.as_ref()) {
            asked.branches.insert(short_branch(workspace.branch.clone()));
            asked.revisions.insert(workspace.base_sha.clone());
            named.insert(workspace.locator.clone());
        }
        let commits = if has_records || has_items || !named.is_empty() {
            git.history(&asked.branches, &asked.revisions)?
        } else {
            Commits::default()
        };

        let (root, worktrees) = places(root);
        let mut resolver = Resolver::default();
        let mut resolved = HashMap::new();
        let mut folders = BTreeSet::new();
        for path in asked.sides.iter().filter_map(|s| s.path.clone()) {
            let found = resolver.resolve(&root.join(&path));
            if found.exists {
                folders.insert(path.clone());
            }
            resolved.insert(path, found.path);
        }
        named.extend(asked.others.iter().filter_map(|s| s.path.clone()));
        for path in named {
            let found = resolver.resolve(&root.join(&path));
            resolved.insert(path, found.path);
        }
        let mut facts = Facts {
            root,
            survey,
            commits,
            dirty: BTreeMap::new(),
            folders,
            worktrees,
            resolved,
            owned: BTreeSet::new(),
            owned_branches: asked.sides.iter().filter_map(|s| s.branch.clone()).collect(),
            recorded: Default::default(),
            items: BTreeMap::new(),
            by_path: HashMap::new(),
            by_branch: HashMap::new(),
        };
        let all = || asked.sides.iter().chain(&asked.others);
        facts.recorded.0 = all().filter_map(|s| Some(facts.place(s.path.as_ref()?))).collect();
        facts.recorded.1 = all().filter_map(|s| s.branch.clone()).collect();
        for (i, worktree) in facts.survey.worktrees.iter().enumerate().filter(|(_, w)| !w.main) {
            facts.by_path.entry(worktree.resolved.clone()).or_default().push(i);
            if let Some(branch) = &worktree.branch {
                facts.by_branch.entry(branch.clone()).or_default().push(i);
            }
        }
        facts.owned = facts.fully_agreeing(&asked.sides);
        facts.items = facts.by_change();

        let mut looked_at = BTreeMap::new();
        for side in &asked.sides {
            for worktree in facts.registered(side).into_iter().filter(|w| w.exists && !w.bare) {
                looked_at.insert(worktree.resolved.clone(), worktree.path.clone());
            }
        }
        let (resolved, paths): (Vec<PathBuf>, Vec<PathBuf>) = looked_at.into_iter().unzip();
        facts.dirty = resolved.into_iter().zip(git.dirty_in(&paths)?).collect();
        Ok(facts)
    }

    /// Registered worktrees at the path and on the branch of one side, or at one of the two alone when
    /// they belong to no other record.
    pub fn registered(&self, side: &Pair) -> Vec<&Worktree> {
        let at = self.positions_at(side);
        let on = side.branch.as_ref().and_then(|b| self.by_branch.get(b)).map_or(&[][..], Vec::as_slice);
        let mut hits: Vec<usize> = at.iter().chain(on).copied().collect();
        hits.sort_unstable();
        hits.dedup();
        hits.retain(|i| (at.contains(i) && on.contains(i)) || !self.owned.contains(i));
        hits.into_iter().map(|i| &self.survey.worktrees[i]).collect()
    }

    /// The registered worktree at the path of one side, whatever its branch.
    pub fn at(&self, side: &Pair) -> Option<&Worktree> {
        self.positions_at(side).first().map(|i| &self.survey.worktrees[*i])
    }

    /// Positions of the registered worktrees at the path of one side.
    fn positions_at(&self, side: &Pair) -> &[usize] {
        let path = side.path.as_ref().filter(|_| !self.by_path.is_empty()).map(|p| self.place(p));
        path.and_then(|p| self.by_path.get(&p)).map_or(&[], Vec::as_slice)
    }

    /// Whether path and branch of a registered worktree both agree with one side.
    pub fn agrees(&self, side: &Pair, worktree: &Worktree) -> bool {
        side.branch.is_some()
            && side.branch == worktree.branch
            && side.path.as_ref().is_some_and(|p| self.place(p) == worktree.resolved)
    }

    /// Whether a record on disk, of whatever change, has this worktree for its own.
    pub fn is_owned(&self, worktree: usize) -> bool {
        self.owned.contains(&worktree)
    }

    /// Whether a record on disk, of whatever change, names this branch.
    pub fn is_owned_branch(&self, branch: &str) -> bool {
        self.owned_branches.contains(branch)
    }

    /// The worktree's path below the project root; `None` when it lies elsewhere.
    pub fn below_root(&self, worktree: &Worktree) -> Option<String> {
        below_root(&self.root, &self.worktrees, worktree)
    }

    /// How messages call a worktree.
    pub fn shown(&self, worktree: &Worktree) -> String {
        self.below_root(worktree).unwrap_or_else(|| worktree.path.display().to_string())
    }

    /// The tip of a branch.
    pub fn tip(&self, branch: &str) -> Option<&str> {
        self.survey.branches.get(branch).map(String::as_str).or_else(|| self.commits.branch_tip(branch))
    }

    /// The uncommitted files of a worktree that was looked at.
    pub fn dirty(&self, worktree: &Worktree) -> &[String] {
        self.dirty.get(&worktree.resolved).map_or(&[], Vec::as_slice)
    }

    /// Whether a registered worktree or a branch of the record's own exists.
    pub fn has_own(&self, record: &Record) -> bool {
        let own = |side: &Pair| {
            !self.registered(side).is_empty() || side.branch.as_deref().is_some_and(|b| self.tip(b).is_some())
        };
        pairs(&record.value).iter().any(own)
    }

    /// What names a change.
    pub fn items(&self, change: &str) -> &Items {
        static NONE: Items = Items { worktrees: Vec::new(), branches: Vec::new() };
        self.items.get(change).unwrap_or(&NONE)
    }

    /// Whether anything names a change.
    pub fn has_items(&self, change: &str) -> bool {
        self.items.contains_key(change)
    }

    /// Worktrees below the worktree folder, and branches of ours, that neither name a change that
    /// `is_ours` nor are named by any record.
    pub fn strangers(&self, is_ours: impl Fn(&str) -> bool) -> Vec<String> {
        let names_ours = |name: &str| named_change(name).is_some_and(&is_ours);
        let mut out = Vec::new();
        let mut on_worktree = BTreeSet::new();
        for worktree in &self.survey.worktrees {
            let Some(path) = self.below_root(worktree).filter(|p| below_worktrees(p).is_some()) else {
                continue;
            };
            let branch = worktree.branch.as_deref();
            on_worktree.extend(branch);
            let is_recorded = self.recorded.0.contains(&worktree.resolved)
                || branch.is_some_and(|b| self.recorded.1.contains(b));
            if !is_recorded && !names_ours(&path) && !branch.is_some_and(names_ours) {
                out.push(path);
            }
        }
        let branches = self.survey.branches.keys().filter(|b| b.starts_with(BRANCHES));
        let is_stranger = |b: &&String| {
            !names_ours(b) && !self.recorded.1.contains(*b) && !on_worktree.contains(b.as_str())
        };
        out.extend(branches.filter(is_stranger).cloned());
        out
    }

    /// Digest over what the owner saw of a record: branch tips, registration, uncommitted files.
    pub fn seen(&self, record: &Record) -> String {
        let mut text = String::new();
        for side in pairs(&record.value) {
            let tip = side.branch.as_deref().and_then(|b| self.tip(b)).unwrap_or("none");
            text += &format!("branch {} {tip}\n", side.branch.as_deref().unwrap_or("none"));
            for worktree in self.registered(&side) {
                let path = self.below_root(worktree).unwrap_or_else(|| "elsewhere".into());
                let at = match (&worktree.branch, &worktree.head) {
                    (Some(branch), _) => branch.clone(),
                    (None, head) => format!("detached {}", head.as_deref().unwrap_or("none")),
                };
                text += &format!("worktree {path} {at}{}\n", if worktree.exists { "" } else { " missing" });
                self.dirty(worktree).iter().for_each(|f| text += &format!("file {f}\n"));
            }
        }
        short_sha256(text.as_bytes())
    }

    /// Where a path of a record leads.
    fn place(&self, path: &str) -> PathBuf {
        self.resolved.get(path).cloned().unwrap_or_else(|| self.root.join(path))
    }

    fn fully_agreeing(&self, sides: &[Pair]) -> BTreeSet<usize> {
        let sides: HashSet<(PathBuf, &str)> =
            sides.iter().filter_map(|s| Some((self.place(s.path.as_ref()?), s.branch.as_deref()?))).collect();
        let agrees = |w: &Worktree| {
            !w.main && w.branch.as_deref().is_some_and(|b| sides.contains(&(w.resolved.clone(), b)))
        };
        let worktrees = self.survey.worktrees.iter().enumerate();
        worktrees.filter(|(_, w)| agrees(w)).map(|(i, _)| i).collect()
    }

    fn by_change(&self) -> BTreeMap<String, Items> {
        let mut items: BTreeMap<String, Items> = BTreeMap::new();
        for (i, worktree) in self.survey.worktrees.iter().enumerate() {
            let Some(path) = self.below_root(worktree).filter(|p| below_worktrees(p).is_some()) else {
                continue;
            };
            let names: BTreeSet<&str> = [Some(path.as_str()), worktree.branch.as_deref()]
                .into_iter()
                .flatten()
                .filter_map(named_change)
                .collect();
            for name in names {
                items.entry(name.to_string()).or_default().worktrees.push(i);
            }
        }
        for branch in self.survey.branches.keys() {
            if let Some(name) = named_change(branch).filter(|_| branch.starts_with(BRANCHES)) {
                items.entry(name.to_string()).or_default().branches.push(branch.clone());
            }
        }
        items
    }
}
