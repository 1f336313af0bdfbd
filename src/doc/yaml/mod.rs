//! The YAML header ("frontmatter") of a Markdown file, edited as text (contract.md §1, "Text rules").
//!
//! Spans come from the event stream of one YAML library, values are checked against the reading of
//! another, and nothing is ever printed from parsed data: comments, quotes, blank lines, order and line
//! ends stay. What cannot be edited exactly is refused.
//!
//! Refused as a whole: a header without a clear beginning or end, an empty one, one that is no mapping
//! (`invalid-frontmatter`); text that is no YAML, tabs as indentation, control characters
//! (`invalid-yaml`); bytes that are no UTF-8 (`invalid-utf8`); a key twice in one mapping, at any depth
//! (`duplicate-key`); and as `unsupported-yaml` directives, several documents, an anchor or tag on the
//! whole mapping, merge keys, complex keys, keys that are no strings, nesting beyond 64 levels, and any
//! text the two libraries read differently.
//!
//! Refused when edited: an entry with an anchor, alias or tag anywhere in it ([`Entry::unsupported`]).
//! Aliases are never expanded. The value of an entry that holds an alias, a tag, or (deeper down) a merge
//! key or a key that is no string is its source text as one string; an anchor alone leaves the value as
//! it is.
//!
//! Values follow the YAML 1.2 core schema. Two kinds of number have no exact place in JSON and stay
//! strings: non-finite floats, and integers beyond 64 bits. A bare CR, NEL, LS or PS is no line end but a
//! character of the line it stands in.

mod check;
mod delimit;
mod edit;
mod gap;
mod node;
mod ops;
mod plain;
mod scalar;
mod tree;

use std::ops::Range;

use serde_json::{Map, Value};

use self::node::{Kind, Node, Pair};
use super::edit::Edits;
use super::{Fault, position};
use crate::finding::Code;

pub use self::ops::{Op, edit_value};

/// The header of one Markdown file. All ranges are byte offsets into the whole file.
#[derive(Debug, Clone)]
pub struct Frontmatter {
    /// From offset 0 (a BOM included) to just after the closing `---` line and its line end.
    pub range: Range<usize>,
    /// The text between the two delimiter lines.
    pub inner: Range<usize>,
    /// The top-level entries, in their order.
    pub entries: Vec<Entry>,
    /// The bytes of `range`.
    header: String,
    value: Value,
    /// The braces of a flow mapping, both included; `None` for a block mapping.
    braces: Option<Range<usize>>,
}

/// One top-level entry of the header.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key, unquoted.
    pub key: String,
    /// The key as written, quotes included.
    pub key_range: Range<usize>,
    /// The value as written, without comment and trailing blanks; for an empty value the empty range
    /// after the colon.
    pub value_range: Range<usize>,
    /// The entry's own whole lines, line end included: comments on its lines and between them, but none
    /// above or below. In a flow mapping: from key to value.
    pub lines: Range<usize>,
    /// The value by the YAML 1.2 core schema.
    pub value: Value,
    /// The source text of `value_range`: how an odd number is spelled, for instance.
    pub text: String,
    /// Why this entry cannot be edited (an anchor, alias or tag); its value may be its source text.
    pub unsupported: Option<Fault>,
    /// Just after the colon; `None` for a bare key in a flow mapping.
    after_colon: Option<usize>,
    key_node: Node,
    node: Node,
}

impl Frontmatter {
    /// Whether a file begins as one with a header does.
    pub fn may_begin(bytes: &[u8]) -> bool {
        delimit::begins(bytes)
    }

    /// Read the header of a Markdown file. `bytes` is the whole file; what follows the header may be
    /// anything.
    pub fn parse(bytes: &[u8]) -> Result<Frontmatter, Fault> {
        let (range, inner) = delimit::find(bytes)?;
        let header = match str::from_utf8(&bytes[range.clone()]) {
            Ok(text) => text.to_owned(),
            Err(e) => {
                let at = e.valid_up_to();
                return Err(fault_at(bytes, Code::InvalidUtf8, at, "bytes that are no UTF-8"));
            }
        };
        if let Some(root) = plain::read(&header, inner.clone()) {
            return Frontmatter::from_root(range, inner, header, root);
        }
        delimit::check_text(&header, inner.clone())?;
        let root = match tree::read(&header, inner.clone()) {
            Ok(root) => root,
            Err(fault) => return Err(delimit::explain(&header, inner, fault)),
        };
        let Some(root) = root else {
            return Err(delimit::empty(&header, inner));
        };
        delimit::check_indented(&header, inner.clone(), &root)?;
        refuse_top_level(&header, &root)?;
        check::same_reading(&header, inner.clone(), &root)?;
        Frontmatter::from_root(range, inner, header, root)
    }

    /// The whole mapping, order kept.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The entry with this key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.key == key)
    }

    /// The edits that do `ops`, as spans of the whole file. The result is read again and compared with
    /// [`edit_value`]; a difference is a fault, as are an unknown key, a key edited twice, and an entry
    /// that is [`Entry::unsupported`].
    pub fn edit(&self, ops: &[Op]) -> Result<Edits, Fault> {
        self.edit_and_read(ops).map(|(edits, _)| edits)
    }

    /// The same, and the header that the edited file has.
    pub fn edit_and_read(&self, ops: &[Op]) -> Result<(Edits, Frontmatter), Fault> {
        edit::edit(self, ops)
    }

    /// Whether a file has this header.
    pub(super) fn is_of(&self, bytes: &[u8]) -> bool {
        // The line end behind it is its own.
        let is_whole = self.header.ends_with('\n') || self.header.len() == bytes.len();
        is_whole && bytes.starts_with(self.header.as_bytes())
    }

    fn from_root(
        range: Range<usize>,
        inner: Range<usize>,
        header: String,
        root: Node,
    ) -> Result<Frontmatter, Fault> {
        let Kind::Mapping { flow, pairs } = root.kind else {
            let what = "the frontmatter is no mapping";
            return Err(fault_at(header.as_bytes(), Code::InvalidFrontmatter, root.range.start, what));
        };
        if pairs.is_empty() {
            return Err(delimit::empty(&header, inner));
        }
        let mut entries = Vec::with_capacity(pairs.len());
        let mut value = Map::new();
        for pair in pairs {
            let entry = Entry::new(&header, flow, pair)?;
            value.insert(entry.key.clone(), entry.value.clone());
            entries.push(entry);
        }
        let braces = flow.then_some(root.range);
        Ok(Frontmatter { range, inner, entries, header, value: Value::Object(value), braces })
    }
}

impl Entry {
    fn new(header: &str, flow: bool, pair: Pair) -> Result<Entry, Fault> {
        let Pair { key: key_node, value: node, after_colon, .. } = pair;
        let unsupported =
            |offset, what: &str| fault_at(header.as_bytes(), Code::UnsupportedYaml, offset, what);
        let key = key_node.key_text(header);
        let lines = if flow {
            key_node.range.start..node.range.end.max(key_node.range.end)
        } else {
            gap::own_lines(header, key_node.range.start, &node)
                .ok_or_else(|| unsupported(key_node.range.start, &format!("the lines of `{key}`")))?
        };
        let text = header[node.range.clone()].to_owned();
        let mark = key_node.mark.as_ref().or(node.mark.as_ref());
        let value = match mark {
            Some(mark) if mark.opaque => Value::String(text.clone()),
            _ => node.value(header),
        };
        let unsupported = mark.map(|mark| Fault {
            pointer: Some(super::pointer::Pointer::new([&key]).to_string()),
            ..unsupported(mark.offset, &format!("{} in `{key}`", mark.what))
        });
        Ok(Entry {
            key_range: key_node.range.clone(),
            value_range: node.range.clone(),
            key,
            lines,
            value,
            text,
            unsupported,
            after_colon,
            key_node,
            node,
        })
    }
}

/// Refuse what makes the whole mapping impossible to edit: marks of its own, and keys without a name.
fn refuse_top_level(header: &str, root: &Node) -> Result<(), Fault> {
    let unsupported =
        |offset, what: &str| Err(fault_at(header.as_bytes(), Code::UnsupportedYaml, offset, what));
    if let Some(mark) = &root.own_mark {
        return unsupported(mark.offset, &format!("{} on the whole mapping", mark.what));
    }
    let Kind::Mapping { pairs, .. } = &root.kind else {
        return Ok(());
    };
    match pairs.iter().find_map(|pair| pair.key_fault.as_ref()) {
        Some(mark) => unsupported(mark.offset, &mark.what),
        None => Ok(()),
    }
}

/// A fault whose message ends with its line, so that it can be understood alone.
fn fault_at(header: &[u8], code: Code, offset: usize, what: &str) -> Fault {
    let (line, column) = position(header, offset);
    Fault::new(code, offset, format!("{what} (line {line}, column {column})"))
}
