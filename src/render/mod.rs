//! What the user sees: patch, text and document. Pure.

pub mod diff;
pub mod human;
pub mod json;
