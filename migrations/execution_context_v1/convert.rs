//! Finished and decided records become version 1 records and a context, or history only
//! (contract.md §3, Finished record; §6, continue and retire).

use serde_json::{Map, Value, json};

use super::context::{self, Workspace, workspace_of};
use super::decide;
use super::judge::{self, Standing, judge, parent};
use crate::account::{Booking, Fate, Location};
use crate::decisions::Action;
use crate::doc::pointer::Pointer;
use crate::finding::Code;
use crate::history::entry;
use crate::state::record::{DIRECT_SPEC, Record, SECTION, Source};
use crate::step::{EvidenceEdit, KeptRecord, RecordsDraft};

/// What becomes of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    HistoryOnly,
    Record,
    Continued,
}

pub(super) fn run(d: &mut RecordsDraft<'_>) {
    let standings: Vec<Standing> = d.records.list.iter().map(|r| judge(d, r)).collect();
    let open = |s: &[Standing]| s.iter().any(Standing::is_open);
    let decided: Vec<String> = d
        .records
        .list
        .iter()
        .filter(|r| decide::of(d, &r.ticket).is_some())
        .map(|r| r.ticket.clone())
        .collect();
    if judge::raise_open(d, &standings, |ticket| decided.iter().any(|t| t == ticket)) {
        return;
    }
    if raise_second_record(d) {
        return;
    }
    let status =
        d.change.status_doc().and_then(|s| s.value().get("change_status")?.as_str()).unwrap_or_default();
    let is_live = matches!(status, "active" | "blocked");
    let goals: Vec<Goal> = (0..standings.len()).map(|n| goal(d, &standings[n], n, is_live)).collect();
    let counted: Vec<usize> =
        (0..standings.len()).filter(|n| counts(d, &standings[*n], *n, is_live)).collect();
    let workspace = match workspace(d, &counted, open(&standings)) {
        Ok(workspace) => workspace,
        Err(()) => return,
    };
    if !decide::hold(d, &standings, workspace.as_ref()) {
        return;
    }
    keep(d, &standings);
    match workspace {
        Some(workspace) => {
            d.context = Some(context::context(d, &workspace));
            goals.iter().enumerate().for_each(|(n, goal)| write(d, n, *goal, &workspace));
        }
        None => (0..goals.len()).for_each(|n| unwrite(d, n)),
    }
    if is_live {
        raise_history_only(d, &standings);
    }
}

/// A release without contexts has no place to go on in: every record goes into history, open ones by an
/// owner's `retire`.
pub(super) fn into_history(d: &mut RecordsDraft<'_>) {
    let standings: Vec<Standing> = d.records.list.iter().map(|r| judge(d, r)).collect();
    let going_on = d
        .records
        .list
        .iter()
        .filter(|r| decide::of(d, &r.ticket).is_some_and(|t| t.action == Action::Continue));
    let going_on: Vec<String> = going_on.map(|r| r.ticket.clone()).collect();
    for ticket in going_on {
        let release = d.cx.release.name;
        d.usage.push(format!(
            "{} {ticket}: release {release} has no records to continue in; use retire",
            d.change.name
        ));
    }
    let retired: Vec<String> = d
        .records
        .list
        .iter()
        .filter(|r| decide::of(d, &r.ticket).is_some())
        .map(|r| r.ticket.clone())
        .collect();
    let open = judge::raise_open(d, &standings, |ticket| retired.iter().any(|t| t == ticket));
    if open || !decide::hold(d, &standings, None) {
        return;
    }
    keep(d, &standings);
    raise_history_only(d, &standings);
}

/// Every record goes into history, with the decision that let an open one go, and `worktrees` becomes `[]`.
fn keep(d: &mut RecordsDraft<'_>, standings: &[Standing]) {
    let kept = |n: usize| {
        let decision = decide::of(d, &d.records.list[n].ticket).filter(|_| standings[n].is_open());
        KeptRecord { record: n, decision: decision.map(|t| decide::written(d, n, t)) }
    };
    d.kept = (0..standings.len()).map(kept).collect();
    super::clear(d);
}

/// What is meant to become of a record, if the workspace is confirmed.
fn goal(d: &RecordsDraft<'_>, standing: &Standing, n: usize, is_live: bool) -> Goal {
    let record = &d.records.list[n];
    match standing {
        Standing::Open(_) => match decide::of(d, &record.ticket) {
            // A planned record has nothing to go on with but the plan.
            Some(t) if t.action == Action::Continue && record.status() != "planned" => Goal::Continued,
            _ => Goal::HistoryOnly,
        },
        Standing::Finished if is_live && record.is_gated && record.status() != "cancelled" => Goal::Record,
        _ => Goal::HistoryOnly,
    }
}

/// Whether a record counts for the change's context.
fn counts(d: &RecordsDraft<'_>, standing: &Standing, n: usize, is_live: bool) -> bool {
    match standing {
        Standing::Open(_) => {
            decide::of(d, &d.records.list[n].ticket).is_some_and(|t| t.action == Action::Continue)
        }
        Standing::Finished => is_live && d.records.list[n].status() != "cancelled",
        Standing::NeverStarted => false,
    }
}

/// The workspace the decisions name or git confirms. `Err` when something was raised that stops the
/// change; `Ok(None)` when there is nothing to write a context for.
fn workspace(d: &mut RecordsDraft<'_>, counted: &[usize], any_open: bool) -> Result<Option<Workspace>, ()> {
    if counted.is_empty() {
        return Ok(None);
    }
    let named = d.cx.decision().and_then(|c| c.workspace.clone());
    if d.facts.is_some() && context::raise_lead_conflict(d) {
        return Err(());
    }
    if let Some(named) = named {
        return match context::decided(d, &named) {
            Ok(workspace) => Ok(Some(workspace)),
            Err(text) => {
                d.usage.push(text);
                Err(())
            }
        };
    }
    let records: Vec<&Record> = counted.iter().map(|n| &d.records.list[*n]).collect();
    let reason = match workspace_of(d, &records) {
        Ok(workspace) => return Ok(Some(workspace)),
        Err(reason) => reason,
    };
    let going_on = counted.iter().find(|n| any_open && judge(d, &d.records.list[**n]).is_open());
    if let Some(n) = going_on {
        let text = format!(
            "{} cannot go on: {reason}; name the workspace in the decisions file",
            d.records.list[*n].ticket
        );
        super::raise_at(
            d,
            *n,
            Code::ActiveWorktree,
            text,
            vec![format!(
                "in the decisions file, under {}: workspace: {{policy: current, ref: current, branch: BRANCH, base_sha: SHA}}",
                d.change.name
            )],
        );
        return Err(());
    }
    let text = format!("no execution context was written, the records go into history only: {reason}");
    let (file, pointer) = super::place(d, &d.records.list[counted[0]]);
    let raised = d.notes.raise(Code::VerificationUnproven, pointer, text);
    raised.file = Some(file);
    Ok(None)
}

/// A version 1 record stands in Evidence beside an old one in `worktrees[]`.
fn raise_second_record(d: &mut RecordsDraft<'_>) -> bool {
    let twice: Vec<usize> = (0..d.records.list.len())
        .filter(|n| {
            let record = &d.records.list[*n];
            matches!(record.source, Source::Worktrees(_)) && d.records.current.contains(&record.ticket)
        })
        .collect();
    for n in &twice {
        let ticket = d.records.list[*n].ticket.clone();
        let text =
            format!("{ticket} has an old record in worktrees[] and a version 1 record in its Evidence");
        super::raise_at(
            d,
            *n,
            Code::ConflictingRecord,
            text,
            vec!["remove the one that is not true, then run again".into()],
        );
    }
    !twice.is_empty()
}

/// Version 3 and 4 records have no candidate gate and no E2E disposition to carry.
pub(super) fn raise_history_only(d: &mut RecordsDraft<'_>, standings: &[Standing]) {
    let status =
        d.change.status_doc().and_then(|s| s.value().get("change_status")?.as_str()).unwrap_or_default();
    let old: Vec<String> = (0..standings.len())
        .filter(|n| standings[*n] == Standing::Finished && !d.records.list[*n].is_gated)
        .map(|n| d.records.list[n].ticket.clone())
        .collect();
    if old.is_empty() || !matches!(status, "active" | "blocked") {
        return;
    }
    let (go, record) = if old.len() == 1 { ("goes", "its record has") } else { ("go", "their records have") };
    let text = format!(
        "{} {go} into history only: {record} no candidate gate and no E2E disposition",
        old.join(", ")
    );
    d.notes.raise(Code::HistoryOnly, Some(Pointer::new(["worktrees"])), text).file =
        Some(d.change.path(".status.json"));
}

/// Write one record's section, or leave it to history.
fn write(d: &mut RecordsDraft<'_>, n: usize, goal: Goal, workspace: &Workspace) {
    let record = d.records.list[n].clone();
    if goal == Goal::HistoryOnly {
        return unwrite(d, n);
    }
    let has_evidence = d.change.evidence.contains_key(&record.ticket);
    if goal == Goal::Record && !has_evidence {
        let text = format!("{} goes into history only: it has no Evidence file", record.ticket);
        super::raise_at(d, n, Code::VerificationUnproven, text, Vec::new());
        return;
    }
    let value = match goal {
        Goal::Continued => continued(d, n, &record),
        _ => finished(d, n, &record, workspace),
    };
    book(d, &record, &value);
    let json = serde_json::to_string_pretty(&value).unwrap_or_default();
    let section =
        format!("## {SECTION}\n\n```json\n{json}\n```\n\nOld record: history entry {}.\n", id_of(d, &record));
    let replaces = section_of(&record);
    d.evidence.insert(record.ticket.clone(), EvidenceEdit { section, replaces });
}

/// A legacy section whose record goes into history only keeps its heading and names the entry.
fn unwrite(d: &mut RecordsDraft<'_>, n: usize) {
    let record = &d.records.list[n];
    let Some(range) = section_of(record) else { return };
    let section = format!("## {SECTION}\n\nOld record: history entry {}.\n", id_of(d, record));
    let ticket = record.ticket.clone();
    d.evidence.insert(ticket, EvidenceEdit { section, replaces: Some(range) });
}

fn section_of(record: &Record) -> Option<std::ops::Range<usize>> {
    match &record.source {
        Source::Evidence(range) => Some(range.clone()),
        Source::Worktrees(_) => record.twin.clone(),
    }
}

/// The id of the history entry that keeps the old record.
fn id_of(d: &RecordsDraft<'_>, record: &Record) -> String {
    match &record.source {
        Source::Worktrees(i) => {
            entry::id(&d.change.path(".status.json"), &format!("/worktrees/{i}"), &record.bytes)
        }
        Source::Evidence(range) => {
            let file = &d.change.evidence[&record.ticket];
            entry::id(&file.path, "record", &file.bytes[range.clone()])
        }
    }
}

/// A version 1 record of a finished ticket. Nothing is raised above what the old record says itself.
fn finished(d: &mut RecordsDraft<'_>, n: usize, record: &Record, workspace: &Workspace) -> Value {
    let result = record.integration("result_sha");
    let branch = parent(d, record).unwrap_or_else(|| workspace.branch.clone());
    let contained = result.and_then(|r| d.facts?.commits.contains(&branch, r)) == Some(true);
    if let Some(result) = result.filter(|_| !contained) {
        let text = format!(
            "result {result} of {} is not contained in {branch}; it must be reviewed again",
            record.ticket
        );
        super::raise_at(d, n, Code::ResultNotContained, text, Vec::new());
    }
    // A Direct Spec has no ticket file that could say so.
    let is_done =
        record.ticket == DIRECT_SPEC || d.change.tickets.get(&record.ticket).is_some_and(|s| s == "done");
    let is_verified = contained && is_done && says_passed(record);
    let (status, verification) = match record.integration("verification") {
        _ if is_verified => ("verified", "passed"),
        Some("failed") => ("review", "failed"),
        _ => ("review", "pending"),
    };
    v1(record, status, verification, result, record.value.pointer("/integration/e2e").cloned())
}

/// Whether the old record itself says that everything passed.
fn says_passed(record: &Record) -> bool {
    let suite = |name: &str| {
        let at =
            |key: &str| record.value.pointer(&format!("/integration/{name}/{key}")).and_then(Value::as_str);
        match at("status") {
            Some("passed") => true,
            Some("not-required") => at("reason").is_some_and(|r| !r.trim().is_empty()),
            _ => false,
        }
    };
    record.integration("status") == Some("passed")
        && record.integration("verification") == Some("passed")
        && record.integration("promotion_status") == Some("applied")
        && suite("full_suite")
        && suite("e2e")
}

/// A version 1 record of work that goes on.
fn continued(d: &mut RecordsDraft<'_>, n: usize, record: &Record) -> Value {
    let status = match record.status() {
        "active" => "active",
        "blocked" => "blocked",
        _ => "review",
    };
    let own = record.value.pointer("/integration/e2e").filter(|e| e.is_object()).cloned();
    let decided = decide::of(d, &record.ticket).and_then(|t| t.e2e.clone()).map(
        |e| json!({"required": e.required, "status": e.status, "reason": e.reason, "evidence": e.evidence}),
    );
    let e2e = own.or(decided).unwrap_or_else(|| {
        let text =
            format!("nobody decided whether {} needs E2E; it counts as required and pending", record.ticket);
        super::raise_at(d, n, Code::E2eUndecided, text, Vec::new());
        json!({"required": true, "status": "pending", "reason": null, "evidence": null})
    });
    v1(record, status, "pending", record.text("source_checkpoint"), Some(e2e))
}

fn v1(
    record: &Record,
    status: &str,
    verification: &str,
    checkpoint: Option<&str>,
    e2e: Option<Value>,
) -> Value {
    let owner = record.text("implementation_owner").or_else(|| record.text("owner")).unwrap_or("unassigned");
    let e2e = e2e.unwrap_or_default();
    let of = |key: &str| e2e.get(key).cloned().unwrap_or_default();
    let mut out = Map::new();
    out.insert("schema_version".into(), json!(1));
    if record.ticket == DIRECT_SPEC {
        out.insert("purpose".into(), json!(DIRECT_SPEC));
        out.insert("change".into(), record.value.get("change").cloned().unwrap_or_default());
    } else {
        out.insert("ticket_id".into(), json!(record.ticket));
    }
    out.insert("workspace_context".into(), json!("README.md#execution-context"));
    out.insert("implementation_owners".into(), json!([owner]));
    out.insert("status".into(), json!(status));
    out.insert("checkpoint".into(), json!(checkpoint));
    let evidence = record.integration("evidence");
    out.insert(
        "verification".into(),
        json!({"status": verification, "evidence": evidence, "e2e": {
            "required": of("required"), "status": of("status"), "reason": of("reason"), "evidence": of("evidence"),
        }}),
    );
    let attempts = record.value.pointer("/integration/attempts").cloned().unwrap_or_else(|| json!(0));
    out.insert("attempts".into(), attempts);
    Value::Object(out)
}

/// Which values of the old record the new one carries.
fn book(d: &mut RecordsDraft<'_>, record: &Record, value: &Value) {
    let Source::Worktrees(i) = record.source else { return };
    let from = Pointer::new(["worktrees"]).join(i);
    let file = d.change.path(&format!("evidence/{}.md", record.ticket));
    let checkpoint = if record.integration("result_sha").is_some() {
        "/integration/result_sha"
    } else {
        "/source_checkpoint"
    };
    let owner =
        if record.text("implementation_owner").is_some() { "/implementation_owner" } else { "/owner" };
    let carried = [
        ("/ticket_id", "/ticket_id"),
        (owner, "/implementation_owners/0"),
        (checkpoint, "/checkpoint"),
        ("/integration/evidence", "/verification/evidence"),
        ("/integration/e2e/required", "/verification/e2e/required"),
        ("/integration/e2e/status", "/verification/e2e/status"),
        ("/integration/e2e/reason", "/verification/e2e/reason"),
        ("/integration/e2e/evidence", "/verification/e2e/evidence"),
        ("/integration/attempts", "/attempts"),
        ("/integration/verification", "/verification/status"),
        ("/status", "/status"),
    ];
    for (old, new) in carried {
        let (Some(was), Some(is)) = (record.value.pointer(old), value.pointer(new)) else { continue };
        let (Some(at), Some(to)) = (Pointer::parse(old), Pointer::parse(new)) else { continue };
        let at = Pointer::new(from.tokens().iter().chain(at.tokens()).cloned());
        let to = Location { file: file.clone(), pointer: to };
        let fate = if was == is {
            Fate::Moved(to)
        } else {
            Fate::Converted { to, rule: "the state of a version 1 record" }
        };
        d.notes.bookings.push(Booking { from: at, fate });
    }
}
