//! Versions on disk, targets, pending steps and blockers, as a calm table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::session::{Session, exit_of};
use super::{Outcome, Surroundings};
use crate::cli::{Format, Look};
use crate::error::Result;
use crate::finding::{Finding, Scope};
use crate::plan::Plan;
use crate::render::{human, json};

/// Print the table. The exit code names what stops an upgrade; what is merely pending is no failure.
pub fn run(args: &Look, around: &Surroundings) -> Result<Outcome> {
    let session = match Session::open(&args.place, &args.goal, false)? {
        Ok(session) => session,
        Err(findings) => {
            let code = exit_of(&findings);
            let stderr = human::refusal(&findings, around.color_err).into_bytes();
            let stdout = match args.report.format {
                Format::Json => json::document("status", code, json!({"findings": json::list(&findings)})),
                Format::Human => Vec::new(),
            };
            return Ok(Outcome { stdout, stderr, code, ..Outcome::default() });
        }
    };
    let plan = session.plan(true)?;
    let code = exit_of(&plan.findings);
    let rows = rows(&plan);
    let stdout = match args.report.format {
        Format::Human => text(&plan, &rows).into_bytes(),
        Format::Json => document(&session, &plan, code),
    };
    Ok(Outcome { stdout, stderr: Vec::new(), code, ..Outcome::default() })
}

/// Artifacts of one kind, version and fate.
#[derive(Default)]
struct Row {
    files: usize,
    steps: Vec<&'static str>,
}

fn rows(plan: &Plan) -> BTreeMap<(String, u64, u64), Row> {
    let mut rows: BTreeMap<(String, u64, u64), Row> = BTreeMap::new();
    for artifact in &plan.artifacts {
        let target = plan.release.target(artifact.artifact).unwrap_or(0).max(artifact.from);
        let row = rows.entry((artifact.artifact.as_str().to_string(), artifact.from, target)).or_default();
        row.files += 1;
        for step in &artifact.steps {
            if !row.steps.contains(step) {
                row.steps.push(step);
            }
        }
    }
    rows
}

/// Who must act on what.
fn owners(plan: &Plan) -> BTreeMap<String, Vec<&Finding>> {
    let mut owners: BTreeMap<String, Vec<&Finding>> = BTreeMap::new();
    for finding in plan.findings.iter().filter(|f| f.stops()) {
        let name = finding.owners.first().map_or("nobody named", String::as_str);
        owners.entry(name.to_string()).or_default().push(finding);
    }
    owners
}

fn text(plan: &Plan, rows: &BTreeMap<(String, u64, u64), Row>) -> String {
    let mut out =
        format!("{:14} {:>7} {:>7} {:>6}  pending steps\n", "artifact", "on disk", "target", "files");
    for ((artifact, from, target), row) in rows {
        let steps = if row.steps.is_empty() { "–".to_string() } else { row.steps.join(", ") };
        let _ = writeln!(
            out,
            "{artifact:14} {:>7} {:>7} {:>6}  {steps}",
            number(*from),
            number(*target),
            row.files
        );
    }
    let owners = owners(plan);
    if owners.is_empty() {
        out += if plan.is_pending { "\nnothing blocks the upgrade\n" } else { "\nnothing to do\n" };
        return out;
    }
    out += "\nblocked, by owner\n";
    for (owner, findings) in owners {
        let _ = writeln!(out, "  {}", human::plain(&owner));
        for finding in findings {
            let what = match &finding.scope {
                Scope::Change(name) => name.as_str(),
                Scope::Repository => finding.place.as_ref().map_or("the repository", |p| &p.file),
            };
            let _ = writeln!(out, "    {:26} {}", finding.code.as_str(), human::plain(what));
        }
    }
    out += "\nmore: specdev-migrate --dry-run\n";
    out
}

/// A configuration of a number beyond all counting is just newer.
fn number(version: u64) -> String {
    if version == u64::MAX { "newer".into() } else { version.to_string() }
}

fn document(session: &Session, plan: &Plan, code: u8) -> Vec<u8> {
    let artifacts: Vec<Value> = plan
        .artifacts
        .iter()
        .map(|a| {
            json!({
                "file": session.tree.layout.shown(&a.file), "artifact": a.artifact, "change": a.change,
                "from": a.from, "to": plan.release.target(a.artifact).unwrap_or(0).max(a.from), "steps": a.steps,
            })
        })
        .collect();
    let members = json!({
        "release": plan.release.name, "pending": plan.is_pending, "artifacts": artifacts,
        "findings": json::list(&plan.findings),
    });
    json::document("status", code, members)
}
