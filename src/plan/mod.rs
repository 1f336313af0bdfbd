//! From a tree, git facts and decisions to the files a run would write. Pure.
//!
//! The engine runs the registry's steps artifact by artifact, books every value, checks every
//! intermediate result against its schema and collects all findings; it never names a step.

mod change;
mod goal_plan;
mod index;
mod json_chain;
mod records;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde_json::Value;

use crate::account::{Account, Fate, Leaves, Location};
use crate::decisions::Decisions;
use crate::doc::content::Content;
use crate::doc::position;
use crate::error::{Error, Result};
use crate::facts::Facts;
use crate::finding::{Code, Finding, Place, Scope};
use crate::history::section::{History, HostOfChange, hosts_of};
use crate::history::write::{Draft, FileBytes, HostFault, Unit, write};
use crate::state::artifact::Artifact;
use crate::state::change::Change;
use crate::state::index::Index;
use crate::state::record::Records;
use crate::state::tree::Tree;
use crate::step::{Cx, Limits, Proposal, Raised, Release, Settled};

use change::ChangePlan;

/// What a plan is made for.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The state.
    pub tree: &'a Tree,
    /// The goal.
    pub release: &'static Release,
    /// The owner's answers.
    pub decisions: &'a Decisions,
    /// Whether clean changes go ahead of blocked ones.
    pub partial: bool,
    /// What git shows; `None` without a repository.
    pub facts: Option<&'a Facts>,
    /// Whether the plan keeps what became of every value that did not simply stay. Without, it keeps that
    /// of the values that went to another file, which is what must be proven of the files together.
    pub account: bool,
}

/// What a run would do, and what it found.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The goal.
    pub release: &'static Release,
    /// Whether clean changes go ahead of blocked ones.
    pub partial: bool,
    /// Every artifact with its version on disk and the steps it needs.
    pub artifacts: Vec<ArtifactPlan>,
    /// The files to write, sorted by path; empty when something stops the run.
    pub files: Vec<PlannedFile>,
    /// Everything found, sorted.
    pub findings: Vec<Finding>,
    /// What became of every value that did not simply stay, as far as the request wants to know.
    pub account: Vec<(Location, Fate)>,
    /// How many values were kept as and where they were.
    pub kept: usize,
    /// Whether the state needs something, also when it is stopped.
    pub is_pending: bool,
    /// Changes that stay as they are for a fault of their own.
    pub stopped: BTreeSet<String>,
}

/// One artifact and the steps it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactPlan {
    /// Path below `specdev/`.
    pub file: String,
    /// What it is.
    pub artifact: Artifact,
    /// Its version on disk.
    pub from: u64,
    /// Its version after the run.
    pub to: u64,
    /// The steps that change it.
    pub steps: Vec<&'static str>,
    /// The change it belongs to.
    pub change: Option<String>,
}

/// A file the run writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    /// Path below `specdev/`.
    pub path: String,
    /// The bytes on disk; `None`: created.
    pub before: Option<Content>,
    /// The bytes it will have.
    pub after: Content,
    /// Permission bits on disk.
    pub mode: u32,
}

impl Plan {
    /// Whether findings keep the whole run, or with `--partial` a part of it, from being written.
    pub fn is_stopped(&self) -> bool {
        self.findings.iter().any(Finding::stops)
    }
}

/// What all parts of a plan share.
pub(crate) struct Shared<'a> {
    request: Request<'a>,
    index: Index,
    has_index: bool,
    limits: Limits,
    default_branch: Option<String>,
    /// What was found of changes while they were read, by their names.
    found: BTreeMap<&'a str, Vec<&'a Finding>>,
}

impl<'a> Shared<'a> {
    fn new(request: Request<'a>) -> Shared<'a> {
        let tree = request.tree;
        let config = tree.config.as_ref().and_then(|f| f.doc().ok()).map(|d| d.value().clone());
        let config = config.unwrap_or_default();
        let index = tree.index.as_ref().and_then(|f| f.doc().ok());
        let mut found: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
        for finding in &tree.findings {
            if let Scope::Change(name) = &finding.scope {
                found.entry(name).or_default().push(finding);
            }
        }
        Shared {
            found,
            request,
            index: index.map(|d| Index::read(d.value())).unwrap_or_default(),
            has_index: tree.index.is_some(),
            limits: limits(&config),
            default_branch: config.pointer("/git/default_branch").and_then(Value::as_str).map(str::to_string),
        }
    }
}

impl Shared<'_> {
    /// What every step may look at.
    fn cx<'a>(&'a self, settled: &'a BTreeMap<String, Settled>) -> Cx<'a> {
        Cx {
            release: self.request.release,
            limits: self.limits,
            decisions: self.request.decisions,
            change: None,
            lead: None,
            entry: None,
            entry_id: &|_| String::new(),
            settled,
            archived: &self.request.tree.archived,
        }
    }
}

/// What a decisions file can be pre-filled with, for these changes.
pub fn proposals(request: Request<'_>, changes: &BTreeSet<String>) -> Vec<Proposal> {
    let shared = Shared::new(request);
    let named = changes.iter().filter_map(|name| request.tree.changes.get(name));
    named.filter_map(|c| change::propose(&shared, c)).collect()
}

/// Make the plan. Fails for faults of the decisions file and for broken promises of the tool itself.
pub fn plan(request: Request<'_>) -> Result<Plan> {
    let tree = request.tree;
    // Those of a change come with its plan.
    let is_elsewhere =
        |f: &&Finding| !matches!(&f.scope, Scope::Change(name) if tree.changes.contains_key(name));
    let mut findings: Vec<Finding> = tree.findings.iter().filter(is_elsewhere).cloned().collect();
    let shared = Shared::new(request);
    let changes: Vec<&Change> = tree.changes.values().collect();
    let plan_one = |change: &Change| {
        let change = change.apart();
        change::plan(&shared, &change, &hosts_of(&change))
    };
    let changes = first_fault(changes.into_par_iter().map(plan_one).collect())?;
    let config = json_chain::config(&shared)?;
    let index = index::plan(&shared, &changes)?;
    let mut usage = Vec::new();
    for change in &changes {
        findings.extend(change.findings.iter().cloned());
        usage.extend(change.usage.iter().cloned());
    }
    strange_decisions(request, &mut findings, &mut usage);
    if !usage.is_empty() {
        return Err(request.decisions.error(usage.join("; ")));
    }
    strangers(request, &mut findings);
    let state = [config, index];
    state.iter().for_each(|s| findings.extend(s.findings.iter().cloned()));
    if !tree.archived.is_empty() {
        let place = Place::file(tree.layout.shown("archive"));
        let text = match tree.archived.len() {
            1 => "1 archived change is sealed and stays as it is".to_string(),
            n => format!("{n} archived changes are sealed and stay as they are"),
        };
        findings.push(Finding::new(Code::SealedArchive, Scope::Repository, Some(place), text));
    }
    assemble(&shared, state, changes, findings)
}

/// What is kept of an account.
fn kept_of<L: Leaves>(request: Request<'_>, account: &Account<L>) -> Vec<(Location, Fate)> {
    if request.account { account.changes() } else { account.moved_out() }
}

/// Of several faults the first, whichever thread came upon its own first.
pub(crate) fn first_fault<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    results.into_iter().collect()
}

/// Planning once more on the state that a run would leave behind, change by change.
pub(crate) struct Again<'a>(Shared<'a>);

/// What planning a change once more came to.
pub(crate) struct ChangeAgain(ChangePlan);

impl ChangeAgain {
    /// The highest run number in the change's hosts.
    pub(crate) fn last_seq(&self) -> u64 {
        self.0.last_seq
    }
}

impl<'a> Again<'a> {
    /// `request` is that of the run, but for its tree: the state as it would be, without its changes.
    pub(crate) fn new(request: Request<'a>) -> Again<'a> {
        Again(Shared::new(request))
    }

    /// Plan a change as it would be. A change that would be written once more is a broken promise.
    pub(crate) fn change(&self, change: &Change, hosts: &[HostOfChange<'_>]) -> Result<ChangeAgain> {
        let mut made = change::plan(&self.0, change, hosts)?;
        let is_stopped = made.findings.iter().any(Finding::stops);
        match made.unit.take().filter(|_| !is_stopped).and_then(|d| d.files.into_keys().next()) {
            Some(file) => Err(again(&file)),
            None => {
                made.account = Vec::new();
                Ok(ChangeAgain(made))
            }
        }
    }

    /// Plan the files of the state itself as they would be, after all changes.
    pub(crate) fn state(&self, changes: Vec<ChangeAgain>) -> Result<()> {
        let changes: Vec<ChangePlan> = changes.into_iter().map(|c| c.0).collect();
        for part in [json_chain::config(&self.0)?, index::plan(&self.0, &changes)?] {
            let is_stopped = part.findings.iter().any(Finding::stops);
            if let Some((file, ..)) = part.file.filter(|_| !is_stopped) {
                return Err(again(&file));
            }
        }
        Ok(())
    }
}

fn again(file: &str) -> Error {
    Error::internal(format!("planning the result again would write {file} once more"))
}

fn assemble(
    shared: &Shared<'_>,
    state: [json_chain::StatePlan; 2],
    changes: Vec<ChangePlan>,
    findings: Vec<Finding>,
) -> Result<Plan> {
    let request = shared.request;
    let mut artifacts: Vec<ArtifactPlan> = state.iter().flat_map(|s| s.artifact.clone()).collect();
    artifacts.extend(changes.iter().flat_map(|c| c.artifacts.iter().cloned()));
    artifacts.sort_by(|a, b| a.file.cmp(&b.file));
    let stopped: BTreeSet<String> = findings
        .iter()
        .filter(|f| f.stops())
        .filter_map(|f| match &f.scope {
            Scope::Change(name) => Some(name.clone()),
            Scope::Repository => None,
        })
        .collect();
    let is_pending = state.iter().any(|s| s.file.is_some()) || changes.iter().any(|c| c.is_pending);
    let mut plan = Plan {
        release: request.release,
        partial: request.partial,
        artifacts,
        files: Vec::new(),
        findings,
        account: Vec::new(),
        kept: 0,
        is_pending,
        stopped,
    };
    let stops_all =
        plan.findings.iter().any(|f| f.stops() && (!request.partial || f.scope == Scope::Repository));
    if !stops_all {
        let mut drafts = Vec::new();
        let mut host_fault = None;
        let mut unit = Unit { host: "HISTORY.md".into(), ..Unit::default() };
        for part in state {
            if let Some((path, file, entry)) = part.file {
                unit.files.insert(path, file);
                unit.entries.push(("HISTORY.md".into(), entry));
                plan.account.extend(part.account);
                plan.kept += part.kept;
            }
        }
        let rewrites_index = unit.files.contains_key("status.json");
        if !unit.files.is_empty() {
            unit.hosts.extend(request.tree.history.iter().map(|f| (f.path.clone(), f.bytes.clone())));
            match unit.draft() {
                Ok(draft) => drafts.push(draft),
                Err(fault) => host_fault = Some(host_finding(request.tree, &fault)),
            }
        }
        let elsewhere = request.tree.history.iter().chain(request.tree.orphans.values());
        let mut seq = elsewhere.map(|f| last_seq(&f.bytes)).max().unwrap_or(0);
        for change in changes {
            seq = seq.max(change.last_seq);
            if let Some(unit) = change.unit.filter(|_| !plan.stopped.contains(&change.name)) {
                drafts.push(unit);
                plan.account.extend(change.account);
                plan.kept += change.kept;
            }
        }
        match host_fault {
            None => {
                write(&mut drafts, seq + 1, request.release.name, rewrites_index);
                plan.files = files_of(request.tree, drafts);
            }
            Some(finding) => plan.findings.push(finding),
        }
    }
    if plan.files.is_empty() && !plan.is_pending && !plan.is_stopped() {
        let text = format!("everything is at or above release {}", request.release.name);
        plan.findings.push(Finding::new(Code::AlreadyCurrent, Scope::Repository, None, text));
    }
    plan.findings.iter_mut().for_each(advise);
    sort(&mut plan.findings);
    Ok(plan)
}

/// What to do about a blocker whose finder left that to its code.
fn advise(finding: &mut Finding) {
    if !finding.next.is_empty() {
        return;
    }
    finding.next.extend(match finding.code {
        Code::AmbiguousSection if finding.message.starts_with("text inserted here") => {
            Some("end the HTML or the fence that reaches to the end of the file, then run again".into())
        }
        Code::AmbiguousSection => Some("leave one section of that title in the file, then run again".into()),
        Code::ChangeNameMismatch => {
            Some("set `change` to the folder's name, or rename the folder, then run again".into())
        }
        Code::OutsideRoot => Some("correct the path in the file, then run again".to_string()),
        _ => None,
    });
}

/// Worktrees and branches of ours that name no change of this state and belong to no record.
fn strangers(request: Request<'_>, findings: &mut Vec<Finding>) {
    let Some(facts) = request.facts else { return };
    for name in facts.strangers(|change| request.tree.changes.contains_key(change)) {
        let text = format!("{name} names no change of this state and is none of this tool's business");
        findings.push(Finding::new(Code::OtherWorktree, Scope::Repository, None, text));
    }
}

/// Decisions about changes that are not there: a note for archived ones, a fault for those nobody knows.
fn strange_decisions(request: Request<'_>, findings: &mut Vec<Finding>, usage: &mut Vec<String>) {
    for name in request.decisions.changes.keys().filter(|n| !request.tree.changes.contains_key(*n)) {
        let scope = Scope::Change(name.clone());
        if request.tree.archived.contains(name) {
            let text = format!("the decisions about {name} are settled: the change is archived");
            findings.push(Finding::new(Code::AlreadyCurrent, scope, None, text));
        } else if !findings.iter().any(|f| f.scope == scope) {
            let text = format!("{name} is no change of this state");
            usage.push(request.decisions.fault(&["changes", name], text));
        }
    }
}

fn last_seq(host: &Content) -> u64 {
    History::read(host).unwrap_or_else(|_| History::anywhere(host)).last_seq()
}

fn files_of(tree: &Tree, drafts: Vec<Draft>) -> Vec<PlannedFile> {
    let mut files: BTreeMap<String, FileBytes> = BTreeMap::new();
    drafts.into_iter().for_each(|d| files.extend(d.files));
    files
        .into_iter()
        .map(|(path, f)| {
            let mode = tree.file(&path).map_or(0o644, |f| f.mode);
            PlannedFile { path, before: f.before, after: f.after, mode }
        })
        .collect()
}

fn host_finding(tree: &Tree, fault: &HostFault) -> Finding {
    let bytes = tree.file(&fault.path).map(|f| f.bytes.as_slice()).unwrap_or_default();
    let (line, column) = position(bytes, fault.fault.offset);
    let scope = match fault.path.strip_prefix("changes/").and_then(|p| p.split_once('/')) {
        Some((name, _)) => Scope::Change(name.to_string()),
        None => Scope::Repository,
    };
    let place =
        Place { file: tree.layout.shown(&fault.path), line: Some(line), column: Some(column), pointer: None };
    Finding::new(fault.fault.code, scope, Some(place), fault.fault.message.clone())
}

/// By severity, code and place, each once.
fn sort(findings: &mut Vec<Finding>) {
    findings.sort_by(|a, b| {
        let key =
            |f: &Finding| (f.code.severity(), f.code, f.place.clone(), f.scope.clone(), f.message.clone());
        key(a).cmp(&key(b))
    });
    findings.dedup();
}

/// The limits a configuration sets, whatever its version calls them.
fn limits(config: &Value) -> Limits {
    let at = |name: &str| config.get("execution")?.get(name)?.as_u64().filter(|n| *n >= 1);
    let agents = ["max_implementation_agents", "max_concurrent_implementations", "max_parallel"]
        .into_iter()
        .find_map(at);
    let attempts = at("max_integration_attempts");
    let limits = Limits::default();
    Limits {
        implementation_agents: agents
            .unwrap_or(limits.implementation_agents)
            .min(limits.implementation_agents),
        integration_attempts: attempts
            .unwrap_or(limits.integration_attempts)
            .min(limits.integration_attempts),
    }
}

/// Place a finding of a step in the file it is about.
fn placed(
    tree: &Tree,
    raised: &Raised,
    file: &str,
    scope: &Scope,
    locate: impl Fn(&crate::doc::pointer::Pointer) -> Option<usize>,
    position: impl Fn(usize) -> (usize, usize),
) -> Finding {
    let file = raised.file.as_deref().unwrap_or(file);
    let at = raised.pointer.as_ref().and_then(&locate).map(position);
    let place = Place {
        file: tree.layout.shown(file),
        line: at.map(|(line, _)| line),
        column: at.map(|(_, column)| column),
        pointer: raised.pointer.as_ref().map(ToString::to_string),
    };
    let scope = raised.change.clone().map_or_else(|| scope.clone(), Scope::Change);
    let mut finding = Finding::new(raised.code, scope, Some(place), raised.message.clone());
    finding.next.clone_from(&raised.next);
    raised.owners.iter().for_each(|o| finding = finding.clone().owner(o));
    finding
}

/// The records of every change, those in history included, for collecting git facts before planning.
pub fn records(tree: &Tree) -> Vec<Records> {
    let changes: Vec<&Change> = tree.changes.values().collect();
    let read = |c: Change| Records { past: change::past(&c), ..Records::read(&c) };
    changes.into_par_iter().map(|c| read(c.apart())).collect()
}
