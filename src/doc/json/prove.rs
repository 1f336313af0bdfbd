//! The proof of an edit: the edited text, read again, against the text before it and the change.

use super::ops::{Change, Refusal, Slot};
use super::{Document, Kind, Node, identical};
use crate::doc::pointer::Pointer;

/// Whether `after` reads as `change` makes of `before`: what the change does not speak of has its bytes,
/// and what it brings has its value, all in their order and nothing beside them.
pub(super) fn holds(before: &Document, change: &Change, after: &Document) -> Result<bool, Refusal> {
    Pair { before, after }.holds(before.root(), change, after.root(), &Pointer::root())
}

/// What operations would make of an object that no object can be.
pub(super) fn check(node: &Node, change: &Change, at: &Pointer) -> Result<(), Refusal> {
    match &node.kind {
        Kind::Object(members) if change.replace.is_none() => {
            change.members(at, members.iter().map(|m| &*m.key))?;
            change.below.iter().try_for_each(|(key, below)| match node.member(key) {
                Some(member) => check(&member.value, below, &at.join(key)),
                None => Ok(()),
            })
        }
        Kind::Array(items) if change.replace.is_none() => {
            change.below.iter().try_for_each(|(token, below)| {
                match token.parse().map(|i: usize| items.get(i)) {
                    Ok(Some(item)) => check(item, below, &at.join(token)),
                    _ => Ok(()),
                }
            })
        }
        _ => Ok(()),
    }
}

struct Pair<'a> {
    before: &'a Document,
    after: &'a Document,
}

impl Pair<'_> {
    fn holds(&self, old: &Node, change: &Change, new: &Node, at: &Pointer) -> Result<bool, Refusal> {
        if let Some(wanted) = change.replace {
            return Ok(identical(&self.after.value_of(new), wanted));
        }
        match (&old.kind, &new.kind) {
            (Kind::Object(old), Kind::Object(new)) => {
                let mut new = new.iter();
                for slot in change.members(at, old.iter().map(|m| &*m.key))? {
                    if matches!(slot, Slot::Old { removed: true, .. }) {
                        continue;
                    }
                    let Some(found) = new.next() else { return Ok(false) };
                    let is_so = match slot {
                        Slot::Old { index, .. } => {
                            let old = &old[index];
                            let below = change.below.get(&*old.key);
                            let key = below.and_then(|c| c.rename).unwrap_or(&old.key);
                            *found.key == *key
                                && self.part(&old.value, below, &found.value, &|| at.join(&old.key))?
                        }
                        Slot::New { key, value } => {
                            *found.key == *key && identical(&self.after.value_of(&found.value), value)
                        }
                    };
                    if !is_so {
                        return Ok(false);
                    }
                }
                Ok(new.next().is_none())
            }
            (Kind::Array(old), Kind::Array(new)) => {
                let mut new = new.iter();
                for (index, old) in old.iter().enumerate() {
                    let below = change.below.get(index.to_string().as_str());
                    if below.is_some_and(|c| c.remove) {
                        continue;
                    }
                    let Some(found) = new.next() else { return Ok(false) };
                    if !self.part(old, below, found, &|| at.join(index))? {
                        return Ok(false);
                    }
                }
                Ok(new.next().is_none())
            }
            _ => Ok(self.is_untouched(old, new)),
        }
    }

    fn part(
        &self,
        old: &Node,
        change: Option<&Change>,
        new: &Node,
        at: &dyn Fn() -> Pointer,
    ) -> Result<bool, Refusal> {
        match change {
            Some(change) => self.holds(old, change, new, &at()),
            None => Ok(self.is_untouched(old, new)),
        }
    }

    fn is_untouched(&self, old: &Node, new: &Node) -> bool {
        self.before.raw(old) == self.after.raw(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::json::Op;
    use crate::doc::json::ops::resolve;
    use serde_json::json;

    #[test]
    fn only_what_the_operations_want_holds() {
        let before = Document::parse(br#"{"a": 1, "b": [1, {"c": 2}, 3], "d": "x", "e": 1.0}"#).unwrap();
        let at = |text: &str| Pointer::parse(text).unwrap();
        let ops = [
            Op::Replace { at: at("/a"), value: json!([2, "y"]) },
            Op::Remove { at: at("/b/0") },
            Op::Rename { at: at("/b/1/c"), key: "f".into() },
            Op::Insert { into: at(""), key: "n".into(), value: json!({"m": null}), after: vec!["a".into()] },
            Op::Remove { at: at("/d") },
        ];
        let change = resolve(before.value(), &ops).unwrap();
        let reads = |text: &str| {
            let after = Document::parse(text.as_bytes()).unwrap();
            holds(&before, &change, &after).unwrap()
        };
        assert!(reads(r#"{"a": [2, "y"], "n": {"m": null}, "b": [{"f": 2}, 3], "e": 1.0}"#));
        assert!(reads(r#"{"a":[2,"\u0079"],"n":{ "m":null },"b":[{"\u0066":2},3],"e":1.0}"#));
        for wrong in [
            r#"{"a": [2, "z"], "n": {"m": null}, "b": [{"f": 2}, 3], "e": 1.0}"#,
            r#"{"a": [2], "n": {"m": null}, "b": [{"f": 2}, 3], "e": 1.0}"#,
            r#"{"n": {"m": null}, "a": [2, "y"], "b": [{"f": 2}, 3], "e": 1.0}"#,
            r#"{"a": [2, "y"], "b": [{"f": 2}, 3], "e": 1.0}"#,
            r#"{"a": [2, "y"], "n": {"m": 0}, "b": [{"f": 2}, 3], "e": 1.0}"#,
            r#"{"a": [2, "y"], "o": {"m": null}, "b": [{"f": 2}, 3], "e": 1.0}"#,
            r#"{"a": [2, "y"], "n": {"m": null}, "b": [1, {"f": 2}, 3], "e": 1.0}"#,
            r#"{"a": [2, "y"], "n": {"m": null}, "b": [{"f": 2}], "e": 1.0}"#,
            r#"{"a": [2, "y"], "n": {"m": null}, "b": [{"f": 2}, 3, 4], "e": 1.0}"#,
            r#"{"a": [2, "y"], "n": {"m": null}, "b": [{"c": 2}, 3], "e": 1.0}"#,
            r#"{"a": [2, "y"], "n": {"m": null}, "b": [{"f": 2}, 4], "e": 1.0}"#,
            r#"{"a": [2, "y"], "n": {"m": null}, "b": {"f": 2}, "e": 1.0}"#,
            r#"{"a": [2, "y"], "n": {"m": null}, "b": [{"f": 2}, 3], "e": 1.00}"#,
            r#"{"a": [2, "y"], "n": {"m": null}, "b": [{"f": 2}, 3], "d": "x", "e": 1.0}"#,
            r#"{"a": [2, "y"], "n": {"m": null}, "b": [{"f": 2}, 3], "e": 1.0, "g": 0}"#,
            r#"{"a": [2, "y"], "n": {"m": null}, "b": [{"f": 2}, 3]}"#,
            "[]",
        ] {
            assert!(!reads(wrong), "{wrong}");
        }
    }
}
