//! One change: its goal plan, its records, its status, and the files they make.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::goal_plan::{self, GoalPlan};
use super::index::AUTHORITY;
use super::json_chain::{Chain, open, text};
use super::records::{self, RecordsPlan};
use super::{ArtifactPlan, Shared, host_finding, kept_of, placed};
use crate::account::{Fate, Location};
use crate::doc::content::Content;
use crate::doc::json::Op;
use crate::doc::pointer::Pointer;
use crate::doc::position;
use crate::error::Result;
use crate::finding::{Code, Finding, Place, Scope};
use crate::history::section::{FoundEntry, History, HostOfChange, hosts_of};
use crate::history::write::{Draft, FileBytes, Unit};
use crate::migrations::{self, lead};
use crate::schema;
use crate::state::artifact::Artifact;
use crate::state::change::{Change, is_change_name};
use crate::state::index::VALUES;
use crate::state::record::Records;
use crate::step::{Cx, PastRecord, Proposal, Settled};

const ARTIFACT: Artifact = Artifact::ChangeStatus;

/// What is planned for one change.
#[derive(Default)]
pub(super) struct ChangePlan {
    pub(super) name: String,
    pub(super) findings: Vec<Finding>,
    pub(super) usage: Vec<String>,
    pub(super) artifacts: Vec<ArtifactPlan>,
    pub(super) unit: Option<Draft>,
    pub(super) account: Vec<(Location, Fate)>,
    pub(super) kept: usize,
    /// Of the change-status as it will be, the members that index values went into.
    pub(super) status: Option<Value>,
    /// Index values that went into it.
    pub(super) taken: BTreeSet<&'static str>,
    /// Version of the change-status on disk.
    pub(super) version: Option<u64>,
    /// Whether the change needs something, also when it is stopped.
    pub(super) is_pending: bool,
    /// Highest run number in the change's hosts.
    pub(super) last_seq: u64,
}

/// Plan one change; `hosts` are its own.
pub(super) fn plan(shared: &Shared<'_>, change: &Change, hosts: &[HostOfChange<'_>]) -> Result<ChangePlan> {
    let request = shared.request;
    let scope = Scope::Change(change.name.clone());
    let mut out = ChangePlan { name: change.name.clone(), ..ChangePlan::default() };
    out.findings.extend(shared.found.get(change.name.as_str()).into_iter().flatten().copied().cloned());
    index_faults(shared, change, &mut out);
    let past = history(shared, change, hosts, &mut out);
    let plan_bytes = change.plan.as_ref().map(|f| f.bytes.clone()).unwrap_or_default();
    let plan_path = change.path("goal-plan.md");
    let entry_id = |pointer: &str| entry_id(&plan_path, pointer, &plan_bytes);
    let settled = BTreeMap::new();
    let cx = Cx {
        entry: shared.index.entry(&change.name),
        entry_id: &entry_id,
        ..cx_of(shared, change, &settled)
    };
    let goal = match &change.plan {
        Some(file) => goal_plan::plan(request, file, &cx, &scope, &change.name)?,
        None => GoalPlan::default(),
    };
    // What is wrong with the plan is told also where the status tells too little to go on.
    let plan_faults = || goal.findings.iter().filter(|f| f.stops()).cloned();
    let mut chain = match open(request.tree, &change.status, ARTIFACT, &scope) {
        Ok(chain) => chain,
        Err(finding) => {
            out.findings.push(*finding);
            out.findings.extend(plan_faults());
            out.is_pending = true;
            return Ok(out);
        }
    };
    out.version = Some(chain.from);
    if !has_own_name(shared, change, &chain, &mut out) {
        out.findings.extend(plan_faults());
        out.is_pending = true;
        return Ok(out);
    }
    let execution = text(&goal.value, "ticket_execution").map(str::to_string);
    let mut records = records::plan(shared, change, &cx, &past, chain.from, execution)?;
    if records.clears_worktrees {
        let empty = Op::Replace { at: Pointer::new(["worktrees"]), value: Value::Array(Vec::new()) };
        chain.edit(&[empty], &records.bookings)?;
        chain.steps.push(records.step);
    }
    if records.findings.iter().any(Finding::stops) {
        // Only to find what else is wrong: old records are no fault of the new version's schema.
        chain.set_records_aside()?;
    }
    let target = request.release.target(ARTIFACT).unwrap_or(0);
    chain.run(&cx, target, true)?;
    chain.check_unnumbered();
    if records.findings.iter().any(Finding::stops) {
        // The records stay where they are for a reason that is told; that they do not fit the new
        // version is no fault of theirs.
        chain.findings.retain(|f| f.code != Code::SchemaViolation || !is_in_worktrees(f));
    }
    take_from_index(&cx, &chain, &mut out);
    let taken = chain.doc.value().as_object().into_iter().flatten();
    let taken = taken.filter(|(name, _)| out.taken.contains(name.as_str()));
    out.status = Some(taken.map(|(name, value)| (name.clone(), value.clone())).collect());
    finish(shared, change, chain, goal, &mut records, &mut out);
    Ok(out)
}

/// What the steps of a change may look at, the index and history apart.
fn cx_of<'a>(shared: &'a Shared<'_>, change: &'a Change, settled: &'a BTreeMap<String, Settled>) -> Cx<'a> {
    let decisions = shared.request.decisions;
    Cx { change: Some(change), lead: lead::find(change, decisions), ..shared.cx(settled) }
}

/// What a decisions file can be pre-filled with for one change.
pub(super) fn propose(shared: &Shared<'_>, change: &Change) -> Option<Proposal> {
    let version = change.status_doc()?.value().get("schema_version")?.as_u64()?;
    let past = history(shared, change, &hosts_of(change), &mut ChangePlan::default());
    let settled = BTreeMap::new();
    let cx = cx_of(shared, change, &settled);
    let list = Records::read(change);
    let draft = records::draft(shared, change, &cx, &list, &past, version, None);
    Some(migrations::propose(&draft))
}

/// Put the parts together: files, entries, findings.
fn finish(
    shared: &Shared<'_>,
    change: &Change,
    chain: Chain<'_>,
    goal: GoalPlan,
    records: &mut RecordsPlan,
    out: &mut ChangePlan,
) {
    let host = change.path("HISTORY.md");
    out.artifacts.push(chain.artifact(Some(&change.name)));
    if let Some(file) = change.plan.as_ref().filter(|_| goal.from > 0) {
        out.artifacts.push(ArtifactPlan {
            file: file.path.clone(),
            artifact: Artifact::GoalPlan,
            from: goal.from,
            to: goal.to,
            steps: goal.steps.clone(),
            change: Some(change.name.clone()),
        });
    }
    let mut unit = Unit { host: host.clone(), ..Unit::default() };
    if chain.is_changed() {
        let file =
            FileBytes { before: Some(change.status.file.bytes.clone()), after: chain.doc.shared().into() };
        unit.files.insert(change.status.file.path.clone(), file);
        unit.entries.push((host.clone(), chain.entry()));
        out.account.extend(kept_of(shared.request, &chain.account));
        out.kept += chain.account.kept();
    }
    if let (Some(file), Some(after)) = (&change.plan, goal.after) {
        unit.files.insert(file.path.clone(), FileBytes { before: Some(file.bytes.clone()), after });
        unit.entries.extend(goal.entries.into_iter().map(|e| (host.clone(), e)));
        out.account.extend(goal.account);
        out.kept += goal.kept;
    }
    unit.files.append(&mut records.files);
    out.account.append(&mut records.account);
    out.kept += records.kept;
    unit.entries.append(&mut records.entries);
    // Sources by path, entries by offset.
    unit.entries
        .sort_by(|(_, a), (_, b)| (&a.meta.source, a.meta.range).cmp(&(&b.meta.source, b.meta.range)));
    let hosts = change.history.iter().chain(change.evidence.values());
    unit.hosts = hosts.map(|f| (f.path.clone(), f.bytes.clone())).collect();
    // One word about a missing lead is enough for a change.
    let is_said = chain.findings.iter().any(|f| f.code == Code::LeadUnassigned);
    out.findings.extend(goal.findings.into_iter().filter(|f| !(is_said && f.code == Code::LeadUnassigned)));
    out.findings.extend(chain.findings);
    out.findings.append(&mut records.findings);
    out.usage.append(&mut records.usage);
    out.is_pending |= !unit.files.is_empty() || out.findings.iter().any(Finding::stops);
    if unit.files.is_empty() {
        return;
    }
    out.findings.append(&mut records.inventory);
    if shared.has_index && !is_indexed(shared, &change.name) {
        let place = Place::file(shared.request.tree.layout.shown(&change.status.file.path));
        let text = "the index does not list this change; it is upgraded all the same";
        let scope = Scope::Change(change.name.clone());
        out.findings.push(Finding::new(Code::UnindexedChange, scope, Some(place), text));
    }
    match unit.draft() {
        Ok(draft) => out.unit = Some(draft),
        Err(fault) => out.findings.push(host_finding(shared.request.tree, &fault)),
    }
}

fn is_in_worktrees(finding: &Finding) -> bool {
    let pointer = finding.place.as_ref().and_then(|p| p.pointer.as_deref());
    pointer.is_some_and(|p| p.starts_with("/worktrees/"))
}

fn is_indexed(shared: &Shared<'_>, name: &str) -> bool {
    shared.index.entry(name).is_some() || shared.index.archived.iter().any(|n| n == name)
}

/// What the index contradicts itself about concerns this change alone.
fn index_faults(shared: &Shared<'_>, change: &Change, out: &mut ChangePlan) {
    let Some(file) = &shared.request.tree.index else { return };
    let Ok(doc) = file.doc() else { return };
    // A version 5 index that contradicts itself about a change is not read for values.
    let version = doc.value().get("schema_version").and_then(Value::as_u64);
    if version.is_none_or(|v| v >= AUTHORITY) {
        return;
    }
    for fault in shared.index.faults.iter().filter(|f| f.change.as_deref() == Some(change.name.as_str())) {
        let at = doc.find(&fault.pointer).map(|n| position(&file.file.bytes, n.range.start));
        let place = Place {
            file: shared.request.tree.layout.shown("status.json"),
            line: at.map(|(line, _)| line),
            column: at.map(|(_, column)| column),
            pointer: Some(fault.pointer.to_string()),
        };
        let scope = Scope::Change(change.name.clone());
        out.findings
            .push(Finding::new(fault.code, scope, Some(place), fault.message.clone()).next(fault.advice()));
    }
}

/// Records that earlier runs left in the change's hosts; faults of a host are told when it is planned.
pub(super) fn past(change: &Change) -> Vec<PastRecord> {
    let hosts = hosts_of(change);
    let histories = hosts.iter().filter_map(|h| Some((&h.file.bytes, h.history.as_ref().ok()?)));
    histories.flat_map(|(bytes, history)| past_in(history, bytes)).collect()
}

fn past_in(history: &History, bytes: &[u8]) -> Vec<PastRecord> {
    let is_record = |pointer: &str| pointer.starts_with("/worktrees/") || pointer == "record";
    let entries = history.entries.iter().filter(|e| is_record(&e.meta.pointer));
    let of = |entry: &FoundEntry| {
        let value = records::past_value(&entry.bytes(bytes).ok()?)?;
        let branch_tip = entry.meta.decision.as_ref().and_then(|d| d.branch_tip.clone());
        Some(PastRecord { value, branch_tip })
    };
    entries.filter_map(of).collect()
}

/// Records and run numbers that earlier runs left in the change's hosts. What a record said is read only
/// for those who ask: decisions, and whatever in git may belong to it.
fn history(
    shared: &Shared<'_>,
    change: &Change,
    hosts: &[HostOfChange<'_>],
    out: &mut ChangePlan,
) -> Vec<PastRecord> {
    let request = shared.request;
    let is_asked = request.decisions.changes.contains_key(&change.name)
        || request.facts.is_some_and(|facts| facts.has_items(&change.name));
    let mut past = Vec::new();
    for HostOfChange { file, history } in hosts {
        let history = match history {
            Ok(history) => history,
            Err(fault) => {
                let (line, column) = position(&file.bytes, fault.offset);
                let place = Place {
                    file: shared.request.tree.layout.shown(&file.path),
                    line: Some(line),
                    column: Some(column),
                    pointer: None,
                };
                let scope = Scope::Change(change.name.clone());
                out.findings.push(Finding::new(fault.code, scope, Some(place), fault.message.clone()));
                out.last_seq = out.last_seq.max(History::anywhere(&file.bytes).last_seq());
                continue;
            }
        };
        out.last_seq = out.last_seq.max(history.last_seq());
        if is_asked {
            past.extend(past_in(history, &file.bytes));
        }
    }
    past
}

/// The `change` field is the folder's name.
fn has_own_name(shared: &Shared<'_>, change: &Change, chain: &Chain<'_>, out: &mut ChangePlan) -> bool {
    let at = Pointer::new(["change"]);
    let Some(name) = chain.doc.value().get("change").and_then(Value::as_str) else { return true };
    if name == change.name {
        return true;
    }
    let (code, message) = if is_change_name(name) {
        (Code::ChangeNameMismatch, format!("`change` is {name:?}, but the folder is {}", change.name))
    } else {
        let rule = "YYYY-MM-DD-topic, lower-case words joined by dashes";
        (Code::InvalidChangeName, format!("`change` {name:?} is no change name ({rule})"))
    };
    let raised = crate::step::Raised {
        code,
        pointer: Some(at),
        message,
        next: vec![format!("set `change` to {:?}, or rename the folder, then run again", change.name)],
        change: None,
        owners: Vec::new(),
        file: None,
    };
    let locate = |p: &Pointer| chain.doc.find(p).map(|n| n.range.start);
    let scope = Scope::Change(change.name.clone());
    let bytes = &change.status.file.bytes;
    out.findings.push(placed(shared.request.tree, &raised, &change.status.file.path, &scope, locate, |at| {
        position(bytes, at)
    }));
    false
}

/// Which values of the index went into the change-status.
fn take_from_index(cx: &Cx<'_>, chain: &Chain<'_>, out: &mut ChangePlan) {
    let (Some(entry), Some(change)) = (cx.entry, cx.change) else { return };
    let old = change.status_doc().map_or(&Value::Null, |d| d.value());
    let is_empty =
        |v: Option<&Value>| v.is_none_or(|v| v.is_null() || v.as_array().is_some_and(Vec::is_empty));
    let offered = [entry.current_work.is_some(), !entry.works_run.is_empty(), !entry.claims.is_empty()];
    for (member, offered) in VALUES.into_iter().zip(offered) {
        // A version that is the authority itself takes only what it leaves empty.
        let same = chain.from < AUTHORITY
            && member == "current_work"
            && old.get(member) == entry.current_work.as_ref().map(|(v, _)| v);
        if offered && (is_empty(old.get(member)) || same) {
            out.taken.insert(member);
        }
    }
}

/// The id that a history entry of the goal plan will have.
fn entry_id(path: &str, pointer: &str, bytes: &Content) -> String {
    let end = bytes.header().map_or(bytes.len(), |h| h.range.end);
    crate::history::entry::id(path, pointer, &bytes[..end])
}

/// Whether values of these artifacts satisfy their schemas; used for what is written anew.
pub(super) fn schema_findings(
    shared: &Shared<'_>,
    artifact: Artifact,
    value: &Value,
    file: &str,
    scope: &Scope,
) -> Vec<Finding> {
    schema::check(artifact, 1, value)
        .into_iter()
        .map(|v| {
            let place = Place {
                pointer: Some(v.pointer.clone()),
                ..Place::file(shared.request.tree.layout.shown(file))
            };
            Finding::new(
                Code::SchemaViolation,
                scope.clone(),
                Some(place),
                format!("{artifact} version 1: {}", v.message),
            )
        })
        .collect()
}
