//! The operations, and what they mean for plain values: the road the text edit is compared with.

use serde_json::{Map, Value};

/// One change of a top-level key. All operations of one edit refer to the header as it was: a key is
/// named as it stands there, whatever else happens to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Give a key a new value: null, boolean, number, string, or a list of these. Comments stay; a quoted
    /// string that becomes another string keeps its quotes; an equal value is left as it is written.
    Replace {
        /// The key.
        key: String,
        /// Its new value.
        value: Value,
    },
    /// Give a key a new name in its place, quoted as before.
    Rename {
        /// The key.
        key: String,
        /// Its new name.
        to: String,
    },
    /// Take a key and exactly its own lines away.
    Remove {
        /// The key.
        key: String,
    },
    /// Take strings out of a list, by value; items that are not there are no fault. What stays keeps
    /// quotes and spacing. A block list without items becomes `[]`.
    RemoveItems {
        /// The key of the list.
        key: String,
        /// The items to take out.
        items: Vec<String>,
    },
    /// Add a key before another and the comment lines directly above that; at the end when there is no
    /// such key. Several before one key keep their order.
    Insert {
        /// The new key.
        key: String,
        /// Its value: null, boolean, number, string, or a list of these.
        value: Value,
        /// The key it stands before.
        before: String,
    },
}

/// Do `ops` on the value of a header. An error names the key that is missing, edited twice, in the way,
/// or no list.
pub fn edit_value(value: &Value, ops: &[Op]) -> Result<Value, String> {
    let Value::Object(map) = value else {
        return Err("the frontmatter is no mapping".into());
    };
    let mut slots: Vec<Slot> = map.iter().map(Slot::original).collect();
    for op in ops {
        match op {
            Op::Insert { key, value, before } => {
                let at = slots.iter().position(|s| s.original == Some(before)).unwrap_or(slots.len());
                slots.insert(at, Slot::inserted(key, value));
            }
            Op::Replace { key, value } => slot(&mut slots, key)?.set(value.clone())?,
            Op::RemoveItems { key, items } => {
                let slot = slot(&mut slots, key)?;
                let Value::Array(old) = &slot.value else {
                    return Err(format!("`{key}` is no list"));
                };
                let kept = |item: &&Value| !item.as_str().is_some_and(|text| items.iter().any(|i| i == text));
                let kept = old.iter().filter(kept).cloned().collect();
                slot.set(kept)?;
            }
            Op::Rename { key, to } => slot(&mut slots, key)?.rename(to)?,
            Op::Remove { key } => slot(&mut slots, key)?.remove()?,
        }
    }
    let mut result = Map::new();
    for slot in slots.into_iter().filter(|s| !s.removed) {
        if result.contains_key(&slot.key) {
            return Err(format!("the key `{}` would stand twice", slot.key));
        }
        result.insert(slot.key, slot.value);
    }
    if result.is_empty() {
        return Err("no key would be left".into());
    }
    Ok(Value::Object(result))
}

/// A key on its way through the operations.
struct Slot<'a> {
    original: Option<&'a String>,
    key: String,
    value: Value,
    changed: bool,
    renamed: bool,
    removed: bool,
}

fn slot<'s, 'a>(slots: &'s mut [Slot<'a>], key: &str) -> Result<&'s mut Slot<'a>, String> {
    let found = slots.iter_mut().find(|s| s.original.is_some_and(|o| o == key));
    found.ok_or_else(|| format!("there is no key `{key}` to edit"))
}

impl<'a> Slot<'a> {
    fn original((key, value): (&'a String, &'a Value)) -> Slot<'a> {
        Slot { original: Some(key), ..Slot::inserted(key, value) }
    }

    fn inserted(key: &str, value: &Value) -> Slot<'a> {
        let value = value.clone();
        Slot { original: None, key: key.to_owned(), value, changed: false, renamed: false, removed: false }
    }

    fn set(&mut self, value: Value) -> Result<(), String> {
        self.once(self.changed || self.removed)?;
        self.changed = true;
        self.value = value;
        Ok(())
    }

    fn rename(&mut self, to: &str) -> Result<(), String> {
        self.once(self.renamed || self.removed)?;
        self.renamed = true;
        self.key = to.to_owned();
        Ok(())
    }

    fn remove(&mut self) -> Result<(), String> {
        self.once(self.changed || self.renamed || self.removed)?;
        self.removed = true;
        Ok(())
    }

    fn once(&self, before: bool) -> Result<(), String> {
        let key = self.original.unwrap_or(&self.key);
        if before { Err(format!("`{key}` is edited twice")) } else { Ok(()) }
    }
}
