//! Files that somebody changes while a run is under way: the run gives way, the change stays, and nothing
//! else is different.

use std::fs;
use std::time::Duration;

use super::{Lab, STEP, SWAP, can_inject, held, until};
use crate::cli::{ALPHA, Project, Ran, Snapshot, different};

const WAIT: Duration = Duration::from_millis(1200);

/// Changes something while the run is held up before it moves its `n`th file, 0 for before the journal is
/// complete; only that may be different then.
#[track_caller]
fn gives_way(lab: &Lab, n: usize, meddle: &dyn Fn(&Project), changed: &[&str]) {
    lab.reset();
    let (call, times) = if n == 0 { (STEP, 1) } else { (SWAP, n) };
    let run = held(lab, &["--no-git"], call, times, WAIT);
    let phase = if n == 0 { "journal-draft" } else { "journal-swapping" };
    until(phase, || lab.journal_dir().is_some_and(|dir| dir.join(phase).exists()));
    if n > 1 {
        // Until it is held up between two files.
        std::thread::sleep(Duration::from_millis(200));
    }
    meddle(&lab.project);
    let ran = Ran::from(run.wait_with_output().unwrap(), Duration::ZERO);
    assert_eq!(ran.code, Some(8), "{n} {ran}");
    assert!(ran.stderr.contains("changed since the plan was made"), "{ran}");
    assert!(ran.stderr.contains("speculo/.speculo/specdev/"), "{ran}");
    assert!(ran.stderr.contains("next:"), "{ran}");
    let mut expected: Vec<String> =
        changed.iter().map(|path| format!("repo/speculo/.speculo/specdev/{path}")).collect();
    expected.sort();
    assert_eq!(different(&lab.old, &lab.snapshot()), expected, "{n} {ran}");
}

/// One change of each kind, to the last file of the run and to others.
fn changes() -> Vec<(Box<dyn Fn(&Project)>, Vec<&'static str>)> {
    let plan = format!("changes/{ALPHA}/goal-plan.md");
    let status = "status.json";
    vec![
        (
            Box::new(move |p: &Project| p.write(status, p.text(status) + " ")) as Box<dyn Fn(&Project)>,
            vec!["status.json"],
        ),
        (Box::new(move |p| fs::remove_file(p.path(status)).unwrap()), vec!["status.json"]),
        (
            Box::new(move |p| {
                fs::remove_file(p.path(status)).unwrap();
                fs::create_dir(p.path(status)).unwrap();
            }),
            vec!["status.json"],
        ),
        (
            Box::new(move |p| {
                fs::remove_file(p.path(status)).unwrap();
                std::os::unix::fs::symlink("config.json", p.path(status)).unwrap();
            }),
            vec!["status.json"],
        ),
        // An editor that writes a new file and moves it over the old one.
        (
            Box::new(move |p| {
                p.write("status.json.new", "mine\n");
                fs::rename(p.path("status.json.new"), p.path(status)).unwrap();
            }),
            vec!["status.json"],
        ),
        (
            Box::new(move |p| p.write(&plan, p.text(&plan) + "more\n")),
            vec!["changes/2026-01-02-alpha/goal-plan.md"],
        ),
    ]
}

#[test]
fn change_between_plan_and_write() {
    if !can_inject() {
        return;
    }
    std::thread::scope(|scope| {
        for part in [0, 1] {
            scope.spawn(move || {
                let lab = Lab::new();
                for (meddle, changed) in changes().iter().skip(part).step_by(2) {
                    gives_way(&lab, 0, meddle, changed);
                }
            });
        }
    });
}

#[test]
fn file_that_appears_where_one_is_to_be_added() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    for (n, path) in [
        (0, "HISTORY.md"),
        (0, "changes/2026-01-03-beta/HISTORY.md"),
        // While the files before it are new already.
        (5, "changes/2026-01-03-beta/HISTORY.md"),
    ] {
        gives_way(&lab, n, &|p| p.write(path, "mine\n"), &[path]);
        assert_eq!(lab.project.text(path), "mine\n");
    }
}

#[test]
fn file_that_is_only_looked_at_counts_too() {
    if !can_inject() {
        return;
    }
    let project = Project::new();
    project.write(&format!("changes/{ALPHA}/README.md"), "# Mine\n\n## Ownership\n\n- Owner: `codex:a`\n");
    project.commit();
    let lab = Lab::over(project, &["--no-git"]);
    let path = "changes/2026-01-02-alpha/README.md";
    gives_way(&lab, 0, &|p| p.edit(path, "codex:a", "codex:b"), &[path]);
}

#[test]
fn change_in_the_middle_of_the_write() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    // Before the fifth move the first files are new already, and status.json is still old.
    for (meddle, changed) in changes().iter().take(3) {
        gives_way(&lab, 5, meddle, changed);
    }
}

#[test]
fn change_to_a_file_that_is_new_already() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    // Whoever edits the new version has seen it: the run goes on, the edit stays.
    let path = "changes/2026-01-02-alpha/.status.json";
    let run = held(&lab, &["--no-git"], SWAP, 5, WAIT);
    until("the swap", || lab.has_journal() && lab.project.text(path).contains("\"schema_version\": 5"));
    lab.project.write(path, lab.project.text(path) + " ");
    let ran = Ran::from(run.wait_with_output().unwrap(), Duration::ZERO);
    assert_eq!(ran.code, Some(0), "{ran}");
    let mut now = lab.snapshot();
    let edited = now.get_mut(&format!("repo/speculo/.speculo/specdev/{path}")).unwrap();
    assert_eq!(edited.1.pop(), Some(b' '));
    crate::cli::assert_same(&lab.new, &now);
}

#[test]
fn branch_that_is_switched() {
    if !can_inject() {
        return;
    }
    let project = Project::new();
    project.git(&["checkout", "-q", "-b", "side"]);
    project.edit("config.json", "\"en\"", "\"de\"");
    project.commit();
    project.git(&["checkout", "-q", "main"]);
    let lab = Lab::over(project, &["--no-git"]);
    let run = held(&lab, &["--no-git"], STEP, 1, WAIT);
    until("the draft", || lab.journal_dir().is_some_and(|dir| dir.join("journal-draft").exists()));
    lab.project.git(&["checkout", "-q", "side"]);
    let side = state(&lab.snapshot());
    let ran = Ran::from(run.wait_with_output().unwrap(), Duration::ZERO);
    assert_eq!(ran.code, Some(8), "{ran}");
    assert!(ran.stderr.contains("speculo/.speculo/specdev/config.json"), "{ran}");
    crate::cli::assert_same(&side, &state(&lab.snapshot()));
    assert_eq!(lab.project.git(&["status", "--porcelain"]), "");
}

fn state(all: &Snapshot) -> Snapshot {
    all.iter().filter(|(p, _)| p.starts_with("repo/speculo")).map(|(p, c)| (p.clone(), c.clone())).collect()
}

#[test]
fn edit_after_a_crash_survives_recovery() {
    if !can_inject() {
        return;
    }
    let lab = Lab::new();
    for path in ["status.json", "changes/2026-01-02-alpha/.status.json"] {
        lab.reset();
        lab.inject(&["--no-git"], SWAP, "signal=KILL", "5");
        let edited = lab.project.text(path) + "mine\n";
        lab.project.write(path, &edited);
        let ran = lab.project.done(&["recover"]);
        assert!(ran.stderr.contains(&format!("kept: speculo/.speculo/specdev/{path}")), "{ran}");
        assert_eq!(lab.project.text(path), edited);
        let others = different(&lab.old, &lab.snapshot());
        let saved = format!("repo/speculo/.speculo/specdev/{path}.specdev-old");
        let allowed = [format!("repo/speculo/.speculo/specdev/{path}"), saved];
        assert!(others.iter().all(|path| allowed.contains(path)), "{others:?}");
        assert!(lab.journal_dir().is_none());
    }
}
