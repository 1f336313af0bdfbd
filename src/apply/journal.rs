//! The journal: what a run is about to do, with every old byte, on the disk before anything is done.
//!
//! Its name says how far the run is: *staging* (no target was touched), *swapping* (every staged file is
//! complete, targets trade places) or *done* (only clean-up is left). Layout: a line with magic, format
//! version, SHA-256 and length of the rest; a line of JSON; the old contents, one after the other.
//!
//! It refuses, touching nothing: a damaged or truncated journal, one of another format, and paths that lead
//! out of the state folder.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::effects::{Access, Effect, Effects, Metadata};
use super::file::{Seen, hex, look_at, sha256};
use super::place::Place;
use super::{lock, remedy};
use crate::error::{Error, Kind, Result};

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Staging,
    Swapping,
    Done,
}

impl Phase {
    const ALL: [Phase; 3] = [Phase::Staging, Phase::Swapping, Phase::Done];

    fn file(self, dir: &Path) -> PathBuf {
        dir.join(match self {
            Phase::Staging => "journal-staging",
            Phase::Swapping => "journal-swapping",
            Phase::Done => "journal-done",
        })
    }
}

/// Everything that is needed to finish or to undo a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Journal {
    pub(super) place: Place,
    /// Folders that the run creates, outer ones first.
    pub(super) folders: Vec<String>,
    pub(super) slots: Vec<Slot>,
}

/// One file of the run. All paths are relative to the root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Slot {
    pub(super) path: String,
    /// Where new content waits, and the old file afterwards.
    pub(super) staged: String,
    /// Where undoing puts what it needs.
    pub(super) spare: String,
    pub(super) before: Option<Before>,
    pub(super) after: Option<After>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Before {
    length: usize,
    pub(super) metadata: Metadata,
    #[serde(skip)]
    pub(super) bytes: Arc<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct After {
    pub(super) length: usize,
    sha256: String,
}

impl Before {
    /// `bytes` are those of the file with this metadata.
    pub(super) fn new(metadata: Metadata, bytes: &Arc<Vec<u8>>) -> Before {
        Before { length: bytes.len(), metadata, bytes: Arc::clone(bytes) }
    }
}

impl After {
    pub(super) fn new(bytes: &[u8]) -> After {
        After { length: bytes.len(), sha256: hex(&sha256(bytes)) }
    }
}

/// What a path holds, seen from the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Missing,
    /// The old bytes.
    Before,
    /// The new bytes.
    After,
    /// Neither: somebody else's.
    Other,
}

impl Slot {
    pub(super) fn judge(&self, seen: &Seen) -> Found {
        match seen {
            Seen::Missing => Found::Missing,
            Seen::Other(_) => Found::Other,
            Seen::File(content) => {
                if self.before.as_ref().is_some_and(|before| *before.bytes == content.bytes) {
                    Found::Before
                } else if self.after.as_ref().is_some_and(|after| {
                    after.length == content.bytes.len() && after.sha256 == hex(&sha256(&content.bytes))
                }) {
                    Found::After
                } else {
                    Found::Other
                }
            }
        }
    }

    /// Whether a target that holds this is as it was before the run.
    pub(super) fn is_old(&self, target: Found) -> bool {
        target == if self.before.is_some() { Found::Before } else { Found::Missing }
    }

    /// Whether a target that holds this is as the run leaves it.
    pub(super) fn is_new(&self, target: Found) -> bool {
        target == if self.after.is_some() { Found::After } else { Found::Missing }
    }
}

impl Journal {
    /// Put the journal on the disk, in phase [`Phase::Staging`]. Nothing else may be done before.
    pub(super) fn create(&self, dir: &Path, fx: &dyn Effects) -> Result<()> {
        let draft = dir.join(DRAFT);
        let failed = |error| write_failed(&draft, &error);
        // Of about this length, so that it need not grow.
        let mut list = Vec::with_capacity(self.slots.len() * 640);
        serde_json::to_writer(&mut list, self).map_err(Error::internal)?;
        list.push(b'\n');
        let contents = self.slots.iter().filter_map(|slot| slot.before.as_ref()).map(|b| b.bytes.as_slice());
        // Put together it would take as much room as all old files.
        let mut parts: Vec<&[u8]> = [&[][..], &list].into_iter().chain(contents).collect();
        let sum = parts.iter().fold(Sha256::new(), |sum, part| sum.chain_update(part)).finalize();
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let head = format!("{MAGIC} {FORMAT} {} {length}\n", hex(&sum));
        parts[0] = head.as_bytes();
        let write = Effect::Write { path: &draft, parts: &parts, access: Access::Private, sync: true };
        fx.perform(&write).map_err(failed)?;
        fx.perform(&Effect::Replace(&draft, &Phase::Staging.file(dir))).map_err(failed)?;
        fx.perform(&Effect::Sync(dir)).map_err(failed)?;
        // The folder itself may be new.
        fx.perform(&Effect::Sync(&dir.join(".."))).map_err(failed)
    }

    /// The reason is a fragment that fits "the journal …".
    fn parse(bytes: &[u8]) -> std::result::Result<Journal, String> {
        let (head, rest) = split_line(bytes).ok_or("has no first line")?;
        let head = std::str::from_utf8(head).map_err(|_| "has a damaged first line")?;
        let mut words = head.split(' ');
        if words.next() != Some(MAGIC) {
            return Err("is none of specdev-migrate".into());
        }
        let format: u32 = words.next().and_then(|w| w.parse().ok()).ok_or("has a damaged first line")?;
        if format != FORMAT {
            let what =
                if format > FORMAT { "upgrade the tool" } else { "recover with the one that wrote it" };
            return Err(format!("has format {format}, this specdev-migrate knows {FORMAT}; {what}"));
        }
        let (sum, length) = (words.next(), words.next());
        if length != Some(rest.len().to_string().as_str()) {
            return Err("is truncated or was added to".into());
        }
        if sum != Some(hex(&sha256(rest)).as_str()) {
            return Err("is damaged (its checksum does not match)".into());
        }
        let (json, mut contents) = split_line(rest).ok_or("has no list of files")?;
        let mut journal: Journal = serde_json::from_slice(json)
            .map_err(|error| format!("has an unreadable list of files: {error}"))?;
        for before in journal.slots.iter_mut().filter_map(|slot| slot.before.as_mut()) {
            let (bytes, others) = contents.split_at_checked(before.length).ok_or("lacks old contents")?;
            before.bytes = Arc::new(bytes.to_vec());
            contents = others;
        }
        // Below the state folder, whatever that is called now.
        let place = &journal.place;
        let is_outside = |path: &String| !is_below_root(path) || place.rebased(path, &place.state).is_none();
        let is_foreign = |slot: &Slot| [&slot.path, &slot.staged, &slot.spare].into_iter().any(is_outside);
        if journal.slots.iter().any(is_foreign) || journal.folders.iter().any(is_outside) {
            return Err("names a path outside its state".into());
        }
        Ok(journal)
    }
}

/// The journal that lies in a folder, and how far its run came.
pub(super) fn load(dir: &Path) -> Result<Option<(Journal, Phase)>> {
    let mut found = None;
    for phase in Phase::ALL {
        let file = phase.file(dir);
        let refused = |why: &str| {
            Error::new(Kind::Recovery, format!("the journal {} {why}; nothing was touched", file.display()))
        };
        let content = match look_at(&file) {
            Ok(Seen::Missing) => continue,
            Ok(Seen::File(content)) => content,
            Ok(Seen::Other(what)) => return Err(refused(&format!("is {what}"))),
            Err(error) => return Err(refused(&format!("cannot be read: {error}"))),
        };
        if found.is_some() {
            return Err(refused("is a second one"));
        }
        found = Some((Journal::parse(&content.bytes).map_err(|why| refused(&why))?, phase));
    }
    Ok(found)
}

/// Say that a run has come to its next phase.
pub(super) fn advance(dir: &Path, from: Phase, to: Phase, fx: &dyn Effects) -> Result<()> {
    let (from, to) = (from.file(dir), to.file(dir));
    match fx.perform(&Effect::Replace(&from, &to)) {
        // A network file system may report a rename that it did do.
        Err(_) if from.symlink_metadata().is_err() && to.symlink_metadata().is_ok() => Ok(()),
        result => result.map_err(|error| write_failed(&to, &error)),
    }
}

/// Bring the names of the journal to the disk.
pub(super) fn sync(dir: &Path, fx: &dyn Effects) -> Result<()> {
    fx.perform(&Effect::Sync(dir)).map_err(|error| write_failed(dir, &error))
}

/// Remove the journal, whatever its phase, and a draft of it; the last thing that a run does.
pub(super) fn remove(dir: &Path, fx: &dyn Effects) -> Result<()> {
    for file in Phase::ALL.map(|phase| phase.file(dir)).into_iter().chain(draft(dir)) {
        if file.symlink_metadata().is_ok() {
            fx.perform(&Effect::Unlink(&file)).map_err(|error| {
                Error::new(Kind::Recovery, format!("cannot remove the journal {}: {error}", file.display()))
                    .hint(lock::RECOVER)
            })?;
        }
    }
    // Should the removal get lost with the power, the journal is found again, and nothing is left to do.
    let _ = fx.perform(&Effect::Sync(dir));
    Ok(())
}

/// The draft that a folder holds: its run ended before the journal was complete, so before anything.
/// Another file of that name is none.
pub(super) fn draft(dir: &Path) -> Option<PathBuf> {
    let draft = dir.join(DRAFT);
    match look_at(&draft) {
        Ok(Seen::File(content)) => {
            let length = content.bytes.len().min(MAGIC.len());
            (content.bytes[..length] == MAGIC.as_bytes()[..length]).then_some(draft)
        }
        _ => None,
    }
}

/// A relative POSIX path that leads to something below the root.
pub(super) fn is_below_root(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|name| !matches!(name, "" | "." | ".."))
}

fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

fn write_failed(path: &Path, error: &io::Error) -> Error {
    Error::new(Kind::Failed, format!("cannot write the journal {}: {error}", path.display()))
        .hint(remedy(error, path.parent().unwrap_or(path)))
}

const DRAFT: &str = "journal-draft";
const MAGIC: &str = "specdev-migrate-journal";
const FORMAT: u32 = 2;
