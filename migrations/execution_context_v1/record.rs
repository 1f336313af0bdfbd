//! Version 1 records and the Evidence sections they stand in (contract.md §3, v1 record; §6, continue).
//!
//! Nothing is raised above what the old record says itself.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::context::{ATTEMPT_LIMIT, Workspace};
use super::convert::{gone, said};
use super::decide;
use crate::account::{Booking, Fate, Location};
use crate::decisions::Action;
use crate::doc::pointer::Pointer;
use crate::finding::Code;
use crate::history::entry;
use crate::state::record::{DIRECT_SPEC, Record, SECTION, Source};
use crate::step::{EvidenceEdit, EvidencePlace, RecordsDraft};

/// What a version 1 record says of the state of the work.
struct State<'a> {
    status: &'a str,
    verification: &'a str,
    /// The member of the old record that becomes the checkpoint.
    checkpoint: &'a str,
    e2e: Value,
}

/// Write the record of a finished ticket.
pub(super) fn finished(d: &mut RecordsDraft<'_>, n: usize, workspace: &Workspace) {
    let record = &d.records.list[n];
    let result = record.integration("result_sha").filter(|r| !r.trim().is_empty());
    let contained = result.and_then(|r| d.facts?.commits.contains(&workspace.branch, r)) == Some(true);
    if let Some(result) = result.filter(|_| !contained) {
        let text = format!(
            "result {result} of {} is not contained in {}; it must be reviewed again",
            record.ticket, workspace.branch
        );
        super::raise_at(d, n, Code::ResultNotContained, text, Vec::new());
    }
    // A Direct Spec has no ticket file that could say so: it stays in review until its change is completed.
    let is_done = d.change.tickets.get(&record.ticket).is_some_and(|s| s == "done");
    let (status, verification) = match record.integration("verification") {
        _ if contained && is_done && says_passed(record) => ("verified", "passed"),
        Some("failed") => ("review", "failed"),
        _ => ("review", "pending"),
    };
    let e2e = record.value.pointer("/integration/e2e").cloned().unwrap_or_default();
    write(d, record, State { status, verification, checkpoint: "/integration/result_sha", e2e });
}

/// Whether the old record itself says that everything passed.
fn says_passed(record: &Record) -> bool {
    let suite = |name: &str| {
        let at = |key: &str| record.value.pointer(&format!("/integration/{name}/{key}"));
        match at("status").and_then(Value::as_str) {
            Some("passed") => true,
            Some("not-required") => said(at("reason")),
            _ => false,
        }
    };
    record.integration("status") == Some("passed")
        && record.integration("verification") == Some("passed")
        && record.integration("promotion_status") == Some("applied")
        && suite("full_suite")
        && suite("e2e")
}

/// Write the record of work that goes on.
pub(super) fn continued(d: &mut RecordsDraft<'_>, n: usize) {
    let record = &d.records.list[n];
    let status = match record.status() {
        "active" => "active",
        "blocked" => "blocked",
        _ => "review",
    };
    let decided = decide::of(d, &record.ticket).and_then(|t| t.e2e.clone()).map(
        |e| json!({"required": e.required, "status": e.status, "reason": e.reason, "evidence": e.evidence}),
    );
    let e2e = disposition(record).or(decided).unwrap_or_else(|| {
        let text =
            format!("nobody decided whether {} needs E2E; it counts as required and pending", record.ticket);
        super::raise_at(d, n, Code::E2eUndecided, text, Vec::new());
        json!({"required": true, "status": "pending", "reason": null, "evidence": null})
    });
    write(d, record, State { status, verification: "pending", checkpoint: "/source_checkpoint", e2e });
}

/// The E2E disposition of a record that has one: all of its members, not the part that version 4 had.
pub(super) fn disposition(record: &Record) -> Option<Value> {
    let e2e = record.value.pointer("/integration/e2e")?;
    ["required", "status", "reason", "evidence"].iter().all(|k| e2e.get(k).is_some()).then(|| e2e.clone())
}

/// A legacy section whose record goes into history only keeps its heading and names the entry.
pub(super) fn unwrite(d: &mut RecordsDraft<'_>, n: usize) {
    let record = &d.records.list[n];
    let Some((section, _)) = section_of(record) else { return };
    let is_retired = decide::of(d, &record.ticket).is_some_and(|t| t.action == Action::Retire);
    let text = format!("## {SECTION}\n\n{}", old_record(d, record));
    let bookings = vec![Booking { from: Pointer::root(), fate: gone(is_retired) }];
    d.evidence.insert(
        record.ticket.clone(),
        EvidenceEdit { text, place: EvidencePlace::Replace(section), bookings },
    );
}

/// The new record, its section, and which values of the old one it carries.
fn write(d: &mut RecordsDraft<'_>, record: &Record, state: State<'_>) {
    let value = v1(d, record, &state);
    let carried = carried(d, record, &value, state.checkpoint);
    if let Source::Worktrees(i) = record.source {
        let base = Pointer::new(["worktrees"]).join(i);
        let moved = carried.iter().map(|b| Booking { from: base.chain(&b.from), fate: b.fate.clone() });
        d.notes.bookings.extend(moved);
    }
    let json = serde_json::to_string_pretty(&value).unwrap_or_default();
    let block = format!("```json\n{json}\n```\n\n{}", old_record(d, record));
    let with_heading = || format!("## {SECTION}\n\n{block}");
    let (text, place) = match section_of(record) {
        Some((section, _)) => (with_heading(), EvidencePlace::Replace(section)),
        None if record.twin.is_some() => (block, EvidencePlace::IntoSection),
        None => (with_heading(), EvidencePlace::Append),
    };
    let mut bookings = vec![Booking { from: Pointer::root(), fate: gone(false) }];
    bookings.extend(carried);
    d.evidence.insert(record.ticket.clone(), EvidenceEdit { text, place, bookings });
}

fn old_record(d: &RecordsDraft<'_>, record: &Record) -> String {
    format!("Old record: history entry {}.\n", id_of(d, record))
}

/// The section of the Evidence file that holds the old record, and the old record in it.
fn section_of(record: &Record) -> Option<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    match (&record.source, &record.twin) {
        (Source::Evidence(section), _) => Some((section.clone(), record.range.clone())),
        (Source::Worktrees(_), Some(twin)) => Some((twin.section.clone(), twin.json.clone()?)),
        (Source::Worktrees(_), None) => None,
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

fn v1(d: &RecordsDraft<'_>, record: &Record, state: &State<'_>) -> Value {
    let owner = record.text(owner_key(record)).unwrap_or(crate::migrations::UNASSIGNED);
    let of = |key: &str| state.e2e.get(key).cloned().unwrap_or_default();
    let at = |pointer: &str| record.value.pointer(pointer).cloned();
    let mut out = Map::new();
    out.insert("schema_version".into(), json!(1));
    if record.ticket == DIRECT_SPEC {
        out.insert("purpose".into(), json!(DIRECT_SPEC));
        out.insert("change".into(), json!(d.change.name));
    } else {
        out.insert("ticket_id".into(), json!(record.ticket));
    }
    out.insert("workspace_context".into(), json!("README.md#execution-context"));
    out.insert("implementation_owners".into(), json!([owner]));
    out.insert("status".into(), json!(state.status));
    out.insert("checkpoint".into(), at(state.checkpoint).unwrap_or_default());
    out.insert(
        "verification".into(),
        json!({
            "status": state.verification,
            "evidence": at("/integration/evidence"),
            "e2e": {
                "required": of("required"), "status": of("status"), "reason": of("reason"), "evidence": of("evidence"),
            },
        }),
    );
    out.insert("attempts".into(), at("/integration/attempts").unwrap_or_else(|| json!(0)));
    Value::Object(out)
}

fn owner_key(record: &Record) -> &'static str {
    if record.text("implementation_owner").is_some() { "implementation_owner" } else { "owner" }
}

/// Which values of the old record the new one carries; the rest is gone.
fn carried(d: &RecordsDraft<'_>, record: &Record, value: &Value, checkpoint: &str) -> Vec<Booking> {
    let file: Arc<str> = d.change.path(&format!("evidence/{}.md", record.ticket)).into();
    let owner = format!("/{}", owner_key(record));
    let mut pairs = vec![
        ("/ticket_id", "/ticket_id"),
        ("/purpose", "/purpose"),
        ("/change", "/change"),
        (&owner, "/implementation_owners/0"),
        (checkpoint, "/checkpoint"),
        ("/integration/evidence", "/verification/evidence"),
        ("/integration/attempts", "/attempts"),
        ("/integration/verification", "/verification/status"),
        ("/status", "/status"),
    ];
    if disposition(record).is_some() {
        pairs.extend([
            ("/integration/e2e/required", "/verification/e2e/required"),
            ("/integration/e2e/status", "/verification/e2e/status"),
            ("/integration/e2e/reason", "/verification/e2e/reason"),
            ("/integration/e2e/evidence", "/verification/e2e/evidence"),
        ]);
    }
    let booking = |(old, new): (&str, &str)| {
        let (was, is) = (record.value.pointer(old)?, value.pointer(new)?);
        let to = Location { file: Arc::clone(&file), pointer: Pointer::parse(new)? };
        let fate = match was == is {
            true => Fate::Moved(to),
            false => Fate::Converted { to, rule: "the state of a version 1 record" },
        };
        Some(Booking { from: Pointer::parse(old)?, fate })
    };
    let mut bookings: Vec<Booking> = pairs.into_iter().filter_map(booking).collect();
    let limit = Pointer::new([ATTEMPT_LIMIT]);
    if d.context.as_ref().is_some_and(|c| c.get(ATTEMPT_LIMIT).is_some()) {
        let to = Location { file: d.change.path("README.md").into(), pointer: limit.clone() };
        bookings.push(Booking { from: limit, fate: Fate::Moved(to) });
    }
    bookings
}
