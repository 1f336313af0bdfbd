//! What git shows about the records of a state, as plain data (contract.md §3, §8).
//!
//! Collected once, with a fixed number of processes plus one per registered worktree of a record; every
//! question after that is answered from here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::decisions::Decisions;
use crate::git::{self, Commits, Git, GitFault, Survey, Worktree};
use crate::history::short_sha256;
use crate::state::record::{Record, Records};

/// The folder of worktrees below the project root.
pub const WORKTREES: &str = "specdev-worktree";

/// Git facts of one repository.
#[derive(Debug)]
pub struct Facts {
    /// The project root, resolved.
    pub root: PathBuf,
    /// Worktrees, branches, state of the repository.
    pub survey: Survey,
    /// Existence and ancestry of everything the records name.
    pub commits: Commits,
    /// Uncommitted and untracked files, by resolved worktree path.
    pub dirty: BTreeMap<PathBuf, Vec<String>>,
    /// Paths of records, below the project root, at which something lies.
    pub folders: BTreeSet<String>,
}

/// One side of a record: its source or its candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// Path below the project root; `None` for `current`.
    pub path: Option<String>,
    /// Branch name.
    pub branch: Option<String>,
}

/// The source and the candidate side of a record.
pub fn pairs(value: &Value) -> Vec<Pair> {
    let text = |v: Option<&Value>| v.and_then(Value::as_str).filter(|t| !t.is_empty()).map(str::to_string);
    if value.get("workspace_ref").and_then(Value::as_str) == Some("current") {
        return Vec::new();
    }
    let source =
        Pair { path: text(value.get("workspace_ref")), branch: text(value.get("branch")).map(short_branch) };
    let candidate = Pair {
        path: text(value.pointer("/integration/candidate_workspace_ref")),
        branch: text(value.pointer("/integration/candidate_branch")).map(short_branch),
    };
    [source, candidate].into_iter().filter(|p| p.path.is_some() || p.branch.is_some()).collect()
}

/// A branch without `refs/heads/`.
pub fn short_branch(name: String) -> String {
    name.strip_prefix("refs/heads/").map(str::to_string).unwrap_or(name)
}

impl Facts {
    /// Ask git everything at once.
    pub fn collect<'a>(
        git: &Git,
        root: &Path,
        records: impl IntoIterator<Item = &'a Records>,
        default_branch: Option<&str>,
        decisions: &Decisions,
    ) -> Result<Facts, GitFault> {
        let survey = git.survey()?;
        let mut branches: BTreeSet<String> = survey.branches.keys().cloned().collect();
        branches.extend(survey.head_branch.clone());
        branches.extend(default_branch.map(str::to_string));
        let mut revisions: BTreeSet<String> = survey.branches.values().cloned().collect();
        let mut sides = Vec::new();
        for record in records.into_iter().flat_map(|r| &r.list) {
            let texts = ["base_sha", "source_checkpoint"].map(|k| record.text(k));
            let results = ["result_sha", "candidate_sha", "source_sha", "parent_before_sha"]
                .map(|k| record.integration(k));
            revisions.extend(texts.into_iter().chain(results).flatten().map(str::to_string));
            branches.extend(record.text("parent_branch").map(|b| short_branch(b.into())));
            sides.extend(pairs(&record.value));
        }
        for change in decisions.changes.values() {
            if let Some(w) = &change.workspace {
                branches.insert(w.branch.clone());
                revisions.insert(w.base_sha.clone());
                sides.push(Pair { path: Some(w.locator.clone()), branch: None });
            }
        }
        let branches: Vec<_> = branches.into_iter().collect();
        let revisions: Vec<_> = revisions.into_iter().collect();
        let commits = git.history(&branches, &revisions)?;
        let root = git::resolve(root);
        let paths = sides.iter().filter_map(|s| s.path.clone());
        let folders = paths.filter(|p| root.join(p).exists()).collect();
        let mut facts = Facts { root, survey, commits, dirty: BTreeMap::new(), folders };
        let mut looked_at = BTreeMap::new();
        for side in &sides {
            for worktree in facts.registered(side).into_iter().filter(|w| w.exists && !w.bare && !w.main) {
                looked_at.insert(worktree.resolved.clone(), worktree.path.clone());
            }
        }
        for (resolved, path) in looked_at {
            let files = git.dirty(&path)?;
            facts.dirty.insert(resolved, files);
        }
        Ok(facts)
    }

    /// Registered worktrees at the path or on the branch of one side.
    pub fn registered(&self, side: &Pair) -> Vec<&Worktree> {
        let path = side.path.as_ref().map(|p| git::resolve(&self.root.join(p)));
        let hit = |w: &&Worktree| {
            !w.main
                && (path.as_ref().is_some_and(|p| *p == w.resolved)
                    || (side.branch.is_some() && side.branch == w.branch))
        };
        self.survey.worktrees.iter().filter(hit).collect()
    }

    /// Whether path and branch of a registered worktree both agree with one side.
    pub fn agrees(&self, side: &Pair, worktree: &Worktree) -> bool {
        let path = side.path.as_ref().map(|p| git::resolve(&self.root.join(p)));
        path.is_some_and(|p| p == worktree.resolved)
            && side.branch.is_some()
            && side.branch == worktree.branch
    }

    /// The worktree's path below the project root; `None` when it lies elsewhere.
    pub fn below_root(&self, worktree: &Worktree) -> Option<String> {
        let below = worktree.resolved.strip_prefix(&self.root).ok()?;
        let parts: Vec<_> = below.components().map(|c| c.as_os_str().to_string_lossy()).collect();
        (!parts.is_empty()).then(|| parts.join("/"))
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

    /// Digest over what the owner saw of a record: branch tips, registration, uncommitted files.
    pub fn seen(&self, record: &Record) -> String {
        let mut text = String::new();
        for side in pairs(&record.value) {
            let tip = side.branch.as_deref().and_then(|b| self.tip(b)).unwrap_or("none");
            text += &format!("branch {} {tip}\n", side.branch.as_deref().unwrap_or("none"));
            for worktree in self.registered(&side) {
                let path = self.below_root(worktree).unwrap_or_else(|| "elsewhere".into());
                text += &format!("worktree {path} {}\n", worktree.branch.as_deref().unwrap_or("detached"));
                self.dirty(worktree).iter().for_each(|f| text += &format!("file {f}\n"));
            }
        }
        short_sha256(text.as_bytes())
    }
}
