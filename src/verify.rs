//! The only way to a plan that may be applied (contract.md §4, Proof; §5).
//!
//! Checked before anything is written: from the new files and their history alone every old byte can
//! be had back; a value booked as moved stands where it was booked to; planning again on the result
//! has nothing to write. That text edits equal value edits, that the account closes and that results
//! satisfy their schemas is checked where they are made, by the editors and by `plan`.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde_json::Value;

use crate::account::{Fate, Location};
use crate::doc::json::Document;
use crate::doc::yaml::Frontmatter;
use crate::error::{Error, Result};
use crate::plan::{Plan, PlannedFile, Request, plan};
use crate::restore::restore;
use crate::state::record::{CONTEXT, SECTION, json_fence};
use crate::state::tree::Tree;

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

    /// The files to write.
    pub fn files(&self) -> &[PlannedFile] {
        &self.plan.files
    }
}

/// Check a plan made for `request`. A promise that does not hold is an internal error.
pub fn verify(request: Request<'_>, made: Plan) -> Result<VerifiedPlan> {
    if made.files.is_empty() {
        return Ok(VerifiedPlan { plan: made });
    }
    let result = request.tree.with(made.files.iter().map(|f| (f.path.as_str(), f.after.as_slice())));
    let (history, (account, again)) = rayon::join(
        || history(&result, &made),
        || rayon::join(|| account(&result, &made), || again(request, &result)),
    );
    history?;
    account?;
    again?;
    Ok(VerifiedPlan { plan: made })
}

/// History rebuilds every file that is about to be replaced.
fn history(result: &Tree, made: &Plan) -> Result<()> {
    let restored = restore(result, None).map_err(Error::internal)?;
    let restored = restored.ok_or_else(|| Error::internal("the result holds no run line"))?;
    if let Some(left) = restored.left.first() {
        return Err(Error::internal(format!("history does not give {} back: {}", left.file, left.reason)));
    }
    let old: BTreeMap<&str, Option<&[u8]>> =
        restored.files.iter().map(|f| (f.path.as_str(), f.old.as_deref())).collect();
    if old.len() != made.files.len() {
        return Err(Error::internal("history does not list the files of the run"));
    }
    match made.files.iter().find(|f| old.get(f.path.as_str()) != Some(&f.before.as_deref())) {
        Some(file) => Err(Error::internal(format!("history gives other bytes back for {}", file.path))),
        None => Ok(()),
    }
}

/// Every value booked as moved to another file stands there.
fn account(result: &Tree, made: &Plan) -> Result<()> {
    let moved: Vec<(&Location, &Location)> = made
        .account
        .iter()
        .filter_map(|(from, fate)| match fate {
            Fate::Moved(to) if from.file != to.file => Some((from, to)),
            _ => None,
        })
        .collect();
    let olds: BTreeMap<&str, &[u8]> =
        made.files.iter().filter_map(|f| Some((f.path.as_str(), f.before.as_deref()?))).collect();
    let old_files: BTreeSet<&str> = moved.iter().map(|(from, _)| from.file.as_str()).collect();
    let new_files: BTreeSet<&str> = moved.iter().map(|(_, to)| to.file.as_str()).collect();
    let old = values(old_files, |path| olds.get(path).copied());
    let new = values(new_files, |path| result.file(path).map(|f| f.bytes.as_slice()));
    let at = |all: &BTreeMap<&str, Value>, l: &Location| {
        all.get(l.file.as_str())?.pointer(&l.pointer.to_string()).cloned()
    };
    moved.par_iter().try_for_each(|(from, to)| match (at(&old, from), at(&new, to)) {
        (Some(was), Some(is)) if was == is => Ok(()),
        _ => Err(Error::internal(format!("{from} was booked as moved to {to}, but is not there"))),
    })
}

fn values<'a, 'b>(
    paths: BTreeSet<&'a str>,
    bytes: impl Fn(&str) -> Option<&'b [u8]> + Sync,
) -> BTreeMap<&'a str, Value> {
    let paths: Vec<&str> = paths.into_iter().collect();
    paths.into_par_iter().filter_map(|path| Some((path, value_in(path, bytes(path)?)?))).collect()
}

/// The value a file holds: its JSON, its header, its context or its record.
fn value_in(path: &str, bytes: &[u8]) -> Option<Value> {
    if path.ends_with(".json") {
        Some(Document::parse(bytes).ok()?.value().clone())
    } else if path.ends_with("goal-plan.md") {
        Some(Frontmatter::parse(bytes).ok()?.value().clone())
    } else {
        let title = if path.ends_with("README.md") { CONTEXT } else { SECTION };
        let (_, fence) = json_fence(bytes, title).ok()??;
        Some(Document::parse(&bytes[fence]).ok()?.value().clone())
    }
}

/// The result needs nothing more.
fn again(request: Request<'_>, result: &Tree) -> Result<()> {
    let next = plan(Request { tree: result, ..request })?;
    match next.files.first() {
        Some(file) => {
            Err(Error::internal(format!("planning the result again would write {} once more", file.path)))
        }
        None => Ok(()),
    }
}
