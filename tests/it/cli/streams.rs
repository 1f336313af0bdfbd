//! What comes out where: readers that go away, full devices, closed streams, colour, one JSON document.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{ALPHA, BIN, Project, Ran, clean, command, different, has, plan};

/// A state whose patch is far larger than what a pipe holds.
fn large() -> Project {
    let project = Project::new();
    for n in 0..60 {
        let name = format!("2026-02-01-change-{n}");
        let text = super::status(&name).replace("\"deviations\": []", &long_deviations(n));
        project.write(&format!("changes/{name}/.status.json"), text);
        project.write(&format!("changes/{name}/goal-plan.md"), plan(&name));
    }
    project.commit();
    project
}

fn long_deviations(n: usize) -> String {
    let all: Vec<String> = (0..20).map(|i| format!("\"deviation {n} {i} {}\"", "x".repeat(100))).collect();
    format!("\"deviations\": [{}]", all.join(", "))
}

fn shell(project: &Project, script: &str) -> Ran {
    let mut command = Command::new("bash");
    command.args(["-c", script, BIN]);
    clean(&mut command, &project.root);
    Ran::of(&mut command)
}

// ---- readers that go away ---------------------------------------------------------------------------

#[test]
fn preview_whose_reader_goes_away() {
    let project = large();
    assert!(project.done(&["--dry-run"]).stdout.len() > 200 * 1024);
    let before = project.snapshot();
    let mut command = project.command(&["--dry-run"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert!(line.starts_with("diff --git "), "{line}");
    drop(reader);
    let ran = Ran::from(child.wait_with_output().unwrap(), Default::default());
    assert_eq!(ran.code, Some(141), "{ran}");
    super::assert_same(&before, &project.snapshot());
}

#[test]
fn preview_into_head() {
    let project = large();
    let ran = shell(&project, "\"$0\" --dry-run | head -n1; echo \"${PIPESTATUS[0]}\"");
    let lines: Vec<&str> = ran.text().lines().collect();
    assert_eq!(lines.len(), 2, "{ran}");
    assert_eq!(lines[1], "141", "{ran}");
    assert!(!ran.stderr.contains("panic") && !ran.stderr.contains("Broken pipe"), "{ran}");
}

#[test]
fn run_whose_reader_goes_away_is_done_all_the_same() {
    let project = large();
    let mut command = project.command(&["--format", "json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = Ran::from(child.wait_with_output().unwrap(), Default::default());
    assert_eq!(ran.code, Some(141), "{ran}");
    assert_eq!(project.done(&["--check"]).code, Some(0));
}

#[test]
fn full_device() {
    let project = Project::new();
    let before = project.snapshot();
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = Ran::of(project.command(&["--dry-run"]).stdout(full()));
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stderr.contains("cannot write to standard output"), "{ran}");
    super::assert_same(&before, &project.snapshot());
    // The files are written when the report is not: the code says neither that all is well nor that
    // nothing changed.
    let old = project.state();
    let ran = Ran::of(project.command(&["--format", "json"]).stdout(full()));
    assert_eq!(ran.code, Some(141), "{ran}");
    assert!(ran.stderr.contains("cannot write to standard output"), "{ran}");
    assert!(ran.stderr.contains("wrote 8 files"), "{ran}");
    assert_eq!(project.done(&["--check"]).code, Some(0));
    let ran = Ran::of(project.command(&["restore", "--format", "json"]).stdout(full()));
    assert_eq!(ran.code, Some(141), "{ran}");
    super::assert_same(&old, &project.state());
}

#[test]
fn nothing_on_standard_output_cannot_fail() {
    let project = Project::new();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = Ran::of(project.command(&[]).stdout(full));
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(project.done(&["--check"]).code, Some(0));
}

#[test]
fn closed_and_full_standard_error() {
    for script in [
        "\"$0\" 2>&-",
        "\"$0\" 2>/dev/full",
        "\"$0\" >&- 2>&-",
        "\"$0\" --format json >&-",
        "\"$0\" <&- >&- 2>&-",
    ] {
        let project = Project::new();
        let ran = shell(&project, script);
        assert_eq!(ran.code, Some(0), "{script}: {ran}");
        assert_eq!(project.done(&["--check"]).code, Some(0), "{script}");
    }
    for script in ["\"$0\" --dry-run >&-", "\"$0\" --dry-run 2>&-", "\"$0\" --dry-run 2>/dev/full >/dev/null"]
    {
        let project = Project::new();
        let before = project.snapshot();
        let ran = shell(&project, script);
        assert_eq!(ran.code, Some(0), "{script}: {ran}");
        super::assert_same(&before, &project.snapshot());
    }
}

#[test]
fn files_are_not_written_to_a_stream_that_was_closed() {
    // With standard output closed the first file opened would get its number.
    let project = Project::new();
    let before = project.snapshot();
    assert_eq!(shell(&project, "\"$0\" --dry-run >&- 2>&-").code, Some(0));
    super::assert_same(&before, &project.snapshot());
}

// ---- colour -----------------------------------------------------------------------------------------

fn is_plain(bytes: &[u8]) -> bool {
    !bytes.iter().any(|b| *b == 0x1b || *b == b'\r')
}

/// A state that has warnings, a note and a blocker to colour.
fn colourful() -> Project {
    let project = Project::new();
    project.edit("config.json", "\"auto_commit\": false", "\"auto_commit\": true");
    project.write("archive/2025-12-01-old/.status.json", "x");
    project.commit();
    project
}

#[test]
fn no_escape_in_a_pipe() {
    let project = colourful();
    let cases: [&[(&str, &str)]; 5] = [
        &[],
        &[("CLICOLOR_FORCE", "1"), ("FORCE_COLOR", "1"), ("CLICOLOR", "1")],
        &[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")],
        &[("NO_COLOR", "")],
        &[("NO_COLOR", "1")],
    ];
    for env in cases {
        for args in [
            &["--dry-run"][..],
            &["--check"],
            &["status"],
            &["--help"],
            &["--nonsense"],
            &["explain", "symlink"],
        ] {
            let ran = Ran::of(project.command(args).envs(env.iter().copied()));
            assert!(is_plain(&ran.stdout) && is_plain(ran.stderr.as_bytes()), "{env:?} {args:?} {ran}");
        }
    }
}

#[test]
fn colour_by_option_even_in_a_pipe() {
    let project = colourful();
    let ran = Ran::of(project.command(&["--dry-run", "--color", "always"]).env("NO_COLOR", "1"));
    assert!(!is_plain(ran.stderr.as_bytes()), "{ran}");
    // A patch is a patch.
    assert!(is_plain(&ran.stdout), "{ran}");
    assert_eq!(ran.stdout, project.done(&["--dry-run"]).stdout);
}

/// On a terminal; what the terminal got, both streams in one.
fn on_terminal(project: &Project, args: &str, env: &[(&str, &str)]) -> String {
    let mut command = Command::new("script");
    let line = format!("'{BIN}' {args}");
    command.args(["-qefc", &line, "/dev/null"]);
    clean(&mut command, &project.root);
    let ran = Ran::of(command.env("TERM", "xterm").envs(env.iter().copied()));
    assert!(ran.stderr.is_empty(), "{ran}");
    String::from_utf8(ran.stdout).unwrap().replace("\r\n", "\n")
}

#[test]
fn colour_on_a_terminal_unless_the_environment_says_no() {
    if !has("script") {
        return;
    }
    let project = colourful();
    assert!(on_terminal(&project, "--check", &[]).contains("\x1b["));
    // Empty is as good as not set.
    assert!(on_terminal(&project, "--check", &[("NO_COLOR", "")]).contains("\x1b["));
    for env in [[("NO_COLOR", "1")], [("TERM", "dumb")]] {
        let text = on_terminal(&project, "--check", &env);
        assert!(is_plain(text.as_bytes()), "{env:?} {text:?}");
        assert!(text.contains("retired-setting"), "{text}");
    }
    let text = on_terminal(&project, "--check --color never", &[]);
    assert!(is_plain(text.as_bytes()), "{text:?}");
}

#[test]
fn names_cannot_draw_on_the_terminal() {
    let project = Project::new();
    project.write("changes/\x1b[31mred\rnote/.status.json", super::status(ALPHA));
    project.edit(
        &format!("changes/{ALPHA}/.status.json"),
        "\"artifact\"",
        "\"\\u001b[31mred\": 1, \"artifact\"",
    );
    let ran = project.refused(&[], 4, &["invalid-change-name", "unmapped-field"]);
    assert!(is_plain(ran.stderr.as_bytes()), "{ran}");
    for args in [&["status"][..], &["decisions"], &["validate"]] {
        let ran = project.run(args);
        assert!(is_plain(&ran.stdout) && is_plain(ran.stderr.as_bytes()), "{args:?} {ran}");
    }
}

// ---- one document -----------------------------------------------------------------------------------

#[test]
fn json_is_one_document_whatever_happens() {
    let old = Project::new();
    let refused = Project::new();
    refused.write("config.json", "{");
    let blocked = Project::new();
    blocked.edit("config.json", "\"planning\"", "\"mine\": 1, \"planning\"");
    let linked = Project::new();
    std::fs::remove_file(linked.path("status.json")).unwrap();
    std::os::unix::fs::symlink("config.json", linked.path("status.json")).unwrap();
    let nothing = Project::bare("repo", "");
    let guarded = Project::new();
    guarded.write("config.json", super::CONFIG.replace("\"en\"", "\"de\""));
    let current = Project::new();
    current.done(&[]);
    let commands: [&[&str]; 12] = [
        &["--dry-run"],
        &["--check"],
        &["--dry-run", "--to", "0.7.3"],
        &["--to", "9.9.9"],
        &["--decisions", "missing.yaml"],
        &["status"],
        &["validate"],
        &["decisions"],
        &["history", "list"],
        &["history", "show", "000000000000"],
        &["restore", "--dry-run"],
        &["steps"],
    ];
    for project in [&old, &refused, &blocked, &linked, &nothing, &guarded, &current] {
        for args in commands {
            let args = [args, &["--format", "json"]].concat();
            let ran = project.run(&args);
            document(&args, &ran);
        }
    }
    for (project, code, outcome) in [
        (&refused, 6, "stopped"),
        (&blocked, 4, "stopped"),
        (&linked, 4, "stopped"),
        (&nothing, 2, "failed"),
        (&guarded, 4, "guarded"),
        (&current, 0, "nothing-to-do"),
        (&old, 0, "written"),
    ] {
        let ran = project.run(&["--format=json"]);
        let value = document(&["run"], &ran);
        assert_eq!(ran.code, Some(code), "{ran}");
        assert_eq!(value["outcome"], outcome, "{ran}");
        // Standard error is apart, and still for people.
        assert!(!ran.stderr.is_empty(), "{ran}");
    }
    let value = document(&["restore"], &old.run(&["restore", "--format", "json"]));
    assert_eq!(value["files"].as_array().unwrap().len(), 8);
    document(&["recover"], &old.run(&["recover", "--format", "json"]));
}

#[test]
fn json_of_a_command_line_that_is_wrong() {
    let project = Project::new();
    for args in [&["--nonsense", "--format", "json"][..], &["--format=json", "--color", "pink"]] {
        let ran = project.refused(args, 2, &["error:"]);
        assert_eq!(document(args, &ran)["outcome"], "failed");
    }
}

fn document(args: &[&str], ran: &Ran) -> Value {
    let value = ran.json();
    assert_eq!(value["exit_code"], ran.code.unwrap(), "{args:?} {ran}");
    assert_eq!(value["schema_version"], 1, "{args:?}");
    let schema = specdev_migrate::render::json_schema::schema();
    let faults: Vec<String> =
        jsonschema::validator_for(&schema).unwrap().iter_errors(&value).map(|e| e.to_string()).collect();
    assert!(faults.is_empty(), "{args:?} {faults:?} {ran}");
    value
}

#[test]
fn json_with_both_streams_in_one_place_still_ends_with_the_document() {
    let project = Project::new();
    let path = project.dir.path().join("both");
    let file = File::create(&path).unwrap();
    let mut command = project.command(&["--dry-run", "--format", "json"]);
    let status = command.stdout(file.try_clone().unwrap()).stderr(file).status().unwrap();
    assert!(status.success());
    let text = std::fs::read_to_string(path).unwrap();
    let (_, document) = text.split_at(text.find("\n{\n").unwrap());
    serde_json::from_str::<Value>(document).unwrap();
}

#[test]
fn json_names_every_file_and_digest() {
    let project = Project::new();
    let before = project.snapshot();
    let value = project.done(&["--format", "json"]).json();
    let mut files: Vec<String> =
        value["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap().to_owned()).collect();
    files.iter_mut().for_each(|f| *f = format!("repo/{f}"));
    assert_eq!(files, different(&before, &project.snapshot()));
    assert_eq!(value["summary"]["files"], 8);
    assert_eq!(value["summary"]["created"], 3);
}

// ---- quiet ------------------------------------------------------------------------------------------

#[test]
fn quiet_says_only_what_stops() {
    let project = colourful();
    let ran = project.done(&["-q", "--dry-run"]);
    assert!(ran.stderr.is_empty() && !ran.stdout.is_empty(), "{ran}");
    let ran = project.run(&["--quiet", "--check"]);
    assert!(ran.stderr.is_empty() && ran.stdout.is_empty(), "{ran}");
    assert_eq!(ran.code, Some(3));
    let ran = project.done(&["-q"]);
    assert!(ran.stderr.is_empty() && ran.stdout.is_empty(), "{ran}");
    project.write("config.json", "[]");
    let ran = project.refused(&["-q"], 6, &["config.json"]);
    assert!(!ran.stderr.contains("git: saw"), "{ran}");
}

#[test]
fn started_with_signals_ignored_or_in_another_group() {
    let project = Project::new();
    let ran = Ran::of(command(&project.root, &["--check"]).process_group(0));
    assert_eq!(ran.code, Some(3), "{ran}");
    let ran = shell(&project, "trap '' INT HUP TERM PIPE; \"$0\" --check");
    assert_eq!(ran.code, Some(3), "{ran}");
}
