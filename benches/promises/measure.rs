//! Running two sides turn by turn, and telling how they compare.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::tree::{self, Options};

pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The program under test.
pub(crate) const TOOL: &str = env!("CARGO_BIN_EXE_specdev-migrate");

/// How often each side runs; `ROUNDS` sets another number.
pub(crate) fn rounds() -> usize {
    std::env::var("ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(7)
}

/// An empty folder on the disk that the build folder is on.
pub(crate) fn scratch(name: &str) -> io::Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("promises").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// A generated repository in an empty folder.
pub(crate) fn repository(name: &str, options: &Options) -> io::Result<PathBuf> {
    let root = scratch(name)?;
    tree::generate(&root, options)?;
    Ok(root)
}

/// The tool over a repository, silent.
pub(crate) fn tool(args: &[&str], root: &Path) -> Command {
    let mut command = Command::new(TOOL);
    command.args(args).arg(root);
    quiet(command)
}

/// git in a folder, silent; no shell is started for it.
pub(crate) fn git(args: &[&str], folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.args(args).current_dir(folder);
    quiet(command)
}

/// A shell command in a folder, silent.
pub(crate) fn shell(script: &str, folder: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(folder);
    quiet(command)
}

fn quiet(mut command: Command) -> Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Run to the end, which must be a success.
pub(crate) fn run(mut command: Command) -> io::Result<Duration> {
    let start = Instant::now();
    let status = command.status()?;
    let time = start.elapsed();
    if status.success() {
        Ok(time)
    } else {
        Err(io::Error::other(format!("{command:?} ended with {status}")))
    }
}

/// The medians of two sides that take turns, after one turn each that does not count. `before` is done
/// in front of every run of a side and is not measured.
pub(crate) fn turns(
    rounds: usize,
    mut before: impl FnMut(usize) -> io::Result<()>,
    sides: [&dyn Fn() -> Command; 2],
) -> io::Result<[Duration; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for (n, side) in sides.iter().enumerate() {
            before(n)?;
            let time = run(side())?;
            if round > 0 {
                times[n].push(time);
            }
        }
    }
    Ok(times.map(median))
}

/// The middle one.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// One line: what was measured, both sides, their ratio and the promise.
pub(crate) fn tell(what: &str, tool: Duration, floor: (&str, Duration), limit: f64) {
    let ratio = tool.as_secs_f64() / floor.1.as_secs_f64();
    let (tool, floor_time) = (shown(tool), shown(floor.1));
    println!("  {what}: {tool}; {}: {floor_time}; {}", floor.0, verdict(ratio, limit));
}

/// A ratio and whether it keeps its promise.
pub(crate) fn verdict(ratio: f64, limit: f64) -> String {
    let kept = if ratio <= limit { "kept" } else { "NOT KEPT" };
    format!("{ratio:.2}x of at most {limit}x: {kept}")
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// The files that a dry run cannot do without, for `find`: those of the changes by name, no archive, and
/// the tickets only where records of the era are judged by them.
pub(crate) fn must_read(era: tree::Era) -> String {
    let tickets = if era == tree::Era::V0_7_6 { "-o -path '*/ticket/[0-9]*.md'" } else { "" };
    format!(
        "find speculo/.speculo/specdev -path '*/archive' -prune -o -type f '(' -name config.json -o -name status.json \
         -o -name .status.json -o -name goal-plan.md -o -name README.md -o -name HISTORY.md \
         -o -path '*/evidence/T-*.md' {tickets} ')' -print0"
    )
}
