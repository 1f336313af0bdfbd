//! A dry run over 1,000 changes of 8 tickets, against reading the files it cannot do without.

use crate::measure::{Outcome, must_read, repository, rounds, shell, tell, tool, turns};
use crate::tree::{Era, Options};

pub(crate) fn run() -> Outcome {
    for (era, git) in [(Era::V0_6, false), (Era::V0_7_2, false), (Era::V0_7_6, false), (Era::V0_7_6, true)] {
        let root = repository("dry-run", &Options { git, ..Options::new(era, 1_000, 8) })?;
        let read = format!("{} | xargs -0 cat", must_read(era));
        // The build folder may lie in a repository of its own.
        let args: &[&str] = if git { &["--dry-run"] } else { &["--dry-run", "--no-git"] };
        let [tool, floor] = turns(rounds(), |_| Ok(()), [&|| tool(args, &root), &|| shell(&read, &root)])?;
        let git = if git { ", git" } else { "" };
        tell(&format!("era {}{git}, 1,000 changes of 8", era.name()), tool, ("find | xargs cat", floor), 2.0);
    }
    Ok(())
}
