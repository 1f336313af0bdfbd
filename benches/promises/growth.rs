//! How a dry run grows: linearly with the changes, and hardly at all with files that are not ours.

use crate::measure::{self, Outcome, median, repository, rounds, tool, turns, verdict};
use crate::tree::{Era, Options};

pub(crate) fn run() -> Outcome {
    let options = Options::new(Era::V0_7_2, 1_000, 8);
    let plain = repository("growth", &options)?;
    let foreign = repository("growth-foreign", &Options { foreign: 100_000, ..options })?;
    let dry = |root| tool(&["--dry-run", "--no-git"], root);
    let [few, many] = turns(rounds(), |_| Ok(()), [&|| dry(&plain), &|| dry(&foreign)])?;
    let ratio = many.as_secs_f64() / few.as_secs_f64();
    println!("  100,000 foreign files below evidence/: {}", verdict(ratio, 1.05));
    let large = repository("growth-large", &Options { changes: 10_000, ..options })?;
    let times: Result<Vec<_>, _> = (0..rounds().div_ceil(2)).map(|_| measure::run(dry(&large))).collect();
    let ratio = median(times?).as_secs_f64() / few.as_secs_f64();
    println!("  10,000 changes instead of 1,000: {}", verdict(ratio, 12.0));
    std::fs::remove_dir_all(&large)?;
    std::fs::remove_dir_all(&foreign)?;
    Ok(())
}
