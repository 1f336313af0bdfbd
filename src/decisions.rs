//! The owner's answers (contract.md §6): strict YAML, every fault with line and column.

mod places;

use std::collections::BTreeMap;

use serde::Deserialize;

use self::places::Places;

use crate::error::{Error, Kind, Result};
use crate::state::change::{is_change_name, is_ticket_id};
use crate::state::record::DIRECT_SPEC;

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
    /// The file they were read from.
    #[serde(skip)]
    pub origin: Origin,
}

/// What a file is called, and where everything stands in it; for faults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    name: String,
    places: Places,
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
        let mut decisions = Decisions::default();
        decisions.origin.name = name.to_string();
        let told = |at: (usize, usize), why: &str| format!("line {} column {}: {why}", at.0, at.1);
        let text = std::str::from_utf8(bytes)
            .map_err(|e| decisions.error(told(crate::doc::position(bytes, e.valid_up_to()), "no UTF-8")))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let scanned = places::scan(text).map_err(|m| decisions.error(told(m.at, &m.why)))?;
        decisions.origin.places = scanned.places.clone();
        let open = decisions.left_open();
        if !open.is_empty() {
            return Err(decisions.error(open.join("; ")));
        }
        let read: Decisions = serde_yaml::from_str(&scanned.text).map_err(|e| {
            // The library ends its text with the place.
            let text = e.to_string();
            let why = text.rsplit_once(" at line ").map_or(text.as_str(), |(why, _)| why);
            let at = e.location().map_or((1, 1), |l| scanned.place(l.line(), l.column()));
            decisions.error(told(at, why))
        })?;
        let decisions = Decisions { origin: decisions.origin, ..read };
        decisions.check().map_err(|text| decisions.error(text))?;
        Ok(decisions)
    }

    /// A fault at a value, with its place; a path may lead to a value that is not there.
    pub fn fault(&self, path: &[&str], text: impl std::fmt::Display) -> String {
        let (line, column) = self.origin.places.of(path);
        format!("line {line} column {column}: {text}")
    }

    /// The failure for faults of this file.
    pub fn error(&self, text: String) -> Error {
        let name = &self.origin.name;
        let name = if name.is_empty() { String::new() } else { format!(" {name}") };
        Error::new(Kind::Usage, format!("decisions file{name}: {text}"))
            .hint("specdev-migrate decisions > decisions.new.yaml")
    }

    /// What a printed file leaves to the owner, and nobody filled in.
    fn left_open(&self) -> Vec<String> {
        let mut open = Vec::new();
        for (change, ticket) in self.origin.places.tickets() {
            for (key, wanted) in OPEN {
                let path = ["changes", &change, "tickets", &ticket, key];
                if self.origin.places.is_left_open(&path) {
                    open.push(self.fault(&path, format!("{change} {ticket}: {key} is left open ({wanted})")));
                }
            }
        }
        open
    }

    /// What types cannot say.
    fn check(&self) -> std::result::Result<(), String> {
        let no = |path: &[&str], why: String| Err(self.fault(path, why));
        if self.schema_version != 1 {
            let why = format!("schema_version is {}, this tool reads 1", self.schema_version);
            return no(&["schema_version"], why);
        }
        let empty =
            |name: &Option<String>| name.as_deref().is_some_and(|l| l.trim().is_empty() || l == UNASSIGNED);
        if empty(&self.lead) {
            return no(&["lead"], "lead must name somebody".into());
        }
        for (i, field) in self.accept_unmapped.iter().enumerate() {
            let pointer = field.split_once('#').filter(|(file, p)| !file.is_empty() && p.starts_with('/'));
            if pointer.is_none() {
                let why = format!("accept_unmapped {field:?} must look like config.json#/execution/name");
                return no(&["accept_unmapped", &i.to_string()], why);
            }
        }
        for (name, change) in &self.changes {
            if !is_change_name(name) {
                return no(&["changes", name], format!("{name:?} is no change name"));
            }
            if empty(&change.lead) {
                return no(&["changes", name, "lead"], format!("the lead of {name} must name somebody"));
            }
            if let Some(w) = &change.workspace {
                let at = |key| ["changes", name.as_str(), "workspace", key];
                let hex = |s: &str| {
                    matches!(s.len(), 40 | 64) && s.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
                };
                if !hex(&w.base_sha) {
                    let why = "base_sha must be a full commit id of 40 or 64 lower-case hex digits";
                    return no(&at("base_sha"), why.into());
                }
                if (w.policy == WorkspacePolicy::Current) != (w.locator == "current") {
                    let why = "policy current goes with ref current, policy worktree with a path";
                    return no(&at("policy"), why.into());
                }
            }
            for (ticket, t) in &change.tickets {
                let at = |key| ["changes", name.as_str(), "tickets", ticket.as_str(), key];
                if !is_ticket_id(ticket) && ticket != DIRECT_SPEC {
                    let why = format!("{ticket:?} is no ticket id (T-NN or {DIRECT_SPEC})");
                    return no(&["changes", name, "tickets", ticket], why);
                }
                if t.confirmed_by.trim().is_empty() {
                    return no(&at("confirmed_by"), format!("{ticket}: confirmed_by must name somebody"));
                }
                let hex = |s: &str, n: usize| s.len() == n && s.bytes().all(|b| b.is_ascii_hexdigit());
                if !hex(&t.record_sha256, 64) {
                    return no(
                        &at("record_sha256"),
                        format!("{ticket}: record_sha256 must be 64 hex digits"),
                    );
                }
                if !hex(&t.seen, 12) {
                    return no(&at("seen"), format!("{ticket}: seen must be 12 hex digits"));
                }
                if let Some(e) = &t.e2e
                    && !matches!(e.status.as_str(), "pending" | "passed" | "failed" | "not-required")
                {
                    let why = format!("{ticket}: e2e.status must be pending, passed, failed or not-required");
                    return no(&["changes", name, "tickets", ticket, "e2e", "status"], why);
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

/// What only the owner can say, and what to say.
const OPEN: [(&str, &str); 4] = [
    ("action", "continue or retire"),
    ("writers", "stopped or handed-over"),
    ("confirmed_by", "an owner of the record"),
    ("reference", "an existing file below the change"),
];
const UNASSIGNED: &str = "unassigned";

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
            ("schema_version: 2\n", "line 1 column 17"),
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
