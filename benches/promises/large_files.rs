//! Four times as large files take about four times as long: an index, Evidence and a goal plan.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::measure::{Outcome, repository, rounds, tool, turns, verdict};
use crate::tree::{Era, Options};

pub(crate) fn run() -> Outcome {
    let cases: [(&str, fn(&Path, usize) -> std::io::Result<()>); 3] =
        [("index of 10,000 entries", index), ("Evidence of 4 MB", evidence), ("goal plan of 4 MB", plan)];
    for (what, enlarge) in cases {
        let options = Options::new(Era::V0_7_2, 1, 2);
        let (small, large) = (repository("files", &options)?, repository("files-large", &options)?);
        enlarge(&small, 1)?;
        enlarge(&large, 4)?;
        let dry = |root| tool(&["--dry-run"], root);
        let [small, large] = turns(rounds(), |_| Ok(()), [&|| dry(&small), &|| dry(&large)])?;
        let ratio = large.as_secs_f64() / small.as_secs_f64();
        println!(
            "  {what}, and four times that: {:.0} ms, {}",
            small.as_secs_f64() * 1e3,
            verdict(ratio, 5.0)
        );
    }
    Ok(())
}

/// Entries without values, of changes that have no folder any more.
fn index(root: &Path, factor: usize) -> std::io::Result<()> {
    let file = root.join("speculo/.speculo/specdev/status.json");
    let mut entries = String::new();
    for n in 0..10_000 * factor {
        let _ = write!(
            entries,
            "\n    {{\n      \"change\": \"2020-01-01-gone-{n:06}\",\n      \"current_work\": null,\n      \"works_run\": []\n    }},"
        );
    }
    let text = fs::read_to_string(&file)?;
    fs::write(&file, text.replacen("\"active\": [", &format!("\"active\": [{entries}"), 1))
}

fn evidence(root: &Path, factor: usize) -> std::io::Result<()> {
    enlarge(root, "evidence/T-01.md", factor)
}

fn plan(root: &Path, factor: usize) -> std::io::Result<()> {
    enlarge(root, "goal-plan.md", factor)
}

fn enlarge(root: &Path, name: &str, factor: usize) -> std::io::Result<()> {
    let changes = fs::read_dir(root.join("speculo/.speculo/specdev/changes"))?;
    for change in changes {
        let file = change?.path().join(name);
        let mut text = fs::read_to_string(&file)?;
        for n in 0..20_000 * factor {
            let _ = write!(
                text,
                "## Part {n}\n\n- a line, and `code`\n- another line of the list\n\n```sh\nmake test ROUND={n}\n```\n\nSome prose between two fences, so that the file looks like one, *emphasis* included.\n\n"
            );
        }
        fs::write(&file, text)?;
    }
    Ok(())
}
