//! An interrupted run whose folders were moved, copied, replaced or removed before it is recovered.

use std::fs;
use std::path::Path;

use specdev_migrate::apply::{Disk, Outcome, Stop, Target, apply, interrupted, lock, recover};
use specdev_migrate::error::Kind;

use super::guards::killed;
use super::{CONFIG, Repo, Script, change, changes, copy, old_and_new, target_of};

/// Git's files for a worktree of a repository.
fn add_worktree(repo: &Repo, id: &str, top: &Path) {
    let own = repo.path(".git/worktrees").join(id);
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("commondir"), "../..\n").unwrap();
    fs::write(own.join("gitdir"), format!("{}/.git\n", top.display())).unwrap();
    fs::write(top.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
}

/// A repository with one more worktree in which a run was killed.
fn killed_in_a_worktree() -> (Repo, Repo, Target) {
    let (repo, worktree) = (Repo::new(), Repo::new());
    fs::remove_dir(worktree.path(".git")).unwrap();
    add_worktree(&repo, "other", &worktree.root);
    let target = Target { journal_dir: repo.target().journal_dir, ..worktree.target() };
    let held = lock(&target).unwrap();
    let script = Script::killing(false, 14);
    apply(&target, &held, &changes(), &[], &Stop::new(), &script).unwrap_err();
    assert!(script.was_killed());
    (repo, worktree, target)
}

/// A run elsewhere is told of, and nobody touches anything.
fn check_refused_here(repo: &Repo, message: &str, hints: &[&str]) {
    let before = repo.snapshot();
    let script = Script::new(false);
    let error = repo.recover(&script).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (Kind::Recovery, message));
    assert_eq!(error.hints, hints);
    let found = interrupted(&repo.target()).unwrap().unwrap();
    assert_eq!(found.error(), error);
    assert_eq!(repo.apply(&script).unwrap_err().kind, Kind::Recovery);
    assert_eq!((script.count(), repo.snapshot()), (0, before));
}

#[test]
fn journal_of_another_worktree_of_the_repository() {
    let (repo, worktree, target) = killed_in_a_worktree();
    let top = worktree.root.display();
    let message = format!(
        "a run in another worktree of this repository was interrupted: {top}/specdev (5 files); nothing was touched"
    );
    let hint = format!("specdev-migrate recover --state '{top}' '{top}'");
    check_refused_here(&repo, &message, &[&hint]);
    let held = lock(&target).unwrap();
    assert_eq!(recover(&target, &held, &Disk).unwrap().outcome, Outcome::Undone);
}

#[test]
fn journal_of_a_worktree_that_is_gone() {
    let (repo, worktree, target) = killed_in_a_worktree();
    let (top, dir) = (worktree.root.display().to_string(), target.journal_dir.display().to_string());
    fs::remove_dir_all(&worktree.root).unwrap();
    let message = format!(
        "a run over 5 files was interrupted in {top}, which is no worktree of this repository any more (if it \
         was moved, recover there); nothing was touched"
    );
    let hint = format!("rm -r -- '{dir}'   # holds the old text of 5 files; only if they are gone for good");
    check_refused_here(&repo, &message, &[&hint]);
    fs::remove_dir_all(repo.path(".git/worktrees")).unwrap();
    check_refused_here(&repo, &message, &[&hint]);
}

/// Git numbers it as before, whether it was told or finds it at the next command.
#[test]
fn worktree_moved_then_recover() {
    let (old, _) = old_and_new();
    for is_told in [false, true] {
        let (repo, mut worktree, target) = killed_in_a_worktree();
        let moved = worktree.root.with_file_name("moved");
        fs::rename(&worktree.root, &moved).unwrap();
        if is_told {
            add_worktree(&repo, "other", &moved);
            let error = repo.recover(&Disk).unwrap_err();
            assert!(error.message.contains(&format!("{}/specdev", moved.display())), "{error}");
        }
        worktree.root = moved;
        let target = Target { journal_dir: target.journal_dir, ..target_of(&worktree.root) };
        let held = lock(&target).unwrap();
        assert_eq!(recover(&target, &held, &Disk).unwrap().outcome, Outcome::Undone);
        fs::remove_file(worktree.path(".git")).unwrap();
        let now = worktree.snapshot();
        assert!(old.iter().all(|(path, seen)| path == ".git" || now.get(path) == Some(seen)), "{now:#?}");
    }
}

/// What stands at the place now is not what the run worked on, so that must still be somewhere.
#[test]
fn journal_of_a_folder_that_was_replaced() {
    let (repo, _) = killed();
    fs::rename(repo.path("specdev"), repo.path("renamed")).unwrap();
    let fresh = Repo::new();
    copy(&fresh.path("specdev"), &repo.path("specdev"));
    let top = repo.root.display();
    let message = format!(
        "a run over 5 files was interrupted in {top}/specdev, which is another folder now; it is {top}/renamed \
         now; nothing was touched"
    );
    let hint = format!("specdev-migrate recover --state '{top}' '{top}'");
    check_refused_here(&repo, &message, &[&hint]);
    // There it is recovered, under the name that it has now.
    let target = Target { state: "renamed".into(), ..repo.target() };
    let found = interrupted(&target).unwrap().unwrap();
    assert_eq!((found.refusal, found.files[0].as_str()), (None, "renamed/config.json"));
    let held = lock(&target).unwrap();
    assert_eq!(recover(&target, &held, &Disk).unwrap().outcome, Outcome::Undone);
    drop(held);
    fs::remove_dir_all(repo.path("specdev")).unwrap();
    fs::rename(repo.path("renamed"), repo.path("specdev")).unwrap();
    assert_eq!(repo.snapshot(), old_and_new().0);
}

/// Put back from a copy it is another folder, and holds what the run left.
#[test]
fn folder_put_back_from_a_copy_then_recover() {
    let (repo, _) = killed();
    fs::rename(repo.path("specdev"), repo.path("aside")).unwrap();
    copy(&repo.path("aside"), &repo.path("specdev"));
    fs::remove_dir_all(repo.path("aside")).unwrap();
    assert_eq!(repo.recover(&Disk).unwrap().outcome, Outcome::Undone);
    assert_eq!(repo.snapshot(), old_and_new().0);
}

/// Undoing was stopped as well, when nothing was left but a file that the run had created.
#[test]
fn folder_put_back_from_a_copy_with_one_created_file_then_recover() {
    let repo = Repo::new();
    let old = repo.snapshot();
    let created = change("specdev/HISTORY.md", None, Some("new history\n"));
    let changes = [created, change(CONFIG, Some("old config\n"), Some("new config\n"))];
    let script = Script { kill_at: Some(10), ..Script::new(false) };
    repo.apply_changes(&changes, &[], &Stop::new(), &script).unwrap_err();
    assert_eq!(script.log.borrow().last().unwrap(), "exchange tmp-0.tmp config.json");
    let script = Script::killing(false, 1);
    repo.recover(&script).unwrap_err();
    assert_eq!(script.log.borrow().join(", "), "unlink tmp-0.tmp, rename HISTORY.md tmp-1.tmp");
    fs::rename(repo.path("specdev"), repo.path("aside")).unwrap();
    copy(&repo.path("aside"), &repo.path("specdev"));
    fs::remove_dir_all(repo.path("aside")).unwrap();
    assert_eq!(repo.recover(&Disk).unwrap().outcome, Outcome::Undone);
    assert_eq!(repo.snapshot(), old);
}

/// A copy is a repository of its own: each is recovered by itself, whatever became of the other.
#[test]
fn repository_copied_then_recover() {
    let (old, _) = old_and_new();
    for k in 3..27 {
        let repo = Repo::new();
        let script = Script::killing(false, k);
        repo.apply(&script).unwrap_err();
        let mut second = Repo::new();
        fs::remove_dir_all(&second.root).unwrap();
        second.root = second.root.with_file_name("copy");
        copy(&repo.root, &second.root);
        fs::write(second.path(CONFIG), "edited\n").unwrap();
        let before = repo.snapshot();
        let outcome = second.recover(&Disk).unwrap().outcome;
        assert_eq!(second.text(CONFIG), "edited\n", "{k}");
        assert_eq!(repo.snapshot(), before, "{k}");
        if k % 2 == 0 {
            fs::remove_dir_all(&second.root).unwrap();
        }
        assert_eq!(repo.recover(&Disk).unwrap().outcome, outcome, "{k}");
        if outcome == Outcome::Undone {
            assert_eq!(repo.snapshot(), old, "{k}");
        }
    }
}

/// In a copy of the repository the run of another worktree stays the other worktree's.
#[test]
fn repository_copied_without_the_worktree_of_the_run() {
    let (repo, worktree, _) = killed_in_a_worktree();
    let mut second = Repo::new();
    fs::remove_dir_all(&second.root).unwrap();
    second.root = second.root.with_file_name("copy");
    copy(&repo.root, &second.root);
    let before = (second.snapshot(), worktree.snapshot());
    let error = second.recover(&Disk).unwrap_err();
    assert!(error.message.contains("no worktree of this repository any more"), "{error}");
    assert_eq!((second.snapshot(), worktree.snapshot()), before);
}

#[test]
fn repository_moved_then_recover() {
    let (old, _) = old_and_new();
    let (mut repo, _) = killed();
    let moved = repo.root.with_file_name("moved");
    fs::rename(&repo.root, &moved).unwrap();
    repo.root = moved;
    assert_eq!(repo.recover(&Disk).unwrap().outcome, Outcome::Undone);
    assert_eq!(repo.snapshot(), old);
}
