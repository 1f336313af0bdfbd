//! Rules about the worktree records of a change: names, owners and the way from planned to removed
//! (release 0.7.3; contract.md §9).
//!
//! A member that is missing or of another type is the schema's business; here is what members must
//! be beside each other. Records of version 6 that work in the current checkout have no candidate.

use std::collections::BTreeSet;

use serde_json::Value;

use super::case::Case;
use super::report::Report;
use super::text::Text;
use crate::doc::pointer::Pointer;

/// One record of `worktrees[]`.
pub(super) struct Worktree<'c> {
    pub(super) text: &'c Text<'c>,
    pub(super) at: Pointer,
    pub(super) value: &'c Value,
}

impl<'c> Worktree<'c> {
    pub(super) fn ticket(&self) -> &'c str {
        self.str("/ticket_id").unwrap_or("a record without ticket")
    }

    pub(super) fn status(&self) -> &'c str {
        self.str("/status").unwrap_or_default()
    }

    pub(super) fn get(&self, path: &str) -> Option<&'c Value> {
        self.value.pointer(path)
    }

    pub(super) fn str(&self, path: &str) -> Option<&'c str> {
        self.get(path)?.as_str()
    }

    /// Its work is in the parent branch.
    pub(super) fn is_finished(&self) -> bool {
        matches!(self.status(), "integrated" | "removed")
    }

    /// Its integration has begun.
    fn is_integrating(&self) -> bool {
        self.status() == "integrating" || self.is_finished()
    }

    /// It has a worktree and a candidate of its own.
    fn is_isolated(&self) -> bool {
        self.text.version < 6 || self.str("/workspace_ref") != Some("current")
    }

    /// Null or blank where a text is due.
    fn is_blank(&self, path: &str) -> bool {
        match self.get(path) {
            Some(Value::Null) => true,
            Some(Value::String(text)) => text.trim().is_empty(),
            _ => false,
        }
    }

    /// Both members have a text, and not the same.
    fn differ(&self, a: &str, b: &str) -> bool {
        matches!((self.str(a), self.str(b)), (Some(a), Some(b)) if a != b)
    }

    pub(super) fn report(&self, report: &mut Report<'_>, path: &str, message: impl AsRef<str>) {
        let tokens = Pointer::parse(path).unwrap_or_default();
        let at = self.at.chain(&tokens);
        report.at(self.text, &at, format!("{}: {}", self.ticket(), message.as_ref()));
    }

    /// A member that the record's status asks for.
    fn require(&self, report: &mut Report<'_>, path: &str) {
        if self.is_blank(path) {
            self.report(
                report,
                path,
                format!("`{}` must not be empty where `status` is {:?}", name(path), self.status()),
            );
        }
    }
}

pub(super) fn duplicate(case: &Case<'_>, report: &mut Report<'_>) {
    let mut seen = BTreeSet::new();
    for w in case.worktrees() {
        if w.str("/ticket_id").is_some_and(|ticket| !seen.insert(ticket)) {
            w.report(report, "/ticket_id", "the ticket has a second record");
        }
    }
}

pub(super) fn obsolete_field(case: &Case<'_>, report: &mut Report<'_>) {
    for w in case.worktrees().iter().filter(|w| w.get("/terminal_action").is_some()) {
        w.report(report, "/terminal_action", "`terminal_action` is no field of a record since version 5");
    }
}

pub(super) fn blank(case: &Case<'_>, report: &mut Report<'_>) {
    for w in case.worktrees() {
        for path in NAMED.into_iter().filter(|p| w.str(p).is_some_and(|t| t.trim().is_empty())) {
            w.report(report, path, format!("`{}` must not be empty", name(path)));
        }
    }
}

pub(super) fn locator(case: &Case<'_>, report: &mut Report<'_>) {
    for w in case.worktrees().iter().filter(|w| w.is_isolated()) {
        let Some(ticket) = w.str("/ticket_id") else { continue };
        must_be(w, report, "/workspace_ref", &format!("specdev-worktree/{}/{ticket}", case.change.name));
    }
}

pub(super) fn parent_branch(case: &Case<'_>, report: &mut Report<'_>) {
    for w in case.worktrees() {
        let (Some(parent), Some(branch)) = (w.str("/parent_branch"), w.str("/branch")) else { continue };
        if w.is_isolated() && parent == branch {
            w.report(
                report,
                "/parent_branch",
                format!("`parent_branch` must differ from `branch`; both are {}", Value::from(branch)),
            );
        }
        if !w.is_isolated() && parent != branch {
            let message = format!(
                "`branch` must be `parent_branch`, {}, where the work is done in the current checkout",
                Value::from(parent)
            );
            w.report(report, "/branch", message);
        }
    }
}

pub(super) fn source_checkpoint(case: &Case<'_>, report: &mut Report<'_>) {
    let path = "/source_checkpoint";
    for w in case.worktrees() {
        if w.status() == "review" || w.is_integrating() {
            w.require(report, path);
        } else if w.str(path).is_some_and(|t| t.trim().is_empty()) {
            w.report(report, path, "`source_checkpoint` must be null or name a commit");
        }
    }
}

pub(super) fn parent(case: &Case<'_>, report: &mut Report<'_>) {
    integrating(case).iter().for_each(|w| w.require(report, "/integration/parent_before_sha"));
}

pub(super) fn source(case: &Case<'_>, report: &mut Report<'_>) {
    let path = "/integration/source_sha";
    for w in integrating(case) {
        w.require(report, path);
        if !w.is_blank(path) && w.differ(path, "/source_checkpoint") {
            w.report(report, path, "`source_sha` must be the record's `source_checkpoint`");
        }
    }
}

pub(super) fn candidate(case: &Case<'_>, report: &mut Report<'_>) {
    let isolated = integrating(case).into_iter().filter(Worktree::is_isolated);
    isolated.for_each(|w| w.require(report, "/integration/candidate_sha"));
}

pub(super) fn candidate_name(case: &Case<'_>, report: &mut Report<'_>) {
    let change = &case.change.name;
    for w in integrating(case).iter().filter(|w| w.is_isolated()) {
        let Some(ticket) = w.str("/ticket_id") else { continue };
        must_be(
            w,
            report,
            "/integration/candidate_branch",
            &format!("speculo/integration/{change}/{ticket}"),
        );
        let workspace = format!("specdev-worktree/.integration/{change}/{ticket}");
        must_be(w, report, "/integration/candidate_workspace_ref", &workspace);
    }
}

pub(super) fn method(case: &Case<'_>, report: &mut Report<'_>) {
    for w in integrating(case) {
        let known: &[&str] =
            if w.is_isolated() { &["fast-forward", "merge-commit"] } else { &["direct-parent"] };
        let Some(value) = w.get("/integration/method") else { continue };
        if !value.as_str().is_some_and(|m| known.contains(&m)) {
            let wanted = known.iter().map(|m| format!("{m:?}")).collect::<Vec<_>>().join(" or ");
            let message =
                format!("`method` must be {wanted} where `status` is {:?}, not {value}", w.status());
            w.report(report, "/integration/method", message);
        }
    }
}

pub(super) fn attempts(case: &Case<'_>, report: &mut Report<'_>) {
    for w in integrating(case) {
        if w.get("/integration/attempts").and_then(Value::as_u64) == Some(0) {
            let message = format!("`attempts` must be at least 1 where `status` is {:?}", w.status());
            w.report(report, "/integration/attempts", message);
        }
    }
}

pub(super) fn candidate_status(case: &Case<'_>, report: &mut Report<'_>) {
    for w in case.worktrees().iter().filter(|w| w.status() == "integrating") {
        if let Some(status) = w.str("/integration/status").filter(|s| *s != "candidate") {
            let message = format!(
                "the integration's `status` must be \"candidate\" while the record is integrating, not {status:?}"
            );
            w.report(report, "/integration/status", message);
        }
    }
}

pub(super) fn passed(case: &Case<'_>, report: &mut Report<'_>) {
    for w in finished(case) {
        for path in ["/integration/status", "/integration/verification"] {
            if let Some(value) = w.str(path).filter(|v| *v != "passed") {
                let message = format!(
                    "the integration's `{}` must be \"passed\" where the record is {}, not {value:?}",
                    name(path),
                    w.status()
                );
                w.report(report, path, message);
            }
        }
        let path = "/integration/e2e/status";
        if let Some(value) = w.str(path).filter(|v| !matches!(*v, "passed" | "not-required")) {
            let message = format!(
                "E2E must be \"passed\" or \"not-required\" where the record is {}, not {value:?}",
                w.status()
            );
            w.report(report, path, message);
        }
    }
}

pub(super) fn result(case: &Case<'_>, report: &mut Report<'_>) {
    let path = "/integration/result_sha";
    for w in finished(case) {
        w.require(report, path);
        let from = if w.is_isolated() { "/integration/candidate_sha" } else { "/source_checkpoint" };
        if !w.is_blank(path) && w.differ(path, from) {
            w.report(report, path, format!("`result_sha` must be the record's `{}`", name(from)));
        }
    }
}

pub(super) fn fast_forward(case: &Case<'_>, report: &mut Report<'_>) {
    for w in finished_by(case, "fast-forward") {
        let path = "/integration/candidate_sha";
        if !w.is_blank(path) && w.differ(path, "/source_checkpoint") {
            w.report(
                report,
                path,
                "a fast-forward makes no commit: `candidate_sha` must be `source_checkpoint`",
            );
        }
        let conflicts = w.get("/integration/conflict_paths").and_then(Value::as_array);
        if conflicts.is_some_and(|c| !c.is_empty()) {
            w.report(
                report,
                "/integration/conflict_paths",
                "a fast-forward has no conflicts: `conflict_paths` must be empty",
            );
        }
    }
}

pub(super) fn merge_commit(case: &Case<'_>, report: &mut Report<'_>) {
    let path = "/integration/candidate_sha";
    for w in finished_by(case, "merge-commit") {
        for other in ["/source_checkpoint", "/integration/parent_before_sha"] {
            if w.str(path).is_some() && w.str(path) == w.str(other) {
                let message = format!(
                    "a merge makes a commit of its own: `candidate_sha` must not be `{}`",
                    name(other)
                );
                w.report(report, path, message);
            }
        }
    }
}

fn integrating<'c>(case: &'c Case<'_>) -> Vec<Worktree<'c>> {
    case.worktrees().into_iter().filter(Worktree::is_integrating).collect()
}

fn finished<'c>(case: &'c Case<'_>) -> Vec<Worktree<'c>> {
    case.worktrees().into_iter().filter(Worktree::is_finished).collect()
}

fn finished_by<'c>(case: &'c Case<'_>, method: &str) -> Vec<Worktree<'c>> {
    let by = |w: &Worktree<'_>| w.str("/integration/method") == Some(method);
    finished(case).into_iter().filter(by).collect()
}

/// A text that the change and the ticket decide.
fn must_be(w: &Worktree<'_>, report: &mut Report<'_>, path: &str, wanted: &str) {
    let Some(value) = w.get(path).filter(|v| v.as_str() != Some(wanted)) else { return };
    w.report(report, path, format!("`{}` must be {wanted:?}, not {value}", name(path)));
}

/// The last member of a path.
pub(super) fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

const NAMED: [&str; 7] = [
    "/owner",
    "/implementation_owner",
    "/integration_owner",
    "/base_sha",
    "/parent_branch",
    "/branch",
    "/updated_at",
];
