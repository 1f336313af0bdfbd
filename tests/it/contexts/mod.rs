//! Worktree records, execution contexts and decisions (contract.md §3, §6, §8), on real repositories
//! through the real binary.

#![expect(clippy::disallowed_methods, reason = "tests make repositories, files and hooks of their own")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod accounts;
mod conditions;
mod continued;
mod decisions_file;
mod finished;
mod git_questions;
mod inventory;
mod lab;
mod later_runs;
mod open;
mod places;
mod readme;
mod release_073;
mod sources;
