//! Running the steps of a JSON artifact, and the configuration, which has nothing but that.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde_json::Value;

use super::{ArtifactPlan, Request, Shared, kept_of, placed};
use crate::account::{Account, Booking, Fate, Location};
use crate::doc::json::{Document, Op};
use crate::doc::pointer::Pointer;
use crate::doc::{Lines, position};
use crate::error::{Error, Result};
use crate::finding::{Code, Finding, Place, Scope};
use crate::history::entry::Entry;
use crate::history::write::FileBytes;
use crate::migrations;
use crate::schema::{self, Violation, version_of};
use crate::state::artifact::Artifact;
use crate::state::change::JsonFile;
use crate::state::tree::Tree;
use crate::step::{Cx, JsonDraft, Run, Settled};

/// What is planned for one file of the state itself.
#[derive(Debug, Default)]
pub(super) struct StatePlan {
    pub(super) findings: Vec<Finding>,
    pub(super) artifact: Option<ArtifactPlan>,
    pub(super) file: Option<(String, FileBytes, Entry)>,
    pub(super) account: Vec<(Location, Fate)>,
    pub(super) kept: usize,
}

/// A JSON artifact on its way through the chain.
pub(super) struct Chain<'a> {
    tree: &'a Tree,
    file: &'a JsonFile,
    original: &'a Document,
    artifact: Artifact,
    scope: Scope,
    pub(super) doc: Document,
    pub(super) from: u64,
    pub(super) version: u64,
    pub(super) steps: Vec<&'static str>,
    pub(super) account: Account<Document>,
    pub(super) findings: Vec<Finding>,
    /// A large index may have a finding for each of its entries.
    lines: OnceCell<Lines<'a>>,
}

/// The parsed file with a version this tool can read; otherwise the finding.
pub(super) fn open<'a>(
    tree: &'a Tree,
    file: &'a JsonFile,
    artifact: Artifact,
    scope: &Scope,
) -> std::result::Result<Chain<'a>, Box<Finding>> {
    let shown = tree.layout.shown(&file.file.path);
    let fault = |code, offset: usize, pointer: Option<&str>, text: String| {
        let (line, column) = position(&file.file.bytes, offset);
        let place = Place {
            file: shown.clone(),
            line: Some(line),
            column: Some(column),
            pointer: pointer.map(str::to_string),
        };
        Box::new(Finding::new(code, scope.clone(), Some(place), text))
    };
    let doc = match file.doc() {
        Ok(doc) => doc,
        Err(f) => return Err(fault(f.code, f.offset, f.pointer.as_deref(), f.message.clone())),
    };
    if !doc.value().is_object() {
        return Err(fault(
            Code::InvalidJson,
            doc.root().range.start,
            None,
            "the top level must be an object".into(),
        ));
    }
    let at = Pointer::new(["schema_version"]);
    let found = doc.find(&at);
    let offset = found.map_or(doc.root().range.start, |n| n.range.start);
    let text = found.map(|n| String::from_utf8_lossy(doc.raw(n)).into_owned());
    let version = version_of(artifact, text.as_deref())
        .map_err(|(code, why)| fault(code, offset, Some("/schema_version"), why))?;
    Ok(Chain {
        tree,
        file,
        original: doc,
        artifact,
        scope: scope.clone(),
        doc: doc.clone(),
        from: version,
        version,
        steps: Vec::new(),
        account: Account::open(&file.file.path, doc.clone()),
        findings: Vec::new(),
        lines: OnceCell::new(),
    })
}

impl Chain<'_> {
    /// Run every step that applies. Without `renumbers`, only those that leave the number alone.
    pub(super) fn run(&mut self, cx: &Cx<'_>, target: u64, renumbers: bool) -> Result<()> {
        for step in migrations::steps(self.artifact) {
            let Run::Json(draft_of) = step.run else { continue };
            let applies = match step.to {
                Some(to) => renumbers && to <= target && to > self.version,
                None => true,
            };
            if !applies || !step.from.contains(&self.version) {
                continue;
            }
            let mut draft = JsonDraft::new(cx, &self.doc, &self.file.file.path);
            draft_of(&mut draft);
            let (ops, notes) = (draft.ops, draft.notes);
            let mut stops = false;
            for raised in &notes.raised {
                let finding = self.place(raised);
                stops |= finding.stops();
                self.findings.push(finding);
            }
            if stops {
                return Ok(());
            }
            if ops.is_empty() {
                continue;
            }
            self.edit(&ops, &notes.bookings)?;
            self.steps.push(step.name);
            if let Some(to) = step.to {
                self.version = to;
                self.check(to);
            }
        }
        Ok(())
    }

    /// Apply operations and book them.
    pub(super) fn edit(&mut self, ops: &[Op], bookings: &[Booking]) -> Result<()> {
        let internal = |e: &dyn std::fmt::Display| Error::internal(format!("{}: {e}", self.file.file.path));
        let next = self.doc.edited(ops).map_err(|f| internal(&f.message))?;
        self.account.book(&self.doc, &next, bookings).map_err(|e| internal(&e))?;
        self.doc = next;
        Ok(())
    }

    /// Empty `worktrees` of a version whose records cannot become new ones.
    pub(super) fn set_records_aside(&mut self) -> Result<()> {
        let at = Pointer::new(["worktrees"]);
        let is_old = self.version < super::index::AUTHORITY;
        if !is_old || self.doc.value().pointer("/worktrees/0").is_none() {
            return Ok(());
        }
        let booking = Booking { from: at.clone(), fate: Fate::Retired { rule: "set aside" } };
        self.edit(&[Op::Replace { at, value: Value::Array(Vec::new()) }], &[booking])
    }

    /// Whether a finding keeps this artifact from being written.
    pub(super) fn is_stopped(&self) -> bool {
        self.findings.iter().any(Finding::stops)
    }

    /// Whether anything changed.
    pub(super) fn is_changed(&self) -> bool {
        self.doc.bytes() != self.file.file.bytes.as_slice()
    }

    /// An artifact that was edited without a new number: nothing may be wrong that was not before.
    pub(super) fn check_unnumbered(&mut self) {
        if self.version != self.from || !self.is_changed() || !schema::known(self.artifact, self.version) {
            return;
        }
        let before = schema::check(self.artifact, self.version, self.original.value());
        for violation in schema::check(self.artifact, self.version, self.doc.value()) {
            let code = if before.contains(&violation) { Code::InvalidBefore } else { Code::SchemaViolation };
            let finding = self.violation(code, &violation);
            self.findings.push(finding);
        }
    }

    fn check(&mut self, version: u64) {
        for violation in schema::check(self.artifact, version, self.doc.value()) {
            let finding = self.violation(Code::SchemaViolation, &violation);
            self.findings.push(finding);
        }
    }

    fn violation(&self, code: Code, violation: &Violation) -> Finding {
        let pointer = Pointer::parse(&violation.pointer).unwrap_or_default();
        let text = match code {
            Code::InvalidBefore => format!("{} (it was so before)", violation.message),
            _ => format!("version {}: {}", self.version, violation.message),
        };
        let at = self.locate(&pointer).map(|offset| position(&self.file.file.bytes, offset));
        let place = Place {
            file: self.tree.layout.shown(&self.file.file.path),
            line: at.map(|(line, _)| line),
            column: at.map(|(_, column)| column),
            pointer: Some(violation.pointer.clone()),
        };
        Finding::new(code, self.scope.clone(), Some(place), text)
    }

    fn place(&self, raised: &crate::step::Raised) -> Finding {
        let locate = |p: &Pointer| self.locate(p);
        let lines = self.lines.get_or_init(|| Lines::of(&self.file.file.bytes));
        placed(self.tree, raised, &self.file.file.path, &self.scope, locate, |at| lines.position(at))
    }

    /// The offset on disk of a value of the version at hand.
    fn locate(&self, pointer: &Pointer) -> Option<usize> {
        let mut at = pointer.clone();
        loop {
            let origin = self.account.origin(&at).or_else(|| self.original.find(&at).map(|_| at.clone()));
            if let Some(node) = origin.and_then(|o| self.original.find(&o)) {
                return Some(node.range.start);
            }
            at = at.split_last()?.0;
        }
    }

    /// The artifact for the report.
    pub(super) fn artifact(&self, change: Option<&str>) -> ArtifactPlan {
        ArtifactPlan {
            file: self.file.file.path.clone(),
            artifact: self.artifact,
            from: self.from,
            to: self.version,
            steps: self.steps.clone(),
            change: change.map(str::to_string),
        }
    }

    /// The history entry for the whole old file.
    pub(super) fn entry(&self) -> Entry {
        let title = if self.from == self.version {
            format!("{} v{}", self.artifact, self.from)
        } else {
            format!("{} v{} → v{}", self.artifact, self.from, self.version)
        };
        let bytes = &self.file.file.bytes;
        Entry::new(title, &self.steps, &self.file.file.path, "", bytes, (0, bytes.len()))
    }

    /// The planned file, when anything changed and nothing stops it.
    pub(super) fn finish(self, request: Request<'_>) -> StatePlan {
        let artifact = Some(self.artifact(None));
        if self.is_stopped() || !self.is_changed() {
            return StatePlan { findings: self.findings, artifact, ..StatePlan::default() };
        }
        let file = FileBytes { before: Some(self.file.file.bytes.clone()), after: self.doc.shared().into() };
        StatePlan {
            file: Some((self.file.file.path.clone(), file, self.entry())),
            account: kept_of(request, &self.account),
            kept: self.account.kept(),
            findings: self.findings,
            artifact,
        }
    }
}

/// Plan the configuration.
pub(super) fn config(shared: &Shared<'_>) -> Result<StatePlan> {
    state_file(shared, shared.request.tree.config.as_ref(), Artifact::Config, &BTreeMap::new(), true)
}

/// Plan a file of the state itself.
pub(super) fn state_file(
    shared: &Shared<'_>,
    file: Option<&JsonFile>,
    artifact: Artifact,
    settled: &BTreeMap<String, Settled>,
    renumbers: bool,
) -> Result<StatePlan> {
    let request = shared.request;
    let Some(file) = file else { return Ok(StatePlan::default()) };
    let mut chain = match open(request.tree, file, artifact, &Scope::Repository) {
        Ok(chain) => chain,
        Err(finding) => return Ok(StatePlan { findings: vec![*finding], ..StatePlan::default() }),
    };
    let cx = shared.cx(settled);
    chain.run(&cx, request.release.target(artifact).unwrap_or(0), renumbers)?;
    chain.check_unnumbered();
    Ok(chain.finish(request))
}

/// A text member of a JSON value.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}
