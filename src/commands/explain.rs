//! What a finding code or a step means.

use super::{Outcome, Surroundings};
use crate::cli::Explain;
use crate::error::{Error, Kind, Result};
use crate::explain::{nearest, page, terminal};

/// Print the page.
pub fn run(args: &Explain, around: &Surroundings) -> Result<Outcome> {
    let Some(page) = page(&args.name) else {
        let mut error = Error::new(Kind::Usage, format!("there is no finding code or step {:?}", args.name));
        error = match nearest(&args.name) {
            Some(name) => error.hint(format!("specdev-migrate explain {name}")),
            None => error.hint("specdev-migrate steps   (the steps; docs/findings.md lists the codes)"),
        };
        return Err(error);
    };
    Ok(Outcome { stdout: terminal(&page, around.color_out).into_bytes(), ..Outcome::default() })
}
