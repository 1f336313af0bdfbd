//! Where the project is: odd names, folders inside, sub-folders of a repository, other state roots.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::{ALPHA, Project, Ran, SPECDEV, STATE, command, status};

/// Upgrades from this folder and checks that everything is new.
fn upgrades_from(project: &Project, folder: &str, args: &[&str]) {
    let ran = Ran::of(&mut command(&project.root.join(folder), args));
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(project.json("config.json")["schema_version"], 4, "{ran}");
    assert_eq!(project.json(&format!("changes/{ALPHA}/.status.json"))["schema_version"], 5);
    assert_eq!(project.done(&["--check"]).code, Some(0));
}

#[test]
fn from_the_root_and_from_every_folder_inside() {
    for folder in
        ["", "src/deep", "speculo", STATE, SPECDEV, "speculo/.speculo/specdev/changes/2026-01-02-alpha"]
    {
        let project = Project::new();
        fs::create_dir_all(project.root.join("src/deep")).unwrap();
        upgrades_from(&project, folder, &[]);
    }
}

#[test]
fn by_path_to_root_folder_file_and_state_root() {
    for path in ["repo", "repo/src/deep", "repo/speculo/.speculo", "repo/src/deep/file.txt", "link"] {
        let project = Project::new();
        fs::create_dir_all(project.root.join("src/deep")).unwrap();
        fs::write(project.root.join("src/deep/file.txt"), "x").unwrap();
        symlink("repo", project.dir.path().join("link")).unwrap();
        upgrades_from(&project, "..", &[path]);
    }
}

#[test]
fn project_below_the_top_level_under_odd_names() {
    for name in
        ["a b", "é", "tab\there", "quo\"te", "back\\slash", "line\nend", "'single'", "-rf", "$(touch x)"]
    {
        let project = Project::bare("repo", name);
        project.fill();
        project.commit();
        let preview = project.done(&["--dry-run"]);
        project.done(&[]);
        let changed = project.git(&["-c", "core.quotePath=false", "status", "--porcelain", "-z"]);
        assert_eq!(changed.matches('\0').count(), 8, "{changed:?}");
        assert!(
            changed.split('\0').filter(|l| !l.is_empty()).all(|l| l[3..].starts_with(name)),
            "{changed:?}"
        );
        // The patch is for the top level of the repository.
        project.git(&["stash", "-q", "-u"]);
        let patch = project.dir.path().join("p.diff");
        fs::write(&patch, &preview.stdout).unwrap();
        project.git(&["apply", patch.to_str().unwrap()]);
        assert_eq!(project.run(&["--check"]).code, Some(0), "{name:?}");
    }
}

#[test]
fn project_in_a_folder_whose_name_is_no_text_is_refused() {
    let project = Project::bare("repo", "");
    let odd = project.top.join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&odd).unwrap();
    let project = Project { root: odd, ..project };
    project.fill();
    project.refused(&[], 2, &["UTF-8"]);
    project.refused(&["--dry-run"], 2, &["UTF-8"]);
}

#[test]
fn repository_below_a_folder_whose_name_is_no_text() {
    let project = Project::new();
    let odd = project.dir.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    fs::rename(&project.top, &odd).unwrap();
    let project = Project { root: odd.clone(), top: odd, ..project };
    upgrades_from(&project, "", &[]);
}

#[test]
fn state_root_by_option() {
    for (folder, args) in [
        ("", ["--state", "elsewhere/state", "."]),
        ("elsewhere", ["--state", "state", ".."]),
        ("elsewhere/state", ["--state", ".", "."]),
    ] {
        let project = Project::bare("repo", "");
        project.fill();
        fs::create_dir(project.root.join("elsewhere")).unwrap();
        fs::rename(project.root.join(STATE), project.root.join("elsewhere/state")).unwrap();
        project.commit();
        let ran = Ran::of(&mut command(&project.root.join(folder), &args));
        assert_eq!(ran.code, Some(0), "{ran}");
        let changed = project.git(&["status", "--porcelain"]);
        assert!(changed.contains(" M elsewhere/state/specdev/config.json\n"), "{changed}");
        assert_eq!(changed.lines().count(), 8, "{changed}");
    }
}

#[test]
fn state_root_by_option_beside_the_default_one() {
    let project = Project::new();
    let old = project.root.join(STATE).join("back/state/specdev");
    fs::create_dir_all(old.join("changes")).unwrap();
    fs::write(old.join("config.json"), super::CONFIG).unwrap();
    let ran = project.done(&["--dry-run", "--state", "speculo/.speculo/back/state"]);
    assert!(ran.text().contains("+++ b/speculo/.speculo/back/state/specdev/config.json\n"), "{ran}");
    assert!(!ran.text().contains("b/speculo/.speculo/specdev/"), "{ran}");
}

#[test]
fn state_root_by_path_alone() {
    let project = Project::bare("repo", "");
    project.fill();
    fs::rename(project.root.join(STATE), project.root.join("state")).unwrap();
    fs::remove_dir(project.root.join("speculo")).unwrap();
    project.commit();
    let ran = Ran::of(&mut project.command(&["state"]));
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(project.git(&["status", "--porcelain"]).contains(" M state/specdev/config.json\n"));
}

#[test]
fn state_root_outside_the_project_is_refused() {
    let project = Project::new();
    fs::create_dir_all(project.dir.path().join("other/specdev/changes")).unwrap();
    project.refused(&["--state", "../other"], 4, &["outside-root", "other"]);
    project.refused(&["--dry-run", "--state", "../other"], 4, &["outside-root"]);
}

#[test]
fn state_root_without_state_is_a_fault_of_the_command_line() {
    let project = Project::new();
    fs::create_dir(project.root.join("empty")).unwrap();
    project.refused(&["--state", "empty"], 2, &["empty", "specdev"]);
    project.refused(&["--state", "missing"], 2, &["missing"]);
}

#[test]
fn state_root_by_workspace() {
    for (root, below) in [("state", "state"), ("./deep/state/", "deep/state"), ("speculo/.speculo", STATE)] {
        let project = Project::bare("repo", "");
        project.fill();
        let workspace = format!(
            "{{\"schema_version\": 1, \"path_base\": \"project-root\", \"roots\": {{\"state\": \"{root}\"}}}}"
        );
        let state = project.root.join(below);
        if below != STATE {
            fs::create_dir_all(&state).unwrap();
            fs::rename(project.root.join(SPECDEV), state.join("specdev")).unwrap();
        }
        fs::write(project.root.join(STATE).join("workspace.json"), workspace).unwrap();
        project.commit();
        project.done(&[]);
        let changed = project.git(&["status", "--porcelain"]);
        assert!(changed.contains(&format!(" M {below}/specdev/config.json\n")), "{changed}");
        // The state root is a way to the project as well.
        let ran = Ran::of(&mut command(&state, &["--check"]));
        assert_eq!(ran.code, Some(0), "{ran}");
        assert!(ran.stderr.contains("nothing to do"), "{ran}");
    }
}

#[test]
fn state_root_by_workspace_that_leads_out_is_refused() {
    for root in ["..", "../other", "a/../../other", "/tmp/other", "", "a\\b"] {
        let project = Project::new();
        let workspace = format!("{{\"roots\": {{\"state\": {root:?}}}}}");
        fs::write(project.root.join(STATE).join("workspace.json"), workspace).unwrap();
        fs::create_dir_all(project.dir.path().join("other/specdev/changes")).unwrap();
        project.refused_in_all_modes(4, &["outside-root", "speculo/.speculo/workspace.json", "roots.state"]);
    }
}

#[test]
fn workspace_that_is_no_text_is_refused() {
    for (text, code, needle) in [
        ("{\"roots\": {\"state\": 5}}", 4, "roots.state"),
        ("{\"roots\": ", 6, "invalid-json"),
        ("// mine\n{}", 6, "comment"),
    ] {
        let project = Project::bare("repo", "sub");
        project.fill();
        fs::write(project.root.join(STATE).join("workspace.json"), text).unwrap();
        project.refused_in_all_modes(code, &["sub/speculo/.speculo/workspace.json", needle]);
    }
}

#[test]
fn workspace_that_names_a_folder_without_state_says_so() {
    let project = Project::new();
    fs::write(project.root.join(STATE).join("workspace.json"), "{\"roots\": {\"state\": \"empty\"}}")
        .unwrap();
    project.refused(&[], 2, &["workspace.json", "empty"]);
}

#[test]
fn folder_that_is_no_project() {
    let project = Project::bare("repo", "");
    fs::create_dir(project.root.join("src")).unwrap();
    for args in [
        &[][..],
        &["--dry-run"],
        &["--check"],
        &["src"],
        &["status"],
        &["validate"],
        &["decisions"],
        &["history", "list"],
        &["restore"],
        &["recover"],
    ] {
        let ran = project.refused(args, 2, &["no SpecDev state", "next:"]);
        assert!(ran.stdout.is_empty(), "{ran}");
    }
    project.refused(&["missing/folder"], 2, &["missing/folder"]);
}

#[test]
fn linked_worktree_upgrades_its_own_files() {
    let project = Project::new();
    project.git(&["worktree", "add", "-q", "../linked", "-b", "other"]);
    let main = super::snapshot(&project.top.join("speculo"));
    let ran = Ran::of(&mut command(&project.dir.path().join("linked"), &[]));
    assert_eq!(ran.code, Some(0), "{ran}");
    super::assert_same(&main, &super::snapshot(&project.top.join("speculo")));
    let text =
        fs::read_to_string(project.dir.path().join("linked").join(SPECDEV).join("config.json")).unwrap();
    assert!(text.contains("\"schema_version\": 4"), "{text}");
}

#[test]
fn neighbours_that_look_alike_stay() {
    let project = Project::new();
    for path in [
        "../learning/changes/2026-01-02-alpha/.status.json",
        "../back/state/specdev/config.json",
        "../baselines/workflows/specdev/config.json",
        "changes/2026-01-02-alpha/children/2026-01-04-x/.status.json",
        "archive/2026-01/2026-01-01-old/.status.json",
        "archive/2025-12-01-older/.status.json",
        "config-template.json",
        "changes/2026-01-02-alpha/.status.json.bak",
        "changes/2026-01-02-alpha/spec.md",
    ] {
        project.write(path, status(ALPHA));
    }
    project.commit();
    let ran = project.done(&[]);
    assert!(ran.stderr.contains("2 archived changes are sealed"), "{ran}");
    assert_eq!(project.git(&["status", "--porcelain"]).lines().count(), 8);
}

#[test]
fn without_a_repository() {
    let project = Project::without_git();
    let preview = project.done(&["--dry-run"]);
    assert!(preview.text().contains("--- a/speculo/.speculo/specdev/config.json\n"), "{preview}");
    let before = project.snapshot();
    project.done(&[]);
    assert_eq!(super::different(&before, &project.snapshot()).len(), 8);
}
