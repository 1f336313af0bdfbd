//! How git is asked: how often, in which environment, and that it is only asked (contract.md §8).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::lab::*;

/// A change with an open record that has a worktree, and as many finished ones as wanted.
fn lab_of(tickets: usize, worktrees: usize) -> Lab {
    let lab = Lab::new();
    let names: Vec<String> = (1..=tickets).map(|n| format!("T-{n:02}")).collect();
    let records = names.iter().map(|t| v5(&lab, t, "integrated")).collect();
    let change = names
        .iter()
        .fold(Change::v5(records), |c, t| c.evidence(&[t.as_str()]).tickets("done", &[t.as_str()]));
    lab.state(&[change]);
    for name in names.iter().take(worktrees) {
        lab.worktree(&path_of(name), &branch_of(name), &lab.m(1));
    }
    lab
}

/// How often the tool starts git, and how many of these are `status`.
fn processes(lab: &Lab, args: &[&str]) -> (usize, usize) {
    let bin = lab.beside("bin");
    fs::create_dir_all(&bin).unwrap();
    let log = lab.beside("git.log");
    fs::write(&log, "").unwrap();
    let real = String::from_utf8(
        std::process::Command::new("sh").args(["-c", "command -v git"]).output().unwrap().stdout,
    )
    .unwrap();
    let script =
        format!("#!/bin/sh\nprintf '%s\\n' \"$*\" >> '{}'\nexec '{}' \"$@\"\n", log.display(), real.trim());
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let out = run(lab
        .tool(&lab.root)
        .env("PATH", format!("{}:{}", bin.display(), path().to_str().unwrap()))
        .args(args));
    assert_eq!(out.code, 0, "{}", out.text);
    let log = fs::read_to_string(&log).unwrap();
    (log.lines().count(), log.lines().filter(|l| l.contains(" status ")).count())
}

#[test]
fn number_of_processes_does_not_depend_on_the_number_of_tickets() {
    let few = processes(&lab_of(1, 0), &["--check", "--partial", "--to", "0.7.3"]);
    let one = processes(&lab_of(1, 0), &["--dry-run"]);
    let many = processes(&lab_of(40, 0), &["--dry-run"]);
    assert_eq!(one, many);
    assert!(one.0 <= 9, "{one:?}");
    assert!(few.0 <= 6, "{few:?}");
}

#[test]
fn one_status_for_each_registered_worktree_of_a_record() {
    let none = processes(&lab_of(4, 0), &["--dry-run"]);
    let lab = lab_of(4, 3);
    assert_eq!(processes(&lab, &["--dry-run"]), (none.0 + 3, none.1 + 3));
    // Others are not looked into: a stranger, a stray that is accounted for, a workspace of no record.
    lab.worktree("specdev-worktree/tryout", "tryout", "main");
    lab.worktree(&path_of("T-09"), &branch_of("T-09"), "main");
    let text = format!(
        "schema_version: 1\nchanges:\n  {CHANGE}:\n    accounted: [{}]\n    workspace: {{policy: worktree, ref: specdev-worktree/tryout, \
         branch: tryout, base_sha: \"{}\"}}\n",
        path_of("T-09"),
        lab.m(0)
    );
    let file = lab.decided(&text);
    assert_eq!(processes(&lab, &["--dry-run", "--decisions", &file]), (none.0 + 3, none.1 + 3));
}

#[test]
fn worktrees_of_records_in_history_are_not_looked_into() {
    let lab = lab_of(2, 2);
    lab.upgrade(&[]).assert_done();
    let (_, status) = processes(&lab, &["--dry-run"]);
    assert_eq!(status, 0);
}

#[test]
fn commits_are_asked_about_only_where_something_is_judged_by_them() {
    let lab = lab_of(3, 0);
    // Which release reads what, which files differ from HEAD, and what of that is ignored, is no question here.
    assert_eq!(processes(&lab, &["--check", "--to", "0.7.3"]), (5, 0));
    lab.upgrade(&[]).assert_done();
    lab.commit();
    // Nothing to do, and git has nothing of ours: only whether it works.
    assert_eq!(processes(&lab, &[]), (1, 0));
    // What was seen is told all the same.
    let told = "git: saw 1 worktree and 0 speculo branches; other clones cannot be seen from here\n";
    assert!(lab.run(&[]).stderr.contains(told));
    assert_eq!(processes(&lab, &["--format", "json"]), (3, 0));
    let git = &lab.check(&[]).json["git"];
    assert_eq!((&git["head_branch"], &git["worktrees"][0]["branch"]), (&"main".into(), &"main".into()));
    // A workspace that somebody decided on must exist.
    let text = format!(
        "schema_version: 1\nchanges:\n  {CHANGE}:\n    workspace: {{policy: current, ref: current, branch: main, base_sha: \"{}\"}}\n",
        lab.m(0)
    );
    let file = lab.decided(&text);
    assert_eq!(processes(&lab, &["--decisions", &file]), (5, 0));
    // A branch of ours, whatever it names, may belong to a record in history.
    lab.branch("speculo/notes", "main");
    assert_eq!(processes(&lab, &[]), (5, 0));
    lab.git(&["branch", "-q", "-D", "speculo/notes"]);
    lab.git(&["worktree", "add", "-q", "--detach", &path_of("T-01"), "main"]);
    assert_eq!(processes(&lab, &[]), (5, 0));
    lab.git(&["worktree", "remove", &path_of("T-01")]);
    // One elsewhere has nothing to do with this state.
    lab.git(&["worktree", "add", "-q", "--detach", lab.beside("away").to_str().unwrap(), "main"]);
    assert_eq!(processes(&lab, &[]), (3, 0));
}

#[test]
fn no_git_starts_nothing() {
    let lab = lab_of(2, 1);
    let bin = lab.beside("nothing");
    fs::create_dir_all(&bin).unwrap();
    let out = run(lab.tool(&lab.root).env("PATH", &bin).args(["--dry-run", "--no-git", "--format", "json"]));
    out.assert_done();
    assert!(out.json["git"].is_null());
    // Without that wish a missing git stops everything.
    let out = run(lab.tool(&lab.root).env("PATH", &bin).args(["--dry-run", "--format", "json"]));
    out.assert_blocked("git-unreadable");
}

#[test]
fn git_is_only_asked() {
    let lab = lab_of(2, 1);
    lab.worktree(&candidate_path("T-01"), &candidate_branch("T-01"), &lab.m(1));
    let index = |folder: &str| fs::metadata(lab.top.join(folder)).unwrap().modified().unwrap();
    // The cached times of the index are old, so that an ordinary `git status` would write it anew.
    lab.git_in(&path_of("T-01"), &["update-index", "--index-version", "4"]);
    let file = lab.root.join(path_of("T-01")).join("code.txt");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, bytes).unwrap();
    let before = (index(".git/index"), index(".git/worktrees/T-01/index"), lab.git_facts());
    let objects = || lab.git(&["count-objects", "-v"]);
    let count = objects();
    lab.check(&[]).assert_done();
    lab.upgrade(&[]).assert_done();
    lab.decisions(&[]);
    assert_eq!(before, (index(".git/index"), index(".git/worktrees/T-01/index"), lab.git_facts()));
    assert_eq!(count, objects());
}

#[test]
fn report_says_what_was_seen_and_that_other_clones_cannot_be() {
    let lab = lab_of(1, 1);
    lab.branch("speculo/notes", "main");
    let run = lab.check(&[]);
    let git = &run.json["git"];
    assert_eq!(git["shallow"], false);
    assert_eq!(git["head_branch"], "main");
    assert_eq!(git["worktrees"][0]["path"], ".");
    assert_eq!(git["worktrees"][1]["path"], path_of("T-01"));
    assert_eq!(git["worktrees"][1]["branch"], branch_of("T-01"));
    assert_eq!(git["branches"][branch_of("T-01")], lab.m(1));
    assert_eq!(git["note"], "other clones cannot be seen from here");
    let human = lab.run(&["--dry-run"]);
    assert!(
        human
            .stderr
            .contains("git: saw 2 worktrees and 2 speculo branches; other clones cannot be seen from here\n")
    );
}

// ---- the environment --------------------------------------------------------------------------------

#[test]
fn environment_of_the_caller_does_not_reach_git() {
    let lab = lab_of(2, 1);
    let other = Lab::new();
    other.worktree(&path_of("T-09"), &branch_of("T-09"), "main");
    let clean = lab.check(&[]);
    clean.assert_done();
    let other_git = other.top.join(".git");
    let sets: [&[(&str, &Path)]; 8] = [
        &[("GIT_DIR", &other_git)],
        &[("GIT_WORK_TREE", Path::new("/tmp"))],
        &[("GIT_DIR", &other_git), ("GIT_WORK_TREE", &other.top)],
        &[("GIT_COMMON_DIR", &other_git)],
        &[("GIT_INDEX_FILE", Path::new("/nonexistent"))],
        &[
            ("GIT_CONFIG_COUNT", Path::new("1")),
            ("GIT_CONFIG_KEY_0", Path::new("core.bare")),
            ("GIT_CONFIG_VALUE_0", Path::new("true")),
        ],
        &[("GIT_TRACE", Path::new("1")), ("GIT_CEILING_DIRECTORIES", &lab.top)],
        &[
            ("LC_ALL", Path::new("de_DE.UTF-8")),
            ("LANGUAGE", Path::new("de")),
            ("GIT_OBJECT_DIRECTORY", Path::new("/nonexistent")),
        ],
    ];
    for set in sets {
        let mut command = lab.tool(&lab.root);
        command.envs(set.iter().copied());
        let out = run(command.args(["--dry-run", "--format", "json"]));
        assert_eq!((out.code, &out.stdout), (clean.code, &clean.stdout), "{set:?}");
    }
}

#[test]
fn run_from_a_pre_commit_hook_of_a_linked_worktree() {
    let lab = lab_of(2, 1);
    lab.worktree(lab.beside("linked").to_str().unwrap(), "linked", "main");
    let linked = lab.beside("linked");
    let clean = run(lab.tool(&linked).args(["--dry-run", "--format", "json"]));
    // From here the record's worktree lies at another path.
    clean.assert_blocked("worktree-drift");
    let out = lab.beside("hook.json");
    let hooks = lab.top.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let script = format!(
        "#!/bin/sh\nenv | grep -q ^GIT_INDEX_FILE= || exit 9\n'{BIN}' --dry-run --format json > '{}'\nexit 0\n",
        out.display()
    );
    fs::write(hooks.join("pre-commit"), script).unwrap();
    fs::set_permissions(hooks.join("pre-commit"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(linked.join("new.txt"), "x").unwrap();
    git(&linked, &["add", "new.txt"]);
    git(&linked, &["commit", "-q", "-m", "with a hook"]);
    let hooked: serde_json::Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(hooked, clean.json);
}

#[test]
fn git_that_answers_nonsense_stops_everything() {
    let lab = lab_of(1, 0);
    let bin = lab.beside("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("git"), "#!/bin/sh\necho fatal: not today >&2\nexit 128\n").unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let out = run(lab
        .tool(&lab.root)
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .args(["--format", "json"]));
    out.assert_blocked("git-unreadable");
    assert_eq!(out.writes(), Vec::<&str>::new());
}

#[test]
fn worktree_folder_without_git_stops_everything() {
    let lab = lab_of(1, 1);
    fs::remove_file(lab.root.join(path_of("T-01")).join(".git")).unwrap();
    let run = lab.check(&[]);
    run.assert_blocked("git-unreadable");
    assert!(run.message("git-unreadable").contains("holds no .git"), "{}", run.text);
}

#[test]
fn names_that_look_like_options_never_become_any() {
    let lab = Lab::new();
    let places = [
        ("/branch", serde_json::json!("--output=/tmp/x")),
        ("/parent_branch", serde_json::json!("--all")),
        ("/base_sha", serde_json::json!("--all")),
        ("/source_checkpoint", serde_json::json!("-h")),
        ("/integration/result_sha", serde_json::json!("--stdin")),
    ];
    lab.state(&[Change::v5(vec![with(v5(&lab, "T-01", "integrated"), &places)]).evidence(&["T-01"])]);
    let run = lab.check(&[]);
    run.assert_done();
    assert!(run.message("verification-unproven").ends_with("parent branch --all does not exist here"));
}
