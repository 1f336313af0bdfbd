//! Running the steps of a goal plan: header by header operations, body by sections.

use serde_json::Value;

use super::{Request, kept_of, placed};
use crate::account::{Account, Fate, LeafMap, Location};
use crate::doc::content::Content;
use crate::doc::markdown::Outline;
use crate::doc::pointer::Pointer;
use crate::doc::position;
use crate::error::{Error, Result};
use crate::finding::{Code, Finding, Place, Scope};
use crate::history::entry::Entry;
use crate::migrations;
use crate::schema::{self, version_of};
use crate::state::artifact::Artifact;
use crate::state::change::SourceFile;
use crate::step::{Cx, PlanDraft, Run};

const ARTIFACT: Artifact = Artifact::GoalPlan;

/// What is planned for a goal plan.
#[derive(Default)]
pub(super) struct GoalPlan {
    pub(super) findings: Vec<Finding>,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) steps: Vec<&'static str>,
    /// The header's value as it will be.
    pub(super) value: Value,
    /// The new bytes, when anything changed.
    pub(super) after: Option<Content>,
    pub(super) entries: Vec<Entry>,
    pub(super) account: Vec<(Location, Fate)>,
    pub(super) kept: usize,
}

/// Plan a goal plan for the release in `cx`.
pub(super) fn plan(
    request: Request<'_>,
    file: &SourceFile,
    cx: &Cx<'_>,
    scope: &Scope,
    change: &str,
) -> Result<GoalPlan> {
    let tree = request.tree;
    let mut out = GoalPlan::default();
    let shown = tree.layout.shown(&file.path);
    let fault = |code, offset: usize, pointer: Option<String>, text: String| {
        let (line, column) = position(&file.bytes, offset);
        let place = Place { file: shown.clone(), line: Some(line), column: Some(column), pointer };
        Finding::new(code, scope.clone(), Some(place), text)
    };
    let original = match file.bytes.header() {
        Ok(header) => header,
        Err(f) => {
            out.findings.push(fault(f.code, f.offset, f.pointer.clone(), f.message.clone()));
            return Ok(out);
        }
    };
    let entry = original.entry("schema_version");
    let offset = entry.map_or(original.inner.start, |e| e.value_range.start);
    match version_of(ARTIFACT, entry.map(|e| e.text.as_str())) {
        Ok(version) => (out.from, out.to) = (version, version),
        Err((code, text)) => {
            out.findings.push(fault(code, offset, Some("/schema_version".into()), text));
            return Ok(out);
        }
    }
    if let Some(name) = original.entry("change").filter(|e| e.value.as_str().is_some_and(|n| n != change)) {
        let text = format!("`change` is {}, but the folder is {change}", name.value);
        out.findings.push(fault(
            Code::ChangeNameMismatch,
            name.value_range.start,
            Some("/change".into()),
            text,
        ));
        return Ok(out);
    }
    let target = cx.release.target(ARTIFACT).unwrap_or(0);
    let mut leaves = LeafMap::of(original.value());
    let mut account = Account::open(&file.path, leaves.clone());
    let mut bytes = file.bytes.clone();
    for step in migrations::steps(ARTIFACT) {
        let Run::Plan(draft_of) = step.run else { continue };
        let applies = step.to.is_none_or(|to| to <= target && to > out.to) && step.from.contains(&out.to);
        if !applies {
            continue;
        }
        let internal = |e: &dyn std::fmt::Display| Error::internal(format!("{}: {e}", file.path));
        let header = bytes.header().map_err(|f| internal(&f.message))?;
        let mut draft = PlanDraft {
            cx,
            bytes: &bytes,
            header,
            outline: bytes.outline(),
            file: &file.path,
            version_on_disk: out.from,
            ops: Vec::new(),
            moved: Vec::new(),
            appended: None,
            notes: Default::default(),
        };
        draft_of(&mut draft);
        let locate = |p: &Pointer| {
            let origin = account.origin(p).unwrap_or_else(|| p.clone());
            original.entry(&origin.tokens().next()?).map(|e| e.value_range.start)
        };
        let raised: Vec<Finding> = draft
            .notes
            .raised
            .iter()
            .map(|r| placed(tree, r, &file.path, scope, locate, |at| position(&file.bytes, at)))
            .collect();
        let stops = raised.iter().any(Finding::stops);
        out.findings.extend(raised);
        if stops {
            return Ok(out);
        }
        let (ops, moved, appended, bookings) = (draft.ops, draft.moved, draft.appended, draft.notes.bookings);
        let (mut edits, next_header) = match header.edit_and_read(&ops) {
            Ok(edited) => edited,
            Err(f) => {
                let text = format!("cannot be edited exactly: {}", f.message);
                out.findings.push(fault(f.code, f.offset.min(file.bytes.len()), f.pointer, text));
                return Ok(out);
            }
        };
        for (title, range) in &moved {
            edits.replace(range.clone(), Vec::new()).map_err(|e| internal(&e))?;
            // The body has not been touched by earlier steps, only the header has grown or shrunk.
            let on_disk = |at: usize| at + original.range.end - header.range.end;
            let range = (on_disk(range.start), on_disk(range.end));
            let name = format!("goal-plan section \"{title}\"");
            out.entries.push(Entry::new(
                name,
                &[step.name],
                &file.path,
                &format!("section:{title}"),
                &file.bytes,
                range,
            ));
        }
        let mut next = edits.apply(&bytes);
        if let Some(block) = appended {
            match Outline::read(&next, next_header.range.end).append(&next, &block) {
                Ok((at, text)) => drop(next.splice(at..at, text)),
                Err(f) => {
                    out.findings.push(fault(f.code, file.bytes.len(), None, f.message));
                    return Ok(out);
                }
            }
        }
        let next_leaves = LeafMap::of(next_header.value());
        account.book(&leaves, &next_leaves, &bookings).map_err(|e| internal(&e))?;
        leaves = next_leaves;
        bytes = Content::with_header(next, next_header);
        out.steps.push(step.name);
        if let Some(to) = step.to {
            out.to = to;
            let value = bytes.header().map_err(|f| internal(&f.message))?.value();
            for violation in schema::check(ARTIFACT, to, value) {
                let at = Pointer::parse(&violation.pointer).unwrap_or_default();
                let origin = account.origin(&at).unwrap_or(at);
                let entry = origin.tokens().next().and_then(|k| original.entry(&k));
                let offset = entry.map_or(original.inner.start, |e| e.value_range.start);
                let text = format!("version {to}: {}", violation.message);
                out.findings.push(fault(Code::SchemaViolation, offset, Some(violation.pointer), text));
            }
            if out.findings.iter().any(Finding::stops) {
                return Ok(out);
            }
        }
    }
    out.value = bytes.header().map(|h| h.value().clone()).unwrap_or_default();
    if bytes != file.bytes {
        let title = format!("goal-plan v{} → v{}", out.from, out.to);
        let range = (0, original.range.end);
        out.entries.insert(0, Entry::new(title, &out.steps, &file.path, "frontmatter", &file.bytes, range));
        out.after = Some(bytes.apart());
        out.account = kept_of(request, &account);
        out.kept = account.kept();
    }
    Ok(out)
}
