//! Rules about versions, names and schemas of a change's artifacts, and about its goal plan.

use serde_json::Value;

use super::case::{Body, Case};
use super::report::Report;
use super::state::by_schema;
use super::text::Text;
use super::worktrees::Worktree;
use crate::doc::pointer::Pointer;

/// A record of the older form is behind as well where the release knows execution records.
pub(super) fn behind(case: &Case<'_>, report: &mut Report<'_>) {
    case.status.iter().chain(&case.plan).for_each(|text| case.state.report_behind(text, report));
    if !case.state.release.has_contexts() {
        return;
    }
    let release = case.state.release.name;
    let worktrees = case.worktrees();
    // Beside execution records there is a rule of its own about them.
    if let (Some(text), true, false) =
        (&case.status, !worktrees.is_empty(), case.records.values().any(|r| r.is_current))
    {
        let tickets: Vec<&str> = worktrees.iter().map(Worktree::ticket).collect();
        let message = format!(
            "release {release} keeps execution records in Evidence, no worktree records as for {}",
            tickets.join(", ")
        );
        report.member(text, "worktrees", message);
    }
    for record in case.records.values().filter(|r| !r.is_current) {
        let message = format!("the record is of the form before version 1, that of release {release}");
        report.at(&record.text, &Pointer::root(), message);
    }
}

pub(super) fn status_schema(case: &Case<'_>, report: &mut Report<'_>) {
    case.status.iter().for_each(|text| by_schema(text, report));
}

pub(super) fn plan_schema(case: &Case<'_>, report: &mut Report<'_>) {
    case.plan.iter().for_each(|text| by_schema(text, report));
}

pub(super) fn change_name(case: &Case<'_>, report: &mut Report<'_>) {
    let folder = &case.change.name;
    let records = case.records.values().map(|r| &r.text);
    for text in case.status.iter().chain(&case.plan).chain(&case.context).chain(records) {
        if let Some(name) = text.str("change").filter(|n| n != folder) {
            let message =
                format!("`change` must be {:?}, the folder's name, not {}", folder, Value::from(name));
            report.member(text, "change", message);
        }
    }
}

pub(super) fn section_once(case: &Case<'_>, report: &mut Report<'_>) {
    for (file, fault) in &case.twice {
        report.span(file, fault.offset..fault.offset + 1, None, fault.message.clone());
    }
}

pub(super) fn lead(case: &Case<'_>, report: &mut Report<'_>) {
    let Some(plan) = &case.plan else { return };
    if plan.str("lead").is_some_and(|lead| lead.trim().is_empty()) {
        report.member(plan, "lead", "`lead` must name a session or a person");
    }
}

pub(super) fn obsolete_field(case: &Case<'_>, report: &mut Report<'_>) {
    let Some(plan) = case.plan.as_ref().filter(|p| p.version >= 5) else { return };
    let obsolete = OBSOLETE_FIELDS.iter().filter(|(since, _)| plan.version >= *since);
    for (since, key) in obsolete.filter(|(_, key)| plan.value().get(key).is_some()) {
        report.member(plan, key, format!("`{key}` is no field of a goal plan since version {since}"));
    }
}

pub(super) fn obsolete_addendum(case: &Case<'_>, report: &mut Report<'_>) {
    let (Some(plan), Some(body)) = (&case.plan, case.plan_body()) else { return };
    if plan.version < 5 {
        return;
    }
    for heading in body.outline.headings.iter().filter(|h| h.level == 2) {
        if ADDENDA.contains(&heading.text.as_str()) {
            let message = format!("the section `## {}` belongs to plans before version 5", heading.text);
            report.span(body.file, heading.range.clone(), None, message);
        }
    }
}

pub(super) fn ready_status(case: &Case<'_>, report: &mut Report<'_>) {
    let Some(plan) = case.plan.as_ref().filter(|p| p.version >= 5) else { return };
    let ready = plan.value().get("ready_for_execution").and_then(Value::as_bool);
    let message = match (plan.str("status"), ready) {
        (Some(status @ ("ready" | "in_progress")), Some(false)) => {
            format!("`ready_for_execution` must be true where `status` is {status:?}")
        }
        (Some(status @ ("draft" | "blocked" | "completed")), Some(true)) => {
            format!("`ready_for_execution` must be false where `status` is {status:?}")
        }
        _ => return,
    };
    report.member(plan, "ready_for_execution", message);
}

pub(super) fn sections(case: &Case<'_>, report: &mut Report<'_>) {
    if let Some(ready) = ready(case).filter(|_| !keeps_older_body(case)) {
        report_sections(&ready, report);
    }
}

pub(super) fn markers(case: &Case<'_>, report: &mut Report<'_>) {
    if let Some(ready) = ready(case).filter(|_| !keeps_older_body(case)) {
        report_markers(&ready, report);
    }
}

pub(super) fn assumptions(case: &Case<'_>, report: &mut Report<'_>) {
    if let Some(ready) = ready(case).filter(|_| !keeps_older_body(case)) {
        report_assumptions(&ready, report);
    }
}

/// The three above for a plan that was ready before its upgrade and stayed so, with the body it had.
pub(super) fn older_template(case: &Case<'_>, report: &mut Report<'_>) {
    if let Some(ready) = ready(case).filter(|_| keeps_older_body(case)) {
        report_sections(&ready, report);
        report_markers(&ready, report);
        report_assumptions(&ready, report);
    }
}

pub(super) fn replan(case: &Case<'_>, report: &mut Report<'_>) {
    let (Some(plan), Some(version)) = (&case.plan, case.past.ready_plan) else { return };
    let waits = plan.str("status") == Some("blocked") && !is_ready(plan);
    if waits && plan.version > version {
        let message =
            format!("the plan was ready under version {version} and has not been planned again since");
        report.member(plan, "status", message);
    }
}

/// A plan of the newest version whose body still orders what an older one did.
pub(super) fn older_body(case: &Case<'_>, report: &mut Report<'_>) {
    let (Some(plan), Some(body)) = (&case.plan, case.plan_body()) else { return };
    if case.state.is_behind(plan) || !is_ready(plan) {
        return;
    }
    let heading = body.outline.headings.iter().find(|h| h.level == 3 && h.text.starts_with(CANDIDATES));
    if let Some(heading) = heading {
        let message = format!(
            "`### {}` orders a worktree for every ticket, which this release does not know",
            heading.text
        );
        report.span(body.file, heading.range.clone(), None, message);
    }
}

pub(super) fn serial_limit(case: &Case<'_>, report: &mut Report<'_>) {
    for text in case.plan.iter().chain(&case.context) {
        let limit = text.value().get("max_parallel_tickets").and_then(Value::as_u64);
        if let Some(limit) = limit.filter(|n| *n > 1 && text.str("ticket_execution") == Some("serial")) {
            let message = format!(
                "`max_parallel_tickets` must be 1 or absent where `ticket_execution` is \"serial\", not {limit}"
            );
            report.member(text, "max_parallel_tickets", message);
        }
    }
}

fn report_sections((plan, body): &Ready<'_>, report: &mut Report<'_>) {
    let missing: Vec<&str> = SECTIONS.into_iter().filter(|title| !body.has_heading(2, title)).collect();
    if !missing.is_empty() {
        let message = format!("a plan that is ready needs the sections {}", listed(&missing, "## "));
        report.member(plan, "ready_for_execution", message);
    }
}

fn report_markers((plan, body): &Ready<'_>, report: &mut Report<'_>) {
    let headings = HEADINGS.into_iter().filter(|title| !body.has_heading(3, title));
    let words = WORDS.into_iter().filter(|words| !body.contains(words));
    let missing: Vec<String> =
        headings.map(|title| format!("`### {title}`")).chain(words.map(|w| format!("`{w}`"))).collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        let message =
            format!("a plan that is ready says how its lead directs and integrates; not found: {missing}");
        report.member(plan, "ready_for_execution", message);
    }
}

fn report_assumptions((_, body): &Ready<'_>, report: &mut Report<'_>) {
    let Some((start, text)) = body.section(2, "Assumptions") else { return };
    // The template's own sentence names the condition and is no assumption.
    if let Some(at) = text.find(HIGH_IMPACT).filter(|_| !text.contains(TEMPLATE_SENTENCE)) {
        let range = start + at..start + at + HIGH_IMPACT.len();
        report.span(body.file, range, None, "an assumption of high impact stands in a plan that is ready");
    }
}

/// A plan of version 4 keeps its readiness and its body when it becomes version 5.
fn keeps_older_body(case: &Case<'_>) -> bool {
    case.past.ready_plan == Some(4)
}

/// A plan and its body.
type Ready<'c> = (&'c Text<'c>, &'c Body<'c>);

/// The plan and its body when it is ready and of the version whose template is known here.
fn ready<'c>(case: &'c Case<'_>) -> Option<Ready<'c>> {
    let plan = case.plan.as_ref().filter(|p| p.version == 5 && is_ready(p))?;
    Some((plan, case.plan_body()?))
}

fn is_ready(plan: &Text<'_>) -> bool {
    plan.value().get("ready_for_execution").and_then(Value::as_bool) == Some(true)
}

/// Titles as code, joined by commas.
pub(super) fn listed(titles: &[&str], marker: &str) -> String {
    titles.iter().map(|t| format!("`{marker}{t}`")).collect::<Vec<_>>().join(", ")
}

const OBSOLETE_FIELDS: [(u64, &str); 6] = [
    (5, "coordination_mode"),
    (5, "workspace_strategy"),
    (5, "terminal_action"),
    (8, "implementation_agent_limit"),
    (8, "ticket_workspace_policy"),
    (8, "integration_gate"),
];
const ADDENDA: [&str; 2] = ["Delegated Execution Addendum", "Isolated Workspace Addendum"];
const SECTIONS: [&str; 6] = [
    "1. Outcome and Authority",
    "2. Execution Graph",
    "3. Gates and Completion Evidence",
    "4. Execution and Integration Protocol",
    "5. Constraints, Risk and Recovery",
    "6. Progress and Decisions",
];
const CANDIDATES: &str = "Ticket Workspace and Candidate Integration";
const HEADINGS: [&str; 3] = ["Lead Orchestration", CANDIDATES, "Authorization Matrix"];
const WORDS: [&str; 6] = [
    "Implementation subagents",
    "Read-only agents",
    "execution-time dynamic",
    "source worktree 不运行 E2E",
    "Implementation commit",
    "Local candidate integration and parent update",
];
const HIGH_IMPACT: &str = "高影响";
const TEMPLATE_SENTENCE: &str = "必须为 `false`";
