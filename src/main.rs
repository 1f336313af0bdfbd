//! The command: reads the command line, runs it, prints what came of it, ends with its code.

mod progress;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use specdev_migrate::apply::Stop;
use specdev_migrate::cli::{Cli, Color};
use specdev_migrate::commands::{self, Outcome, Surroundings};
use specdev_migrate::error::{Error, Kind};
use specdev_migrate::render::json;

use progress::Progress;

/// A run makes many small values in several threads and lets them go soon.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let stop = Stop::at_once();
    listen(&stop);
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

/// Let signals end the process at once while nothing is under way; during a run the first is a request
/// and only the second ends it, and what that leaves can be recovered.
fn listen(stop: &Stop) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::flag;
    use signal_hook::iterator::Signals;
    let ignored = ignored_signals();
    let all = [(SIGINT, Kind::Interrupted), (SIGTERM, Kind::Terminated), (SIGHUP, Kind::Terminated)];
    // Whoever started us under nohup, or in the background, meant it.
    let heard = all.into_iter().filter(|(signal, _)| ignored >> (signal - 1) & 1 == 0);
    for (signal, code) in heard.clone() {
        // In this order: what the signal is judged by is what was asked before it.
        let _ = flag::register_conditional_shutdown(signal, code.exit().into(), stop.ends_at_once());
        let _ = flag::register(signal, stop.ends_at_once());
        let _ = flag::register_usize(signal, stop.flag(), signal.unsigned_abs() as usize);
    }
    if let Ok(mut signals) = Signals::new(heard.map(|(signal, _)| signal)) {
        // The first that does not end the process comes while something is under way.
        std::thread::spawn(move || {
            for _ in signals.forever().take(1) {
                let _ = writeln!(io::stderr(), "{STOPPING}");
            }
        });
    }
}

const STOPPING: &str = "stopping as soon as everything is old or everything is new; a second signal ends this at once, \
                        and then `specdev-migrate recover` has to finish it";

/// The signals that are ignored from the start, one bit each; none where the system does not tell.
#[expect(clippy::disallowed_methods, reason = "the kernel's account of this process, no file of anybody's")]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Print both streams; what cannot be printed decides the code unless the run itself failed.
fn print(outcome: &Outcome) -> u8 {
    let mut err = io::stderr().lock();
    // Nobody is left to be told when this fails.
    let _ = err.write_all(&outcome.stderr).and_then(|()| err.flush());
    let mut out = io::stdout().lock();
    let printed = out
        .write_all(&outcome.stdout)
        .and_then(|()| outcome.patch.pieces().try_for_each(|piece| out.write_all(&piece)));
    match printed.and_then(|()| out.flush()) {
        Ok(()) => outcome.code,
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Kind::ClosedOutput.exit(),
        Err(e) => {
            let code = outcome.code;
            // Code 1 says that nothing changed.
            let failed = if outcome.changed { Kind::ClosedOutput } else { Kind::Failed };
            let _ = writeln!(
                err,
                "error: cannot write to standard output: {e}; the run itself ended with {code}"
            );
            if code == 0 { failed.exit() } else { code }
        }
    }
}

/// A fault of the command line, or help and version.
fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let is_help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let outcome = if is_help {
        Outcome { stdout: text.into_bytes(), stderr: Vec::new(), code: 0, ..Outcome::default() }
    } else {
        // What could be read of the command line may still ask for a document.
        let stdout = if wants_json() {
            let message = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            json::failure("upgrade", &Error::new(Kind::Usage, message).hint("specdev-migrate --help"))
        } else {
            Vec::new()
        };
        Outcome { stdout, stderr: text.into_bytes(), code: Kind::Usage.exit(), ..Outcome::default() }
    };
    ExitCode::from(print(&outcome))
}

/// Progress is for people at a terminal.
fn shows_progress(cli: &Cli) -> bool {
    let is_quiet = cli.command.is_none() && cli.upgrade.report.quiet;
    !is_quiet && io::stderr().is_terminal() && env("TERM").is_none_or(|t| t != "dumb")
}

fn wants_json() -> bool {
    let args: Vec<_> = std::env::args_os().collect();
    args.iter().any(|arg| arg == "--format=json")
        || args.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json")
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
