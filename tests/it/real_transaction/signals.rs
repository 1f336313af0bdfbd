//! Signals at every call: a first one is heard when all is old or all is new, a second one ends the run at
//! once and leaves what `recover` makes whole.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{EFFECTS, Lab, STEP, SWAP, can_inject};
use crate::cli::{BIN, Project, Ran, clean};

/// Signals a command every time it makes a call; how many ended old and how many new.
fn grid(lab: &Lab, args: &[&str], call: &str, signal: &str, code: i32) -> (usize, usize) {
    let (mut old, mut new) = (0, 0);
    for n in 1.. {
        lab.reset();
        let (ran, fired) = lab.inject(args, call, &format!("signal={signal}"), &n.to_string());
        if !fired {
            assert_eq!(ran.code, Some(0), "{ran}");
            break;
        }
        // When it comes while the report is written, everything is over.
        assert!(ran.code == Some(code) || call == "write" && ran.code == Some(0), "{call} {n} {ran}");
        // Nothing is left to recover.
        assert!(!lab.has_journal(), "{call} {n} {ran}");
        if lab.is_new(&format!("{signal} at {call} {n}: {ran}")) { new += 1 } else { old += 1 }
    }
    (old, new)
}

#[test]
fn interrupted_at_every_call() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    for (calls, least) in EFFECTS {
        let ends: Vec<(usize, usize)> =
            calls.iter().map(|call| grid(&lab, &["--no-git"], call, "INT", 130)).collect();
        let all: usize = ends.iter().map(|(old, new)| old + new).sum();
        assert!(all >= least, "{calls:?}: {ends:?}");
        if calls.contains(&STEP) {
            // Heard until the first file is moved; then the run goes on to the end.
            assert_eq!(ends, [(0, 8), (1, 2), (0, 0)]);
        }
    }
}

#[test]
fn terminated_and_hung_up_at_every_rename() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    for signal in ["TERM", "HUP"] {
        let ends = [SWAP, STEP].map(|call| grid(&lab, &["--no-git"], call, signal, 143));
        assert_eq!(ends, [(0, 8), (1, 2)], "{signal}");
    }
}

#[test]
fn restore_and_recover_interrupted_at_every_rename() {
    if !can_inject() {
        return;
    }
    let project = Project::new();
    project.done(&[]);
    let lab = Lab::over(project, &["restore"]);
    let ends = [SWAP, STEP].map(|call| grid(&lab, &["restore"], call, "INT", 130));
    assert_eq!(ends, [(0, 8), (1, 2)]);

    lab.reset();
    lab.inject(&["restore"], SWAP, "signal=KILL", "5");
    let crashed = lab.save("crashed");
    for n in 1.. {
        lab.reset_to(&crashed);
        let (ran, fired) = lab.inject(&["recover"], SWAP, "signal=INT", &n.to_string());
        assert_eq!(ran.code, Some(if fired { 130 } else { 0 }), "{ran}");
        // Once begun it goes on to the end, which is the shortest way to a whole state.
        assert!(!lab.is_new(&ran));
        if !fired {
            break;
        }
    }
}

#[test]
fn two_interrupts_ten_milliseconds_apart() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    let (mut whole, mut recovered) = (0, 0);
    for (call, times) in [(SWAP, 7), (STEP, 2), ("unlinkat", 6), ("fsync", 4)] {
        for n in 1..=times {
            lab.reset();
            let when = format!("{n}..{}", n + 1);
            let (ran, fired) = lab.inject(&["--no-git"], call, "signal=INT:delay_exit=10000", &when);
            assert!(fired, "{ran}");
            assert_eq!(ran.code, Some(130), "{call} {n} {ran}");
            if lab.has_journal() {
                recovered += 1
            } else {
                whole += 1
            }
            lab.recovers(&format!("two interrupts at {call} {n}: {ran}"));
        }
    }
    assert!(whole > 0 && recovered > 0, "{whole} {recovered}");
}

#[test]
fn what_a_second_signal_does_is_said_at_the_first() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    // Time enough for it to be printed.
    let (ran, fired) = lab.inject(&["--no-git"], SWAP, "signal=INT:delay_exit=500000", "2..3");
    assert!(fired && lab.has_journal(), "{ran}");
    assert_eq!(ran.code, Some(130), "{ran}");
    assert!(ran.stderr.starts_with("stopping as soon as"), "{ran}");
    assert!(ran.stderr.contains("`specdev-migrate recover`"), "{ran}");
    lab.recovers(&"two interrupts half a second apart");
}

#[test]
fn dry_run_ends_at_once() {
    // A git that takes its time, so that the signal comes in the middle of planning.
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 143)] {
        for args in [&["--dry-run"][..], &["--check"], &["status"], &[]] {
            let project = Project::new();
            let bin = project.dir.path().join("bin");
            std::fs::create_dir(&bin).unwrap();
            let mark = project.dir.path().join("mark");
            std::fs::write(bin.join("git"), format!("#!/bin/sh\n: >'{}'\nexec sleep 5\n", mark.display()))
                .unwrap();
            std::fs::set_permissions(bin.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
                .unwrap();
            let before = project.state();
            let mut command = project.command(args);
            let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
            let start = std::time::Instant::now();
            let child =
                command.env("PATH", path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            super::until("git", || mark.exists());
            let pid = rustix::process::Pid::from_child(&child);
            let number = match signal {
                "INT" => rustix::process::Signal::INT,
                "TERM" => rustix::process::Signal::TERM,
                _ => rustix::process::Signal::HUP,
            };
            rustix::process::kill_process(pid, number).unwrap();
            let output = child.wait_with_output().unwrap();
            assert_eq!((output.status.code(), output.status.signal()), (Some(code), None), "{output:?}");
            assert!(output.stdout.is_empty(), "{output:?}");
            assert!(start.elapsed() < Duration::from_secs(4));
            crate::cli::assert_same(&before, &project.state());
        }
    }
}

#[test]
fn signals_that_were_ignored_stay_ignored() {
    if !can_inject() {
        return;
    }
    // As under nohup, and as a shell starts what runs in the background.
    for signal in ["HUP", "INT", "TERM"] {
        let lab = Lab::new();
        let log = lab.project.dir.path().with_extension("log");
        let script = format!(
            "trap '' {signal}; exec strace -qq -o '{}' -e trace={SWAP} -e inject={SWAP}:signal={signal}:when=3+ \"$0\" --no-git",
            log.display()
        );
        let mut command = Command::new("sh");
        clean(command.args(["-c", &script, BIN]), &lab.project.root);
        let ran = Ran::of(&mut command);
        assert_eq!(ran.code, Some(0), "{signal} {ran}");
        assert!(std::fs::read_to_string(&log).unwrap().contains(&format!("SIG{signal}")), "{ran}");
        assert!(lab.is_new(&ran));
    }
}
