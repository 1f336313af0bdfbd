//! What files are beside their bytes: modes, groups, owners; and the names of what a run needs meanwhile.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use super::{ALPHA, BETA, Nobody, Project, Ran, can_be_others, clean, different};

fn with_umask(project: &Project, umask: &str, args: &[&str]) -> Ran {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\""), super::BIN]).args(args);
    clean(&mut shell, &project.root);
    Ran::of(&mut shell)
}

/// Modes by path below `specdev/`.
const MODES: [(&str, u32); 5] = [
    ("config.json", 0o644),
    ("status.json", 0o664),
    ("changes/2026-01-02-alpha/.status.json", 0o600),
    ("changes/2026-01-02-alpha/goal-plan.md", 0o755),
    ("changes/2026-01-03-beta/.status.json", 0o444),
];

fn with_modes() -> Project {
    let project = Project::new();
    for (path, mode) in MODES {
        project.set_mode(path, mode);
    }
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "modes"]);
    project
}

#[test]
fn modes_are_kept_and_new_files_follow_the_umask() {
    for (umask, new) in [("027", 0o640), ("022", 0o644), ("000", 0o666), ("077", 0o600)] {
        let project = with_modes();
        let ran = with_umask(&project, umask, &[]);
        assert_eq!(ran.code, Some(0), "{ran}");
        for (path, mode) in MODES {
            assert_eq!(project.mode(path), mode, "{path}");
        }
        for path in
            ["HISTORY.md", &format!("changes/{ALPHA}/HISTORY.md"), &format!("changes/{BETA}/HISTORY.md")]
        {
            assert_eq!(project.mode(path), new, "{path} {umask}");
        }
        assert_eq!(project.git(&["diff", "--summary"]), "", "{umask}");
        // And back again.
        let ran = with_umask(&project, umask, &["restore"]);
        assert_eq!(ran.code, Some(0), "{ran}");
        for (path, mode) in MODES {
            assert_eq!(project.mode(path), mode, "{path}");
        }
        assert_eq!(project.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn group_of_a_folder_that_hands_it_on() {
    if !can_be_others() {
        return;
    }
    let project = Project::new();
    let folder = project.path(&format!("changes/{ALPHA}"));
    let chown = Command::new("chown").arg(":12345").arg(&folder).status();
    assert!(chown.unwrap().success());
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o2775)).unwrap();
    let group = |path: &str| project.path(path).metadata().unwrap().gid();
    let (was, config) = (group(&format!("changes/{ALPHA}/.status.json")), group("config.json"));
    project.done(&[]);
    // A changed file keeps its own group, a new one gets the folder's.
    assert_eq!(group(&format!("changes/{ALPHA}/.status.json")), was);
    assert_eq!(group(&format!("changes/{ALPHA}/HISTORY.md")), 12345);
    assert_eq!((group("config.json"), group("HISTORY.md")), (config, config));
    assert_eq!(folder.metadata().unwrap().mode() & 0o7777, 0o2775);
}

#[test]
fn owner_of_a_file_is_kept() {
    if !can_be_others() {
        return;
    }
    let project = Project::new();
    let chown = Command::new("chown").arg("4321:12345").arg(project.path("config.json")).status();
    assert!(chown.unwrap().success());
    project.done(&[]);
    let meta = project.path("config.json").metadata().unwrap();
    assert_eq!((meta.uid(), meta.gid()), (4321, 12345));
}

#[test]
fn untouched_files_keep_their_times_and_inodes() {
    let project = Project::new();
    project.done(&["--to", "0.7.3"]);
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "0.7.3"]);
    let facts = |path: &str| {
        let meta = project.path(path).metadata().unwrap();
        (meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.ctime_nsec())
    };
    let paths = ["config.json", "status.json", "changes/2026-01-03-beta/.status.json", "HISTORY.md"];
    let before = paths.map(facts);
    project.done(&[]);
    assert_eq!(before, paths.map(facts));
    assert!(project.text(&format!("changes/{ALPHA}/goal-plan.md")).contains("schema_version: 8"));
}

// ---- names of what a run needs meanwhile ------------------------------------------------------------

#[test]
fn temporary_folder_of_the_system_is_not_used() {
    for value in ["/dev/shm", "/nonexistent", "", "relative", "/dev/null"] {
        let project = Project::new();
        let ran = Ran::of(project.command(&[]).env("TMPDIR", value));
        assert_eq!(ran.code, Some(0), "{value:?} {ran}");
        assert_eq!(project.git(&["status", "--porcelain"]).lines().count(), 8);
    }
}

#[test]
fn files_of_the_user_under_names_like_ours_stay() {
    let project = Project::new();
    let names = [
        "config.json.bak",
        "config.json.tmp",
        "config.json.specdev-old",
        "config.json~",
        ".config.json.swp",
        ".specdev-migrate.lock",
        ".specdev-migrate/lock",
        "specdev-migrate.lock",
        "lock",
        "journal",
    ];
    for name in names {
        project.write(name, "mine\n");
        project.write(&format!("changes/{ALPHA}/{name}"), "mine\n");
    }
    for name in [".specdev-migrate.lock", ".specdev-migrate/x"] {
        fs::create_dir_all(project.top.join(".specdev-migrate")).unwrap();
        fs::write(project.top.join(name), "mine\n").unwrap();
    }
    fs::write(project.top.join(".git/specdev-migrate"), "mine\n").unwrap();
    project.commit();
    let before = project.snapshot();
    project.done(&[]);
    let changed = different(&before, &project.snapshot());
    assert_eq!(changed.len(), 8, "{changed:?}");
    project.done(&["restore"]);
    super::assert_same(&before, &project.snapshot());
}

#[test]
fn nothing_is_left_behind_by_a_run() {
    for project in [Project::new(), Project::without_git()] {
        let before = project.snapshot();
        project.done(&[]);
        let changed = different(&before, &project.snapshot());
        assert_eq!(changed.len(), 8, "{changed:?}");
    }
}

#[test]
fn lock_of_the_user_in_the_place_of_ours_is_not_taken_away() {
    let project = Project::without_git();
    fs::write(project.top.join(".specdev-migrate"), "mine\n").unwrap();
    let ran = project.refused(&[], 1, &[".specdev-migrate", "nothing was changed"]);
    assert!(!ran.stderr.contains("specdev-migrate recover"), "{ran}");
}

// ---- what may not be written ------------------------------------------------------------------------

/// The next command shows the folder that must be writable, from wherever it is typed.
#[track_caller]
fn shows_folder(project: &Project, ran: &Ran, folder: &Path) {
    let line = ran.stderr.lines().find_map(|line| line.trim().strip_prefix("next: ")).unwrap();
    let shown = super::shell(project.dir.path(), line);
    assert_eq!(shown.code, Some(0), "{line} {shown}");
    assert!(shown.text().starts_with("dr-x") && shown.text().lines().count() == 1, "{line} {shown}");
    assert!(shown.text().trim_end().ends_with(&folder.display().to_string()), "{line} {shown}");
}

#[test]
fn folder_that_may_not_be_written_to() {
    if !can_be_others() {
        return;
    }
    let project = Project::new();
    let nobody = Nobody::takes(&project);
    project.set_mode(&format!("changes/{BETA}"), 0o555);
    let before = project.snapshot();
    let ran = nobody.run(&[]);
    assert_eq!(ran.code, Some(1), "{ran}");
    for needle in
        [&format!("speculo/.speculo/specdev/changes/{BETA}/"), "ermission denied", "nothing was changed"]
    {
        assert!(ran.stderr.contains(needle), "{needle} {ran}");
    }
    shows_folder(&project, &ran, &project.path(&format!("changes/{BETA}")));
    super::assert_same(&before, &project.snapshot());
    project.set_mode(&format!("changes/{BETA}"), 0o755);
    assert_eq!(nobody.run(&[]).code, Some(0));
}

#[test]
fn file_that_may_not_be_read() {
    if !can_be_others() {
        return;
    }
    let project = Project::new();
    let nobody = Nobody::takes(&project);
    project.set_mode("config.json", 0o000);
    let before = project.snapshot();
    for args in [&[][..], &["--dry-run"]] {
        let ran = nobody.run(args);
        assert_eq!(ran.code, Some(6), "{ran}");
        assert!(ran.stderr.contains("speculo/.speculo/specdev/config.json"), "{ran}");
        super::assert_same(&before, &project.snapshot());
    }
}

#[test]
fn folder_of_git_that_may_not_be_written_to() {
    if !can_be_others() {
        return;
    }
    let project = Project::new();
    let nobody = Nobody::takes(&project);
    fs::set_permissions(project.top.join(".git"), fs::Permissions::from_mode(0o555)).unwrap();
    let before = project.snapshot();
    let ran = nobody.run(&[]);
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stderr.contains("nothing was changed"), "{ran}");
    shows_folder(&project, &ran, &project.top.join(".git"));
    super::assert_same(&before, &project.snapshot());
}

#[test]
fn file_with_two_names() {
    let project = Project::new();
    fs::hard_link(project.path("config.json"), project.path("second-name.json")).unwrap();
    let ran = project.refused(
        &[],
        1,
        &["speculo/.speculo/specdev/config.json", "names of one file", "nothing was changed"],
    );
    let line = ran.stderr.lines().find(|line| line.contains("next:")).unwrap();
    let followed = super::shell(&project.root, line.trim().trim_start_matches("next:").trim());
    assert_eq!(followed.code, Some(0), "{followed}");
    project.done(&[]);
}
