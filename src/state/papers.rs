//! What validation reads beyond the tree: the ticket files of each change (contract.md §9).
//!
//! Opened by name like everything else: `ticket/NN-*.md` of managed changes. Links, folders and special
//! files in their place are passed over; nothing is ever written here.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;

use rayon::prelude::*;
use serde_json::Value;

use super::change::SourceFile;
use super::tree::Tree;
use crate::doc::Fault;
use crate::doc::yaml::Frontmatter;
use crate::error::{Error, Kind, Result};

/// The ticket files of all changes.
#[derive(Debug, Default)]
pub struct Papers {
    /// By change, in the order of the file names.
    pub tickets: BTreeMap<String, Vec<TicketFile>>,
}

/// A file `ticket/NN-*.md`.
#[derive(Debug)]
pub struct TicketFile {
    /// Path and bytes.
    pub file: SourceFile,
    /// Its header, or why it has none.
    pub header: std::result::Result<Frontmatter, Fault>,
}

impl Papers {
    /// Read the ticket files of the tree's changes. Fails only when one that is there cannot be read.
    pub fn read(tree: &Tree) -> Result<Papers> {
        let changes: Vec<&String> = tree.changes.keys().collect();
        let tickets = changes.into_par_iter().map(|name| Ok((name.clone(), tickets(tree, name)?)));
        Ok(Papers { tickets: tickets.collect::<Result<_>>()? })
    }

    /// The ticket files of one change.
    pub fn of(&self, change: &str) -> &[TicketFile] {
        self.tickets.get(change).map_or(&[], Vec::as_slice)
    }
}

impl TicketFile {
    /// Parse the header of a ticket file.
    pub fn new(file: SourceFile) -> TicketFile {
        let header = Frontmatter::parse(&file.bytes);
        TicketFile { file, header }
    }

    /// A text of the header.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// A value of the header.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.header.as_ref().ok()?.value().get(key)
    }
}

#[expect(clippy::disallowed_methods, reason = "ticket files are read here, once")]
fn tickets(tree: &Tree, change: &str) -> Result<Vec<TicketFile>> {
    let folder = format!("changes/{change}/ticket");
    let full = tree.layout.specdev().join(&folder);
    match fs::symlink_metadata(&full) {
        Ok(meta) if meta.is_dir() => {}
        Ok(_) => return Ok(Vec::new()),
        Err(e) if is_absent(&e) => return Ok(Vec::new()),
        Err(e) => return Err(unreadable(tree, &folder, &e)),
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&full).map_err(|e| unreadable(tree, &folder, &e))? {
        let entry = entry.map_err(|e| unreadable(tree, &folder, &e))?;
        let is_file = entry.file_type().map_err(|e| unreadable(tree, &folder, &e))?.is_file();
        if let Some(name) = entry.file_name().to_str()
            && is_file
            && is_ticket_name(name)
        {
            names.push(name.to_string());
        }
    }
    names.sort();
    let read = |name: String| {
        let path = format!("{folder}/{name}");
        let full = full.join(&name);
        let bytes = fs::read(&full).map_err(|e| unreadable(tree, &path, &e))?;
        let mode = fs::symlink_metadata(&full).map_err(|e| unreadable(tree, &path, &e))?.permissions().mode();
        Ok(TicketFile::new(SourceFile { path, bytes: bytes.into(), mode: mode & 0o7777 }))
    };
    names.into_iter().map(read).collect()
}

/// `NN-*.md`: the folder may hold other notes.
fn is_ticket_name(name: &str) -> bool {
    name.ends_with(".md") && name.starts_with(|c: char| c.is_ascii_digit())
}

fn is_absent(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn unreadable(tree: &Tree, path: &str, e: &io::Error) -> Error {
    Error::new(Kind::Invalid, format!("cannot read {}: {e}", tree.layout.shown(path)))
}
