//! Lossless text: byte spans over the original, and values read beside them.
//!
//! Nothing here knows what a config or a goal plan is, reads a file or prints. What cannot be edited
//! exactly is refused with a [`Fault`], never guessed.

pub mod content;
pub mod edit;
pub mod json;
pub mod markdown;
pub mod pointer;
pub mod yaml;

use std::cell::Cell;

use memchr::{memchr, memchr_iter, memmem, memrchr};

use crate::finding::Code;

/// Why a text cannot be read or edited: a code, the place as a byte offset, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// An input error of contract.md §7 (`invalid-json`, `duplicate-key`, `unsupported-yaml`, …).
    pub code: Code,
    /// Byte offset into the whole file.
    pub offset: usize,
    /// JSON Pointer of the value concerned, when there is one.
    pub pointer: Option<String>,
    /// A lower-case fragment naming the construct.
    pub message: String,
}

impl Fault {
    /// A fault at a byte offset of the whole file.
    pub fn new(code: Code, offset: usize, message: impl Into<String>) -> Fault {
        Fault { code, offset, pointer: None, message: message.into() }
    }
}

/// 1-based line and column (in characters; each invalid byte counts as one) of a byte offset.
/// Only LF ends a line; a BOM at the start takes no column.
pub fn position(bytes: &[u8], offset: usize) -> (usize, usize) {
    let before = &bytes[..offset.min(bytes.len())];
    let start = memrchr(b'\n', before).map_or(0, |i| i + 1);
    let line = memchr_iter(b'\n', before).count() + 1;
    (line, columns(before, start) + 1)
}

/// How many columns the end of a text takes, from `start` on.
fn columns(text: &[u8], start: usize) -> usize {
    let mut text = &text[start..];
    if start == 0 {
        text = text.strip_prefix(BOM).unwrap_or(text);
    }
    text.utf8_chunks().map(|c| c.valid().chars().count() + c.invalid().len()).sum()
}

/// Where the lines of a text end, for [`position`]s of many offsets.
#[derive(Debug)]
pub struct Lines<'a> {
    bytes: &'a [u8],
    ends: Vec<usize>,
    /// The offset asked for last, and the columns before it: a line may be as long as the whole text.
    last: Cell<(usize, usize)>,
}

impl<'a> Lines<'a> {
    /// Those of `bytes`.
    pub fn of(bytes: &'a [u8]) -> Lines<'a> {
        Lines { bytes, ends: memchr_iter(b'\n', bytes).collect(), last: Cell::default() }
    }

    /// Like [`position`].
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.ends.partition_point(|end| *end < offset);
        let start = before.checked_sub(1).map_or(0, |last| self.ends[last] + 1);
        let end = offset.min(self.bytes.len());
        let (known, before_it) = self.last.get();
        let (from, passed) = if (start..=end).contains(&known) { (known, before_it) } else { (start, 0) };
        let column = passed + columns(&self.bytes[..end], from);
        // In the middle of a character nothing can be counted from.
        if self.bytes.get(end).is_none_or(|b| b & 0xC0 != 0x80) {
            self.last.set((end, column));
        }
        (before + 1, column + 1)
    }
}

/// The UTF-8 byte order mark.
pub const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The line end in force at `offset`: that of the line before it, else that of the first line, else LF.
pub fn line_end_before(bytes: &[u8], offset: usize) -> &'static str {
    let before = &bytes[..offset.min(bytes.len())];
    let at = memrchr(b'\n', before).or_else(|| memchr(b'\n', bytes));
    match at {
        Some(i) if i > 0 && bytes[i - 1] == b'\r' => "\r\n",
        _ => "\n",
    }
}

/// Whether the bytes hold a word.
pub fn contains(bytes: &[u8], word: &[u8]) -> bool {
    memmem::find(bytes, word).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_the_positions() {
        let texts: [&[u8]; 8] = [
            b"",
            b"\n",
            b"a\nbc\n\nd",
            "\u{feff}a\n\u{feff}b\r\né搜\n".as_bytes(),
            b"\xff\xfe\n\xef\xbb\xbf",
            "\u{feff}é搜\u{feff}b, the same line".as_bytes(),
            b"a\xe6\x90b\x80\x80\xf0\x9f\x98\x80",
            "\u{feff}".as_bytes(),
        ];
        for text in texts {
            let lines = Lines::of(text);
            let offsets = 0..text.len() + 2;
            let pairs = offsets.clone().flat_map(|a| offsets.clone().flat_map(move |b| [a, b]));
            for offset in offsets.clone().chain(pairs) {
                assert_eq!(lines.position(offset), position(text, offset), "{text:?} at {offset}");
            }
        }
    }
}
