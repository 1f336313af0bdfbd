//! The patch of many files, made while it is written: it is as large as all of them together.

use rayon::prelude::*;

use super::diff::{FileDiff, write_unified};
use crate::doc::content::Content;
use crate::plan::PlannedFile;
use crate::state::layout::Layout;

/// A patch that is not made yet.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The files, in the order they stand in the patch.
    pub files: Vec<PatchedFile>,
}

/// A file before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchedFile {
    /// Relative to the git top level.
    pub path: String,
    /// `None`: created.
    pub old: Option<Content>,
    /// `None`: removed.
    pub new: Option<Content>,
    /// Permission bits on disk.
    pub mode: u32,
}

/// How many files are compared before the first of them is handed out, and how many make one piece.
const AT_ONCE: usize = 256;
const IN_A_PIECE: usize = 16;

impl Patch {
    /// The patch in pieces, of whole files.
    pub fn pieces(&self) -> impl Iterator<Item = Vec<u8>> {
        self.files
            .chunks(AT_ONCE)
            .flat_map(|files| files.par_chunks(IN_A_PIECE).map(piece).collect::<Vec<_>>())
    }
}

impl PatchedFile {
    /// A file that a plan writes.
    pub fn of(layout: &Layout, file: &PlannedFile) -> PatchedFile {
        PatchedFile {
            path: layout.shown(&file.path),
            old: file.before.clone(),
            new: Some(file.after.clone()),
            mode: file.mode,
        }
    }

    /// Its part of the patch.
    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        let mode = if self.mode & 0o111 == 0 { 0o100644 } else { 0o100755 };
        let (old, new) = (self.old.as_deref(), self.new.as_deref());
        write_unified(out, &FileDiff { path: &self.path, old, new, mode });
    }
}

fn piece(files: &[PatchedFile]) -> Vec<u8> {
    let mut out = Vec::new();
    files.iter().for_each(|file| file.write_to(&mut out));
    out
}
