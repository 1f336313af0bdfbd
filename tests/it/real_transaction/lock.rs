//! A second run while the first is under way: it names who is at work and touches nothing.

use std::time::Duration;

use super::{Lab, STEP, SWAP, can_inject, held, until};
use crate::cli::{Ran, command};

#[test]
fn second_run_while_the_first_is_under_way() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    // In the middle of moving files.
    let first = held(&lab, &["--no-git"], SWAP, 4, Duration::from_millis(2500));
    until("the journal", || lab.journal_dir().is_some_and(|dir| dir.join("journal-swapping").exists()));
    let lock = std::fs::read_to_string(lab.journal_dir().unwrap().join("lock")).unwrap();
    let pid = lock.lines().find_map(|line| line.strip_prefix("pid ")).unwrap();
    let owner = format!("process {pid} (");
    for args in [
        &[][..],
        &["--no-git"],
        &["--dry-run"],
        &["--check"],
        &["status"],
        &["validate"],
        &["history", "list"],
        &["restore"],
        &["recover"],
        &["--format", "json"],
    ] {
        let ran = lab.project.run(args);
        assert_eq!(ran.code, Some(7), "{args:?} {ran}");
        assert!(
            ran.stderr.contains(&owner) && ran.stderr.contains("specdev-migrate --no-git"),
            "{args:?} {ran}"
        );
        assert!(!ran.stderr.contains("specdev-migrate recover"), "{args:?} {ran}");
    }
    let ran = Ran::from(first.wait_with_output().unwrap(), Duration::ZERO);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(lab.is_new(&ran));
}

#[test]
fn second_run_that_meets_the_first_at_the_lock() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    // The first has the lock, and no journal yet.
    let first = held(&lab, &["--no-git"], STEP, 1, Duration::from_millis(1500));
    until("the lock", || lab.journal_dir().is_some_and(|dir| dir.join("journal-draft").exists()));
    let ran = lab.project.run(&["--no-git"]);
    assert_eq!(ran.code, Some(7), "{ran}");
    let ran = Ran::from(first.wait_with_output().unwrap(), Duration::ZERO);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(lab.is_new(&ran));
}

#[test]
fn run_in_another_worktree_waits_its_turn_too() {
    if !can_inject() {
        return;
    }
    let project = crate::cli::Project::new();
    project.git(&["worktree", "add", "-q", "../linked", "-b", "other"]);
    let lab = Lab::over(project, &["--no-git"]);
    let first = held(&lab, &["--no-git"], SWAP, 4, Duration::from_millis(1500));
    until("the journal", || lab.has_journal());
    let linked = lab.project.dir.path().join("linked");
    let ran = Ran::of(&mut command(&linked, &[]));
    assert_eq!(ran.code, Some(7), "{ran}");
    assert_eq!(Ran::from(first.wait_with_output().unwrap(), Duration::ZERO).code, Some(0));
    assert_eq!(Ran::of(&mut command(&linked, &[])).code, Some(0));
}

#[test]
fn lock_of_a_dead_run_is_in_nobodys_way() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    let (ran, fired) = lab.inject(&["--no-git"], "fsync", "signal=KILL", "1");
    assert!(fired && !lab.has_journal(), "{ran}");
    assert!(lab.journal_dir().unwrap().join("lock").exists());
    for args in [&["--dry-run"][..], &["--check"], &["status"]] {
        assert!(matches!(lab.project.run(args).code, Some(0 | 3)), "{args:?}");
    }
    lab.project.done(&["--no-git"]);
    assert!(lab.is_new(&"after the run"));
}
