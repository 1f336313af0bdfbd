//! Properties over random values, layouts and operations.
