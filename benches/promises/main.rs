//! What the tool promises about its speed and its memory, each against a floor that is measured in the
//! same run, turn by turn. `cargo bench --bench promises [-- NAME…]`, or `benches/floors.sh`; ratios are
//! what counts, since both sides meet the same machine.

#![expect(clippy::disallowed_methods, reason = "benchmarks make trees and start programs")]
#![expect(clippy::print_stdout, reason = "a program that people run by hand")]

mod dry_run;
mod growth;
mod large_files;
mod measure;
mod memory;
mod nothing_to_do;
mod real_run;
#[path = "../tree.rs"]
mod tree;

use measure::Outcome;

/// Name and benchmark, in the order they run.
const ALL: [(&str, fn() -> Outcome); 6] = [
    ("nothing_to_do", nothing_to_do::run),
    ("dry_run", dry_run::run),
    ("real_run", real_run::run),
    ("memory", memory::run),
    ("large_files", large_files::run),
    ("growth", growth::run),
];

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` starts this too, without the mark of a benchmark.
    if !args.iter().any(|a| a == "--bench") {
        return Ok(());
    }
    let names: Vec<&String> = args.iter().filter(|a| !a.starts_with('-')).collect();
    for (name, run) in ALL {
        if names.is_empty() || names.iter().any(|n| *n == name) {
            println!("{name}");
            run()?;
        }
    }
    Ok(())
}
