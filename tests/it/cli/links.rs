//! Links, pipes, sockets and folders where a file or folder of ours should be: refused at once, with the
//! target named, and never followed, replaced or waited for.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use super::{ALPHA, BETA, Project, Ran, SPECDEV, STATE};

/// A second is what it may take; a busy machine gets more, and a pipe that is waited for takes for ever.
const LIMIT: Duration = Duration::from_secs(5);

const FILES: [&str; 7] = [
    "config.json",
    "status.json",
    "changes/2026-01-02-alpha/.status.json",
    "changes/2026-01-02-alpha/goal-plan.md",
    "changes/2026-01-02-alpha/README.md",
    "changes/2026-01-02-alpha/HISTORY.md",
    "changes/2026-01-02-alpha/evidence/T-01.md",
];

fn with_everything() -> Project {
    let project = Project::new();
    for path in FILES {
        if !project.path(path).exists() {
            project.write(path, "# Text\n");
        }
    }
    project.write("HISTORY.md", "# Text\n");
    project.commit();
    project
}

/// Everything is refused, quickly, and what lies outside is not even read.
#[track_caller]
fn refuses(project: &Project, code: &str, place: &str, needle: &str) {
    project.refused_in_all_modes(4, &[code, place, needle]);
    let ran = project.run(&[]);
    assert!(ran.took < LIMIT, "{:?}", ran.took);
    assert!(ran.stderr.contains("next:"), "{ran}");
    for args in [&["status"][..], &["validate"], &["decisions"], &["history", "list"], &["restore"]] {
        let before = project.snapshot();
        let ran = project.run(args);
        assert!(ran.took < LIMIT, "{args:?} {:?}", ran.took);
        super::assert_same(&before, &project.snapshot());
    }
}

#[test]
fn links_in_the_place_of_files() {
    for path in FILES.into_iter().chain(["HISTORY.md"]) {
        let project = with_everything();
        let moved = project.dir.path().join("outside");
        fs::rename(project.path(path), &moved).unwrap();
        symlink(&moved, project.path(path)).unwrap();
        let shown = format!("{SPECDEV}/{path}");
        refuses(&project, "symlink", &shown, moved.to_str().unwrap());
    }
}

#[test]
fn partial_leaves_a_change_with_something_odd_in_it() {
    let makers: [fn(&Path); 3] =
        [|path| symlink("../../nowhere", path).unwrap(), pipe, |path| fs::create_dir(path).unwrap()];
    for path in ["goal-plan.md", "README.md", "HISTORY.md", "evidence", "evidence/T-01.md"] {
        for make in makers {
            let project = Project::new();
            let odd = project.path(&format!("changes/{ALPHA}/{path}"));
            let is_there = odd.exists();
            if is_there {
                fs::rename(&odd, project.dir.path().join("aside")).unwrap();
            }
            fs::create_dir_all(odd.parent().unwrap()).unwrap();
            make(&odd);
            // A folder is no odd thing where a folder belongs.
            if path == "evidence" && odd.is_dir() {
                continue;
            }
            let before = project.snapshot();
            let old = project.text(&format!("changes/{ALPHA}/.status.json"));
            let ran = project.run(&["--partial", "--allow-dirty"]);
            assert_eq!(ran.code, Some(4), "{path} {ran}");
            assert!(ran.stderr.contains(&format!("left as they are: {ALPHA}")), "{path} {ran}");
            assert_eq!(project.text(&format!("changes/{ALPHA}/.status.json")), old);
            assert_eq!(project.json(&format!("changes/{BETA}/.status.json"))["schema_version"], 5);
            // What the index says of the change stays there.
            assert_eq!(project.json("status.json")["active"][0]["current_work"], "specdev/I-implement");
            project.done(&["restore"]);
            super::assert_same(&before, &project.snapshot());

            let gone = if odd.is_dir() { fs::remove_dir(&odd) } else { fs::remove_file(&odd) };
            gone.unwrap();
            if is_there {
                fs::rename(project.dir.path().join("aside"), &odd).unwrap();
            }
            project.done(&["--allow-dirty"]);
            let status = project.json(&format!("changes/{ALPHA}/.status.json"));
            assert_eq!(status["current_work"], "specdev/I-implement");
        }
    }
}

#[test]
fn links_of_every_kind() {
    let targets: [(&str, fn(&Project)); 5] = [
        ("../shared/config.json", |p| p.write("../shared/config.json", super::CONFIG)),
        ("/nonexistent/outside.json", |_| ()),
        ("missing.json", |_| ()),
        ("config.json", |_| ()),
        ("changes", |_| ()),
    ];
    for (target, prepare) in targets {
        let project = Project::new();
        prepare(&project);
        fs::remove_file(project.path("config.json")).unwrap();
        symlink(target, project.path("config.json")).unwrap();
        refuses(&project, "symlink", "speculo/.speculo/specdev/config.json", target);
    }
}

#[test]
fn links_in_the_place_of_folders() {
    for path in [
        "speculo",
        STATE,
        SPECDEV,
        "changes",
        "changes/2026-01-02-alpha",
        "changes/2026-01-02-alpha/evidence",
    ] {
        let project = with_everything();
        let from = if path.starts_with("speculo") { project.root.join(path) } else { project.path(path) };
        let outside = project.dir.path().join("outside");
        fs::rename(&from, &outside).unwrap();
        symlink(&outside, &from).unwrap();
        let shown = from.strip_prefix(&project.root).unwrap().to_str().unwrap().to_owned();
        refuses(&project, "symlink", &format!("{shown}: "), outside.to_str().unwrap());
    }
}

#[test]
fn state_root_that_is_a_link_to_nowhere() {
    let project = Project::new();
    fs::remove_dir_all(project.root.join(STATE)).unwrap();
    symlink("/nonexistent/state", project.root.join(STATE)).unwrap();
    refuses(&project, "symlink", STATE, "/nonexistent/state");
}

#[test]
fn state_root_of_the_workspace_that_is_a_link() {
    let project = Project::new();
    fs::rename(project.root.join(SPECDEV), project.root.join(STATE).join("real")).unwrap();
    fs::create_dir(project.dir.path().join("outside")).unwrap();
    fs::rename(project.root.join(STATE).join("real"), project.dir.path().join("outside/specdev")).unwrap();
    symlink("../outside", project.root.join("state")).unwrap();
    let workspace = project.root.join(STATE).join("workspace.json");
    fs::write(&workspace, "{\"roots\": {\"state\": \"state\"}}").unwrap();
    refuses(&project, "symlink", "state: ", "../outside");
    // The file itself may be no link either.
    fs::rename(&workspace, project.root.join("w.json")).unwrap();
    symlink("../../w.json", &workspace).unwrap();
    refuses(&project, "symlink", "speculo/.speculo/workspace.json", "../../w.json");
}

#[test]
fn pipes_sockets_and_folders_in_the_place_of_files() {
    let makers: [(&str, fn(&Path)); 3] = [
        ("a special file", pipe),
        ("a special file", |path| drop(UnixListener::bind(path).unwrap())),
        ("a folder", |path| fs::create_dir(path).unwrap()),
    ];
    for (what, make) in makers {
        for path in FILES {
            let project = with_everything();
            fs::remove_file(project.path(path)).unwrap();
            make(&project.path(path));
            refuses(&project, "special-file", &format!("{SPECDEV}/{path}"), what);
        }
    }
}

#[test]
fn pipes_and_files_in_the_place_of_folders() {
    let makers: [(&str, fn(&Path)); 2] =
        [("a special file", pipe), ("a file", |p| fs::write(p, "x").unwrap())];
    for (what, make) in makers {
        for path in [SPECDEV, "changes", "changes/2026-01-02-alpha", "changes/2026-01-02-alpha/evidence"] {
            let project = with_everything();
            let at = if path == SPECDEV { project.root.join(path) } else { project.path(path) };
            fs::remove_dir_all(&at).unwrap();
            make(&at);
            let shown = at.strip_prefix(&project.root).unwrap().to_str().unwrap().to_owned();
            refuses(&project, "special-file", &shown, what);
        }
    }
}

#[test]
fn workspace_that_is_a_pipe() {
    let project = Project::new();
    pipe(&project.root.join(STATE).join("workspace.json"));
    refuses(&project, "special-file", "speculo/.speculo/workspace.json", "a special file");
}

#[test]
fn pipes_beside_the_state_are_not_waited_for() {
    let project = Project::new();
    for name in ["../install.json", "../migration.json", "archive", "notes"] {
        pipe(&project.path(name));
    }
    pipe(&project.path(&format!("changes/{ALPHA}/implementation-plan.md")));
    pipe(&project.path(&format!("changes/{ALPHA}/ticket")));
    let ran = project.run(&["--dry-run"]);
    assert!(ran.took < LIMIT, "{ran}");
    assert_eq!(ran.code, Some(0), "{ran}");
}

#[test]
fn with_partial_a_linked_change_is_left_and_the_others_are_done() {
    let project = Project::new();
    let folder = project.path(&format!("changes/{ALPHA}"));
    let outside = project.dir.path().join("outside");
    fs::rename(&folder, &outside).unwrap();
    symlink(&outside, &folder).unwrap();
    let ran = project.run(&["--partial", "--allow-dirty"]);
    assert_eq!(ran.code, Some(4), "{ran}");
    assert!(fs::read_to_string(outside.join(".status.json")).unwrap().contains("\"schema_version\": 3"));
    assert_eq!(project.json("changes/2026-01-03-beta/.status.json")["schema_version"], 5);
    assert!(folder.symlink_metadata().unwrap().is_symlink());
}

#[test]
fn links_that_lead_to_the_project_are_no_obstacle() {
    let project = Project::new();
    symlink("repo/speculo", project.dir.path().join("link")).unwrap();
    let ran = Ran::of(&mut super::command(project.dir.path(), &["link/.speculo"]));
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(project.json("config.json")["schema_version"], 4);
}

fn pipe(path: &Path) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    )
    .unwrap();
}
