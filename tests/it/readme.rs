//! The README is true: its examples are run, its tables compared with the code, its Rust is compiled.
//!
//! `UPDATE_README=1 cargo test --test it readme` writes outputs, table and Rust example anew; read the
//! difference before committing it.

#![expect(clippy::disallowed_methods, reason = "the test runs the README's commands in folders of its own")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use clap::{CommandFactory, Parser};
use specdev_migrate::cli::Cli;
use specdev_migrate::decisions::Decisions;
use specdev_migrate::{error, explain};
use tempfile::TempDir;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const AGAIN: &str = "README.md is out of date; UPDATE_README=1 cargo test --test it readme";

#[test]
fn what_is_generated_is_up_to_date() {
    let path = Path::new(ROOT).join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let fresh = example(&table(&transcripts(&readme)));
    let is_updating = std::env::var_os("UPDATE_README").is_some() && std::env::var_os("CI").is_none();
    if is_updating && fresh != readme {
        fs::write(&path, &fresh).unwrap();
        return;
    }
    for (is, should) in readme.lines().zip(fresh.lines()) {
        assert_eq!(is, should, "{AGAIN}");
    }
    assert_eq!(readme, fresh, "{AGAIN}");
}

#[test]
fn the_transcripts_are_run() {
    let readme = readme();
    let commands = fences(&readme, "console").concat().matches("$ specdev-migrate").count();
    assert!(commands >= 7, "{commands}");
    assert_eq!(readme.matches("<!-- demo: ").count(), 2);
}

#[test]
fn commands_are_accepted_by_the_command_line() {
    let text = readme();
    let shell = fences(&text, "sh").concat();
    let spans = text.split('`').skip(1).step_by(2).filter(|s| !s.contains('\n') && !s.contains('…'));
    let mut seen = 0;
    for line in shell.lines().chain(spans) {
        let call = line.split([';', '|', '>', '#']).next().unwrap().trim();
        if call == "specdev-migrate" || !call.starts_with("specdev-migrate ") {
            continue;
        }
        let cli = Cli::try_parse_from(call.split_whitespace());
        assert!(cli.is_ok(), "{call}: {}", cli.err().unwrap());
        seen += 1;
    }
    assert!(seen >= 5, "{seen}");
}

#[test]
fn every_option_and_command_has_a_row() {
    let readme = readme();
    let command = Cli::command();
    for option in command.get_arguments().filter_map(|a| a.get_long()).filter(|l| *l != "help") {
        assert!(readme.contains(&format!("`--{option}")), "no row for --{option}");
    }
    for row in readme.lines().filter_map(|l| l.strip_prefix("| `-")) {
        let long = row.split("--").last().unwrap().split(['`', ' ']).next().unwrap().trim_start_matches('-');
        assert!(command.get_arguments().any(|a| a.get_long() == Some(long)), "no option --{long}");
    }
    for sub in command.get_subcommands() {
        assert!(readme.contains(&format!("\n| `{}", sub.get_name())), "no row for {}", sub.get_name());
    }
}

#[test]
fn every_exit_code_has_a_row() {
    use error::Kind::*;
    let kinds = [
        Failed,
        Usage,
        Pending,
        Blocked,
        Newer,
        Invalid,
        Locked,
        Changed,
        Recovery,
        Interrupted,
        Terminated,
        ClosedOutput,
    ];
    let code: BTreeSet<u8> = kinds.iter().map(|k| k.exit()).chain([0]).collect();
    let readme = readme();
    let rows = readme.split("| exit | meaning |\n").nth(1).unwrap().lines().skip(1);
    let cells = rows.map_while(|l| l.strip_prefix("| ")).filter_map(|l| l.split(" |").next());
    let told: BTreeSet<u8> = cells.flat_map(|c| c.split(", ")).map(|c| c.parse().unwrap()).collect();
    assert_eq!(told, code);
}

#[test]
fn the_decisions_file_can_be_read() {
    for yaml in fences(&readme(), "yaml") {
        let read = Decisions::parse("decisions.yaml", yaml.as_bytes());
        assert!(read.is_ok(), "{read:?}\n{yaml}");
    }
}

#[test]
fn links_lead_somewhere() {
    for file in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "migrations/README.md"] {
        let path = Path::new(ROOT).join(file);
        let text = fs::read_to_string(&path).unwrap();
        let mut targets = text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap());
        assert!(targets.clone().count() > 0, "{file}");
        assert!(
            targets.all(|to| {
                let to = to.split('#').next().unwrap();
                let is_there = to.is_empty() || to.contains("://") || path.with_file_name(to).exists();
                assert!(is_there, "{file}: {to}");
                is_there
            }),
            "{file}"
        );
    }
}

#[test]
fn every_step_stands_in_the_changelog() {
    let text = fs::read_to_string(Path::new(ROOT).join("CHANGELOG.md")).unwrap();
    let migrations: String =
        text.split("### Migrations\n").skip(1).map(|t| t.split("\n## ").next().unwrap()).collect();
    for step in specdev_migrate::migrations::CHAIN {
        assert!(migrations.contains(&format!("`{}`", step.name)), "{}", step.name);
    }
}

#[test]
fn the_example_for_rust_works() {
    let demo = Demo::new("login");
    let files = example::call(demo.folder.path()).unwrap();
    assert_eq!(
        files,
        [
            "speculo/.speculo/specdev/HISTORY.md",
            "speculo/.speculo/specdev/changes/2026-08-01-login/.status.json",
            "speculo/.speculo/specdev/changes/2026-08-01-login/HISTORY.md",
            "speculo/.speculo/specdev/changes/2026-08-01-login/goal-plan.md",
            "speculo/.speculo/specdev/config.json",
            "speculo/.speculo/specdev/status.json",
        ]
    );
}

// What stands in the README between the two marks is what is compiled here.
#[rustfmt::skip]
mod example {
// example: begin
use std::path::Path;

use specdev_migrate::decisions::Decisions;
use specdev_migrate::error::Result;
use specdev_migrate::migrations::NEWEST;
use specdev_migrate::plan::{Request, plan};
use specdev_migrate::state::layout::{Discovery, Layout};
use specdev_migrate::state::tree::Tree;
use specdev_migrate::verify::verify;

/// The files that an upgrade to the newest release would write; git is not asked.
fn pending(project: &Path) -> Result<Vec<String>> {
    let Discovery::Found(layout) = Layout::discover(project, None)? else {
        return Ok(Vec::new()); // a link or a path out of the project
    };
    let tree = Tree::read(&layout)?;
    let decisions = Decisions::default();
    let request =
        Request { tree: &tree, release: NEWEST, decisions: &decisions, partial: false, facts: None, account: false };
    let verified = verify(request, plan(request)?)?;
    Ok(verified.files().iter().map(|file| layout.shown(&file.path)).collect())
}
// example: end

pub(super) fn call(project: &Path) -> Result<Vec<String>> {
    pending(project)
}
}

fn readme() -> String {
    fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap()
}

/// The texts of all fences with this info string.
fn fences(text: &str, info: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut is_open = false;
    let mut is_ours = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_open = !is_open;
            is_ours = is_open && line == format!("```{info}");
            out.extend(is_ours.then(String::new));
        } else if is_ours && let Some(last) = out.last_mut() {
            *last += line;
            last.push('\n');
        }
    }
    out
}

/// The README with every transcript made anew.
fn transcripts(readme: &str) -> String {
    let mut demo: Option<Demo> = None;
    let mut out = String::new();
    let mut is_console = false;
    for line in readme.lines() {
        if let Some(name) = line.strip_prefix("<!-- demo: ").and_then(|l| l.strip_suffix(" -->")) {
            demo = Some(Demo::new(name));
        }
        if line.starts_with("```") {
            is_console = line == "```console";
        }
        match line.strip_prefix("$ ").filter(|_| is_console) {
            Some(command) => {
                let answer = demo.as_mut().expect("a demo stands before its transcript").run(command);
                out += &format!("{line}\n{answer}");
            }
            // What an earlier run answered.
            None if is_console && line != "```console" => {}
            None => out += &format!("{line}\n"),
        }
    }
    out
}

/// The README with the table of findings made anew.
fn table(readme: &str) -> String {
    between(readme, "<!-- findings: begin -->\n", "<!-- findings: end -->", &explain::table())
}

/// The README with the Rust example made anew.
fn example(readme: &str) -> String {
    let source = include_str!("readme.rs");
    let code = source.split("// example: begin\n").nth(1).unwrap().split("// example: end\n").next().unwrap();
    between(readme, "```rust\n", "```\n", code)
}

fn between(text: &str, begin: &str, end: &str, new: &str) -> String {
    let (before, rest) = text.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    format!("{before}{begin}{new}{end}{after}")
}

/// A project of `fixtures/readme/`, as the README says to set it up.
struct Demo {
    folder: TempDir,
    home: TempDir,
    status: i32,
}

impl Demo {
    fn new(name: &str) -> Demo {
        let folder = tempfile::tempdir().unwrap();
        copy(&Path::new(ROOT).join("fixtures/readme").join(name), folder.path());
        let mut demo = Demo { folder, home: tempfile::tempdir().unwrap(), status: 0 };
        let answer = demo.run("git init -q -b main && git add -A && git commit -q -m Start");
        assert_eq!((answer.as_str(), demo.status), ("", 0));
        demo
    }

    /// Both streams of a command, as a terminal shows them.
    fn run(&mut self, command: &str) -> String {
        // The shell of a transcript knows how the command before ended, and `/tmp` is not ours alone.
        let script = format!("(exit {}); {}", self.status, command.replace("/tmp/", "\"$HOME\"/"));
        let tool = Path::new(env!("CARGO_BIN_EXE_specdev-migrate")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; {script}")])
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", format!("{}:{path}", tool.display()))
            .env("HOME", self.home.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@example.invalid")])
            .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@example.invalid")])
            .output()
            .unwrap();
        self.status = output.status.code().unwrap_or(1);
        String::from_utf8(output.stdout).unwrap()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}
