//! The report as one JSON document of a published, versioned schema (`docs/report.v1.schema.json`).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Mode, Report};
use crate::account::Fate;
use crate::error::Error;
use crate::finding::{Finding, Scope, Severity};
use crate::history::sha256;
use crate::render::patch::PatchedFile;

/// The version of the document's schema.
pub const VERSION: u64 = 1;

/// The report of an upgrade, a dry run or a check.
pub fn report(report: &Report<'_>) -> Vec<u8> {
    let plan = report.plan;
    let mut out = head(Some(report.mode), report.code);
    out["outcome"] = json!(report.ended.as_str());
    out["release"] = json!(plan.release.name);
    out["summary"] = summary(report);
    out["artifacts"] = plan
        .artifacts
        .iter()
        .map(|a| {
            json!({
                "file": report.layout.shown(&a.file), "artifact": a.artifact, "change": a.change,
                "from": a.from, "to": a.to, "steps": a.steps,
            })
        })
        .collect();
    out["archived"] = json!(report.archived);
    out["files"] = plan.files.iter().map(|f| file(report, f)).collect();
    out["account"] = account(report);
    out["findings"] = list(&plan.findings);
    out["guards"] = list(report.guards);
    out["git"] = git(report);
    out["decisions"] = decisions(report);
    bytes(&out)
}

/// Discovery was refused.
pub fn refusal(mode: Mode, findings: &[Finding], code: u8) -> Vec<u8> {
    let mut out = head(Some(mode), code);
    out["outcome"] = json!("stopped");
    out["findings"] = list(findings);
    bytes(&out)
}

/// The run itself failed.
pub fn failure(command: &str, error: &Error) -> Vec<u8> {
    let mut out = head(None, error.kind.exit());
    out["command"] = json!(command);
    out["outcome"] = json!("failed");
    out["error"] = json!({"message": error.message, "next": error.hints});
    bytes(&out)
}

/// A document of another command.
pub fn document(kind: &str, code: u8, members: Value) -> Vec<u8> {
    let mut out = json!({"schema_version": VERSION, "tool": tool(), "command": kind, "exit_code": code});
    if let (Value::Object(out), Value::Object(members)) = (&mut out, members) {
        out.extend(members);
    }
    bytes(&out)
}

/// Findings as JSON.
pub fn list(findings: &[Finding]) -> Value {
    findings.iter().map(finding).collect()
}

fn head(mode: Option<Mode>, code: u8) -> Value {
    let mut out = json!({"schema_version": VERSION, "tool": tool(), "command": "upgrade"});
    if let Some(mode) = mode {
        out["mode"] = json!(mode.as_str());
    }
    out["exit_code"] = json!(code);
    out
}

fn tool() -> Value {
    json!({"name": "specdev-migrate", "version": env!("CARGO_PKG_VERSION")})
}

fn bytes(value: &Value) -> Vec<u8> {
    let mut out = serde_json::to_vec_pretty(value).unwrap_or_default();
    out.push(b'\n');
    out
}

fn summary(report: &Report<'_>) -> Value {
    let plan = report.plan;
    let n = |severity| plan.findings.iter().filter(|f| f.code.severity() == severity).count();
    let created = plan.files.iter().filter(|f| f.before.is_none()).count();
    json!({
        "pending": plan.is_pending, "partial": plan.partial,
        "files": plan.files.len(), "created": created, "changed": plan.files.len() - created,
        "errors": n(Severity::Error), "blockers": n(Severity::Blocker),
        "warnings": n(Severity::Warning), "notes": n(Severity::Note),
        "values_kept": plan.kept, "left_as_they_are": plan.stopped,
    })
}

fn file(report: &Report<'_>, file: &crate::plan::PlannedFile) -> Value {
    let patched = PatchedFile::of(report.layout, file);
    let mut diff = Vec::new();
    patched.write_to(&mut diff);
    let mut out = json!({
        "path": patched.path,
        "before": file.before.as_deref().map(sha256),
        "after": sha256(&file.after),
    });
    // A patch of other bytes than UTF-8 cannot stand in JSON as it is.
    match String::from_utf8(diff) {
        Ok(text) => out["diff"] = json!(text),
        Err(e) => {
            use base64::Engine as _;
            out["diff_base64"] = json!(base64::engine::general_purpose::STANDARD.encode(e.as_bytes()));
        }
    }
    out
}

fn account(report: &Report<'_>) -> Value {
    let mut by_fate: BTreeMap<&str, Vec<Value>> =
        ["moved", "converted", "retired", "accepted"].into_iter().map(|k| (k, Vec::new())).collect();
    for (from, fate) in &report.plan.account {
        let from = from.to_string();
        let (kind, row) = match fate {
            Fate::Moved(to) => ("moved", json!({"from": from, "to": to.to_string()})),
            Fate::Converted { to, rule } => {
                ("converted", json!({"from": from, "to": to.to_string(), "rule": rule}))
            }
            Fate::Retired { rule } => ("retired", json!({"from": from, "rule": rule})),
            Fate::Accepted => ("accepted", json!({"from": from})),
        };
        if let Some(rows) = by_fate.get_mut(kind) {
            rows.push(row);
        }
    }
    json!(by_fate)
}

fn finding(f: &Finding) -> Value {
    let place = f.place.as_ref();
    json!({
        "code": f.code, "severity": f.code.severity(),
        "file": place.map(|p| &p.file), "line": place.and_then(|p| p.line), "column": place.and_then(|p| p.column),
        "pointer": place.and_then(|p| p.pointer.as_ref()),
        "change": match &f.scope { Scope::Change(name) => Some(name), Scope::Repository => None },
        "message": f.message, "owners": f.owners, "next": f.next,
    })
}

fn git(report: &Report<'_>) -> Value {
    let Some(facts) = report.facts else { return Value::Null };
    let survey = &facts.survey;
    let worktrees: Vec<Value> = survey
        .worktrees
        .iter()
        .map(|w| {
            json!({
                "path": if w.main { Some(".".to_string()) } else { facts.below_root(w) },
                "branch": w.branch, "head": w.head, "exists": w.exists,
                "uncommitted": facts.dirty.get(&w.resolved),
            })
        })
        .collect();
    let branches: BTreeMap<&String, &String> =
        survey.branches.iter().filter(|(b, _)| b.starts_with("speculo/")).collect();
    json!({
        "shallow": survey.shallow, "head_branch": survey.head_branch, "worktrees": worktrees, "branches": branches,
        "note": "other clones cannot be seen from here",
    })
}

fn decisions(report: &Report<'_>) -> Value {
    let changes: BTreeMap<&String, Value> = report
        .decisions
        .changes
        .iter()
        .map(|(name, c)| {
            let tickets: BTreeMap<&String, &str> =
                c.tickets.iter().map(|(t, d)| (t, d.action.as_str())).collect();
            (name, json!({"lead": c.lead, "accounted": c.accounted, "tickets": tickets}))
        })
        .collect();
    json!({"lead": report.decisions.lead, "accept_unmapped": report.decisions.accept_unmapped, "changes": changes})
}
