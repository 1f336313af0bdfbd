//! Placeholder.
use super::{Outcome, Surroundings};
use crate::error::{Error, Kind, Result};
/// x
pub fn run(_: &crate::cli::Explain, _: &Surroundings) -> Result<Outcome> {
    Err(Error::new(Kind::Failed, "todo"))
}
