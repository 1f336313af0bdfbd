//! The value account (contract.md §5): every leaf of a rewritten artifact is booked.
//!
//! A leaf is a scalar or an empty container. A leaf that stands where it stood, spelled as it was, is
//! kept; any other needs a booking made by the step that touched it. A leaf that nobody books is an
//! internal error, and nothing is written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use serde_json::Value;

use crate::doc::json::{Document, Kind, Node};
use crate::doc::pointer::{self, Pointer};

/// A value in a file below `specdev/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// POSIX path below `specdev/`.
    pub file: Arc<str>,
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
pub struct Account<L> {
    file: Arc<str>,
    original: L,
    /// By origin; a leaf without a row stands where and as it stood.
    rows: HashMap<Pointer, State>,
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

impl<L: Leaves> Account<L> {
    /// Open the account of a file with its leaves as they are on disk.
    pub fn open(file: &str, original: L) -> Account<L> {
        Account { file: file.into(), original, rows: HashMap::new() }
    }

    /// Book one step. Every leaf that is still here must be booked or stand unchanged.
    pub fn book(&mut self, before: &L, after: &L, bookings: &[Booking]) -> Result<(), Unbooked> {
        let by_pointer: HashMap<&str, &Booking> = bookings.iter().map(|b| (b.from.as_str(), b)).collect();
        let mut touched = before.changed(after);
        // What is booked, but stands as it stood. Of bookings within each other it comes more than once,
        // and to the same end.
        touched.extend(bookings.iter().flat_map(|b| before.unchanged(&b.from, after)));
        let mut origins: Vec<(Pointer, Pointer, Option<&'static str>)> = Vec::new();
        let mut faults = Vec::new();
        if !self.rows.is_empty() {
            let touched: HashSet<&Pointer> = touched.iter().collect();
            for (origin, state) in &self.rows {
                let State::Here { at, rule } = state else { continue };
                if touched.contains(at) {
                    origins.push((origin.clone(), at.clone(), *rule));
                } else if before.spelling(at).is_none() {
                    faults.push((origin.clone(), format!("is not at {at} any more")));
                }
            }
        }
        let is_original = self.original.is(before);
        let is_first = |at: &&Pointer| {
            !self.rows.contains_key(*at) && (is_original || self.original.spelling(at).is_some())
        };
        origins.extend(touched.iter().filter(is_first).map(|at| (at.clone(), at.clone(), None)));
        for (origin, at, rule) in origins {
            let state = match nearest(&by_pointer, &at) {
                Some(booking) => self.booked(&at, rule, booking, before, after),
                None if after.spelling(&at).is_some() => Err("was changed, but not booked".into()),
                None => Err("has gone, but was not booked".into()),
            };
            match state {
                Ok(state) => drop(self.rows.insert(origin, state)),
                Err(why) => faults.push((origin, why)),
            }
        }
        match faults.into_iter().min() {
            Some((origin, reason)) => Err(Unbooked { location: self.here(&origin), reason }),
            None => Ok(()),
        }
    }

    /// What becomes of a leaf at `at` that was converted by `rule` already or by none.
    fn booked(
        &self,
        at: &Pointer,
        rule: Option<&'static str>,
        booking: &Booking,
        before: &L,
        after: &L,
    ) -> Result<State, String> {
        Ok(match &booking.fate {
            Fate::Moved(to) => {
                let pointer = booking.from.rebase(at, &to.pointer).unwrap_or_else(|| to.pointer.clone());
                if to.file != self.file {
                    return Ok(State::Gone(Fate::Moved(Location { file: Arc::clone(&to.file), pointer })));
                }
                let old = before.spelling(at).unwrap_or_default();
                if after.spelling(&pointer).is_none_or(|new| !same(&new, &old)) {
                    return Err(format!("was booked as moved to {pointer}, but is not there"));
                }
                State::Here { at: pointer, rule }
            }
            Fate::Converted { to, rule } if to.file == self.file => {
                if !after.holds(&to.pointer) {
                    return Err(format!("was booked as converted to {}, but nothing is there", to.pointer));
                }
                State::Here { at: to.pointer.clone(), rule: Some(rule) }
            }
            gone => State::Gone(gone.clone()),
        })
    }

    fn here(&self, pointer: &Pointer) -> Location {
        Location { file: Arc::clone(&self.file), pointer: pointer.clone() }
    }

    /// Where a value of an intermediate version stood on disk.
    pub fn origin(&self, at: &Pointer) -> Option<Pointer> {
        let here = |(origin, state): (&Pointer, &State)| match state {
            State::Here { at: now, .. } if at.contains(now) => Some((origin.clone(), now.clone())),
            _ => None,
        };
        let stays = self.original.below(at).into_iter().filter(|p| !self.rows.contains_key(p));
        let (origin, now) = self.rows.iter().filter_map(here).chain(stays.map(|p| (p.clone(), p))).min()?;
        // Of a container, go up from the leaf as far as the leaf lies below it.
        Some(origin.up_to(origin.depth().saturating_sub(now.depth() - at.depth())))
    }

    /// Every value that did not simply stay: where it was, and what became of it.
    pub fn changes(&self) -> Vec<(Location, Fate)> {
        let changes = self.rows.iter().filter_map(|(origin, state)| self.change(origin, state));
        in_order(changes.collect())
    }

    fn change(&self, origin: &Pointer, state: &State) -> Option<(Location, Fate)> {
        match state {
            State::Here { at, rule: Some(rule) } => {
                Some((self.here(origin), Fate::Converted { to: self.here(at), rule }))
            }
            State::Here { at, rule: None } if at != origin => {
                Some((self.here(origin), Fate::Moved(self.here(at))))
            }
            State::Here { .. } => None,
            State::Gone(fate) => Some((self.here(origin), fate.clone())),
        }
    }

    /// Every value that moved to another file.
    pub fn moved_out(&self) -> Vec<(Location, Fate)> {
        let is_out = |(_, state): &(&Pointer, &State)| matches!(state, State::Gone(Fate::Moved(_)));
        let moved = self.rows.iter().filter(is_out);
        in_order(moved.filter_map(|(origin, state)| self.change(origin, state)).collect())
    }

    /// How many values were kept as and where they were.
    pub fn kept(&self) -> usize {
        let is_kept = |(o, s): (&Pointer, &State)| matches!(s, State::Here { at, rule: None } if at == o);
        self.original.count() - self.rows.iter().filter(|row| !is_kept(*row)).count()
    }
}

fn in_order(mut changes: Vec<(Location, Fate)>) -> Vec<(Location, Fate)> {
    changes.sort_unstable_by(|(a, _), (b, _)| a.pointer.cmp(&b.pointer));
    changes
}

/// The booking of a leaf: its own, or that of the nearest container above it.
fn nearest<'a>(bookings: &HashMap<&str, &'a Booking>, at: &Pointer) -> Option<&'a Booking> {
    if bookings.is_empty() {
        return None;
    }
    let mut here = at.as_str();
    loop {
        if let Some(booking) = bookings.get(here) {
            return Some(booking);
        }
        here = here.rsplit_once('/')?.0;
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
        let old = LeafMap::of(&json!({"v": 3, "git": {"auto": true, "main": "m"}, "run": {"max": 7}}));
        let new = LeafMap::of(&json!({"v": 4, "git": {"main": "m"}, "run": {"limit": 3}}));
        let mut account = Account::open("f", old.clone());
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
        let old = LeafMap::of(&json!({"a": 1, "b": [1, 2]}));
        for new in [json!({"a": 1, "b": [1]}), json!({"a": 2, "b": [1, 2]}), json!({"b": [1, 2]})] {
            assert!(Account::open("f", old.clone()).book(&old, &LeafMap::of(&new), &[]).is_err(), "{new}");
        }
    }

    #[test]
    fn booking_that_is_not_true() {
        let old = LeafMap::of(&json!({"a": 1}));
        let moved = [Booking { from: at("/a"), fate: Fate::Moved(here("/b")) }];
        assert!(Account::open("f", old.clone()).book(&old, &LeafMap::of(&json!({"b": 2})), &moved).is_err());
        assert!(Account::open("f", old.clone()).book(&old, &LeafMap::of(&json!({"b": 1})), &moved).is_ok());
    }
}
