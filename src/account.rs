//! The value account (contract.md §5): every leaf of a rewritten artifact is booked.
//!
//! A leaf is a scalar or an empty container. A leaf that stands where it stood, spelled as it was, is
//! kept; any other needs a booking made by the step that touched it. A leaf that nobody books is an
//! internal error, and nothing is written.

mod leaves;

use std::fmt;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::doc::pointer::Pointer;

pub use leaves::{LeafMap, Leaves};

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
    let value = |text| serde_json::from_str::<serde_json::Value>(text).ok();
    a == b || value(a).is_some_and(|a| value(b) == Some(a))
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
