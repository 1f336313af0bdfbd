//! Upgrade the SpecDev workflow state of a repository, losslessly and reversibly.
//!
//! Data flows one way and is never read twice:
//!
//! ```text
//! discover -> read -> plan -> verify -> { render, apply } -> report
//! ```
//!
//! The library never prints and never ends the process; the binary is a thin user of it.

pub mod account;
pub mod apply;
pub mod cli;
pub mod commands;
pub mod decisions;
pub mod doc;
pub mod error;
pub mod explain;
pub mod facts;
pub mod finding;
pub mod git;
pub mod history;
#[path = "../migrations/mod.rs"]
pub mod migrations;
pub mod plan;
pub mod render;
pub mod restore;
pub mod schema;
pub mod state;

pub mod step;
pub mod trace;
pub mod validate;
pub mod verify;
