//! Rules about the full suite and E2E of a worktree record (release 0.7.3).

use serde_json::Value;

use super::case::Case;
use super::report::Report;
use super::worktrees::Worktree;

pub(super) fn disposition(case: &Case<'_>, report: &mut Report<'_>) {
    for (w, suite) in suites(case) {
        let path = |member: &str| format!("/integration/{suite}/{member}");
        let status = w.str(&path("status"));
        match w.get(&path("required")).and_then(Value::as_bool) {
            Some(true) if status == Some("not-required") => {
                let message = format!("`{suite}` is required, its `status` cannot be \"not-required\"");
                w.report(report, &path("status"), message);
            }
            Some(false) => {
                if let Some(status) = status.filter(|s| *s != "not-required") {
                    let message = format!(
                        "`{suite}` is not required, its `status` must be \"not-required\", not {status:?}"
                    );
                    w.report(report, &path("status"), message);
                }
                if w.get(&path("reason")).is_some_and(is_blank) {
                    w.report(
                        report,
                        &path("reason"),
                        format!("`{suite}` is not required, its `reason` must say why"),
                    );
                }
            }
            _ => {}
        }
    }
}

pub(super) fn evidence(case: &Case<'_>, report: &mut Report<'_>) {
    for w in case.worktrees() {
        let is_required = w.get("/integration/e2e/required").and_then(Value::as_bool) == Some(true);
        let has_passed = w.str("/integration/e2e/status") == Some("passed");
        let path = "/integration/e2e/evidence";
        if is_required && has_passed && w.get(path).is_some_and(is_blank) {
            w.report(report, path, "E2E is required and passed; `evidence` must say where that is shown");
        }
    }
}

fn suites<'c>(case: &'c Case<'_>) -> impl Iterator<Item = (Worktree<'c>, &'static str)> {
    ["full_suite", "e2e"].into_iter().flat_map(|suite| case.worktrees().into_iter().map(move |w| (w, suite)))
}

/// Null or blank. Another type is the schema's business.
pub(super) fn is_blank(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|t| t.trim().is_empty())
}
