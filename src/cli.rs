//! The command line (contract.md §7), as types.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Upgrade the SpecDev workflow state of a repository, losslessly and reversibly.
#[derive(Debug, Parser)]
#[command(
    name = "specdev-migrate",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_precedence_over_arg = true,
    disable_help_subcommand = true,
    disable_help_flag = true,
    after_help = "Examples:
  specdev-migrate --dry-run | less           see the patch; nothing is written
  specdev-migrate                            upgrade in place, all or nothing
  specdev-migrate --partial                  leave blocked changes as they are
  specdev-migrate decisions > decisions.yaml the owner's answers, pre-filled
  specdev-migrate restore                    put the newest run back
  specdev-migrate explain active-worktree    what a code means, what to do

Exit codes: 0 done, 1 failed, 2 usage, 3 pending, 4 blocked, 5 newer data, 6 invalid,
  7 locked, 8 changed meanwhile, 9 recovery needed, 130/143 signals, 141 closed stdout"
)]
pub struct Cli {
    /// Another job than upgrading.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The upgrade.
    #[command(flatten)]
    pub upgrade: Upgrade,
    /// Print help
    // One screen, however it is asked for.
    #[arg(short, long, action = clap::ArgAction::HelpShort, global = true)]
    pub help: Option<bool>,
}

/// Where the state is.
#[derive(Debug, Clone, Args)]
pub struct Place {
    /// Project root, any folder inside it, or the state root
    #[arg(default_value = ".")]
    pub path: PathBuf,
    /// The state root (the folder that holds specdev/)
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
}

impl Place {
    /// What a command of ours needs behind it to reach the same place from the same folder; empty where
    /// it needs nothing.
    pub fn words(&self) -> String {
        let mut out = String::new();
        if let Some(state) = &self.state {
            out += &format!(" --state {}", word(&state.to_string_lossy()));
        }
        if self.path.as_os_str() != "." {
            out += &format!(" {}", word(&self.path.to_string_lossy()));
        }
        out
    }
}

/// A word for the shell, in quotes only where it needs them.
pub(crate) fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        return text.to_string();
    }
    let text = if text.starts_with('-') { format!("./{text}") } else { text.to_string() };
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// How to report.
#[derive(Debug, Clone, Args)]
pub struct Report {
    /// Text for people, or one JSON document
    #[arg(long, value_enum, default_value_t = Format::Human, value_name = "FORMAT")]
    pub format: Format,
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    /// Say only what stops the run
    #[arg(short, long)]
    pub quiet: bool,
}

/// What a plan is made from, beside the state.
#[derive(Debug, Clone, Args)]
pub struct Goal {
    /// Release to upgrade to: 0.7.3 or 2.0.6 [default: 2.0.6]
    #[arg(long, value_name = "RELEASE")]
    pub to: Option<String>,
    /// The owner's answers (see `specdev-migrate decisions`)
    #[arg(long, value_name = "FILE")]
    pub decisions: Option<PathBuf>,
    /// Do not ask git: open records block, no context is written
    #[arg(long)]
    pub no_git: bool,
}

/// Upgrade in place.
#[derive(Debug, Clone, Args)]
pub struct Upgrade {
    /// Where.
    #[command(flatten)]
    pub place: Place,
    /// What for.
    #[command(flatten)]
    pub goal: Goal,
    /// Print the patch and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Exit 3 when something is pending; no patch
    #[arg(long, conflicts_with = "dry_run")]
    pub check: bool,
    /// Leave blocked or faulty changes as they are, do the rest
    #[arg(long)]
    pub partial: bool,
    /// Write although files differ from HEAD
    #[arg(long)]
    pub allow_dirty: bool,
    /// Write the patch to a file as well
    #[arg(long, value_name = "FILE")]
    pub patch: Option<PathBuf>,
    /// How to report.
    #[command(flatten)]
    pub report: Report,
}

/// Other jobs.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Versions on disk, targets, pending steps, blockers
    Status(Look),
    /// Check the state as it stands against one release
    Validate(Validate),
    /// Print a decisions file, pre-filled from git
    Decisions(Look),
    /// What earlier runs kept
    History(History),
    /// Put the newest run, or the named one, back
    Restore(Restore),
    /// Finish or undo an interrupted run
    Recover(Recover),
    /// What a finding code or a step means
    Explain(Explain),
    /// The steps of the chain
    Steps(Steps),
    /// Completions for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

/// Looking without writing.
#[derive(Debug, Clone, Args)]
pub struct Look {
    /// Where.
    #[command(flatten)]
    pub place: Place,
    /// What for.
    #[command(flatten)]
    pub goal: Goal,
    /// How to report.
    #[command(flatten)]
    pub report: Report,
}

/// Validation.
#[derive(Debug, Clone, Args)]
pub struct Validate {
    /// Where.
    #[command(flatten)]
    pub place: Place,
    /// Release to check against [default: 2.0.6 with version 8 plans or contexts, else 0.7.3]
    #[arg(long, value_name = "RELEASE")]
    pub to: Option<String>,
    /// Also the rules of a stage
    #[arg(long, value_enum, value_name = "STAGE")]
    pub stage: Option<Stage>,
    /// Count what an older template left
    #[arg(long)]
    pub strict: bool,
    /// Text, one JSON document, or GitHub annotations
    #[arg(long, value_enum, default_value_t = ValidateFormat::Human, value_name = "FORMAT")]
    pub format: ValidateFormat,
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
    /// Say nothing but the findings
    #[arg(short, long)]
    pub quiet: bool,
}

/// A stage of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// While tickets are implemented.
    Implement,
    /// When everything is done.
    Complete,
}

/// Formats of `validate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ValidateFormat {
    /// For people.
    Human,
    /// One JSON document.
    Json,
    /// GitHub workflow annotations.
    Github,
}

/// History.
#[derive(Debug, Clone, Args)]
pub struct History {
    /// What to do with it.
    #[command(subcommand)]
    pub command: HistoryCommand,
}

/// What to do with history.
#[derive(Debug, Clone, Subcommand)]
pub enum HistoryCommand {
    /// Runs and entries
    List {
        /// Where.
        #[command(flatten)]
        place: Place,
        /// How to report.
        #[command(flatten)]
        report: Report,
    },
    /// The old bytes of an entry, or what became of one value
    Show {
        /// Id of an entry (see `history list`)
        #[arg(required_unless_present = "trace")]
        id: Option<String>,
        /// `FILE#POINTER`, the file below specdev/: where an old value went, where a new one came from
        #[arg(long, value_name = "POINTER")]
        trace: Option<String>,
        /// Where.
        #[command(flatten)]
        place: Place,
        /// How to report.
        #[command(flatten)]
        report: Report,
    },
    /// Check every entry against its digest
    Verify {
        /// Where.
        #[command(flatten)]
        place: Place,
        /// How to report.
        #[command(flatten)]
        report: Report,
    },
}

/// Restoring.
#[derive(Debug, Clone, Args)]
pub struct Restore {
    /// Where.
    #[command(flatten)]
    pub place: Place,
    /// Id of the run [default: the newest]
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,
    /// Print the patch and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// How to report.
    #[command(flatten)]
    pub report: Report,
}

/// Recovering.
#[derive(Debug, Clone, Args)]
pub struct Recover {
    /// Where.
    #[command(flatten)]
    pub place: Place,
    /// How to report.
    #[command(flatten)]
    pub report: Report,
}

/// Explaining.
#[derive(Debug, Clone, Args)]
pub struct Explain {
    /// A finding code or a step
    pub name: String,
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
}

/// Listing steps.
#[derive(Debug, Clone, Args)]
pub struct Steps {
    /// How to report.
    #[command(flatten)]
    pub report: Report,
}

/// Report formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Human,
    /// One JSON document.
    Json,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless the environment says no.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
