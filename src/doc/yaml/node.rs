//! The header as a tree: what stands where, and what it means.

use std::ops::Range;

use serde_json::{Map, Value};

use super::scalar;

/// One node of the header.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// From its first byte (anchor and tag included) to its last.
    pub(super) range: Range<usize>,
    /// Behind the blank lines that are part of a `+` block scalar; otherwise `range.end`.
    pub(super) tail: usize,
    /// The content of a scalar, unescaped and unfolded.
    pub(super) content: String,
    /// An anchor, alias or tag of its own.
    pub(super) own_mark: Option<Mark>,
    /// The first such thing in it or below it.
    pub(super) mark: Option<Mark>,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Empty,
    Plain,
    SingleQuoted,
    DoubleQuoted,
    BlockScalar,
    Alias,
    Sequence { flow: bool, items: Vec<Item> },
    Mapping { flow: bool, pairs: Vec<Pair> },
}

/// One item of a list.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Where its dash stands; in a flow list the start of the item.
    pub(super) dash: usize,
    pub(super) node: Node,
}

/// One pair of a mapping.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) key: Node,
    pub(super) value: Node,
    pub(super) after_colon: Option<usize>,
    /// Why the key is none the editor can name.
    pub(super) key_fault: Option<Mark>,
}

/// Something the editor does not touch.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    pub(super) what: String,
    pub(super) offset: usize,
    /// Whether the value cannot be told from the text alone.
    pub(super) opaque: bool,
}

impl Node {
    pub(super) fn new(kind: Kind, range: Range<usize>, own_mark: Option<Mark>) -> Node {
        let mark = own_mark.clone();
        Node { kind, tail: range.end, range, content: String::new(), own_mark, mark }
    }

    /// A list or mapping: it ends at `close`, in block style where its last child ends.
    pub(super) fn collection(kind: Kind, start: usize, close: Option<usize>, own_mark: Option<Mark>) -> Node {
        let mut node = Node::new(kind, start..start, own_mark);
        let mut below = Vec::new();
        let (mut end, mut tail) = (start, start);
        match &node.kind {
            Kind::Sequence { items, .. } => {
                for item in items {
                    below.extend(item.node.mark.clone());
                    (end, tail) = (item.node.range.end, item.node.tail);
                }
            }
            Kind::Mapping { pairs, .. } => {
                for pair in pairs {
                    below.extend(pair.key_fault.clone());
                    below.extend(pair.key.mark.clone());
                    below.extend(pair.value.mark.clone());
                    (end, tail) = (pair.value.range.end, pair.value.tail);
                }
            }
            _ => {}
        }
        node.range.end = close.unwrap_or(end);
        node.tail = close.unwrap_or(tail);
        let opaque = node.mark.iter().chain(&below).any(|m| m.opaque);
        node.mark = node.mark.or(below.into_iter().next()).map(|m| Mark { opaque, ..m });
        node
    }

    /// An empty node without anchor or tag stands directly after its dash or colon.
    pub(super) fn place_empty(&mut self, at: usize) {
        if matches!(self.kind, Kind::Empty) && self.own_mark.is_none() {
            self.range = at..at;
            self.tail = at;
        }
    }

    /// The key this node is: its content, or its source text when it is no scalar.
    pub(super) fn key_text(&self, header: &str) -> String {
        match self.kind {
            Kind::Sequence { .. } | Kind::Mapping { .. } | Kind::Alias => {
                header[self.range.clone()].to_owned()
            }
            _ => self.content.clone(),
        }
    }

    /// The value by the core schema; source text stands for what is no plain value.
    pub(super) fn value(&self, header: &str) -> Value {
        match &self.kind {
            Kind::Empty => Value::Null,
            Kind::Plain => scalar::resolve(&self.content),
            Kind::SingleQuoted | Kind::DoubleQuoted | Kind::BlockScalar => {
                Value::String(self.content.clone())
            }
            Kind::Alias => Value::String(header[self.range.clone()].to_owned()),
            Kind::Sequence { items, .. } => items.iter().map(|i| i.node.value(header)).collect(),
            Kind::Mapping { pairs, .. } => {
                let entries = pairs.iter().map(|p| (p.key.key_text(header), p.value.value(header)));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// Every node in document order, this one first.
    pub(super) fn walk<'n>(&'n self, visit: &mut impl FnMut(&'n Node)) {
        visit(self);
        match &self.kind {
            Kind::Sequence { items, .. } => items.iter().for_each(|i| i.node.walk(visit)),
            Kind::Mapping { pairs, .. } => {
                for pair in pairs {
                    pair.key.walk(visit);
                    pair.value.walk(visit);
                }
            }
            _ => {}
        }
    }

    /// The scalars in it, in document order.
    pub(super) fn scalars(&self) -> Vec<&Node> {
        let mut out = Vec::new();
        self.walk(&mut |node| {
            if !matches!(node.kind, Kind::Sequence { .. } | Kind::Mapping { .. }) {
                out.push(node);
            }
        });
        out
    }
}
