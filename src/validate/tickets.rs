//! Rules about tickets, their worktree records and their Evidence.
//!
//! Changes whose status waits for its upgrade are passed over: their papers are of the older template
//! as a whole. What an upgraded change still has of that template is class `legacy`.

use super::case::{Body, Case};
use super::plans::listed;
use super::report::Report;
use crate::doc::pointer::Pointer;
use crate::state::papers::TicketFile;

pub(super) fn header(case: &Case<'_>, report: &mut Report<'_>) {
    if !case.past.is_upgraded {
        without_header(case, report);
    }
}

pub(super) fn done_without_evidence(case: &Case<'_>, report: &mut Report<'_>) {
    if !case.past.is_upgraded {
        report_missing_evidence(case, report);
    }
}

pub(super) fn older_header(case: &Case<'_>, report: &mut Report<'_>) {
    if case.past.is_upgraded {
        without_header(case, report);
    }
}

pub(super) fn older_done_without_evidence(case: &Case<'_>, report: &mut Report<'_>) {
    if case.past.is_upgraded {
        report_missing_evidence(case, report);
    }
}

pub(super) fn older_evidence(case: &Case<'_>, report: &mut Report<'_>) {
    for (_, body) in done_evidence(case) {
        let missing = missing_sections(case, body);
        if !missing.is_empty() && is_older(case, body) {
            let message = format!("is of an older template; this release's has {}", listed(&missing, "## "));
            report.file(&body.file.path, message);
        }
    }
}

pub(super) fn evidence_sections(case: &Case<'_>, report: &mut Report<'_>) {
    for (ticket, body) in done_evidence(case) {
        let missing = missing_sections(case, body);
        if !missing.is_empty() && !is_older(case, body) {
            report.file(
                &body.file.path,
                format!("{ticket} is done; its Evidence needs the sections {}", listed(&missing, "## ")),
            );
        }
    }
}

pub(super) fn source_e2e(case: &Case<'_>, report: &mut Report<'_>) {
    if !case.past.is_upgraded {
        report_source_e2e(case, report);
    }
}

pub(super) fn older_source_e2e(case: &Case<'_>, report: &mut Report<'_>) {
    if case.past.is_upgraded {
        report_source_e2e(case, report);
    }
}

pub(super) fn done_without_worktree(case: &Case<'_>, report: &mut Report<'_>) {
    for (ticket, file) in done_without_record(case) {
        if !is_in_history(case, ticket) {
            let message =
                format!("{ticket} is done, but has no worktree record that is integrated or removed");
            at_status(file, report, message);
        }
    }
}

pub(super) fn done_without_execution_record(case: &Case<'_>, report: &mut Report<'_>) {
    // An old record says itself that it is behind.
    let has_old = |ticket: &str| {
        case.records.contains_key(ticket) || case.worktrees().iter().any(|w| w.ticket() == ticket)
    };
    for (ticket, file) in done_without_record(case) {
        if !is_in_history(case, ticket) && !has_old(ticket) {
            let message =
                format!("{ticket} is done, but its Evidence has no execution record, nor has history one");
            at_status(file, report, message);
        }
    }
}

pub(super) fn record_in_history(case: &Case<'_>, report: &mut Report<'_>) {
    for (ticket, file) in done_without_record(case) {
        if case.past.recorded.contains(ticket) {
            at_status(
                file,
                report,
                format!("{ticket} is done; its record stands in `## Migration History` only"),
            );
        } else if case.past.is_upgraded {
            at_status(file, report, format!("{ticket} was done under an older template, without a record"));
        }
    }
}

pub(super) fn implement_record(case: &Case<'_>, report: &mut Report<'_>) {
    if case.is_behind() {
        return;
    }
    let worktrees = case.worktrees();
    for (ticket, file) in identified(case) {
        let status = file.text("status").unwrap_or_default();
        let is_left = status == "done" && is_in_history(case, ticket);
        if matches!(status, "draft" | "cancelled")
            || is_left
            || worktrees.iter().any(|w| w.ticket() == ticket)
        {
            continue;
        }
        at_status(file, report, format!("{ticket} is {status:?}, but has no worktree record"));
    }
}

pub(super) fn record_without_ticket(case: &Case<'_>, report: &mut Report<'_>) {
    if case.tickets.is_empty() {
        return;
    }
    for w in case.worktrees() {
        let Some(ticket) = w.str("/ticket_id") else { continue };
        if !identified(case).any(|(id, _)| id == ticket) {
            w.report(report, "/ticket_id", "no file in ticket/ has this id");
        }
    }
}

pub(super) fn complete_tickets(case: &Case<'_>, report: &mut Report<'_>) {
    for (ticket, file) in identified(case) {
        let status = file.text("status").unwrap_or_default();
        if !matches!(status, "done" | "cancelled") {
            at_status(
                file,
                report,
                format!("{ticket} is {status:?}; a complete change has done and cancelled tickets only"),
            );
        }
    }
}

pub(super) fn writable_paths(case: &Case<'_>, report: &mut Report<'_>) {
    for file in ready(case).filter(|f| !case.past.is_upgraded && has_no_paths(f)) {
        at(file, report, "writable_paths", "a ticket that is ready names the paths it may write");
    }
}

pub(super) fn verification(case: &Case<'_>, report: &mut Report<'_>) {
    for file in ready(case).filter(|_| !case.past.is_upgraded) {
        let missing = missing_verification(file);
        if !missing.is_empty() {
            let message = format!(
                "a ticket that is ready says who runs E2E and where; `## 8. 验证矩阵` lacks {}",
                listed(&missing, "")
            );
            at(file, report, "ready", message);
        }
    }
}

/// What tickets of an upgraded change lack because the older template did not ask for it.
pub(super) fn older_ticket(case: &Case<'_>, report: &mut Report<'_>) {
    for file in ready(case).filter(|_| case.past.is_upgraded) {
        let missing = missing_verification(file);
        if !missing.is_empty() {
            let missing = listed(&missing, "");
            let message = format!("the ticket is of an older template: `## 8. 验证矩阵` lacks {missing}");
            at(file, report, "ready", message);
        }
        if has_no_paths(file) {
            let message = "the ticket is of an older template, which asked for no writable paths";
            at(file, report, "writable_paths", message);
        }
    }
}

fn without_header(case: &Case<'_>, report: &mut Report<'_>) {
    for ticket in case.tickets {
        match &ticket.header {
            Err(fault) => {
                let range = fault.offset..fault.offset + 1;
                report.span(
                    &ticket.file,
                    range,
                    None,
                    format!("the ticket's header cannot be read: {}", fault.message),
                );
            }
            Ok(_) => {
                for key in ["id", "status"].into_iter().filter(|k| ticket.text(k).is_none()) {
                    let start = header_start(ticket);
                    report.span(
                        &ticket.file,
                        start..start + 1,
                        Some(&Pointer::root()),
                        format!("the ticket's header has no `{key}`"),
                    );
                }
            }
        }
    }
}

fn report_missing_evidence(case: &Case<'_>, report: &mut Report<'_>) {
    for (ticket, file) in done(case).filter(|(ticket, _)| !case.change.evidence.contains_key(*ticket)) {
        at_status(file, report, format!("{ticket} is done, but there is no evidence/{ticket}.md"));
    }
}

/// E2E belongs to the candidate; whoever claims it in the source worktree ran it in the wrong place.
fn report_source_e2e(case: &Case<'_>, report: &mut Report<'_>) {
    for (ticket, body) in done_evidence(case) {
        let Some((start, text)) = body.section(2, SOURCE_VERIFICATION) else { continue };
        let is_denied = ["不得", "禁止"].iter().any(|w| text.contains(w))
            || text.to_ascii_lowercase().contains("not-run");
        let Some(claim) = e2e_claim(&text).filter(|_| !is_denied) else { continue };
        let message = format!("{ticket}: E2E is said to have passed in the source worktree");
        report.span(body.file, start + claim..start + claim + "E2E".len(), None, message);
    }
}

/// Done tickets that have no finished record of the kind the release keeps.
fn done_without_record<'c>(case: &'c Case<'_>) -> impl Iterator<Item = (&'c str, &'c TicketFile)> {
    let worktrees = case.worktrees();
    let has_contexts = case.state.release.has_contexts();
    let is_recorded = move |ticket: &str| {
        let record = case.records.get(ticket);
        if has_contexts {
            return record.is_some_and(|r| r.is_current);
        }
        let in_evidence = record
            .is_some_and(|r| matches!(r.text.str("status"), Some("integrated" | "removed" | "verified")));
        in_evidence || worktrees.iter().any(|w| w.ticket() == ticket && w.is_finished())
    };
    done(case).filter(move |(ticket, _)| !is_recorded(ticket))
}

fn is_in_history(case: &Case<'_>, ticket: &str) -> bool {
    case.past.is_upgraded || case.past.recorded.contains(ticket)
}

/// Done tickets with their Evidence.
fn done_evidence<'c>(case: &'c Case<'_>) -> impl Iterator<Item = (&'c str, &'c Body<'c>)> {
    done(case).filter_map(|(ticket, _)| Some((ticket, case.evidence(ticket)?)))
}

fn done<'c>(case: &'c Case<'_>) -> impl Iterator<Item = (&'c str, &'c TicketFile)> {
    let is_behind = case.is_behind();
    identified(case).filter(move |(_, file)| !is_behind && file.text("status") == Some("done"))
}

fn ready<'c>(case: &'c Case<'_>) -> impl Iterator<Item = &'c TicketFile> {
    let is_behind = case.is_behind();
    let is_ready = |f: &&TicketFile| f.get("ready").and_then(|v| v.as_bool()) == Some(true);
    case.tickets.iter().filter(is_ready).filter(move |_| !is_behind)
}

fn identified<'c>(case: &'c Case<'_>) -> impl Iterator<Item = (&'c str, &'c TicketFile)> {
    case.tickets.iter().filter_map(|file| Some((file.text("id")?, file)))
}

/// Sections of this release's Evidence that are not there.
fn missing_sections(case: &Case<'_>, body: &Body<'_>) -> Vec<&'static str> {
    // Releases after 0.7.3 renamed two of them.
    let is_newer = case.status.as_ref().is_some_and(|s| s.version > 5);
    let is_there = |(title, later): &(&str, &str)| {
        body.has_heading(2, title) || (is_newer && body.has_heading(2, later))
    };
    EVIDENCE.iter().filter(|titles| !is_there(titles)).map(|(title, _)| *title).collect()
}

/// Evidence of an upgraded change, or with all sections of the older template.
fn is_older(case: &Case<'_>, body: &Body<'_>) -> bool {
    case.past.is_upgraded || OLDER_EVIDENCE.iter().all(|title| body.has_heading(2, title))
}

/// The line that names E2E and, after it, that it passed.
fn e2e_claim(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    let mut start = 0;
    for line in lower.split_inclusive('\n') {
        if let Some(at) = line.find("e2e")
            && (line[at..].contains("通过") || has_word(&line[at..], &["pass", "passed"]))
        {
            return Some(start + at);
        }
        start += line.len();
    }
    None
}

fn has_word(line: &str, words: &[&str]) -> bool {
    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| words.contains(&word))
}

fn has_no_paths(file: &TicketFile) -> bool {
    file.get("writable_paths").and_then(|v| v.as_array()).is_some_and(Vec::is_empty)
}

fn missing_verification(file: &TicketFile) -> Vec<&'static str> {
    let text = Body::of(&file.file).section(2, VERIFICATION).map(|(_, text)| text).unwrap_or_default();
    ["E2E disposition", "parent-candidate"].into_iter().filter(|words| !text.contains(words)).collect()
}

fn at_status(ticket: &TicketFile, report: &mut Report<'_>, message: impl Into<String>) {
    at(ticket, report, "status", message);
}

fn at(ticket: &TicketFile, report: &mut Report<'_>, key: &str, message: impl Into<String>) {
    let entry = ticket.header.as_ref().ok().and_then(|h| h.entry(key));
    let start = header_start(ticket);
    let range = entry.map_or(start..start + 1, |e| e.value_range.clone());
    report.span(&ticket.file, range, Some(&Pointer::new([key])), message);
}

fn header_start(ticket: &TicketFile) -> usize {
    ticket.header.as_ref().map_or(0, |h| h.inner.start)
}

const SOURCE_VERIFICATION: &str = "5. Source-worktree 验证";
const VERIFICATION: &str = "8. 验证矩阵";
/// The sections of an Evidence file, and how later releases call them.
const EVIDENCE: [(&str, &str); 8] = [
    ("2. Lead Dispatch And Candidate Return", "2. Lead Dispatch And Candidate Return"),
    ("3. 修改范围与路径所有权", "3. 修改范围与路径所有权"),
    ("4. 验收与合同映射", "4. 验收与合同映射"),
    (SOURCE_VERIFICATION, "5. Workspace Verification"),
    ("6. 双轴审查", "6. 双轴审查"),
    ("7. Parent-candidate 集成验证", "7. Integration Verification"),
    ("8. 偏差与决策", "8. 偏差与决策"),
    ("9. 残余风险与交付定位", "9. 残余风险与交付定位"),
];
const OLDER_EVIDENCE: [&str; 7] = [
    "2. 修改范围",
    "3. 验收与合同映射",
    "4. 验证执行",
    "5. 双轴审查",
    "6. 路径所有权审计",
    "7. 偏差与决策",
    "8. 残余风险与后续",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_of_a_passed_e2e() {
        for claim in ["E2E: passed", "- e2e PASS", "E2E 已通过", "| E2E | `x` | passed |"] {
            assert!(e2e_claim(&format!("unit tests passed\n{claim}\n")).is_some(), "{claim}");
        }
        for other in ["E2E pending", "passed before E2E", "E2E bypassed", "E2E\npassed", "E2E is passed_on"] {
            assert_eq!(e2e_claim(other), None, "{other}");
        }
    }
}
