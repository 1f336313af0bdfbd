//! JSON without losses (contract.md §1 "Text rules").
//!
//! A [`Document`] shares the bytes of a file, and reads a tree of byte spans out of them and, when it is
//! asked for, the plain value. Edits are spans: whatever no [`Op`] speaks of keeps its bytes, from indent
//! and escapes to the missing final newline.
//!
//! One strict reader makes both; what it refuses is named with the help of two libraries (`jsonc-parser`,
//! every leniency switched off, and `serde_json`), and a text that only they take is refused as well. So
//! are duplicate keys, text that is nearly JSON (each construct by its name), nesting deeper than
//! [`MAX_DEPTH`], numbers no double can hold and text that is not UTF-8. A byte order mark at the start is
//! kept and counts in every offset.
//!
//! Every edit is proven before it is given out: the edited text is read again, and whatever no operation
//! speaks of must have kept its bytes, whatever one brings must read as its value. [`edit_value`] is the
//! same edit on a plain value, for those who want to compare.

mod edit;
mod layout;
mod ops;
mod parse;
mod prove;
mod strict;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

pub use ops::{Op, edit_value};

use super::Fault;
use super::edit::Edits;
use super::pointer::Pointer;
use crate::finding::Code;

/// How deep arrays and objects may be nested. Checked before anything recurses, so that a hostile file
/// is refused instead of ending the process; the libraries have the same limit.
pub const MAX_DEPTH: usize = 127;

/// A JSON text with its spans and its value.
///
/// A clone shares everything with its original.
#[derive(Debug, Clone)]
pub struct Document {
    bytes: Arc<Vec<u8>>,
    readings: Arc<Readings>,
}

#[derive(Debug)]
struct Readings {
    root: Node,
    value: OnceLock<Value>,
}

/// One value of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Byte offsets into the whole file, byte order mark included.
    pub range: Range<usize>,
    /// What stands there.
    pub kind: Kind,
}

/// What a [`Node`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array(Box<[Node]>),
    /// An object, in the order of the text.
    Object(Box<[Member]>),
}

/// One member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The key, decoded.
    pub key: Arc<str>,
    /// Byte offsets of the key, quotes included.
    pub key_range: Range<usize>,
    /// The value.
    pub value: Node,
}

impl Document {
    /// Read a text.
    ///
    /// # Errors
    /// [`Code::InvalidUtf8`], [`Code::InvalidJson`] naming the construct, or [`Code::DuplicateKey`] at
    /// the second of the two keys, naming both places.
    pub fn parse(bytes: &[u8]) -> Result<Document, Fault> {
        Document::of(Arc::new(bytes.to_vec()))
    }

    /// Read a text that is shared with others, like [`Document::parse`].
    ///
    /// # Errors
    /// As for [`Document::parse`].
    pub fn of(bytes: Arc<Vec<u8>>) -> Result<Document, Fault> {
        let root = strict::read(&bytes).ok_or_else(|| parse::fault(&bytes))?;
        let readings = Arc::new(Readings { root, value: OnceLock::new() });
        Ok(Document { bytes, readings })
    }

    /// The text as it was read, to be shared.
    pub fn shared(&self) -> Arc<Vec<u8>> {
        Arc::clone(&self.bytes)
    }

    /// The text as it was read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The top-level value; of any kind.
    pub fn root(&self) -> &Node {
        &self.readings.root
    }

    /// The same as a plain value, keys in the order of the text.
    pub fn value(&self) -> &Value {
        self.readings.value.get_or_init(|| self.value_of(self.root()))
    }

    /// One of its nodes as a plain value.
    pub fn value_of(&self, node: &Node) -> Value {
        strict::value(&self.bytes, node).unwrap_or_default()
    }

    /// The value a pointer leads to. Array indexes are decimal without leading zeros.
    pub fn find(&self, at: &Pointer) -> Option<&Node> {
        at.tokens().try_fold(self.root(), |node, token| match &node.kind {
            Kind::Object(_) => node.member(&token).map(|m| &m.value),
            Kind::Array(items) => items.get(ops::index(&token)?),
            _ => None,
        })
    }

    /// The bytes of a value exactly as they stand in the text.
    pub fn raw(&self, node: &Node) -> &[u8] {
        &self.bytes[node.range.clone()]
    }

    /// The compact text of a value: without the white space outside strings, number and string
    /// spellings kept.
    pub fn compact(&self, node: &Node) -> String {
        let raw = String::from_utf8_lossy(self.raw(node));
        let (mut in_string, mut escaped) = (false, false);
        let keep = |c: &char| {
            let kept = in_string || !c.is_ascii_whitespace();
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = !in_string,
                _ => {}
            }
            kept
        };
        raw.chars().filter(keep).collect()
    }

    /// The integral numbers whose spelling is not that of an integer (`2.0`, `1e2`), in the order of
    /// the text. Integer fields must be spelled as integers, which no schema can say (contract.md §1).
    pub fn integers_spelled_as_floats(&self) -> Vec<Pointer> {
        let mut found = Vec::new();
        floats(self, self.root(), &mut Vec::new(), &mut found);
        found
    }

    /// The spans that turn this text into the one with `ops` done.
    ///
    /// # Errors
    /// [`Code::InvalidJson`] with a message that begins "cannot edit" when the operations do not fit
    /// the document or each other: a pointer to nothing, an edit of or inside a removed or replaced
    /// value, a key that would stand twice.
    pub fn edit(&self, ops: &[Op]) -> Result<Edits, Fault> {
        self.edit_and_read(ops).map(|(edits, _)| edits)
    }

    /// The document with `ops` done, like [`Document::edit`].
    ///
    /// # Errors
    /// As for [`Document::edit`].
    pub fn edited(&self, ops: &[Op]) -> Result<Document, Fault> {
        self.edit_and_read(ops).map(|(_, result)| result)
    }

    fn edit_and_read(&self, ops: &[Op]) -> Result<(Edits, Document), Fault> {
        let refused = |r: ops::Refusal| Fault {
            code: Code::InvalidJson,
            offset: self.find(&r.at).map_or(0, |n| n.range.start),
            pointer: Some(r.at.to_string()),
            message: r.to_string(),
        };
        let failed =
            |why: String| Fault::new(Code::InvalidJson, 0, format!("cannot edit the document: {why}"));

        let change = ops::resolve(self.value(), ops).map_err(refused)?;
        prove::check(self.root(), &change, &Pointer::root()).map_err(refused)?;
        let edits = edit::edits(self, &change).map_err(failed)?;
        let result = Document::of(Arc::new(edits.apply(&self.bytes)))
            .map_err(|f| failed(format!("the result is not readable: {}", f.message)))?;
        if !prove::holds(self, &change, &result).map_err(refused)? {
            return Err(failed("the edited text does not read as the operations want it".into()));
        }
        Ok((edits, result))
    }
}

impl Node {
    /// The member of an object with this key.
    pub fn member(&self, key: &str) -> Option<&Member> {
        match &self.kind {
            Kind::Object(members) => members.iter().find(|m| *m.key == *key),
            _ => None,
        }
    }
}

impl Member {
    /// Byte offsets from the key to the end of the value.
    pub fn range(&self) -> Range<usize> {
        self.key_range.start..self.value.range.end
    }
}

fn floats(document: &Document, node: &Node, path: &mut Vec<String>, found: &mut Vec<Pointer>) {
    match &node.kind {
        Kind::Number => {
            let raw = std::str::from_utf8(document.raw(node)).unwrap_or_default();
            if raw.contains(['.', 'e', 'E']) && is_integral(raw) {
                found.push(Pointer::new(path.iter().cloned()));
            }
        }
        Kind::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                path.push(i.to_string());
                floats(document, item, path, found);
                path.pop();
            }
        }
        Kind::Object(members) => {
            for member in members {
                path.push(member.key.to_string());
                floats(document, &member.value, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

fn is_integral(number: &str) -> bool {
    number.parse::<f64>().is_ok_and(|n| n.fract() == 0.0)
}

/// Equality that also looks at the order of keys, which `Value`'s own does not.
fn identical(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| identical(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && identical(a, b))
        }
        _ => a == b,
    }
}
