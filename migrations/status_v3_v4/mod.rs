//! Status 3 → 4: completed changes become a list of names, work history retires (contract.md §2).

use serde_json::Value;

use super::index_values::{drop_repeats, raise_faults};
use crate::account::Fate;
use crate::doc::json::Op;
use crate::doc::pointer::Pointer;
use crate::state::artifact::Artifact;
use crate::step::{JsonDraft, Run, Step, index_of};

/// The step.
pub const STEP: Step = Step {
    name: "status_v3_v4",
    artifact: Artifact::Status,
    from: &[3],
    to: Some(4),
    summary: "completed[].change becomes archived[]; work_history and results retire; repeated entries merge",
    page: include_str!("README.md"),
    run: Run::Json(run),
};

fn run(d: &mut JsonDraft<'_>) {
    let index = index_of(d);
    raise_faults(d, &index);
    d.renumber(4);
    archived(d, &index.archived);
    if d.get("/work_history").is_some() {
        d.retire(&Pointer::new(["work_history"]), "no work history in the index");
    }
    d.close(
        &Pointer::root(),
        &["schema_version", "workflow", "active", "work_history", "completed", "archived"],
    );
    let active = Pointer::new(["active"]);
    for i in 0..d.get("/active").and_then(Value::as_array).map_or(0, Vec::len) {
        d.close(
            &active.join(i),
            &["change", "current_work", "works_run", "result", "claimed_investigations"],
        );
    }
    for entry in &index.entries {
        let result = active.join(entry.at[0]).join("result");
        if d.get(&result.to_string()).is_some() {
            d.retire(&result, "no result in the index");
        }
    }
    drop_repeats(d, &index, true);
}

/// The names of completed changes, in order and once each; their details stand in history.
fn archived(d: &mut JsonDraft<'_>, names: &[String]) {
    let at = Pointer::new(["completed"]);
    let Some(Value::Array(completed)) = d.get("/completed") else { return };
    let list = Pointer::new(["archived"]);
    if d.get("/archived").is_some() {
        d.retire(&at, "archived is there already");
        return;
    }
    if completed.is_empty() {
        d.rename(&at, "archived", None);
        return;
    }
    for (i, item) in completed.iter().enumerate() {
        let name = item.get("change").and_then(Value::as_str);
        let to = name.and_then(|n| names.iter().position(|known| known == n));
        let first = completed.iter().position(|c| c.get("change") == item.get("change")) == Some(i);
        d.book(at.join(i), Fate::Retired { rule: "details of completed changes" });
        if let (Some(to), true) = (to, first) {
            let to = d.here(list.join(to));
            d.book(at.join(i).join("change"), Fate::Moved(to));
        }
    }
    d.ops.push(Op::Rename { at: at.clone(), key: "archived".into() });
    let names = names.iter().map(|n| Value::from(n.as_str())).collect();
    d.ops.push(Op::Replace { at, value: Value::Array(names) });
}
