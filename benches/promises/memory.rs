//! Peak memory over 1,000 changes of 8 tickets, against the bytes that have to be read.

use std::process::{Command, Stdio};

use crate::measure::{Outcome, TOOL, must_read, repository};
use crate::tree::{Era, Options};

pub(crate) fn run() -> Outcome {
    for era in Era::ALL {
        let root = repository("memory", &Options::new(era, 1_000, 8))?;
        let list = format!("{} | xargs -0 cat | wc -c", must_read(era));
        let read = Command::new("sh").args(["-c", &list]).current_dir(&root).output()?.stdout;
        let read: u64 = String::from_utf8(read)?.trim().parse()?;
        let limit = 4 * read + (64 << 20);
        for mode in ["--dry-run", "--allow-dirty"] {
            let time = Command::new("/usr/bin/time")
                .args(["-f", "%M", TOOL, "-q", "--no-git", mode])
                .arg(&root)
                .stdout(Stdio::null())
                .output()?;
            let peak = String::from_utf8(time.stderr)?;
            let peak: u64 = peak.lines().last().unwrap_or_default().trim().parse::<u64>()? << 10;
            let what = if mode == "--dry-run" { "dry run" } else { "real run" };
            let kept = if peak <= limit { "kept" } else { "NOT KEPT" };
            println!(
                "  era {}, {what}: {} MB peak, {} MB read, at most {} MB: {kept}",
                era.name(),
                peak >> 20,
                read >> 20,
                limit >> 20
            );
        }
    }
    Ok(())
}
