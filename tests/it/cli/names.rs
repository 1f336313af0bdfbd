//! Names that state files hold are not trusted: no name leads out of the project, becomes an option of
//! git, or is taken for another's.

use std::fs;
use std::process::Command;

use super::{ALPHA, BETA, Project, has};

const BAD: [&str; 14] = [
    "../../outside",
    "/etc/x",
    "..",
    ".",
    "",
    "a/b",
    "a\\\\b",
    "2026-01-02-x\\n",
    "2026-01-02-x\\u0000",
    "CON",
    "-rf",
    "--upload-pack=touch x",
    "2026-01-02-X",
    "2026-01-02-alpha/../2026-01-03-beta",
];

fn long() -> String {
    format!("2026-01-02-{}", "a".repeat(300))
}

/// What would be outside is laid out, so that reading it would show.
fn project() -> Project {
    let project = Project::new();
    let outside = project.root.join("speculo/outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join(".status.json"), super::status(ALPHA)).unwrap();
    project
}

#[test]
fn change_field() {
    for name in BAD.iter().map(ToString::to_string).chain([long(), BETA.into()]) {
        let project = project();
        let from = format!("\"change\": \"{ALPHA}\"");
        project.edit(&format!("changes/{ALPHA}/.status.json"), &from, &format!("\"change\": \"{name}\""));
        let before = project.snapshot();
        let ran = project.run(&[]);
        assert!(matches!(ran.code, Some(4 | 6)), "{name:?} {ran}");
        let place = format!("changes/{ALPHA}/.status.json:4:");
        assert!(ran.stderr.contains(&place) && ran.stderr.contains("/change"), "{name:?} {ran}");
        super::assert_same(&before, &project.snapshot());
        // The other change is not drawn into it.
        let ran = project.run(&["--partial", "--allow-dirty"]);
        assert!(matches!(ran.code, Some(4 | 6)), "{name:?} {ran}");
        assert_eq!(project.json(&format!("changes/{BETA}/.status.json"))["schema_version"], 5, "{name:?}");
        assert!(project.text(&format!("changes/{ALPHA}/.status.json")).contains("\"schema_version\": 3"));
    }
}

#[test]
fn change_field_of_a_goal_plan() {
    for name in ["../../outside", "2026-01-03-beta", "''", "-rf", "/etc/x"] {
        let project = project();
        let path = format!("changes/{ALPHA}/goal-plan.md");
        project.edit(&path, &format!("change: {ALPHA}"), &format!("change: {name}"));
        let before = project.snapshot();
        let ran = project.run(&[]);
        assert!(matches!(ran.code, Some(4 | 6)), "{name:?} {ran}");
        assert!(ran.stderr.contains(&path), "{name:?} {ran}");
        super::assert_same(&before, &project.snapshot());
    }
}

#[test]
fn names_in_the_index() {
    for name in BAD.iter().map(ToString::to_string).chain([long()]) {
        for (from, to) in [
            (format!("{{\"change\": \"{BETA}\""), format!("{{\"change\": \"{name}\"")),
            ("\"archived\": []".into(), format!("\"archived\": [\"{name}\"]")),
        ] {
            let project = project();
            project.edit("status.json", &from, &to);
            let before = project.snapshot();
            let ran = project.run(&[]);
            assert!(matches!(ran.code, Some(4 | 6)), "{name:?} {ran}");
            assert!(ran.stderr.contains("speculo/.speculo/specdev/status.json:"), "{name:?} {ran}");
            super::assert_same(&before, &project.snapshot());
        }
    }
}

#[test]
fn folder_names() {
    for name in
        ["CON", "-rf", "2026-01-02-X", "2026-01-02", "a b", "2026-01-02-x\ny", "é", "2026-01-02-a--b", "..."]
    {
        let project = project();
        project.write(&format!("changes/{name}/.status.json"), super::status(ALPHA));
        let before = project.snapshot();
        let ran = project.run(&[]);
        assert_eq!(ran.code, Some(4), "{name:?} {ran}");
        assert!(ran.stderr.contains("invalid-change-name") && ran.stderr.contains("YYYY-MM-DD"), "{ran}");
        super::assert_same(&before, &project.snapshot());
        // Without a status it is nobody's.
        fs::remove_file(project.path(&format!("changes/{name}/.status.json"))).unwrap();
        let ran = project.done(&["--dry-run"]);
        assert!(ran.stderr.contains("unmanaged-folder"), "{ran}");
    }
}

#[test]
fn folder_name_that_is_no_text() {
    let project = project();
    let name: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"2026-01-02-caf\xe9");
    let folder = project.path("changes").join(name);
    fs::create_dir(&folder).unwrap();
    project.done(&["--dry-run"]);
    fs::write(folder.join(".status.json"), super::status(ALPHA)).unwrap();
    project.refused(&[], 4, &["invalid-change-name"]);
}

#[test]
fn longest_folder_name() {
    let project = Project::new();
    let name = format!("2026-01-02-{}", "a".repeat(244));
    project.write(&format!("changes/{name}/.status.json"), super::status(&name));
    project.commit();
    project.done(&[]);
    assert_eq!(project.json(&format!("changes/{name}/.status.json"))["schema_version"], 5);
}

#[test]
fn archive_path() {
    for path in ["../../outside", "/etc/x", "specdev/archive/../../../outside", "specdev/archive/<x>/"] {
        let project = project();
        let status = format!("changes/{ALPHA}/.status.json");
        project.edit(&status, "\"archive_path\": null", &format!("\"archive_path\": \"{path}\""));
        let before = project.snapshot();
        let ran = project.run(&[]);
        assert!(matches!(ran.code, Some(4 | 6)), "{path:?} {ran}");
        assert!(ran.stderr.contains(&status) && ran.stderr.contains("archive_path"), "{path:?} {ran}");
        super::assert_same(&before, &project.snapshot());
    }
}

fn with_record(project: &Project, workspace: &str, branch: &str) -> String {
    let status = format!("changes/{ALPHA}/.status.json");
    let record = format!(
        r#"{{"ticket_id": "T-01", "owner": "A", "provider": "git", "base_sha": "--all", "branch": "{branch}",
      "workspace_ref": "{workspace}", "status": "removed", "updated_at": "2026-01-02"}}"#
    );
    project.edit(&status, "\"deviations\": []", &format!("\"deviations\": [], \"worktrees\": [{record}]"));
    project.commit();
    status
}

#[test]
fn workspace_of_a_record() {
    for path in
        ["specdev-worktree/../../x", "../x", "/etc", "specdev-worktree/T-01/..", "C:\\\\x\\\\..", "x\\u0000y"]
    {
        let project = project();
        let status = with_record(&project, path, "b");
        let before = project.snapshot();
        let ran = project.run(&[]);
        assert!(matches!(ran.code, Some(4 | 6)), "{path:?} {ran}");
        assert!(ran.stderr.contains(&status) && ran.stderr.contains("workspace_ref"), "{path:?} {ran}");
        super::assert_same(&before, &project.snapshot());
    }
}

#[test]
fn ticket_of_a_record() {
    for ticket in ["../../../x", "T-01/../..", "-rf", "t-01", "T-1", ""] {
        let project = project();
        let status = with_record(&project, "specdev-worktree/T-01", "b");
        project.edit(&status, "\"ticket_id\": \"T-01\"", &format!("\"ticket_id\": \"{ticket}\""));
        project.commit();
        project.refused_in_all_modes(6, &["schema-violation", &status, "ticket_id"]);
    }
}

#[test]
fn nothing_outside_is_opened_and_no_name_reaches_git_as_an_option() {
    if !has("strace") {
        return;
    }
    let project = project();
    with_record(&project, "specdev-worktree/T-01", "--output=/tmp/specdev-migrate-was-here");
    project.write("changes/-rf/.status.json", super::status(ALPHA));
    project.edit("status.json", &format!("{{\"change\": \"{BETA}\""), "{\"change\": \"../../../outside\"");
    let log = project.dir.path().with_extension("strace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-s", "4096", "-e", "trace=openat,open,execve,creat", "-o"]).arg(&log);
    super::clean(strace.arg(super::BIN).arg("--dry-run"), &project.root);
    let ran = super::Ran::of(&mut strace);
    assert!(matches!(ran.code, Some(4 | 6)), "{ran}");
    let text = fs::read_to_string(&log).unwrap();
    fs::remove_file(&log).unwrap();
    assert!(text.contains("speculo/.speculo/specdev/status.json"), "{text}");
    assert!(!text.contains("outside"), "{text}");
    assert!(text.contains("execve"), "{text}");
    for line in text.lines().filter(|line| line.contains("execve(")) {
        for name in ["\"--all", "\"--output", "\"-rf\""] {
            assert!(!line.contains(name), "{line}");
        }
    }
}
