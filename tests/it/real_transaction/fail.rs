//! Every call fails once: the run ends with 1 and everything is old, or with 9 and can be recovered.

use super::{EFFECTS, Lab, MKDIR, STEP, SWAP, WRITE, can_inject};
use crate::cli::Project;

/// Fails a call every time it is made; how many ended with 0, 1 and 9.
fn grid(lab: &Lab, args: &[&str], call: &str, error: &str) -> [usize; 3] {
    let mut codes = [0; 3];
    for n in 1.. {
        lab.reset();
        let (ran, fired) = lab.inject(args, call, &format!("error={error}"), &n.to_string());
        if !fired {
            assert_eq!(ran.code, Some(0), "{ran}");
            break;
        }
        let said = format!("{error} at {call} {n}: {ran}");
        match ran.code {
            // Only what no longer matters may fail and go untold: all is done, bar a lock file.
            Some(0) => {
                codes[0] += 1;
                assert!(!lab.has_journal(), "{said}");
                assert!(lab.recovers(&said), "{said}");
            }
            Some(1) => {
                codes[1] += 1;
                assert!(ran.stderr.contains("nothing was changed"), "{said}");
                assert!(ran.stderr.contains("next:"), "{said}");
                let mut now = lab.snapshot();
                // The one thing that may stay is the empty lock of a run that could not even sign it.
                now.retain(|path, _| !path.contains("/.git/specdev-migrate-"));
                crate::cli::assert_same(&lab.old, &now);
                assert!(!lab.recovers(&said), "{said}");
            }
            Some(9) => {
                codes[2] += 1;
                assert!(lab.has_journal(), "{said}");
                assert!(ran.stderr.contains("next: specdev-migrate recover"), "{said}");
                lab.recovers(&said);
            }
            _ => panic!("{said}"),
        }
    }
    codes
}

#[test]
fn every_call_fails_once() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    for (calls, least) in EFFECTS {
        let codes: Vec<[usize; 3]> =
            calls.iter().map(|call| grid(&lab, &["--no-git"], call, "EIO")).collect();
        assert!(codes.iter().flatten().sum::<usize>() >= least, "{calls:?}: {codes:?}");
        if calls.contains(&STEP) {
            assert!(codes.iter().all(|codes| codes[0] == 0 && codes[2] == 0), "{codes:?}");
        }
    }
}

#[test]
fn disk_that_is_full() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    for call in [WRITE, MKDIR, SWAP, STEP] {
        let codes = grid(&lab, &["--no-git"], call, "ENOSPC");
        assert!(codes[1] > 0, "{codes:?}");
        lab.reset();
        let (ran, _) = lab.inject(&["--no-git"], call, "error=ENOSPC", "1");
        assert!(ran.stderr.contains("No space left"), "{ran}");
    }
    // And the message names the file and what to do.
    lab.reset();
    let (ran, _) = lab.inject(&["--no-git"], WRITE, "error=ENOSPC", "9");
    assert!(ran.stderr.contains("speculo/.speculo/specdev/"), "{ran}");
    assert!(ran.stderr.contains("df -h"), "{ran}");
}

#[test]
fn disk_that_stays_broken() {
    if !can_inject() {
        return;
    }
    // From the nth time on it never works, so that nothing can be put back either.
    let lab = Lab::new();
    let mut codes = Vec::new();
    for (call, times) in [(SWAP, 8), (STEP, 3), ("unlinkat", 5)] {
        for n in 1..=times {
            lab.reset();
            let (ran, fired) = lab.inject(&["--no-git"], call, "error=EIO", &format!("{n}+"));
            assert!(fired, "{ran}");
            codes.push(ran.code.unwrap());
            let said = format!("broken from {call} {n}: {ran}");
            assert!(matches!(ran.code, Some(1 | 9)), "{said}");
            assert_eq!(ran.code == Some(9), lab.has_journal(), "{said}");
            assert_eq!(lab.recovers(&said), call == "unlinkat", "{said}");
        }
    }
    assert!(codes.contains(&1) && codes.contains(&9), "{codes:?}");
}

#[test]
fn modes_are_as_before_when_a_later_file_fails() {
    if !can_inject() {
        return;
    }
    let project = Project::new();
    for (path, mode) in [
        ("config.json", 0o640),
        ("status.json", 0o664),
        ("changes/2026-01-02-alpha/.status.json", 0o600),
        ("changes/2026-01-02-alpha/goal-plan.md", 0o755),
        ("changes/2026-01-02-alpha", 0o2775),
    ] {
        project.set_mode(path, mode);
    }
    let lab = Lab::over(project, &["--no-git", "--allow-dirty"]);
    for (call, n) in [(SWAP, 2), (SWAP, 8), (STEP, 3), ("fchmod", 2)] {
        lab.reset();
        let (ran, fired) = lab.inject(&["--no-git"], call, "error=EIO", &n.to_string());
        assert!(fired && ran.code == Some(1), "{call} {n} {ran}");
        crate::cli::assert_same(&lab.old, &lab.snapshot());
    }
}

#[test]
fn file_system_without_exchange() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    let (ran, fired) = lab.inject(&["--no-git"], SWAP, "error=EINVAL", "1+");
    assert!(fired, "{ran}");
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(lab.is_new(&ran));
}

#[test]
fn recover_that_fails_can_be_repeated() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    lab.inject(&["--no-git"], SWAP, "signal=KILL", "5");
    let crashed = lab.save("crashed");
    for call in EFFECTS.iter().flat_map(|(calls, _)| *calls) {
        for m in 1.. {
            lab.reset_to(&crashed);
            let (ran, fired) = lab.inject(&["recover"], call, "error=EIO", &m.to_string());
            if !fired {
                break;
            }
            assert!(matches!(ran.code, Some(0 | 1 | 9)), "{call} {m} {ran}");
            assert!(!lab.recovers(&format!("EIO at {call} {m}: {ran}")), "{call} {m}");
        }
    }
}
