//! The commands that `namdb-lab` adds to those of `namdb`.

pub mod reproduce;
pub mod simulate;
pub mod simulated;
pub mod spade;

pub use namdb_program::commands::*;
