//! Reasons not to write although the plan is good: they stop the real run, are one line in a dry run, and
//! what they advise clears them.

use std::fs;

use super::{ALPHA, BETA, Project, Ran};

/// The guard stops the real run, with `--partial` too, and the dry run only tells.
#[track_caller]
fn guarded(project: &Project, code: &str, needles: &[&str]) {
    let ran = project.refused(&[], 4, &[&[code, "nothing was written", "next:"], needles].concat());
    assert!(ran.stdout.is_empty(), "{ran}");
    project.refused(&["--partial"], 4, &[code]);
    let ran = project.refused(&["--format", "json"], 4, &[code]);
    assert_eq!(ran.json()["outcome"], "guarded", "{ran}");
    let before = project.snapshot();
    let ran = project.done(&["--dry-run"]);
    assert!(ran.stdout.starts_with(b"diff --git "), "{ran}");
    let told = ran.stderr.lines().filter(|line| line.contains(code)).count();
    assert_eq!(told, 1, "{ran}");
    assert_eq!(project.run(&["--check"]).code, Some(3));
    super::assert_same(&before, &project.snapshot());
}

/// Types what the report says comes next, as it stands there.
#[track_caller]
fn follow(project: &Project, ran: &Ran, start: &str) -> Ran {
    let lines = ran.stderr.lines().map(|line| line.trim().trim_start_matches("next:").trim());
    let line = lines.clone().find(|line| line.starts_with(start));
    let line = line.unwrap_or_else(|| panic!("no {start:?} in {ran}"));
    super::shell(&project.root, line)
}

// ---- uncommitted changes ----------------------------------------------------------------------------

#[test]
fn file_that_differs_from_head() {
    let project = Project::new();
    project.edit("config.json", "\"en\"", "\"de\"");
    guarded(&project, "uncommitted-changes", &["config.json", "1 of the files"]);
    let ran = project.run(&[]);
    let followed = follow(&project, &ran, "git add");
    assert_eq!(followed.code, Some(0), "{followed}");
    project.done(&[]);
    assert_eq!(project.json("config.json")["interaction_language"], "de");
}

#[test]
fn file_that_is_staged_untracked_or_deleted_in_the_index() {
    let changes: [fn(&Project); 4] = [
        |p| {
            p.edit("config.json", "\"en\"", "\"de\"");
            p.git(&["add", "-A"]);
        },
        |p| drop(p.git(&["rm", "-q", "--cached", "speculo/.speculo/specdev/config.json"])),
        |p| p.write("changes/2026-01-04-new/.status.json", super::status("2026-01-04-new")),
        // A file of the run that is gone from the folder, not from the commit.
        |p| {
            p.write("HISTORY.md", "# Mine\n");
            p.commit();
            fs::remove_file(p.path("HISTORY.md")).unwrap();
        },
    ];
    for change in changes {
        let project = Project::new();
        change(&project);
        guarded(&project, "uncommitted-changes", &[]);
        let ran = project.run(&[]);
        let followed = follow(&project, &ran, "specdev-migrate --allow-dirty");
        assert_eq!(followed.code, Some(0), "{followed}");
        assert_eq!(project.done(&["--check"]).code, Some(0));
    }
}

#[test]
fn file_that_git_was_told_not_to_look_at() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let project = Project::new();
        project.git(&["update-index", flag, "speculo/.speculo/specdev/config.json"]);
        project.edit("config.json", "\"en\"", "\"de\"");
        guarded(&project, "uncommitted-changes", &["config.json"]);
    }
}

#[test]
fn files_that_the_run_does_not_touch_may_be_dirty() {
    let project = Project::new();
    project.write("changes/2026-01-02-alpha/spec.md", "draft\n");
    project.write("../notes.md", "draft\n");
    fs::write(project.top.join("code.rs"), "draft\n").unwrap();
    project.done(&[]);
}

#[test]
fn file_of_a_change_that_is_left_aside_may_be_dirty() {
    let project = Project::new();
    project.edit(&format!("changes/{ALPHA}/.status.json"), "\"artifact\"", "\"mine\": 1, \"artifact\"");
    let ran = project.run(&["--partial"]);
    assert_eq!(ran.code, Some(4), "{ran}");
    assert!(!ran.stderr.contains("uncommitted-changes"), "{ran}");
    assert_eq!(project.json(&format!("changes/{BETA}/.status.json"))["schema_version"], 5);
}

#[test]
fn repository_without_a_commit() {
    let project = Project::bare("repo", "");
    project.fill();
    guarded(&project, "uncommitted-changes", &["5 of the files"]);
    project.git(&["add", "-A"]);
    guarded(&project, "uncommitted-changes", &["5 of the files"]);
    project.done(&["--allow-dirty"]);
}

#[test]
fn nothing_to_do_needs_no_guard() {
    let project = Project::new();
    project.done(&[]);
    assert!(!project.git(&["status", "--porcelain"]).is_empty());
    project.done(&[]);
}

#[test]
fn ignored_files_are_no_obstacle_and_are_told() {
    let project = Project::bare("repo", "");
    project.fill();
    fs::write(project.top.join(".gitignore"), "speculo/\n").unwrap();
    project.commit();
    let preview = project.done(&["--dry-run"]);
    assert!(preview.stderr.contains("note: not-under-version-control (5)"), "{preview}");
    let ran = project.done(&[]);
    assert!(ran.stderr.contains("note: not-under-version-control (5)"), "{ran}");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert_eq!(project.json("config.json")["schema_version"], 4);
}

#[test]
fn without_git_nobody_is_asked() {
    let project = Project::new();
    project.edit("config.json", "\"en\"", "\"de\"");
    project.done(&["--no-git"]);
}

// ---- operations in progress -------------------------------------------------------------------------

#[test]
fn operations_in_progress() {
    let operations: [(&str, fn(&Project), &[&str]); 4] = [
        ("merge", |p| drop(super::git(&p.top, &["merge", "-q", "side"])), &["merge", "--abort"]),
        ("rebase", |p| drop(super::git(&p.top, &["rebase", "-q", "side"])), &["rebase", "--abort"]),
        ("cherry-pick", |p| drop(super::git(&p.top, &["cherry-pick", "side"])), &["cherry-pick", "--abort"]),
        ("bisect", |p| drop(p.git(&["bisect", "start"])), &["bisect", "reset"]),
    ];
    for (name, begin, end) in operations {
        let project = Project::new();
        project.git(&["checkout", "-q", "-b", "side"]);
        fs::write(project.top.join("code"), "side\n").unwrap();
        project.commit();
        project.git(&["checkout", "-q", "main"]);
        fs::write(project.top.join("code"), "main\n").unwrap();
        project.commit();
        begin(&project);
        guarded(&project, "operation-in-progress", &[name]);
        let ran = project.run(&[]);
        assert_eq!(follow(&project, &ran, "git status").code, Some(0));
        project.git(end);
        project.done(&[]);
    }
}

#[test]
fn operation_in_another_worktree_is_none_of_ours() {
    let project = Project::new();
    project.git(&["worktree", "add", "-q", "../linked", "-b", "other"]);
    assert!(super::git(&project.dir.path().join("linked"), &["bisect", "start"]).status.success());
    project.done(&[]);
}

// ---- the installed workflow -------------------------------------------------------------------------

fn beside(project: &Project, name: &str, text: &str) {
    project.write(&format!("../{name}"), text);
    project.commit();
}

#[test]
fn workflow_that_cannot_read_the_new_plans() {
    for version in ["1.0.0", "1.12.3", "0.7.3", "v1.2"] {
        let project = Project::new();
        beside(&project, "install.json", &format!("{{\"package_version\": \"{version}\"}}"));
        guarded(&project, "reader-too-old", &[version]);
        let ran = project.run(&[]);
        let followed = follow(&project, &ran, "specdev-migrate --to 0.7.3");
        assert_eq!(followed.code, Some(0), "{followed}");
        assert!(project.text(&format!("changes/{ALPHA}/goal-plan.md")).contains("schema_version: 5\n"));
        // Both releases may be named.
        project.git(&["add", "-A"]);
        project.commit();
        let followed = follow(&project, &ran, "specdev-migrate --to 2.0.6");
        assert_eq!(followed.code, Some(0), "{followed}");
        assert!(project.text(&format!("changes/{ALPHA}/goal-plan.md")).contains("schema_version: 8\n"));
    }
}

#[test]
fn workflow_that_can_read_them_or_says_nothing() {
    for text in [
        "{\"package_version\": \"2.0.6\"}",
        "{\"package_version\": \"10.0.0\"}",
        "{}",
        "{\"package_version\": null}",
        "no JSON",
    ] {
        let project = Project::new();
        beside(&project, "install.json", text);
        project.done(&[]);
    }
}

#[test]
fn migration_of_the_workflow_that_is_pending() {
    let project = Project::new();
    project.write("../back/state/specdev/config.json", super::CONFIG);
    project.write(&format!("../back/state/specdev/changes/{ALPHA}/.status.json"), super::status(ALPHA));
    beside(&project, "migration.json", "{\"status\": \"pending\"}");
    guarded(&project, "pending-runtime-migration", &["back/state/specdev"]);
    let ran = project.run(&[]);
    let followed = follow(&project, &ran, "specdev-migrate --dry-run --state");
    assert_eq!(followed.code, Some(0), "{followed}");
    assert!(followed.text().contains("b/speculo/.speculo/back/state/specdev/config.json"), "{followed}");
    fs::remove_file(project.path("../migration.json")).unwrap();
    project.commit();
    project.done(&[]);
}

#[test]
fn migration_of_the_workflow_that_is_done() {
    let project = Project::new();
    beside(&project, "migration.json", "{\"status\": \"completed\"}");
    project.done(&[]);
}

// ---- several at once --------------------------------------------------------------------------------

#[test]
fn all_guards_are_told_at_once() {
    let project = Project::new();
    project.write("../install.json", "{\"package_version\": \"1.0.0\"}");
    project.write("../migration.json", "{}");
    project.edit("config.json", "\"en\"", "\"de\"");
    project.git(&["bisect", "start"]);
    let codes =
        ["reader-too-old", "pending-runtime-migration", "uncommitted-changes", "operation-in-progress"];
    project.refused(&[], 4, &codes);
    let ran = project.done(&["--dry-run"]);
    assert!(codes.iter().all(|code| ran.stderr.contains(code)), "{ran}");
}

#[test]
fn code_of_a_fault_wins_over_a_guard() {
    let project = Project::new();
    project.write(&format!("changes/{ALPHA}/.status.json"), "{");
    project.git(&["bisect", "start"]);
    project.refused(&[], 6, &["invalid-json"]);
    project.refused(&["--partial"], 6, &["invalid-json", "operation-in-progress"]);
}

// ---- git itself -------------------------------------------------------------------------------------

#[test]
fn repository_of_somebody_else() {
    if !super::can_be_others() {
        return;
    }
    let project = Project::new();
    let status = std::process::Command::new("chown").args(["-R", "65534:65534"]).arg(&project.top).status();
    assert!(status.unwrap().success());
    let home = project.dir.path().join("home");
    fs::create_dir(&home).unwrap();
    project.refused_in_all_modes(4, &["git-unreadable", "dubious ownership", "safe.directory"]);
    let run = |args: &[&str]| Ran::of(project.command(args).env("HOME", &home));
    let ran = run(&[]);
    assert_eq!(ran.code, Some(4), "{ran}");
    let line = ran.stderr.lines().find(|line| line.contains("git config")).unwrap();
    let line = line.trim().trim_start_matches("next:").trim();
    let mut shell = std::process::Command::new("sh");
    super::clean(shell.args(["-c", line]), &project.root);
    assert!(shell.env("HOME", &home).status().unwrap().success());
    let ran = run(&[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    // What was somebody's stays theirs.
    use std::os::unix::fs::MetadataExt;
    assert_eq!(project.path("config.json").metadata().unwrap().uid(), 65534);
}

#[test]
fn git_that_is_missing_or_fails() {
    let project = Project::new();
    let bin = project.dir.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let run = |args: &[&str]| Ran::of(project.command(args).env("PATH", &bin));
    for script in [None, Some("#!/bin/sh\necho 'fatal: no way' >&2\nexit 128\n"), Some("#!/bin/sh\nexit 0\n")]
    {
        if let Some(script) = script {
            fs::write(bin.join("git"), script).unwrap();
            fs::set_permissions(bin.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
                .unwrap();
        }
        let before = project.snapshot();
        for args in [&[][..], &["--dry-run"], &["--partial"]] {
            let ran = run(args);
            assert_eq!(ran.code, Some(4), "{ran}");
            assert!(ran.stderr.contains("git-unreadable") && ran.stdout.is_empty(), "{ran}");
        }
        super::assert_same(&before, &project.snapshot());
    }
    assert_eq!(run(&["--no-git"]).code, Some(0));
    // Also where nothing is left to do.
    let ran = run(&[]);
    assert_eq!(ran.code, Some(4), "{ran}");
    assert!(ran.stderr.contains("git-unreadable"), "{ran}");
    assert_eq!(run(&["--no-git"]).code, Some(0));
}

#[test]
fn folder_of_git_that_is_no_repository() {
    let project = Project::without_git();
    fs::create_dir(project.top.join(".git")).unwrap();
    project.refused(&[], 4, &["git-unreadable"]);
    fs::remove_dir(project.top.join(".git")).unwrap();
    fs::write(project.top.join(".git"), "gitdir: /nonexistent\n").unwrap();
    project.refused(&[], 4, &["git-unreadable"]);
}
