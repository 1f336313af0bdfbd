//! States in which there is nothing to do, and neighbours that only look like ours: exit 0, and no byte,
//! mode or time of writing changes.

use crate::support::{Checked, Fixture, check_all, fixtures};

#[test]
fn nothing_changes() {
    check_all(&fixtures("untouched"), check_untouched);
}

fn check_untouched(fixture: &Fixture) -> Checked {
    let project = fixture.lay_out();
    let options = fixture.options();
    let before = project.snapshot();
    let ran = project.run(&options);
    fixture.expect("report.snap", &ran.report())?;
    before.check("the run wrote", &project.snapshot())?;
    for mode in ["--dry-run", "--check"] {
        let ran = project.run(options.iter().map(String::as_str).chain([mode]));
        if ran.code != 0 || !ran.stdout.is_empty() {
            return Err(format!("{mode}: {ran:?}"));
        }
        before.check(&format!("{mode} wrote"), &project.snapshot())?;
    }
    if ran.code == 0 && ran.stderr.contains("nothing to do") && ran.stdout.is_empty() {
        return Ok(());
    }
    Err(format!("there was something to do: {ran:?}"))
}
