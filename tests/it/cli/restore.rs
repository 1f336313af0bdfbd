//! Undoing a run from the repository alone: everything, or all but what somebody has changed since.

use std::fs;

use super::{ALPHA, BETA, Project, Ran, Snapshot, command, snapshot};

fn upgraded() -> (Project, Snapshot) {
    let project = Project::new();
    let before = project.state();
    project.done(&[]);
    (project, before)
}

fn run_of(project: &Project) -> String {
    let runs = project.done(&["history", "list", "--format", "json"]).json();
    runs["runs"][0]["run"].as_str().unwrap().to_owned()
}

#[test]
fn everything_is_as_before_and_restoring_again_has_nothing_to_do() {
    let (project, before) = upgraded();
    let ran = project.done(&["restore"]);
    assert!(ran.stderr.contains("8 files put back (3 that the run created go)"), "{ran}");
    assert!(!ran.stderr.contains("note:"), "{ran}");
    super::assert_same(&before, &project.state());
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    let whole = project.snapshot();
    let ran = project.done(&["restore"]);
    assert!(ran.stderr.contains("nothing to restore"), "{ran}");
    super::assert_same(&whole, &project.snapshot());
    // The upgrade is the same one again.
    project.done(&[]);
    assert_eq!(project.done(&["--check"]).code, Some(0));
}

#[test]
fn committed_or_not_the_upgrade_itself_is_no_obstacle() {
    let (project, before) = upgraded();
    project.commit();
    project.done(&["restore"]);
    super::assert_same(&before, &project.state());
}

#[test]
fn preview_is_what_restoring_does() {
    let (project, before) = upgraded();
    let whole = project.snapshot();
    let preview = project.done(&["restore", "--dry-run"]);
    super::assert_same(&whole, &project.snapshot());
    assert!(
        preview.stderr.contains("8 files would be put back (3 that the run created go); nothing was written"),
        "{preview}"
    );
    let patch = project.dir.path().join("p.diff");
    fs::write(&patch, &preview.stdout).unwrap();
    project.git(&["apply", patch.to_str().unwrap()]);
    super::assert_same(&before, &project.state());
}

#[test]
fn run_by_its_id() {
    let (project, before) = upgraded();
    let run = run_of(&project);
    for id in ["000000000000", "", "x"] {
        project.refused(&["restore", "--run", id], 2, &["there is no run", "specdev-migrate history list"]);
    }
    project.done(&["restore", "--run", &run]);
    super::assert_same(&before, &project.state());
    project.refused(&["restore", "--run", &run], 2, &["there is no run"]);
}

#[test]
fn older_run_is_refused_while_a_newer_one_wrote_one_of_its_files() {
    let project = Project::new();
    let before = project.state();
    project.done(&["--to", "0.7.3"]);
    let first = run_of(&project);
    project.commit();
    let between = project.state();
    project.done(&[]);
    let second = run_of(&project);
    assert_ne!(first, second);
    let ran = project.refused(&["restore", "--run", &first], 4, &["newer", &second, ALPHA]);
    assert!(ran.stderr.contains(&format!("specdev-migrate restore --run {second}")), "{ran}");
    project.done(&["restore"]);
    super::assert_same(&between, &project.state());
    project.done(&["restore"]);
    super::assert_same(&before, &project.state());
}

#[test]
fn older_run_over_other_files_may_go_first() {
    let (project, before) = upgraded();
    let first = run_of(&project);
    project.commit();
    let new = "2026-01-04-new";
    project.write(&format!("changes/{new}/.status.json"), super::status(new));
    project.commit();
    project.done(&[]);
    let second = run_of(&project);
    assert_ne!(first, second);
    project.done(&["restore", "--run", &first]);
    let mut now = project.state();
    now.retain(|path, _| !path.contains(new));
    super::assert_same(&before, &now);
    assert_eq!(project.json(&format!("changes/{new}/.status.json"))["schema_version"], 5);
    project.done(&["restore", "--run", &second]);
    assert_eq!(project.text(&format!("changes/{new}/.status.json")), super::status(new));
}

/// The change that was meddled with stays as it is, the rest is as before. Only where the run did not
/// rewrite the index can the two be told apart.
#[track_caller]
fn left_alone(meddle: fn(&Project), named: &str, reason: &str) {
    let project = Project::new();
    project.write("status.json", "{\"schema_version\": 5, \"workflow\": \"specdev\", \"active\": [{\"change\": \"2026-01-02-alpha\"}, {\"change\": \"2026-01-03-beta\"}], \"archived\": []}\n");
    project.commit();
    let before = project.state();
    project.done(&[]);
    meddle(&project);
    let after = project.state();
    for args in [&["restore", "--dry-run"][..], &["restore"]] {
        let ran = project.run(args);
        assert_eq!(ran.code, Some(4), "{ran}");
        assert!(ran.stderr.contains(named) && ran.stderr.contains(reason), "{named} {reason} {ran}");
    }
    let now = project.state();
    let part = |all: &Snapshot, of_alpha: bool| -> Snapshot {
        all.iter()
            .filter(|(path, _)| path.contains(ALPHA) == of_alpha)
            .map(|(p, c)| (p.clone(), c.clone()))
            .collect()
    };
    super::assert_same(&part(&after, true), &part(&now, true));
    super::assert_same(&part(&before, false), &part(&now, false));
}

#[test]
fn file_that_was_edited() {
    left_alone(
        |p| p.edit(&format!("changes/{ALPHA}/.status.json"), "\"active\"", "\"blocked\""),
        ".status.json",
        "edited",
    );
    left_alone(
        |p| p.edit(&format!("changes/{ALPHA}/goal-plan.md"), "# Goal Plan", "# The Plan"),
        "goal-plan.md",
        "edited",
    );
    left_alone(
        |p| {
            let path = format!("changes/{ALPHA}/HISTORY.md");
            let text = p.text(&path);
            p.write(&path, format!("{text}\nA note.\n"));
        },
        "HISTORY.md",
        "edited",
    );
}

#[test]
fn file_that_was_deleted() {
    for path in [".status.json", "goal-plan.md"] {
        let meddle: fn(&Project) = if path == ".status.json" {
            |p| fs::remove_file(p.path(&format!("changes/{ALPHA}/.status.json"))).unwrap()
        } else {
            |p| fs::remove_file(p.path(&format!("changes/{ALPHA}/goal-plan.md"))).unwrap()
        };
        left_alone(meddle, path, "moved or deleted");
    }
}

#[test]
fn file_that_became_a_link() {
    left_alone(
        |p| {
            let path = p.path(&format!("changes/{ALPHA}/.status.json"));
            fs::rename(&path, p.dir.path().join("outside.json")).unwrap();
            std::os::unix::fs::symlink(p.dir.path().join("outside.json"), path).unwrap();
        },
        ".status.json",
        "moved or deleted",
    );
}

const SECOND: &str = "\n## Migration History\n";

fn add_second_section(project: &Project, path: &str) {
    let text = if project.path(path).exists() { project.text(path) } else { String::new() };
    project.write(path, format!("{text}{SECOND}"));
}

#[test]
fn history_whose_section_stands_twice() {
    left_alone(
        |p| add_second_section(p, &format!("changes/{ALPHA}/HISTORY.md")),
        "HISTORY.md",
        "its history cannot be read: section `## Migration History` stands twice",
    );
    // In an Evidence file of the run, and in one that is none of its files.
    let project = with_evidence();
    let before = project.state();
    project.done(&[]);
    add_second_section(&project, &format!("changes/{ALPHA}/evidence/T-01.md"));
    let after = project.state();
    let ran = project.run(&["restore"]);
    assert_eq!(ran.code, Some(4), "{ran}");
    assert!(ran.stderr.contains("evidence/T-01.md: its history cannot be read"), "{ran}");
    for (path, content) in project.state() {
        let wanted = if path.contains(ALPHA) { &after } else { &before };
        assert_eq!(wanted.get(&path), Some(&content), "{path}");
    }

    let (project, before) = upgraded();
    let other = format!("changes/{ALPHA}/evidence/T-09.md");
    project.write(&other, format!("# Evidence\n{SECOND}{SECOND}"));
    project.done(&["restore"]);
    let mut now = project.state();
    now.retain(|path, _| !path.ends_with("T-09.md") && !path.ends_with("evidence"));
    super::assert_same(&before, &now);
}

#[test]
fn history_whose_section_stood_twice_before_a_run_that_did_not_touch_it() {
    let project = Project::new();
    project.done(&[]);
    let new = "2026-01-04-new";
    project.write(&format!("changes/{new}/.status.json"), super::status(new));
    add_second_section(&project, "HISTORY.md");
    project.commit();
    let before = project.state();
    project.done(&[]);
    assert!(project.text(&format!("changes/{new}/HISTORY.md")).contains("\"seq\":2,"));
    project.done(&["restore"]);
    super::assert_same(&before, &project.state());
}

#[test]
fn newest_run_whose_history_cannot_be_read_is_still_the_newest() {
    let (project, _) = upgraded();
    project.commit();
    let new = "2026-01-04-new";
    project.write(&format!("changes/{new}/.status.json"), super::status(new));
    project.commit();
    project.done(&[]);
    add_second_section(&project, &format!("changes/{new}/HISTORY.md"));
    let before = project.snapshot();
    let ran = project.run(&["restore"]);
    assert_eq!(ran.code, Some(4), "{ran}");
    assert!(ran.stderr.contains("(number 2): nothing was restored"), "{ran}");
    super::assert_same(&before, &project.snapshot());
    // And the next run is the third.
    let newer = "2026-01-05-newer";
    project.write(&format!("changes/{newer}/.status.json"), super::status(newer));
    project.run(&["--partial", "--allow-dirty"]);
    assert!(project.text(&format!("changes/{newer}/HISTORY.md")).contains("\"seq\":3,"));
}

#[test]
fn change_that_was_moved_to_the_archive() {
    let project = Project::new();
    project.write("status.json", "{\"schema_version\": 5, \"workflow\": \"specdev\", \"active\": [{\"change\": \"2026-01-03-beta\"}], \"archived\": []}\n");
    project.commit();
    project.done(&[]);
    fs::create_dir_all(project.path("archive/2026-01")).unwrap();
    fs::rename(project.path(&format!("changes/{ALPHA}")), project.path(&format!("archive/2026-01/{ALPHA}")))
        .unwrap();
    let sealed = snapshot(&project.path("archive"));
    let ran = project.run(&["restore"]);
    super::assert_same(&sealed, &snapshot(&project.path("archive")));
    // Its own history went with it, so that only its absence is known; the others are back.
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stderr.starts_with("note: the run wrote more files than its history still names"), "{ran}");
    assert_eq!(project.json("config.json")["schema_version"], 3);
    assert_eq!(project.text(&format!("changes/{BETA}/.status.json")), super::status(BETA));
}

#[test]
fn index_that_was_edited_keeps_everything() {
    let (project, _) = upgraded();
    project.edit("status.json", "\"archived\": []", "\"archived\": [\"2025-12-01-old\"]");
    let before = project.snapshot();
    let ran = project.run(&["restore"]);
    assert_eq!(ran.code, Some(4), "{ran}");
    assert!(ran.stderr.contains("speculo/.speculo/specdev/status.json: was edited"), "{ran}");
    assert!(ran.stderr.contains("nothing was restored"), "{ran}");
    super::assert_same(&before, &project.snapshot());
}

#[test]
fn index_whose_history_is_gone_keeps_everything() {
    let (project, _) = upgraded();
    fs::remove_file(project.path("HISTORY.md")).unwrap();
    let before = project.snapshot();
    let ran = project.run(&["restore"]);
    assert_eq!(ran.code, Some(4), "{ran}");
    assert!(ran.stderr.contains("index cannot be restored"), "{ran}");
    super::assert_same(&before, &project.snapshot());
}

fn with_evidence() -> Project {
    let project = Project::new();
    let record = r#"{"ticket_id": "T-01", "owner": "A", "provider": "git", "base_sha": "0123456", "branch": "b",
      "workspace_ref": "specdev-worktree/T-01", "status": "removed", "updated_at": "2026-01-02"}"#;
    project.edit(
        &format!("changes/{ALPHA}/.status.json"),
        "\"deviations\": []",
        &format!("\"deviations\": [], \"worktrees\": [{record}]"),
    );
    project.write(&format!("changes/{ALPHA}/evidence/T-01.md"), "# Evidence\n\ntext");
    project.write("status.json", "{\"schema_version\": 5, \"workflow\": \"specdev\", \"active\": [{\"change\": \"2026-01-02-alpha\"}, {\"change\": \"2026-01-03-beta\"}], \"archived\": []}\n");
    project.commit();
    project
}

#[test]
fn evidence_is_restored_too() {
    let project = with_evidence();
    let before = project.state();
    project.done(&[]);
    assert!(project.text(&format!("changes/{ALPHA}/evidence/T-01.md")).contains("## Migration History"));
    project.done(&["restore"]);
    super::assert_same(&before, &project.state());
}

#[test]
fn evidence_line_without_its_twin_stops_its_change() {
    let project = with_evidence();
    let before = project.state();
    project.done(&[]);
    fs::remove_file(project.path(&format!("changes/{ALPHA}/HISTORY.md"))).unwrap();
    let after = project.state();
    let ran = project.run(&["restore"]);
    assert_eq!(ran.code, Some(4), "{ran}");
    assert!(ran.stderr.contains(&format!("changes/{ALPHA}/HISTORY.md")), "{ran}");
    for (path, content) in project.state() {
        let wanted = if path.contains(ALPHA) { &after } else { &before };
        assert_eq!(wanted.get(&path), Some(&content), "{path}");
    }
}

#[test]
fn run_without_a_repository() {
    let project = Project::without_git();
    let before = project.snapshot();
    project.done(&[]);
    project.done(&["restore"]);
    super::assert_same(&before, &project.snapshot());
}

#[test]
fn in_a_clone_with_other_line_ends() {
    let project = Project::new();
    project.write(&format!("changes/{BETA}/goal-plan.md"), super::plan(BETA).replace('\n', "\r\n"));
    fs::write(project.top.join(".gitattributes"), "").unwrap();
    project.commit();
    let before = project.state();
    project.done(&[]);
    project.commit();
    let clone = project.dir.path().join("clone");
    let cloned = super::git(
        project.dir.path(),
        &["-c", "core.autocrlf=true", "clone", "-q", "-c", "core.autocrlf=true", "repo", "clone"],
    );
    assert!(cloned.status.success(), "{cloned:?}");
    let state = clone.join(super::SPECDEV);
    assert!(fs::read_to_string(state.join("config.json")).unwrap().contains("\r\n"));
    let run = |args: &[&str]| Ran::of(&mut command(&clone, args));
    let ran = run(&["history", "verify"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let ran = run(&["--check"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let ran = run(&["restore"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let mut now = snapshot(&state);
    let mut then = before;
    for all in [&mut now, &mut then] {
        all.values_mut().for_each(|(mode, _)| *mode = mode[..mode.len() - 3].to_owned());
    }
    super::assert_same(&then, &now);
}

#[test]
fn quiet_and_as_a_document() {
    let (project, _) = upgraded();
    let ran = project.done(&["restore", "-q"]);
    assert!(ran.stdout.is_empty() && ran.stderr.is_empty(), "{ran}");
    let ran = project.done(&["restore", "--format", "json"]);
    assert_eq!(ran.json()["files"], serde_json::json!([]));
}
