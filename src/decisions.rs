//! The owner's answers (contract.md §6): strict YAML, every fault with line and column.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::{Error, Kind, Result};
use crate::state::change::{is_change_name, is_ticket_id};

/// A decisions file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decisions {
    /// Always 1.
    pub schema_version: u64,
    /// The lead where nothing else names one.
    #[serde(default)]
    pub lead: Option<String>,
    /// Fields that may go: `file#pointer`, the file below `specdev/`.
    #[serde(default)]
    pub accept_unmapped: Vec<String>,
    /// By change name.
    #[serde(default)]
    pub changes: BTreeMap<String, ChangeDecision>,
}

/// What is decided about one change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeDecision {
    /// The lead of this change, before anything else.
    #[serde(default)]
    pub lead: Option<String>,
    /// Whether the change is archived, where its fields disagree.
    #[serde(default)]
    pub archived: Option<bool>,
    /// About the goal plan.
    #[serde(default)]
    pub plan: Option<PlanDecision>,
    /// The change's one workspace.
    #[serde(default)]
    pub workspace: Option<WorkspaceDecision>,
    /// Branches and worktrees without a record, looked at and kept.
    #[serde(default)]
    pub accounted: Vec<String>,
    /// By ticket id; `direct-spec` for the record of a Direct Spec.
    #[serde(default)]
    pub tickets: BTreeMap<String, TicketDecision>,
}

/// How tickets are executed from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TicketExecution {
    /// The agent decides.
    Auto,
    /// One after the other.
    Serial,
    /// Side by side where possible.
    Parallel,
}

impl TicketExecution {
    /// The value as the artifacts spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            TicketExecution::Auto => "auto",
            TicketExecution::Serial => "serial",
            TicketExecution::Parallel => "parallel",
        }
    }
}

/// A decision about a goal plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanDecision {
    /// Instead of what the old policy implies.
    #[serde(default)]
    pub ticket_execution: Option<TicketExecution>,
    /// Whether a ready plan stays ready (only for a plan of version 5 or above on disk).
    #[serde(default)]
    pub keep_ready: bool,
}

/// Which kind of workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkspacePolicy {
    /// The checkout at hand.
    Current,
    /// A checkout of its own.
    Worktree,
}

/// The one workspace of a change.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceDecision {
    /// Which kind.
    pub policy: WorkspacePolicy,
    /// `current`, or a registered worktree below the project root.
    #[serde(rename = "ref")]
    pub locator: String,
    /// An existing branch.
    pub branch: String,
    /// A full commit id.
    pub base_sha: String,
}

/// What to do with an open record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Carry on in the new form.
    Continue,
    /// History only.
    Retire,
}

impl Action {
    /// The value as the file spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Action::Continue => "continue",
            Action::Retire => "retire",
        }
    }
}

/// What became of whoever was writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Writers {
    /// Nobody writes any more.
    #[serde(rename = "stopped")]
    Stopped,
    /// Somebody else goes on.
    #[serde(rename = "handed-over")]
    HandedOver,
}

/// A decision about one record.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TicketDecision {
    /// What to do.
    pub action: Action,
    /// What became of the writer.
    pub writers: Writers,
    /// Who says so.
    pub confirmed_by: String,
    /// On whose behalf, when not an owner.
    #[serde(default)]
    pub on_behalf_of: Option<String>,
    /// An existing file below the change.
    pub reference: String,
    /// Digest of the record decided about.
    pub record_sha256: String,
    /// Digest of the git facts as the owner saw them.
    pub seen: String,
    /// The E2E disposition where the record has none.
    #[serde(default)]
    pub e2e: Option<E2e>,
}

/// An E2E disposition.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct E2e {
    /// Whether one is required.
    pub required: bool,
    /// `pending`, `passed`, `failed` or `not-required`.
    pub status: String,
    /// Why not, when not required.
    #[serde(default)]
    pub reason: Option<String>,
    /// Where it is proven.
    #[serde(default)]
    pub evidence: Option<String>,
}

impl Decisions {
    /// Read a decisions file; `name` is how errors call it.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Decisions> {
        let usage = |text: String| {
            Error::new(Kind::Usage, format!("decisions file {name}: {text}"))
                .hint("specdev-migrate decisions > decisions.new.yaml")
        };
        let text = std::str::from_utf8(bytes).map_err(|e| {
            let (line, column) = crate::doc::position(bytes, e.valid_up_to());
            usage(format!("line {line}, column {column}: not UTF-8"))
        })?;
        let at = |e: serde_yaml::Error| match e.location() {
            // The library's own text ends with the place already.
            Some(l) if !e.to_string().contains("at line") => {
                usage(format!("line {} column {}: {e}", l.line(), l.column()))
            }
            Some(_) => usage(e.to_string()),
            None => usage(format!("line 1 column 1: {e}")),
        };
        // The reading as plain values refuses keys that stand twice in a mapping of names, too.
        serde_yaml::from_str::<serde_yaml::Value>(text).map_err(|e| {
            match repeated(text, &e.to_string()) {
                Some(offset) => {
                    let (line, column) = crate::doc::position(bytes, offset);
                    usage(format!("line {line} column {column}: {e}"))
                }
                None => at(e),
            }
        })?;
        let decisions: Decisions = serde_yaml::from_str(text).map_err(at)?;
        decisions.check().map_err(|(needle, why)| {
            let offset = text.find(&needle).unwrap_or(0);
            let (line, column) = crate::doc::position(bytes, offset);
            usage(format!("line {line} column {column}: {why}"))
        })?;
        Ok(decisions)
    }

    /// What types cannot say: the text to point at, and the rule.
    fn check(&self) -> std::result::Result<(), (String, String)> {
        let no = |needle: &str, why: String| Err((needle.to_string(), why));
        if self.schema_version != 1 {
            return no(
                "schema_version",
                format!("schema_version is {}, this tool reads 1", self.schema_version),
            );
        }
        let empty =
            |name: &Option<String>| name.as_deref().is_some_and(|l| l.trim().is_empty() || l == "unassigned");
        if empty(&self.lead) {
            return no("lead", "lead must name somebody".into());
        }
        for field in &self.accept_unmapped {
            let pointer = field.split_once('#').filter(|(file, p)| !file.is_empty() && p.starts_with('/'));
            if pointer.is_none() {
                return no(
                    field,
                    format!("accept_unmapped {field:?} must look like config.json#/execution/name"),
                );
            }
        }
        for (name, change) in &self.changes {
            if !is_change_name(name) {
                return no(name, format!("{name:?} is no change name"));
            }
            if empty(&change.lead) {
                return no(name, format!("the lead of {name} must name somebody"));
            }
            if let Some(w) = &change.workspace {
                let hex = |s: &str| {
                    matches!(s.len(), 40 | 64) && s.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
                };
                if !hex(&w.base_sha) {
                    return no(
                        &w.base_sha,
                        "base_sha must be a full commit id of 40 or 64 lower-case hex digits".into(),
                    );
                }
                if (w.policy == WorkspacePolicy::Current) != (w.locator == "current") {
                    return no(
                        name,
                        "workspace: policy current goes with ref current, policy worktree with a path".into(),
                    );
                }
            }
            for (ticket, t) in &change.tickets {
                if !is_ticket_id(ticket) && ticket != "direct-spec" {
                    return no(ticket, format!("{ticket:?} is no ticket id (T-NN or direct-spec)"));
                }
                if t.confirmed_by.trim().is_empty() {
                    return no(ticket, format!("{ticket}: confirmed_by must name somebody"));
                }
                let hex = |s: &str, n: usize| s.len() == n && s.bytes().all(|b| b.is_ascii_hexdigit());
                if !hex(&t.record_sha256, 64) {
                    return no(&t.record_sha256, format!("{ticket}: record_sha256 must be 64 hex digits"));
                }
                if !hex(&t.seen, 12) {
                    return no(&t.seen, format!("{ticket}: seen must be 12 hex digits"));
                }
                if let Some(e) = &t.e2e
                    && !matches!(e.status.as_str(), "pending" | "passed" | "failed" | "not-required")
                {
                    return no(
                        &e.status,
                        format!("{ticket}: e2e.status must be pending, passed, failed or not-required"),
                    );
                }
            }
        }
        Ok(())
    }

    /// The decisions about a change.
    pub fn change(&self, name: &str) -> Option<&ChangeDecision> {
        self.changes.get(name)
    }

    /// Whether an unmapped field may go.
    pub fn accepts(&self, location: &str) -> bool {
        self.accept_unmapped.iter().any(|f| f == location)
    }
}

/// Where the key that a message calls duplicate stands for the second time.
fn repeated(text: &str, message: &str) -> Option<usize> {
    let key = message.split("duplicate entry with key \"").nth(1)?.split('"').next()?;
    let is_key = |at: &usize| {
        let before = text[..*at].trim_end_matches(['"', '\'']);
        let after = text[at + key.len()..].trim_start_matches(['"', '\'']);
        after.starts_with(':') && before.ends_with(|c: char| c.is_whitespace() || "{,".contains(c))
    };
    text.match_indices(key).map(|(at, _)| at).filter(is_key).nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        let e = Decisions::parse("d.yaml", text.as_bytes()).unwrap_err();
        assert_eq!(e.kind, Kind::Usage);
        e.message
    }

    #[test]
    fn whole_file() {
        let d = Decisions::parse(
            "d.yaml",
            br#"schema_version: 1
lead: codex:/root
accept_unmapped: ["config.json#/execution/legacy_flag"]
changes:
  2026-08-01-login:
    lead: codex:/root
    archived: false
    plan: {ticket_execution: serial, keep_ready: false}
    workspace: {policy: worktree, ref: specdev-worktree/2026-08-01-login/T-03, branch: b, base_sha: 0123456789012345678901234567890123456789}
    accounted: ["speculo/integration/2026-08-01-login/T-02"]
    tickets:
      T-03: {action: continue, writers: handed-over, confirmed_by: codex:/root, reference: LOG.md, record_sha256: "0000000000000000000000000000000000000000000000000000000000000000", seen: abcdefabcdef}
"#,
        );
        let d = d.unwrap();
        let change = d.change("2026-08-01-login").unwrap();
        assert_eq!(change.tickets["T-03"].action, Action::Continue);
        assert_eq!(change.workspace.as_ref().unwrap().policy, WorkspacePolicy::Worktree);
        let d = Decisions::parse("d", b"schema_version: 1\naccept_unmapped: ['a#/b']\n").unwrap();
        assert!(d.accepts("a#/b") && !d.accepts("a#/c"));
    }

    #[test]
    fn faults_name_line_and_column() {
        for (text, want) in [
            ("schema_version: 1\nleed: x\n", "line 2 column 1"),
            ("schema_version: 2\n", "line 1 column 1"),
            ("schema_version: 1\nlead: a\nlead: b\n", "line 3 column 1"),
            ("schema_version: 1\nchanges:\n  2026-01-02-a: {}\n  2026-01-02-a: {}\n", "line 4 column 3"),
            ("schema_version: 1\nchanges:\n  nope: {}\n", "line 3 column 3"),
            (
                "schema_version: 1\nchanges:\n  2026-01-02-a:\n    tickets:\n      T-01: {action: maybe}\n",
                "line 5",
            ),
            ("schema_version: 1\naccept_unmapped: [abc]\n", "line 2 column 19"),
            ("schema_version: [\n", "line"),
        ] {
            let got = fault(text);
            assert!(got.contains(want), "{text:?}: {got}");
        }
    }
}
