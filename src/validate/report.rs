//! Collecting violations: places, source lines, and which of two that say the same stays.

use std::collections::BTreeSet;
use std::ops::Range;

use super::text::Text;
use super::{Class, Rule, SourceLine, Violation};
use crate::doc::pointer::Pointer;
use crate::doc::position;
use crate::finding::Place;
use crate::state::change::SourceFile;
use crate::state::layout::Layout;
use crate::step::Release;

/// The violations of one rule.
pub(super) struct Report<'a> {
    layout: &'a Layout,
    release: &'static Release,
    rule: &'static Rule,
    pub(super) violations: Vec<Violation>,
}

impl<'a> Report<'a> {
    pub(super) fn new(layout: &'a Layout, release: &'static Release, rule: &'static Rule) -> Report<'a> {
        Report { layout, release, rule, violations: Vec::new() }
    }

    /// At a value.
    pub(super) fn at(&mut self, text: &Text<'_>, pointer: &Pointer, message: impl Into<String>) {
        self.span(text.file, text.span(pointer), Some(pointer), message);
    }

    /// At a member of the root.
    pub(super) fn member(&mut self, text: &Text<'_>, key: &str, message: impl Into<String>) {
        self.at(text, &Pointer::new([key]), message);
    }

    /// At bytes of a file.
    pub(super) fn span(
        &mut self,
        file: &SourceFile,
        range: Range<usize>,
        pointer: Option<&Pointer>,
        message: impl Into<String>,
    ) {
        let (line, column) = position(&file.bytes, range.start);
        let place = Place {
            file: self.layout.shown(&file.path),
            line: Some(line),
            column: Some(column),
            pointer: pointer.map(ToString::to_string),
        };
        self.push(place, message.into(), Some(source_line(&file.bytes, range)));
    }

    /// A whole file, by its path below `specdev/`.
    pub(super) fn file(&mut self, path: &str, message: impl Into<String>) {
        self.push(Place::file(self.layout.shown(path)), message.into(), None);
    }

    fn push(&mut self, place: Place, message: String, source_line: Option<SourceLine>) {
        self.violations.push(Violation {
            rule: self.rule.id,
            class: self.rule.class,
            place,
            message,
            advice: self.rule.advice.replace("{release}", self.release.name),
            source_line,
        });
    }
}

/// Sorted and each once; where a rule speaks of a value, the schema's plainer word on it is dropped.
pub(super) fn settle(mut found: Vec<Violation>) -> Vec<Violation> {
    let key = |v: &Violation| v.place.pointer.is_some().then(|| v.place.clone());
    let said: BTreeSet<_> =
        found.iter().filter(|v| v.class == Class::Current && !is_schema(v.rule)).filter_map(key).collect();
    found.retain(|v| !is_schema(v.rule) || key(v).is_none_or(|k| !said.contains(&k)));
    found.sort_by(|a, b| (&a.place, a.rule, &a.message).cmp(&(&b.place, b.rule, &b.message)));
    found.dedup();
    found
}

/// Whether a rule only passes on what a schema says.
fn is_schema(rule: &str) -> bool {
    rule.ends_with("-schema")
}

/// The line a range begins in, cut around it.
fn source_line(bytes: &[u8], range: Range<usize>) -> SourceLine {
    let at = range.start.min(bytes.len());
    let start = bytes[..at].iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    let end = bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |i| at + i);
    let end = if bytes[at..end].ends_with(b"\r") { end - 1 } else { end };
    let start =
        if start == 0 && bytes.starts_with(crate::doc::BOM) { crate::doc::BOM.len().min(at) } else { start };
    let before: Vec<char> = shown(&bytes[start..at]);
    let inside: Vec<char> = shown(&bytes[at..range.end.clamp(at, end)]);
    let after: Vec<char> = shown(&bytes[range.end.clamp(at, end)..end]);
    let mut text = String::new();
    let kept = &before[before.len().saturating_sub(SHOWN_BEFORE)..];
    let mut width_before = kept.len();
    if kept.len() < before.len() {
        text.push('…');
        width_before += 1;
    }
    text.extend(kept);
    let rest: Vec<char> = inside.iter().chain(&after).copied().collect();
    text.extend(rest.iter().take(SHOWN_AFTER));
    if rest.len() > SHOWN_AFTER {
        text.push('…');
    }
    SourceLine { text, before: width_before, width: inside.len().clamp(1, SHOWN_AFTER) }
}

/// Text that is safe on a terminal.
fn shown(bytes: &[u8]) -> Vec<char> {
    let text = String::from_utf8_lossy(bytes);
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{FFFD}' } else { c }).collect()
}

const SHOWN_BEFORE: usize = 60;
const SHOWN_AFTER: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_line_is_shown_whole() {
        let line = source_line(b"{\n\t\"a\": 12,\n}", 8..10);
        assert_eq!(line, SourceLine { text: "\t\"a\": 12,".into(), before: 6, width: 2 });
    }

    #[test]
    fn a_line_is_shown_without_line_end_and_control_characters() {
        let line = source_line(b"\xEF\xBB\xBFa \x1b[31m: 1\r\nb", 3..4);
        assert_eq!(line, SourceLine { text: "a \u{FFFD}[31m: 1".into(), before: 0, width: 1 });
    }

    #[test]
    fn a_long_line_is_cut_around_the_value() {
        let text = format!("{}VALUE{}", "a".repeat(500), "b".repeat(500));
        let line = source_line(text.as_bytes(), 500..505);
        assert_eq!(line.text, format!("…{}VALUE{}…", "a".repeat(60), "b".repeat(95)));
        assert_eq!((line.before, line.width), (61, 5));
    }

    #[test]
    fn a_value_of_many_lines_is_marked_to_the_end_of_its_first() {
        let line = source_line(b"x: {\n  y\n}", 3..10);
        assert_eq!((line.text.as_str(), line.before, line.width), ("x: {", 3, 1));
    }

    #[test]
    fn an_offset_at_the_end_of_the_file_is_an_empty_line() {
        assert_eq!(source_line(b"a\n", 2..2), SourceLine { text: String::new(), before: 0, width: 1 });
    }
}
