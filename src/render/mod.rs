//! What the user sees: patch, text and document, all from one report. Pure.

pub mod diff;
pub mod human;
pub mod json;
pub mod json_schema;
pub mod patch;

use std::collections::BTreeSet;

use crate::decisions::Decisions;
use crate::facts::Facts;
use crate::finding::Finding;
use crate::plan::Plan;
use crate::state::layout::Layout;

/// Which kind of run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Print the patch.
    DryRun,
    /// Say whether something is pending.
    Check,
    /// Write.
    Upgrade,
}

impl Mode {
    /// How reports call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::DryRun => "dry-run",
            Mode::Check => "check",
            Mode::Upgrade => "upgrade",
        }
    }
}

/// How the run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Everything planned was written.
    Written,
    /// The files are planned; nothing was to be written.
    Planned,
    /// There was nothing to do.
    NothingToDo,
    /// Findings keep everything as it is.
    Stopped,
    /// A write guard kept everything as it is.
    Guarded,
}

impl Ended {
    /// How a run of this mode over this plan ends, write guards aside.
    pub fn of(mode: Mode, plan: &Plan) -> Ended {
        match mode {
            _ if plan.files.is_empty() && plan.is_stopped() => Ended::Stopped,
            _ if plan.files.is_empty() => Ended::NothingToDo,
            Mode::Upgrade => Ended::Written,
            _ => Ended::Planned,
        }
    }

    /// How reports call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Ended::Written => "written",
            Ended::Planned => "planned",
            Ended::NothingToDo => "nothing-to-do",
            Ended::Stopped => "stopped",
            Ended::Guarded => "guarded",
        }
    }
}

/// Everything a report is made from.
pub struct Report<'a> {
    /// Which kind of run.
    pub mode: Mode,
    /// How it ended.
    pub ended: Ended,
    /// The plan, with the findings to report.
    pub plan: &'a Plan,
    /// Where the state lies.
    pub layout: &'a Layout,
    /// Names of the sealed changes.
    pub archived: &'a BTreeSet<String>,
    /// What git showed, in full.
    pub facts: Option<&'a Facts>,
    /// The same in numbers.
    pub seen: Option<Seen>,
    /// The decisions that were read.
    pub decisions: &'a Decisions,
    /// Write guards and notes about files git does not keep.
    pub guards: &'a [Finding],
    /// The exit code.
    pub code: u8,
    /// What a command needs behind it to reach the same state; see [`aimed`].
    pub place: &'a str,
}

/// How much was seen of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Registered worktrees, the main one included.
    pub worktrees: usize,
    /// Branches below `speculo/`.
    pub branches: usize,
    /// Whether it is a shallow clone.
    pub is_shallow: bool,
}

impl Seen {
    /// The numbers of what git showed.
    pub fn of(facts: &Facts) -> Seen {
        let survey = &facts.survey;
        Seen {
            worktrees: survey.worktrees.len(),
            branches: survey.branches.keys().filter(|b| b.starts_with("speculo/")).count(),
            is_shallow: survey.shallow,
        }
    }
}

/// A command of ours as it must be typed to reach the same state as this run: with `place` behind it, in
/// front of what else the line holds. Other lines stay as they are.
pub fn aimed(line: &str, place: &str) -> String {
    let rest = line.strip_prefix("specdev-migrate").filter(|rest| rest.is_empty() || rest.starts_with(' '));
    // These know no place, or name one of their own.
    let is_elsewhere = |rest: &str| {
        [" explain ", " steps", " recover '"].iter().any(|own| rest.starts_with(own))
            || rest.contains(" --state ")
    };
    if place.is_empty() || rest.is_none_or(is_elsewhere) {
        return line.to_string();
    }
    let end = ["   #", " > ", " | "].iter().filter_map(|mark| line.find(mark)).min().unwrap_or(line.len());
    format!("{}{place}{}", &line[..end], &line[end..])
}
