//! The state's bytes, read once and in parallel (contract.md §1).
//!
//! Only the files the contract names are opened, by name. Archives are listed, never opened.
//! Links and special files where a file of ours should be are refused, not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use rayon::prelude::*;

use super::change::{Change, JsonFile, SourceFile, is_change_name, is_ticket_id};
use super::files::{Disk, Files, Look};
use super::layout::{Layout, link_finding, special_finding};
use super::record;
use crate::doc::contains;
use crate::doc::content::Content;
use crate::doc::json::{self, Member};
use crate::doc::yaml::Frontmatter;
use crate::error::{Error, Kind, Result};
use crate::finding::{Code, Finding, Place, Scope};

/// Everything a plan looks at, except git and decisions.
#[derive(Debug)]
pub struct Tree {
    /// Where it was read.
    pub layout: Layout,
    /// `config.json`
    pub config: Option<JsonFile>,
    /// `status.json`
    pub index: Option<JsonFile>,
    /// `HISTORY.md` beside them.
    pub history: Option<SourceFile>,
    /// The changes that have a `.status.json`, by name.
    pub changes: BTreeMap<String, Change>,
    /// `HISTORY.md` of folders that have no `.status.json` (any more).
    pub orphans: BTreeMap<String, SourceFile>,
    /// Names of the archived changes, in both layouts.
    pub archived: BTreeSet<String>,
    /// Links, special files, odd names, unmanaged folders.
    pub findings: Vec<Finding>,
    /// `package_version` of `install.json`, when it says one.
    pub installed: Option<String>,
    /// Whether `migration.json` says that the installer's own migration is pending.
    pub migration_pending: bool,
}

/// The files of the state itself, read before its changes are.
pub struct Top<'a> {
    reader: Reader<'a>,
    /// `config.json`
    pub config: Option<JsonFile>,
    /// `status.json`
    pub index: Option<JsonFile>,
    history: Option<SourceFile>,
    findings: Vec<Finding>,
}

impl<'a> Top<'a> {
    /// Read them from the disk. Fails when one that is there cannot be read at all.
    pub fn read(layout: &'a Layout) -> Result<Top<'a>> {
        Top::read_from(layout, &Disk)
    }

    fn read_from(layout: &'a Layout, files: &'a dyn Files) -> Result<Top<'a>> {
        let reader = Reader { layout, files };
        let mut findings = Vec::new();
        let mut file = |name: &str| reader.file(name, Scope::Repository, &mut findings);
        let config = file("config.json")?.map(JsonFile::new);
        let index = file("status.json")?.map(JsonFile::new);
        let history = file("HISTORY.md")?;
        Ok(Top { reader, config, index, history, findings })
    }

    /// Read the rest. Fails when a file that is there cannot be read at all.
    pub fn with_changes(self) -> Result<Tree> {
        let Top { reader, config, index, history, mut findings } = self;
        let mut changes = BTreeMap::new();
        let mut orphans = BTreeMap::new();
        let folders = reader.folders("changes", &mut findings)?;
        let read: Vec<_> = folders.par_iter().map(|name| reader.change(name)).collect::<Result<_>>()?;
        for (name, (folder, found)) in folders.iter().zip(read) {
            findings.extend(found);
            match folder {
                Folder::Change(change) => drop(changes.insert(name.clone(), *change)),
                Folder::Orphan(history) => drop(orphans.insert(name.clone(), history)),
                Folder::Other => {}
            }
        }
        let archived = reader.archived()?;
        let installed =
            reader.beside("install.json").and_then(|v| Some(v.get("package_version")?.as_str()?.to_string()));
        let migration_pending = reader.beside("migration.json").is_some_and(|v| is_pending(&v));
        Ok(Tree {
            layout: reader.layout.clone(),
            config,
            index,
            history,
            changes,
            orphans,
            archived,
            findings,
            installed,
            migration_pending,
        })
    }
}

impl Tree {
    /// Read the state from the disk. Fails only when a file that is there cannot be read at all.
    pub fn read(layout: &Layout) -> Result<Tree> {
        Tree::read_from(layout, &Disk)
    }

    /// Read the state from any files.
    pub fn read_from(layout: &Layout, files: &dyn Files) -> Result<Tree> {
        Top::read_from(layout, files)?.with_changes()
    }

    /// Every file that was read, by path below `specdev/`.
    pub fn files(&self) -> impl Iterator<Item = &SourceFile> {
        [self.config.as_ref().map(|f| &f.file), self.index.as_ref().map(|f| &f.file), self.history.as_ref()]
            .into_iter()
            .flatten()
            .chain(self.changes.values().flat_map(Change::files))
    }

    /// A file that was read.
    pub fn file(&self, path: &str) -> Option<&SourceFile> {
        match path {
            "config.json" => self.config.as_ref().map(|f| &f.file),
            "status.json" => self.index.as_ref().map(|f| &f.file),
            "HISTORY.md" => self.history.as_ref(),
            _ => {
                let (name, _) = path.strip_prefix("changes/")?.split_once('/')?;
                self.changes.get(name)?.files().find(|f| f.path == path)
            }
        }
    }

    /// Take a file away, as undoing a run does with what it created.
    pub fn forget(&mut self, path: &str) {
        if path == "HISTORY.md" {
            self.history = None;
            return;
        }
        let Some((name, rest)) = path.strip_prefix("changes/").and_then(|p| p.split_once('/')) else {
            return;
        };
        let Some(change) = self.changes.get_mut(name) else { return };
        match rest {
            "README.md" => change.readme = None,
            "HISTORY.md" => change.history = None,
            "goal-plan.md" => change.plan = None,
            _ => {
                let stem =
                    rest.strip_prefix("evidence/").and_then(|n| n.strip_suffix(".md")).unwrap_or_default();
                change.evidence.remove(stem);
            }
        }
    }

    /// The same tree with some files replaced or created: what a plan would leave behind.
    pub fn with<'a>(&'a self, files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Tree {
        let files: Vec<(&str, Content)> = files.into_iter().map(|(path, b)| (path, b.into())).collect();
        let mut by_change: BTreeMap<&str, Vec<(&str, &Content)>> = BTreeMap::new();
        for (path, bytes) in &files {
            if let Some((name, rest)) = in_change(path) {
                by_change.entry(name).or_default().push((rest, bytes));
            }
        }
        let changes: Vec<_> = self.changes.iter().collect();
        let changed = |(name, old): (&String, &Change)| {
            let files = by_change.get(name.as_str()).map_or(&[][..], |files| files.as_slice());
            (name.clone(), old.with(files.iter().copied()))
        };
        let mut tree = self.with_state(files.iter().map(|(path, bytes)| (*path, bytes)));
        tree.changes = changes.into_par_iter().map(changed).collect();
        tree
    }

    /// The same, without any change.
    pub fn with_state<'a>(&'a self, files: impl IntoIterator<Item = (&'a str, &'a Content)>) -> Tree {
        let top: BTreeMap<&str, &Content> =
            files.into_iter().filter(|(p, _)| in_change(p).is_none()).collect();
        let file = |path: &str, old: Option<&SourceFile>| match top.get(path) {
            Some(bytes) => Some(SourceFile {
                path: path.into(),
                bytes: bytes.apart(),
                mode: old.map_or(0o644, |f| f.mode),
            }),
            None => old.cloned(),
        };
        Tree {
            layout: self.layout.clone(),
            config: file("config.json", self.config.as_ref().map(|f| &f.file)).map(JsonFile::new),
            index: file("status.json", self.index.as_ref().map(|f| &f.file)).map(JsonFile::new),
            history: file("HISTORY.md", self.history.as_ref()),
            changes: BTreeMap::new(),
            orphans: self.orphans.clone(),
            archived: self.archived.clone(),
            findings: self.findings.clone(),
            installed: self.installed.clone(),
            migration_pending: self.migration_pending,
        }
    }
}

/// The change a path below `specdev/` lies in, and the rest of the path.
pub fn in_change(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix("changes/")?.split_once('/')
}

impl Change {
    /// The same change with some files replaced or created, by their names in its folder.
    #[must_use]
    pub fn with<'a>(&self, files: impl IntoIterator<Item = (&'a str, &'a Content)>) -> Change {
        let mut new = self.apart();
        for (name, bytes) in files {
            let file = |old: Option<&SourceFile>| SourceFile {
                path: self.path(name),
                bytes: bytes.apart(),
                mode: old.map_or(0o644, |f| f.mode),
            };
            match name {
                ".status.json" => new.status = JsonFile::new(file(Some(&self.status.file))),
                "goal-plan.md" => new.plan = Some(file(self.plan.as_ref())),
                "README.md" => new.readme = Some(file(self.readme.as_ref())),
                "HISTORY.md" => new.history = Some(file(self.history.as_ref())),
                _ => {
                    let stem = name.strip_prefix("evidence/").and_then(|n| n.strip_suffix(".md"));
                    if let Some(stem) = stem {
                        new.evidence.insert(stem.into(), file(self.evidence.get(stem)));
                    }
                }
            }
        }
        new
    }
}

fn is_pending(migration: &serde_json::Value) -> bool {
    // The installer clears the marker by removing the file or by saying so.
    let done = ["completed", "complete", "done", "applied", "migrated"];
    !migration.get("status").and_then(|s| s.as_str()).is_some_and(|s| done.contains(&s))
}

/// What a folder below `changes/` is.
enum Folder {
    Change(Box<Change>),
    /// No `.status.json`, but history that an earlier run left.
    Orphan(SourceFile),
    Other,
}

struct Reader<'a> {
    layout: &'a Layout,
    files: &'a dyn Files,
}

impl Reader<'_> {
    /// A regular file below `specdev/`, or a finding for what stands in its place.
    fn file(&self, path: &str, scope: Scope, findings: &mut Vec<Finding>) -> Result<Option<SourceFile>> {
        let full = self.layout.specdev().join(path);
        let (look, bytes) = match self.files.fetch(&full) {
            Ok(fetched) => fetched,
            Err(e) if is_absent(&e) => return Ok(None),
            Err(e) => return Err(self.unreadable(path, &e)),
        };
        match look {
            Look::File(mode) => {
                return Ok(Some(SourceFile { path: path.into(), bytes: bytes.into(), mode }));
            }
            Look::Link => findings.push(link_finding(self.layout.shown_root(), &full, scope)),
            Look::Folder | Look::Special => findings.push(self.special(path, "a regular file", scope)),
        }
        Ok(None)
    }

    /// Whether a path below `specdev/` is a folder; anything else that stands there is a finding.
    fn is_folder(&self, path: &str, scope: &Scope, findings: &mut Vec<Finding>) -> Result<bool> {
        let full = self.layout.specdev().join(path);
        match self.files.look(&full) {
            Ok(Look::Folder) => return Ok(true),
            Ok(Look::Link) => findings.push(link_finding(self.layout.shown_root(), &full, scope.clone())),
            Ok(_) => findings.push(self.special(path, "a folder", scope.clone())),
            Err(e) if is_absent(&e) => {}
            Err(e) => return Err(self.unreadable(path, &e)),
        }
        Ok(false)
    }

    /// The names of the folders in a folder below `specdev/`, sorted; links are findings.
    fn folders(&self, path: &str, findings: &mut Vec<Finding>) -> Result<Vec<String>> {
        if !self.is_folder(path, &Scope::Repository, findings)? {
            return Ok(Vec::new());
        }
        let full = self.layout.specdev().join(path);
        let mut names = Vec::new();
        for (name, look) in self.files.list(&full).map_err(|e| self.unreadable(path, &e))? {
            let at = full.join(&name);
            let name = match name.into_string() {
                Ok(name) => name,
                Err(odd) => {
                    findings.extend(self.nameless(&at, &odd.to_string_lossy()));
                    continue;
                }
            };
            match look {
                Look::Link => findings.push(link_finding(self.layout.shown_root(), &at, Scope::Change(name))),
                Look::Folder => names.push(name),
                _ if is_change_name(&name) => {
                    let path = format!("{path}/{name}");
                    findings.push(self.special(&path, "a folder", Scope::Change(name)));
                }
                _ => {}
            }
        }
        names.sort();
        Ok(names)
    }

    fn change(&self, name: &str) -> Result<(Folder, Vec<Finding>)> {
        let mut findings = Vec::new();
        let scope = Scope::Change(name.to_string());
        let folder = format!("changes/{name}");
        let read = |file: &str, findings: &mut Vec<Finding>| {
            self.file(&format!("{folder}/{file}"), scope.clone(), findings)
        };
        let status = read(".status.json", &mut findings)?;
        if !is_change_name(name) {
            if status.is_some() {
                findings.push(self.invalid_name(&folder, name));
            } else {
                findings.push(self.unmanaged(name));
            }
            return Ok((Folder::Other, findings));
        }
        let Some(status) = status else {
            if findings.is_empty() {
                findings.push(self.unmanaged(name));
            }
            let history = read("HISTORY.md", &mut findings)?;
            return Ok((history.map_or(Folder::Other, Folder::Orphan), findings));
        };
        let plan = read("goal-plan.md", &mut findings)?;
        let readme = read("README.md", &mut findings)?;
        let history = read("HISTORY.md", &mut findings)?;
        let status = JsonFile::new(status);
        let mut change = Change {
            name: name.to_string(),
            status,
            plan,
            readme,
            history,
            evidence: BTreeMap::new(),
            tickets: BTreeMap::new(),
            parent_plan: self
                .files
                .look(&self.layout.specdev().join(&folder).join("implementation-plan.md"))
                .is_ok(),
        };
        for stem in self.stems(&format!("{folder}/evidence"), &scope, &mut findings, |stem| {
            is_ticket_id(stem) || stem == "direct-spec"
        })? {
            if let Some(file) =
                self.file(&format!("{folder}/evidence/{stem}.md"), scope.clone(), &mut findings)?
            {
                change.evidence.insert(stem, file);
            }
        }
        if has_gated_records(&change) {
            self.tickets(&mut change, &scope, &mut findings)?;
        }
        if change.parent_plan {
            let place = Place::file(self.layout.shown(&change.path("implementation-plan.md")));
            let text = "a parent plan is not upgraded";
            findings.push(Finding::new(Code::ParentPlanNotUpgraded, scope, Some(place), text));
        }
        Ok((Folder::Change(Box::new(change)), findings))
    }

    /// Names without `.md` of the regular entries of a folder that `wanted` takes, sorted.
    fn stems(
        &self,
        path: &str,
        scope: &Scope,
        findings: &mut Vec<Finding>,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>> {
        if !self.is_folder(path, scope, findings)? {
            return Ok(Vec::new());
        }
        let full = self.layout.specdev().join(path);
        let mut stems = Vec::new();
        for (name, _) in self.files.list(&full).map_err(|e| self.unreadable(path, &e))? {
            if let Some(stem) = name.to_str().and_then(|n| n.strip_suffix(".md"))
                && wanted(stem)
            {
                stems.push(stem.to_string());
            }
        }
        stems.sort();
        Ok(stems)
    }

    /// What each ticket file says of its own status.
    fn tickets(&self, change: &mut Change, scope: &Scope, findings: &mut Vec<Finding>) -> Result<()> {
        let folder = change.path("ticket");
        for stem in self.stems(&folder, scope, findings, |s| s.starts_with(|c: char| c.is_ascii_digit()))? {
            let Some(file) = self.file(&format!("{folder}/{stem}.md"), scope.clone(), findings)? else {
                continue;
            };
            let Ok(header) = Frontmatter::parse(&file.bytes) else { continue };
            let text = |key: &str| header.value().get(key).and_then(|v| v.as_str()).map(str::to_string);
            if let (Some(id), Some(status)) = (text("id"), text("status")) {
                change.tickets.insert(id, status);
            }
        }
        Ok(())
    }

    /// Archived changes: `archive/<change>` and `archive/YYYY-MM/<change>`. Nothing in them is opened.
    fn archived(&self) -> Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        let mut ignored = Vec::new();
        for outer in self.folders("archive", &mut ignored)? {
            if is_change_name(&outer) {
                names.insert(outer);
            } else {
                let inner = self.folders(&format!("archive/{outer}"), &mut ignored)?;
                names.extend(inner.into_iter().filter(|n| is_change_name(n)));
            }
        }
        Ok(names)
    }

    /// A small JSON file beside `specdev/`; what cannot be read says nothing.
    fn beside(&self, name: &str) -> Option<serde_json::Value> {
        let full = self.layout.state_root.join(name);
        if !matches!(self.files.look(&full).ok()?, Look::File(_)) {
            return None;
        }
        serde_json::from_slice(&self.files.read(&full).ok()?).ok()
    }

    fn unmanaged(&self, name: &str) -> Finding {
        let place = Place::file(self.layout.shown(&format!("changes/{name}")));
        let text = "a folder without .status.json is not managed and was skipped";
        Finding::new(Code::UnmanagedFolder, Scope::Change(name.into()), Some(place), text)
    }

    /// A folder with a `.status.json` whose name is not UTF-8, so that it cannot be a change's.
    fn nameless(&self, folder: &Path, name: &str) -> Option<Finding> {
        self.files.look(&folder.join(".status.json")).ok()?;
        Some(self.invalid_name(&format!("changes/{name}"), name))
    }

    fn invalid_name(&self, folder: &str, name: &str) -> Finding {
        let place = Place::file(self.layout.shown(folder));
        let text =
            format!("{name:?} is no change name (YYYY-MM-DD-topic, lower-case words joined by dashes)");
        Finding::new(Code::InvalidChangeName, Scope::Change(name.into()), Some(place), text)
            .next("rename the folder and the `change` field inside its .status.json to one valid name")
    }

    fn special(&self, path: &str, wanted: &str, scope: Scope) -> Finding {
        special_finding(self.layout.shown_root(), &self.layout.specdev().join(path), wanted, scope)
    }

    fn unreadable(&self, path: &str, e: &io::Error) -> Error {
        Error::new(Kind::Invalid, format!("cannot read {}: {e}", self.layout.shown(path)))
    }
}

fn is_absent(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether any record can have been verified, which is for its ticket's file to confirm.
fn has_gated_records(change: &Change) -> bool {
    // The name of a member it must have, which escapes could hide.
    let may_be = |f: &SourceFile| contains(&f.bytes, b"candidate_tree_sha") || contains(&f.bytes, b"\\u");
    // What is read out of it is not kept for all changes.
    let status = Some(&change.status).filter(|s| may_be(&s.file)).map(JsonFile::apart);
    let worktrees = status.as_ref().and_then(|s| s.doc().ok()?.root().member("worktrees"));
    let is_section = |f: &SourceFile| contains(&f.bytes, record::SECTION.as_bytes());
    let is_gated = |member: &Member| match &member.value.kind {
        json::Kind::Array(items) => items.iter().any(record::is_gated),
        _ => false,
    };
    worktrees.is_some_and(is_gated) || change.evidence.values().any(is_section)
}
