//! `git.rs` against repositories made on the spot: what it sees, what it refuses, how often it asks.

#![expect(clippy::disallowed_methods, reason = "the tests make repositories, files and hooks of their own")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use specdev_migrate::finding::Code;
use specdev_migrate::git::{
    Commits, FileState, Git, GitFault, Head, ObjectFormat, Operation, Program, Survey, Worktree, find_top,
    is_quiet, resolve,
};
use tempfile::TempDir;

// ---- no repository ----------------------------------------------------------------------------------

#[test]
fn no_repository_is_none_and_starts_nothing() {
    let lab = Lab::new();
    let marker = lab.path("started");
    let program = lab.script("spy", &format!("touch '{}'", marker.display()));
    let plain = lab.folder("plain/deep");
    assert!(Git::open(&plain, &program).unwrap().is_none());
    assert!(Git::begin(&plain, &program).is_none());
    assert!(!marker.exists());
    assert_eq!(find_top(&plain), None);
}

#[test]
fn find_top_takes_the_nearest_folder_with_a_git_entry() {
    let lab = Lab::new();
    let deep = lab.folder("a/b/c");
    lab.folder("a/.git");
    assert_eq!(find_top(&deep), Some(lab.path("a")));
    lab.write("a/b/.git", "gitdir: /nowhere\n");
    assert_eq!(find_top(&deep), Some(lab.path("a/b")));
    symlink("/nowhere", deep.join(".git")).unwrap();
    assert_eq!(find_top(&deep), Some(deep.clone()));
    assert_eq!(find_top(&deep.join("not/there")), Some(deep));
}

// ---- survey -----------------------------------------------------------------------------------------

#[test]
fn survey_of_a_plain_repository() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let first = repo.commit("a.txt", "1\n");
    repo.git(&["branch", "speculo/2026-01-02-x/T-01"]);
    repo.git(&["branch", "speculo/integration/2026-01-02-x/T-01"]);
    repo.git(&["branch", "other"]);
    let git = repo.open();
    let survey = git.survey().unwrap();
    assert_eq!(
        survey,
        Survey {
            top: repo.path.clone(),
            common_dir: repo.path.join(".git"),
            git_dir: repo.path.join(".git"),
            object_format: ObjectFormat::Sha1,
            shallow: false,
            bare: false,
            head: Head::Branch,
            head_branch: Some("main".into()),
            worktrees: vec![Worktree {
                path: repo.path.clone(),
                resolved: repo.path.clone(),
                head: Some(first.clone()),
                branch: Some("main".into()),
                exists: true,
                main: true,
                ..Worktree::default()
            }],
            branches: BTreeMap::from([
                ("main".into(), first.clone()),
                ("speculo/2026-01-02-x/T-01".into(), first.clone()),
                ("speculo/integration/2026-01-02-x/T-01".into(), first),
            ]),
            operation: None,
        }
    );
}

#[test]
fn survey_from_a_folder_inside() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("sub/deep/a.txt", "1\n");
    let git = Git::open(&repo.path.join("sub/deep"), &lab.program()).unwrap().unwrap();
    assert_eq!(git.survey().unwrap().top, repo.path);
    assert_eq!(git.top(), repo.path);
}

#[test]
fn survey_through_a_symlink_has_resolved_paths() {
    let lab = Lab::new();
    let repo = lab.repository("real");
    repo.commit("sub/a.txt", "1\n");
    symlink(&repo.path, lab.path("link")).unwrap();
    let linked = lab.path("link");
    let program = lab.program().inherit("PWD", &linked);
    let git = Git::open(&linked.join("sub"), &program).unwrap().unwrap();
    let survey = git.survey().unwrap();
    assert_eq!((survey.top.clone(), survey.git_dir.clone()), (repo.path.clone(), repo.path.join(".git")));
    assert_eq!(survey.worktree_at(&linked).unwrap().resolved, repo.path);
    assert_eq!(git.relative(&linked.join("sub/new/b.txt")).as_deref(), Some("sub/new/b.txt"));
    assert_eq!(git.relative(&lab.path("elsewhere")), None);
}

#[test]
fn survey_of_a_worktree_added_through_a_symlink_finds_it_by_either_path() {
    let lab = Lab::new();
    let repo = lab.repository("real");
    repo.commit("a.txt", "1\n");
    symlink(&repo.path, lab.path("link")).unwrap();
    repo.git(&["worktree", "add", "-q", "-b", "w", lab.path("link/wt").to_str().unwrap()]);
    let survey = repo.survey();
    assert_eq!(survey.worktree_at(&lab.path("link/wt")).unwrap().branch.as_deref(), Some("w"));
    assert_eq!(survey.worktree_at(&repo.path.join("wt")).unwrap().branch.as_deref(), Some("w"));
    assert_eq!(survey.worktree_on("w").unwrap().resolved, repo.path.join("wt"));
    assert_eq!(survey.worktree_on("v"), None);
}

#[test]
fn survey_of_linked_detached_and_locked_worktrees() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let id = repo.commit("a.txt", "1\n");
    repo.git(&["worktree", "add", "-q", "-b", "speculo/x/T-01", "specdev-worktree/T-01"]);
    repo.git(&["worktree", "add", "-q", "--detach", "specdev-worktree/T-02"]);
    repo.git(&["worktree", "add", "-q", "-b", "t3", "specdev-worktree/T-03"]);
    repo.git(&["worktree", "lock", "--reason", "in use\nby hand", "specdev-worktree/T-03"]);
    repo.git(&["worktree", "lock", "specdev-worktree/T-02"]);
    let worktrees = repo.survey().worktrees;
    assert_eq!(worktrees.len(), 4);
    let linked = |name: &str| {
        let path = repo.path.join("specdev-worktree").join(name);
        Worktree { head: Some(id.clone()), resolved: path.clone(), path, exists: true, ..Worktree::default() }
    };
    assert_eq!(worktrees[1], Worktree { branch: Some("speculo/x/T-01".into()), ..linked("T-01") });
    assert_eq!(worktrees[2], Worktree { detached: true, locked: Some(String::new()), ..linked("T-02") });
    assert_eq!(
        worktrees[3],
        Worktree { branch: Some("t3".into()), locked: Some("in use\nby hand".into()), ..linked("T-03") }
    );
}

#[test]
fn survey_of_a_worktree_whose_folder_is_missing() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    repo.git(&["worktree", "add", "-q", "-b", "w", "wt"]);
    fs::remove_dir_all(repo.path.join("wt")).unwrap();
    let survey = repo.survey();
    let gone = survey.worktree_on("w").unwrap();
    assert!(!gone.exists);
    assert!(gone.prunable.is_some());
    assert_eq!(gone.resolved, repo.path.join("wt"));
    assert_eq!(repo.open().dirty(&gone.path).unwrap(), Vec::<String>::new());
}

#[test]
fn survey_of_a_moved_worktree() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    repo.git(&["worktree", "add", "-q", "-b", "w", "wt"]);
    repo.git(&["worktree", "move", "wt", "moved"]);
    let survey = repo.survey();
    assert_eq!(survey.worktree_on("w").unwrap().path, repo.path.join("moved"));

    // Moved behind git's back: git still says the old place.
    fs::rename(repo.path.join("moved"), repo.path.join("again")).unwrap();
    let seen = repo.survey();
    assert!(!seen.worktree_on("w").unwrap().exists);
    let inside = Git::open(&repo.path.join("again"), &lab.program()).unwrap().unwrap();
    let survey = inside.survey().unwrap();
    assert_eq!((survey.head, survey.head_branch.as_deref()), (Head::Branch, Some("w")));
    assert_eq!(survey.top, repo.path.join("again"));
}

#[test]
fn survey_from_inside_a_linked_worktree() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    repo.git(&["worktree", "add", "-q", "-b", "w", "../wt"]);
    let survey = lab.open("wt").survey().unwrap();
    assert_eq!(survey.top, lab.path("wt"));
    assert_eq!(survey.common_dir, repo.path.join(".git"));
    assert_eq!(survey.git_dir, repo.path.join(".git/worktrees/wt"));
    assert_eq!(survey.head_branch.as_deref(), Some("w"));
    assert!(survey.worktrees[0].main && survey.worktrees[0].path == repo.path);
    assert!(!survey.bare);
}

#[test]
fn survey_with_a_bare_main_entry() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let id = repo.commit("a.txt", "1\n");
    lab.git(&["clone", "-q", "--bare", "r", "b.git"]);
    lab.git(&["-C", "b.git", "worktree", "add", "-q", "-b", "w", "../wt"]);
    let survey = lab.open("wt").survey().unwrap();
    assert!(survey.bare);
    assert_eq!((survey.head, survey.head_branch.as_deref()), (Head::Branch, Some("w")));
    let main = &survey.worktrees[0];
    assert!(main.main && main.bare && main.exists && main.head.is_none() && main.branch.is_none());
    assert_eq!(main.path, lab.path("b.git"));
    assert_eq!(survey.branches["w"], id);
}

#[test]
fn survey_of_a_folder_that_only_holds_a_bare_git_folder() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let id = repo.commit("a.txt", "1\n");
    lab.git(&["clone", "-q", "--bare", "r", "c/.git"]);
    lab.git(&["-C", "c/.git", "branch", "speculo/x/T-01"]);
    lab.write("c/state.json", "{}\n");
    let git = lab.open("c");
    let survey = git.survey().unwrap();
    assert_eq!((survey.head, survey.head_branch.clone(), survey.bare), (Head::Bare, None, true));
    assert_eq!(survey.top, lab.path("c"));
    assert_eq!(survey.branches["speculo/x/T-01"], id);
    let states = git.changes(&["state.json".into(), "none".into()]).unwrap();
    assert_eq!(states["state.json"], FileState::Untracked);
    assert_eq!(states["none"], FileState::Absent);
}

#[test]
fn survey_with_head_detached_and_unborn() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let survey = repo.survey();
    assert_eq!((survey.head, survey.head_branch), (Head::Unborn, None));
    assert_eq!(survey.worktrees[0].head, None);
    assert_eq!(survey.worktrees[0].branch.as_deref(), Some("main"));
    let id = repo.commit("a.txt", "1\n");
    repo.git(&["checkout", "-q", "--detach"]);
    let survey = repo.survey();
    assert_eq!((survey.head, survey.head_branch), (Head::Detached, None));
    assert_eq!(survey.worktrees[0].head, Some(id));
    assert!(survey.worktrees[0].detached);
}

#[test]
fn survey_unborn_beside_branches_below_that_name() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    repo.git(&["branch", "topic/one"]);
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/topic"]);
    let survey = repo.survey();
    assert_eq!((survey.head, survey.head_branch), (Head::Unborn, None));
    assert!(survey.branches.is_empty());
}

#[test]
fn survey_of_odd_worktree_paths() {
    let lab = Lab::new();
    let repo = lab.repository("a b");
    repo.commit("a.txt", "1\n");
    let names =
        ["with space", "line\nbreak", "--specdev-migrate-mark", "mark\n--x\nend", "größe ü", "a:b", "-rf"];
    for (number, name) in names.iter().enumerate() {
        let path = repo.path.join("specdev-worktree").join(name);
        repo.git(&["worktree", "add", "-q", "-b", &format!("w{number}"), path.to_str().unwrap()]);
        fs::write(path.join("new\nfile é"), "x").unwrap();
    }
    let git = repo.open();
    let survey = git.survey().unwrap();
    for (number, name) in names.iter().enumerate() {
        let path = repo.path.join("specdev-worktree").join(name);
        let worktree = survey.worktree_on(&format!("w{number}")).unwrap();
        assert_eq!(worktree.path, path);
        assert!(worktree.exists);
        assert_eq!(git.dirty(&worktree.path).unwrap(), ["new\nfile é"]);
        let inside = Git::open(&path, &lab.program()).unwrap().unwrap();
        assert_eq!(inside.top(), path);
    }
}

#[test]
fn survey_of_a_worktree_path_that_is_no_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    let path = repo.path.join(std::ffi::OsStr::from_bytes(b"w\xff"));
    let mut command = lab.command(&repo.path);
    assert!(command.args(["worktree", "add", "-q", "-b", "w"]).arg(&path).status().unwrap().success());
    fs::write(path.join(std::ffi::OsStr::from_bytes(b"n\xfe")), "x").unwrap();
    let git = repo.open();
    assert_eq!(git.survey().unwrap().worktree_on("w").unwrap().path, path);
    assert_eq!(git.dirty(&path).unwrap(), ["n\\xfe"]);
}

#[test]
fn root_path_with_a_line_that_is_the_mark_is_refused_not_misread() {
    let lab = Lab::new();
    let repo = lab.repository("a\n--specdev-migrate-mark\nb");
    repo.commit("a.txt", "1\n");
    let fault = Git::open(&repo.path, &lab.program()).unwrap_err();
    assert!(fault.message.contains("rev-parse"), "{fault}");
}

#[test]
fn sha256_repository() {
    let lab = Lab::new();
    let repo = lab.repository_with("r", &["--object-format=sha256"]);
    let first = repo.commit("a.txt", "1\n");
    let second = repo.commit("a.txt", "2\n");
    assert_eq!(first.len(), 64);
    let git = repo.open();
    assert_eq!(git.survey().unwrap().object_format, ObjectFormat::Sha256);
    let commits = git.history(&strings(&["main"]), &strings(&[&first, &first[..10], &first[..40]])).unwrap();
    assert_eq!(commits.branch_tip("main"), Some(second.as_str()));
    assert_eq!(commits.resolve(&first[..10]), Some(first.as_str()));
    assert_eq!(commits.resolve(&first[..40]), Some(first.as_str()));
    assert_eq!(commits.contains("main", &first), Some(true));
    assert_eq!(commits.is_ancestor(&second, &first), Some(false));
}

#[test]
fn shallow_clone_confirms_but_does_not_deny() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let old = repo.commit("a.txt", "1\n");
    let fork = repo.commit("a.txt", "2\n");
    repo.git(&["checkout", "-q", "-b", "side"]);
    let side = repo.commit("b.txt", "1\n");
    repo.git(&["checkout", "-q", "main"]);
    let main = repo.commit("a.txt", "3\n");
    repo.git(&["checkout", "-q", "-b", "ahead"]);
    let ahead = repo.commit("a.txt", "4\n");
    let url = format!("file://{}", repo.path.display());
    lab.git(&["clone", "-q", "--depth=1", "--no-single-branch", "-b", "main", &url, "s"]);
    for (branch, id) in [("side", &side), ("ahead", &ahead)] {
        lab.git(&["-C", "s", "branch", "-q", branch, id]);
    }
    let git = lab.open("s");
    assert!(git.survey().unwrap().shallow);
    let commits =
        git.history(&strings(&["main", "side", "ahead"]), &strings(&[&old, &fork, &side, &main])).unwrap();
    assert_eq!(commits.resolve(&old), None);
    assert_eq!(commits.contains("main", &old), None);
    assert_eq!(commits.contains("main", &main), Some(true));
    assert_eq!(commits.contains("main", &side), None);
    assert_eq!(commits.is_ancestor(&side, &main), None);
}

#[test]
fn shallow_clone_denies_what_is_known_the_other_way_round() {
    let (a, b) = ("a".repeat(40), "b".repeat(40));
    let commits = Commits::new(
        BTreeMap::from([("main".into(), a.clone()), ("ahead".into(), b.clone())]),
        BTreeMap::new(),
        format!("{b} {a}\n{a}\n").as_bytes(),
        true,
    )
    .unwrap();
    assert_eq!(commits.contains("main", &b), Some(false));
    assert_eq!(commits.is_ancestor(&b, &a), Some(false));
    assert_eq!(commits.missing_from(&b, "main"), Some(1));
}

#[test]
fn submodule_is_a_repository_of_its_own() {
    let lab = Lab::new();
    let inner = lab.repository("inner");
    let inner_id = inner.commit("i.txt", "1\n");
    let outer = lab.repository("outer");
    outer.commit("o.txt", "1\n");
    outer.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../inner", "sub"]);
    outer.git(&["commit", "-q", "-m", "add"]);
    let head = outer.git(&["rev-parse", "HEAD"]);

    let commits = outer.open().history(&strings(&["main"]), &strings(&[&inner_id])).unwrap();
    assert_eq!(commits.resolve(&inner_id), None);
    assert_eq!(commits.contains("main", &inner_id), None);

    assert!(outer.path.join("sub/.git").is_file());
    let git = Git::open(&outer.path.join("sub"), &lab.program()).unwrap().unwrap();
    let survey = git.survey().unwrap();
    assert_eq!(survey.top, outer.path.join("sub"));
    assert_eq!(survey.common_dir, outer.path.join(".git/modules/sub"));
    assert_eq!(survey.worktrees.len(), 1);
    assert_eq!(survey.worktrees[0].path, outer.path.join("sub"));
    let commits = git.history(&[], &strings(&[&inner_id, &head])).unwrap();
    assert_eq!(commits.resolve(&inner_id), Some(inner_id.as_str()));
    assert_eq!(commits.resolve(&head), None);

    fs::write(outer.path.join("sub/i.txt"), "2\n").unwrap();
    outer.git(&["config", "diff.ignoreSubmodules", "all"]);
    assert_eq!(outer.open().dirty(&outer.path).unwrap(), ["sub"]);
}

#[test]
fn partial_clone_is_not_filled_up() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let id = repo.commit("a.txt", "1\n");
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", repo.path.display());
    lab.git(&["clone", "-q", "--filter=blob:none", &url, "p"]);
    let marker = lab.path("fetched");
    executable(
        &lab.path("upload-pack"),
        &format!("touch '{}'; exec git upload-pack \"$@\"", marker.display()),
    );
    let partial = Repo { path: lab.path("p"), lab: &lab };
    partial.git(&["config", "remote.origin.uploadpack", lab.path("upload-pack").to_str().unwrap()]);
    let absent = "1234567890".repeat(4);
    let commits = lab.open("p").history(&strings(&["main"]), &strings(&[&absent])).unwrap();
    assert_eq!(commits.branch_tip("main"), Some(id.as_str()));
    assert_eq!(commits.resolve(&absent), None);
    assert!(!marker.exists());
    // The trap does work.
    partial.fails(&["cat-file", "-e", &absent]);
    assert!(marker.exists());
}

#[test]
fn reftable_repository() {
    let lab = Lab::new();
    if !lab.command(&lab.root).args(["init", "-q", "--ref-format=reftable", "r"]).status().unwrap().success()
    {
        skip("this git has no reftable");
        return;
    }
    let repo = Repo { path: lab.path("r"), lab: &lab };
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
    let (_, side) = repo.diverge();
    assert_eq!(repo.survey().head_branch.as_deref(), Some("main"));
    assert_eq!(repo.survey().operation, None);
    repo.fails(&["cherry-pick", &side]);
    assert_eq!(repo.survey().operation, Some(Operation::CherryPick));
    repo.git(&["cherry-pick", "--abort"]);
    assert_eq!(repo.survey().operation, None);
}

// ---- operations -------------------------------------------------------------------------------------

#[test]
fn operation_merge() {
    operation(Operation::Merge, |repo, side| repo.fails(&["merge", "-q", side]));
}

#[test]
fn operation_rebase() {
    operation(Operation::Rebase, |repo, side| repo.fails(&["rebase", "-q", side]));
}

#[test]
fn operation_rebase_apply() {
    operation(Operation::Rebase, |repo, side| repo.fails(&["rebase", "-q", "--apply", side]));
}

#[test]
fn operation_am() {
    operation(Operation::Am, |repo, side| {
        repo.git(&["format-patch", "-q", "-1", "-o", "../patches", side]);
        let patch = fs::read_dir(repo.lab.path("patches")).unwrap().next().unwrap().unwrap().path();
        repo.fails(&["am", "-q", patch.to_str().unwrap()]);
    });
}

#[test]
fn operation_cherry_pick() {
    operation(Operation::CherryPick, |repo, side| repo.fails(&["cherry-pick", side]));
}

#[test]
fn operation_cherry_pick_between_two_commits() {
    operation(Operation::CherryPick, |repo, side| {
        repo.git(&["checkout", "-q", "side"]);
        repo.commit("later.txt", "1\n");
        repo.git(&["checkout", "-q", "main"]);
        repo.fails(&["cherry-pick", side, "side"]);
        repo.git(&["add", "."]);
        repo.git(&["commit", "-q", "-m", "picked"]);
        assert!(!repo.path.join(".git/CHERRY_PICK_HEAD").exists());
    });
}

#[test]
fn operation_revert() {
    operation(Operation::Revert, |repo, _| {
        repo.fails(&["revert", "HEAD~1"]);
    });
}

#[test]
fn operation_bisect() {
    operation(Operation::Bisect, |repo, _| {
        repo.git(&["bisect", "start", "HEAD", "HEAD~2"]);
    });
}

#[test]
fn operation_in_another_worktree_is_not_ours() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let (_, side) = repo.diverge();
    repo.git(&["worktree", "add", "-q", "-b", "w", "../wt"]);
    let wt = Repo { path: lab.path("wt"), lab: &lab };
    wt.fails(&["merge", "-q", &side]);
    assert_eq!(repo.survey().operation, None);
    assert_eq!(wt.survey().operation, Some(Operation::Merge));
}

// ---- history ----------------------------------------------------------------------------------------

#[test]
fn revisions_full_short_and_names() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let first = repo.commit("a.txt", "1\n");
    let second = repo.commit("a.txt", "2\n");
    repo.git(&["tag", "-a", "-m", "x", "v1", &first]);
    let upper = second.to_ascii_uppercase();
    let asked = [&first, &first[..8], &upper, "main", "refs/heads/main", "v1", "HEAD"];
    let commits = repo.open().history(&[], &strings(&asked)).unwrap();
    assert_eq!(commits.resolve(&first), Some(first.as_str()));
    assert_eq!(commits.resolve(&first[..8]), Some(first.as_str()));
    assert_eq!(commits.resolve(&upper), Some(second.as_str()));
    assert_eq!(commits.resolve("main"), Some(second.as_str()));
    assert_eq!(commits.resolve("refs/heads/main"), Some(second.as_str()));
    assert_eq!(commits.resolve("v1"), Some(first.as_str()));
    assert_eq!(commits.resolve("HEAD"), Some(second.as_str()));
    assert_eq!(commits.resolve(&first[..9]), None, "never asked");
}

#[test]
fn revisions_that_are_junk_are_unknown() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let id = repo.commit("a.txt", "1\n");
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let junk = [
        format!("backend:{id};frontend:{id}"),
        "-rf".into(),
        "--all".into(),
        "--batch-command".into(),
        String::new(),
        " ".into(),
        "main other".into(),
        "main\nHEAD".into(),
        "main\0".into(),
        "HEAD~0".into(),
        "HEAD^".into(),
        "HEAD@{0}".into(),
        "@".into(),
        "@{-1}".into(),
        ":/a.txt".into(),
        ":a.txt".into(),
        "HEAD:a.txt".into(),
        "main..HEAD".into(),
        "^main".into(),
        format!("{id}x"),
        format!("{id} commit"),
        "0".repeat(40),
        "f".repeat(40),
        "f".repeat(64),
        "not-applicable".into(),
        "\u{fffd}é".into(),
        "x".repeat(100_000),
        tree,
    ];
    let commits = repo.open().history(&junk, &junk).unwrap();
    for text in &junk {
        assert_eq!(commits.resolve(text), None, "{text:?}");
        assert_eq!(commits.branch_tip(text), None, "{text:?}");
        assert_eq!(commits.contains("main", text), None, "{text:?}");
        assert_eq!(commits.is_ancestor(text, &id), None, "{text:?}");
        assert_eq!(commits.missing_from(text, "main"), None, "{text:?}");
    }
}

#[test]
fn revision_sha_is_never_read_as_a_branch_name() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let id = repo.commit("a.txt", "1\n");
    let name = if id.starts_with("deadbeef") { "beefdead" } else { "deadbeef" };
    repo.git(&["branch", name]);
    let commits = repo.open().history(&strings(&[name]), &strings(&[name])).unwrap();
    assert_eq!(commits.branch_tip(name), Some(id.as_str()));
    assert_eq!(commits.resolve(name), None);
}

#[test]
fn revision_too_short_to_be_unique_is_unknown() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "0\n");
    // 400 commits share some four-digit prefix with certainty enough; find one that does.
    let mut seen = BTreeMap::new();
    let mut found = None;
    for number in 0..1000 {
        let id = repo.git(&["commit-tree", "HEAD^{tree}", "-m", &number.to_string()]);
        if let Some(other) = seen.insert(id[..4].to_owned(), id.clone()) {
            found = Some((id, other));
            break;
        }
    }
    let (one, other) = found.expect("two commits with one prefix");
    let commits = repo.open().history(&[], &strings(&[&one[..4], &one, &other])).unwrap();
    assert_eq!(commits.resolve(&one[..4]), None);
    assert_eq!(commits.resolve(&one), Some(one.as_str()));
    assert_eq!(commits.resolve(&other), Some(other.as_str()));
}

#[test]
fn containment_after_fast_forward_merge_and_squash() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let base = repo.commit("a.txt", "1\n");
    for name in ["ff", "merged", "squashed", "open"] {
        repo.git(&["checkout", "-q", "-b", name, &base]);
        repo.commit(&format!("{name}.1"), "1\n");
        repo.commit(&format!("{name}.2"), "1\n");
    }
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["merge", "-q", "--ff-only", "ff"]);
    repo.git(&["merge", "-q", "--no-ff", "-m", "m", "merged"]);
    repo.git(&["merge", "-q", "--squash", "squashed"]);
    repo.git(&["commit", "-q", "-m", "s"]);
    let names = strings(&["main", "ff", "merged", "squashed", "open", "none"]);
    let commits = repo.open().history(&names, &strings(&[&base])).unwrap();
    let tip = |name: &str| commits.branch_tip(name).unwrap();
    assert_eq!(commits.contains("main", tip("ff")), Some(true));
    assert_eq!(commits.contains("main", tip("merged")), Some(true));
    assert_eq!(commits.contains("main", tip("squashed")), Some(false));
    assert_eq!(commits.contains("main", tip("open")), Some(false));
    assert_eq!(commits.contains("open", tip("open")), Some(true));
    assert_eq!(commits.contains("none", &base), None);
    assert_eq!(commits.branch_tip("none"), None);
    assert_eq!(commits.missing_from(tip("squashed"), "main"), Some(2));
    assert_eq!(commits.missing_from(tip("merged"), "main"), Some(0));
    // ff's two, merged's two, the merge, the squash.
    assert_eq!(commits.missing_from(tip("main"), "open"), Some(6));
    assert_eq!(commits.missing_from(tip("main"), "none"), None);
    assert_eq!(commits.is_ancestor(&base, tip("open")), Some(true));
    assert_eq!(commits.is_ancestor(tip("open"), &base), Some(false));
    assert_eq!(commits.is_ancestor(&base, &base), Some(true));
    assert_eq!(commits.oldest(&[tip("open"), &base, tip("ff")]), Some(base.clone()));
    assert_eq!(commits.oldest(&[tip("open"), tip("ff")]), None);
    assert_eq!(commits.oldest(&[&base, "none"]), None);
    assert_eq!(commits.oldest(&[]), None);
}

#[test]
fn containment_is_not_what_a_replacement_says() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let (main, side) = repo.diverge();
    repo.git(&["replace", "--graft", &main, &side]);
    let commits = repo.open().history(&strings(&["main"]), &strings(&[&side])).unwrap();
    assert_eq!(commits.contains("main", &side), Some(false));
}

#[test]
fn oldest_of_a_line_in_any_order() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let ids: Vec<String> = (0..4).map(|n| repo.commit("a.txt", &n.to_string())).collect();
    let commits = repo.open().history(&[], &ids).unwrap();
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 0]] {
        let asked: Vec<&str> = order.iter().map(|n| ids[*n].as_str()).collect();
        assert_eq!(commits.oldest(&asked), Some(ids[0].clone()));
    }
}

#[test]
fn branches_with_odd_names() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let id = repo.commit("a.txt", "1\n");
    let names = ["speculo/$(touch x)'\"`;&|<>", "speculo/ü/😀", "speculo/x/-rf", "speculo/{a,b}!#%"];
    for name in names {
        // `git branch` quotes nothing either; the first name holds a blank, which no ref may.
        let name = name.replace(' ', "_");
        repo.git(&["branch", &name]);
    }
    let asked: Vec<String> = names.iter().map(|name| name.replace(' ', "_")).collect();
    let git = repo.open();
    let commits = git.history(&asked, &[]).unwrap();
    let survey = git.survey().unwrap();
    for name in &asked {
        assert_eq!(commits.branch_tip(name), Some(id.as_str()), "{name}");
        assert_eq!(survey.branches.get(name), Some(&id), "{name}");
    }
}

#[test]
fn branch_named_like_a_tag_is_still_the_branch() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let first = repo.commit("a.txt", "1\n");
    let second = repo.commit("a.txt", "2\n");
    repo.git(&["branch", "same", &second]);
    repo.git(&["tag", "same", &first]);
    let commits = repo.open().history(&strings(&["same"]), &[]).unwrap();
    assert_eq!(commits.branch_tip("same"), Some(second.as_str()));
}

#[test]
fn input_far_beyond_a_pipe_does_not_block() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let id = repo.commit("a.txt", "1\n");
    let mut asked: Vec<String> =
        (0..20_000).map(|n| format!("no/such/branch/{n}/{}", "x".repeat(40))).collect();
    asked.push(id.clone());
    let commits = repo.open().history(&[], &asked).unwrap();
    assert_eq!(commits.resolve(&id), Some(id.as_str()));
    assert_eq!(commits.resolve(&asked[7]), None);
}

#[test]
fn long_history_stays_linear() {
    const COUNT: usize = 200_000;
    let id = |n: usize| format!("{n:040x}");
    let mut lines = String::new();
    for n in (0..COUNT).rev() {
        lines.push_str(&id(n));
        if n > 0 {
            lines.push_str(&format!(" {}", id(n - 1)));
        }
        if n > 1 {
            lines.push_str(&format!(" {}", id(n - 2)));
        }
        lines.push('\n');
    }
    let branches = BTreeMap::from([("main".into(), id(COUNT - 2)), ("tip".into(), id(COUNT - 1))]);
    let commits = Commits::new(branches, BTreeMap::new(), lines.as_bytes(), false).unwrap();
    for n in (0..COUNT - 1).step_by(10) {
        assert_eq!(commits.contains("main", &id(n)), Some(true));
    }
    assert_eq!(commits.contains("main", &id(COUNT - 1)), Some(false));
    assert_eq!(commits.missing_from(&id(COUNT - 1), "main"), Some(1));
    assert_eq!(commits.is_ancestor(&id(0), &id(COUNT - 1)), Some(true));
}

#[test]
fn commits_from_lines_that_do_not_fit_are_refused() {
    let (a, b) = ("a".repeat(40), "b".repeat(40));
    let make = |lines: &str, tip: &str| {
        Commits::new(
            BTreeMap::from([("main".into(), tip.to_owned())]),
            BTreeMap::new(),
            lines.as_bytes(),
            false,
        )
    };
    assert!(make(&format!("{b} {a}\n{a}\n"), &b).is_ok());
    for (case, lines) in [
        ("tip left out", format!("{a}\n")),
        ("parent left out", format!("{b} {a}\n")),
        ("parent first", format!("{a}\n{b} {a}\n")),
        ("own parent", format!("{b} {b}\n")),
        ("twice", format!("{b}\n{b}\n")),
        ("empty line", format!("{b}\n\n")),
        ("short", format!("{b}\nabc\n")),
        ("upper case", format!("{b}\n{}\n", a.to_ascii_uppercase())),
        ("words", "what is this\n".to_owned()),
    ] {
        assert!(make(&lines, &b).is_err(), "{case}");
    }
}

// ---- dirty ------------------------------------------------------------------------------------------

#[test]
fn dirty_lists_what_is_uncommitted_or_untracked() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit(".gitignore", "*.log\n");
    for name in ["changed", "staged", "deleted", "renamed", "same"] {
        repo.commit(name, "some lines\nthat are\nlong enough\n");
    }
    repo.git(&["worktree", "add", "-q", "-b", "w", "wt"]);
    let wt = Repo { path: repo.path.join("wt"), lab: &lab };
    let git = repo.open();
    assert_eq!(git.dirty(&wt.path).unwrap(), Vec::<String>::new());
    wt.write("changed", "x\n");
    wt.write("staged", "x\n");
    wt.git(&["add", "staged"]);
    fs::remove_file(wt.path.join("deleted")).unwrap();
    wt.git(&["mv", "renamed", "named"]);
    wt.write("z/deep/new", "x\n");
    wt.write("a new", "x\n");
    wt.write("x.log", "x\n");
    let expected = ["a new", "changed", "deleted", "named", "renamed", "staged", "z/deep/new"];
    assert_eq!(git.dirty(&wt.path).unwrap(), expected);
    for (key, value) in [
        ("status.showUntrackedFiles", "no"),
        ("status.relativePaths", "false"),
        ("status.branch", "true"),
        ("status.showStash", "true"),
        ("status.renames", "copies"),
        ("color.ui", "always"),
        ("color.status", "always"),
        ("core.quotePath", "true"),
        ("core.untrackedCache", "true"),
        ("core.pager", "false"),
    ] {
        wt.git(&["config", key, value]);
        assert_eq!(git.dirty(&wt.path).unwrap(), expected, "{key}");
    }
}

#[test]
fn dirty_starts_no_hook_and_writes_nothing() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    let marker = lab.path("hooked");
    lab.script("hook", &format!("touch '{}'", marker.display()));
    repo.git(&["config", "core.fsmonitor", lab.path("hook").to_str().unwrap()]);
    // Same bytes, another time: a git that may take locks would write the index.
    let file = fs::File::options().append(true).open(repo.path.join("a.txt")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    let index = fs::read(repo.path.join(".git/index")).unwrap();
    fs::remove_file(&marker).ok();
    let git = repo.open();
    assert_eq!(git.dirty(&repo.path).unwrap(), Vec::<String>::new());
    git.changes(&["a.txt".into()]).unwrap();
    git.survey().unwrap();
    assert!(!marker.exists());
    assert_eq!(fs::read(repo.path.join(".git/index")).unwrap(), index);
    assert!(!repo.path.join(".git/index.lock").exists());
}

#[test]
fn dirty_of_a_folder_without_git_does_not_answer_for_the_repository_around() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    repo.git(&["worktree", "add", "-q", "-b", "w", "wt"]);
    fs::remove_file(repo.path.join("wt/.git")).unwrap();
    let git = repo.open();
    let fault = git.dirty(&repo.path.join("wt")).unwrap_err();
    assert!(fault.message.contains("no .git"), "{fault}");
    fs::create_dir(repo.path.join("wt/.git")).unwrap();
    let fault = git.dirty(&repo.path.join("wt")).unwrap_err();
    assert!(fault.message.contains("not a git repository"), "{fault}");
}

// ---- changes ----------------------------------------------------------------------------------------

#[test]
fn changes_tells_each_state() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit(".gitignore", "*.log\nkept/\n");
    let tracked =
        ["clean", "changed", "staged", "restored", "deleted", "uncached", "assumed", "skipped", "old"];
    for name in tracked {
        repo.commit(&format!("s/{name}"), "some lines\nthat are\nlong enough\n");
    }
    repo.write("s/forced.log", "1\n");
    repo.git(&["add", "-f", "s/forced.log"]);
    repo.git(&["commit", "-q", "-m", "x"]);
    repo.write("s/changed", "x\n");
    repo.write("s/staged", "x\n");
    repo.git(&["add", "s/staged"]);
    repo.write("s/restored", "x\n");
    repo.git(&["add", "s/restored"]);
    repo.write("s/restored", "some lines\nthat are\nlong enough\n");
    fs::remove_file(repo.path.join("s/deleted")).unwrap();
    repo.git(&["rm", "-q", "--cached", "s/uncached"]);
    repo.git(&["update-index", "--assume-unchanged", "s/assumed"]);
    repo.git(&["update-index", "--skip-worktree", "s/skipped"]);
    repo.git(&["mv", "s/old", "s/new"]);
    repo.write("s/touched", "1\n");
    repo.git(&["add", "-N", "s/touched"]);
    repo.write("s/untracked", "1\n");
    repo.write("s/*", "1\n");
    repo.write("s/:(top)x", "1\n");
    repo.write("s/x.log", "1\n");
    repo.write("s/kept/a\nb é", "1\n");
    let expected = [
        (".gitignore", FileState::Clean),
        ("s/clean", FileState::Clean),
        ("s/forced.log", FileState::Clean),
        ("s/changed", FileState::Changed),
        ("s/staged", FileState::Changed),
        ("s/restored", FileState::Changed),
        ("s/deleted", FileState::Changed),
        ("s/uncached", FileState::Changed),
        ("s/assumed", FileState::Changed),
        ("s/skipped", FileState::Changed),
        ("s/old", FileState::Changed),
        ("s/new", FileState::Changed),
        ("s/touched", FileState::Changed),
        ("s/untracked", FileState::Untracked),
        ("s/*", FileState::Untracked),
        ("s/:(top)x", FileState::Untracked),
        ("s/x.log", FileState::Ignored),
        ("s/kept/a\nb é", FileState::Ignored),
        ("s/none", FileState::Absent),
        ("s/none.log", FileState::Absent),
    ];
    let paths: Vec<String> = expected.iter().map(|(path, _)| (*path).to_owned()).collect();
    let git = repo.open();
    let expected: BTreeMap<String, FileState> =
        expected.iter().map(|(path, state)| ((*path).to_owned(), *state)).collect();
    assert_eq!(git.changes(&paths).unwrap(), expected);
    assert_eq!(git.processes(), 4);
    for path in &paths {
        let alone = git.changes(std::slice::from_ref(path)).unwrap();
        assert_eq!(alone, BTreeMap::from([(path.clone(), expected[path])]));
    }
    assert_eq!(git.changes(&[]).unwrap(), BTreeMap::new());
}

#[test]
fn changes_in_an_unborn_repository() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.write("staged", "1\n");
    repo.write("untracked", "1\n");
    repo.git(&["add", "staged"]);
    let states = repo.open().changes(&strings(&["staged", "untracked", "none"])).unwrap();
    assert_eq!(states["staged"], FileState::Changed);
    assert_eq!(states["untracked"], FileState::Untracked);
    assert_eq!(states["none"], FileState::Absent);
}

#[test]
fn changes_during_a_conflict() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let (_, side) = repo.diverge();
    repo.fails(&["merge", "-q", &side]);
    let states = repo.open().changes(&strings(&["file"])).unwrap();
    assert_eq!(states["file"], FileState::Changed);
}

#[test]
fn changes_of_unchanged_bytes_with_new_times_is_clean() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    let file = fs::File::options().append(true).open(repo.path.join("a.txt")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    assert_eq!(repo.open().changes(&strings(&["a.txt"])).unwrap()["a.txt"], FileState::Clean);
}

#[test]
fn changes_seen_from_a_project_below_the_top_level() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a b/é/state.json", "1\n");
    repo.commit("other", "1\n");
    repo.write("other", "2\n");
    let project = repo.path.join("a b/é");
    let git = Git::open(&project, &lab.program()).unwrap().unwrap();
    let path = git.relative(&project.join("state.json")).unwrap();
    assert_eq!(path, "a b/é/state.json");
    assert_eq!(git.changes(std::slice::from_ref(&path)).unwrap()[&path], FileState::Clean);
}

// ---- how often git is asked -------------------------------------------------------------------------

#[test]
fn processes_do_not_depend_on_how_much_is_asked() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let ids: Vec<String> = (0..3).map(|n| repo.commit("a.txt", &n.to_string())).collect();
    for n in 0..30 {
        repo.git(&["branch", &format!("speculo/x/T-{n:02}")]);
    }
    for n in 0..3 {
        repo.git(&["worktree", "add", "-q", &format!("wt{n}"), &format!("speculo/x/T-{n:02}")]);
    }
    let git = repo.open();
    assert_eq!(git.processes(), 1);
    let survey = git.survey().unwrap();
    assert_eq!((survey.branches.len(), survey.worktrees.len(), git.processes()), (31, 4, 3));
    let branches: Vec<String> = survey.branches.keys().cloned().collect();
    git.history(&branches, &ids).unwrap();
    assert_eq!(git.processes(), 5);
    git.history(&strings(&["main"]), &[]).unwrap();
    assert_eq!(git.processes(), 7);
    git.history(&[], &strings(&["-rf", "a;b:c"])).unwrap();
    assert_eq!(git.processes(), 7);
    for worktree in &survey.worktrees {
        git.dirty(&worktree.path).unwrap();
    }
    assert_eq!(git.processes(), 11);
}

#[test]
fn processes_of_a_survey_in_each_situation() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let counted = |folder: &str, opening: usize, expected: (Head, Option<&str>, usize)| {
        let git = lab.open(folder);
        let survey = git.survey().unwrap();
        let seen = (survey.head, survey.head_branch.as_deref(), git.processes());
        assert_eq!(seen, expected, "{folder}");
        let (git, at_once) = Git::begin(&lab.path(folder), &lab.program()).unwrap().finish().unwrap();
        assert_eq!(at_once, survey, "{folder}");
        assert_eq!(git.processes(), opening, "{folder}");
    };
    // Nothing tells whether the branch of an unborn HEAD is there.
    counted("r", 4, (Head::Unborn, None, 4));
    repo.commit("a.txt", "1\n");
    counted("r", 3, (Head::Branch, Some("main"), 3));
    repo.git(&["worktree", "add", "-q", "-b", "w", "wt"]);
    repo.git(&["worktree", "add", "-q", "--detach", "loose"]);
    counted("r/wt", 4, (Head::Branch, Some("w"), 4));
    counted("r/loose", 4, (Head::Detached, None, 4));
    // A branch by another name is not what is checked out.
    repo.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/alias"]);
    counted("r", 3, (Head::Branch, Some("main"), 3));
    // What is no branch is asked about once more, and is none.
    repo.git(&["update-ref", "refs/other/x", "main"]);
    repo.git(&["symbolic-ref", "HEAD", "refs/other/x"]);
    counted("r", 4, (Head::Detached, None, 4));
    repo.git(&["checkout", "-q", "--detach", "main"]);
    counted("r", 3, (Head::Detached, None, 3));
    lab.git(&["clone", "-q", "--bare", "-b", "main", "r", "c/.git"]);
    counted("c", 5, (Head::Bare, None, 5));
}

#[test]
fn quiet_is_what_a_survey_has_nothing_of_ours_to_tell_about() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("sub/a.txt", "1\n");
    repo.git(&["branch", "speculos"]);
    let quiet = |folder: &str| is_quiet(&lab.path(folder));
    assert!(quiet("r") && quiet("r/sub"));
    repo.git(&["branch", "speculo/2026-01-02-x/T-01"]);
    assert!(!quiet("r"));
    repo.git(&["pack-refs", "--all"]);
    assert!(!quiet("r/sub"));
    repo.git(&["branch", "-q", "-D", "speculo/2026-01-02-x/T-01"]);
    repo.git(&["pack-refs", "--all"]);
    // git leaves folders that have become empty until it needs the name.
    let _ = fs::remove_dir_all(lab.path("r/.git/refs/heads/speculo"));
    assert!(quiet("r"));
    repo.git(&["worktree", "add", "-q", "--detach", "../wt"]);
    assert!(!quiet("r") && !quiet("wt"));
    repo.git(&["worktree", "remove", "../wt"]);
    let _ = fs::remove_dir_all(lab.path("r/.git/worktrees"));
    assert!(quiet("r"));
    // Refs that are kept in another way, a repository elsewhere, and what is none at all.
    lab.folder("r/.git/reftable");
    assert!(!quiet("r"));
    lab.git(&["clone", "-q", "--separate-git-dir", "away", "r", "c"]);
    assert!(!quiet("c"));
    lab.folder("odd/.git");
    assert!(!quiet("odd"));
    lab.folder("plain");
    assert!(!quiet("plain"));
}

#[test]
fn survey_that_was_not_begun_is_asked_for_when_it_is_needed() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    let begin = || Git::begin_open(&repo.path, &lab.program()).unwrap();
    let git = begin().open().unwrap();
    assert_eq!((git.top(), git.processes()), (&*repo.path, 1));
    let (git, survey) = begin().finish().unwrap();
    assert_eq!((survey, git.processes()), (repo.survey(), 3));
}

#[test]
fn survey_of_a_branch_that_has_the_name_of_a_ref() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let id = repo.commit("a.txt", "1\n");
    repo.git(&["checkout", "-q", "-b", "refs/other/x"]);
    let survey = repo.survey();
    assert_eq!(survey.head_branch.as_deref(), Some("refs/other/x"));
    assert_eq!(survey.branches, BTreeMap::from([("refs/other/x".into(), id)]));
}

#[test]
fn questions_of_a_survey_are_asked_at_the_same_time() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    let met = lab.folder("met");
    // Each waits for the other two.
    let body = format!(
        "for word in \"$@\"; do case $word in rev-parse|worktree|for-each-ref) : > '{met}'/$word;; esac; done\n\
         until [ -e '{met}/rev-parse' ] && [ -e '{met}/worktree' ] && [ -e '{met}/for-each-ref' ]; do sleep 0.01; done\n\
         exec git \"$@\"",
        met = met.display()
    );
    let program = lab.script("git", &body).limit(Duration::from_secs(20));
    let (git, survey) = Git::begin(&repo.path, &program).unwrap().finish().unwrap();
    assert_eq!((survey, git.processes()), (repo.survey(), 3));
}

// ---- git that does not answer -----------------------------------------------------------------------

#[test]
fn git_that_is_missing() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let program = Program::new(lab.path("no-such-git"));
    let fault = Git::open(&repo.path, &program).unwrap_err();
    assert!(fault.message.starts_with("cannot start "), "{fault}");
    assert!(fault.message.contains("no-such-git"), "{fault}");
    assert_eq!(fault.finding().code, Code::GitUnreadable);
}

#[test]
fn git_that_is_not_in_the_path() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let program = Program::default().inherit("PATH", lab.folder("empty"));
    let fault = Git::open(&repo.path, &program).unwrap_err();
    assert!(fault.message.starts_with("cannot start git: "), "{fault}");
}

#[test]
fn git_that_hangs() {
    for (name, body) in [
        ("sleeps", "sleep 60"),
        ("sleeps_with_a_child_that_keeps_the_pipes", "sleep 60 & wait"),
        ("closes_its_pipes_first", "exec >&- 2>&-; sleep 60"),
        ("talks_for_ever", "while :; do echo x; sleep 0.01; done"),
    ] {
        let lab = Lab::new();
        let repo = lab.repository("r");
        let program = lab.script("git", body).limit(Duration::from_millis(300));
        let before = Instant::now();
        let fault = Git::open(&repo.path, &program).unwrap_err();
        assert!(before.elapsed() < Duration::from_secs(20), "{name}");
        assert!(fault.message.contains("did not finish within 300ms"), "{name}: {fault}");
        assert_eq!(fault.hint, Some(format!("git -C '{}' rev-parse", repo.path.display())), "{name}");
    }
}

#[test]
fn git_that_hangs_is_ended_with_what_it_started() {
    for end in ["wait", "exit 0"] {
        let lab = Lab::new();
        let repo = lab.repository("r");
        let marker = lab.path("survived");
        let body = format!("(sleep 1; touch '{}') & {end}", marker.display());
        let program = lab.script("hanging", &body).limit(Duration::from_millis(300));
        assert!(Git::open(&repo.path, &program).is_err());
        std::thread::sleep(Duration::from_millis(1500));
        assert!(!marker.exists(), "{end}");
    }
}

#[test]
fn git_that_nobody_waits_for_is_ended_with_what_it_started() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let (begun, marker) = (lab.path("begun"), lab.path("survived"));
    let body = format!("touch '{}'; (sleep 1; touch '{}') & wait", begun.display(), marker.display());
    let opening = Git::begin(&repo.path, &lab.script("git", &body)).unwrap();
    while !begun.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(opening);
    std::thread::sleep(Duration::from_millis(1500));
    assert!(!marker.exists());
}

#[test]
fn git_that_had_answered_before_anybody_waited_is_in_time() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    let opening = Git::begin(&repo.path, &lab.program().limit(Duration::from_millis(300))).unwrap();
    std::thread::sleep(Duration::from_millis(600));
    let (_, survey) = opening.finish().unwrap();
    assert_eq!(survey.head, Head::Branch);
}

#[test]
fn git_that_leaves_a_process_behind_is_not_waited_for() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let program = lab.script("git", "sleep 60 > /dev/null 2>&1 & exec git \"$@\"");
    let before = Instant::now();
    assert!(Git::open(&repo.path, &program).unwrap().is_some());
    assert!(before.elapsed() < Duration::from_secs(20));
}

#[test]
fn git_that_says_more_than_pipes_hold() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let flood = "head -c 300000 /dev/zero | tr '\\0' 'x'";
    let program = lab.script("git", &format!("{flood} >&2; echo >&2; {flood}; {flood} >&2"));
    let fault = Git::open(&repo.path, &program).unwrap_err();
    assert!(fault.message.starts_with("`git rev-parse` answered something unexpected"), "{fault}");
}

#[test]
fn git_that_is_asked_more_than_pipes_hold() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let id = repo.commit("a.txt", "1\n");
    let mut asked: Vec<String> = (0..20_000).map(|n| format!("{n:040x}")).collect();
    asked.push(id.clone());
    let commits = repo.open().history(&strings(&["main"]), &asked).unwrap();
    assert_eq!(commits.resolve(&id), Some(id.as_str()));
    assert_eq!(commits.resolve(&asked[1]), None);
    // One that does not read is told by its answer.
    let program = lab.script("git", "case \" $* \" in *\" cat-file \"*) exit 0;; esac\nexec git \"$@\"");
    let git = Git::open(&repo.path, &program).unwrap().unwrap();
    let fault = git.history(&[], &asked).unwrap_err();
    assert_eq!(fault.message, "`git cat-file` answered something unexpected");
}

#[test]
fn git_that_fails_at_several_questions_is_told_by_the_first() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    let late = "sleep 0.3; echo 'fatal: late' >&2; exit 128";
    let soon = "echo 'fatal: soon' >&2; exit 128";
    let odd = "sleep 0.3; echo odd; exit 0";
    for (rev_parse, worktree, told) in [
        (late, soon, "`git rev-parse` failed: late"),
        (odd, soon, "`git rev-parse` answered something unexpected"),
        ("exec git \"$@\"", late, "`git worktree list` failed: late"),
        ("exec git \"$@\"", odd, "`git worktree list` answered something unexpected"),
    ] {
        let body = format!(
            "case \" $* \" in *\" rev-parse \"*) {rev_parse};; *\" worktree \"*) {worktree};; esac\n{soon}"
        );
        let program = lab.script("git", &body);
        let fault = Git::begin(&repo.path, &program).unwrap().finish().unwrap_err();
        assert!(fault.message.starts_with(told), "{told}: {fault}");
    }
}

#[test]
fn git_that_fails_at_one_question_is_not_waited_for_at_the_next() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    let marker = lab.path("survived");
    let body = format!(
        "case \" $* \" in *\" rev-parse \"*) echo 'fatal: no' >&2; exit 128;; esac\nsleep 1; touch '{}'",
        marker.display()
    );
    let before = Instant::now();
    let fault = Git::begin(&repo.path, &lab.script("git", &body)).unwrap().finish().unwrap_err();
    assert!(fault.message.starts_with("`git rev-parse` failed: no"), "{fault}");
    assert!(before.elapsed() < Duration::from_millis(900));
    std::thread::sleep(Duration::from_millis(1500));
    assert!(!marker.exists());
}

#[test]
fn git_that_fails() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    for (body, said) in [
        ("echo 'warning: first' >&2; echo 'fatal: no luck' >&2; echo second >&2; exit 128", "no luck"),
        ("echo >&2; echo 'error: bad' >&2; exit 1", "error: bad"),
        ("exit 3", "exit status: 3"),
        ("kill -9 $$", "signal: 9"),
    ] {
        let program = lab.script("failing", body);
        let fault = Git::open(&repo.path, &program).unwrap_err();
        assert!(fault.message.starts_with(&format!("`git rev-parse` failed: {said}")), "{body}: {fault}");
    }
}

#[test]
fn git_that_fails_later() {
    for (subcommand, ask) in QUESTIONS {
        let lab = Lab::new();
        let repo = lab.repository("r");
        repo.commit("a.txt", "1\n");
        // In a linked worktree everything is asked.
        repo.git(&["worktree", "add", "-q", "-b", "w", "wt"]);
        repo.write("wt/new", "1\n");
        for body in ["echo 'fatal: torn' >&2; exit 128", "echo 'what is this'; exit 0"] {
            let program = lab.script(
                "git",
                &format!("case \" $* \" in *\" {subcommand} \"*) {body};; esac\nexec git \"$@\""),
            );
            let git = Git::open(&repo.path.join("wt"), &program).unwrap().unwrap();
            let fault = ask(&git).unwrap_err();
            assert!(fault.message.contains(&format!("git {subcommand}")), "{subcommand}: {fault}");
        }
    }
}

#[test]
fn git_that_answers_nothing_for_the_worktree_list() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    let program = lab.script("git", "case \" $* \" in *\" worktree \"*) exit 0;; esac\nexec git \"$@\"");
    let git = Git::open(&repo.path, &program).unwrap().unwrap();
    assert!(git.survey().is_err());
}

#[test]
fn git_that_leaves_out_a_broken_branch() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    repo.git(&["branch", "speculo/x/T-01"]);
    fs::write(repo.path.join(".git/refs/heads/speculo/x/T-01"), "").unwrap();
    let fault = repo.open().survey().unwrap_err();
    assert!(fault.message.contains("broken ref"), "{fault}");
}

#[test]
fn git_folder_that_is_no_repository() {
    let lab = Lab::new();
    let folder = lab.folder("x");
    fs::create_dir(folder.join(".git")).unwrap();
    let fault = Git::open(&folder, &lab.program()).unwrap_err();
    assert!(fault.message.contains("not a git repository"), "{fault}");
    fs::remove_dir(folder.join(".git")).unwrap();
    lab.write("x/.git", "gitdir: ../nowhere\n");
    let fault = Git::open(&folder, &lab.program()).unwrap_err();
    assert!(fault.message.contains("not a git repository"), "{fault}");
    assert_eq!(fault.finding().code, Code::GitUnreadable);
}

#[test]
fn git_that_refuses_a_repository_of_another_owner() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    let changed = Command::new("chown").args(["-R", "12345:12345"]).arg(&repo.path).output().unwrap();
    if !changed.status.success() {
        skip("only root can give a repository to another owner");
        return;
    }
    match Git::open(&repo.path, &lab.program()) {
        Ok(_) => skip("this system's git configuration trusts every owner"),
        Err(fault) => {
            assert!(fault.message.contains("detected dubious ownership"), "{fault}");
            let hint = format!("git config --global --add safe.directory {}", repo.path.display());
            assert_eq!(fault.hint, Some(hint.clone()));
            assert_eq!(fault.finding().next, [hint]);
        }
    }
}

// ---- the environment --------------------------------------------------------------------------------

#[test]
fn environment_changes_nothing() {
    let lab = Lab::new();
    let (clean, out) = (lab.facts_of("b", &[]), lab.path("trace"));
    assert!(clean.contains("\"new in w\""), "{clean}");
    let a = lab.repository("a");
    a.commit("other.txt", "1\n");
    let a_git = a.path.join(".git").display().to_string();
    let none = lab.path("nonexistent").display().to_string();
    let trace = out.display().to_string();
    let environments: &[&[(&str, &str)]] = &[
        &[("GIT_DIR", &a_git)],
        &[("GIT_WORK_TREE", "/tmp")],
        &[("GIT_DIR", &a_git), ("GIT_WORK_TREE", "/tmp")],
        &[("GIT_COMMON_DIR", &a_git)],
        &[("GIT_INDEX_FILE", &none)],
        &[("GIT_OBJECT_DIRECTORY", &none)],
        &[("GIT_NAMESPACE", "x")],
        &[("GIT_CEILING_DIRECTORIES", "/")],
        &[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.bare"), ("GIT_CONFIG_VALUE_0", "true")],
        &[("GIT_CONFIG_PARAMETERS", "'core.bare'='true'")],
        &[("GIT_TRACE", &trace), ("GIT_TRACE_SETUP", &trace), ("GIT_TRACE2_EVENT", &trace)],
        &[("GIT_TRACE", "1")],
        &[("GIT_OPTIONAL_LOCKS", "1"), ("GIT_LITERAL_PATHSPECS", "0"), ("GIT_ICASE_PATHSPECS", "1")],
        &[("GIT_DEFAULT_HASH", "sha256"), ("GIT_PREFIX", "sub/"), ("GIT_EXEC_PATH", &none)],
        &[("LC_ALL", "de_DE.UTF-8"), ("LANGUAGE", "de"), ("LANG", "de_DE.UTF-8")],
        &[("PWD", "/"), ("PAGER", "false"), ("TZ", "Pacific/Auckland")],
    ];
    for environment in environments {
        assert_eq!(lab.facts_of("b", environment), clean, "{environment:?}");
    }
    assert!(!out.exists());
}

#[test]
fn environment_that_git_gets() {
    let lab = Lab::new();
    let repo = lab.repository("r");
    repo.commit("a.txt", "1\n");
    let seen = lab.path("seen");
    let body =
        format!("env >> '{}'\ncat < /dev/stdin > '{}.in'\nexec git \"$@\"", seen.display(), seen.display());
    let program = lab
        .script("spy", &body)
        .inherit("GIT_DIR", "/x")
        .inherit("GIT_PAGER", "x")
        .inherit("LANGUAGE", "de")
        .inherit("LC_ALL", "de_DE.UTF-8")
        .inherit("KEPT", "1");
    Git::open(&repo.path, &program).unwrap();
    let seen = fs::read_to_string(seen).unwrap();
    let mut ours: Vec<&str> = seen
        .lines()
        .filter(|line| ["GIT_", "LANGUAGE=", "LC_ALL=", "KEPT="].iter().any(|start| line.starts_with(start)))
        .collect();
    ours.sort_unstable();
    assert_eq!(
        ours,
        ["GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "KEPT=1", "LC_ALL=C"]
    );
    assert_eq!(fs::read(lab.path("seen.in")).unwrap(), b"");
}

#[test]
fn environment_of_a_hook_in_a_linked_worktree() {
    let lab = Lab::new();
    let clean = lab.facts_of("b", &[]);
    let hook = lab.path("b/.git/hooks/pre-commit");
    let exe = std::env::current_exe().unwrap();
    let script = format!(
        "[ -n \"$GIT_INDEX_FILE\" ] || exit 1\n\
         FACTS_ROOT='{}' FACTS_OUT='{}' FACTS_HOME='{}' exec '{}' --exact {CHILD} --ignored",
        lab.path("b").display(),
        lab.path("from-hook").display(),
        lab.path("home").display(),
        exe.display(),
    );
    executable(&hook, &script);
    let wt = Repo { path: lab.path("b/wt"), lab: &lab };
    wt.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    let seen = fs::read_to_string(lab.path("from-hook")).unwrap();
    assert_eq!(seen, clean);
}

/// Not a case of its own: what the two tests above run in another environment.
#[test]
#[ignore = "run by other tests in a process of its own"]
fn child_writes_down_the_facts() {
    let Some(root) = std::env::var_os("FACTS_ROOT") else { return };
    let program = Program::default()
        .inherit("HOME", std::env::var_os("FACTS_HOME").unwrap())
        .inherit("XDG_CONFIG_HOME", "/nonexistent");
    let git = Git::open(Path::new(&root), &program).unwrap().unwrap();
    let survey = git.survey().unwrap();
    let commits = git.history(&strings(&["main", "w"]), &strings(&["HEAD", "backend:x"])).unwrap();
    let dirty: Vec<_> = survey.worktrees.iter().map(|w| git.dirty(&w.path).unwrap()).collect();
    let changes = git.changes(&strings(&["a.txt", "new", "x.log", "sub/deep"])).unwrap();
    let facts = format!(
        "{survey:#?}\n{:?}\n{:?}\n{dirty:?}\n{changes:?}\n{}\n",
        commits.resolve("HEAD"),
        commits.branch_tip("w"),
        git.processes()
    );
    fs::write(std::env::var_os("FACTS_OUT").unwrap(), facts).unwrap();
}

// ---- helpers ----------------------------------------------------------------------------------------

type Question = fn(&Git) -> Result<(), GitFault>;

/// A subcommand, and a question that needs it.
const QUESTIONS: [(&str, Question); 9] = [
    ("symbolic-ref", |git| git.survey().map(drop)),
    ("worktree", |git| git.survey().map(drop)),
    ("for-each-ref", |git| git.survey().map(drop)),
    ("cat-file", |git| git.history(&strings(&["main"]), &[]).map(drop)),
    ("rev-list", |git| git.history(&strings(&["main"]), &[]).map(drop)),
    ("status", |git| git.dirty(git.top()).map(drop)),
    ("status", |git| git.changes(&strings(&["a.txt", "new"])).map(drop)),
    ("ls-files", |git| git.changes(&strings(&["a.txt", "new"])).map(drop)),
    ("check-ignore", |git| git.changes(&strings(&["a.txt", "new"])).map(drop)),
];

const CHILD: &str = "git::child_writes_down_the_facts";

/// A folder for repositories, with a home that holds no configuration.
struct Lab {
    _folder: TempDir,
    root: PathBuf,
}

struct Repo<'a> {
    path: PathBuf,
    lab: &'a Lab,
}

impl Lab {
    fn new() -> Lab {
        let folder = TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("home")).unwrap();
        Lab { _folder: folder, root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn folder(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The git to test, without the configuration of whoever runs the tests.
    fn program(&self) -> Program {
        self.isolated(Program::default())
    }

    fn isolated(&self, program: Program) -> Program {
        program.inherit("HOME", self.path("home")).inherit("XDG_CONFIG_HOME", self.path("home"))
    }

    fn script(&self, name: &str, body: &str) -> Program {
        let path = self.path(name);
        executable(&path, body);
        self.isolated(Program::new(path))
    }

    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GIT_") {
                command.env_remove(name);
            }
        }
        command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("HOME", self.path("home")).env("LC_ALL", "C").env("GIT_EDITOR", "true");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "A").env(format!("GIT_{who}_EMAIL"), "a@example.org");
            command.env(format!("GIT_{who}_DATE"), "2026-01-02T03:04:05Z");
        }
        command
    }

    fn git(&self, args: &[&str]) -> String {
        run(self.command(&self.root).args(args))
    }

    fn repository(&self, name: &str) -> Repo<'_> {
        self.repository_with(name, &[])
    }

    fn repository_with(&self, name: &str, options: &[&str]) -> Repo<'_> {
        run(self.command(&self.root).args(["init", "-q", "-b", "main"]).args(options).arg(name));
        Repo { path: self.path(name), lab: self }
    }

    fn open(&self, name: &str) -> Git {
        Git::open(&self.path(name), &self.program()).unwrap().unwrap()
    }

    /// What a process started in this environment sees of a repository with a bit of everything.
    fn facts_of(&self, name: &str, environment: &[(&str, &str)]) -> String {
        if !self.path(name).exists() {
            let repo = self.repository(name);
            repo.commit(".gitignore", "*.log\nwt/\n");
            repo.commit("a.txt", "1\n");
            repo.commit("sub/deep", "1\n");
            repo.git(&["worktree", "add", "-q", "-b", "w", "wt"]);
            repo.write("a.txt", "2\n");
            repo.write("new", "1\n");
            repo.write("x.log", "1\n");
            repo.write("wt/new in w", "1\n");
        }
        let out = self.path("facts");
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", CHILD, "--ignored"]).current_dir(self.path(name));
        command.env("FACTS_ROOT", self.path(name)).env("FACTS_OUT", &out);
        command.env("FACTS_HOME", self.path("home")).envs(environment.iter().copied());
        run(&mut command);
        let facts = fs::read_to_string(&out).unwrap();
        fs::remove_file(&out).unwrap();
        facts
    }
}

impl Repo<'_> {
    fn git(&self, args: &[&str]) -> String {
        run(self.lab.command(&self.path).args(args))
    }

    /// Runs a git command that must stop half way.
    fn fails(&self, args: &[&str]) {
        let output = self.lab.command(&self.path).args(args).output().unwrap();
        assert!(!output.status.success(), "{args:?} succeeded");
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Commits one file; the id.
    fn commit(&self, name: &str, text: &str) -> String {
        self.write(name, text);
        self.git(&["add", name]);
        self.git(&["commit", "-q", "-m", name]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Two commits that conflict: the tips of `main`, which is checked out, and of `side`.
    fn diverge(&self) -> (String, String) {
        self.commit("file", "base\n");
        self.git(&["checkout", "-q", "-b", "side"]);
        let side = self.commit("file", "side\n");
        self.git(&["checkout", "-q", "main"]);
        self.commit("file", "one\n");
        let main = self.commit("file", "main\n");
        (main, side)
    }

    fn open(&self) -> Git {
        Git::open(&self.path, &self.lab.program()).unwrap().unwrap()
    }

    fn survey(&self) -> Survey {
        self.open().survey().unwrap()
    }
}

fn operation(expected: Operation, start: impl Fn(&Repo<'_>, &str)) {
    let lab = Lab::new();
    let repo = lab.repository("r");
    let (_, side) = repo.diverge();
    assert_eq!(repo.survey().operation, None);
    start(&repo, &side);
    assert_eq!(repo.survey().operation, Some(expected));
}

fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(
        status.success(),
        "{command:?}: {}{}",
        String::from_utf8_lossy(&stdout),
        String::from_utf8_lossy(&stderr)
    );
    String::from_utf8(stdout).unwrap().trim_end().to_owned()
}

/// Written by another process: a file this one has open for writing cannot be run by its children.
fn executable(path: &Path, body: &str) {
    let script = format!("#!/bin/sh\n{body}\n");
    run(Command::new("sh")
        .args(["-c", "printf %s \"$1\" > \"$2\" && chmod +x \"$2\"", "sh", &script])
        .arg(path));
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[expect(clippy::print_stderr, reason = "a case that could not run must be seen")]
fn skip(reason: &str) {
    eprintln!("SKIPPED: {reason}");
}

#[test]
fn resolve_follows_links_as_far_as_the_path_exists() {
    let lab = Lab::new();
    lab.folder("real/a");
    symlink(lab.path("real"), lab.path("link")).unwrap();
    assert_eq!(resolve(&lab.path("link/a")), lab.path("real/a"));
    assert_eq!(resolve(&lab.path("link/b/c")), lab.path("real/b/c"));
    assert_eq!(resolve(&lab.path("link/a/../b")), lab.path("real/b"));
}
