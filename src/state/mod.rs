//! Where the state lies, and its bytes, read once.

pub mod artifact;
