//! The state as it stands against one release: every artifact against its schema, and the rules no
//! schema can say (contract.md §9).
//!
//! [`RULES`] is the one table: what each rule guards, for which release, and what to do. A check is a
//! pure function over what was read; all violations are found in one pass, each with the place of the
//! offending value. What cannot be read at all is no violation but a finding ([`unreadable`]), and
//! nothing is said about its content. Archives are never looked at.

mod case;
mod plans;
mod records;
mod render;
mod report;
mod state;
mod suites;
mod table;
mod text;
mod tickets;
mod unreadable;
mod worktrees;

use rayon::prelude::*;

pub use self::render::{Look, github, human};
pub use self::table::RULES;
pub use self::unreadable::unreadable;

use self::case::Case;
use self::report::Report;
use self::state::State;
use crate::doc::contains;
use crate::doc::yaml::Frontmatter;
use crate::finding::Place;
use crate::migrations;
use crate::state::change::Change;
use crate::state::papers::Papers;
use crate::state::record::{CONTEXT, json_fence};
use crate::state::tree::Tree;
use crate::step::Release;

/// Whether a violation counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Wrong by the release's own rules.
    Current,
    /// Left by an older template: reported, counted only on demand.
    Legacy,
}

impl Class {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Current => "current",
            Class::Legacy => "legacy",
        }
    }
}

/// A stage of the work with conditions of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Tickets are being implemented.
    Implement,
    /// The change is to be completed.
    Complete,
}

impl Stage {
    /// The word used on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Implement => "implement",
            Stage::Complete => "complete",
        }
    }
}

/// One rule of the table.
#[derive(Debug)]
pub struct Rule {
    /// Its stable name, in kebab case.
    pub id: &'static str,
    /// The releases it belongs to.
    pub releases: &'static [&'static str],
    /// Whether its violations count.
    pub class: Class,
    /// The stage it waits for; `None`: it always holds.
    pub stage: Option<Stage>,
    /// What it guards, in one line.
    pub guards: &'static str,
    /// What to do about a violation; `{release}` stands for the release asked about.
    pub advice: &'static str,
    check: Check,
}

impl Rule {
    /// Whether the rule is asked under these options.
    pub fn applies(&self, options: &Options) -> bool {
        self.releases.contains(&options.release.name) && (self.stage.is_none() || self.stage == options.stage)
    }
}

/// The pure function of a rule.
#[derive(Debug, Clone, Copy)]
enum Check {
    /// Asked once.
    State(fn(&State<'_>, &mut Report<'_>)),
    /// Asked for every change.
    Change(fn(&Case<'_>, &mut Report<'_>)),
    /// One rule with a part for the state as a whole and one for every change.
    Both(fn(&State<'_>, &mut Report<'_>), fn(&Case<'_>, &mut Report<'_>)),
}

impl Check {
    fn of_state(self) -> Option<fn(&State<'_>, &mut Report<'_>)> {
        match self {
            Check::State(check) | Check::Both(check, _) => Some(check),
            Check::Change(_) => None,
        }
    }

    fn of_change(self) -> Option<fn(&Case<'_>, &mut Report<'_>)> {
        match self {
            Check::Change(check) | Check::Both(_, check) => Some(check),
            Check::State(_) => None,
        }
    }
}

/// Something that is not as the release wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule's name.
    pub rule: &'static str,
    /// Whether it counts.
    pub class: Class,
    /// The offending value, or the file when a whole file is meant.
    pub place: Place,
    /// What is there and what was expected, as a fragment in lower case.
    pub message: String,
    /// What to do.
    pub advice: String,
    /// The line of the offending value.
    pub source_line: Option<SourceLine>,
}

/// A line of a file as it may be shown: control characters replaced, long lines cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    /// The text.
    pub text: String,
    /// How many characters stand before the offending value.
    pub before: usize,
    /// How many characters of the offending value stand in this line; at least 1.
    pub width: usize,
}

/// What to validate against.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The release.
    pub release: &'static Release,
    /// The stage whose conditions must hold as well.
    pub stage: Option<Stage>,
}

/// All violations, sorted by place and rule.
pub fn validate(tree: &Tree, papers: &Papers, options: &Options) -> Vec<Violation> {
    let rules: Vec<&'static Rule> = RULES.iter().filter(|r| r.applies(options)).collect();
    let state = State::new(tree, options.release);
    let mut found = Vec::new();
    for rule in &rules {
        if let Some(check) = rule.check.of_state() {
            let mut report = Report::new(&tree.layout, options.release, rule);
            check(&state, &mut report);
            found.extend(report.violations);
        }
    }
    let changes: Vec<&Change> = tree.changes.values().collect();
    let of_changes = changes.into_par_iter().map(|change| {
        let case = Case::new(&state, change, papers.of(&change.name));
        let mut found = Vec::new();
        for rule in &rules {
            if let Some(check) = rule.check.of_change() {
                let mut report = Report::new(&tree.layout, options.release, rule);
                check(&case, &mut report);
                found.extend(report.violations);
            }
        }
        found
    });
    found.extend(of_changes.collect::<Vec<_>>().into_iter().flatten());
    report::settle(found)
}

/// How many of the violations count.
pub fn counted(violations: &[Violation], strict: bool) -> usize {
    violations.iter().filter(|v| strict || v.class == Class::Current).count()
}

/// The release a state is of: the newest when any plan has that release's version or any change has
/// an execution context, else the newest without contexts.
pub fn default_release(tree: &Tree) -> &'static Release {
    let is_newest = tree.changes.values().any(|c| has_context(c) || has_newest_plan(c));
    let found = migrations::RELEASES.iter().rev().find(|r| r.has_contexts() == is_newest);
    found.unwrap_or(migrations::NEWEST)
}

fn has_context(change: &Change) -> bool {
    let Some(readme) = &change.readme else { return false };
    // A section that stands twice is one, too.
    json_fence(&readme.bytes, CONTEXT).map_or(true, |fence| fence.is_some())
}

fn has_newest_plan(change: &Change) -> bool {
    let Some(plan) = change.plan.as_ref().filter(|p| contains(&p.bytes, b"schema_version")) else {
        return false;
    };
    let target = migrations::NEWEST.target(crate::state::artifact::Artifact::GoalPlan);
    let version =
        Frontmatter::parse(&plan.bytes).ok().and_then(|h| h.value().get("schema_version")?.as_u64());
    version.is_some() && version == target
}
