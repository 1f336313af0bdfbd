//! What to change, independent of how it is written: operations, their resolution against one
//! document, and the road over plain values.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde_json::{Map, Value};

use crate::doc::pointer::Pointer;

/// One change of a document. Pointers refer to the document as it was before all operations.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Put another value in the place of one.
    Replace {
        /// The old value.
        at: Pointer,
        /// The new value.
        value: Value,
    },
    /// Give an object member another key, in its place. May be combined with a replacement of its value.
    Rename {
        /// The member.
        at: Pointer,
        /// The new key.
        key: String,
    },
    /// Take out an object member or an array item: exactly one comma and its line or lines.
    Remove {
        /// The member or item.
        at: Pointer,
    },
    /// Add a member to an object.
    Insert {
        /// The object.
        into: Pointer,
        /// The key of the new member.
        key: String,
        /// The value of the new member.
        value: Value,
        /// The keys that precede it, nearest last. The member goes behind the last of these that
        /// exists, and behind what was inserted there earlier; to the start when none exists. A renamed
        /// member is found by either key, and a removed one still marks the place.
        after: Vec<String>,
    },
}

/// The same operations on a plain value: the road that knows nothing of spans.
///
/// # Errors
/// A message that begins "cannot edit", as for [`Document::edit`](super::Document::edit).
pub fn edit_value(value: &Value, ops: &[Op]) -> Result<Value, String> {
    resolve(value, ops).and_then(|change| edited(value, &change, &Pointer::root())).map_err(|r| r.to_string())
}

/// Why operations do not fit the document or each other.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) at: Pointer,
    reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at.depth() {
            0 => write!(f, "cannot edit the top-level value: {}", self.reason),
            _ => write!(f, "cannot edit `{}`: {}", self.at, self.reason),
        }
    }
}

/// Everything that happens to one value, and to the values below it.
#[derive(Debug, Default)]
pub(super) struct Change<'a> {
    pub(super) replace: Option<&'a Value>,
    pub(super) rename: Option<&'a str>,
    pub(super) remove: bool,
    pub(super) inserts: Vec<Insertion<'a>>,
    pub(super) below: BTreeMap<Cow<'a, str>, Change<'a>>,
}

#[derive(Debug)]
pub(super) struct Insertion<'a> {
    key: &'a str,
    value: &'a Value,
    after: &'a [String],
}

/// One place in the new order of an object's members or an array's items.
#[derive(Debug, Clone, Copy)]
pub(super) enum Slot<'a> {
    /// What stood at `index` before.
    Old { index: usize, removed: bool },
    /// A new member.
    New { key: &'a str, value: &'a Value },
}

impl<'a> Change<'a> {
    fn is_gone(&self) -> bool {
        self.remove || self.replace.is_some()
    }

    fn removes(&self, token: &str) -> bool {
        self.below.get(token).is_some_and(|c| c.remove)
    }

    /// The places of an array of `len` items.
    pub(super) fn items(&self, len: usize) -> Vec<Slot<'a>> {
        (0..len).map(|index| Slot::Old { index, removed: self.removes(&index.to_string()) }).collect()
    }

    /// The places of an object with these keys.
    pub(super) fn members<'k>(
        &self,
        at: &Pointer,
        keys: impl Iterator<Item = &'k str>,
    ) -> Result<Vec<Slot<'a>>, Refusal>
    where
        'a: 'k,
    {
        // A list in tree order: what is inserted behind a member is its child, and stays behind its
        // elder siblings. Depth 0 is the original.
        struct Placed<'k, 'a> {
            key: &'k str,
            old: Option<&'k str>,
            depth: usize,
            slot: Slot<'a>,
        }
        let mut list: Vec<Placed> = Vec::new();
        for (index, old) in keys.enumerate() {
            let change = self.below.get(old);
            let (key, removed) = change.map_or((old, false), |c| (c.rename.unwrap_or(old), c.remove));
            list.push(Placed { key, old: Some(old), depth: 0, slot: Slot::Old { index, removed } });
        }
        for insertion in &self.inserts {
            let named = |name: &String| {
                let here = |p: &Placed| p.key == name && !matches!(p.slot, Slot::Old { removed: true, .. });
                list.iter().position(here).or_else(|| list.iter().position(|p| p.old == Some(name)))
            };
            let anchor = insertion.after.iter().rev().find_map(named);
            let depth = anchor.map_or(0, |i| list[i].depth);
            let from = anchor.map_or(0, |i| i + 1);
            let at = list[from..].iter().position(|p| p.depth <= depth).map_or(list.len(), |i| from + i);
            let slot = Slot::New { key: insertion.key, value: insertion.value };
            list.insert(at, Placed { key: insertion.key, old: None, depth: depth + 1, slot });
        }
        let mut seen = HashSet::new();
        for placed in &list {
            if !matches!(placed.slot, Slot::Old { removed: true, .. }) && !seen.insert(placed.key) {
                return Err(Refusal { at: at.join(placed.key), reason: "the key would stand twice".into() });
            }
        }
        Ok(list.into_iter().map(|p| p.slot).collect())
    }
}

/// The operations as one tree over `value`.
pub(super) fn resolve<'a>(value: &Value, ops: &'a [Op]) -> Result<Change<'a>, Refusal> {
    let mut root = Change::default();
    for op in ops {
        add(&mut root, value, op)?;
    }
    Ok(root)
}

fn add<'a>(root: &mut Change<'a>, value: &Value, op: &'a Op) -> Result<(), Refusal> {
    let (Op::Replace { at, .. } | Op::Rename { at, .. } | Op::Remove { at } | Op::Insert { into: at, .. }) =
        op;
    let refuse = |reason: &str| Err(Refusal { at: at.clone(), reason: reason.into() });

    let (mut change, mut here, mut parent) = (root, value, None);
    for token in at.tokens() {
        if change.is_gone() {
            return refuse("a value above it is removed or replaced");
        }
        let Some(child) = child(here, &token) else {
            return refuse("there is no such value");
        };
        parent = Some(std::mem::replace(&mut here, child));
        change = change.below.entry(token).or_default();
    }
    match op {
        Op::Rename { key, .. } => {
            if !matches!(parent, Some(Value::Object(_))) {
                return refuse("only the member of an object has a key");
            }
            if change.remove || change.rename.is_some() {
                return refuse("it is renamed or removed already");
            }
            change.rename = Some(key);
        }
        _ if change.is_gone() => return refuse("it is removed or replaced already"),
        Op::Insert { key, value, after, .. } => {
            if !here.is_object() {
                return refuse("only an object takes members");
            }
            change.inserts.push(Insertion { key, value, after });
        }
        _ if !change.below.is_empty() || !change.inserts.is_empty() => {
            return refuse("values inside it are edited");
        }
        Op::Replace { value, .. } => change.replace = Some(value),
        Op::Remove { .. } => {
            if parent.is_none() {
                return refuse("the whole document cannot be removed");
            }
            if change.rename.is_some() {
                return refuse("it is renamed or removed already");
            }
            change.remove = true;
        }
    }
    Ok(())
}

fn child<'v>(value: &'v Value, token: &str) -> Option<&'v Value> {
    match value {
        Value::Object(members) => members.get(token),
        Value::Array(items) => items.get(index(token)?),
        _ => None,
    }
}

/// An array index as RFC 6901 writes it.
pub(super) fn index(token: &str) -> Option<usize> {
    let plain = token.bytes().all(|b| b.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    plain.then(|| token.parse().ok()).flatten()
}

/// `value` with the change made.
fn edited(value: &Value, change: &Change, at: &Pointer) -> Result<Value, Refusal> {
    if let Some(new) = change.replace {
        return Ok(new.clone());
    }
    let inner = |token: &str, value: &Value| match change.below.get(token) {
        Some(change) => edited(value, change, &at.join(token)),
        None => Ok(value.clone()),
    };
    match value {
        Value::Array(items) => {
            let kept = items.iter().enumerate().map(|(i, item)| (i.to_string(), item));
            let kept = kept.filter(|(token, _)| !change.removes(token));
            kept.map(|(token, item)| inner(&token, item)).collect::<Result<_, _>>().map(Value::Array)
        }
        Value::Object(members) => {
            let old: Vec<_> = members.iter().collect();
            let mut new = Map::new();
            for slot in change.members(at, members.keys().map(String::as_str))? {
                match slot {
                    Slot::Old { removed: true, .. } => {}
                    Slot::Old { index, .. } => {
                        let (old, value) = old[index];
                        let key = change.below.get(old.as_str()).and_then(|c| c.rename).unwrap_or(old);
                        new.insert(key.to_owned(), inner(old, value)?);
                    }
                    Slot::New { key, value } => {
                        new.insert(key.to_owned(), value.clone());
                    }
                }
            }
            Ok(Value::Object(new))
        }
        scalar => Ok(scalar.clone()),
    }
}
