//! Where the state lies, and its bytes, read once.

pub mod artifact;
pub mod change;
pub mod files;
pub mod index;
pub mod layout;
pub mod papers;
pub mod record;
pub mod tree;
