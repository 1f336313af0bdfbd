//! The change's one workspace: what git must confirm before a context is written (contract.md §3), or
//! what the owner decides instead (contract.md §6).

use serde_json::{Map, Value, json};

use super::judge::parent;
use crate::decisions::{WorkspaceDecision, WorkspacePolicy};
use crate::facts::{Facts, Pair, short_branch};
use crate::finding::Code;
use crate::migrations::lead;
use crate::state::record::{DIRECT_SPEC, Record};
use crate::step::{RecordsDraft, decide};

/// A workspace that git confirms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Workspace {
    /// `current` or `worktree`.
    pub(super) policy: &'static str,
    /// `current` or a path below the project root.
    pub(super) locator: String,
    /// Its branch.
    pub(super) branch: String,
    /// Full commit id.
    pub(super) base_sha: String,
    /// Who owns it.
    pub(super) owner: String,
}

/// Why there is no workspace.
pub(super) enum NoWorkspace {
    /// Plan and leadership name different owners.
    LeadConflict(String, String),
    /// The first condition that fails.
    Unproven(String),
}

/// Conditions (1) to (3) over the records that count, in their order.
pub(super) fn workspace_of(d: &RecordsDraft<'_>, counted: &[&Record]) -> Result<Workspace, NoWorkspace> {
    let unproven = |why: &str| NoWorkspace::Unproven(why.to_string());
    let facts = d.facts.ok_or_else(|| unproven("no git facts (no repository, or --no-git)"))?;
    let (branch, base_sha) = confirmed(d, facts, counted).map_err(NoWorkspace::Unproven)?;
    if let Some((plan, status)) = lead_conflict(d) {
        return Err(NoWorkspace::LeadConflict(plan, status));
    }
    let owner = owner(d).ok_or_else(|| unproven("nobody is named as owner"))?;
    Ok(Workspace { policy: "current", locator: "current".into(), branch, base_sha, owner })
}

/// Conditions (1) and (2): one parent branch that exists here, and the oldest of the base commits, all
/// of them its ancestors.
pub(super) fn confirmed(
    d: &RecordsDraft<'_>,
    facts: &Facts,
    counted: &[&Record],
) -> Result<(String, String), String> {
    let mut parents: Vec<String> = Vec::new();
    for record in counted {
        let parent = parent(d, &record.value)
            .ok_or_else(|| format!("{} names no parent branch and none is checked out", record.ticket))?;
        if !parents.contains(&parent) {
            parents.push(parent);
        }
    }
    let branch = match parents.as_slice() {
        [one] => one.clone(),
        [] => return Err("no record counts".into()),
        many => return Err(format!("the records name several parent branches: {}", many.join(", "))),
    };
    if facts.tip(&branch).is_none() {
        return Err(format!("parent branch {branch} does not exist here"));
    }
    let mut bases: Vec<&str> = Vec::new();
    for record in counted {
        let text = record.text("base_sha").unwrap_or_default();
        let why = if facts.survey.shallow { " (this is a shallow clone)" } else { "" };
        let full = facts.commits.resolve(text).ok_or_else(|| {
            format!("base_sha {text:?} of {} is no commit of this repository{why}", record.ticket)
        })?;
        if facts.commits.contains(&branch, full) != Some(true) {
            return Err(format!(
                "base_sha {text:?} of {} is not an ancestor of {branch}{why}",
                record.ticket
            ));
        }
        if !bases.contains(&full) {
            bases.push(full);
        }
    }
    let base = facts
        .commits
        .oldest(&bases)
        .ok_or("the base_sha commits of the records are not in one line of ancestry")?;
    Ok((branch, base))
}

/// The owner of a workspace: decision, plan, README, leadership; never `unassigned`.
pub(super) fn owner(d: &RecordsDraft<'_>) -> Option<String> {
    let decided = d.cx.decision().and_then(|c| c.lead.clone());
    decided
        .or_else(|| lead::in_plan(d.change))
        .or_else(|| lead::in_readme(d.change))
        .or_else(|| lead::in_status(d.change))
}

/// Plan and leadership name different people, and nobody decided.
pub(super) fn lead_conflict(d: &RecordsDraft<'_>) -> Option<(String, String)> {
    if d.cx.decision().is_some_and(|c| c.lead.is_some()) {
        return None;
    }
    let (plan, status) = (lead::in_plan(d.change)?, lead::in_status(d.change)?);
    (plan != status).then_some((plan, status))
}

/// Report that they do.
pub(super) fn raise_lead_conflict(d: &mut RecordsDraft<'_>, plan: String, status: String) {
    let text = format!("the goal plan is led by {plan}, the change-status by {status}");
    let name = &d.change.name;
    let line = format!("  {name}: {{lead: {}}}", Value::from(plan.as_str()));
    let next = decide("to name the lead", &["changes:".into(), line]);
    let file = d.change.path(".status.json");
    let at = crate::doc::pointer::Pointer::new(["leadership", "current"]);
    let raised = d.notes.raise(Code::ConflictingLead, Some(at), text);
    raised.next = next;
    raised.owners = vec![plan, status];
    raised.file = Some(file);
}

/// The workspace a decision names, checked against git. A fault of the decisions file goes to `d.usage`.
pub(super) fn decided(d: &mut RecordsDraft<'_>, w: &WorkspaceDecision) -> Option<Workspace> {
    match checked(d, w) {
        Ok(workspace) => Some(workspace),
        Err((key, text)) => {
            let name = d.change.name.as_str();
            let at = ["changes", name, "workspace", key];
            let at = if key.is_empty() { &at[..3] } else { &at[..] };
            d.usage.push(d.cx.decisions.fault(at, format!("{name}: {text}")));
            None
        }
    }
}

fn checked(d: &RecordsDraft<'_>, w: &WorkspaceDecision) -> Result<Workspace, (&'static str, String)> {
    let facts = d.facts.ok_or(("", "a workspace cannot be confirmed without git".to_string()))?;
    let branch = short_branch(w.branch.clone());
    if facts.tip(&branch).is_none() {
        return Err(("branch", format!("workspace branch {branch} does not exist here")));
    }
    let (policy, locator) = match w.policy {
        WorkspacePolicy::Current => ("current", "current".to_string()),
        WorkspacePolicy::Worktree => ("worktree", worktree(facts, &w.locator, &branch)?),
    };
    // Only a whole id: a short one may mean something else tomorrow.
    let base = facts.commits.resolve(&w.base_sha).filter(|full| **full == w.base_sha);
    let Some(base) = base.filter(|b| facts.commits.contains(&branch, b) == Some(true)) else {
        return Err(("base_sha", format!("base_sha {} is no commit of branch {branch}", w.base_sha)));
    };
    // The decision stands in place of the conditions, so whoever leads will do.
    let owner = owner(d).or_else(|| d.cx.lead.clone());
    let owner = owner.ok_or(("", "nobody is named as owner of the workspace; add `lead:`".to_string()))?;
    Ok(Workspace { policy, locator, branch, base_sha: base.to_string(), owner })
}

/// A registered worktree below the project root, as the context calls it.
fn worktree(facts: &Facts, locator: &str, branch: &str) -> Result<String, (&'static str, String)> {
    let side = Pair { path: Some(locator.to_string()), branch: None, is_candidate: false };
    let Some((worktree, path)) = facts.at(&side).and_then(|w| Some((w, facts.below_root(w)?))) else {
        return Err(("ref", format!("{locator} is no registered worktree below the project root")));
    };
    if !worktree.exists {
        return Err(("ref", format!("worktree {locator} is registered, but its folder is missing")));
    }
    if worktree.branch.as_deref() != Some(branch) {
        let on = worktree.branch.as_deref().unwrap_or("a detached HEAD");
        return Err(("branch", format!("worktree {locator} is on {on}, not on {branch}")));
    }
    Ok(path)
}

/// The context as JSON.
pub(super) fn context(d: &RecordsDraft<'_>, w: &Workspace) -> Value {
    let mut out = Map::new();
    out.insert("schema_version".into(), json!(1));
    out.insert("change".into(), json!(d.change.name));
    out.insert("workspace_policy".into(), json!(w.policy));
    out.insert("workspace_ref".into(), json!(w.locator));
    out.insert("branch".into(), json!(w.branch));
    out.insert("base_sha".into(), json!(w.base_sha));
    out.insert("owner".into(), json!(w.owner));
    out.insert("ticket_execution".into(), json!(d.ticket_execution.as_deref().unwrap_or("auto")));
    let direct = d.records.list.iter().find(|r| r.ticket == DIRECT_SPEC);
    if let (None, Some(record)) = (&d.change.plan, direct)
        && let Some(limit) = record.value.get(ATTEMPT_LIMIT).filter(|v| v.as_u64().is_some_and(|n| n >= 1))
    {
        out.insert(ATTEMPT_LIMIT.into(), limit.clone());
    }
    Value::Object(out)
}

/// What a Direct Spec without plan hands over to the context.
pub(super) const ATTEMPT_LIMIT: &str = "integration_attempt_limit";
