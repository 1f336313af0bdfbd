//! Where one value went, and where it came from (contract.md §5, `history show --trace`).

use crate::error::Result;
use crate::state::tree::Tree;

/// x
pub fn trace(_: &Tree, _: &str) -> Result<Vec<String>> {
    Ok(Vec::new())
}
