//! Finding run lines and entries in a host file.

use std::ops::Range;

use super::entry::{Damage, Meta};
use super::run::Run;
use super::{TITLE, portable_sha256_of};
use crate::doc::content::Content;
use crate::doc::markdown::Section;
use crate::doc::{Fault, contains};
use crate::state::change::{Change, SourceFile};

/// A file of a change that may hold history, and its history.
#[derive(Debug)]
pub struct HostOfChange<'a> {
    /// The file.
    pub file: &'a SourceFile,
    /// Its history, or what is wrong with it.
    pub history: Result<History, Fault>,
}

/// `HISTORY.md` and the Evidence files of a change.
pub fn hosts_of(change: &Change) -> Vec<HostOfChange<'_>> {
    let files = change.history.iter().chain(change.evidence.values());
    files.map(|file| HostOfChange { file, history: History::read(&file.bytes) }).collect()
}

/// The history section of a host file.
#[derive(Debug, Default, Clone)]
pub struct History {
    /// The section, when the host has one.
    pub section: Option<Section>,
    /// Its run lines, in order. A line with the last number there is leaves none for the next run and is
    /// no line of ours.
    pub runs: Vec<Found<Run>>,
    /// Its entries, in order.
    pub entries: Vec<FoundEntry>,
}

/// A line of ours and where it stands.
#[derive(Debug, Clone)]
pub struct Found<T> {
    /// What it says.
    pub value: T,
    /// Its bytes in the host, line end included.
    pub line: Range<usize>,
}

/// An entry and where it stands.
#[derive(Debug, Clone)]
pub struct FoundEntry {
    /// What it says.
    pub meta: Meta,
    /// From its heading (or its comment) to the end of its fence.
    pub range: Range<usize>,
    /// The content of its fence.
    pub content: Option<Range<usize>>,
}

const RUN: &[u8] = b"<!-- specdev-run ";
const ENTRY: &[u8] = b"<!-- specdev-history ";
const END: &[u8] = b" -->";

impl History {
    /// Read the history of a host; a host without the section has none.
    pub fn read(bytes: &Content) -> Result<History, Fault> {
        let mut history = History::default();
        if !contains(bytes, TITLE.as_bytes()) {
            return Ok(history);
        }
        let outline = bytes.outline();
        let Some(section) = outline.section(2, TITLE)? else { return Ok(history) };
        let fences = outline.fences(&section.body);
        let headings: Vec<_> =
            outline.headings.iter().filter(|h| section.body.contains(&h.range.start)).collect();
        let mut at = section.body.start;
        while at < section.body.end {
            if let Some(fence) = fences.iter().find(|f| f.range.contains(&at)) {
                at = fence.range.end.max(at + 1);
                continue;
            }
            let end = line_end(bytes, at, section.body.end);
            if let Some(run) = run_line(bytes, at..end) {
                history.runs.push(run);
            } else if let Some(meta) = json_of::<Meta>(trimmed(&bytes[at..end]), ENTRY) {
                let next = |b: usize| bytes[end..b].iter().all(u8::is_ascii_whitespace);
                let fence = fences.iter().find(|f| f.range.start >= end).filter(|f| next(f.range.start));
                // The heading directly above belongs to the entry.
                let start = headings
                    .iter()
                    .rev()
                    .find(|h| h.range.end <= at && h.level == 3)
                    .filter(|h| bytes[h.range.end..at].iter().all(u8::is_ascii_whitespace))
                    .map_or(at, |h| h.range.start);
                let range = start..fence.map_or(end, |f| f.range.end);
                history.entries.push(FoundEntry { meta, range, content: fence.map(|f| f.content.clone()) });
            }
            at = end;
        }
        history.section = Some(section);
        Ok(history)
    }

    /// The run lines that stand anywhere in a host whose section cannot be told; no more is certain there.
    pub fn anywhere(bytes: &[u8]) -> History {
        let mut history = History::default();
        let mut at = 0;
        while at < bytes.len() {
            let end = line_end(bytes, at, bytes.len());
            history.runs.extend(run_line(bytes, at..end));
            at = end;
        }
        history
    }

    /// The entry with this id.
    pub fn entry(&self, id: &str) -> Option<&FoundEntry> {
        self.entries.iter().find(|e| e.meta.id == id)
    }

    /// The highest sequence number in this host.
    pub fn last_seq(&self) -> u64 {
        self.runs.iter().map(|r| r.value.seq).max().unwrap_or(0)
    }

    /// The digest of the host, which is taken without its run lines.
    pub fn portable_sha256(&self, bytes: &[u8]) -> String {
        self.portable_sha256_with(bytes, bytes.len(), &[])
    }

    /// The same with `texts` inserted at `at`, which is in no run line.
    pub(super) fn portable_sha256_with(&self, bytes: &[u8], at: usize, texts: &[&[u8]]) -> String {
        let (before, behind) = self.runs.split_at(self.runs.partition_point(|r| r.line.end <= at));
        let mut pieces = Vec::new();
        let mut start = 0;
        for (runs, texts, end) in [(before, texts, at), (behind, &[][..], bytes.len())] {
            for run in runs {
                pieces.push(&bytes[start..run.line.start]);
                start = run.line.end;
            }
            pieces.push(&bytes[start..end]);
            pieces.extend(texts);
            start = end;
        }
        portable_sha256_of(&pieces)
    }
}

impl FoundEntry {
    /// The old bytes.
    pub fn bytes(&self, host: &[u8]) -> Result<Vec<u8>, Damage> {
        self.meta.decode(&host[self.content.clone().ok_or(Damage::Missing)?])
    }
}

fn run_line(bytes: &[u8], line: Range<usize>) -> Option<Found<Run>> {
    let value = json_of::<Run>(trimmed(&bytes[line.clone()]), RUN).filter(|r| r.seq < u64::MAX)?;
    Some(Found { value, line })
}

fn json_of<T: serde::de::DeserializeOwned>(line: &[u8], prefix: &[u8]) -> Option<T> {
    serde_json::from_slice(line.strip_prefix(prefix)?.strip_suffix(END)?).ok()
}

fn line_end(bytes: &[u8], at: usize, limit: usize) -> usize {
    memchr::memchr(b'\n', &bytes[at..limit]).map_or(limit, |n| at + n + 1)
}

fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_line_with_the_last_number_is_none_of_ours() {
        let host = |seq: u64| {
            format!(
                "## Migration History\n\n<!-- specdev-run {{\"run\":\"a\",\"seq\":{seq},\"release\":\"2.0.6\",\
                 \"files\":[],\"entries\":[]}} -->\n"
            )
        };
        let last_seq = |seq| History::read(&host(seq).into_bytes().into()).unwrap().last_seq();
        assert_eq!(last_seq(u64::MAX - 1), u64::MAX - 1);
        assert_eq!(last_seq(u64::MAX), 0);
    }
}
