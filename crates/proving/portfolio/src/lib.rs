//! All simulated worlds under one interface, and the process in which one mutant is hunted.
//!
//! `cargo xtask mutate` and `cargo xtask reach` build this crate in an instrumented copy of the
//! workspace, where the environment turns one mutant on.
//!
//! Read [`world`] (the list of worlds), [`schedule`] (which one runs next), [`instrumented`] (the
//! link to the copy's engine).
#![forbid(unsafe_code)]

pub mod instrumented;
pub mod schedule;
pub mod world;
