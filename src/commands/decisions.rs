//! Print a decisions file, pre-filled from git, with the owner's parts left open (contract.md §6).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use super::Outcome;
use super::session::{Session, refusal};
use crate::cli::Look;
use crate::error::{Error, Kind, Result};
use crate::finding::{Code, Finding, Scope};
use crate::plan::proposals;
use crate::step::Proposal;

/// Print the file.
pub fn run(args: &Look) -> Result<Outcome> {
    let session = match Session::open(&args.place, &args.goal, false)? {
        Ok(session) => session,
        Err(findings) => return Err(refusal(&findings)),
    };
    if let Some(fault) = session.refused.first() {
        let mut error = Error::new(Kind::Blocked, fault.message.clone());
        fault.next.iter().for_each(|n| error = error.clone().hint(n));
        return Err(error);
    }
    let plan = session.plan(true)?;
    let wanted = [
        Code::ActiveWorktree,
        Code::UnrecordedWorktree,
        Code::DirtySource,
        Code::UnmergedSource,
        Code::StaleDecision,
        Code::ConflictingLead,
        Code::InconsistentArchiveState,
    ];
    let changes: BTreeSet<String> = plan
        .findings
        .iter()
        .filter(|f| f.stops() && wanted.contains(&f.code))
        .filter_map(|f| match &f.scope {
            Scope::Change(name) => Some(name.clone()),
            Scope::Repository => None,
        })
        .collect();
    let proposals = proposals(session.request(true), &changes);
    let to = if session.names_release { format!(" --to {}", session.release.name) } else { String::new() };
    let mut out = HEAD.replace("{to}", &to);
    unmapped(&mut out, &plan.findings);
    if proposals.is_empty() {
        out += "changes: {}\n";
    } else {
        out += "changes:\n";
    }
    for proposal in &proposals {
        let about: Vec<&Finding> =
            plan.findings.iter().filter(|f| f.scope == Scope::Change(proposal.change.clone())).collect();
        change(&mut out, &session, proposal, &about);
    }
    Ok(Outcome { stdout: out.into_bytes(), ..Outcome::default() })
}

const HEAD: &str = "\
# Decisions for specdev-migrate. Fill in what is left open, delete what you do not want, then:
#   specdev-migrate --decisions FILE --dry-run{to}
# action:       continue (carry on in the new form) or retire (history only)
# writers:      stopped or handed-over
# confirmed_by: an owner of the record; anybody else adds `on_behalf_of: <owner>`
# Uncommitted files in a ticket's worktree that is not the workspace block whatever is decided.
schema_version: 1
";

const E2E: &str = "        # e2e: {required: true, status: pending, reason: null, evidence: null}   # its record says nothing\n";

/// Fields without a place in the new version, as lines to uncomment.
fn unmapped(out: &mut String, findings: &[Finding]) {
    let items = findings.iter().filter(|f| f.code == Code::UnmappedField).flat_map(|f| &f.next);
    let items: Vec<&String> = items.filter(|line| line.trim_start().starts_with("- ")).collect();
    if items.is_empty() {
        return;
    }
    *out += "# accept_unmapped:            # fields that may go into history only\n";
    for item in items {
        let _ = writeln!(out, "#   {}", item.trim_start());
    }
}

fn change(out: &mut String, session: &Session, proposal: &Proposal, about: &[&Finding]) {
    let _ = writeln!(out, "  {}:", proposal.change);
    for finding in about {
        let line = match finding.code {
            Code::ConflictingLead => {
                format!("lead: {}", quoted(finding.owners.first().map_or("", String::as_str)))
            }
            Code::InconsistentArchiveState => "archived: false".to_string(),
            _ => continue,
        };
        let _ = writeln!(out, "    # {line}   # {}", finding.message.replace('\n', " "));
    }
    if proposal.needs_lead {
        *out += "    lead:                      # nobody is named; needed for `continue`\n";
    }
    let is_empty = proposal.tickets.is_empty() && proposal.accounted.is_empty();
    match &proposal.workspace {
        Ok(w) => {
            let _ = writeln!(
                out,
                "    workspace: {{policy: {}, ref: {}, branch: {}, base_sha: {}}}",
                w.policy,
                quoted(&w.locator),
                quoted(&w.branch),
                quoted(&w.base_sha)
            );
        }
        Err(reason) if !reason.is_empty() => {
            let _ = writeln!(
                out,
                "    # workspace: {{policy: current, ref: current, branch: …, base_sha: …}}   # {reason}"
            );
        }
        Err(_) if is_empty => *out += "    accounted: []\n",
        Err(_) => {}
    }
    if !proposal.accounted.is_empty() {
        *out +=
            "    accounted:                 # belong to no record; look at each, keep only what may stay\n";
        for name in &proposal.accounted {
            let _ = writeln!(out, "      - {}", quoted(name));
        }
    }
    if proposal.tickets.is_empty() {
        return;
    }
    *out += "    tickets:\n";
    let folder = session.tree.layout.specdev().join("changes").join(&proposal.change);
    let reference = ["LOG.md", "README.md", "goal-plan.md"].into_iter().find(|n| folder.join(n).is_file());
    for ticket in &proposal.tickets {
        let _ = writeln!(out, "      # {}", ticket.reasons.join("; "));
        let _ = writeln!(out, "      # owners: {}", ticket.owners.join(", "));
        let _ = writeln!(out, "      {}:", ticket.ticket);
        let _ = writeln!(out, "        action:");
        let _ = writeln!(out, "        writers:");
        let _ = writeln!(out, "        confirmed_by:");
        let _ = writeln!(out, "        reference: {}", reference.map_or(String::new(), quoted));
        let _ = writeln!(out, "        record_sha256: {}", quoted(&ticket.record_sha256));
        let _ = writeln!(out, "        seen: {}", quoted(&ticket.seen));
        if ticket.needs_e2e {
            out.push_str(E2E);
        }
    }
}

/// A text as YAML reads it back, whatever it holds.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
