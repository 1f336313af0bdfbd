//! The report for people: findings grouped by code, then one calm summary.

use std::fmt::Write as _;

use super::{Ended, Mode, Report, aimed};
use crate::error::Error;
use crate::finding::{Code, Finding, Scope, Severity};
use crate::plan::Plan;
use crate::state::artifact::Artifact;

/// How many findings of one warning or note are told one by one.
const SHOWN: usize = 3;

/// The report of an upgrade, a dry run or a check.
pub fn report(report: &Report<'_>, quiet: bool, color: bool) -> String {
    let mut out = String::new();
    findings(&mut out, &report.plan.findings, quiet, color);
    if report.mode != Mode::Upgrade && !quiet {
        for guard in report.guards.iter().filter(|g| g.code.is_guard()) {
            let message = plain(&guard.message);
            let _ = writeln!(out, "note: the real run would stop: {message} ({})", guard.code);
        }
    }
    if let Some(seen) = report.seen.filter(|_| !quiet) {
        let shallow = if seen.is_shallow { ", a shallow clone" } else { "" };
        let _ = writeln!(
            out,
            "git: saw {} and {}{shallow}; other clones cannot be seen from here",
            count(seen.worktrees, "worktree", "worktrees"),
            count(seen.branches, "speculo branch", "speculo branches"),
        );
    }
    if !quiet || matches!(report.ended, Ended::Stopped | Ended::Guarded) {
        summary(&mut out, report);
    }
    out
}

/// Discovery was refused.
pub fn refusal(list: &[Finding], color: bool) -> String {
    let mut out = String::new();
    findings(&mut out, list, false, color);
    out += "nothing was written\n";
    out
}

/// The run itself failed.
pub fn failure(error: &Error, color: bool) -> String {
    let mut out = format!("{}: {}\n", paint("error", Severity::Error, color), plain(&error.message));
    for hint in &error.hints {
        let _ = writeln!(out, "  next: {}", plain(hint));
    }
    out
}

/// Findings, grouped by code.
pub fn findings(out: &mut String, list: &[Finding], quiet: bool, color: bool) {
    let mut codes: Vec<Code> = Vec::new();
    for finding in list {
        if !codes.contains(&finding.code) {
            codes.push(finding.code);
        }
    }
    for code in codes {
        let severity = code.severity();
        let stops = matches!(severity, Severity::Error | Severity::Blocker);
        if quiet && !stops {
            continue;
        }
        let group: Vec<&Finding> = list.iter().filter(|f| f.code == code).collect();
        let many = if group.len() > 1 { format!(" ({})", group.len()) } else { String::new() };
        let _ = writeln!(out, "{}: {code}{many}", paint(severity.as_str(), severity, color));
        let shown = if stops { group.len() } else { SHOWN };
        for finding in group.iter().take(shown) {
            one(out, finding);
        }
        if group.len() > shown {
            let _ = writeln!(out, "  … and {} more (all of them: --format json)", group.len() - shown);
        }
        common_next(out, &group);
    }
}

fn one(out: &mut String, finding: &Finding) {
    let place = finding.place.as_ref().map(|p| format!("{p}: ")).unwrap_or_default();
    let _ = writeln!(out, "  {}{}", plain(&place), plain(&finding.message));
    if let Some(pointer) = finding.place.as_ref().and_then(|p| p.pointer.as_deref()).filter(|p| !p.is_empty())
    {
        let _ = writeln!(out, "    at:    {}", plain(pointer));
    }
    if !finding.owners.is_empty() {
        let _ = writeln!(out, "    owner: {}", plain(&finding.owners.join(", ")));
    }
}

/// The next commands of a group, each once.
fn common_next(out: &mut String, group: &[&Finding]) {
    let mut told: Vec<&str> = Vec::new();
    for line in group.iter().flat_map(|f| &f.next) {
        if !told.contains(&line.as_str()) {
            let label = if told.is_empty() { "next:" } else { "" };
            let _ = writeln!(out, "    {label:6} {}", plain(line));
            told.push(line);
        }
    }
    if !told.is_empty() || group.first().is_some_and(|f| f.stops()) {
        let code = group.first().map(|f| f.code.as_str()).unwrap_or_default();
        let _ = writeln!(out, "    more:  specdev-migrate explain {code}");
    }
}

fn summary(out: &mut String, report: &Report<'_>) {
    let plan = report.plan;
    let release = plan.release.name;
    match report.ended {
        Ended::NothingToDo => {
            let _ = writeln!(out, "release {release}: nothing to do");
        }
        Ended::Stopped => {
            let what = if report.mode == Mode::DryRun { "no patch, and nothing" } else { "nothing" };
            let _ = writeln!(out, "release {release}: {what} was written: {}", stops(plan));
            if !plan.partial && has_clean_part(plan) {
                let command = aimed("specdev-migrate --partial", report.place);
                let _ = writeln!(out, "  the clean changes alone: {command}");
            }
        }
        Ended::Guarded => {
            let _ = writeln!(out, "release {release}: nothing was written; {} planned", files(plan));
        }
        Ended::Planned => {
            let verb = if report.mode == Mode::Check { "pending" } else { "would be written; nothing was" };
            let _ = writeln!(out, "release {release}: {} {verb}", files(plan));
        }
        Ended::Written => {
            let command = aimed("specdev-migrate restore", report.place);
            let _ = writeln!(out, "release {release}: wrote {}; to undo: {command}", files(plan));
        }
    }
    if plan.partial && !plan.stopped.is_empty() && !plan.files.is_empty() {
        let names: Vec<&str> = plan.stopped.iter().map(String::as_str).collect();
        let _ = writeln!(out, "  left as they are: {}", names.join(", "));
    }
}

/// Whether `--partial` would write anything: nothing stops the state as a whole, and a part that is not
/// stopped has steps to run.
fn has_clean_part(plan: &Plan) -> bool {
    let is_clean = |change: &Option<String>| change.as_ref().is_none_or(|c| !plan.stopped.contains(c));
    !plan.findings.iter().any(|f| f.stops() && f.scope == Scope::Repository)
        && plan
            .artifacts
            .iter()
            .any(|a| a.artifact != Artifact::Status && !a.steps.is_empty() && is_clean(&a.change))
}

fn files(plan: &Plan) -> String {
    let created = plan.files.iter().filter(|f| f.before.is_none()).count();
    let total = count(plan.files.len(), "file", "files");
    if created == 0 { total } else { format!("{total} ({created} of them new)") }
}

fn stops(plan: &Plan) -> String {
    let n = |severity| plan.findings.iter().filter(|f| f.stops() && f.code.severity() == severity).count();
    let parts = [(n(Severity::Error), "error", "errors"), (n(Severity::Blocker), "blocker", "blockers")];
    let parts: Vec<String> =
        parts.iter().filter(|p| p.0 > 0).map(|(n, one, many)| count(*n, one, many)).collect();
    parts.join(", ")
}

/// Text of somebody else's files, with control characters as escapes: it must neither draw on the
/// terminal nor look like a line of ours.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// A number and its noun.
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn paint(word: &str, severity: Severity, color: bool) -> String {
    use anstyle::{AnsiColor, Style};
    if !color {
        return word.to_string();
    }
    let hue = match severity {
        Severity::Error | Severity::Blocker => AnsiColor::Red,
        Severity::Warning => AnsiColor::Yellow,
        Severity::Note => AnsiColor::Cyan,
    };
    let style = Style::new().bold().fg_color(Some(hue.into()));
    format!("{style}{word}{style:#}")
}
