//! Where a project keeps its state (contract.md §1).
//!
//! Refuses a state root outside the project, links on the way to it, and folders that hold no state.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::doc::json::Document;
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
        let named = state.map(resolved).transpose()?;
        let project = start.ancestors().find(|a| is_project(a)).map(Path::to_path_buf);
        let (project_root, state_root) = match (project, named) {
            (Some(project), None) => match state_of(&project)? {
                Ok(state) => (project, state),
                Err(finding) => return Ok(Discovery::Refused(vec![*finding])),
            },
            (Some(project), Some(state)) if state.starts_with(&project) => (project, state),
            (Some(project), Some(state)) => {
                let text = format!(
                    "the state root {} lies outside the project {}",
                    state.display(),
                    project.display()
                );
                return Ok(Discovery::Refused(vec![
                    Finding::new(Code::OutsideRoot, Scope::Repository, None, text)
                        .next("specdev-migrate --dry-run --state DIR PATH   (DIR below the project root)"),
                ]));
            }
            (None, Some(state)) => (git_top_of(&state).unwrap_or_else(|| state.clone()), state),
            (None, None) if holds_state(&start) => (start.clone(), start),
            (None, None) => return Err(no_project(path)),
        };
        let git_top = git_top_of(&project_root);
        let layout = Layout { project_root, state_root, git_top };
        let refused = layout.refuse_links();
        if !refused.is_empty() {
            return Ok(Discovery::Refused(refused));
        }
        if !layout.specdev().is_dir() {
            return Err(no_project(path));
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

    /// Every folder from the project root down to `specdev/` is a folder, not a link.
    fn refuse_links(&self) -> Vec<Finding> {
        let Ok(below) = self.specdev().strip_prefix(&self.project_root).map(Path::to_path_buf) else {
            return Vec::new();
        };
        let mut at = self.project_root.clone();
        for part in below.components() {
            at.push(part);
            let Ok(meta) = fs::symlink_metadata(&at) else { break };
            if meta.is_symlink() {
                return vec![link_finding(self.shown_root(), &at, Scope::Repository)];
            }
        }
        Vec::new()
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
    .next(format!("ls -l '{shown}'   (replace the link by the file itself, then run again)"))
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
    state.join("workspace.json").symlink_metadata().is_ok() || state.join(SPECDEV).symlink_metadata().is_ok()
}

fn holds_state(folder: &Path) -> bool {
    let specdev = folder.join(SPECDEV);
    ["config.json", "status.json", "changes"].iter().any(|n| specdev.join(n).symlink_metadata().is_ok())
}

fn git_top_of(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|a| a.join(".git").symlink_metadata().is_ok()).map(Path::to_path_buf)
}

fn no_project(path: &Path) -> Error {
    Error::new(
        Kind::Usage,
        format!(
            "no SpecDev state found at or above {}: neither {DEFAULT_STATE}/{SPECDEV} nor a workspace.json",
            path.display()
        ),
    )
    .hint("specdev-migrate --dry-run --state DIR PATH   (DIR: the folder that holds specdev/)")
}

/// The state root `workspace.json` names, or the default.
#[expect(clippy::disallowed_methods, reason = "discovery reads workspace.json, once")]
fn state_of(project: &Path) -> Result<std::result::Result<PathBuf, Box<Finding>>> {
    let default = project.join(DEFAULT_STATE);
    let file = default.join("workspace.json");
    let Ok(meta) = fs::symlink_metadata(&file) else { return Ok(Ok(default)) };
    let shown = format!("{DEFAULT_STATE}/workspace.json");
    if meta.is_symlink() {
        return Ok(Err(Box::new(link_finding(project, &file, Scope::Repository))));
    }
    if !meta.is_file() {
        let text = "is not a regular file";
        return Ok(Err(Box::new(Finding::new(
            Code::SpecialFile,
            Scope::Repository,
            Some(Place::file(shown)),
            text,
        ))));
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
    let Some(state) = doc.value().pointer("/roots/state") else { return Ok(Ok(default)) };
    let outside = |text: String| {
        let place = Place { pointer: Some("/roots/state".into()), ..Place::file(shown.clone()) };
        Box::new(
            Finding::new(Code::OutsideRoot, Scope::Repository, Some(place), text)
                .next("correct roots.state in workspace.json, then run again"),
        )
    };
    let Some(text) = state.as_str() else {
        return Ok(Err(outside("roots.state must be a path relative to the project root".into())));
    };
    let below = Path::new(text);
    let plain = !text.is_empty()
        && !text.contains('\\')
        && below.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    if !plain {
        return Ok(Err(outside(format!("roots.state {text:?} leads outside the project root"))));
    }
    Ok(
        Ok(project
            .join(below.components().filter(|c| matches!(c, Component::Normal(_))).collect::<PathBuf>())),
    )
}
