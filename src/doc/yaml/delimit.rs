//! Where the header begins and ends (contract.md §1): the first line is `---`, the next line that is
//! `---` ends it. Everything that merely looks like one of the two is named.

use std::ops::Range;

use super::node::{Kind, Node};
use super::{fault_at, gap};
use crate::doc::{BOM, Fault};
use crate::finding::Code;

/// The header and the text between its delimiter lines.
pub(super) fn find(bytes: &[u8]) -> Result<(Range<usize>, Range<usize>), Fault> {
    let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let first = line_at(bytes, start);
    if !is_delimiter(first.text) {
        return Err(no_header(bytes, start, first.text));
    }
    let mut at = first.end;
    while at < bytes.len() {
        let line = line_at(bytes, at);
        if is_delimiter(line.text) {
            return Ok((0..line.end, first.end..at));
        }
        at = line.end;
    }
    Err(no_end(bytes, first.end))
}

/// Whether the first line is the one that begins a header.
pub(super) fn begins(bytes: &[u8]) -> bool {
    let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    is_delimiter(line_at(bytes, start).text)
}

/// Refuse characters no YAML text may hold, and lines that mean the end of a document or a directive
/// wherever they stand.
pub(super) fn check_text(header: &str, inner: Range<usize>) -> Result<(), Fault> {
    let bytes = header.as_bytes();
    let text = &header[inner.clone()];
    if let Some((i, c)) = text.char_indices().find(|(_, c)| !may_stand_in_yaml(*c)) {
        let what = match c {
            '\u{FEFF}' => "a byte order mark inside the frontmatter".to_owned(),
            c => format!("the control character U+{:04X}", c as u32),
        };
        return Err(fault_at(bytes, Code::InvalidYaml, inner.start + i, &what));
    }
    let mut at = inner.start;
    let mut begun = false;
    for line in text.split_inclusive('\n') {
        let blank_after =
            |mark: &str| line.strip_prefix(mark).is_some_and(|r| r.starts_with([' ', '\t', '\r', '\n']));
        if blank_after("...") {
            let what = "`...` does not end the frontmatter; a line `---` does";
            return Err(fault_at(bytes, Code::InvalidFrontmatter, at, what));
        }
        if blank_after("---") {
            let what = "a second YAML document inside the frontmatter";
            return Err(fault_at(bytes, Code::UnsupportedYaml, at, what));
        }
        if !begun && line.starts_with('%') {
            return Err(directive(bytes, at, line));
        }
        begun |= !gap::is_blank(line) && !gap::is_comment(line);
        at += line.len();
    }
    Ok(())
}

/// An indented `---` or `...` that YAML reads as part of an unquoted value was meant as the end of the
/// header; in a block or quoted scalar it is text.
pub(super) fn check_indented(header: &str, inner: Range<usize>, root: &Node) -> Result<(), Fault> {
    let scalars = root.scalars();
    let is_text = |at: usize| {
        let next = scalars.partition_point(|n| n.range.start <= at);
        scalars[..next].last().is_some_and(|n| n.kind.keeps_text() && n.range.contains(&at))
    };
    let mut at = inner.start;
    for line in header[inner].split_inclusive('\n') {
        if is_indented_mark(line) && !is_text(at) {
            let what = format!("an indented `{}` does not end the frontmatter", line.trim());
            return Err(fault_at(header.as_bytes(), Code::InvalidFrontmatter, at, &what));
        }
        at += line.len();
    }
    Ok(())
}

/// A better reason for text that is no YAML, when a line at or before the error looks like the end of
/// the header.
pub(super) fn explain(header: &str, inner: Range<usize>, fault: Fault) -> Fault {
    if fault.code != Code::InvalidYaml {
        return fault;
    }
    let mut at = inner.start;
    for line in header[inner.start..inner.end].split_inclusive('\n') {
        if at > fault.offset {
            break;
        }
        let mark = line.trim_end();
        if is_indented_mark(line) || (mark.len() > 3 && mark.bytes().all(|b| b == b'-')) {
            let what = format!("`{mark}` does not end the frontmatter, and with it the text is no YAML");
            return fault_at(header.as_bytes(), Code::InvalidFrontmatter, at, &what);
        }
        at += line.len();
    }
    fault
}

/// The fault of a header without entries.
pub(super) fn empty(header: &str, inner: Range<usize>) -> Fault {
    fault_at(header.as_bytes(), Code::InvalidFrontmatter, inner.start, "the frontmatter is empty")
}

struct Line<'a> {
    /// Without its line end.
    text: &'a [u8],
    /// Just after its line end.
    end: usize,
}

/// The line that starts at `at`; it ends with LF or CRLF, a bare CR belongs to its text.
fn line_at(bytes: &[u8], at: usize) -> Line<'_> {
    match bytes[at..].iter().position(|b| *b == b'\n') {
        Some(n) => {
            let text = &bytes[at..at + n];
            Line { text: text.strip_suffix(b"\r").unwrap_or(text), end: at + n + 1 }
        }
        None => Line { text: &bytes[at..], end: bytes.len() },
    }
}

fn is_delimiter(line: &[u8]) -> bool {
    line.strip_prefix(b"---").is_some_and(|rest| rest.iter().all(is_blank))
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn is_indented_mark(line: &str) -> bool {
    let content = line.trim_start_matches([' ', '\t']);
    content.len() < line.len() && matches!(content.trim_end(), "---" | "...")
}

fn no_header(bytes: &[u8], start: usize, first: &[u8]) -> Fault {
    if first.starts_with(b"%YAML") || first.starts_with(b"%TAG") {
        return directive(bytes, start, &String::from_utf8_lossy(first));
    }
    let content = first.trim_ascii();
    let reason = if bytes.len() == start {
        "the file is empty"
    } else if content.is_empty() {
        "the first line is blank"
    } else if content == b"---" && first.first().is_some_and(is_blank) {
        "the first line is an indented `---`"
    } else if content.len() > 3 && content.iter().all(|b| *b == b'-') {
        "the first line has more than three dashes"
    } else if first.starts_with(b"---") {
        "on the first line something follows the `---`"
    } else {
        "the first line is not `---`"
    };
    fault_at(bytes, Code::InvalidFrontmatter, start, &format!("no frontmatter: {reason}"))
}

fn no_end(bytes: &[u8], start: usize) -> Fault {
    let mut at = start;
    while at < bytes.len() {
        let line = line_at(bytes, at);
        let content = line.text.trim_ascii();
        let what = if content == b"..." {
            "`...`"
        } else if content == b"---" && line.text.first().is_some_and(is_blank) {
            "an indented `---`"
        } else if content.len() > 3 && content.iter().all(|b| *b == b'-') {
            "a line of more than three dashes"
        } else if line.text.starts_with(b"---\r") {
            "a `---` with a bare carriage return"
        } else {
            at = line.end;
            continue;
        };
        let what = format!("the frontmatter has no closing line `---`; {what} does not end it");
        return fault_at(bytes, Code::InvalidFrontmatter, at, &what);
    }
    fault_at(bytes, Code::InvalidFrontmatter, 0, "the frontmatter has no closing line `---`")
}

fn directive(bytes: &[u8], offset: usize, line: &str) -> Fault {
    let name = line.split([' ', '\t', '\r', '\n']).next().unwrap_or(line);
    fault_at(bytes, Code::UnsupportedYaml, offset, &format!("the directive `{name}`"))
}

/// The printable characters of YAML 1.2, without the byte order mark.
fn may_stand_in_yaml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{A0}'..='\u{FFFD}' | '\u{10000}'..)
        && c != '\u{FEFF}'
}

impl Kind {
    /// Whether a line of dashes inside such a scalar is text on purpose.
    fn keeps_text(&self) -> bool {
        matches!(self, Kind::BlockScalar | Kind::SingleQuoted | Kind::DoubleQuoted)
    }
}
