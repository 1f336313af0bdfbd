//! The index `status.json`, of any version, read as one entry per change (contract.md §2).
//!
//! Duplicate entries of one change are merged; what they disagree about is a fault of that change.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::{HashMap, HashSet};
use serde_json::Value;

use super::change::is_change_name;
use crate::doc::pointer::Pointer;
use crate::finding::Code;

/// What the index says.
#[derive(Debug, Clone, Default)]
pub struct Index {
    /// Listed changes, in the order of their first entries.
    pub entries: Vec<Entry>,
    /// Names in `archived` (version 4 and above) or `completed` (version 3).
    pub archived: Vec<String>,
    /// What contradicts itself.
    pub faults: Vec<IndexFault>,
    by_change: BTreeMap<String, usize>,
}

/// A contradiction or an impossible name.
#[derive(Debug, Clone)]
pub struct IndexFault {
    /// Its code.
    pub code: Code,
    /// The change it is about; `None`: the index as a whole.
    pub change: Option<String>,
    /// Where in the index.
    pub pointer: Pointer,
    /// What is wrong.
    pub message: String,
}

/// All entries of one change, merged.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// The change.
    pub change: String,
    /// Positions in `active`.
    pub at: Vec<usize>,
    /// The work in progress, and where it stands.
    pub current_work: Option<(Value, Pointer)>,
    /// The union of `works_run`, in order, with the place of each first mention.
    pub works_run: Vec<(Value, Pointer)>,
    /// The union of `claimed_investigations`, in order.
    pub claims: Vec<(Value, Pointer)>,
}

impl Entry {
    /// Whether the entry says more than that the change is active.
    pub fn has_values(&self) -> bool {
        self.current_work.is_some() || !self.works_run.is_empty() || !self.claims.is_empty()
    }
}

/// The members of an entry that hold values of the change.
pub const VALUES: [&str; 3] = ["current_work", "works_run", "claimed_investigations"];

/// What has been read of an entry.
#[derive(Default)]
struct Known<'v> {
    works: HashSet<&'v Value>,
    /// Where a claim stands among those kept: by its id or, without one, as a whole.
    claims: HashMap<Result<&'v Value, &'v Value>, usize>,
}

impl IndexFault {
    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self.code {
            Code::InvalidChangeName => "correct the name in status.json, then run again",
            _ => "edit status.json so that it says one thing about the change, then run again",
        }
    }
}

impl Index {
    /// Read an index of any version. Members of a wrong type are left to the schema.
    pub fn read(value: &Value) -> Index {
        let mut index = Index::default();
        let mut seen = BTreeSet::new();
        let mut known: Vec<Known<'_>> = Vec::new();
        let active = Pointer::new(["active"]);
        for (i, item) in value.get("active").and_then(Value::as_array).into_iter().flatten().enumerate() {
            let at = active.join(i);
            let Some(name) = index.name(item.get("change"), &at.join("change")) else { continue };
            let n = *index.by_change.entry(name.clone()).or_insert_with(|| {
                index.entries.push(Entry { change: name.clone(), ..Entry::default() });
                known.push(Known::default());
                index.entries.len() - 1
            });
            index.entries[n].at.push(i);
            index.merge(n, item, &at, &mut known[n]);
        }
        for (list, member) in [("archived", None), ("completed", Some("change"))] {
            let root = Pointer::new([list]);
            for (i, item) in value.get(list).and_then(Value::as_array).into_iter().flatten().enumerate() {
                let (item, at) = match member {
                    None => (Some(item), root.join(i)),
                    Some(m) => (item.get(m), root.join(i).join(m)),
                };
                let Some(name) = index.name(item, &at) else { continue };
                if index.by_change.contains_key(&name) {
                    let message = format!("{name} is listed as active and in `{list}`");
                    index.fault(Code::StatusOverlap, Some(&name), at, message);
                }
                if seen.insert(name.clone()) {
                    index.archived.push(name);
                }
            }
        }
        index
    }

    /// The entry of a change.
    pub fn entry(&self, change: &str) -> Option<&Entry> {
        self.by_change.get(change).map(|n| &self.entries[*n])
    }

    /// The names of the listed changes.
    pub fn listed(&self) -> BTreeSet<&str> {
        self.by_change.keys().map(String::as_str).collect()
    }

    fn name(&mut self, value: Option<&Value>, at: &Pointer) -> Option<String> {
        let name = value?.as_str()?;
        if is_change_name(name) {
            return Some(name.to_string());
        }
        let message =
            format!("{name:?} is no change name (YYYY-MM-DD-topic, lower-case words joined by dashes)");
        self.fault(Code::InvalidChangeName, None, at.clone(), message);
        None
    }

    fn merge<'v>(&mut self, n: usize, item: &'v Value, at: &Pointer, known: &mut Known<'v>) {
        if let Some(work) = item.get("current_work").filter(|w| !w.is_null()) {
            let here = at.join("current_work");
            match &self.entries[n].current_work {
                None => self.entries[n].current_work = Some((work.clone(), here)),
                Some((known, _)) if known == work => {}
                Some((known, first)) => {
                    let message = format!("current_work is {work} here and {known} at {first}");
                    let change = self.entries[n].change.clone();
                    self.fault(Code::ConflictingCurrentWork, Some(&change), here, message);
                }
            }
        }
        for (i, work) in list(item, "works_run").enumerate() {
            if known.works.insert(work) {
                self.entries[n].works_run.push((work.clone(), at.join("works_run").join(i)));
            }
        }
        for (i, claim) in list(item, "claimed_investigations").enumerate() {
            let here = at.join("claimed_investigations").join(i);
            let claims = &mut self.entries[n].claims;
            let first = *known.claims.entry(claim.get("id").ok_or(claim)).or_insert(claims.len());
            match claims.get(first) {
                None => claims.push((claim.clone(), here)),
                Some((known, _)) if with_session(known) == with_session(claim) => {}
                Some((_, first)) => {
                    let message =
                        format!("claim {} has other content at {first}", claim.get("id").unwrap_or(claim));
                    let change = self.entries[n].change.clone();
                    self.fault(Code::ConflictingClaim, Some(&change), here, message);
                }
            }
        }
    }

    fn fault(&mut self, code: Code, change: Option<&str>, pointer: Pointer, message: String) {
        self.faults.push(IndexFault { code, change: change.map(str::to_string), pointer, message });
    }
}

/// A claim as the newer versions want it: without a `session` it gets `null`.
pub fn with_session(claim: &Value) -> Value {
    let Value::Object(members) = claim else { return claim.clone() };
    if members.contains_key("session") {
        return claim.clone();
    }
    let mut out = serde_json::Map::new();
    for (key, value) in members {
        if key == "claimed_at" {
            out.insert("session".into(), Value::Null);
        }
        out.insert(key.clone(), value.clone());
    }
    out.entry("session").or_insert(Value::Null);
    Value::Object(out)
}

fn list<'a>(item: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> {
    item.get(member).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn duplicate_entries_merge_in_order() {
        let index = Index::read(&json!({"active": [
            {"change": "2026-01-02-a", "current_work": null, "works_run": ["specdev/S", "specdev/T"]},
            {"change": "2026-01-02-b", "current_work": "specdev/S", "works_run": []},
            {"change": "2026-01-02-a", "current_work": "specdev/I", "works_run": ["specdev/T", "specdev/I"]},
        ], "archived": []}));
        assert!(index.faults.is_empty());
        let a = index.entry("2026-01-02-a").unwrap();
        assert_eq!(a.at, [0, 2]);
        assert_eq!(a.current_work.as_ref().unwrap().1.to_string(), "/active/2/current_work");
        let works: Vec<_> = a.works_run.iter().map(|(w, p)| format!("{w} {p}")).collect();
        assert_eq!(
            works,
            [
                "\"specdev/S\" /active/0/works_run/0",
                "\"specdev/T\" /active/0/works_run/1",
                "\"specdev/I\" /active/2/works_run/1"
            ]
        );
    }

    #[test]
    fn contradictions_name_the_change() {
        let index = Index::read(&json!({"active": [
            {"change": "2026-01-02-a", "current_work": "specdev/S",
             "claimed_investigations": [{"id": "INV-1", "owner": "x", "claimed_at": "t"}]},
            {"change": "2026-01-02-a", "current_work": "specdev/T",
             "claimed_investigations": [{"id": "INV-1", "owner": "y", "claimed_at": "t"}]},
            {"change": "../x"},
        ], "completed": [{"change": "2026-01-02-a"}]}));
        let codes: Vec<_> = index.faults.iter().map(|f| (f.code, f.change.as_deref())).collect();
        assert_eq!(
            codes,
            [
                (Code::ConflictingCurrentWork, Some("2026-01-02-a")),
                (Code::ConflictingClaim, Some("2026-01-02-a")),
                (Code::InvalidChangeName, None),
                (Code::StatusOverlap, Some("2026-01-02-a")),
            ]
        );
    }

    #[test]
    fn claims_that_differ_by_a_missing_session_only_are_one() {
        let index = Index::read(&json!({"active": [
            {"change": "2026-01-02-a", "claimed_investigations": [{"id": "INV-1", "owner": "x", "claimed_at": "t"}]},
            {"change": "2026-01-02-a", "claimed_investigations": [{"id": "INV-1", "owner": "x", "session": null, "claimed_at": "t"}]},
        ]}));
        assert!(index.faults.is_empty());
        assert_eq!(index.entries[0].claims.len(), 1);
        let keys: Vec<_> =
            with_session(&index.entries[0].claims[0].0).as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys, ["id", "owner", "session", "claimed_at"]);
    }
}
