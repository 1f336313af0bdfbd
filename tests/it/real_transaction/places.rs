//! Killed, and then the project, the worktree or the whole repository is moved, copied or removed.

use std::fs;
use std::path::{Path, PathBuf};

use super::{SWAP, can_inject, copy, strace};
use crate::cli::{Project, Ran, Snapshot, assert_same, command, shell, snapshot};

/// A run in the project is killed when three of its files are new.
fn kill(project: &Project) {
    let log = project.dir.path().with_extension("log");
    let ran = Ran::of(&mut strace(project, &["--no-git"], SWAP, "signal=KILL", "4", &log));
    fs::remove_file(log).unwrap();
    assert_eq!(ran.signal, Some(9), "{ran}");
}

/// The same project under another root.
fn moved(project: Project, root: &str) -> Project {
    Project { root: project.dir.path().join(root), ..project }
}

/// A project below the top level of a repository, with another one beside it, and its state.
fn project_below(name: &str) -> (Project, Snapshot) {
    let project = Project::bare("repo", name);
    project.fill();
    let neighbour = Project::without_git();
    copy(&neighbour.root, &project.top.join("neighbour"));
    project.commit();
    let old = project.state();
    (project, old)
}

/// The commands after `next:`.
fn advice(ran: &Ran) -> Vec<&str> {
    ran.stderr.lines().filter_map(|line| line.strip_prefix("  next: ")).collect()
}

/// Every command says that a run was interrupted, in these words, and changes nothing.
#[track_caller]
fn told(project: &Project, needles: &[&str]) -> Ran {
    for args in [&[][..], &["--check"], &["--dry-run"], &["status"], &["restore"]] {
        project.refused(args, 9, needles);
    }
    project.refused(&["--no-git"], 9, needles)
}

fn run(folder: &Path, args: &[&str]) -> Ran {
    Ran::of(&mut command(folder, args))
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

// ---- another name in the repository -----------------------------------------------------------------

#[test]
fn project_renamed_in_its_repository() {
    if !can_inject() {
        return;
    }
    let (project, old) = project_below("p");
    let git = folders(&project.top.join(".git"));
    // What is about another project is none of the neighbour's business.
    let neighbour = project.top.join("neighbour");
    let is_left_alone = || {
        assert_eq!(run(&neighbour, &["--check"]).code, Some(3));
        let ran = run(&neighbour, &["recover"]);
        assert!(ran.stderr.contains("there is no interrupted run"), "{ran}");
    };
    kill(&project);
    is_left_alone();
    fs::rename(&project.root, project.top.join("q")).unwrap();
    is_left_alone();
    let project = moved(project, "repo/q");
    assert_eq!(advice(&told(&project, &["over 8 files was interrupted"])), ["specdev-migrate recover"]);
    let ran = project.done(&["recover", "--format", "json"]);
    assert_eq!(ran.json()["files"][0], "q/speculo/.speculo/specdev/HISTORY.md", "{ran}");
    assert_same(&old, &project.state());
    assert_eq!(folders(&project.top.join(".git")), git);
    project.done(&["--allow-dirty"]);
}

#[test]
fn state_moved_below_another_project_folder() {
    if !can_inject() {
        return;
    }
    let (project, old) = project_below("p");
    kill(&project);
    fs::rename(project.root.join("speculo"), project.top.join("speculo")).unwrap();
    let project = moved(project, "repo");
    told(&project, &["interrupted", "next: specdev-migrate recover"]);
    project.done(&["recover"]);
    assert_same(&old, &project.state());
}

#[test]
fn project_renamed_and_edited_then_recover() {
    if !can_inject() {
        return;
    }
    let (project, old) = project_below("p");
    kill(&project);
    fs::rename(&project.root, project.top.join("q")).unwrap();
    let project = moved(project, "repo/q");
    // One file that is old yet, and one that is new already.
    project.write("status.json", "mine\n");
    project.write("config.json", "mine too\n");
    let ran = project.done(&["recover"]);
    assert!(ran.stderr.contains("q/speculo/.speculo/specdev/status.json was edited"), "{ran}");
    let now = project.state();
    let kept = ["status.json", "config.json"];
    assert!(kept.iter().all(|path| now[*path].1.starts_with(b"mine")), "{ran}");
    assert!(old.iter().all(|(path, seen)| kept.contains(&path.as_str()) || now[path] == *seen), "{ran}");
    assert!(now.keys().all(|path| !path.contains(".sdm-")), "{ran}");
}

#[test]
fn project_renamed_and_another_one_in_its_place() {
    if !can_inject() {
        return;
    }
    let (project, old) = project_below("p");
    kill(&project);
    fs::rename(&project.root, project.top.join("q")).unwrap();
    project.git(&["checkout", "p"]);
    let said = "repo/p/speculo/.speculo/specdev, which is another folder now; it is ";
    told(&project, &[said, "/repo/q/speculo/.speculo/specdev now; nothing was touched"]);
    let ran = project.refused(&["recover"], 9, &[said]);
    let followed = shell(&project.root, advice(&ran)[0]);
    assert!(followed.stderr.contains("is undone"), "{ran} {followed}");
    assert_eq!(project.run(&["--check"]).code, Some(3));
    assert_same(&old, &moved(project, "repo/q").state());
}

#[test]
fn project_copied_to_another_name_and_another_one_in_its_place() {
    if !can_inject() {
        return;
    }
    let (project, old) = project_below("p");
    kill(&project);
    copy(&project.root, &project.top.join("q"));
    fs::remove_dir_all(&project.root).unwrap();
    project.git(&["checkout", "p"]);
    fs::write(project.root.join("mine"), "mine\n").unwrap();
    let ran = told(&project, &["which is another folder now; files of it are in "]);
    let ran = shell(&project.root, advice(&ran)[0]);
    assert!(ran.stderr.contains("is undone"), "{ran}");
    assert_same(&old, &project.state());
    assert_same(&old, &snapshot(&project.root.join("speculo/.speculo/specdev.aside")));
}

#[test]
fn project_removed_and_another_one_in_its_place() {
    if !can_inject() {
        return;
    }
    let (project, _) = project_below("p");
    kill(&project);
    // Made anew while the old one is still there, so that it is another folder for certain.
    fs::rename(&project.root, project.dir.path().join("aside")).unwrap();
    project.git(&["checkout", "p"]);
    fs::remove_dir_all(project.dir.path().join("aside")).unwrap();
    let ran = told(&project, &["which is another folder now, and it is nowhere else below"]);
    let followed = shell(&project.root, advice(&ran)[0]);
    assert_eq!(followed.code, Some(0), "{ran} {followed}");
    project.done(&[]);
}

#[test]
fn project_copied_to_another_name_and_removed() {
    if !can_inject() {
        return;
    }
    for (from, to) in [("p", "q"), ("p", "it's a/deep one"), ("a/deep one", "a"), ("p", "")] {
        let (project, old) = project_below(from);
        kill(&project);
        let aside = project.dir.path().join("aside");
        copy(&project.root, &aside);
        fs::remove_dir_all(project.top.join(from.split('/').next().unwrap())).unwrap();
        let there = project.top.join(to);
        if to.is_empty() {
            fs::rename(aside.join("speculo"), there.join("speculo")).unwrap();
        } else {
            fs::create_dir_all(there.parent().unwrap()).unwrap();
            fs::rename(&aside, &there).unwrap();
        }
        let _ = fs::remove_dir(aside);
        let was = format!("repo/{from}/speculo/.speculo/specdev, which is not there any more");
        let is = there.join("speculo/.speculo/specdev").display().to_string();
        let project = Project { root: there, ..project };
        let ran = told(&project, &[&was, &format!("files of it are in {is}; nothing was touched")]);
        let next = advice(&ran);
        assert_eq!(next.len(), 1, "{ran}");
        let ran = shell(&project.top, next[0]);
        assert_eq!(ran.code, Some(0), "{next:?} {ran}");
        let project = Project { root: project.top.join(from), ..project };
        assert_same(&old, &project.state());
        assert_eq!(project.run(&["--check"]).code, Some(3));
    }
}

#[test]
fn interrupted_without_a_repository_that_is_made_later() {
    if !can_inject() {
        return;
    }
    let project = Project::without_git();
    let old = project.state();
    kill(&project);
    project.git(&["init", "-q"]);
    told(&project, &["interrupted", "next: specdev-migrate recover"]);
    project.done(&["recover"]);
    assert_same(&old, &project.state());
    assert!(!project.top.join(".specdev-migrate").exists());
}

// ---- a worktree that is gone ------------------------------------------------------------------------

#[test]
fn worktree_of_the_run_is_gone() {
    if !can_inject() {
        return;
    }
    for is_pruned in [false, true] {
        let project = Project::new();
        project.git(&["worktree", "add", "-q", "../it's", "-b", "other"]);
        let project = moved(project, "it's");
        kill(&project);
        fs::remove_dir_all(&project.root).unwrap();
        let project = moved(project, "repo");
        if is_pruned {
            project.git(&["worktree", "prune"]);
        }
        let said =
            ["over 8 files was interrupted in", "it's, which is no worktree of this repository any more"];
        told(&project, &said);
        let ran = project.refused(&["recover"], 9, &said);
        let next = advice(&ran);
        assert_eq!(next.len(), 1, "{ran}");
        let ran = shell(&project.root, next[0]);
        assert_eq!(ran.code, Some(0), "{next:?} {ran}");
        project.done(&["recover"]);
        project.done(&[]);
    }
}

#[test]
fn worktree_of_the_run_is_gone_and_made_anew() {
    if !can_inject() {
        return;
    }
    let project = Project::new();
    project.git(&["worktree", "add", "-q", "../wt", "-b", "other"]);
    let project = moved(project, "wt");
    kill(&project);
    project.git(&["worktree", "move", "../wt", "../kept"]);
    project.git(&["worktree", "add", "-q", "../wt", "-b", "new"]);
    // The one that was moved is the one of the run.
    let ran = told(&project, &["another worktree", "/kept/speculo/.speculo/specdev"]);
    let ran = shell(&project.root, advice(&ran)[0]);
    assert!(ran.stderr.contains("is undone"), "{ran}");
    assert_eq!(project.run(&["--check"]).code, Some(3));
}

// ---- a copy of the repository -----------------------------------------------------------------------

#[test]
fn repository_copied_and_recovered() {
    if !can_inject() {
        return;
    }
    for below in ["", "sub folder"] {
        for original in ["there", "recovered", "gone"] {
            let project = Project::bare("repo", below);
            project.fill();
            project.commit();
            let old = project.state();
            kill(&project);
            copy(&project.top, &project.dir.path().join("copy"));
            match original {
                "recovered" => drop(project.done(&["recover"])),
                "gone" => fs::remove_dir_all(&project.top).unwrap(),
                _ => {}
            }
            let before = project.top.exists().then(|| snapshot(&project.top));
            let top = project.dir.path().join("copy");
            let project = Project { root: top.join(below), top, ..project };
            let ran = told(&project, &["over 8 files was interrupted"]);
            assert_eq!(advice(&ran), ["specdev-migrate recover"]);
            project.write("status.json", "mine\n");
            project.done(&["recover"]);
            assert_eq!(project.text("status.json"), "mine\n");
            project.git(&["checkout", "."]);
            assert_same(&old, &project.state());
            if let Some(before) = before {
                assert_same(&before, &snapshot(&project.dir.path().join("repo")));
            }
        }
    }
}

#[test]
fn copied_without_a_repository_and_recovered() {
    if !can_inject() {
        return;
    }
    let project = Project::without_git();
    let old = project.snapshot();
    kill(&project);
    copy(&project.root, &project.dir.path().join("copy"));
    let copied = project.dir.path().join("copy");
    let ran = run(&copied, &["recover"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    fs::remove_dir_all(copied).unwrap();
    project.done(&["recover"]);
    assert_same(&old, &project.snapshot());
}

/// Two folders that share one git folder: the one that is still there is the one of the run.
#[test]
fn folder_copied_beside_its_git_folder() {
    if !can_inject() {
        return;
    }
    let project = Project::new();
    let old = project.state();
    fs::rename(project.top.join(".git"), project.dir.path().join("git")).unwrap();
    let git = project.dir.path().join("git");
    fs::write(project.top.join(".git"), format!("gitdir: {}\n", git.display())).unwrap();
    kill(&project);
    copy(&project.top, &project.dir.path().join("copy"));
    let project = moved(project, "copy");
    let ran = told(&project, &["another worktree", "/repo/speculo/.speculo/specdev"]);
    let ran = shell(&project.root, advice(&ran)[0]);
    assert!(ran.stderr.contains("is undone"), "{ran}");
    assert_same(&old, &moved(project, "repo").state());
}
