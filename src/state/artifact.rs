//! The artifacts of the state and their versions (contract.md §1).

use std::fmt;

use serde::Serialize;

/// A kind of file or section with versions of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Artifact {
    /// `config.json`
    Config,
    /// `status.json`, the index
    Status,
    /// `changes/<change>/.status.json`
    ChangeStatus,
    /// `changes/<change>/goal-plan.md`
    GoalPlan,
    /// The section `## Execution Context` of `changes/<change>/README.md`
    ExecutionContext,
    /// The section `## Workspace Execution Record` of an Evidence file
    ExecutionRecord,
}

impl Artifact {
    /// The name used in reports, schemas and step names.
    pub fn as_str(self) -> &'static str {
        match self {
            Artifact::Config => "config",
            Artifact::Status => "status",
            Artifact::ChangeStatus => "change-status",
            Artifact::GoalPlan => "goal-plan",
            Artifact::ExecutionContext => "execution-context",
            Artifact::ExecutionRecord => "execution-record",
        }
    }
}

impl fmt::Display for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
