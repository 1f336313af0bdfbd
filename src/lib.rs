//! Upgrade the SpecDev workflow state of a repository, losslessly and reversibly.
//!
//! Data flows one way and is never read twice:
//!
//! ```text
//! discover -> read -> plan -> verify -> { render, apply } -> report
//! ```
//!
//! The library never prints and never ends the process; the binary is a thin user of it. Files and git
//! facts can be brought by the caller, so a plan can be made without a disk:
//!
//! ```
//! use specdev_migrate::decisions::Decisions;
//! use specdev_migrate::migrations::NEWEST;
//! use specdev_migrate::plan::{Request, plan};
//! use specdev_migrate::state::files::Memory;
//! use specdev_migrate::state::layout::Layout;
//! use specdev_migrate::state::tree::Tree;
//! use specdev_migrate::verify::verify;
//!
//! # fn main() -> specdev_migrate::error::Result<()> {
//! let layout = Layout { project_root: "/p".into(), state_root: "/p/state".into(), git_top: None };
//! let config = r#"{
//!   "schema_version": 3,
//!   "interaction_language": "en",
//!   "artifact_language": "en",
//!   "git": {"auto_commit": false, "default_branch": "main", "worktree_for_parallel": true},
//!   "execution": {"max_parallel": 2, "deep_ticket_human_approval": true, "shared_path_owner": "explicit"},
//!   "verification": {},
//!   "planning": {}
//! }
//! "#;
//! let files = Memory::new().with("/p/state/specdev/config.json", config);
//! let tree = Tree::read_from(&layout, &files)?;
//! let decisions = Decisions::default();
//! let request = Request { tree: &tree, release: NEWEST, decisions: &decisions, partial: false, facts: None, account: false };
//!
//! let verified = verify(request, plan(request)?)?;
//! let paths: Vec<&str> = verified.files().iter().map(|f| f.path.as_str()).collect();
//! assert_eq!(paths, ["HISTORY.md", "config.json"]);
//! let new = String::from_utf8_lossy(&verified.files()[1].after).into_owned();
//! assert!(new.contains(r#""execution": {"max_implementation_agents": 2, "#));
//! assert!(new.contains(r#""git": {"default_branch": "main"}"#));
//! # Ok(())
//! # }
//! ```
//!
//! [`apply::apply`] takes the files of a verified plan and puts them on the disk, all or nothing.

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
