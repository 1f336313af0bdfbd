//! `cargo run --release --example generate -- OUT [--era 0.6|0.7.2|0.7.6] [--changes N] [--tickets N]
//! [--archived N] [--foreign N] [--git] [--seed N]`: writes a repository with SpecDev state.

#![expect(clippy::disallowed_methods, reason = "the generator writes files and starts git")]
#![expect(clippy::print_stderr, reason = "a program that people run by hand")]

use std::path::PathBuf;
use std::process::ExitCode;

mod tree;

use tree::{Era, Options};

fn main() -> ExitCode {
    let made = arguments().and_then(|(out, options)| {
        tree::generate(&out, &options).map_err(|e| format!("cannot write {}: {e}", out.display()))
    });
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("generate: {why}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Result<(PathBuf, Options), String> {
    let mut options = Options::new(Era::V0_6, 5, 4);
    let mut out = None;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--git" => options.git = true,
            "--era" => {
                let name = value()?;
                options.era =
                    Era::ALL.into_iter().find(|e| e.name() == name).ok_or(format!("unknown era {name}"))?;
            }
            "--changes" => options.changes = number(&value()?)?,
            "--tickets" => options.tickets = number(&value()?)?,
            "--archived" => options.archived = number(&value()?)?,
            "--foreign" => options.foreign = number(&value()?)?,
            "--seed" => options.seed = number(&value()?)? as u64,
            _ if out.is_none() && !arg.starts_with('-') => out = Some(PathBuf::from(&arg)),
            _ => return Err(format!("unexpected argument {arg}")),
        }
    }
    Ok((out.ok_or("name the folder to write into")?, options))
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("{text} is no number"))
}
