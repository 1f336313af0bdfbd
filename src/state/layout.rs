//! Where a project keeps its state (contract.md §1).
//!
//! Refuses a state root outside the project, links on the way to it, and folders that hold no state.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::doc::json::Document;
use crate::doc::pointer::Pointer;
use crate::error::{Error, Kind, Result};
use crate::finding::{Code, Finding, Place, Scope};

/// The folder below the state root that holds everything of ours.
pub const SPECDEV: &str = "specdev";
const DEFAULT_STATE: &str = "speculo/.speculo";

/// The places of one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The project root, resolved.
    pub project_root: PathBuf,
    /// The folder that holds `specdev/`, below the project root.
    pub state_root: PathBuf,
    /// The nearest folder at or above the project root that holds `.git`.
    pub git_top: Option<PathBuf>,
}

/// What discovery came to: a layout, or findings that forbid to go on.
#[derive(Debug)]
pub enum Discovery {
    /// The places, all of them plain folders.
    Found(Layout),
    /// A link, a special file or a path out of the project.
    Refused(Vec<Finding>),
}

impl Layout {
    /// Find the project from any folder inside it, or from the state root itself. `state` overrides
    /// where the state lies.
    pub fn discover(path: &Path, state: Option<&Path>) -> Result<Discovery> {
        let start = resolved(path)?;
        let project = start.ancestors().find(|a| is_project(a)).map(Path::to_path_buf);
        let (project_root, state_root) = match (project, state) {
            (Some(project), None) => match state_of(&project)? {
                Ok(state) => (project, state),
                Err(finding) => return Ok(Discovery::Refused(vec![*finding])),
            },
            (None, None) if holds_state(&start) => (root_around(&start, &start), start),
            (None, None) => return Err(no_project(path)),
            (project, Some(named)) => {
                let state = resolved(named)?;
                let project = project.unwrap_or_else(|| root_around(&start, &state));
                if !state.starts_with(&project) {
                    return Ok(Discovery::Refused(vec![outside(&state, &project)]));
                }
                (project, state)
            }
        };
        let git_top = git_top_of(&project_root);
        let layout = Layout { project_root, state_root, git_top };
        if let Some(refused) = layout.refuse_anything_but_folders() {
            return Ok(Discovery::Refused(vec![refused]));
        }
        if !layout.specdev().is_dir() {
            return Err(layout.no_state());
        }
        if layout.specdev().strip_prefix(layout.shown_root()).is_ok_and(|below| below.to_str().is_none()) {
            let text = format!(
                "the path {} is not UTF-8, so no patch and no report could name the files in it",
                layout.specdev().display()
            );
            return Err(Error::new(Kind::Usage, text).hint("rename the folder, then run again"));
        }
        Ok(Discovery::Found(layout))
    }

    /// The folder `specdev/`.
    pub fn specdev(&self) -> PathBuf {
        self.state_root.join(SPECDEV)
    }

    /// The folder that paths in findings and patches are relative to.
    pub fn shown_root(&self) -> &Path {
        self.git_top.as_deref().unwrap_or(&self.project_root)
    }

    /// A path below `specdev/` as findings and patches show it.
    pub fn shown(&self, path: &str) -> String {
        match posix_below(self.shown_root(), &self.specdev()) {
            Some(prefix) if !prefix.is_empty() => format!("{prefix}/{path}"),
            _ => path.to_string(),
        }
    }

    /// Everything from the project root down to `specdev/` is a folder: no link, no file, no pipe.
    fn refuse_anything_but_folders(&self) -> Option<Finding> {
        let specdev = self.specdev();
        let below = specdev.strip_prefix(&self.project_root).ok()?;
        let mut at = self.project_root.clone();
        for part in below.components() {
            at.push(part);
            let meta = fs::symlink_metadata(&at).ok()?;
            if meta.is_symlink() {
                return Some(link_finding(self.shown_root(), &at, Scope::Repository));
            }
            if !meta.is_dir() {
                return Some(special_finding(self.shown_root(), &at, "a folder", Scope::Repository));
            }
        }
        None
    }

    fn no_state(&self) -> Error {
        let text = format!("{} holds no folder {SPECDEV}", self.state_root.display());
        let error = Error::new(Kind::Usage, text).hint(STATE_HINT);
        let workspace = self.project_root.join(DEFAULT_STATE).join(WORKSPACE);
        match posix_below(self.shown_root(), &workspace) {
            Some(shown) if workspace.is_file() => {
                error.hint(format!("cat {}   # roots.state says where the state lies", quoted(&shown)))
            }
            _ => error,
        }
    }
}

/// The finding for a link where a file or folder of ours should be.
pub(crate) fn link_finding(shown_root: &Path, at: &Path, scope: Scope) -> Finding {
    let target = fs::read_link(at).map(|t| t.display().to_string()).unwrap_or_else(|_| "?".into());
    let shown = posix_below(shown_root, at).unwrap_or_else(|| at.display().to_string());
    Finding::new(
        Code::Symlink,
        scope,
        Some(Place::file(shown.clone())),
        format!("is a symbolic link to {target}; links are never followed or replaced"),
    )
    .next(format!("ls -l {}   # put what it leads to in its place, then run again", quoted(&shown)))
}

/// The finding for what is neither file nor folder, or the wrong one of the two.
pub(crate) fn special_finding(shown_root: &Path, at: &Path, wanted: &str, scope: Scope) -> Finding {
    let what = match fs::symlink_metadata(at) {
        Ok(meta) if meta.is_dir() => "a folder",
        Ok(meta) if meta.is_file() => "a file",
        _ => "a special file",
    };
    let shown = posix_below(shown_root, at).unwrap_or_else(|| at.display().to_string());
    let text = format!("is {what}, not {wanted}");
    Finding::new(Code::SpecialFile, scope, Some(Place::file(shown.clone())), text)
        .next(format!("ls -ld {}   # put {wanted} there, or nothing, then run again", quoted(&shown)))
}

/// A word for the shell.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// `path` below `root` with POSIX separators; `None` when it does not lie there.
pub(crate) fn posix_below(root: &Path, path: &Path) -> Option<String> {
    let below = path.strip_prefix(root).ok()?;
    let parts: Vec<_> = below.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
    Some(parts.join("/"))
}

fn resolved(path: &Path) -> Result<PathBuf> {
    path.canonicalize()
        .map_err(|e| Error::new(Kind::Usage, format!("cannot open {}: {e}", path.display())))
        .map(|p| if p.is_file() { p.parent().map(Path::to_path_buf).unwrap_or(p) } else { p })
}

fn is_project(folder: &Path) -> bool {
    let state = folder.join(DEFAULT_STATE);
    let is_there = |path: PathBuf| path.symlink_metadata().is_ok();
    is_there(state.join(WORKSPACE))
        || is_there(state.join(SPECDEV))
        // Nothing can be seen through a link that leads nowhere.
        || state.symlink_metadata().is_ok_and(|meta| meta.is_symlink())
}

fn holds_state(folder: &Path) -> bool {
    let specdev = folder.join(SPECDEV);
    ["config.json", "status.json", "changes"].iter().any(|n| specdev.join(n).symlink_metadata().is_ok())
}

/// The project root of a state root that was named: where the command was started when that is above
/// the state, else the git top level.
fn root_around(start: &Path, state: &Path) -> PathBuf {
    if state != start && state.starts_with(start) {
        return start.to_path_buf();
    }
    git_top_of(state).unwrap_or_else(|| state.to_path_buf())
}

fn git_top_of(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|a| a.join(".git").symlink_metadata().is_ok()).map(Path::to_path_buf)
}

fn no_project(path: &Path) -> Error {
    let text = format!(
        "no SpecDev state found at or above {}: neither {DEFAULT_STATE}/{SPECDEV} nor a {WORKSPACE}",
        path.display()
    );
    Error::new(Kind::Usage, text).hint(STATE_HINT)
}

fn outside(state: &Path, project: &Path) -> Finding {
    let text = format!("the state root {} lies outside the project {}", state.display(), project.display());
    Finding::new(Code::OutsideRoot, Scope::Repository, None, text)
        .next("specdev-migrate status   # without --state: the project's own state")
}

/// The state root `workspace.json` names, or the default.
#[expect(clippy::disallowed_methods, reason = "discovery reads workspace.json, once")]
fn state_of(project: &Path) -> Result<std::result::Result<PathBuf, Box<Finding>>> {
    let default = project.join(DEFAULT_STATE);
    let file = default.join(WORKSPACE);
    let Ok(meta) = fs::symlink_metadata(&file) else { return Ok(Ok(default)) };
    let shown_root = git_top_of(project).unwrap_or_else(|| project.to_path_buf());
    let shown = posix_below(&shown_root, &file).unwrap_or_default();
    if meta.is_symlink() {
        return Ok(Err(Box::new(link_finding(&shown_root, &file, Scope::Repository))));
    }
    if !meta.is_file() {
        return Ok(Err(Box::new(special_finding(&shown_root, &file, "a regular file", Scope::Repository))));
    }
    let bytes =
        fs::read(&file).map_err(|e| Error::new(Kind::Invalid, format!("cannot read {shown}: {e}")))?;
    let doc = match Document::parse(&bytes) {
        Ok(doc) => doc,
        Err(fault) => {
            let (line, column) = crate::doc::position(&bytes, fault.offset);
            let place = Place { file: shown, line: Some(line), column: Some(column), pointer: None };
            return Ok(Err(Box::new(Finding::new(
                fault.code,
                Scope::Repository,
                Some(place),
                fault.message,
            ))));
        }
    };
    let pointer = Pointer::new(["roots", "state"]);
    let Some(node) = doc.find(&pointer) else { return Ok(Ok(default)) };
    let outside = |text: String| {
        let (line, column) = crate::doc::position(&bytes, node.range.start);
        let place = Place {
            line: Some(line),
            column: Some(column),
            pointer: Some(pointer.to_string()),
            ..Place::file(shown.clone())
        };
        let next = "correct roots.state to a path below the project root, then run again";
        Box::new(Finding::new(Code::OutsideRoot, Scope::Repository, Some(place), text).next(next))
    };
    let value = doc.value().pointer("/roots/state").and_then(|v| v.as_str());
    let Some(text) = value else {
        return Ok(Err(outside("roots.state must be a path relative to the project root".into())));
    };
    let below = Path::new(text);
    let plain = !text.is_empty()
        && !text.contains(['\\', '\0'])
        && below.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    if !plain {
        return Ok(Err(outside(format!("roots.state {text:?} leads outside the project root"))));
    }
    Ok(
        Ok(project
            .join(below.components().filter(|c| matches!(c, Component::Normal(_))).collect::<PathBuf>())),
    )
}

const WORKSPACE: &str = "workspace.json";
const STATE_HINT: &str = "specdev-migrate status --state DIR   # DIR is the folder that holds specdev/";
