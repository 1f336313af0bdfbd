//! Edits as byte spans over an original. A second change to a span is an error, never an order of
//! application.

use std::fmt;
use std::ops::Range;

/// A set of replacements of byte spans that do not overlap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edits {
    /// Sorted by start; insertions (empty ranges) at one offset keep the order they were made in and
    /// stand before a replacement that starts there.
    list: Vec<(Range<usize>, Vec<u8>)>,
}

/// Two edits that touch the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// The span that was already edited.
    pub first: Range<usize>,
    /// The span of the refused edit.
    pub second: Range<usize>,
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes {:?} are edited a second time as {:?}", self.first, self.second)
    }
}

impl std::error::Error for Overlap {}

impl Edits {
    /// No edits.
    pub fn new() -> Edits {
        Edits::default()
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Replace `range` by `text`; an empty range is an insertion. Insertions at the edges of a
    /// replaced span are allowed, inside it they are not.
    pub fn replace(&mut self, range: Range<usize>, text: impl Into<Vec<u8>>) -> Result<(), Overlap> {
        let key = (range.start, !range.is_empty());
        let at = self.list.partition_point(|(r, _)| (r.start, !r.is_empty()) <= key);
        // The list is sorted and free of overlaps: only the replacement before and what starts inside can clash.
        let before = self.list[..at].iter().rev().find(|(r, _)| !r.is_empty());
        let inside = self.list[at..].iter().take_while(|(r, _)| r.start < range.end);
        let clash = before.into_iter().chain(inside).map(|(r, _)| r).find(|r| clashes(r, &range));
        if let Some(first) = clash {
            return Err(Overlap { first: first.clone(), second: range });
        }
        self.list.insert(at, (range, text.into()));
        Ok(())
    }

    /// Insert `text` at `offset`, after earlier insertions at the same offset.
    pub fn insert(&mut self, offset: usize, text: impl Into<Vec<u8>>) -> Result<(), Overlap> {
        self.replace(offset..offset, text)
    }

    /// The original with all edits made; every byte outside the spans is copied.
    pub fn apply(&self, original: &[u8]) -> Vec<u8> {
        let grown: usize = self.list.iter().map(|(_, t)| t.len()).sum();
        let mut out = Vec::with_capacity(original.len() + grown);
        let mut at = 0;
        for (range, text) in &self.list {
            out.extend_from_slice(&original[at..range.start]);
            out.extend_from_slice(text);
            at = range.end;
        }
        out.extend_from_slice(&original[at..]);
        out
    }
}

/// Two replacements that share a byte, or an insertion inside a replacement.
fn clashes(a: &Range<usize>, b: &Range<usize>) -> bool {
    match (a.is_empty(), b.is_empty()) {
        (false, false) => a.start < b.end && b.start < a.end,
        (true, false) => b.start < a.start && a.start < b.end,
        (false, true) => a.start < b.start && b.start < a.end,
        (true, true) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_and_insertions_keep_every_other_byte() {
        let mut e = Edits::new();
        e.replace(4..5, "X").unwrap();
        e.insert(4, "<").unwrap();
        e.insert(0, "^").unwrap();
        e.insert(4, "=").unwrap();
        assert_eq!(e.apply(b"abcdefg"), b"^abcd<=Xfg");
    }

    #[test]
    fn second_edit_of_a_span_is_refused() {
        let mut e = Edits::new();
        e.replace(2..5, "X").unwrap();
        assert!(e.replace(4..6, "Y").is_err());
        assert!(e.insert(3, "Y").is_err());
        assert!(e.replace(2..5, "Y").is_err());
        assert!(e.insert(2, "Y").is_ok());
        assert!(e.insert(5, "Y").is_ok());
        assert!(e.replace(5..6, "Y").is_ok());
    }
}
