//! The value account (contract.md §5): every leaf of a rewritten artifact is booked.
//!
//! A leaf is a scalar or an empty container. A leaf that stands where it stood, spelled as it was, is
//! kept; any other needs a booking made by the step that touched it. A leaf that nobody books is an
//! internal error, and nothing is written.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde_json::Value;

use crate::doc::json::{Document, Kind, Node};
use crate::doc::pointer::Pointer;

/// A value in a file below `specdev/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// POSIX path below `specdev/`.
    pub file: String,
    /// Where in the file; for a goal plan, in its frontmatter.
    pub pointer: Pointer,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.file, self.pointer)
    }
}

/// What became of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// The same value, elsewhere.
    Moved(Location),
    /// Another value, by a rule, in the same or another place.
    Converted {
        /// Where the new value stands.
        to: Location,
        /// The rule, as a short text.
        rule: &'static str,
    },
    /// Gone by contract; the old bytes are in history.
    Retired {
        /// The rule, as a short text.
        rule: &'static str,
    },
    /// Gone by the owner's decision; the old bytes are in history.
    Accepted,
}

/// A step's statement about one value, or all values below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booking {
    /// Where it stood before the step.
    pub from: Pointer,
    /// What became of it.
    pub fate: Fate,
}

/// The leaves of one document, with their spelling.
pub type Leaves = BTreeMap<Pointer, String>;

/// The leaves of a JSON document, spelled as in the file.
pub fn json_leaves(doc: &Document) -> Leaves {
    let mut out = Leaves::new();
    walk(doc, doc.root(), Pointer::root(), &mut out);
    out
}

fn walk(doc: &Document, node: &Node, at: Pointer, out: &mut Leaves) {
    match &node.kind {
        Kind::Object(members) if !members.is_empty() => {
            members.iter().for_each(|m| walk(doc, &m.value, at.join(&m.key), out));
        }
        Kind::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(i, n)| walk(doc, n, at.join(i), out));
        }
        Kind::Object(_) => drop(out.insert(at, "{}".into())),
        Kind::Array(_) => drop(out.insert(at, "[]".into())),
        _ => drop(out.insert(at, String::from_utf8_lossy(doc.raw(node)).into_owned())),
    }
}

/// The leaves of a plain value, spelled compactly.
pub fn value_leaves(value: &Value) -> Leaves {
    fn walk(value: &Value, at: Pointer, out: &mut Leaves) {
        match value {
            Value::Object(m) if !m.is_empty() => m.iter().for_each(|(k, v)| walk(v, at.join(k), out)),
            Value::Array(a) if !a.is_empty() => {
                a.iter().enumerate().for_each(|(i, v)| walk(v, at.join(i), out))
            }
            _ => drop(out.insert(at, value.to_string())),
        }
    }
    let mut out = Leaves::new();
    walk(value, Pointer::root(), &mut out);
    out
}

/// Where one original leaf is now.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// In this file still.
    Here { at: Pointer, rule: Option<&'static str> },
    /// Elsewhere or gone.
    Gone(Fate),
}

/// The account of one artifact over all steps of a run.
#[derive(Debug, Clone)]
pub struct Account {
    file: String,
    rows: BTreeMap<Pointer, State>,
}

/// A leaf without a booking, or a booking that is not true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unbooked {
    /// Which value.
    pub location: Location,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for Unbooked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the value account does not close: {} {}", self.location, self.reason)
    }
}

impl Account {
    /// Open the account of a file with its leaves as they are on disk.
    pub fn open(file: &str, leaves: &Leaves) -> Account {
        let rows = leaves.keys().map(|p| (p.clone(), State::Here { at: p.clone(), rule: None })).collect();
        Account { file: file.into(), rows }
    }

    /// Book one step. Every leaf that is still here must be booked or stand unchanged.
    pub fn book(&mut self, before: &Leaves, after: &Leaves, bookings: &[Booking]) -> Result<(), Unbooked> {
        let by_pointer: HashMap<&Pointer, &Fate> = bookings.iter().map(|b| (&b.from, &b.fate)).collect();
        for (origin, state) in &mut self.rows {
            let State::Here { at, rule } = state else { continue };
            let fault = |reason: String| Unbooked {
                location: Location { file: self.file.clone(), pointer: origin.clone() },
                reason,
            };
            let old = before.get(at).ok_or_else(|| fault(format!("is not at {at} any more")))?;
            let Some((from, fate)) = nearest(&by_pointer, at) else {
                match after.get(at) {
                    Some(new) if new == old => continue,
                    Some(_) => return Err(fault("was changed, but not booked".into())),
                    None => return Err(fault("has gone, but was not booked".into())),
                }
            };
            *state = match fate {
                Fate::Moved(to) if to.file == self.file => {
                    let target = from.rebase(at, &to.pointer).unwrap_or_else(|| to.pointer.clone());
                    if after.get(&target).is_none_or(|new| !same(new, old)) {
                        return Err(fault(format!("was booked as moved to {target}, but is not there")));
                    }
                    State::Here { at: target, rule: *rule }
                }
                Fate::Converted { to, rule } if to.file == self.file => {
                    if !after.keys().any(|p| to.pointer.contains(p)) {
                        return Err(fault(format!(
                            "was booked as converted to {}, but nothing is there",
                            to.pointer
                        )));
                    }
                    State::Here { at: to.pointer.clone(), rule: Some(rule) }
                }
                Fate::Moved(to) => State::Gone(Fate::Moved(Location {
                    file: to.file.clone(),
                    pointer: from.rebase(at, &to.pointer).unwrap_or_else(|| to.pointer.clone()),
                })),
                gone => State::Gone(gone.clone()),
            };
        }
        Ok(())
    }

    /// Where a value of an intermediate version stood on disk.
    pub fn origin(&self, at: &Pointer) -> Option<Pointer> {
        let here = |(origin, state): (&Pointer, &State)| match state {
            State::Here { at: now, .. } if at.contains(now) => Some((origin.clone(), now.clone())),
            _ => None,
        };
        let (origin, now) = self.rows.iter().find_map(here)?;
        // Of a container, go up from the leaf as far as the leaf lies below it.
        let depth = now.tokens().len() - at.tokens().len();
        let keep = origin.tokens().len().saturating_sub(depth);
        Some(Pointer::new(origin.tokens()[..keep].iter().cloned()))
    }

    /// Every value that did not simply stay: where it was, and what became of it.
    pub fn changes(&self) -> Vec<(Location, Fate)> {
        let here = |pointer: &Pointer| Location { file: self.file.clone(), pointer: pointer.clone() };
        let fate = |(origin, state): (&Pointer, &State)| match state {
            State::Here { at, rule: Some(rule) } => {
                Some((here(origin), Fate::Converted { to: here(at), rule }))
            }
            State::Here { at, rule: None } if at != origin => Some((here(origin), Fate::Moved(here(at)))),
            State::Here { .. } => None,
            State::Gone(fate) => Some((here(origin), fate.clone())),
        };
        self.rows.iter().filter_map(fate).collect()
    }

    /// How many values were kept as and where they were.
    pub fn kept(&self) -> usize {
        self.rows.iter().filter(|(o, s)| matches!(s, State::Here { at, rule: None } if at == *o)).count()
    }
}

/// The booking of a leaf: its own, or that of the nearest container above it.
fn nearest<'a>(bookings: &HashMap<&Pointer, &'a Fate>, at: &Pointer) -> Option<(Pointer, &'a Fate)> {
    if bookings.is_empty() {
        return None;
    }
    let mut here = at.clone();
    loop {
        if let Some(fate) = bookings.get(&here) {
            return Some((here, fate));
        }
        here = here.split_last()?.0;
    }
}

/// Equal in spelling or in value: a string written anew may be escaped differently.
fn same(a: &str, b: &str) -> bool {
    a == b
        || matches!((serde_json::from_str::<Value>(a), serde_json::from_str::<Value>(b)), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(text: &str) -> Pointer {
        Pointer::parse(text).unwrap()
    }

    fn here(text: &str) -> Location {
        Location { file: "f".into(), pointer: at(text) }
    }

    #[test]
    fn kept_moved_converted_retired() {
        let old = value_leaves(&json!({"v": 3, "git": {"auto": true, "main": "m"}, "run": {"max": 7}}));
        let new = value_leaves(&json!({"v": 4, "git": {"main": "m"}, "run": {"limit": 3}}));
        let mut account = Account::open("f", &old);
        account
            .book(
                &old,
                &new,
                &[
                    Booking { from: at("/v"), fate: Fate::Converted { to: here("/v"), rule: "version" } },
                    Booking { from: at("/git/auto"), fate: Fate::Retired { rule: "gone" } },
                    Booking {
                        from: at("/run/max"),
                        fate: Fate::Converted { to: here("/run/limit"), rule: "min" },
                    },
                ],
            )
            .unwrap();
        assert_eq!(account.kept(), 1);
        assert_eq!(account.changes().len(), 3);
        assert_eq!(account.origin(&at("/run/limit")), Some(at("/run/max")));
        assert_eq!(account.origin(&at("/git")), Some(at("/git")));
    }

    #[test]
    fn leaf_that_nobody_books() {
        let old = value_leaves(&json!({"a": 1, "b": [1, 2]}));
        for new in [json!({"a": 1, "b": [1]}), json!({"a": 2, "b": [1, 2]}), json!({"b": [1, 2]})] {
            assert!(Account::open("f", &old).book(&old, &value_leaves(&new), &[]).is_err(), "{new}");
        }
    }

    #[test]
    fn booking_that_is_not_true() {
        let old = value_leaves(&json!({"a": 1}));
        let moved = [Booking { from: at("/a"), fate: Fate::Moved(here("/b")) }];
        assert!(Account::open("f", &old).book(&old, &value_leaves(&json!({"b": 2})), &moved).is_err());
        assert!(Account::open("f", &old).book(&old, &value_leaves(&json!({"b": 1})), &moved).is_ok());
    }
}
