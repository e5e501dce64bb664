//! The link to the instrumented engine.

pub use fabric::mutation::{begin_run, take_runs};
