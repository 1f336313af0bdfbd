//! What the tool found out about the state: codes, severities, places, owners and next commands.
//!
//! A finding never stops the collection of others; [`Code::severity`] and [`Code::exit`] say what it
//! means for the run as a whole (contract.md §7).

use std::fmt;

use serde::Serialize;

/// How much a finding matters for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Input that cannot be read or is invalid: nothing is written.
    Error,
    /// An owner must act first: nothing is written.
    Blocker,
    /// Done, but the owner should know.
    Warning,
    /// Seen, and of no consequence for the result.
    Note,
}

impl Severity {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Blocker => "blocked",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal, $severity:ident, $exit:literal;)+) => {
        /// Every finding code (contract.md §7). The text of a code never changes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[doc = $doc])+ $name,)+ }

        impl Code {
            /// All codes, in the order of the contract.
            pub const ALL: &'static [Code] = &[$(Code::$name,)+];

            /// The stable text of the code.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)+ }
            }

            /// How much a finding of this code matters.
            pub fn severity(self) -> Severity {
                match self { $(Code::$name => Severity::$severity,)+ }
            }

            /// The exit code a finding of this kind asks for; 0 when it asks for none.
            pub fn exit(self) -> u8 {
                match self { $(Code::$name => $exit,)+ }
            }
        }
    };
}

codes! {
    /// A worktree record is still open.
    ActiveWorktree = "active-worktree", Blocker, 4;
    /// A registered worktree or an uncontained branch that no record names.
    UnrecordedWorktree = "unrecorded-worktree", Blocker, 4;
    /// Record and registered worktree agree on path or branch, but not on both.
    WorktreeDrift = "worktree-drift", Blocker, 4;
    /// Uncommitted files in a ticket worktree that is not the workspace.
    DirtySource = "dirty-source", Blocker, 4;
    /// The ticket's branch is not contained in the workspace's.
    UnmergedSource = "unmerged-source", Blocker, 4;
    /// Two records of one ticket disagree.
    ConflictingRecord = "conflicting-record", Blocker, 4;
    /// Goal plan and leadership name different owners.
    ConflictingLead = "conflicting-lead", Blocker, 4;
    /// The README already holds another execution context.
    ConflictingExecutionContext = "conflicting-execution-context", Blocker, 4;
    /// Duplicate index entries name different current work.
    ConflictingCurrentWork = "conflicting-current-work", Blocker, 4;
    /// One claim id with different content.
    ConflictingClaim = "conflicting-claim", Blocker, 4;
    /// A change is listed as active and as archived.
    StatusOverlap = "status-overlap", Blocker, 4;
    /// The index holds values of a change that has no `.status.json`.
    MissingChangeStatus = "missing-change-status", Blocker, 4;
    /// `archived` and `change_status` disagree.
    InconsistentArchiveState = "inconsistent-archive-state", Blocker, 4;
    /// The folder name and the `change` field differ.
    ChangeNameMismatch = "change-name-mismatch", Blocker, 4;
    /// A name that is no change name.
    InvalidChangeName = "invalid-change-name", Blocker, 4;
    /// A field the new version has no place for.
    UnmappedField = "unmapped-field", Blocker, 4;
    /// A section of ours appears twice.
    AmbiguousSection = "ambiguous-section", Blocker, 4;
    /// A decision was made about other facts than those of today.
    StaleDecision = "stale-decision", Blocker, 4;
    /// Git is there, but did not answer.
    GitUnreadable = "git-unreadable", Blocker, 4;
    /// A symbolic link where a file or folder of ours should be.
    Symlink = "symlink", Blocker, 4;
    /// Neither file nor folder.
    SpecialFile = "special-file", Blocker, 4;
    /// A path that leads out of the project.
    OutsideRoot = "outside-root", Blocker, 4;
    /// A file the run would touch differs from HEAD or is untracked.
    UncommittedChanges = "uncommitted-changes", Blocker, 4;
    /// A merge, rebase, cherry-pick or bisect is in progress.
    OperationInProgress = "operation-in-progress", Blocker, 4;
    /// The installed workflow cannot read what would be written.
    ReaderTooOld = "reader-too-old", Blocker, 4;
    /// The installer's own migration has not finished.
    PendingRuntimeMigration = "pending-runtime-migration", Blocker, 4;
    /// Not JSON.
    InvalidJson = "invalid-json", Error, 6;
    /// A key stands twice in one object.
    DuplicateKey = "duplicate-key", Error, 6;
    /// Not YAML.
    InvalidYaml = "invalid-yaml", Error, 6;
    /// YAML that cannot be edited exactly.
    UnsupportedYaml = "unsupported-yaml", Error, 6;
    /// Bytes that are no UTF-8 where text is needed.
    InvalidUtf8 = "invalid-utf8", Error, 6;
    /// The header of a Markdown file has no clear beginning or end.
    InvalidFrontmatter = "invalid-frontmatter", Error, 6;
    /// A value the schema of its version does not allow.
    SchemaViolation = "schema-violation", Error, 6;
    /// A version below 3, missing, or not an integer.
    UnsupportedVersion = "unsupported-version", Error, 6;
    /// A version newer than any this tool knows.
    NewerVersion = "newer-version", Error, 5;
    /// A limit was cut to what the new version allows.
    LimitLowered = "limit-lowered", Warning, 0;
    /// A setting that was in use exists no more.
    RetiredSetting = "retired-setting", Warning, 0;
    /// Nobody is named as lead.
    LeadUnassigned = "lead-unassigned", Warning, 0;
    /// A plan that was ready must be planned again.
    ReplanRequired = "replan-required", Warning, 0;
    /// Worktree records that live on in history only.
    HistoryOnly = "history-only", Warning, 0;
    /// Git does not confirm what a context or record needs.
    VerificationUnproven = "verification-unproven", Warning, 0;
    /// The recorded result is not in the parent branch.
    ResultNotContained = "result-not-contained", Warning, 0;
    /// A change folder that the index does not list.
    UnindexedChange = "unindexed-change", Warning, 0;
    /// An index entry without a change.
    StaleIndexEntry = "stale-index-entry", Warning, 0;
    /// An index that still carries values of its changes.
    OverfullIndex = "overfull-index", Warning, 0;
    /// The change's own value differs from the index's.
    IndexOverridden = "index-overridden", Warning, 0;
    /// A violation that was there before.
    InvalidBefore = "invalid-before", Warning, 0;
    /// An object among blockers or deviations became text.
    DeviationStringified = "deviation-stringified", Warning, 0;
    /// Nobody decided whether E2E is required.
    E2eUndecided = "e2e-undecided", Warning, 0;
    /// Archived changes, left sealed.
    SealedArchive = "sealed-archive", Note, 0;
    /// Already at or above the target.
    AlreadyCurrent = "already-current", Note, 0;
    /// A change folder without `.status.json`.
    UnmanagedFolder = "unmanaged-folder", Note, 0;
    /// A parent plan, which is not upgraded.
    ParentPlanNotUpgraded = "parent-plan-not-upgraded", Note, 0;
    /// A planned record that nobody began.
    NeverStarted = "never-started", Note, 0;
    /// A branch whose commits are all in the parent.
    LeftoverBranch = "leftover-branch", Note, 0;
    /// A worktree that is none of our business.
    OtherWorktree = "other-worktree", Note, 0;
    /// A file that git ignores.
    NotUnderVersionControl = "not-under-version-control", Note, 0;
}

impl Code {
    /// The code with this text.
    pub fn parse(text: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|c| c.as_str() == text)
    }

    /// A write guard stops only the real run (contract.md §7).
    pub fn is_guard(self) -> bool {
        matches!(
            self,
            Code::UncommittedChanges
                | Code::OperationInProgress
                | Code::ReaderTooOld
                | Code::PendingRuntimeMigration
        )
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.as_str())
    }
}

/// Whom a finding concerns: what `--partial` may leave aside because of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The whole repository (also config and the index as a whole).
    Repository,
    /// One change; `--partial` leaves it as it is and does the rest.
    Change(String),
}

/// Where in which file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// Path relative to the git top level, or to the project root without git; POSIX separators.
    pub file: String,
    /// 1-based line, when a line is known.
    pub line: Option<usize>,
    /// 1-based column in characters, when a line is known.
    pub column: Option<usize>,
    /// JSON Pointer into the file's value, `frontmatter` keys included; `None` for the file itself.
    pub pointer: Option<String>,
}

impl Place {
    /// A whole file.
    pub fn file(file: impl Into<String>) -> Place {
        Place { file: file.into(), line: None, column: None, pointer: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ":{line}:{column}")?;
        }
        Ok(())
    }
}

/// One thing found: what, where, whose, and what to type next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The stable code.
    pub code: Code,
    /// Whom it concerns.
    pub scope: Scope,
    /// Where it is; `None` when it is about the repository as such.
    pub place: Option<Place>,
    /// What happened, as a sentence fragment in lower case.
    pub message: String,
    /// Who must act (blockers).
    pub owners: Vec<String>,
    /// Commands or lines to type next, exact and working while blocked.
    pub next: Vec<String>,
}

impl Finding {
    /// A finding without owner or next command.
    pub fn new(code: Code, scope: Scope, place: Option<Place>, message: impl Into<String>) -> Finding {
        Finding { code, scope, place, message: message.into(), owners: Vec::new(), next: Vec::new() }
    }

    /// The same finding with a further owner (empty and known names are left out).
    pub fn owner(mut self, owner: impl Into<String>) -> Finding {
        let owner = owner.into();
        if !owner.is_empty() && !self.owners.contains(&owner) {
            self.owners.push(owner);
        }
        self
    }

    /// The same finding with a further next command.
    pub fn next(mut self, command: impl Into<String>) -> Finding {
        self.next.push(command.into());
        self
    }

    /// Whether this finding keeps its change, or everything, from being written by a plan.
    /// Write guards do not: they stop only the real run.
    pub fn stops(&self) -> bool {
        matches!(self.code.severity(), Severity::Error | Severity::Blocker) && !self.code.is_guard()
    }
}
