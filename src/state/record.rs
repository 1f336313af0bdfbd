//! Worktree records of a change, from both places they stand in (contract.md §3, Sources).
//!
//! `worktrees[]` of a change-status, and the JSON fence of an Evidence file's
//! `## Workspace Execution Record` that is not a version 1 record. Equal records of one ticket are one.

use std::ops::Range;

use serde_json::Value;

use super::change::{Change, is_ticket_id};
use crate::doc::content::Content;
use crate::doc::json::{Document, Kind, Node};
use crate::doc::pointer::Pointer;
use crate::doc::{Fault, contains, position};
use crate::finding::Code;

/// The section of an Evidence file that holds a record.
pub const SECTION: &str = "Workspace Execution Record";
/// The section of a README that holds the execution context.
pub const CONTEXT: &str = "Execution Context";
/// The name a Direct Spec's record goes by, as its Evidence file does.
pub const DIRECT_SPEC: &str = "direct-spec";

/// A branch without `refs/heads/`.
pub fn short_branch(name: String) -> String {
    name.strip_prefix("refs/heads/").map(str::to_string).unwrap_or(name)
}

/// Where a record stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// `worktrees[i]`.
    Worktrees(usize),
    /// A section of an Evidence file: the whole section.
    Evidence(Range<usize>),
}

/// A record as it is on disk.
#[derive(Debug, Clone)]
pub struct Record {
    /// `T-NN` or `direct-spec`.
    pub ticket: String,
    /// Where it stands.
    pub source: Source,
    /// The bytes of its JSON value in the file it stands in.
    pub range: Range<usize>,
    /// Those bytes.
    pub bytes: Vec<u8>,
    /// What it says.
    pub value: Value,
    /// Whether it has the candidate gate and E2E disposition of version 5 and above.
    pub is_gated: bool,
    /// A section of the Evidence file that gives way to the new record: one that holds the same record
    /// as `worktrees[]`, or none at all.
    pub twin: Option<Twin>,
}

/// A record section beside a record in `worktrees[]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twin {
    /// The whole section.
    pub section: Range<usize>,
    /// The JSON value in it; `None`: only text, which stays.
    pub json: Option<Range<usize>>,
}

/// A record that an earlier run moved into history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastRecord {
    /// What it said.
    pub value: Value,
    /// The branch tip a decision wrote down.
    pub branch_tip: Option<String>,
}

/// Something wrong with a record, and in which file (below the change).
#[derive(Debug, Clone)]
pub struct RecordFault {
    /// The code.
    pub code: Code,
    /// File below the change's folder.
    pub file: String,
    /// Line and column.
    pub at: Option<(usize, usize)>,
    /// Pointer into the file, when the file is JSON.
    pub pointer: Option<String>,
    /// What is wrong.
    pub message: String,
}

/// The records of a change.
#[derive(Debug, Clone, Default)]
pub struct Records {
    /// All of them, those of `worktrees[]` first, in file order.
    pub list: Vec<Record>,
    /// Evidence files that hold a version 1 record already, by stem.
    pub current: Vec<String>,
    /// The execution context of the README, when there is one.
    pub context: Option<Value>,
    /// Records that earlier runs moved into history.
    pub past: Vec<PastRecord>,
    /// What is wrong with them.
    pub faults: Vec<RecordFault>,
}

impl Record {
    /// A text field.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.value.get(key).and_then(Value::as_str)
    }

    /// A text field of `integration`.
    pub fn integration(&self, key: &str) -> Option<&str> {
        self.value.get("integration")?.get(key)?.as_str()
    }

    /// `source_checkpoint`, when it says anything.
    pub fn checkpoint(&self) -> Option<&str> {
        self.text("source_checkpoint").filter(|c| !c.trim().is_empty())
    }

    /// What `branch` names, without `refs/heads/`.
    pub fn branch(&self) -> Option<String> {
        self.text("branch").filter(|b| !b.is_empty()).map(|b| short_branch(b.to_string()))
    }

    /// `status`, empty when there is none.
    pub fn status(&self) -> &str {
        self.text("status").unwrap_or_default()
    }

    /// Everybody the record names as owner, in order and once.
    pub fn owners(&self) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        for key in ["implementation_owner", "owner", "integration_owner"] {
            if let Some(name) = self.text(key).map(str::trim).filter(|n| !n.is_empty())
                && !out.iter().any(|o| o == name)
            {
                out.push(name.to_string());
            }
        }
        out
    }
}

impl Records {
    /// Collect the records of a change.
    pub fn read(change: &Change) -> Records {
        let mut records = Records::default();
        if let Some(doc) = change.status_doc() {
            records.of_status(doc);
        }
        for (stem, file) in &change.evidence {
            if let Err(fault) = records.of_evidence(change, stem, &file.bytes) {
                let at = Some(position(&file.bytes, fault.offset));
                records.fault(fault.code, format!("evidence/{stem}.md"), at, None, fault.message);
            }
        }
        if let Some(readme) = &change.readme {
            match context(&readme.bytes) {
                Ok(context) => records.context = context,
                Err(fault) => {
                    let at = Some(position(&readme.bytes, fault.offset));
                    records.fault(fault.code, "README.md".into(), at, None, fault.message);
                }
            }
        }
        let tickets = records.list.iter().any(|r| r.ticket != DIRECT_SPEC)
            || records.current.iter().any(|s| s != DIRECT_SPEC);
        let direct = records.list.iter().any(|r| r.ticket == DIRECT_SPEC)
            || records.current.iter().any(|s| s == DIRECT_SPEC);
        if tickets && direct {
            let text = "the change has records of tickets and of a Direct Spec; only one kind may be";
            let file = format!("evidence/{DIRECT_SPEC}.md");
            records.fault(Code::ConflictingRecord, file, None, None, text.into());
        }
        records
    }

    fn of_status(&mut self, doc: &Document) {
        let list = Pointer::new(["worktrees"]);
        // Only the records are read as values: the whole of the document may not be needed.
        let Some(Kind::Array(items)) = doc.find(&list).map(|node| &node.kind) else { return };
        for (i, node) in items.iter().enumerate() {
            let at = list.join(i);
            let value = doc.value_of(node);
            let fault = |records: &mut Records, code, text: String| {
                let here = Some(position(doc.bytes(), node.range.start));
                records.fault(code, ".status.json".into(), here, Some(at.to_string()), text);
            };
            let Some(ticket) = value.get("ticket_id").and_then(Value::as_str).filter(|t| is_ticket_id(t))
            else {
                fault(
                    self,
                    Code::SchemaViolation,
                    "a worktree record needs a ticket_id of the form T-NN".into(),
                );
                continue;
            };
            if let Some(text) = leads_out(&value) {
                fault(self, Code::OutsideRoot, text);
                continue;
            }
            if let Some(n) = self.list.iter().position(|r| r.ticket == ticket) {
                fault(
                    self,
                    Code::ConflictingRecord,
                    format!("{ticket} has a second record; the first is worktrees[{n}]"),
                );
                continue;
            }
            self.list.push(Record {
                ticket: ticket.to_string(),
                source: Source::Worktrees(i),
                range: node.range.clone(),
                bytes: doc.raw(node).to_vec(),
                is_gated: is_gated(node),
                value,
                twin: None,
            });
        }
    }

    fn of_evidence(&mut self, change: &Change, stem: &str, bytes: &Content) -> Result<(), Fault> {
        let Some((section, json)) = record_fence(bytes)? else {
            self.beside_text(stem, bytes)?;
            return Ok(());
        };
        let doc = Document::parse(&bytes[json.clone()])
            .map_err(|f| Fault { offset: f.offset + json.start, ..f })?;
        let value = doc.value().clone();
        known_version(&doc, "execution-record", json.start)?;
        if is_current(&value) {
            self.current.push(stem.to_string());
            return Ok(());
        }
        let fault = |code, text: String| Err(Fault::new(code, json.start, text));
        if let Some(text) = leads_out(&value) {
            return fault(Code::OutsideRoot, text);
        }
        let ticket = if value.get("purpose").and_then(Value::as_str) == Some(DIRECT_SPEC) {
            DIRECT_SPEC
        } else {
            value.get("ticket_id").and_then(Value::as_str).unwrap_or_default()
        };
        if ticket != stem {
            return fault(
                Code::ConflictingRecord,
                format!("the record names {ticket:?}, its Evidence file {stem:?}"),
            );
        }
        if let Some(name) = value.get("change").filter(|name| **name != change.name.as_str()) {
            let text = format!("the record is about change {name}, but the folder is {}", change.name);
            return fault(Code::ChangeNameMismatch, text);
        }
        let node = doc.root().range.clone();
        let range = json.start + node.start..json.start + node.end;
        if let Some(known) = self.list.iter_mut().find(|r| r.ticket == ticket) {
            if known.value != value {
                return fault(Code::ConflictingRecord, format!("{ticket} has another record in worktrees[]"));
            }
            known.twin = Some(Twin { section, json: Some(range) });
            return Ok(());
        }
        self.list.push(Record {
            ticket: ticket.to_string(),
            source: Source::Evidence(section),
            bytes: bytes[range.clone()].to_vec(),
            range,
            is_gated: is_gated(doc.root()),
            value,
            twin: None,
        });
        Ok(())
    }

    /// A section without a record: a new one is written into it, not beside it.
    fn beside_text(&mut self, stem: &str, bytes: &Content) -> Result<(), Fault> {
        let Some(record) = self.list.iter_mut().find(|r| r.ticket == stem) else { return Ok(()) };
        if contains(bytes, SECTION.as_bytes())
            && let Some(section) = bytes.outline().section(2, SECTION)?
        {
            record.twin = Some(Twin { section: section.heading.start..section.body.end, json: None });
        }
        Ok(())
    }

    fn fault(
        &mut self,
        code: Code,
        file: String,
        at: Option<(usize, usize)>,
        pointer: Option<String>,
        message: String,
    ) {
        self.faults.push(RecordFault { code, file, at, pointer, message });
    }
}

/// A section of level 2 and, within it, the content of its one `json` fence.
pub type Fenced = (Range<usize>, Range<usize>);

/// The record section of an Evidence file and the content of its JSON fence; `None` when there is no
/// section. A section without a fence holds no record either.
pub fn record_fence(bytes: &Content) -> Result<Option<Fenced>, Fault> {
    json_fence(bytes, SECTION)
}

/// A section of level 2 and the content of its one `json` fence.
pub fn json_fence(bytes: &Content, title: &str) -> Result<Option<Fenced>, Fault> {
    if !contains(bytes, title.as_bytes()) {
        return Ok(None);
    }
    let outline = bytes.outline();
    let Some(section) = outline.section(2, title)? else { return Ok(None) };
    let fences = outline.fences(&section.body);
    let mut json = fences.iter().filter(|f| f.info.split_whitespace().next() == Some("json"));
    let Some(fence) = json.next() else { return Ok(None) };
    if let Some(second) = json.next() {
        let text = format!("the section `## {title}` holds more than one json fence");
        return Err(Fault::new(Code::AmbiguousSection, second.range.start, text));
    }
    Ok(Some((section.heading.start..section.body.end, fence.content.clone())))
}

/// The execution context of a README; what is no context is found out when one is to be written.
fn context(readme: &Content) -> Result<Option<Value>, Fault> {
    let Ok(Some((_, json))) = json_fence(readme, CONTEXT) else { return Ok(None) };
    let Ok(doc) = Document::parse(&readme[json.clone()]) else { return Ok(None) };
    known_version(&doc, "execution-context", json.start)?;
    Ok(Some(doc.value().clone()).filter(Value::is_object))
}

/// A version above 1 is newer than any known one; what is no integer is no version (contract.md §1).
fn known_version(doc: &Document, what: &str, base: usize) -> Result<(), Fault> {
    let Some(node) = doc.find(&Pointer::new(["schema_version"])) else { return Ok(()) };
    let text = String::from_utf8_lossy(doc.raw(node)).into_owned();
    let fault = |code, text| Err(Fault::new(code, base + node.range.start, text));
    match doc.value().get("schema_version").and_then(Value::as_u64) {
        Some(1) => Ok(()),
        Some(n) if n > 1 => fault(
            Code::NewerVersion,
            format!("{what} version {n} was made by a newer tool; this one knows 1 at most, upgrade it"),
        ),
        _ => fault(Code::UnsupportedVersion, format!("schema_version {text} of the {what} is not 1")),
    }
}

/// Why a path of a record may not be looked at.
fn leads_out(value: &Value) -> Option<String> {
    let is_out = |text: &str| {
        text.starts_with('/') || text.split(['/', '\\']).any(|part| part == "..") || text.contains('\0')
    };
    let refs = [
        ("workspace_ref", value.get("workspace_ref")),
        ("candidate_workspace_ref", value.pointer("/integration/candidate_workspace_ref")),
    ];
    let out = refs.into_iter().find_map(|(key, v)| Some((key, v?.as_str().filter(|p| is_out(p))?)));
    out.map(|(key, path)| format!("{key} {path:?} leads out of the project"))
}

/// Whether a record is of version 1.
fn is_current(value: &Value) -> bool {
    value.get("schema_version").and_then(Value::as_u64) == Some(1) && value.get("workspace_context").is_some()
}

/// Whether a record has the members of version 5 and above: candidate gate and E2E disposition.
pub(super) fn is_gated(record: &Node) -> bool {
    let Some(integration) = record.member("integration") else { return false };
    ["candidate_tree_sha", "full_suite", "promotion_status"]
        .iter()
        .all(|k| integration.value.member(k).is_some())
        && integration.value.member("e2e").is_some_and(|e2e| e2e.value.member("reason").is_some())
}
