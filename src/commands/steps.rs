//! Placeholder.
use super::{Outcome, Surroundings};
use crate::error::{Error, Kind, Result};
/// x
pub fn run(_: &crate::cli::Steps) -> Result<Outcome> {
    Err(Error::new(Kind::Failed, "todo"))
}
