//! A repository where nothing is left to do, against `git status` in it.

use crate::measure::{self, Outcome, git, repository, rounds, shell, tell, tool, turns};
use crate::tree::{Era, Options};

fn in_era(era: Era) -> Outcome {
    let root = repository("nothing-to-do", &Options { git: true, ..Options::new(era, 5, 8) })?;
    measure::run(tool(&[], &root))?;
    let commit = "git add -A && git -c user.name=dev -c user.email=dev@example.invalid commit -qm upgraded";
    measure::run(shell(commit, &root))?;
    let rounds = 10 * rounds();
    let [tool, floor] =
        turns(rounds, |_| Ok(()), [&|| tool(&[], &root), &|| git(&["status", "--porcelain"], &root)])?;
    tell(&format!("era {}, 5 changes", era.name()), tool, ("git status --porcelain", floor), 2.0);
    Ok(())
}

pub(crate) fn run() -> Outcome {
    Era::ALL.into_iter().try_for_each(in_era)
}
