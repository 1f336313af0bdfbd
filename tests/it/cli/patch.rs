//! The preview is exactly what the real run does: the same files, the same bytes, nothing else, whatever
//! the clock, the locale, git's settings and git's environment say.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{
    ALPHA, BETA, Nobody, Project, Ran, SPECDEV, STATE, Snapshot, can_be_others, different, snapshot,
};

/// PARITY: the preview writes nothing, and `git apply` of it on a copy gives the bytes of the real run.
#[track_caller]
fn parity(project: &Project, args: &[&str], env: &[(&str, &str)]) -> Vec<String> {
    let before = project.snapshot();
    let preview = Ran::of(project.command(&[args, &["--dry-run"]].concat()).envs(env.iter().copied()));
    assert!(matches!(preview.code, Some(0 | 4 | 6)), "{preview}");
    super::assert_same(&before, &project.snapshot());

    let copy = super::folder();
    let status = Command::new("cp").arg("-a").arg(&project.top).arg(copy.path().join("copy")).status();
    assert!(status.unwrap().success());
    let patch = copy.path().join("p.diff");
    fs::write(&patch, &preview.stdout).unwrap();
    let top = copy.path().join("copy");
    let applied = super::git(&top, &["apply", "--whitespace=nowarn", patch.to_str().unwrap()]);
    assert!(applied.status.success(), "{applied:?}\n{preview}");

    let ran = Ran::of(project.command(&[args, &["--allow-dirty"]].concat()).envs(env.iter().copied()));
    assert_eq!(ran.code, preview.code, "{ran}");
    let files = |root: &Path| -> Snapshot {
        let mut all = snapshot(root);
        all.retain(|path, _| !path.starts_with(".git/"));
        // git knows of a mode only whether a file may be executed.
        for (mode, _) in all.values_mut() {
            let bits = u32::from_str_radix(mode, 8).unwrap();
            *mode = format!("{:o} {}", bits & 0o170000, bits & 0o100 != 0);
        }
        all
    };
    super::assert_same(&files(&top), &files(&project.top));
    let changed = different(&before, &project.snapshot());
    assert!(!changed.iter().any(|path| path.starts_with("repo/.git")), "{changed:?}");
    changed
}

/// One of every kind of file, with everything that is hard about a patch.
fn full() -> Project {
    let project = Project::bare("repo", "");
    project.fill();
    project.edit(
        "config.json",
        "\"planning\": {\"default_depth\": \"deep\"}\n}\n",
        "\"planning\": {\"default_depth\": \"é\"}}",
    );
    let plan = project.text(&format!("changes/{ALPHA}/goal-plan.md"));
    project.write(&format!("changes/{ALPHA}/goal-plan.md"), plan.replace('\n', "\r\n"));
    project.write(&format!("changes/{BETA}/goal-plan.md"), super::plan(BETA).trim_end());
    project.write(&format!("changes/{ALPHA}/README.md"), "# Mine\n");
    project.write("HISTORY.md", "# My own history\n\nno final newline");
    let record = r#"{"ticket_id": "T-01", "owner": "A", "provider": "git", "base_sha": "0123456", "branch": "b",
      "workspace_ref": "specdev-worktree/T-01", "status": "removed", "updated_at": "2026-01-02"}"#;
    project.edit(
        &format!("changes/{BETA}/.status.json"),
        "\"deviations\": []",
        &format!("\"deviations\": [], \"worktrees\": [{record}]"),
    );
    project.write(&format!("changes/{BETA}/evidence/T-01.md"), "# Evidence\n\n~~~\nnever closed\n");
    project
}

#[test]
fn preview_is_what_the_run_does() {
    let project = full();
    project.commit();
    assert_eq!(parity(&project, &[], &[]).len(), 10);
}

#[test]
fn preview_of_the_other_release() {
    let project = full();
    project.commit();
    parity(&project, &["--to", "0.7.3"], &[]);
}

#[test]
fn preview_of_ignored_untracked_and_executable_files() {
    let project = full();
    fs::write(project.top.join(".gitignore"), format!("{SPECDEV}/config.json\nHISTORY.md\n")).unwrap();
    project.git(&["add", "-A"]);
    project.git(&["reset", "-q", "--", SPECDEV]);
    project.git(&["commit", "-q", "-m", "only the rest"]);
    project.set_mode("status.json", 0o755);
    project.set_mode(&format!("changes/{ALPHA}/.status.json"), 0o600);
    assert_eq!(parity(&project, &[], &[]).len(), 10);
    assert_eq!(
        (project.mode("status.json"), project.mode(&format!("changes/{ALPHA}/.status.json"))),
        (0o755, 0o600)
    );
}

#[test]
fn preview_with_a_change_left_aside() {
    let project = full();
    project.edit(&format!("changes/{ALPHA}/.status.json"), "\"change_status\": \"active\",", "");
    project.commit();
    let changed = parity(&project, &["--partial"], &[]);
    assert!(!changed.iter().any(|path| path.contains(ALPHA)), "{changed:?}");
}

#[test]
fn preview_whatever_git_is_told_to_colour() {
    let project = full();
    for (key, value) in [
        ("color.ui", "always"),
        ("color.diff", "always"),
        ("core.quotePath", "true"),
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("core.pager", "false"),
        ("core.autocrlf", "true"),
        ("status.showUntrackedFiles", "no"),
        ("status.relativePaths", "false"),
    ] {
        project.git(&["config", key, value]);
    }
    project.git(&["-c", "core.autocrlf=true", "add", "-A"]);
    project.git(&["-c", "core.autocrlf=true", "commit", "-q", "-m", "state"]);
    assert_eq!(parity(&project, &[], &[]).len(), 10);
}

#[test]
fn preview_twice_is_the_same_to_the_byte() {
    let project = full();
    project.commit();
    let args = ["--dry-run", "--format", "json"];
    let (patch, report) = (project.done(&["--dry-run"]), project.done(&args));
    std::thread::sleep(Duration::from_millis(1100));
    let environments: [&[(&str, &str)]; 6] = [
        &[],
        &[("TZ", "Pacific/Auckland")],
        &[("LC_ALL", "de_DE.UTF-8"), ("LANG", "de_DE.UTF-8"), ("LANGUAGE", "de")],
        &[("LC_ALL", "C")],
        &[("RAYON_NUM_THREADS", "1")],
        &[("RAYON_NUM_THREADS", "7"), ("TMPDIR", "/nonexistent"), ("USER", "nobody"), ("HOSTNAME", "x")],
    ];
    for env in environments {
        let ran = Ran::of(project.command(&["--dry-run"]).envs(env.iter().copied()));
        assert_eq!((&ran.stdout, &ran.stderr), (&patch.stdout, &patch.stderr), "{env:?}");
        let ran = Ran::of(project.command(&args).envs(env.iter().copied()));
        assert_eq!((&ran.stdout, &ran.stderr), (&report.stdout, &report.stderr), "{env:?}");
    }
    // Nothing in it says where the repository lies.
    let here = project.dir.path().to_str().unwrap();
    for ran in [&patch, &report] {
        assert!(!ran.text().contains(here) && !ran.stderr.contains(here), "{ran}");
    }
}

#[test]
fn run_writes_the_same_under_another_clock_and_locale() {
    let (one, other) = (full(), full());
    one.commit();
    other.commit();
    one.done(&[]);
    let env = [("TZ", "Pacific/Auckland"), ("LC_ALL", "de_DE.UTF-8"), ("RAYON_NUM_THREADS", "1")];
    let ran = Ran::of(other.command(&[]).envs(env));
    assert_eq!(ran.code, Some(0), "{ran}");
    super::assert_same(&one.state(), &other.state());
}

#[test]
fn run_again_has_nothing_to_do() {
    let project = full();
    project.commit();
    project.done(&[]);
    let before = project.snapshot();
    for args in [&[][..], &["--dry-run"], &["--check"], &["--partial"]] {
        let ran = project.done(args);
        assert!(ran.stdout.is_empty() && ran.stderr.contains("nothing to do"), "{ran}");
    }
    super::assert_same(&before, &project.snapshot());
}

#[test]
fn patch_file_holds_the_same() {
    let project = full();
    project.commit();
    let wanted = project.done(&["--dry-run"]).stdout;
    let patch = project.dir.path().join("p.diff");
    let path = patch.to_str().unwrap();
    assert_eq!(project.run(&["--check", "--patch", path]).code, Some(3));
    assert_eq!(fs::read(&patch).unwrap(), wanted);
    fs::write(&patch, "diff --git of old").unwrap();
    project.done(&["--dry-run", "--patch", path]);
    assert_eq!(fs::read(&patch).unwrap(), wanted);
    fs::remove_file(&patch).unwrap();
    let ran = project.done(&["--patch", path]);
    assert!(ran.stdout.is_empty(), "{ran}");
    assert_eq!(fs::read(&patch).unwrap(), wanted);
}

#[test]
fn patch_file_that_is_something_else_stays_as_it_is() {
    let project = Project::new();
    fs::write(project.top.join("notes.txt"), "mine\n").unwrap();
    symlink("notes.txt", project.top.join("link")).unwrap();
    let state = format!("{SPECDEV}/changes/{ALPHA}");
    let places = [
        ("notes.txt", "holds something else than a patch"),
        ("link", "holds something else than a patch"),
        (".git/config", "holds something else than a patch"),
        (&format!("{state}/goal-plan.md"), "lies in the state itself"),
        (&format!("{state}/README.md"), "lies in the state itself"),
        (&format!("{state}/../p.diff"), "lies in the state itself"),
    ];
    for (path, why) in places {
        for mode in [&[][..], &["--dry-run"], &["--check"]] {
            let at = project.top.join(path);
            let args = [mode, &["--patch", at.to_str().unwrap(), "--allow-dirty"]].concat();
            project.refused(&args, 2, &["no patch was written", path, why, "nothing was changed"]);
        }
    }
    // An empty file holds nothing that could be lost.
    let empty = project.dir.path().join("empty");
    fs::write(&empty, "").unwrap();
    project.done(&["--dry-run", "--patch", empty.to_str().unwrap()]);
    assert!(fs::read(&empty).unwrap().starts_with(b"diff --git "));
}

#[test]
fn patch_file_that_cannot_be_written_stops_the_run() {
    let project = Project::new();
    for path in ["/nonexistent/p.diff", "/dev/full", "."] {
        project.refused(&["--patch", path], 1, &["patch", path, "nothing was changed"]);
    }
}

#[test]
fn environment_of_git_has_no_say() {
    let other = Project::new();
    let other_git = other.top.join(".git");
    let other_git = other_git.to_str().unwrap();
    let environments: [&[(&str, &str)]; 8] = [
        &[("GIT_DIR", other_git)],
        &[("GIT_WORK_TREE", "/tmp")],
        &[("GIT_DIR", other_git), ("GIT_WORK_TREE", "/tmp"), ("GIT_COMMON_DIR", other_git)],
        &[("GIT_INDEX_FILE", "/nonexistent")],
        &[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.bare"), ("GIT_CONFIG_VALUE_0", "true")],
        &[("GIT_TRACE", "1"), ("GIT_TRACE2", "1")],
        &[("GIT_CEILING_DIRECTORIES", "/")],
        &[("GIT_OPTIONAL_LOCKS", "1"), ("GIT_PREFIX", "x/"), ("GIT_EDITOR", "false")],
    ];
    let clean = Project::new();
    let said = clean.done(&[]);
    for env in environments {
        let project = Project::new();
        let before = other.snapshot();
        let ran = Ran::of(project.command(&[]).envs(env.iter().copied()));
        assert_eq!((ran.code, &ran.stdout, &ran.stderr), (said.code, &said.stdout, &said.stderr), "{env:?}");
        super::assert_same(&clean.state(), &project.state());
        super::assert_same(&before, &other.snapshot());
    }
}

#[test]
fn run_from_a_hook_of_a_linked_worktree() {
    let project = Project::new();
    let hook = project.top.join(".git/hooks/pre-commit");
    fs::write(&hook, format!("#!/bin/sh\n'{}' --dry-run >preview.out 2>preview.err\n", super::BIN)).unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    project.git(&["worktree", "add", "-q", "../linked", "-b", "other"]);
    let linked = project.dir.path().join("linked");
    let wanted = Ran::of(&mut super::command(&linked, &["--dry-run"]));
    fs::write(linked.join("file"), "x").unwrap();
    assert!(super::git(&linked, &["add", "file"]).status.success());
    let committed = super::git(&linked, &["commit", "-m", "x"]);
    assert!(committed.status.success(), "{committed:?}");
    assert_eq!(fs::read(linked.join("preview.out")).unwrap(), wanted.stdout);
    assert_eq!(fs::read_to_string(linked.join("preview.err")).unwrap(), wanted.stderr);
}

#[test]
fn preview_of_a_checkout_that_may_not_be_written_to() {
    if !can_be_others() {
        return;
    }
    let project = full();
    project.commit();
    let wanted = project.done(&["--dry-run"]);
    let nobody = Nobody::takes(&project);
    let status = Command::new("chmod").args(["-R", "a-w"]).arg(&project.top).status();
    assert!(status.unwrap().success());
    for args in
        [&["--dry-run"][..], &["--check"], &["status"], &["validate"], &["decisions"], &["history", "list"]]
    {
        let before = project.snapshot();
        let ran = nobody.run(args);
        assert!(matches!(ran.code, Some(0 | 3)), "{args:?} {ran}");
        if args == ["--dry-run"] {
            assert_eq!((&ran.stdout, &ran.stderr), (&wanted.stdout, &wanted.stderr));
        }
        super::assert_same(&before, &project.snapshot());
    }
    let before = project.snapshot();
    let ran = nobody.run(&[]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stderr.contains("nothing was changed"), "{ran}");
    super::assert_same(&before, &project.snapshot());
    assert!(Command::new("chmod").args(["-R", "u+w"]).arg(&project.top).status().unwrap().success());
}

#[test]
fn nothing_is_left_behind_by_looking() {
    let project = full();
    project.commit();
    symlink("nowhere", project.root.join(STATE).join("a-link-of-mine")).unwrap();
    let before = project.snapshot();
    for args in [
        &["--dry-run"][..],
        &["--check"],
        &["status"],
        &["validate"],
        &["decisions"],
        &["history", "list"],
        &["history", "verify"],
        &["restore", "--dry-run"],
        &["steps"],
        &["explain", "symlink"],
        &["completions", "bash"],
        &["--help"],
    ] {
        project.run(args);
        super::assert_same(&before, &project.snapshot());
    }
}
