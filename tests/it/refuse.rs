//! Inputs that stop the run: the exit code, what the user reads, and a tree in which nothing changed, no
//! temporary file was left, and no time of writing moved.

use serde_json::Value;

use crate::support::{Checked, Fixture, Project, check_all, fixtures, same, words};

#[test]
fn nothing_is_written() {
    check_all(&fixtures("refuse"), check_refusal);
}

fn check_refusal(fixture: &Fixture) -> Checked {
    let project = fixture.lay_out();
    let options = fixture.options();
    let before = project.snapshot();

    let ran = project.run(&options);
    before.check("the refused run wrote", &project.snapshot())?;
    fixture.expect("error.snap", &ran.report())?;
    if ran.code == 0 || ran.code == 3 {
        return Err(format!("was not refused: exit {}", ran.code));
    }
    same("stdout of the refused run", b"", &ran.stdout)?;
    check_json(&project, &options, ran.code)?;

    // A write guard stops the real run only.
    let dry = project.run(options.iter().map(String::as_str).chain(["--dry-run"]));
    if fixture.has("guarded") {
        if dry.code != 0 || dry.stdout.is_empty() || !dry.stderr.contains("the real run would stop") {
            return Err(format!("the dry run of a guarded run: {dry:?}"));
        }
    } else if dry.code != ran.code || !dry.stdout.is_empty() {
        return Err(format!("the dry run: {dry:?}"));
    }
    before.check("the dry run wrote", &project.snapshot())?;
    check_cure(fixture, &project, &options)
}

/// All of stdout is one JSON document, also when nothing was done.
fn check_json(project: &Project, options: &[String], code: i32) -> Checked {
    let ran = project.run(options.iter().map(String::as_str).chain(["--format", "json"]));
    // A command line that cannot be read says nothing about formats.
    if ran.code == 2 && ran.stdout.is_empty() {
        return Ok(());
    }
    let document: Value =
        serde_json::from_slice(&ran.stdout).map_err(|e| format!("--format json prints no JSON: {e}"))?;
    if document["exit_code"] == code && ran.code == code {
        return Ok(());
    }
    Err(format!("--format json: exit {}, the document says {}", ran.code, document["exit_code"]))
}

/// What the report advises is done, and the block is gone.
fn check_cure(fixture: &Fixture, project: &Project, options: &[String]) -> Checked {
    let Some(cure) = fixture.text("cure") else { return Ok(()) };
    let mut options = options.to_vec();
    for line in cure.lines() {
        match line.strip_prefix("options ") {
            Some(more) => options.extend(words(more)),
            None => project.set_up(line),
        }
    }
    let ran = project.run(&options);
    if ran.code == 0 {
        Ok(())
    } else {
        Err(format!("the cure does not cure: exit {}\n{}", ran.code, ran.stderr))
    }
}
