//! Change names, and the files of one change.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::doc::Fault;
use crate::doc::content::Content;
use crate::doc::json::{Document, Kind};

/// Whether `name` is a change name (contract.md §1): a date and lower-case words, joined by dashes.
pub fn is_change_name(name: &str) -> bool {
    let mut parts = name.split('-');
    let digits =
        |p: Option<&str>, n: usize| p.is_some_and(|p| p.len() == n && p.bytes().all(|b| b.is_ascii_digit()));
    if !(digits(parts.next(), 4) && digits(parts.next(), 2) && digits(parts.next(), 2)) {
        return false;
    }
    let mut words = 0;
    for word in parts {
        if word.is_empty() || !word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) {
            return false;
        }
        words += 1;
    }
    // 255 bytes is what a folder name can have.
    words > 0 && name.len() <= 255
}

/// Whether `id` is a ticket id: `T-` and at least two digits.
pub fn is_ticket_id(id: &str) -> bool {
    id.strip_prefix("T-").is_some_and(|n| n.len() >= 2 && n.bytes().all(|b| b.is_ascii_digit()))
}

/// A file of the state: its path below `specdev/` and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// POSIX path below `specdev/`.
    pub path: String,
    /// What is on disk.
    pub bytes: Content,
    /// The permission bits on disk.
    pub mode: u32,
}

/// A JSON file, parsed when it is first asked for.
#[derive(Debug)]
pub struct JsonFile {
    /// Path and bytes.
    pub file: SourceFile,
    doc: OnceLock<Result<Document, Fault>>,
}

impl JsonFile {
    /// A file that should hold JSON.
    pub fn new(file: SourceFile) -> JsonFile {
        JsonFile { file, doc: OnceLock::new() }
    }

    /// The document, or why it is none.
    pub fn doc(&self) -> Result<&Document, &Fault> {
        self.doc.get_or_init(|| Document::of(self.file.bytes.shared())).as_ref()
    }

    /// The same file; what is read out of it goes when this handle goes.
    #[must_use]
    pub fn apart(&self) -> JsonFile {
        JsonFile::new(self.file.clone())
    }
}

/// The files of one change that the tool may read.
#[derive(Debug)]
pub struct Change {
    /// The folder's name.
    pub name: String,
    /// `.status.json`
    pub status: JsonFile,
    /// `goal-plan.md`
    pub plan: Option<SourceFile>,
    /// `README.md`
    pub readme: Option<SourceFile>,
    /// `HISTORY.md`
    pub history: Option<SourceFile>,
    /// `evidence/T-NN.md` and `evidence/direct-spec.md`, by their names without `.md`.
    pub evidence: BTreeMap<String, SourceFile>,
    /// Ticket id → `status` of the ticket's file; read only where records need it.
    pub tickets: BTreeMap<String, String>,
    /// Whether an `implementation-plan.md` is there.
    pub parent_plan: bool,
}

impl Change {
    /// The same change. What is read out of its files takes a multiple of their room; it goes when this
    /// handle goes.
    #[must_use]
    pub fn apart(&self) -> Change {
        let apart = |file: &SourceFile| SourceFile { bytes: file.bytes.apart(), ..file.clone() };
        Change {
            name: self.name.clone(),
            status: self.status.apart(),
            plan: self.plan.as_ref().map(apart),
            readme: self.readme.as_ref().map(apart),
            history: self.history.as_ref().map(apart),
            evidence: self.evidence.iter().map(|(stem, file)| (stem.clone(), apart(file))).collect(),
            tickets: self.tickets.clone(),
            parent_plan: self.parent_plan,
        }
    }

    /// A path of this change below `specdev/`.
    pub fn path(&self, name: &str) -> String {
        format!("changes/{}/{name}", self.name)
    }

    /// The parsed status, when it is an object.
    pub fn status_doc(&self) -> Option<&Document> {
        self.status.doc().ok().filter(|d| matches!(d.root().kind, Kind::Object(_)))
    }

    /// All files of the change that exist.
    pub fn files(&self) -> impl Iterator<Item = &SourceFile> {
        [Some(&self.status.file), self.plan.as_ref(), self.readme.as_ref(), self.history.as_ref()]
            .into_iter()
            .flatten()
            .chain(self.evidence.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_names() {
        for good in ["2026-01-02-x", "2026-08-01-login-2", "0000-00-00-a-b-c"] {
            assert!(is_change_name(good), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "../../outside",
            "/etc/x",
            "a/b",
            "a\\b",
            "2026-01-02-x\n",
            "2026-01-02-x\0",
            "CON",
            "-rf",
            "2026-01-02",
            "2026-01-02-",
            "2026-01-02-X",
            "2026-01-02-a--b",
            "26-01-02-a",
            "2026-01-02-é",
        ] {
            assert!(!is_change_name(bad), "{bad:?}");
        }
        assert!(!is_change_name(&format!("2026-01-02-{}", "a".repeat(300))));
    }
}
