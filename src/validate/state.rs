//! Rules about the state as a whole: configuration and index.

use std::collections::BTreeMap;

use super::report::Report;
use super::text::Text;
use crate::doc::pointer::Pointer;
use crate::finding::Code;
use crate::schema::{self, Violation};
use crate::state::artifact::Artifact;
use crate::state::change::JsonFile;
use crate::state::index::Index;
use crate::state::tree::Tree;
use crate::step::Release;

/// What rules about the whole state look at.
pub(super) struct State<'a> {
    pub(super) tree: &'a Tree,
    pub(super) release: &'static Release,
    config: Option<Text<'a>>,
    index: Option<Text<'a>>,
}

impl<'a> State<'a> {
    pub(super) fn new(tree: &'a Tree, release: &'static Release) -> State<'a> {
        let read = |artifact, file: &'a Option<JsonFile>| Text::json(artifact, file.as_ref()?);
        State {
            tree,
            release,
            config: read(Artifact::Config, &tree.config),
            index: read(Artifact::Status, &tree.index),
        }
    }

    /// Whether an artifact is older than the release writes it.
    pub(super) fn is_behind(&self, text: &Text<'_>) -> bool {
        self.release.target(text.artifact).is_some_and(|target| text.version < target)
    }

    pub(super) fn report_behind(&self, text: &Text<'_>, report: &mut Report<'_>) {
        if let Some(target) = self.release.target(text.artifact).filter(|t| text.version < *t) {
            let (artifact, version, release) = (text.artifact, text.version, self.release.name);
            let message =
                format!("{artifact} version {version} is older than {target}, that of release {release}");
            report.member(text, "schema_version", message);
        }
    }
}

pub(super) fn behind(state: &State<'_>, report: &mut Report<'_>) {
    state.config.iter().chain(&state.index).for_each(|text| state.report_behind(text, report));
}

pub(super) fn config_schema(state: &State<'_>, report: &mut Report<'_>) {
    state.config.iter().for_each(|text| by_schema(text, report));
}

pub(super) fn index_schema(state: &State<'_>, report: &mut Report<'_>) {
    state.index.iter().for_each(|text| by_schema(text, report));
}

/// Folders that cannot be a change, as the reader of the tree met them.
pub(super) fn folder_name(state: &State<'_>, report: &mut Report<'_>) {
    let shown = |path: &str| state.tree.layout.shown(path);
    for finding in state.tree.findings.iter().filter(|f| f.code == Code::InvalidChangeName) {
        let Some(place) = &finding.place else { continue };
        let path = place.file.strip_prefix(&shown("")).unwrap_or(&place.file);
        report.file(path, format!("the folder's name {}", finding.message));
    }
}

pub(super) fn index_overlap(state: &State<'_>, report: &mut Report<'_>) {
    let Some(text) = &state.index else { return };
    let index = Index::read(text.value());
    for entry in index.entries.iter().filter(|e| e.at.len() > 1) {
        for at in &entry.at[1..] {
            let at = Pointer::new(["active"]).join(at).join("change");
            report.at(text, &at, format!("{} is listed as active more than once", entry.change));
        }
    }
    for fault in index.faults.iter().filter(|f| f.code == Code::StatusOverlap) {
        report.at(text, &fault.pointer, fault.message.clone());
    }
}

pub(super) fn index_drift(state: &State<'_>, report: &mut Report<'_>) {
    let Some(text) = &state.index else { return };
    let tree = state.tree;
    let index = Index::read(text.value());
    let unmanaged = |name: &str| !tree.changes.contains_key(name);
    for entry in index.entries.iter().filter(|e| unmanaged(&e.change)) {
        let Some(at) = entry.at.first() else { continue };
        let at = Pointer::new(["active"]).join(at).join("change");
        let (name, why) = (
            &entry.change,
            if tree.archived.contains(&entry.change) { "lies in the archive" } else { "has no .status.json" },
        );
        report.at(text, &at, format!("{name} is listed as active, but {why}"));
    }
    let listed = index.listed();
    let archived: BTreeMap<&str, usize> =
        index.archived.iter().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
    for name in tree.changes.keys().filter(|n| !listed.contains(n.as_str())) {
        if archived.contains_key(name.as_str()) {
            report.member(text, "archived", format!("{name} is listed as archived, but lies in changes/"));
        } else {
            report.member(text, "active", format!("{name} lies in changes/, but is not listed"));
        }
    }
}

/// A value against the schema of its own version. A version without a schema says nothing here.
pub(super) fn by_schema(text: &Text<'_>, report: &mut Report<'_>) {
    if !schema::known(text.artifact, text.version) {
        return;
    }
    for violation in schema::check(text.artifact, text.version, text.value()) {
        let at = Pointer::parse(&violation.pointer).unwrap_or_default();
        report.at(text, &at, phrase(&violation, &at));
    }
}

/// The schema's fragment behind the name of what it is about.
fn phrase(violation: &Violation, at: &Pointer) -> String {
    let tokens: Vec<_> = at.tokens().collect();
    if violation.member.is_some() || tokens.is_empty() {
        return violation.message.clone();
    }
    // An item is named by its list: `modes/1`.
    let from = tokens.iter().rposition(|t| t.parse::<usize>().is_err()).unwrap_or(0);
    format!("`{}` {}", tokens[from..].join("/"), violation.message)
}
