//! The commands that this program adds to those of `namdb`.

pub mod reproduce;
pub mod simulate;
pub mod simulated;
pub mod spade;

pub use namdb_program::commands::*;
