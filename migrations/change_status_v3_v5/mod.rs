//! Change-status 3 (4) → 5: the change tells its own work, authorisations and lead (contract.md §2).

use serde_json::{Value, json};

use crate::account::Fate;
use crate::doc::json::Op;
use crate::doc::pointer::Pointer;
use crate::finding::Code;
use crate::schema;
use crate::state::artifact::Artifact;
use crate::state::index::with_session;
use crate::step::{JsonDraft, Run, Step, decide};

/// The step.
pub const STEP: Step = Step {
    name: "change_status_v3_v5",
    artifact: Artifact::ChangeStatus,
    from: &[3, 4],
    to: Some(5),
    summary: "takes works and claims from the index; adds authorisations (none granted) and leadership",
    page: include_str!("README.md"),
    run: Run::Json(run),
};

const ARTIFACT: Artifact = Artifact::ChangeStatus;
const SCOPES: [(&str, &str); 3] = [
    ("implementation_commit", "Ticket source commits"),
    ("local_candidate_integration", "Lead-owned local parent candidate integration and parent update"),
    ("source_cleanup", "Source worktree and branch cleanup"),
];

fn run(d: &mut JsonDraft<'_>) {
    d.renumber(5);
    let order = schema::order(ARTIFACT, 5);
    let known: Vec<&str> = order.iter().map(String::as_str).collect();
    d.close(&Pointer::root(), &known);
    from_index(d);
    authorization_and_leadership(d);
    archive(d);
    for list in ["blockers", "deviations"] {
        stringify(d, list);
    }
    if d.get("/worktrees").is_none() {
        d.insert("worktrees", json!([]), ARTIFACT, 5);
    }
}

/// Own values first; the index fills what is empty.
fn from_index(d: &mut JsonDraft<'_>) {
    let entry = d.cx.entry.cloned().unwrap_or_default();
    let works = Value::Array(entry.works_run.iter().map(|(v, _)| v.clone()).collect());
    let claims = Value::Array(entry.claims.iter().map(|(v, _)| with_session(v)).collect());
    let work = entry.current_work.map(|(v, _)| v);
    for (key, offer) in
        [("current_work", work), ("works_run", Some(works)), ("claimed_investigations", Some(claims))]
    {
        let at = Pointer::new([key]);
        match (d.get(&at.to_string()), offer) {
            (None, offer) => d.insert(key, offer.unwrap_or_default(), ARTIFACT, 5),
            (Some(_), None) => {}
            (Some(own), Some(offer)) if *own == offer => {}
            (Some(own), Some(offer)) if own.is_null() || own.as_array().is_some_and(Vec::is_empty) => {
                d.convert(&at, offer, "an empty value, filled from the index");
            }
            (Some(own), Some(offer)) => {
                if !offer.as_array().is_some_and(Vec::is_empty) {
                    let text = format!("own {key} {own} stays; the index said {offer}");
                    d.notes.raise(Code::IndexOverridden, Some(at), text);
                }
            }
        }
    }
}

/// Nothing is authorised and no lead appointed that the old records do not name.
fn authorization_and_leadership(d: &mut JsonDraft<'_>) {
    if d.get("/execution_authorization").is_none() {
        let none = |scope: &str| json!({"status": "not-authorized", "source": null, "granted_at": null, "scope": scope});
        let all = SCOPES.iter().map(|(name, scope)| (name.to_string(), none(scope))).collect();
        d.insert("execution_authorization", Value::Object(all), ARTIFACT, 5);
    }
    if d.get("/leadership").is_none() {
        let lead = d.cx.lead.clone().unwrap_or_else(|| {
            d.notes.raise(Code::LeadUnassigned, None, super::UNASSIGNED_TEXT).next =
                super::unassigned_next(d.cx);
            super::UNASSIGNED.to_string()
        });
        let assigned = d.get("/updated_at").cloned().unwrap_or_default();
        let leadership = json!({"current": lead, "epoch": 1, "assigned_at": assigned, "history": []});
        d.insert("leadership", leadership, ARTIFACT, 5);
    }
}

fn archive(d: &mut JsonDraft<'_>) {
    let at = Pointer::new(["archive_path"]);
    if let Some(Value::String(path)) = d.get("/archive_path") {
        if path.split(['/', '\\', '>', '<']).any(|part| part == "..") {
            let text = format!("archive_path {path:?} leads out of the archive");
            d.notes.raise(Code::OutsideRoot, Some(at), text);
        } else if path.starts_with("specdev/archive/") {
            let path = format!("<Path>{{roots.state}}/{}</Path>", path.trim_end_matches('/'));
            d.convert(&at, path.into(), "a path below the state root");
        }
    }
    let is_archived = d.get("/change_status").and_then(Value::as_str).map(|s| s == "archived");
    let Some((says, Value::Bool(flag))) = is_archived.zip(d.get("/archived")) else { return };
    if says == *flag {
        return;
    }
    let at = Pointer::new(["archived"]);
    let decided = d.cx.decision().and_then(|c| c.archived);
    if decided == Some(false) && !says {
        d.convert(&at, false.into(), "the owner's decision");
        return;
    }
    let status = d.get("/change_status").cloned().unwrap_or_default();
    let raised = d.notes.raise(
        Code::InconsistentArchiveState,
        Some(at),
        format!("archived is {flag}, but change_status is {status}"),
    );
    let name = d.cx.change.map(|c| c.name.as_str()).unwrap_or_default();
    raised.next = if says {
        vec!["correct `archived` or `change_status` in the file, then run again".into()]
    } else {
        let line = format!("  {name}: {{archived: false}}");
        decide("correct the file; or, to say that it is not archived", &["changes:".into(), line])
    };
}

/// Objects among the texts become their own compact JSON text.
fn stringify(d: &mut JsonDraft<'_>, list: &str) {
    let at = Pointer::new([list]);
    let Some(Value::Array(items)) = d.get(&at.to_string()) else { return };
    for (i, item) in items.iter().enumerate().filter(|(_, item)| !item.is_string()) {
        let here = at.join(i);
        let Some(node) = d.doc.find(&here) else { continue };
        let text = d.doc.compact(node);
        let what = if item.is_object() { "an object" } else { "no text" };
        let message = format!("{list}[{i}] was {what} and became its own JSON text");
        d.notes.raise(Code::DeviationStringified, Some(here.clone()), message);
        let to = d.here(here.clone());
        d.book(here.clone(), Fate::Converted { to, rule: "compact JSON text" });
        d.ops.push(Op::Replace { at: here, value: text.into() });
    }
}
