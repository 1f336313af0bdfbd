//! The only way to a plan that may be applied (contract.md §4, Proof; §5).
//!
//! Checked before anything is written: from the new files and their history alone every old byte can
//! be had back; a value booked as moved stands where it was booked to; planning again on the result
//! has nothing to write. That text edits equal value edits, that the account closes and that results
//! satisfy their schemas is checked where they are made, by the editors and by `plan`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde_json::Value;

use crate::account::{Fate, Location};
use crate::doc::content::Content;
use crate::doc::json::Document;
use crate::error::{Error, Result};
use crate::history::section::hosts_of;
use crate::plan::{Again, ChangeAgain, Plan, PlannedFile, Request, first_fault};
use crate::restore::{Restore, restore, restore_change};
use crate::state::change::{Change, JsonFile};
use crate::state::record::{CONTEXT, SECTION, json_fence};
use crate::state::tree::{Tree, in_change};

/// A plan whose promises hold.
#[derive(Debug, Clone)]
pub struct VerifiedPlan {
    plan: Plan,
}

impl VerifiedPlan {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The plan, which proves nothing any more by itself.
    pub fn into_plan(self) -> Plan {
        self.plan
    }

    /// The files to write.
    pub fn files(&self) -> &[PlannedFile] {
        &self.plan.files
    }
}

/// Check a plan made for `request`. A promise that does not hold is an internal error.
///
/// Change by change, so that what is read out of the new files need not be kept for all of them.
pub fn verify(request: Request<'_>, made: Plan) -> Result<VerifiedPlan> {
    if made.files.is_empty() {
        return Ok(VerifiedPlan { plan: made });
    }
    let (state, parts) = Part::of(&made);
    let tree = request.tree.with_state(state.contents());
    let proof =
        Proof { old: request.tree, new: &tree, again: Again::new(Request { tree: &tree, ..request }) };
    let changes: Vec<&Change> = request.tree.changes.values().collect();
    let nothing = Part::default();
    let part_of = |change: &Change| parts.get(change.name.as_str()).unwrap_or(&nothing);
    let proven = changes.into_par_iter().map(|change| proof.of_change(change, part_of(change))).collect();
    proof.of_state(&state, first_fault(proven)?)?;
    Ok(VerifiedPlan { plan: made })
}

/// What a plan does to the files of the state itself, or to those of one change.
#[derive(Default)]
struct Part<'a> {
    files: Vec<&'a PlannedFile>,
    /// Values booked as moved here from another file.
    moved: Vec<(&'a Location, &'a Location)>,
}

impl<'a> Part<'a> {
    /// The part of the state, and those of the changes by name.
    fn of(made: &'a Plan) -> (Part<'a>, BTreeMap<&'a str, Part<'a>>) {
        let mut state = Part::default();
        let mut changes: BTreeMap<&str, Part<'_>> = BTreeMap::new();
        let mut part = |path: &'a str, add: &dyn Fn(&mut Part<'a>)| match in_change(path) {
            Some((name, _)) => add(changes.entry(name).or_default()),
            None => add(&mut state),
        };
        for file in &made.files {
            part(&file.path, &|p| p.files.push(file));
        }
        for (from, fate) in &made.account {
            if let Fate::Moved(to) = fate
                && from.file != to.file
            {
                part(&to.file, &|p| p.moved.push((from, to)));
            }
        }
        (state, changes)
    }

    /// The new files.
    fn contents(&self) -> impl Iterator<Item = (&'a str, &'a Content)> {
        self.files.iter().map(|f| (f.path.as_str(), &f.after))
    }
}

/// The state before and after the run, the latter without its changes.
struct Proof<'a> {
    old: &'a Tree,
    new: &'a Tree,
    again: Again<'a>,
}

/// What has been proven for a change, and what the rest must agree with.
struct Proven {
    /// Id and number of the run, when it writes the change.
    run: Option<(String, u64)>,
    again: ChangeAgain,
}

impl Proof<'_> {
    fn of_change(&self, old: &Change, part: &Part<'_>) -> Result<Proven> {
        let old = &old.apart();
        if part.files.is_empty() {
            return Ok(Proven { run: None, again: self.again.change(old, &hosts_of(old))? });
        }
        let below = |(path, content)| Some((in_change(path)?.1, content));
        let new = old.with(part.contents().filter_map(below));
        let hosts = hosts_of(&new);
        let run = history(restore_change(&self.old.layout, &new, &hosts), part)?;
        self.account(old, &new, part)?;
        Ok(Proven { run: Some(run), again: self.again.change(&new, &hosts)? })
    }

    /// The files of the state itself, and that all parts are of one run, which is the newest.
    fn of_state(&self, part: &Part<'_>, changes: Vec<Proven>) -> Result<()> {
        let mut runs = BTreeSet::new();
        if !part.files.is_empty() {
            runs.insert(history(restore(self.new, None), part)?);
        }
        let others = changes.iter().filter(|c| c.run.is_none()).map(|c| c.again.last_seq()).max();
        runs.extend(changes.iter().filter_map(|c| c.run.clone()));
        let run = runs.pop_first().filter(|_| runs.is_empty());
        if run.is_none_or(|(_, seq)| others.is_some_and(|other| other >= seq)) {
            return Err(Error::internal("the result does not hold one newest run"));
        }
        self.again.state(changes.into_iter().map(|c| c.again).collect())
    }

    /// Every value booked as moved to another file stands there.
    fn account(&self, old: &Change, new: &Change, part: &Part<'_>) -> Result<()> {
        let mut olds = BTreeMap::new();
        let mut news = BTreeMap::new();
        for (from, to) in &part.moved {
            let was = olds.entry(&from.file).or_insert_with(|| value_in(self.old, old, &from.file));
            let is = news.entry(&to.file).or_insert_with(|| value_in(self.new, new, &to.file));
            let was = was.as_deref().and_then(|v| from.pointer.get(v));
            if was.is_none() || was != is.as_deref().and_then(|v| to.pointer.get(v)) {
                return Err(Error::internal(format!("{from} was booked as moved to {to}, but is not there")));
            }
        }
        Ok(())
    }
}

/// History rebuilds every file of a part that is about to be replaced. Id and number of the run.
fn history(restored: Result<Option<Restore>>, part: &Part<'_>) -> Result<(String, u64)> {
    let restored = restored.map_err(Error::internal)?;
    let restored = restored.ok_or_else(|| Error::internal("the result holds no run line"))?;
    if let Some(left) = restored.left.first() {
        return Err(Error::internal(format!("history does not give {} back: {}", left.file, left.reason)));
    }
    let old: BTreeMap<&str, Option<&[u8]>> =
        restored.files.iter().map(|f| (f.path.as_str(), f.old.as_deref())).collect();
    if old.len() != part.files.len() {
        return Err(Error::internal("history does not list the files of the run"));
    }
    match part.files.iter().find(|f| old.get(f.path.as_str()) != Some(&f.before.as_deref())) {
        Some(file) => Err(Error::internal(format!("history gives other bytes back for {}", file.path))),
        None => Ok((restored.run, restored.seq)),
    }
}

/// The value a file of the state or of one change holds: its JSON, its header, its context or its record.
fn value_in<'a>(state: &'a Tree, change: &'a Change, path: &str) -> Option<Cow<'a, Value>> {
    let json = |file: &'a JsonFile| file.doc().ok().map(|d| Cow::Borrowed(d.value()));
    match path {
        "config.json" => return json(state.config.as_ref()?),
        "status.json" => return json(state.index.as_ref()?),
        _ if path == change.status.file.path => return json(&change.status),
        _ => {}
    }
    let content = &change.files().find(|f| f.path == path)?.bytes;
    if path.ends_with("goal-plan.md") {
        return Some(Cow::Borrowed(content.header().ok()?.value()));
    }
    let title = if path.ends_with("README.md") { CONTEXT } else { SECTION };
    let (_, fence) = json_fence(content, title).ok()??;
    Some(Cow::Owned(Document::parse(&content[fence]).ok()?.value().clone()))
}
