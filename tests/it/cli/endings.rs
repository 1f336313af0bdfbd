//! How runs end: one documented code for each, counts that are true, and advice that helps.

use super::{ALPHA, BETA, Project, Ran, different};

// ---- the command line -------------------------------------------------------------------------------

#[test]
fn option_that_is_unknown() {
    let project = Project::new();
    for (arg, meant) in [("--dry-rn", "--dry-run"), ("--chek", "--check"), ("--partail", "--partial")] {
        project.refused(&[arg], 2, &[arg, meant]);
    }
    project.refused(&["--format", "yaml"], 2, &["human", "json"]);
    project.refused(&["--dry-run", "--check"], 2, &["--check"]);
    project.refused(&["history", "verfy"], 2, &["verify"]);
    project.refused(&["explain"], 2, &["<NAME>"]);
}

#[test]
fn command_that_is_unknown() {
    let project = Project::new();
    project.refused(&["statsu"], 2, &["statsu", "specdev-migrate status"]);
    project.refused(&["recovr"], 2, &["specdev-migrate recover"]);
    let ran = project.refused(&["some/folder"], 2, &["some/folder"]);
    assert!(!ran.stderr.contains("did you mean"), "{ran}");
}

#[test]
fn release_that_is_unknown() {
    let project = Project::new();
    for args in [&["--to", "9.9.9"][..], &["--to", ""], &["status", "--to", "2"], &["validate", "--to", "x"]]
    {
        project.refused(args, 2, &["unknown release", "0.7.3 and 2.0.6"]);
    }
}

#[test]
fn help_and_version() {
    let project = Project::new();
    for args in [&["--help"][..], &["-h"], &["restore", "--help"], &["history", "--help"]] {
        let ran = project.done(args);
        assert!(ran.text().contains("Usage:") && ran.stderr.is_empty(), "{ran}");
    }
    assert_eq!(
        project.done(&["--version"]).text(),
        concat!("specdev-migrate ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn help_names_every_exit_code() {
    let text = Project::new().done(&["--help"]).text().to_owned();
    for code in ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "130", "143", "141"] {
        assert!(text.split(|c: char| !c.is_ascii_digit()).any(|word| word == code), "{code}");
    }
}

#[test]
fn decisions_file_that_is_missing_or_wrong() {
    let project = Project::new();
    project.refused(&["--decisions", "missing.yaml"], 2, &["missing.yaml"]);
    for (text, needle) in [
        ("schema_version: 1\nchanegs: {}\n", "line 2 column 1"),
        ("schema_version: [\n", "line 2 column 1"),
        ("", "schema_version"),
    ] {
        std::fs::write(project.root.join("d.yaml"), text).unwrap();
        project.refused(&["--decisions", "d.yaml"], 2, &["d.yaml", needle]);
    }
}

// ---- one code for each ------------------------------------------------------------------------------

#[test]
fn codes_of_the_check() {
    let project = Project::new();
    let ran = project.refused(&["--check"], 3, &["8 files (3 of them new) pending"]);
    assert!(ran.stdout.is_empty(), "{ran}");
    project.done(&[]);
    let ran = project.refused(&["--check"], 0, &["nothing to do"]);
    assert!(ran.stdout.is_empty(), "{ran}");
    project.edit("config.json", "\"git\"", "\"schema_version\": 4, \"git\"");
    project.refused(&["--check"], 6, &["duplicate-key"]);
}

#[test]
fn codes_of_every_ending() {
    let endings: [(fn(&Project), &[&str], i32, &str); 9] = [
        (|_| (), &[], 0, "wrote 8 files (3 of them new)"),
        (|p| drop(p.done(&[])), &[], 0, "nothing to do"),
        (|_| (), &["--dry-run"], 0, "8 files (3 of them new) would be written; nothing was"),
        (|_| (), &["--check"], 3, "pending"),
        (blocked, &[], 4, "nothing was written: 1 blocker"),
        (blocked, &["--dry-run"], 4, "no patch, and nothing was written: 1 blocker"),
        (blocked, &["--partial"], 4, "left as they are: 2026-01-02-alpha"),
        (|p| p.edit("status.json", "4", "99"), &[], 5, "nothing was written: 1 error"),
        (|p| p.write("status.json", ""), &[], 6, "nothing was written: 1 error"),
    ];
    for (prepare, args, code, said) in endings {
        let project = Project::new();
        prepare(&project);
        let ran = project.run(&[args, &["--allow-dirty"]].concat());
        assert_eq!(ran.code, Some(code), "{args:?} {ran}");
        assert!(ran.stderr.contains(said), "{said:?} {ran}");
        assert!(ran.stdout.is_empty() || code == 0 && args == ["--dry-run"], "{ran}");
    }
}

fn blocked(project: &Project) {
    project.edit(&format!("changes/{ALPHA}/.status.json"), "\"artifact\"", "\"mine\": 1, \"artifact\"");
}

#[test]
fn counts_are_those_of_the_files_that_changed() {
    let cases: [(fn(&Project), &[&str]); 5] = [
        (|_| (), &[]),
        (|_| (), &["--to", "0.7.3"]),
        (blocked, &["--partial", "--allow-dirty"]),
        (|p| p.edit("config.json", "\"schema_version\": 3", "\"schema_version\": 7"), &["--allow-dirty"]),
        (
            |p| {
                p.done(&[]);
                p.write("changes/2026-01-04-new/.status.json", super::status("2026-01-04-new"));
            },
            &["--allow-dirty"],
        ),
    ];
    for (prepare, args) in cases {
        let project = Project::new();
        prepare(&project);
        let before = project.snapshot();
        let ran = project.run(&[args, &["--format", "json"]].concat());
        let changed = different(&before, &project.snapshot());
        let new = changed.iter().filter(|path| !before.contains_key(*path)).count();
        let summary = &ran.json()["summary"];
        assert_eq!(summary["files"], changed.len(), "{ran}");
        assert_eq!(summary["created"], new, "{ran}");
        assert_eq!(summary["changed"], changed.len() - new, "{ran}");
        let said = format!("wrote {} files ({new} of them new)", changed.len());
        assert!(ran.stderr.contains(&said), "{said} {ran}");
        // And back.
        let ran = project.run(&["restore", "--format", "json"]);
        assert_eq!(ran.json()["files"].as_array().unwrap().len(), changed.len(), "{ran}");
        assert!(
            ran.stderr.contains(&format!("{} files put back ({new} that the run created go)", changed.len())),
            "{ran}"
        );
        super::assert_same(&before, &project.snapshot());
    }
}

// ---- advice -----------------------------------------------------------------------------------------

/// The lines after `next:` of the findings with this code, in the words to type.
fn advice(ran: &Ran, code: &str) -> Vec<String> {
    let lines = ran.stderr.lines().skip_while(|line| !line.ends_with(code));
    let lines =
        lines.skip_while(|line| !line.starts_with("    next:")).take_while(|l| !l.starts_with("    more:"));
    lines.map(|line| line[11..].to_owned()).collect()
}

/// The file that the advice says to write.
fn file_to_write(ran: &Ran, code: &str) -> String {
    let lines = advice(ran, code);
    let start = lines.iter().position(|line| line == "schema_version: 1");
    lines[start.unwrap_or_else(|| panic!("{ran}"))..].join("\n")
}

#[test]
fn every_blocker_says_what_to_do() {
    let blockers: [(&str, fn(&Project)); 9] = [
        ("unmapped-field", blocked),
        ("unmapped-field", |p| p.edit("config.json", "\"planning\"", "\"mine\": 1, \"planning\"")),
        ("conflicting-current-work", |p| {
            let twice = format!(
                "{{\"change\": \"{BETA}\", \"current_work\": \"specdev/x\", \"works_run\": []}},\n    {{\"change\": \"{BETA}\", \"current_work\": \"specdev/y\""
            );
            p.edit("status.json", &format!("{{\"change\": \"{BETA}\", \"current_work\": null"), &twice);
        }),
        ("status-overlap", |p| {
            p.edit("status.json", "\"archived\": []", &format!("\"archived\": [\"{ALPHA}\"]"))
        }),
        ("missing-change-status", |p| {
            p.edit(
                "status.json",
                &format!("\"change\": \"{BETA}\", \"current_work\": null"),
                "\"change\": \"2026-01-09-gone\", \"current_work\": \"specdev/x\"",
            );
        }),
        ("inconsistent-archive-state", |p| {
            p.edit(&format!("changes/{ALPHA}/.status.json"), "\"archived\": false", "\"archived\": true");
        }),
        ("change-name-mismatch", |p| {
            p.edit(
                &format!("changes/{ALPHA}/.status.json"),
                &format!("\"change\": \"{ALPHA}\""),
                &format!("\"change\": \"{BETA}\""),
            );
        }),
        ("ambiguous-section", |p| {
            p.write(&format!("changes/{ALPHA}/HISTORY.md"), "## Migration History\n\n## Migration History\n");
        }),
        ("active-worktree", |p| {
            let record = r#"{"ticket_id": "T-01", "owner": "codex:a", "provider": "git", "base_sha": "0123456", "branch": "b",
              "workspace_ref": "specdev-worktree/T-01", "status": "active", "updated_at": "2026-01-02"}"#;
            p.edit(
                &format!("changes/{ALPHA}/.status.json"),
                "\"deviations\": []",
                &format!("\"deviations\": [], \"worktrees\": [{record}]"),
            );
        }),
    ];
    for (code, prepare) in blockers {
        let project = Project::new();
        prepare(&project);
        project.commit();
        let ran = project.refused(&[], 4, &[&format!("blocked: {code}"), "next:"]);
        assert!(!advice(&ran, code).is_empty(), "{code} {ran}");
        // Whatever is a command of ours works while blocked.
        let is_ours = |line: &&String| line.starts_with("specdev-migrate ") && !line.contains("--decisions");
        for line in advice(&ran, code).iter().filter(is_ours) {
            let before = project.snapshot();
            let followed = super::shell(&project.root, &line.replace("> decisions.yaml", "> /dev/null"));
            assert!(matches!(followed.code, Some(0 | 4)), "{code} {line} {followed}");
            super::assert_same(&before, &project.snapshot());
        }
        let explained = project.done(&["explain", code]);
        assert!(explained.text().contains(code), "{explained}");
    }
}

#[test]
fn unmapped_field_is_cleared_by_the_lines_to_paste() {
    for path in ["config.json".to_owned(), format!("changes/{ALPHA}/.status.json")] {
        let project = Project::new();
        project.edit(&path, "{\n", "{\n  \"mine\": {\"a\": [1]},\n");
        project.commit();
        let ran = project.refused(&[], 4, &["unmapped-field"]);
        std::fs::write(project.dir.path().join("d.yaml"), file_to_write(&ran, "unmapped-field")).unwrap();
        let ran = project.done(&["--decisions", "../d.yaml"]);
        assert!(!ran.stderr.contains("unmapped-field"), "{ran}");
        assert!(!project.text(&path).contains("mine"), "{path}");
    }
}

#[test]
fn inconsistent_archive_state_is_cleared_by_a_decision() {
    let project = Project::new();
    project.edit(&format!("changes/{ALPHA}/.status.json"), "\"archived\": false", "\"archived\": true");
    project.commit();
    let ran = project.refused(&[], 4, &["inconsistent-archive-state"]);
    std::fs::write(project.dir.path().join("d.yaml"), file_to_write(&ran, "inconsistent-archive-state"))
        .unwrap();
    project.done(&["--decisions", "../d.yaml"]);
    assert_eq!(project.json(&format!("changes/{ALPHA}/.status.json"))["archived"], false);
}

#[test]
fn open_record_is_cleared_by_the_printed_file() {
    let project = Project::new();
    let path = format!("changes/{ALPHA}/.status.json");
    let record = r#"{"ticket_id": "T-01", "owner": "codex:a", "provider": "git", "base_sha": "0123456", "branch": "b",
      "workspace_ref": "specdev-worktree/T-01", "status": "active", "updated_at": "2026-01-02"}"#;
    project.edit(&path, "\"deviations\": []", &format!("\"deviations\": [], \"worktrees\": [{record}]"));
    project.write(&format!("changes/{ALPHA}/LOG.md"), "# Log\n");
    project.commit();
    let ran = project.refused(&[], 4, &["active-worktree", "T-01", "codex:a"]);
    let command = advice(&ran, "active-worktree")
        .into_iter()
        .find(|line| line.starts_with("specdev-migrate decisions"))
        .unwrap();
    let printed = super::shell(&project.root, command.split(" > ").next().unwrap());
    assert_eq!(printed.code, Some(0), "{printed}");
    let fill = |key: &str, value: &str, text: String| -> String {
        let mut lines: Vec<String> = Vec::new();
        for line in text.lines() {
            let bare = line.trim_start();
            let indent = &line[..line.len() - line.trim_start().len()];
            if bare.starts_with(&format!("{key}:")) {
                lines.push(format!("{indent}{key}: {value}"))
            } else {
                lines.push(line.into())
            }
        }
        lines.join("\n")
    };
    let mut text = printed.text().to_owned();
    for (key, value) in
        [("action", "retire"), ("writers", "stopped"), ("confirmed_by", "codex:a"), ("reference", "LOG.md")]
    {
        text = fill(key, value, text);
    }
    std::fs::write(project.dir.path().join("d.yaml"), &text).unwrap();
    let ran = project.run(&["--decisions", "../d.yaml"]);
    assert_eq!(ran.code, Some(0), "{ran}\n{text}");
    assert_eq!(project.json(&path)["worktrees"], serde_json::json!([]));
}

#[test]
fn next_commands_reach_the_project_from_where_they_are_typed() {
    for (path, state) in
        [("repo", None), ("repo/speculo", None), ("my repo", None), ("repo", Some("repo/speculo/.speculo"))]
    {
        let project = Project::bare(path.split('/').next().unwrap(), "");
        project.fill();
        project.edit(&format!("changes/{ALPHA}/.status.json"), "\"artifact\"", "\"mine\": 1, \"artifact\"");
        project.commit();
        let mut args = vec![path];
        args.extend(state.iter().flat_map(|state| ["--state", state]));
        let folder = project.dir.path();
        let ran = Ran::of(&mut super::command(folder, &args));
        assert_eq!(ran.code, Some(4), "{ran}");
        let partial =
            ran.stderr.lines().find_map(|line| line.split("the clean changes alone: ").nth(1)).unwrap();
        let ran = super::shell(folder, partial);
        assert_eq!(ran.code, Some(4), "{partial} {ran}");
        assert_eq!(project.json(&format!("changes/{BETA}/.status.json"))["schema_version"], 5, "{partial}");
        let undo = ran.stderr.lines().find_map(|line| line.split("to undo: ").nth(1)).unwrap();
        let ran = super::shell(folder, undo);
        assert_eq!(ran.code, Some(0), "{undo} {ran}");
        assert_eq!(project.git(&["status", "--porcelain"]), "");
    }
}
