//! How the document is written, and how new values are written to look like it.

use serde_json::Value;

use super::{Document, Kind, Node};
use crate::doc::BOM;

/// The habits of one document, each taken from the first place that shows it.
#[derive(Debug)]
pub(super) struct Style {
    /// What one level adds to the indent.
    unit: String,
    /// The text between a key and its value.
    pub(super) colon: String,
    object: OneLine,
    array: OneLine,
    /// How characters beyond ASCII are escaped, in a document that has none but escaped ones.
    escape: Option<HexCase>,
}

/// The habits of objects, or arrays, that stand on one line.
#[derive(Debug)]
struct OneLine {
    pad: String,
    comma: String,
    /// Whether the document never breaks one that holds no further non-empty object or array.
    leaves: bool,
}

#[derive(Debug, Clone, Copy)]
enum HexCase {
    Lower,
    Upper,
}

/// Where a new value is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writer<'a> {
    pub(super) style: &'a Style,
    /// The text between a key and its value.
    pub(super) colon: &'a str,
    /// The line end of new lines.
    pub(super) eol: &'a str,
}

impl Style {
    pub(super) fn of(document: &Document) -> Style {
        let mut seen = Seen { bytes: document.bytes(), ..Seen::default() };
        seen.walk(document.root());
        let colon = seen.colon.unwrap_or(": ").to_owned();
        let comma = seen.object.comma.or(seen.array.comma);
        let comma = comma.unwrap_or(if colon.ends_with([' ', '\t']) { " " } else { "" });
        let one_line = |s: &SeenOneLine| OneLine {
            pad: s.pad.unwrap_or_default().to_owned(),
            comma: s.comma.unwrap_or(comma).to_owned(),
            leaves: s.leaves > 0 && s.broken_leaves == 0,
        };
        let is_escaped =
            seen.beyond_ascii && document.bytes().strip_prefix(BOM).unwrap_or(document.bytes()).is_ascii();
        Style {
            unit: seen.unit.unwrap_or("  ").to_owned(),
            object: one_line(&seen.object),
            array: one_line(&seen.array),
            escape: is_escaped.then(|| hex_case(document.bytes())),
            colon,
        }
    }

    /// The indent of what stands inside a value whose line has this indent.
    pub(super) fn deeper(&self, indent: &str) -> String {
        format!("{indent}{}", self.unit)
    }

    /// What separates the braces of a one-line object from its members.
    pub(super) fn object_pad(&self) -> &str {
        &self.object.pad
    }

    /// What follows the comma in a one-line object.
    pub(super) fn object_comma(&self) -> &str {
        &self.object.comma
    }

    /// A string with the fewest escapes the document's habits allow.
    pub(super) fn string(&self, text: &str) -> String {
        let minimal = Value::from(text).to_string();
        let Some(case) = self.escape else { return minimal };
        let mut out = String::with_capacity(minimal.len());
        for c in minimal.chars() {
            if c.is_ascii() {
                out.push(c);
                continue;
            }
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&match case {
                    HexCase::Lower => format!("\\u{unit:04x}"),
                    HexCase::Upper => format!("\\u{unit:04X}"),
                });
            }
        }
        out
    }
}

impl Writer<'_> {
    /// A member whose value begins on a line with this indent; `None` keeps everything on one line.
    pub(super) fn member(&self, key: &str, value: &Value, indent: Option<&str>) -> String {
        format!("{}{}{}", self.style.string(key), self.colon, self.value(value, indent))
    }

    /// A value that begins on a line with this indent; `None` keeps everything on one line.
    pub(super) fn value(&self, value: &Value, indent: Option<&str>) -> String {
        if let Some(text) = bare(value) {
            return text;
        }
        let (habit, open, close) = match value {
            Value::String(s) => return self.style.string(s),
            Value::Array(_) => (&self.style.array, '[', ']'),
            _ => (&self.style.object, '{', '}'),
        };
        let inner = match indent {
            Some(indent) if !(habit.leaves && is_leaf(value)) => Some(self.style.deeper(indent)),
            _ => None,
        };
        let parts: Vec<String> = match value {
            Value::Array(items) => items.iter().map(|v| self.value(v, inner.as_deref())).collect(),
            Value::Object(members) => {
                members.iter().map(|(k, v)| self.member(k, v, inner.as_deref())).collect()
            }
            _ => Vec::new(),
        };
        match (&inner, indent) {
            (Some(inner), Some(indent)) => {
                let eol = self.eol;
                format!("{open}{eol}{inner}{}{eol}{indent}{close}", parts.join(&format!(",{eol}{inner}")))
            }
            _ => format!("{open}{0}{1}{0}{close}", habit.pad, parts.join(&format!(",{}", habit.comma))),
        }
    }
}

/// A value that is written alike in every document.
pub(super) fn bare(value: &Value) -> Option<String> {
    let is_bare = match value {
        Value::String(_) => false,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => true,
    };
    is_bare.then(|| value.to_string())
}

fn is_leaf(value: &Value) -> bool {
    let is_short = |v: &Value| match v {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => true,
    };
    match value {
        Value::Array(items) => items.iter().all(is_short),
        Value::Object(members) => members.values().all(is_short),
        _ => true,
    }
}

/// The white space that ends at `end`.
pub(super) fn space_before(bytes: &[u8], end: usize) -> &str {
    let start = bytes[..end].iter().rposition(|b| !is_space(*b)).map_or(0, |i| i + 1);
    std::str::from_utf8(&bytes[start..end]).unwrap_or_default()
}

/// The white space that begins at `start`.
pub(super) fn space_after(bytes: &[u8], start: usize) -> &str {
    let length = bytes[start..].iter().position(|b| !is_space(*b)).unwrap_or(bytes.len() - start);
    std::str::from_utf8(&bytes[start..start + length]).unwrap_or_default()
}

/// The indent of the line `offset` is on.
pub(super) fn line_indent(bytes: &[u8], offset: usize) -> &str {
    let start = memchr::memrchr(b'\n', &bytes[..offset]).map_or(0, |i| i + 1);
    space_after(&bytes[..offset], start)
}

/// The part of some white space that follows its last line end; `None` when it has none.
pub(super) fn last_line(space: &str) -> Option<&str> {
    space.rsplit_once('\n').map(|(_, indent)| indent)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn hex_case(bytes: &[u8]) -> HexCase {
    let digits = || bytes.windows(6).filter(|w| w.starts_with(b"\\u")).flat_map(|w| &w[2..]);
    let has_upper = digits().any(|b| matches!(b, b'A'..=b'F'));
    let has_lower = digits().any(|b| matches!(b, b'a'..=b'f'));
    if has_upper && !has_lower { HexCase::Upper } else { HexCase::Lower }
}

#[derive(Default)]
struct Seen<'a> {
    bytes: &'a [u8],
    unit: Option<&'a str>,
    colon: Option<&'a str>,
    object: SeenOneLine<'a>,
    array: SeenOneLine<'a>,
    beyond_ascii: bool,
}

#[derive(Default)]
struct SeenOneLine<'a> {
    pad: Option<&'a str>,
    comma: Option<&'a str>,
    leaves: usize,
    broken_leaves: usize,
}

impl<'a> Seen<'a> {
    fn walk(&mut self, node: &Node) {
        if matches!(node.kind, Kind::String) {
            self.beyond_ascii |= is_beyond_ascii(&self.bytes[node.range.clone()]);
            return;
        }
        let bytes = self.bytes;
        // The white space in front of each item or member.
        let lead = |index: usize| Some(space_before(bytes, part_start(node, index)?));
        let Some(first) = lead(0) else { return };
        if let Some(indent) = (0..).map_while(lead).find_map(last_line) {
            if self.unit.is_none() {
                self.unit = indent.strip_prefix(line_indent(bytes, node.range.start));
            }
        } else {
            let seen = match node.kind {
                Kind::Array(_) => &mut self.array,
                _ => &mut self.object,
            };
            seen.pad.get_or_insert(first);
            seen.comma = seen.comma.or_else(|| lead(1));
        }
        self.count(node);
        match &node.kind {
            Kind::Array(items) => items.iter().for_each(|item| self.walk(item)),
            Kind::Object(members) => {
                for member in members {
                    self.beyond_ascii |= !member.key.is_ascii();
                    self.colon = self.colon.or_else(|| colon(bytes, member));
                    self.walk(&member.value);
                }
            }
            _ => {}
        }
    }

    /// A leaf is what holds no non-empty object or array.
    fn count(&mut self, node: &Node) {
        let is_short = |n: &Node| match &n.kind {
            Kind::Array(items) => items.is_empty(),
            Kind::Object(members) => members.is_empty(),
            _ => true,
        };
        let (seen, is_leaf) = match &node.kind {
            Kind::Array(items) => (&mut self.array, items.iter().all(is_short)),
            Kind::Object(members) => (&mut self.object, members.iter().all(|m| is_short(&m.value))),
            _ => return,
        };
        if is_leaf {
            seen.leaves += 1;
            seen.broken_leaves += usize::from(self.bytes[node.range.clone()].contains(&b'\n'));
        }
    }
}

/// Where an item, or a member with its key, begins.
fn part_start(node: &Node, index: usize) -> Option<usize> {
    match &node.kind {
        Kind::Array(items) => Some(items.get(index)?.range.start),
        Kind::Object(members) => Some(members.get(index)?.key_range.start),
        _ => None,
    }
}

/// Whether a string, given as it is written, has characters beyond ASCII, escaped or not.
fn is_beyond_ascii(raw: &[u8]) -> bool {
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let is_wide = |digits: &[u8]| !(digits.starts_with(b"00") && digits[2] < b'8');
        match rest.get(at + 1..) {
            Some([b'u', digits @ ..]) if digits.get(..4).is_some_and(is_wide) => return true,
            Some([_, more @ ..]) => rest = more,
            _ => break,
        }
    }
    !raw.is_ascii()
}

/// The text between a member's key and value, when it stays on one line.
pub(super) fn colon<'a>(bytes: &'a [u8], member: &super::Member) -> Option<&'a str> {
    let text = std::str::from_utf8(&bytes[member.key_range.end..member.value.range.start]).ok()?;
    (!text.contains('\n')).then_some(text)
}
