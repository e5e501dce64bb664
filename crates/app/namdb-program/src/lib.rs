//! The program `namdb`: see the database at work, measure it, run it as a cluster.
//!
//! [`run`] is the whole program. Crate `namdb-lab` adds the simulator, the papers' evaluation and SPADE to it, which are
//! large and which few users need; it uses what is public here.
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

pub use lab::Lab;
pub use program::{Verdict, end, run};

/// The commit that the program was built from.
pub const COMMIT: &str = env!("NAMDB_COMMIT");
