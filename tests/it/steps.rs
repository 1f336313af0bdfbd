//! Fixtures of single steps and of whole chains: the road from `before/` to `after/`.
//!
//! For every fixture: the dry run writes nothing and prints `diff.snap`; `git apply` of it is the real
//! run; the result is `after/` to the byte, with the modes of before; a second run has nothing to do and
//! changes nothing, and neither does the library's plan; history verifies; `restore` gives `before/` back.

use std::collections::BTreeSet;

use specdev_migrate::history::section::History;
use specdev_migrate::migrations::CHAIN;

use crate::support::{Checked, Fixture, Project, Snapshot, check_all, fixtures, same};

#[test]
fn fixture_of_step() {
    check_all(&fixtures("steps"), |fixture| {
        let upgraded = check_upgrade(fixture)?;
        let step = step_of(fixture);
        let mut wanted: BTreeSet<String> = [step.to_string()].into();
        wanted.extend(fixture.text("also").unwrap_or_default().split_whitespace().map(str::to_string));
        let acted = acted(&upgraded);
        if acted == wanted { Ok(()) } else { Err(format!("steps that acted: {acted:?}, wanted {wanted:?}")) }
    });
}

/// The step a fixture of `steps/` belongs to.
pub(crate) fn step_of(fixture: &Fixture) -> &str {
    fixture.name.split('/').nth(1).unwrap_or_default()
}

/// The steps that the history of a project names.
pub(crate) fn acted(project: &Project) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for (_, node) in project.files().iter().filter(|(name, _)| name.ends_with(".md")) {
        for entry in History::read(&node.bytes.clone().into()).expect("history can be read").entries {
            out.extend(entry.meta.steps);
        }
    }
    out
}

/// Everything that must hold for a fixture with `after/`; returns the project as the run left it.
pub(crate) fn check_upgrade(fixture: &Fixture) -> Result<Project, String> {
    let project = fixture.lay_out();
    let options = fixture.options();
    let before = project.snapshot();

    let dry = project.run(options.iter().map(String::as_str).chain(["--dry-run"]));
    before.check("the dry run wrote", &project.snapshot())?;
    fixture.expect("diff.snap", &dry.stdout)?;
    fixture.expect("report.snap", &dry.report())?;
    let patched = project.copy();
    let applied = patched.git_apply(&dry.stdout);

    let ran = project.run(&options);
    if ran.code != dry.code {
        return Err(format!(
            "the run ended with {}, the dry run with {}\n{}",
            ran.code, dry.code, ran.stderr
        ));
    }
    same("stdout of the run", b"", &ran.stdout)?;
    let after = project.snapshot();
    fixture.expect_tree(&project)?;
    check_counts(&ran.stderr, &before, &after)?;
    check_modes(&before, &after)?;
    if let Some(applied) = applied {
        applied?;
        let files = |p: &Project| p.files().into_iter().map(|(name, n)| (name, n.bytes)).collect::<Vec<_>>();
        if files(&patched) != files(&project) {
            return Err("`git apply` of the dry run gives other files than the run".into());
        }
    }

    let again = project.run(&options);
    after.check("the second run wrote", &project.snapshot())?;
    if again.code != ran.code || (ran.code == 0 && !again.stderr.contains("nothing to do")) {
        return Err(format!("the second run: exit {}\n{}", again.code, again.stderr));
    }
    let plan = project.plan(&options)?;
    if let Some(file) = plan.files.first() {
        return Err(format!("planning the result again would write {}", file.path));
    }

    let place = project.place(&options);
    let verified = project.run(["history", "verify"].into_iter().chain(place.iter().map(String::as_str)));
    if verified.code != 0 || !String::from_utf8_lossy(&verified.stdout).contains(", 0 damaged") {
        return Err(format!("history verify: {verified:?}"));
    }
    let restored = project.run(["restore"].into_iter().chain(place.iter().map(String::as_str)));
    if restored.code != 0 {
        return Err(format!("restore: exit {}\n{}", restored.code, restored.stderr));
    }
    before.lasting().check("restore left", &project.snapshot().lasting())?;
    // Somebody goes on with the result.
    project.run(&options);
    Ok(project)
}

/// The number of files in the report is the number of files that changed.
fn check_counts(stderr: &str, before: &Snapshot, after: &Snapshot) -> Checked {
    let (before, after) = (before.lasting().0, after.lasting().0);
    let changed = after
        .iter()
        .filter(|(name, node)| {
            node.kind == "file" && before.get(*name).map(|n| &n.bytes) != Some(&node.bytes)
        })
        .count();
    let wanted = format!("wrote {changed} file{}", if changed == 1 { "" } else { "s" });
    if stderr.contains(&wanted) { Ok(()) } else { Err(format!("{wanted}, but the report says:\n{stderr}")) }
}

/// Files that were there keep their modes, folders too; nothing is gone.
fn check_modes(before: &Snapshot, after: &Snapshot) -> Checked {
    for (name, was) in &before.0 {
        let now = after.0.get(name).ok_or_else(|| format!("{name} is gone"))?;
        if (was.kind, was.mode) != (now.kind, now.mode) {
            return Err(format!("{name} was a {} {:o}, now {} {:o}", was.kind, was.mode, now.kind, now.mode));
        }
    }
    Ok(())
}

#[test]
fn every_step_leaves_the_fixtures_of_the_others_alone() {
    check_all(&fixtures("steps"), |fixture| {
        let own = step_of(fixture).to_string();
        let also = fixture.text("also").unwrap_or_default();
        let project = fixture.lay_out();
        let plan = project.plan(&fixture.options())?;
        for step in CHAIN {
            if step.name == own || also.split_whitespace().any(|a| a == step.name) {
                continue;
            }
            if let Some(artifact) = plan.artifacts.iter().find(|a| a.steps.contains(&step.name)) {
                return Err(format!("{} acts on {} version {}", step.name, artifact.file, artifact.from));
            }
        }
        Ok(())
    });
}
