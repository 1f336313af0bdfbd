//! One file per subcommand. A command reads, plans, maybe applies, and returns what to print; printing and
//! the end of the process are the binary's.

pub mod decisions;
pub mod explain;
pub mod history;
pub mod recover;
pub mod restore;
pub mod session;
pub mod status;
pub mod steps;
pub mod upgrade;
pub mod validate;

use crate::apply::Stop;
use crate::cli::{Cli, Command, Format, HistoryCommand, Place};
use crate::render;
use crate::render::patch::Patch;

/// What a command came to: bytes for both streams and the exit code.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// For standard output.
    pub stdout: Vec<u8>,
    /// For standard output, behind `stdout`.
    pub patch: Patch,
    /// For standard error.
    pub stderr: Vec<u8>,
    /// The exit code (contract.md §7).
    pub code: u8,
    /// Whether files of the state were changed.
    pub changed: bool,
}

/// What a command may know of its surroundings.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Whether colour may be used on standard output.
    pub color_out: bool,
    /// Whether colour may be used on standard error.
    pub color_err: bool,
    /// A request to stop, set by a signal handler.
    pub stop: Stop,
}

/// Run the command line.
pub fn run(cli: &Cli, around: &Surroundings) -> Outcome {
    let result = match &cli.command {
        None => upgrade::run(&cli.upgrade, around),
        Some(Command::Status(args)) => status::run(args, around),
        Some(Command::Validate(args)) => validate::run(args, around),
        Some(Command::Decisions(args)) => {
            decisions::run(args).map(|outcome| wrapped(outcome, args.report.format))
        }
        Some(Command::History(args)) => match &args.command {
            HistoryCommand::List { place, report } => history::list(place, report),
            HistoryCommand::Show { id, trace, place, report } => {
                history::show(id.as_deref(), trace.as_deref(), place, report)
            }
            HistoryCommand::Verify { place, report } => history::verify(place, report),
        },
        Some(Command::Restore(args)) => restore::run(args, around),
        Some(Command::Recover(args)) => recover::run(args, around),
        Some(Command::Explain(args)) => explain::run(args, around),
        Some(Command::Steps(args)) => steps::run(args),
        Some(Command::Completions { shell }) => Ok(completions(*shell)),
    };
    result.unwrap_or_else(|mut error| {
        let place = place_of(cli).map(Place::words).unwrap_or_default();
        error.hints.iter_mut().for_each(|hint| *hint = render::aimed(hint, &place));
        error.hints.extend(meant(cli));
        let stderr = render::human::failure(&error, around.color_err).into_bytes();
        let stdout = match format_of(cli) {
            Format::Human => Vec::new(),
            Format::Json => render::json::failure(name_of(cli), &error),
        };
        Outcome { stdout, stderr, code: error.kind.exit(), ..Outcome::default() }
    })
}

/// A path that is not there may be a command that was mistyped.
fn meant(cli: &Cli) -> Option<String> {
    let path = cli.command.is_none().then_some(&cli.upgrade.place.path)?;
    let name = path.to_str().filter(|name| !name.contains('/') && !path.exists())?;
    let command = <Cli as clap::CommandFactory>::command();
    let known = crate::explain::nearest_of(name, command.get_subcommands().map(clap::Command::get_name))?;
    Some(format!("specdev-migrate {known}"))
}

/// The name of a command as its documents call it.
fn name_of(cli: &Cli) -> &'static str {
    match &cli.command {
        None => "upgrade",
        Some(Command::Status(_)) => "status",
        Some(Command::Validate(_)) => "validate",
        Some(Command::Decisions(_)) => "decisions",
        Some(Command::History(args)) => match &args.command {
            HistoryCommand::List { .. } => "history list",
            HistoryCommand::Show { .. } => "history show",
            HistoryCommand::Verify { .. } => "history verify",
        },
        Some(Command::Restore(_)) => "restore",
        Some(Command::Recover(_)) => "recover",
        Some(Command::Explain(_)) => "explain",
        Some(Command::Steps(_)) => "steps",
        Some(Command::Completions { .. }) => "completions",
    }
}

fn place_of(cli: &Cli) -> Option<&Place> {
    match &cli.command {
        None => Some(&cli.upgrade.place),
        Some(Command::Status(args) | Command::Decisions(args)) => Some(&args.place),
        Some(Command::Validate(args)) => Some(&args.place),
        Some(Command::History(args)) => match &args.command {
            HistoryCommand::List { place, .. }
            | HistoryCommand::Show { place, .. }
            | HistoryCommand::Verify { place, .. } => Some(place),
        },
        Some(Command::Restore(args)) => Some(&args.place),
        Some(Command::Recover(args)) => Some(&args.place),
        Some(Command::Explain(_) | Command::Steps(_) | Command::Completions { .. }) => None,
    }
}

/// The decisions file is YAML; who wants a document gets it as one text.
fn wrapped(outcome: Outcome, format: Format) -> Outcome {
    if format == Format::Human {
        return outcome;
    }
    let text = String::from_utf8_lossy(&outcome.stdout);
    let members = serde_json::json!({"decisions": {"text": text}});
    Outcome { stdout: render::json::document("decisions", outcome.code, members), ..outcome }
}

fn format_of(cli: &Cli) -> Format {
    match &cli.command {
        None => cli.upgrade.report.format,
        Some(Command::Status(a) | Command::Decisions(a)) => a.report.format,
        Some(Command::Validate(a)) if a.format == crate::cli::ValidateFormat::Json => Format::Json,
        Some(Command::History(a)) => match &a.command {
            HistoryCommand::List { report, .. }
            | HistoryCommand::Show { report, .. }
            | HistoryCommand::Verify { report, .. } => report.format,
        },
        Some(Command::Restore(a)) => a.report.format,
        Some(Command::Recover(a)) => a.report.format,
        Some(Command::Steps(a)) => a.report.format,
        _ => Format::Human,
    }
}

fn completions(shell: clap_complete::Shell) -> Outcome {
    let mut command = <Cli as clap::CommandFactory>::command();
    let mut stdout = Vec::new();
    clap_complete::generate(shell, &mut command, "specdev-migrate", &mut stdout);
    Outcome { stdout, ..Outcome::default() }
}
