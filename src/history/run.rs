//! One run line: which files a run wrote, and what they were (contract.md §4).

use serde::{Deserialize, Serialize};

use super::{comment_json, short_sha256};

/// A run line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// First 12 hex of SHA-256 over the run's files.
    pub run: String,
    /// 1 + the highest in the state.
    pub seq: u64,
    /// The release that was the goal.
    pub release: String,
    /// In lines of changes: whether the run rewrote the index.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub index: bool,
    /// The files this line answers for.
    pub files: Vec<RunFile>,
    /// The entries the run added to this host or relies on in it.
    pub entries: Vec<String>,
}

/// A file of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFile {
    /// POSIX path below `specdev/`.
    pub path: String,
    /// Portable digest before; `None`: the run created the file.
    pub before: Option<String>,
    /// Byte count before, for the files that are edited rather than replaced.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub length: Option<usize>,
    /// Portable digest after, without run lines.
    pub after: String,
}

impl Run {
    /// The line, without line end.
    pub fn line(&self) -> String {
        format!("<!-- specdev-run {} -->", comment_json(self))
    }
}

/// The id of a run over all of its files.
pub fn id<'a>(files: impl IntoIterator<Item = &'a RunFile>) -> String {
    let mut lines: Vec<String> = files
        .into_iter()
        .map(|f| format!("{}\0{}\0{}\n", f.path, f.before.as_deref().unwrap_or_default(), f.after))
        .collect();
    lines.sort_unstable();
    short_sha256(lines.concat().as_bytes())
}
