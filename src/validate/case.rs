//! One change as the rules see it: its artifacts parsed once, and what its history tells.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::state::State;
use super::text::Text;
use super::worktrees::Worktree;
use crate::doc::Fault;
use crate::doc::json::Document;
use crate::doc::markdown::Outline;
use crate::doc::pointer::Pointer;
use crate::doc::yaml::Frontmatter;
use crate::history::section::History;
use crate::state::artifact::Artifact;
use crate::state::change::{Change, SourceFile};
use crate::state::papers::TicketFile;
use crate::state::record::{CONTEXT, SECTION, json_fence};

/// What rules about a change look at.
pub(super) struct Case<'a> {
    pub(super) state: &'a State<'a>,
    pub(super) change: &'a Change,
    pub(super) status: Option<Text<'a>>,
    pub(super) plan: Option<Text<'a>>,
    pub(super) tickets: &'a [TicketFile],
    /// The execution context of the README.
    pub(super) context: Option<Text<'a>>,
    /// The records in Evidence files, by stem.
    pub(super) records: BTreeMap<&'a str, EvidenceRecord<'a>>,
    pub(super) past: Past,
    /// Sections of ours that stand twice.
    pub(super) twice: Vec<(&'a SourceFile, Fault)>,
    /// Bodies, read when a rule first asks for them.
    plan_body: OnceCell<Body<'a>>,
    evidence: BTreeMap<&'a str, OnceCell<Body<'a>>>,
}

/// A record in an Evidence file.
pub(super) struct EvidenceRecord<'a> {
    pub(super) text: Text<'a>,
    /// Whether it is of version 1, and not one of the older form.
    pub(super) is_current: bool,
}

/// What the history of a change tells.
#[derive(Default)]
pub(super) struct Past {
    /// Tickets whose record was moved into history.
    pub(super) recorded: BTreeSet<String>,
    /// The change was begun under a change-status older than version 5, and upgraded.
    pub(super) is_upgraded: bool,
    /// The version of the goal plan that was ready before it was upgraded.
    pub(super) ready_plan: Option<u64>,
}

impl<'a> Case<'a> {
    pub(super) fn new(state: &'a State<'a>, change: &'a Change, tickets: &'a [TicketFile]) -> Case<'a> {
        let mut case = Case {
            state,
            change,
            status: Text::json(Artifact::ChangeStatus, &change.status),
            plan: change.plan.as_ref().and_then(|file| Text::header(Artifact::GoalPlan, file)),
            tickets,
            context: None,
            records: BTreeMap::new(),
            past: Past::default(),
            twice: Vec::new(),
            plan_body: OnceCell::new(),
            evidence: change.evidence.keys().map(|stem| (stem.as_str(), OnceCell::new())).collect(),
        };
        if let Some(file) = &change.readme {
            case.context = case.fence(Artifact::ExecutionContext, file, CONTEXT);
        }
        for (stem, file) in &change.evidence {
            if let Some(text) = case.fence(Artifact::ExecutionRecord, file, SECTION) {
                let is_current = text.value().get("schema_version").is_some();
                case.records.insert(stem, EvidenceRecord { text, is_current });
            }
        }
        for file in change.history.iter().chain(change.evidence.values()) {
            match History::read(&file.bytes) {
                Ok(history) => case.past.add(&history, file),
                Err(fault) => case.twice.push((file, fault)),
            }
        }
        case
    }

    /// The change-status is of a version before the release's: the change waits for its upgrade.
    pub(super) fn is_behind(&self) -> bool {
        self.status.as_ref().is_some_and(|s| self.state.is_behind(s))
    }

    /// The records in `worktrees[]`, of version 5 and above.
    pub(super) fn worktrees(&self) -> Vec<Worktree<'_>> {
        let Some(text) = self.status.as_ref().filter(|s| s.version >= 5) else { return Vec::new() };
        let list = Pointer::new(["worktrees"]);
        let items = text.value().get("worktrees").and_then(Value::as_array).into_iter().flatten().enumerate();
        let records = items.filter(|(_, v)| v.is_object());
        records.map(|(i, value)| Worktree { text, at: list.join(i), value }).collect()
    }

    /// The body of the goal plan.
    pub(super) fn plan_body(&self) -> Option<&Body<'a>> {
        let text = self.plan.as_ref()?;
        Some(self.plan_body.get_or_init(|| Body::read(text.file, text.body_start())))
    }

    /// The body of an Evidence file.
    pub(super) fn evidence(&self, stem: &str) -> Option<&Body<'a>> {
        let file = self.change.evidence.get(stem)?;
        Some(self.evidence.get(stem)?.get_or_init(|| Body::of(file)))
    }

    fn fence(&mut self, artifact: Artifact, file: &'a SourceFile, title: &str) -> Option<Text<'a>> {
        let content = match json_fence(&file.bytes, title) {
            Ok(fence) => fence?.1,
            Err(fault) => {
                self.twice.push((file, fault));
                return None;
            }
        };
        let doc = Document::parse(&file.bytes[content.clone()]).ok().filter(|d| d.value().is_object())?;
        let version = doc.value().get("schema_version");
        // Another version than 1 is no violation, it cannot be read.
        let is_readable = version.is_none_or(|v| v.as_u64() == Some(1));
        is_readable.then(|| Text::fence(artifact, 1, file, doc, content.start))
    }
}

impl Past {
    fn add(&mut self, history: &History, file: &SourceFile) {
        let stem = file.path.rsplit_once("/evidence/").and_then(|(_, name)| name.strip_suffix(".md"));
        for entry in &history.entries {
            let (source, pointer) = (entry.meta.source.as_str(), entry.meta.pointer.as_str());
            let is_record = pointer.starts_with("/worktrees/") || pointer == "record";
            if let (true, Some(ticket)) = (is_record, stem) {
                self.recorded.insert(ticket.to_string());
                continue;
            }
            let Ok(bytes) = entry.bytes(&file.bytes) else { continue };
            if is_record {
                self.recorded.extend(ticket_of(&bytes));
            } else if pointer.is_empty() && source.ends_with("/.status.json") {
                let version =
                    Document::parse(&bytes).ok().and_then(|d| d.value().get("schema_version")?.as_u64());
                self.is_upgraded |= version.is_some_and(|v| v < 5);
            } else if pointer == "frontmatter" && source.ends_with("/goal-plan.md") {
                let header = Frontmatter::parse(&bytes).ok();
                self.ready_plan = header.and_then(ready_version).or(self.ready_plan);
            }
        }
    }
}

/// The ticket of an old record: a JSON value, or a section with one.
fn ticket_of(bytes: &[u8]) -> Option<String> {
    let read = |bytes: &[u8]| Document::parse(bytes).ok().map(|d| d.value().clone());
    let value = match read(bytes) {
        Some(value) => value,
        None => read(&bytes[json_fence(&bytes.into(), SECTION).ok()??.1])?,
    };
    value.get("ticket_id")?.as_str().map(str::to_string)
}

/// The version of a plan that could be executed.
fn ready_version(header: Frontmatter) -> Option<u64> {
    let value = header.value();
    let runs = matches!(value.get("status")?.as_str(), Some("ready" | "in_progress"));
    let is_ready = value.get("ready_for_execution").and_then(Value::as_bool) == Some(true);
    (runs || is_ready).then(|| value.get("schema_version")?.as_u64())?
}

/// The Markdown of a file.
pub(super) struct Body<'a> {
    pub(super) file: &'a SourceFile,
    pub(super) outline: Outline,
    start: usize,
}

impl<'a> Body<'a> {
    pub(super) fn of(file: &'a SourceFile) -> Body<'a> {
        Body::read(file, file.bytes.body_start())
    }

    fn read(file: &'a SourceFile, start: usize) -> Body<'a> {
        Body { file, outline: Outline::read(&file.bytes, start), start }
    }

    /// Whether a heading of this level begins with these words.
    pub(super) fn has_heading(&self, level: u8, title: &str) -> bool {
        self.outline.headings.iter().any(|h| h.level == level && h.text.starts_with(title))
    }

    /// The offset and text of the first section whose heading begins with these words.
    pub(super) fn section(&self, level: u8, title: &str) -> Option<(usize, String)> {
        let heading = self.outline.headings.iter().find(|h| h.level == level && h.text.starts_with(title))?;
        let section = self.outline.sections(level, &heading.text);
        let section = section.iter().find(|s| s.heading == heading.range)?;
        let text = String::from_utf8_lossy(&self.file.bytes[section.body.clone()]).into_owned();
        Some((section.body.start, text))
    }

    /// Whether the body holds these words anywhere.
    pub(super) fn contains(&self, words: &str) -> bool {
        crate::doc::contains(&self.file.bytes[self.start..], words.as_bytes())
    }
}
