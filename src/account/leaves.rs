//! The leaves of a text: where they stand and how they are spelled.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::doc::json::{Document, Kind, Node};
use crate::doc::pointer::{self, Pointer};

/// A text whose leaves are accounted for.
pub trait Leaves {
    /// Every leaf at or below a place.
    fn below(&self, at: &Pointer) -> Vec<Pointer>;
    /// The spelling of the leaf that stands at a place.
    fn spelling(&self, at: &Pointer) -> Option<Cow<'_, str>>;
    /// Whether anything stands at a place.
    fn holds(&self, at: &Pointer) -> bool;
    /// Every leaf that does not stand in `after` as it does here.
    fn changed(&self, after: &Self) -> Vec<Pointer>;
    /// Every leaf at or below a place that stands in `after` as it does here.
    fn unchanged(&self, at: &Pointer, after: &Self) -> Vec<Pointer>;
    /// How many there are.
    fn count(&self) -> usize;
    /// Whether these are the very leaves of `other`, as far as that is seen at once.
    fn is(&self, other: &Self) -> bool;
}

/// The leaves of a JSON document, spelled as in the file.
impl Leaves for Document {
    fn below(&self, at: &Pointer) -> Vec<Pointer> {
        let mut out = Vec::new();
        if let Some(node) = self.find(at) {
            walk(node, &mut at.as_str().to_owned(), &mut |at, _| out.push(Pointer::of_text(at)));
        }
        out
    }

    fn spelling(&self, at: &Pointer) -> Option<Cow<'_, str>> {
        spelling(self, self.find(at)?)
    }

    fn holds(&self, at: &Pointer) -> bool {
        self.find(at).is_some()
    }

    fn changed(&self, after: &Document) -> Vec<Pointer> {
        let mut pair = Compared { before: self, after, wants_equal: false, out: Vec::new() };
        pair.compare(self.root(), Some(after.root()), &mut String::new());
        pair.out
    }

    fn unchanged(&self, at: &Pointer, after: &Document) -> Vec<Pointer> {
        let mut pair = Compared { before: self, after, wants_equal: true, out: Vec::new() };
        if let Some(node) = self.find(at) {
            pair.compare(node, after.find(at), &mut at.as_str().to_owned());
        }
        pair.out
    }

    fn count(&self) -> usize {
        count(self.root())
    }

    fn is(&self, other: &Document) -> bool {
        std::ptr::eq(self.root(), other.root())
    }
}

/// A container that holds nothing is a leaf, spelled without what may stand between its brackets.
fn spelling<'a>(doc: &'a Document, node: &Node) -> Option<Cow<'a, str>> {
    match &node.kind {
        Kind::Object(members) => members.is_empty().then_some("{}".into()),
        Kind::Array(items) => items.is_empty().then_some("[]".into()),
        _ => Some(String::from_utf8_lossy(doc.raw(node))),
    }
}

/// Do something with every leaf below a node, which stands at `at`.
fn walk(node: &Node, at: &mut String, each: &mut dyn FnMut(&str, &Node)) {
    match &node.kind {
        Kind::Object(members) if !members.is_empty() => {
            for member in members {
                within(at, &member.key, |at| walk(&member.value, at, each));
            }
        }
        Kind::Array(items) if !items.is_empty() => {
            for (i, item) in items.iter().enumerate() {
                within(at, &i.to_string(), |at| walk(item, at, each));
            }
        }
        _ => each(at, node),
    }
}

/// Go one token down and come back.
fn within(at: &mut String, token: &str, below: impl FnOnce(&mut String)) {
    let length = at.len();
    pointer::push(at, token);
    below(at);
    at.truncate(length);
}

fn count(node: &Node) -> usize {
    match &node.kind {
        Kind::Object(members) if !members.is_empty() => members.iter().map(|m| count(&m.value)).sum(),
        Kind::Array(items) if !items.is_empty() => items.iter().map(count).sum(),
        _ => 1,
    }
}

/// Two documents, and the leaves that stand alike in both or do not.
struct Compared<'a> {
    before: &'a Document,
    after: &'a Document,
    wants_equal: bool,
    out: Vec<Pointer>,
}

impl Compared<'_> {
    /// What is spelled alike as a whole is alike in all of its leaves, and what has no counterpart in none.
    fn compare(&mut self, node: &Node, other: Option<&Node>, at: &mut String) {
        let is_equal = other.is_some_and(|other| self.before.raw(node) == self.after.raw(other));
        if is_equal || other.is_none() {
            if is_equal == self.wants_equal {
                walk(node, at, &mut |at, _| self.out.push(Pointer::of_text(at)));
            }
            return;
        }
        match (&node.kind, other.map(|n| &n.kind)) {
            (Kind::Object(members), _) if !members.is_empty() => {
                for member in members {
                    let other = other.and_then(|n| n.member(&member.key)).map(|m| &m.value);
                    within(at, &member.key, |at| self.compare(&member.value, other, at));
                }
            }
            (Kind::Array(items), others) if !items.is_empty() => {
                let others = match others {
                    Some(Kind::Array(others)) => &**others,
                    _ => &[],
                };
                for (i, item) in items.iter().enumerate() {
                    within(at, &i.to_string(), |at| self.compare(item, others.get(i), at));
                }
            }
            _ => {
                let there = other.and_then(|n| spelling(self.after, n));
                let is_equal = there.is_some() && there == spelling(self.before, node);
                if is_equal == self.wants_equal {
                    self.out.push(Pointer::of_text(at));
                }
            }
        }
    }
}

/// Leaves by themselves, with their spelling.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeafMap(pub BTreeMap<Pointer, String>);

impl From<&Document> for LeafMap {
    fn from(doc: &Document) -> LeafMap {
        let mut out = BTreeMap::new();
        walk(doc.root(), &mut String::new(), &mut |at, node| {
            out.insert(Pointer::of_text(at), spelling(doc, node).unwrap_or_default().into_owned());
        });
        LeafMap(out)
    }
}

impl LeafMap {
    /// Those of a plain value, spelled compactly.
    pub fn of(value: &Value) -> LeafMap {
        fn walk(value: &Value, at: Pointer, out: &mut BTreeMap<Pointer, String>) {
            match value {
                Value::Object(m) if !m.is_empty() => m.iter().for_each(|(k, v)| walk(v, at.join(k), out)),
                Value::Array(a) if !a.is_empty() => {
                    a.iter().enumerate().for_each(|(i, v)| walk(v, at.join(i), out))
                }
                _ => drop(out.insert(at, value.to_string())),
            }
        }
        let mut out = BTreeMap::new();
        walk(value, Pointer::root(), &mut out);
        LeafMap(out)
    }
}

impl Leaves for LeafMap {
    fn below(&self, at: &Pointer) -> Vec<Pointer> {
        self.0.keys().filter(|p| at.contains(p)).cloned().collect()
    }

    fn spelling(&self, at: &Pointer) -> Option<Cow<'_, str>> {
        self.0.get(at).map(|text| text.as_str().into())
    }

    fn holds(&self, at: &Pointer) -> bool {
        self.0.keys().any(|p| at.contains(p))
    }

    fn unchanged(&self, at: &Pointer, after: &LeafMap) -> Vec<Pointer> {
        let is_same = |(p, text): &(&Pointer, &String)| at.contains(p) && after.0.get(*p) == Some(*text);
        self.0.iter().filter(is_same).map(|(at, _)| at.clone()).collect()
    }

    fn changed(&self, after: &LeafMap) -> Vec<Pointer> {
        let differs = |(at, text): &(&Pointer, &String)| after.0.get(*at) != Some(*text);
        self.0.iter().filter(differs).map(|(at, _)| at.clone()).collect()
    }

    fn count(&self) -> usize {
        self.0.len()
    }

    fn is(&self, other: &LeafMap) -> bool {
        std::ptr::eq(self, other)
    }
}
