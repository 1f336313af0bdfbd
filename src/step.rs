//! What a migration step is: a value that says which artifact it takes from which versions to which,
//! and a pure function that drafts the edits (contract.md §2).
//!
//! A draft collects typed operations, bookings for the value account and findings. It cannot read a
//! file, look at a clock or print. The engine (`plan`) never names a step.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::Value;

use crate::account::{Booking, Fate, Location};
use crate::decisions::{ChangeDecision, Decisions};
use crate::doc::json::{self, Document};
use crate::doc::markdown::Outline;
use crate::doc::pointer::Pointer;
use crate::doc::yaml::{self, Frontmatter};
use crate::facts::Facts;
use crate::finding::Code;
use crate::history::entry::Decided;
use crate::schema;
use crate::state::artifact::Artifact;
use crate::state::change::Change;
use crate::state::index::{Entry, Index};
use crate::state::record::Records;

pub use crate::state::record::PastRecord;

/// A step of the chain.
#[derive(Debug)]
pub struct Step {
    /// Name of its folder below `migrations/`.
    pub name: &'static str,
    /// What it changes.
    pub artifact: Artifact,
    /// Versions it accepts.
    pub from: &'static [u64],
    /// The version it writes; `None` for a step that does not renumber.
    pub to: Option<u64>,
    /// One line for `specdev-migrate steps`.
    pub summary: &'static str,
    /// Its page: the README beside it.
    pub page: &'static str,
    /// The work.
    pub run: Run,
}

/// The three shapes of a step.
#[derive(Debug, Clone, Copy)]
pub enum Run {
    /// Edits a JSON artifact.
    Json(fn(&mut JsonDraft<'_>)),
    /// Edits a goal plan.
    Plan(fn(&mut PlanDraft<'_>)),
    /// Turns worktree records into execution records and contexts.
    Records(fn(&mut RecordsDraft<'_>)),
}

/// A release one can upgrade to.
#[derive(Debug)]
pub struct Release {
    /// Its number.
    pub name: &'static str,
    /// The newest version it writes, per artifact.
    pub targets: &'static [(Artifact, u64)],
}

impl Release {
    /// The target version of an artifact; `None` when the release does not know it.
    pub fn target(&self, artifact: Artifact) -> Option<u64> {
        self.targets.iter().find(|(a, _)| *a == artifact).map(|(_, v)| *v)
    }

    /// Whether work is recorded as one execution context per change.
    pub fn has_contexts(&self) -> bool {
        self.target(Artifact::ExecutionContext).is_some()
    }
}

/// Limits of the configuration (contract.md §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many implement at a time, at most 3.
    pub implementation_agents: u64,
    /// How often an integration is tried, at most 3.
    pub integration_attempts: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { implementation_agents: 3, integration_attempts: 3 }
    }
}

/// What a step may look at beside its own artifact.
pub struct Cx<'a> {
    /// The release that is the goal.
    pub release: &'a Release,
    /// Limits of the configuration.
    pub limits: Limits,
    /// The owner's answers.
    pub decisions: &'a Decisions,
    /// The change, for artifacts of one.
    pub change: Option<&'a Change>,
    /// The change's lead, by the contract's search order; `None` when nobody is named.
    pub lead: Option<String>,
    /// What the index says of the change.
    pub entry: Option<&'a Entry>,
    /// The id a history entry of this file will have, by pointer.
    pub entry_id: &'a dyn Fn(&str) -> String,
    /// For the index: what became of the changes.
    pub settled: &'a BTreeMap<String, Settled>,
    /// Names of archived changes.
    pub archived: &'a BTreeSet<String>,
}

impl Cx<'_> {
    /// The decisions about the change at hand.
    pub fn decision(&self) -> Option<&ChangeDecision> {
        self.decisions.change(&self.change?.name)
    }
}

/// What the run makes of a listed change, as far as the index must know.
#[derive(Debug, Clone, Default)]
pub struct Settled {
    /// Of the change-status as it will be, the members in `taken`; `None` when the change stays as it is for a fault of its own.
    pub status: Option<Value>,
    /// Which index values went into it (members of `state::index::VALUES`).
    pub taken: BTreeSet<&'static str>,
    /// The index keeps this entry byte for byte, and its own number.
    pub held: bool,
    /// The change was version 5 or above before the run.
    pub newer: bool,
}

/// A finding of a step, placed by pointer.
#[derive(Debug, Clone)]
pub struct Raised {
    /// Its code.
    pub code: Code,
    /// Where, in the version the step was given.
    pub pointer: Option<Pointer>,
    /// What happened.
    pub message: String,
    /// Lines to type next.
    pub next: Vec<String>,
    /// The change it is about, when an index finding is about one.
    pub change: Option<String>,
    /// Who must act.
    pub owners: Vec<String>,
    /// The file below `specdev/` when it is not the artifact itself.
    pub file: Option<String>,
}

/// What every draft collects.
#[derive(Debug, Default)]
pub struct Notes {
    /// For the value account.
    pub bookings: Vec<Booking>,
    /// Findings.
    pub raised: Vec<Raised>,
}

impl Notes {
    /// Report something.
    pub fn raise(&mut self, code: Code, pointer: Option<Pointer>, message: impl Into<String>) -> &mut Raised {
        self.raised.push(Raised {
            code,
            pointer,
            message: message.into(),
            next: Vec::new(),
            change: None,
            owners: Vec::new(),
            file: None,
        });
        self.raised.last_mut().unwrap_or_else(|| unreachable!("just pushed"))
    }

    fn book(&mut self, from: Pointer, fate: Fate) {
        self.bookings.push(Booking { from, fate });
    }
}

/// The draft of edits to a JSON artifact.
pub struct JsonDraft<'a> {
    /// What else may be looked at.
    pub cx: &'a Cx<'a>,
    /// The document as the previous step left it.
    pub doc: &'a Document,
    /// Path below `specdev/`.
    pub file: &'a str,
    /// Operations so far.
    pub ops: Vec<json::Op>,
    /// Bookings and findings so far.
    pub notes: Notes,
}

impl<'a> JsonDraft<'a> {
    /// An empty draft.
    pub fn new(cx: &'a Cx<'a>, doc: &'a Document, file: &'a str) -> JsonDraft<'a> {
        JsonDraft { cx, doc, file, ops: Vec::new(), notes: Notes::default() }
    }

    /// The value at a pointer written as text.
    pub fn get(&self, pointer: &str) -> Option<&'a Value> {
        self.doc.value().pointer(pointer)
    }

    /// A place in this file.
    pub fn here(&self, pointer: Pointer) -> Location {
        Location { file: self.file.into(), pointer }
    }

    /// Write a new version number.
    pub fn renumber(&mut self, version: u64) {
        self.convert(&Pointer::new(["schema_version"]), version.into(), "the version number");
    }

    /// Replace a value by what a rule makes of it.
    pub fn convert(&mut self, at: &Pointer, value: Value, rule: &'static str) {
        let to = self.here(at.clone());
        self.notes.book(at.clone(), Fate::Converted { to, rule });
        self.ops.push(json::Op::Replace { at: at.clone(), value });
    }

    /// Rename a member where it stands; its value may be converted at the same time.
    pub fn rename(&mut self, at: &Pointer, key: &str, converted: Option<(Value, &'static str)>) {
        let Some((parent, _)) = at.split_last() else { return };
        let to = self.here(parent.join(key));
        self.ops.push(json::Op::Rename { at: at.clone(), key: key.into() });
        match converted {
            None => self.notes.book(at.clone(), Fate::Moved(to)),
            Some((value, rule)) => {
                self.notes.book(at.clone(), Fate::Converted { to, rule });
                self.ops.push(json::Op::Replace { at: at.clone(), value });
            }
        }
    }

    /// Remove a value for which the new version has no place by contract.
    pub fn retire(&mut self, at: &Pointer, rule: &'static str) {
        self.notes.book(at.clone(), Fate::Retired { rule });
        self.ops.push(json::Op::Remove { at: at.clone() });
    }

    /// Remove a value that stands elsewhere now.
    pub fn remove_as(&mut self, at: &Pointer, fate: Fate) {
        self.notes.book(at.clone(), fate);
        self.ops.push(json::Op::Remove { at: at.clone() });
    }

    /// Book without an edit of its own, for values inside something that is edited as a whole.
    pub fn book(&mut self, from: Pointer, fate: Fate) {
        self.notes.book(from, fate);
    }

    /// Add a member of the root, after its nearest predecessor in the schema's order.
    pub fn insert(&mut self, key: &str, value: Value, artifact: Artifact, version: u64) {
        let order = schema::order(artifact, version);
        let after = order.iter().take_while(|k| *k != key).cloned().collect();
        self.ops.push(json::Op::Insert { into: Pointer::root(), key: key.into(), value, after });
    }

    /// Members of an object that the new version does not know: accepted by a decision, or a blocker.
    pub fn close(&mut self, object: &Pointer, known: &[&str]) {
        let Some(Value::Object(members)) = object.get(self.doc.value()) else { return };
        for key in members.keys().filter(|k| !known.contains(&k.as_str())) {
            let at = object.join(key);
            let name = format!("{}#{at}", self.file);
            if self.cx.decisions.accepts(&name) {
                self.remove_as(&at, Fate::Accepted);
            } else {
                unmapped(&mut self.notes, at, key, &name);
            }
        }
    }
}

fn unmapped(notes: &mut Notes, at: Pointer, key: &str, name: &str) {
    let message = format!("`{key}` has no place in the new version");
    let raised = notes.raise(Code::UnmappedField, Some(at), message);
    let lines = ["accept_unmapped:".into(), format!("  - {}", Value::from(name))];
    raised.next = decide("to let it go into history only", &lines);
}

/// Lines that make a decisions file, after a sentence of what they decide.
pub fn decide(why: &str, lines: &[String]) -> Vec<String> {
    let intro = format!("{why}, put this into a file and run again with --decisions FILE:");
    [intro, "schema_version: 1".into()].into_iter().chain(lines.iter().cloned()).collect()
}

/// The draft of edits to a goal plan.
pub struct PlanDraft<'a> {
    /// What else may be looked at.
    pub cx: &'a Cx<'a>,
    /// The file as the previous step left it.
    pub bytes: &'a [u8],
    /// Its header.
    pub header: &'a Frontmatter,
    /// Its body.
    pub outline: &'a Outline,
    /// Path below `specdev/`.
    pub file: &'a str,
    /// The version on disk, which may be older than the one the step was given.
    pub version_on_disk: u64,
    /// Operations on the header so far.
    pub ops: Vec<yaml::Op>,
    /// Sections that leave the body for history: heading and range.
    pub moved: Vec<(String, Range<usize>)>,
    /// A block to append at the end of the file.
    pub appended: Option<String>,
    /// Bookings and findings so far.
    pub notes: Notes,
}

impl<'a> PlanDraft<'a> {
    /// The value of a key of the header.
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.header.value().get(key)
    }

    /// The text of a key of the header.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key).and_then(Value::as_str)
    }

    fn here(&self, key: &str) -> Location {
        Location { file: self.file.into(), pointer: Pointer::new([key]) }
    }

    /// Write a new version number.
    pub fn renumber(&mut self, version: u64) {
        self.convert("schema_version", version.into(), "the version number");
    }

    /// Replace a value by what a rule makes of it; a value that is already so is left alone.
    pub fn convert(&mut self, key: &str, value: Value, rule: &'static str) {
        if self.get(key) == Some(&value) {
            return;
        }
        self.notes.book(Pointer::new([key]), Fate::Converted { to: self.here(key), rule });
        self.ops.push(yaml::Op::Replace { key: key.into(), value });
    }

    /// Rename a key where it stands.
    pub fn rename(&mut self, key: &str, to: &str) {
        self.notes.book(Pointer::new([key]), Fate::Moved(self.here(to)));
        self.ops.push(yaml::Op::Rename { key: key.into(), to: to.into() });
    }

    /// Remove a key for which the new version has no place by contract.
    pub fn retire(&mut self, key: &str, rule: &'static str) {
        self.notes.book(Pointer::new([key]), Fate::Retired { rule });
        self.ops.push(yaml::Op::Remove { key: key.into() });
    }

    /// Remove items of a list by their text.
    pub fn retire_items(&mut self, key: &str, item: &str, rule: &'static str) {
        let Some(Value::Array(items)) = self.get(key) else { return };
        let list = Pointer::new([key]);
        let mut left = 0;
        for (i, value) in items.iter().enumerate() {
            if value.as_str() == Some(item) {
                self.notes.book(list.join(i), Fate::Retired { rule });
            } else {
                if left != i {
                    let to = Location { file: self.file.into(), pointer: list.join(left) };
                    self.notes.book(list.join(i), Fate::Moved(to));
                }
                left += 1;
            }
        }
        if left != items.len() {
            self.ops.push(yaml::Op::RemoveItems { key: key.into(), items: vec![item.into()] });
        }
    }

    /// Add a key before `ready_for_execution`; one that is there already stays as it is.
    pub fn insert(&mut self, key: &str, value: Value) {
        if self.get(key).is_none() {
            let before = "ready_for_execution".to_string();
            self.ops.push(yaml::Op::Insert { key: key.into(), value, before });
        }
    }

    /// Keys that the new version does not know: accepted by a decision, or a blocker.
    pub fn close(&mut self, known: &[&str]) {
        let Some(members) = self.header.value().as_object() else { return };
        for key in members.keys().filter(|k| !known.contains(&k.as_str())) {
            let at = Pointer::new([key.as_str()]);
            let name = format!("{}#{at}", self.file);
            if self.cx.decisions.accepts(&name) {
                self.notes.book(at, Fate::Accepted);
                self.ops.push(yaml::Op::Remove { key: key.clone() });
            } else {
                unmapped(&mut self.notes, at, key, &name);
            }
        }
    }
}

/// The draft of what becomes of a change's worktree records.
pub struct RecordsDraft<'a> {
    /// What else may be looked at.
    pub cx: &'a Cx<'a>,
    /// The change.
    pub change: &'a Change,
    /// Its records as they are on disk.
    pub records: &'a Records,
    /// Records that earlier runs moved into history.
    pub past: &'a [PastRecord],
    /// What git shows; `None` without a repository.
    pub facts: Option<&'a Facts>,
    /// `git.default_branch` of the configuration.
    pub default_branch: Option<&'a str>,
    /// The goal plan's `ticket_execution` as it will be.
    pub ticket_execution: Option<String>,
    /// The version of the change-status on disk.
    pub version: u64,
    /// Records that go into history.
    pub kept: Vec<KeptRecord>,
    /// Whether `worktrees` becomes `[]`.
    pub clears_worktrees: bool,
    /// Record sections to write, by Evidence stem.
    pub evidence: BTreeMap<String, EvidenceEdit>,
    /// The execution context to write.
    pub context: Option<Value>,
    /// Bookings (of the change-status) and findings.
    pub notes: Notes,
    /// Findings that matter only when the run writes the change.
    pub inventory: Vec<Raised>,
    /// Faults of the decisions file.
    pub usage: Vec<String>,
}

/// A record that goes into history.
#[derive(Debug, Clone)]
pub struct KeptRecord {
    /// Position in the records.
    pub record: usize,
    /// The decision that caused it.
    pub decision: Option<Decided>,
}

/// A record section to be written.
#[derive(Debug, Clone)]
pub struct EvidenceEdit {
    /// What to write, with LF line ends: a whole section, or what goes into one.
    pub text: String,
    /// Where.
    pub place: EvidencePlace,
    /// Where the values of a record in that section went; pointers into that record.
    pub bookings: Vec<Booking>,
}

/// Where in an Evidence file a record goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvidencePlace {
    /// To the end of the file, which may not be there yet.
    Append,
    /// In the place of the section with the old record.
    Replace(Range<usize>),
    /// To the end of the section, which holds no record.
    IntoSection,
}

/// What a pre-filled decisions file says of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The change.
    pub change: String,
    /// Its open records.
    pub tickets: Vec<ProposedTicket>,
    /// Worktrees and branches without a record.
    pub accounted: Vec<String>,
    /// The workspace git confirms, or why it does not.
    pub workspace: Result<ProposedWorkspace, String>,
    /// Whether nobody is named who could own the workspace.
    pub needs_lead: bool,
}

/// An open record, with the pins of today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedTicket {
    /// `T-NN` or `direct-spec`.
    pub ticket: String,
    /// Who may confirm.
    pub owners: Vec<String>,
    /// Why it is open.
    pub reasons: Vec<String>,
    /// Digest of the record.
    pub record_sha256: String,
    /// Digest of what git shows.
    pub seen: String,
    /// Whether it needs a decision about E2E to go on.
    pub needs_e2e: bool,
}

/// A workspace to confirm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedWorkspace {
    /// `current` or `worktree`.
    pub policy: &'static str,
    /// `current` or a path below the project root.
    pub locator: String,
    /// Its branch.
    pub branch: String,
    /// Full commit id.
    pub base_sha: String,
}

/// What the index says, in the version a step was given.
pub fn index_of(draft: &JsonDraft<'_>) -> Index {
    Index::read(draft.doc.value())
}
