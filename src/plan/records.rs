//! What the step for records makes of Evidence files and the README.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

use super::change::schema_findings;
use super::{Shared, kept_of, placed};
use crate::account::{Account, Booking, Fate, Location};
use crate::doc::content::Content;
use crate::doc::edit::Edits;
use crate::doc::json::Document;
use crate::doc::pointer::Pointer;
use crate::doc::{Fault, line_end_before, position};
use crate::error::{Error, Result};
use crate::finding::{Code, Finding, Place, Scope};
use crate::history::entry::Entry;
use crate::history::write::FileBytes;
use crate::migrations;
use crate::state::artifact::Artifact;
use crate::state::change::Change;
use crate::state::record::{CONTEXT, Record, Records, SECTION, Source, json_fence};
use crate::step::{Cx, EvidenceEdit, EvidencePlace, PastRecord, Raised, RecordsDraft, Run};

/// Files, entries and findings that come from the records.
#[derive(Default)]
pub(super) struct RecordsPlan {
    pub(super) step: &'static str,
    pub(super) clears_worktrees: bool,
    pub(super) bookings: Vec<Booking>,
    pub(super) files: BTreeMap<String, FileBytes>,
    pub(super) entries: Vec<(String, Entry)>,
    /// Of records in Evidence files.
    pub(super) account: Vec<(Location, Fate)>,
    pub(super) kept: usize,
    pub(super) findings: Vec<Finding>,
    /// Findings that matter only when the change is written.
    pub(super) inventory: Vec<Finding>,
    pub(super) usage: Vec<String>,
}

/// Run the step for records on one change.
pub(super) fn plan(
    shared: &Shared<'_>,
    change: &Change,
    cx: &Cx<'_>,
    past: &[PastRecord],
    version: u64,
    ticket_execution: Option<String>,
) -> Result<RecordsPlan> {
    let mut out = RecordsPlan::default();
    let scope = Scope::Change(change.name.clone());
    let records = Records::read(change);
    faults(shared, change, &records, &scope, &mut out);
    if out.findings.iter().any(Finding::stops) {
        return Ok(out);
    }
    for step in migrations::steps(Artifact::ExecutionRecord) {
        let Run::Records(draft_of) = step.run else { continue };
        out.step = step.name;
        let mut draft = draft(shared, change, cx, &records, past, version, ticket_execution.clone());
        draft_of(&mut draft);
        let status = &change.status.file;
        let locate = |p: &Pointer| change.status_doc().and_then(|d| d.find(p)).map(|n| n.range.start);
        let place = |raised: &Raised| {
            let found = placed(shared.request.tree, raised, &status.path, &scope, locate, |at| {
                position(&status.bytes, at)
            });
            in_evidence(change, &records, raised, found)
        };
        out.findings.extend(draft.notes.raised.iter().map(place));
        out.inventory.extend(draft.inventory.iter().map(place));
        out.usage.append(&mut draft.usage);
        if out.findings.iter().any(Finding::stops) {
            return Ok(out);
        }
        out.clears_worktrees = draft.clears_worktrees;
        out.bookings = std::mem::take(&mut draft.notes.bookings);
        write(shared, change, &records, draft, &scope, &mut out)?;
    }
    Ok(out)
}

/// A finding about a record in an Evidence file stands where the record does.
fn in_evidence(change: &Change, records: &Records, raised: &Raised, mut finding: Finding) -> Finding {
    let Some(path) = &raised.file else { return finding };
    let record = records.list.iter().find(|r| {
        matches!(r.source, Source::Evidence(_)) && *path == change.path(&format!("evidence/{}.md", r.ticket))
    });
    if let (Some(record), Some(place)) = (record, finding.place.as_mut())
        && let Some(file) = change.evidence.get(&record.ticket)
    {
        let (line, column) = position(&file.bytes, record.range.start);
        (place.line, place.column) = (Some(line), Some(column));
    }
    finding
}

/// An empty draft over a change's records.
pub(super) fn draft<'a>(
    shared: &'a Shared<'_>,
    change: &'a Change,
    cx: &'a Cx<'a>,
    records: &'a Records,
    past: &'a [PastRecord],
    version: u64,
    ticket_execution: Option<String>,
) -> RecordsDraft<'a> {
    RecordsDraft {
        cx,
        change,
        records,
        past,
        facts: shared.request.facts,
        default_branch: shared.default_branch.as_deref(),
        ticket_execution,
        version,
        kept: Vec::new(),
        clears_worktrees: false,
        evidence: BTreeMap::new(),
        context: None,
        notes: Default::default(),
        inventory: Vec::new(),
        usage: Vec::new(),
    }
}

/// What is wrong with the records themselves.
fn faults(shared: &Shared<'_>, change: &Change, records: &Records, scope: &Scope, out: &mut RecordsPlan) {
    for fault in &records.faults {
        let place = Place {
            file: shared.request.tree.layout.shown(&change.path(&fault.file)),
            line: fault.at.map(|(line, _)| line),
            column: fault.at.map(|(_, column)| column),
            pointer: fault.pointer.clone(),
        };
        let mut finding = Finding::new(fault.code, scope.clone(), Some(place), fault.message.clone());
        if fault.code == Code::ConflictingRecord {
            finding = finding.next("leave one true record of the ticket, then run again");
        }
        out.findings.push(finding);
    }
}

fn write(
    shared: &Shared<'_>,
    change: &Change,
    records: &Records,
    draft: RecordsDraft<'_>,
    scope: &Scope,
    out: &mut RecordsPlan,
) -> Result<()> {
    for (stem, edit) in &draft.evidence {
        evidence(shared, change, stem, edit, scope, out)?;
    }
    if let Some(context) = &draft.context {
        readme(shared, change, context, scope, out)?;
    }
    for kept in &draft.kept {
        let record = &records.list[kept.record];
        let path = change.path(&format!("evidence/{}.md", record.ticket));
        let has_home = change.evidence.contains_key(&record.ticket) || out.files.contains_key(&path);
        let home = if has_home { path.clone() } else { change.path("HISTORY.md") };
        let title = format!("worktree record {}", record.ticket);
        let mut add = |pointer: &str, source: &str, bytes: &[u8], range: (usize, usize)| {
            let mut entry = Entry::new(title.clone(), &[out.step], source, pointer, bytes, range);
            entry.meta.decision.clone_from(&kept.decision);
            out.entries.push((home.clone(), entry));
        };
        if let Source::Worktrees(i) = record.source {
            let range = (record.range.start, record.range.end);
            add(&format!("/worktrees/{i}"), &change.status.file.path, &change.status.file.bytes, range);
        }
        // A section that gave way, with or without a record in it.
        if let (Some(range), Some(file)) = (section_of(record), change.evidence.get(&record.ticket))
            && draft.evidence.contains_key(&record.ticket)
        {
            add("record", &path, &file.bytes, (range.start, range.end));
        }
    }
    Ok(())
}

fn section_of(record: &Record) -> Option<Range<usize>> {
    match (&record.source, &record.twin) {
        (Source::Evidence(section), _) => Some(section.clone()),
        (Source::Worktrees(_), twin) => twin.as_ref().map(|t| t.section.clone()),
    }
}

/// Write a record section into an Evidence file, or make the file.
fn evidence(
    shared: &Shared<'_>,
    change: &Change,
    stem: &str,
    edit: &EvidenceEdit,
    scope: &Scope,
    out: &mut RecordsPlan,
) -> Result<()> {
    let path = change.path(&format!("evidence/{stem}.md"));
    let before = change.evidence.get(stem).map(|f| f.bytes.clone());
    let base: Content = before.clone().unwrap_or_else(|| format!("# Evidence: {stem}\n").into_bytes().into());
    let made = match &edit.place {
        EvidencePlace::Replace(range) => replaced(&base, range.clone(), &edit.text),
        EvidencePlace::IntoSection => into_section(&base, &edit.text),
        EvidencePlace::Append => appended(&base, &edit.text),
    };
    let after = match made {
        Ok(after) => Content::from(after),
        Err(fault) => return refuse(shared, &path, &base, fault, scope, out),
    };
    let record = match json_fence(&after, SECTION) {
        Ok(Some((_, fence))) => Some(
            Document::parse(&after[fence]).map_err(|f| Error::internal(format!("{path}: {}", f.message)))?,
        ),
        Ok(None) => None,
        Err(fault) => return Err(Error::internal(format!("{path}: {}", fault.message))),
    };
    if let Some(record) = &record {
        out.findings.extend(schema_findings(shared, Artifact::ExecutionRecord, record.value(), &path, scope));
    }
    if let Ok(Some((_, fence))) = json_fence(&base, SECTION)
        && let Ok(old) = Document::parse(&base[fence])
    {
        let mut account = Account::open(&path, old.clone());
        let nothing = Document::parse(b"null").map_err(|f| Error::internal(f.message))?;
        let after = record.as_ref().unwrap_or(&nothing);
        account.book(&old, after, &edit.bookings).map_err(Error::internal)?;
        out.account.extend(kept_of(shared.request, &account));
        out.kept += account.kept();
    }
    out.files.insert(path, FileBytes { before, after });
    Ok(())
}

/// Write the context into the README, make the README, or leave an equal context alone.
fn readme(
    shared: &Shared<'_>,
    change: &Change,
    context: &Value,
    scope: &Scope,
    out: &mut RecordsPlan,
) -> Result<()> {
    let path = change.path("README.md");
    let json = serde_json::to_string_pretty(context).unwrap_or_default();
    let section = format!("## {CONTEXT}\n\n```json\n{json}\n```\n");
    let before = change.readme.as_ref().map(|f| f.bytes.clone());
    let base: Content = match &before {
        Some(bytes) => bytes.clone(),
        None => {
            let status = change.status_doc().and_then(|d| d.value().get("change_status")?.as_str());
            let outcome = if status == Some("active") { "\nOutcome: active\n" } else { "" };
            format!("# {}\n{outcome}", change.name).into_bytes().into()
        }
    };
    let there = match base.outline().section(2, CONTEXT) {
        Ok(there) => there,
        Err(fault) => return refuse(shared, &path, &base, fault, scope, out),
    };
    if let Some(there) = there {
        let known = match json_fence(&base, CONTEXT) {
            Ok(known) => known,
            Err(fault) => return refuse(shared, &path, &base, fault, scope, out),
        };
        let value =
            known.and_then(|(_, fence)| Document::parse(&base[fence]).ok()).map(|d| d.value().clone());
        if value.as_ref() != Some(context) {
            let (line, column) = position(&base, there.heading.start);
            let place = Place {
                file: shared.request.tree.layout.shown(&path),
                line: Some(line),
                column: Some(column),
                pointer: None,
            };
            let text = format!("the README holds another execution context than the records give: {context}");
            out.findings.push(
                Finding::new(Code::ConflictingExecutionContext, scope.clone(), Some(place), text)
                    .owner(context.get("owner").and_then(Value::as_str).unwrap_or_default())
                    .next("correct the section, or name the workspace in a decisions file, then run again"),
            );
        }
        return Ok(());
    }
    match appended(&base, &section) {
        Ok(after) => {
            out.findings.extend(schema_findings(shared, Artifact::ExecutionContext, context, &path, scope));
            out.files.insert(path, FileBytes { before, after: after.into() });
            Ok(())
        }
        Err(fault) => refuse(shared, &path, &base, fault, scope, out),
    }
}

fn refuse(
    shared: &Shared<'_>,
    path: &str,
    bytes: &[u8],
    fault: Fault,
    scope: &Scope,
    out: &mut RecordsPlan,
) -> Result<()> {
    let (line, column) = position(bytes, fault.offset);
    let file = shared.request.tree.layout.shown(path);
    let place = Place { file, line: Some(line), column: Some(column), pointer: None };
    out.findings.push(Finding::new(fault.code, scope.clone(), Some(place), fault.message));
    Ok(())
}

fn appended(base: &Content, block: &str) -> std::result::Result<Vec<u8>, Fault> {
    let (at, text) = base.outline().append(base, block)?;
    Ok([&base[..at], &text, &base[at..]].concat())
}

/// A block at the end of a section that is there already.
fn into_section(base: &Content, block: &str) -> std::result::Result<Vec<u8>, Fault> {
    let outline = base.outline();
    let Some(section) = outline.section(2, SECTION)? else { return appended(base, block) };
    let (at, text) = outline.append_to(base, &section, block)?;
    Ok([&base[..at], &text, &base[at..]].concat())
}

/// A section in the place of another, with the line ends of its surroundings.
fn replaced(base: &[u8], range: Range<usize>, block: &str) -> std::result::Result<Vec<u8>, Fault> {
    let end = line_end_before(base, range.start);
    let mut text = block.replace('\n', end);
    // A heading that follows keeps its distance.
    if range.end < base.len() {
        text += end;
    }
    let mut edits = Edits::new();
    edits
        .replace(range.clone(), text)
        .map_err(|e| Fault::new(Code::AmbiguousSection, range.start, e.to_string()))?;
    Ok(edits.apply(base))
}

/// The JSON of a record that stands in history: the value itself, or that in a replaced section.
pub(super) fn past_value(bytes: &[u8]) -> Option<Value> {
    // It was read strictly when it was moved there, and its digest says that it is the same.
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        return Some(value).filter(Value::is_object);
    }
    let bytes = Content::from(bytes);
    let (_, fence) = json_fence(&bytes, SECTION).ok()??;
    Document::parse(&bytes[fence]).ok().map(|d| d.value().clone())
}
