//! The program `namdb`: demonstrates and measures the database, and runs it as a cluster.
//!
//! [`run`] is the whole program. Crate `namdb-lab` adds simulator, evaluation of the papers and
//! SPADE, which are large and needed by few users; it uses the public items of this crate.
#![forbid(unsafe_code)]

pub mod bench;
pub mod commands;
pub mod judgement;
pub mod lab;
pub mod output;
pub mod plot;
pub mod postgres;
pub mod program;
pub mod servers;
pub mod sql_prompt;
pub mod sql_server;
pub mod sql_users;

pub use lab::Lab;
pub use program::{Verdict, end, run};

/// The commit that the program was built from.
pub const COMMIT: &str = env!("NAMDB_COMMIT");
