//! What git must be asked about for records to be judged.

use hashbrown::HashSet;
use serde_json::Value;

use super::{Pair, pairs};
use crate::state::record::{Records, short_branch};

/// What git is asked about.
#[derive(Default)]
pub(super) struct Questions {
    pub(super) branches: HashSet<String>,
    pub(super) revisions: HashSet<String>,
    /// Of records on disk; these are looked into.
    pub(super) sides: Vec<Pair>,
    /// Of contexts and of records in history.
    pub(super) others: Vec<Pair>,
}

impl Questions {
    /// What stands in history owns worktrees and branches, and is of no account where there are none.
    pub(super) fn of(records: &Records, has_items: bool, out: &mut Questions) {
        for record in &records.list {
            out.value(&record.value);
            out.sides.extend(pairs(&record.value));
        }
        for past in records.past.iter().filter(|_| has_items) {
            out.value(&past.value);
            out.revisions.extend(past.branch_tip.clone());
            out.others.extend(pairs(&past.value));
        }
        out.others.extend(records.context.iter().filter(|_| has_items).flat_map(pairs));
    }

    fn value(&mut self, value: &Value) {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).filter(|t| !t.is_empty());
        let shas =
            ["/base_sha", "/source_checkpoint", "/integration/result_sha", "/integration/candidate_sha"];
        for sha in shas.into_iter().filter_map(text).filter(|t| is_sha(t)) {
            self.revisions.get_or_insert_with(sha, str::to_string);
        }
        let branches = ["/branch", "/parent_branch", "/integration/candidate_branch"];
        for branch in branches.into_iter().filter_map(text) {
            self.branches.insert(short_branch(branch.to_string()));
        }
    }
}

/// Whether a text can be a commit id, whole or short: a record's SHA is never read as a branch or tag.
fn is_sha(text: &str) -> bool {
    (4..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
}
