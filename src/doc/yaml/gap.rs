//! The text between two nodes: blanks, line ends and comments, and the lines an entry owns.

use std::ops::Range;

use super::node::Node;

/// The first byte at or after `at` that is neither white space nor part of a comment.
pub(super) fn skip(text: &str, mut at: usize) -> usize {
    let bytes = text.as_bytes();
    while let Some(byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' | b'\n' => at += 1,
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => at += 1,
            b'#' => at = line_end(text, at),
            _ => break,
        }
    }
    at
}

/// The start of the line `at` stands in.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |i| i + 1)
}

/// The start of the next line, or the end of the text.
pub(super) fn next_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |i| at + i + 1)
}

/// The offset of the LF that ends the line `at` stands in, or the end of the text.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |i| at + i)
}

/// Whether a line is empty or holds blanks only.
pub(super) fn is_blank(line: &str) -> bool {
    without_end(line).bytes().all(|b| b == b' ' || b == b'\t')
}

/// A line without its LF or CRLF.
fn without_end(line: &str) -> &str {
    line.strip_suffix('\n').map_or(line, |text| text.strip_suffix('\r').unwrap_or(text))
}

/// Where the text before `end` stops when trailing blanks and line ends are left out.
pub(super) fn trimmed_end(text: &str, end: usize) -> usize {
    let mut rest = &text[..end];
    loop {
        let shorter = without_end(rest).trim_end_matches([' ', '\t']);
        if shorter.len() == rest.len() {
            return rest.len();
        }
        rest = shorter;
    }
}

/// Whether a line holds nothing but a comment.
pub(super) fn is_comment(line: &str) -> bool {
    line.trim_start_matches([' ', '\t']).starts_with('#')
}

/// Whether something that begins at `start` and ends at `end` is alone on its lines, but for spaces in
/// front and a comment behind it.
fn owns_lines(text: &str, start: usize, end: usize) -> bool {
    let front = &text[line_start(text, start)..start];
    let back = &text[end..next_line(text, end)];
    front.bytes().all(|b| b == b' ') && (is_blank(back) || is_comment(back))
}

/// The whole lines from a key (or the dash of a list item) to the end of its value; `None` when
/// something else stands on them.
pub(super) fn own_lines(text: &str, start: usize, node: &Node) -> Option<Range<usize>> {
    let end = node.range.end.max(start);
    if !owns_lines(text, start, end) {
        return None;
    }
    let after = if node.tail > node.range.end { line_start(text, node.tail) } else { next_line(text, end) };
    Some(line_start(text, start)..after.max(next_line(text, end)))
}

/// Whether a comment stands in `range`, outside the scalars (all there are in it, in order).
pub(super) fn has_comment(text: &str, scalars: &[&Node], range: Range<usize>) -> bool {
    let mut at = range.start;
    let mut gaps = Vec::new();
    for scalar in scalars {
        if scalar.range.start < range.end && range.start < scalar.range.end {
            gaps.push(at..scalar.range.start.max(at));
            at = scalar.range.end;
        }
    }
    gaps.push(at..range.end.max(at));
    gaps.into_iter().any(|gap| text[gap].contains('#'))
}
