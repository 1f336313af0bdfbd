//! The command: reads the command line, runs it, prints what came of it, ends with its code.

mod progress;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Parser;
use clap::error::ErrorKind;
use specdev_migrate::apply::Stop;
use specdev_migrate::cli::{Cli, Color};
use specdev_migrate::commands::{self, Outcome, Surroundings};

use progress::Progress;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let stop = Stop::new();
    let again = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // The second signal ends the process at once; what it leaves can be recovered.
        let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&again));
        let _ = signal_hook::flag::register(signal, Arc::clone(&again));
        let _ = signal_hook::flag::register_usize(signal, stop.flag(), signal.unsigned_abs() as usize);
    }
    let choice = color(&cli);
    let around = Surroundings {
        color_out: allows(choice, &io::stdout()),
        color_err: allows(choice, &io::stderr()),
        stop,
    };
    let progress = Progress::start(shows_progress(&cli));
    let outcome = commands::run(&cli, &around);
    drop(progress);
    ExitCode::from(print(&outcome))
}

/// Print both streams; what cannot be printed decides the code unless the run itself failed.
fn print(outcome: &Outcome) -> u8 {
    let mut err = io::stderr().lock();
    // Nobody is left to be told when this fails.
    let _ = err.write_all(&outcome.stderr).and_then(|()| err.flush());
    let mut out = io::stdout().lock();
    match out.write_all(&outcome.stdout).and_then(|()| out.flush()) {
        Ok(()) => outcome.code,
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => 141,
        Err(e) => {
            let _ = writeln!(err, "error: cannot write to standard output: {e}");
            if outcome.code == 0 { 1 } else { outcome.code }
        }
    }
}

/// A fault of the command line, or help and version.
fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render();
    let is_help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let outcome = if is_help {
        Outcome { stdout: text.to_string().into_bytes(), stderr: Vec::new(), code: 0 }
    } else {
        Outcome { stdout: Vec::new(), stderr: text.to_string().into_bytes(), code: 2 }
    };
    ExitCode::from(print(&outcome))
}

/// Progress is for people at a terminal.
fn shows_progress(cli: &Cli) -> bool {
    let is_quiet = cli.command.is_none() && cli.upgrade.report.quiet;
    !is_quiet && io::stderr().is_terminal() && env("TERM").is_none_or(|t| t != "dumb")
}

fn color(cli: &Cli) -> Color {
    use specdev_migrate::cli::{Command, HistoryCommand};
    match &cli.command {
        None => cli.upgrade.report.color,
        Some(Command::Status(a) | Command::Decisions(a)) => a.report.color,
        Some(Command::Validate(a)) => a.color,
        Some(Command::History(a)) => match &a.command {
            HistoryCommand::List { report, .. }
            | HistoryCommand::Show { report, .. }
            | HistoryCommand::Verify { report, .. } => report.color,
        },
        Some(Command::Restore(a)) => a.report.color,
        Some(Command::Recover(a)) => a.report.color,
        Some(Command::Explain(a)) => a.color,
        Some(Command::Steps(a)) => a.report.color,
        Some(Command::Completions { .. }) => Color::Never,
    }
}

/// Colour on a terminal, unless the environment or the user says otherwise.
fn allows(choice: Color, stream: &impl IsTerminal) -> bool {
    match choice {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let set = |name: &str| env(name).is_some_and(|v| !v.is_empty());
            stream.is_terminal() && !set("NO_COLOR") && env("TERM").is_none_or(|t| t != "dumb")
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the environment is read here")]
fn env(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}
