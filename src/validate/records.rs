//! Rules about execution contexts and execution records (release 2.0.6; contract.md §3, §9).

use super::case::{Case, EvidenceRecord};
use super::report::Report;
use super::state::by_schema;
use super::suites::is_blank;
use crate::doc::pointer::Pointer;
use crate::state::record::DIRECT_SPEC;

pub(super) fn context_schema(case: &Case<'_>, report: &mut Report<'_>) {
    case.context.iter().for_each(|text| by_schema(text, report));
}

pub(super) fn record_schema(case: &Case<'_>, report: &mut Report<'_>) {
    current(case).for_each(|(_, record)| by_schema(&record.text, report));
}

/// A verified record shows what it stands on.
pub(super) fn verified(case: &Case<'_>, report: &mut Report<'_>) {
    for (_, record) in current(case).filter(|(_, r)| r.text.str("status") == Some("verified")) {
        let text = &record.text;
        let of = |path: &str| text.value().pointer(path);
        let mut at = |path: &str, message: &str| {
            report.at(text, &Pointer::parse(path).unwrap_or_default(), message);
        };
        if of("/checkpoint").is_some_and(is_blank) {
            at("/checkpoint", "a verified record needs a `checkpoint`");
        }
        if of("/verification/status").and_then(|v| v.as_str()).is_some_and(|s| s != "passed") {
            at("/verification/status", "the verification of a verified record must be \"passed\"");
        }
        match of("/verification/e2e/status").and_then(|v| v.as_str()) {
            Some("not-required") if of("/verification/e2e/reason").is_some_and(is_blank) => {
                at(
                    "/verification/e2e/reason",
                    "E2E of a verified record is not required, its `reason` must say why",
                );
            }
            Some("pending" | "failed") => {
                at(
                    "/verification/e2e/status",
                    "E2E of a verified record must be \"passed\" or \"not-required\"",
                );
            }
            _ => {}
        }
    }
}

pub(super) fn beside_worktrees(case: &Case<'_>, report: &mut Report<'_>) {
    let worktrees = case.worktrees();
    let (Some(first), Some((stem, _))) = (worktrees.first(), current(case).next()) else { return };
    let Some((list, _)) = first.at.split_last() else { return };
    let message = format!("`worktrees` must be empty beside the execution record in evidence/{stem}.md");
    report.at(first.text, &list, message);
}

pub(super) fn kinds(case: &Case<'_>, report: &mut Report<'_>) {
    let tickets = current(case).find(|(stem, _)| *stem != DIRECT_SPEC);
    if let (Some((stem, _)), Some(direct)) = (tickets, case.records.get(DIRECT_SPEC).filter(|r| r.is_current))
    {
        let message =
            format!("a Direct Spec record cannot stand beside one of a ticket, as in evidence/{stem}.md");
        report.at(&direct.text, &Pointer::root(), message);
    }
}

pub(super) fn without_context(case: &Case<'_>, report: &mut Report<'_>) {
    // A section that stands twice is there, if not readable.
    let readme = case.change.readme.as_ref().map(|f| f.path.as_str());
    if case.context.is_some() || case.twice.iter().any(|(file, _)| Some(file.path.as_str()) == readme) {
        return;
    }
    for (_, record) in current(case) {
        let message = "the record refers to an execution context, but README.md has none";
        report.member(&record.text, "workspace_context", message);
    }
}

/// A record stands in the Evidence of its own ticket, and the ticket exists.
pub(super) fn ticket(case: &Case<'_>, report: &mut Report<'_>) {
    for (stem, record) in current(case) {
        let named = record.text.str("ticket_id").or(record.text.str("purpose"));
        let Some(named) = named else { continue };
        let key = if record.text.str("ticket_id").is_some() { "ticket_id" } else { "purpose" };
        if named != stem {
            report.member(
                &record.text,
                key,
                format!("the record names {named:?}, its Evidence file {stem:?}"),
            );
        } else if stem != DIRECT_SPEC && !has_ticket(case, stem) && !case.past.recorded.contains(stem) {
            report.member(&record.text, key, format!("no file in ticket/ has the id {stem}"));
        }
    }
}

/// The same for records that came from an older release, which did not ask for it.
pub(super) fn older_without_ticket(case: &Case<'_>, report: &mut Report<'_>) {
    for (stem, record) in current(case).filter(|(stem, _)| *stem != DIRECT_SPEC) {
        if record.text.str("ticket_id") == Some(stem)
            && !has_ticket(case, stem)
            && case.past.recorded.contains(stem)
        {
            report.member(
                &record.text,
                "ticket_id",
                format!("no file in ticket/ has the id {stem}, nor had one before the upgrade"),
            );
        }
    }
}

pub(super) fn complete(case: &Case<'_>, report: &mut Report<'_>) {
    for (_, record) in current(case) {
        if let Some(status) = record.text.str("status").filter(|s| !matches!(*s, "verified" | "cancelled")) {
            report.member(
                &record.text,
                "status",
                format!("the records of a complete change are verified, not {status:?}"),
            );
        }
    }
}

fn has_ticket(case: &Case<'_>, id: &str) -> bool {
    case.tickets.iter().any(|t| t.text("id") == Some(id))
}

fn current<'c, 'a>(case: &'c Case<'a>) -> impl Iterator<Item = (&'a str, &'c EvidenceRecord<'a>)> {
    case.records.iter().filter(|(_, r)| r.is_current).map(|(stem, record)| (*stem, record))
}
