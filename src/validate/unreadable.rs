//! What cannot be read: input errors, which end validation with another exit code than violations do
//! (contract.md §7, §9).

use rayon::prelude::*;

use crate::doc::json::Document;
use crate::doc::pointer::Pointer;
use crate::doc::yaml::Frontmatter;
use crate::doc::{Fault, position};
use crate::finding::{Code, Finding, Place, Scope};
use crate::schema;
use crate::state::artifact::Artifact;
use crate::state::change::{Change, JsonFile, SourceFile};
use crate::state::record::{CONTEXT, SECTION, json_fence};
use crate::state::tree::Tree;

/// Text that is no JSON or YAML, versions this tool does not read, and what stands in the place of a
/// file; sorted by place.
pub fn unreadable(tree: &Tree) -> Vec<Finding> {
    // A folder with an impossible name can be read; a rule speaks of it.
    let is_kept = |f: &&Finding| f.stops() && f.code != Code::InvalidChangeName;
    let mut found: Vec<Finding> = tree.findings.iter().filter(is_kept).cloned().collect();
    let files = [(&tree.config, Artifact::Config), (&tree.index, Artifact::Status)];
    for (file, artifact) in files {
        found.extend(
            file.iter().filter_map(|f| Reader::new(tree, &f.file, Scope::Repository).json(f, artifact)),
        );
    }
    let changes: Vec<&Change> = tree.changes.values().collect();
    let of_changes: Vec<Vec<Finding>> = changes.into_par_iter().map(|c| of_change(tree, c)).collect();
    found.extend(of_changes.into_iter().flatten());
    found.sort_by(|a, b| (&a.place, a.code, &a.message).cmp(&(&b.place, b.code, &b.message)));
    found
}

fn of_change(tree: &Tree, change: &Change) -> Vec<Finding> {
    let reader = |file| Reader::new(tree, file, Scope::Change(change.name.clone()));
    let mut found = Vec::new();
    found.extend(reader(&change.status.file).json(&change.status, Artifact::ChangeStatus));
    found.extend(change.plan.as_ref().and_then(|f| reader(f).header(Artifact::GoalPlan)));
    found.extend(change.readme.as_ref().and_then(|f| reader(f).fence(Artifact::ExecutionContext, CONTEXT)));
    found
        .extend(change.evidence.values().filter_map(|f| reader(f).fence(Artifact::ExecutionRecord, SECTION)));
    found
}

struct Reader<'a> {
    tree: &'a Tree,
    file: &'a SourceFile,
    scope: Scope,
}

impl<'a> Reader<'a> {
    fn new(tree: &'a Tree, file: &'a SourceFile, scope: Scope) -> Reader<'a> {
        Reader { tree, file, scope }
    }

    fn json(&self, file: &JsonFile, artifact: Artifact) -> Option<Finding> {
        let doc = match file.doc() {
            Ok(doc) => doc,
            Err(fault) => return Some(self.fault(fault, 0)),
        };
        if !doc.value().is_object() {
            return Some(self.finding(
                Code::InvalidJson,
                doc.root().range.start,
                None,
                "the top level must be an object",
            ));
        }
        let node = doc.find(&Pointer::new(["schema_version"]));
        let spelled = node.map(|n| String::from_utf8_lossy(doc.raw(n)).into_owned());
        let offset = node.map_or(doc.root().range.start, |n| n.range.start);
        self.version(artifact, spelled.as_deref(), offset)
    }

    fn header(&self, artifact: Artifact) -> Option<Finding> {
        let header = match Frontmatter::parse(&self.file.bytes) {
            Ok(header) => header,
            Err(fault) => return Some(self.fault(&fault, 0)),
        };
        let entry = header.entry("schema_version");
        let offset = entry.map_or(header.inner.start, |e| e.value_range.start);
        self.version(artifact, entry.map(|e| e.text.as_str()), offset)
    }

    fn version(&self, artifact: Artifact, spelled: Option<&str>, offset: usize) -> Option<Finding> {
        let (code, text) = schema::version_of(artifact, spelled).err()?;
        Some(self.finding(code, offset, Some("/schema_version"), text))
    }

    /// The one JSON fence of a section. A section that stands twice is left to a rule.
    fn fence(&self, artifact: Artifact, title: &str) -> Option<Finding> {
        let (_, content) = json_fence(&self.file.bytes, title).ok()??;
        let doc = match Document::parse(&self.file.bytes[content.clone()]) {
            Ok(doc) => doc,
            Err(fault) => return Some(self.fault(&fault, content.start)),
        };
        if !doc.value().is_object() {
            let offset = content.start + doc.root().range.start;
            return Some(self.finding(
                Code::InvalidJson,
                offset,
                None,
                format!("the {artifact} must be an object"),
            ));
        }
        // Without a version it is a record of the older form.
        let node = doc.find(&Pointer::new(["schema_version"]))?;
        let (code, text) = match doc.value().get("schema_version")?.as_u64() {
            Some(1) => return None,
            Some(n) if n > 1 => (
                Code::NewerVersion,
                format!(
                    "{artifact} version {n} was made by a newer tool; this one knows 1 at most, upgrade it"
                ),
            ),
            _ => {
                let spelled = String::from_utf8_lossy(doc.raw(node)).into_owned();
                (Code::UnsupportedVersion, format!("schema_version {spelled} of the {artifact} is not 1"))
            }
        };
        Some(self.finding(code, content.start + node.range.start, Some("/schema_version"), text))
    }

    fn fault(&self, fault: &Fault, base: usize) -> Finding {
        self.finding(fault.code, base + fault.offset, fault.pointer.as_deref(), fault.message.clone())
    }

    fn finding(&self, code: Code, offset: usize, pointer: Option<&str>, text: impl Into<String>) -> Finding {
        let (line, column) = position(&self.file.bytes, offset);
        let place = Place {
            file: self.tree.layout.shown(&self.file.path),
            line: Some(line),
            column: Some(column),
            pointer: pointer.map(str::to_string),
        };
        Finding::new(code, self.scope.clone(), Some(place), text)
    }
}
