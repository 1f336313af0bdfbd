//! Config 3 → 4: one limit renamed and capped, git settings retired (contract.md §2).

use serde_json::Value;

use crate::doc::pointer::Pointer;
use crate::finding::Code;
use crate::state::artifact::Artifact;
use crate::step::{JsonDraft, Run, Step};

/// The step.
pub const STEP: Step = Step {
    name: "config_v3_v4",
    artifact: Artifact::Config,
    from: &[3],
    to: Some(4),
    summary: "max_parallel becomes max_implementation_agents (at most 3); git.auto_commit and git.worktree_for_parallel retire",
    page: include_str!("README.md"),
    run: Run::Json(run),
};

/// The settings version 4 has no place for, and the value that says they were not in use.
const RETIRED: [(&str, bool); 2] = [("auto_commit", false), ("worktree_for_parallel", true)];
const LIMIT: &str = "max_implementation_agents";
const CAP: u64 = 3;

fn run(d: &mut JsonDraft<'_>) {
    d.renumber(4);
    limit(d);
    for (key, unused) in RETIRED {
        let at = Pointer::new(["git", key]);
        match d.get(&at.to_string()) {
            None => continue,
            Some(Value::Bool(value)) if *value != unused => {
                let text = format!("git.{key} was {value}; the new workflow has no such setting");
                d.notes.raise(Code::RetiredSetting, Some(at.clone()), text);
            }
            Some(_) => {}
        }
        d.retire(&at, "no such setting in config 4");
    }
    d.close(
        &Pointer::root(),
        &[
            "schema_version",
            "interaction_language",
            "artifact_language",
            "git",
            "execution",
            "verification",
            "planning",
        ],
    );
    d.close(&Pointer::new(["git"]), &["default_branch", RETIRED[0].0, RETIRED[1].0]);
    d.close(
        &Pointer::new(["execution"]),
        &["max_parallel", LIMIT, "deep_ticket_human_approval", "shared_path_owner"],
    );
}

/// `max_parallel` becomes the new limit; a config that has both names already is left to the schema.
fn limit(d: &mut JsonDraft<'_>) {
    let at = Pointer::new(["execution", "max_parallel"]);
    let Some(old) = d.get("/execution/max_parallel") else { return };
    if d.get("/execution/max_implementation_agents").is_some() {
        d.retire(&at, "max_implementation_agents is there already");
        return;
    }
    match old.as_u64() {
        Some(n) if n > CAP => {
            let text = format!("max_parallel {n} became {LIMIT} {CAP}, the most that config 4 allows");
            d.notes.raise(Code::LimitLowered, Some(at.clone()), text);
            d.rename(&at, LIMIT, Some((CAP.into(), "the smaller of the old limit and 3")));
        }
        _ => d.rename(&at, LIMIT, None),
    }
}
