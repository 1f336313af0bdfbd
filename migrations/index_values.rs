//! What the steps of the index share: contradictions, repeated entries, and where a value of an entry
//! has gone (contract.md §2).

use serde_json::Value;

use crate::account::{Fate, Location};
use crate::doc::json::Op;
use crate::doc::pointer::Pointer;
use crate::finding::Code;
use crate::state::index::{Entry, Index, VALUES, with_session};
use crate::step::JsonDraft;

/// Report what the index contradicts itself about.
pub(super) fn raise_faults(d: &mut JsonDraft<'_>, index: &Index) {
    for fault in &index.faults {
        let raised = d.notes.raise(fault.code, Some(fault.pointer.clone()), fault.message.clone());
        raised.change.clone_from(&fault.change);
        raised.next = vec![fault.advice().into()];
    }
}

/// Remove repeated entries of one change; with `merged`, their values go into the first.
pub(super) fn drop_repeats(d: &mut JsonDraft<'_>, index: &Index, merged: bool) {
    let active = Pointer::new(["active"]);
    let mut repeats: Vec<usize> = index.entries.iter().flat_map(|e| e.at[1..].iter().copied()).collect();
    repeats.sort_unstable();
    if repeats.is_empty() {
        return;
    }
    // Where an entry stands once the repeats are gone; also one that names no change, for the schema to find.
    let place = |i: usize| active.join(i - repeats.partition_point(|r| *r < i));
    for i in 0..d.get("/active").and_then(Value::as_array).map_or(0, Vec::len) {
        let (old, new) = (active.join(i), place(i));
        if repeats.binary_search(&i).is_ok() {
            d.book(old.clone(), Fate::Retired { rule: "a repeated entry of the change" });
            d.ops.push(Op::Remove { at: old });
        } else if old != new {
            let to = d.here(new);
            d.book(old, Fate::Moved(to));
        }
    }
    for entry in index.entries.iter().filter(|e| merged && e.at.len() > 1) {
        merge(d, entry, &place(entry.at[0]));
    }
}

/// Write the union of the values into the first entry.
fn merge(d: &mut JsonDraft<'_>, entry: &Entry, new: &Pointer) {
    let first = Pointer::new(["active"]).join(entry.at[0]);
    let here = |d: &JsonDraft<'_>, pointer: Pointer| d.here(pointer);
    let value = match &entry.current_work {
        Some((work, from)) => {
            let to = here(d, new.join("current_work"));
            d.book(from.clone(), Fate::Moved(to));
            work.clone()
        }
        None => Value::Null,
    };
    put(d, &first, "current_work", value, &["change"]);
    for (member, list) in [("works_run", &entry.works_run), ("claimed_investigations", &entry.claims)] {
        for (i, (_, from)) in list.iter().enumerate() {
            let to = here(d, new.join(member).join(i));
            d.book(from.clone(), Fate::Moved(to));
        }
        let values: Vec<Value> = list.iter().map(|(v, _)| v.clone()).collect();
        if member == "works_run" || !values.is_empty() {
            put(d, &first, member, Value::Array(values), &["change", "current_work", "works_run"]);
        }
    }
}

/// Replace or add a member of the first entry. Its old leaves are booked one by one by the caller;
/// those of an empty list have nothing to say.
fn put(d: &mut JsonDraft<'_>, object: &Pointer, key: &str, value: Value, after: &[&str]) {
    let at = object.join(key);
    match d.get(&at.to_string()) {
        Some(old) if *old == value => {}
        Some(old) => {
            if old.is_null() || old.as_array().is_some_and(Vec::is_empty) {
                d.book(at.clone(), Fate::Retired { rule: "an empty value, filled from a repeated entry" });
            }
            d.ops.push(Op::Replace { at, value });
        }
        None => {
            let after = after.iter().map(ToString::to_string).collect();
            d.ops.push(Op::Insert { into: object.clone(), key: key.into(), value, after });
        }
    }
}

/// What became of a member of an index entry: moved into the change's status, or retired.
pub(super) fn fates(d: &JsonDraft<'_>, change: &str, at: &Pointer, member: &str) -> Vec<(Pointer, Fate)> {
    let from = at.join(member);
    let Some(value) = d.get(&from.to_string()) else { return Vec::new() };
    let retired = (from.clone(), Fate::Retired { rule: "the change-status is the authority" });
    let settled = d.cx.settled.get(change).filter(|s| s.taken.contains(member));
    let Some(status) = settled.and_then(|s| s.status.as_ref()) else { return vec![retired] };
    let to = |pointer: Pointer| Location { file: format!("changes/{change}/.status.json").into(), pointer };
    let home = Pointer::new([member]);
    match value {
        Value::Array(items) if !items.is_empty() => {
            let there = status.get(member).and_then(Value::as_array);
            let place = |i: usize, item: &Value| {
                let wanted = with_session(item);
                let is_it = |v: &Value| v == item || *v == wanted;
                // Most stand where they stood.
                if there?.get(i).is_some_and(is_it) { Some(i) } else { there?.iter().position(is_it) }
            };
            let fate = |(i, item): (usize, &Value)| match place(i, item) {
                Some(n) => (from.join(i), Fate::Moved(to(home.join(n)))),
                None => (from.join(i), retired.1.clone()),
            };
            items.iter().enumerate().map(fate).collect()
        }
        value if !value.is_null() && status.get(member) == Some(value) => vec![(from, Fate::Moved(to(home)))],
        _ => vec![retired],
    }
}

/// Report the entries that name no change of this state.
pub(super) fn raise_strangers(d: &mut JsonDraft<'_>, index: &Index) {
    for entry in &index.entries {
        if d.cx.settled.contains_key(&entry.change) {
            continue;
        }
        let at = Pointer::new(["active"]).join(entry.at[0]);
        let archived = d.cx.archived.contains(&entry.change);
        if entry.has_values() && !archived {
            let text =
                format!("the index holds values of {}, which has no .status.json to take them", entry.change);
            let raised = d.notes.raise(Code::MissingChangeStatus, Some(at), text);
            raised.change = Some(entry.change.clone());
            raised.next = vec![format!(
                "restore changes/{}/.status.json, or remove its values from status.json, then run again",
                entry.change
            )];
        } else {
            let why = if archived { "lies in the archive" } else { "has no .status.json" };
            let text = format!("{} is listed as active, but {why}; the entry stays", entry.change);
            d.notes.raise(Code::StaleIndexEntry, Some(at), text).change = Some(entry.change.clone());
        }
    }
}

/// Report an index that still holds values of changes that keep them themselves.
pub(super) fn raise_overfull(d: &mut JsonDraft<'_>, names: &[String]) {
    if names.is_empty() {
        return;
    }
    let text = format!(
        "the index still carries values of {}; they fill what the change leaves empty, the rest retires",
        names.join(", ")
    );
    d.notes.raise(Code::OverfullIndex, Some(Pointer::new(["active"])), text);
}

/// The members of an entry that hold values, as they stand in the file.
pub(super) fn present<'a>(
    d: &JsonDraft<'_>,
    at: &'a Pointer,
) -> impl Iterator<Item = &'static str> + use<'a> {
    let value = d.get(&at.to_string()).cloned().unwrap_or_default();
    VALUES.into_iter().filter(move |m| value.get(m).is_some())
}
