//! The real run over 1,000 changes of 8 tickets, against copying the files it changes and syncing.

use std::fs;
use std::process::Command;

use crate::measure::{self, Outcome, repository, rounds, scratch, shell, tell, tool, turns};
use crate::tree::{Era, Options};

pub(crate) fn run() -> Outcome {
    for (era, git) in [(Era::V0_6, false), (Era::V0_7_2, false), (Era::V0_7_6, false), (Era::V0_7_6, true)] {
        let original = repository("real-run", &Options { git, ..Options::new(era, 1_000, 8) })?;
        let work = scratch("real-run-work")?;
        let copies = scratch("real-run-copies")?;
        // Which files change shows a first run.
        let restored = format!("rm -rf repo && cp -a '{}' repo && sync -f repo", original.display());
        measure::run(shell(&restored, &work))?;
        measure::run(shell("touch stamp", &work))?;
        let root = work.join("repo");
        // The build folder may lie in a repository of its own.
        let args: &[&str] = if git { &[] } else { &["--no-git"] };
        measure::run(tool(args, &root))?;
        let list = "find repo/speculo -type f -newer stamp -print0 > list && mv repo upgraded";
        measure::run(shell(list, &work))?;
        let copy = format!(
            "xargs -0 -a list cp -a --parents -t '{0}' && sync -f '{0}'",
            copies.join("new").display()
        );
        measure::run(shell(
            "tr '\\0' '\\n' < list | sed 's/^repo/upgraded/' | tr '\\n' '\\0' > l && mv l list",
            &work,
        ))?;
        let before = |side: usize| {
            if side == 0 {
                measure::run(shell(&restored, &work))?;
            } else {
                measure::run(shell("rm -rf new && mkdir new && sync -f .", &copies))?;
            }
            Ok(())
        };
        let floor: &dyn Fn() -> Command = &|| shell(&copy, &work);
        let [tool, floor] = turns(rounds(), before, [&|| tool(args, &root), floor])?;
        let git = if git { ", git" } else { "" };
        tell(&format!("era {}{git}, 1,000 changes of 8", era.name()), tool, ("cp -a && sync -f", floor), 3.0);
        fs::remove_dir_all(&work)?;
        fs::remove_dir_all(&copies)?;
    }
    Ok(())
}
