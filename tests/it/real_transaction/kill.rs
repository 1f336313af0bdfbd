//! Killed at every call: all old or all new once `recover` has run, also when that is killed too.

use super::{EFFECTS, Lab, STEP, SWAP, can_inject};
use crate::cli::{Project, Ran};

/// Kills a command every time it makes a call; how many ended old and how many new.
fn grid(lab: &Lab, args: &[&str], call: &str) -> (usize, usize) {
    let (mut old, mut new) = (0, 0);
    for n in 1.. {
        lab.reset();
        let (ran, fired) = lab.inject(args, call, "signal=KILL", &n.to_string());
        if !fired {
            assert_eq!(ran.code, Some(0), "{ran}");
            assert!(lab.is_new(&ran));
            break;
        }
        assert_eq!(ran.signal, Some(9), "{ran}");
        let said = format!("killed at {call} {n}");
        if lab.recovers(&said) {
            new += 1
        } else {
            old += 1
        }
        // Nothing is left to do, or the whole run can be done now.
        let again = lab.project.run(args);
        assert_eq!(again.code, Some(0), "{said} {again}");
        assert!(lab.is_new(&again), "{said}");
    }
    (old, new)
}

#[test]
fn upgrade_killed_at_every_call() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    for (calls, least) in EFFECTS {
        let ends: Vec<(usize, usize)> = calls.iter().map(|call| grid(&lab, &["--no-git"], call)).collect();
        let all: usize = ends.iter().map(|(old, new)| old + new).sum();
        assert!(all >= least, "{calls:?}: {ends:?}");
        // Both sides of the point of no return.
        let news: usize = ends.iter().map(|(_, new)| new).sum();
        if calls.contains(&STEP) {
            assert!(news > 0 && news < all, "{ends:?}");
        }
    }
}

#[test]
fn restore_killed_at_every_rename() {
    if !can_inject() {
        return;
    }
    let project = Project::new();
    project.done(&[]);
    let lab = Lab::over(project, &["restore"]);
    let ends = [SWAP, STEP].map(|call| grid(&lab, &["restore"], call));
    assert_eq!(ends, [(8, 0), (2, 1)]);
}

#[test]
fn partial_run_killed_at_every_rename() {
    if !can_inject() {
        return;
    }
    let prepared = || {
        let project = Project::new();
        project.edit("changes/2026-01-02-alpha/.status.json", "\"artifact\"", "\"mine\": 1, \"artifact\"");
        project.commit();
        project
    };
    let project = prepared();
    let old = project.state();
    assert_eq!(project.run(&["--partial", "--no-git"]).code, Some(4));
    let new = project.state();
    for (call, least) in [(SWAP, 4), (STEP, 3)] {
        for n in 1.. {
            let project = prepared();
            let log = project.dir.path().with_extension("log");
            let mut command = super::strace(
                &project,
                &["--partial", "--no-git"],
                call,
                "signal=KILL",
                &n.to_string(),
                &log,
            );
            let ran = Ran::of(&mut command);
            let _ = std::fs::remove_file(log);
            if ran.signal.is_none() {
                assert!(n > least, "{call} {n}");
                break;
            }
            project.done(&["recover"]);
            let now = project.state();
            assert!(now == old || now == new, "{call} {n}");
        }
    }
}

#[test]
fn recover_killed_at_every_call() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    // Before the first file is moved, in the middle, after the last, and while cleaning up.
    for (call, n) in [(SWAP, 1), (SWAP, 5), (STEP, 3), ("unlinkat", 2)] {
        lab.reset();
        let (ran, fired) = lab.inject(&["--no-git"], call, "signal=KILL", &n.to_string());
        assert!(fired && lab.has_journal(), "{call} {n} {ran}");
        let crashed = lab.save("crashed");
        let mut ends = Vec::new();
        for call in EFFECTS.iter().flat_map(|(calls, _)| *calls) {
            for m in 1.. {
                lab.reset_to(&crashed);
                let (ran, fired) = lab.inject(&["recover"], call, "signal=KILL", &m.to_string());
                if !fired {
                    assert_eq!(ran.code, Some(0), "{ran}");
                    ends.push(lab.is_new(&ran));
                    break;
                }
                assert_eq!(ran.signal, Some(9), "{ran}");
                ends.push(lab.recovers(&format!("killed at {n}, then at {call} {m}")));
            }
        }
        assert!(ends.len() > 15, "{ends:?}");
        // It ends the same way, however often it is begun.
        assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}");
    }
}

#[test]
fn recover_killed_again_and_again() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    lab.inject(&["--no-git"], SWAP, "signal=KILL", "8");
    // Each attempt removes one file and no more: it must still come to an end.
    let mut attempts = 0;
    while lab.has_journal() {
        let (ran, _) = lab.inject(&["recover"], "unlinkat", "signal=KILL", "2");
        assert_eq!(ran.signal, Some(9), "{ran}");
        attempts += 1;
        assert!(attempts < 100);
    }
    assert!(attempts > 3, "{attempts}");
    lab.project.done(&["recover"]);
    assert!(!lab.is_new(&attempts));
}

#[test]
fn every_command_tells_of_an_interrupted_run() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    lab.inject(&["--no-git"], SWAP, "signal=KILL", "4");
    for args in [
        &[][..],
        &["--dry-run"],
        &["--check"],
        &["--partial"],
        &["--no-git"],
        &["status"],
        &["validate"],
        &["decisions"],
        &["history", "list"],
        &["history", "verify"],
        &["restore"],
        &["restore", "--dry-run"],
    ] {
        let ran = lab.project.refused(args, 9, &["interrupted", "8 files", "next: specdev-migrate recover"]);
        assert!(ran.stdout.is_empty(), "{ran}");
    }
    let ran = lab.project.refused(&["--format", "json"], 9, &["interrupted"]);
    assert_eq!(ran.json()["outcome"], "failed");
    let ran = lab.project.done(&["recover", "--format", "json"]);
    assert_eq!(ran.json()["outcome"], "undone");
    assert_eq!(ran.json()["files"].as_array().unwrap().len(), 8, "{ran}");
    assert!(ran.stderr.contains("is undone: everything is as it was before"), "{ran}");
    let ran = lab.project.done(&["recover"]);
    assert!(ran.stderr.contains("there is no interrupted run"), "{ran}");
}

#[test]
fn interrupted_in_another_worktree_and_below_the_top_level() {
    if !can_inject() {
        return;
    }
    let project = Project::bare("repo", "sub folder");
    project.fill();
    project.commit();
    project.git(&["worktree", "add", "-q", "../it's", "-b", "other"]);
    let old = project.state();
    let log = project.dir.path().with_extension("log");
    let mut command = super::strace(&project, &["--no-git"], SWAP, "signal=KILL", "4", &log);
    assert_eq!(Ran::of(&mut command).signal, Some(9));
    std::fs::remove_file(log).unwrap();
    // The other worktree shares the journal.
    let other = project.dir.path().join("it's/sub folder");
    let ran = Ran::of(&mut crate::cli::command(&other, &[]));
    assert_eq!(ran.code, Some(9), "{ran}");
    let ran = Ran::of(&mut crate::cli::command(&other, &["recover"]));
    assert_eq!(ran.code, Some(9), "{ran}");
    let line = ran.stderr.lines().find_map(|line| line.trim().strip_prefix("next: ")).unwrap();
    let ran = crate::cli::shell(&other, line);
    assert_eq!(ran.code, Some(0), "{line} {ran}");
    crate::cli::assert_same(&old, &project.state());
    assert_eq!(Ran::of(&mut crate::cli::command(&other, &[])).code, Some(0));
}

#[test]
fn interrupted_without_a_repository() {
    if !can_inject() {
        return;
    }
    for (call, least) in [(SWAP, 8), (STEP, 3)] {
        for n in 1.. {
            let project = Project::without_git();
            let old = project.snapshot();
            let log = project.dir.path().with_extension("log");
            let mut command = super::strace(&project, &[], call, "signal=KILL", &n.to_string(), &log);
            let ran = Ran::of(&mut command);
            std::fs::remove_file(log).unwrap();
            if ran.code == Some(0) {
                assert!(n > least, "{call} {n}");
                break;
            }
            project.done(&["recover"]);
            if project.run(&["--check"]).code == Some(3) {
                crate::cli::assert_same(&old, &project.snapshot());
            }
            assert!(!project.top.join(".specdev-migrate").exists());
        }
    }
}
