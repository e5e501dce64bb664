//! Scenarios: files that describe simulated runs; and the runs.
//!
//! A run is a scenario and a seed. It makes the world, loads tables, runs clients' transactions
//! while faults happen, and checks everything at the end: the judge checks the clients' histories,
//! the workload its invariants, and the structural checks every table and index.
//!
//! ```text
//! file    scenario files, and the values drawn for a seed
//! guards  the guards of the engine that they may remove
//! work    their workloads
//! run     a run: world, load, clients, faults, the end
//! client  the behaviour of a client, and the failures that it tolerates
//! shrink  the smallest run with the same failure, as a script
//! ```
#![forbid(unsafe_code)]

mod client;
pub mod coverage;
pub mod file;
pub mod guards;
mod last_look;
mod near;
mod panics;
pub mod report;
mod run;
pub mod shrink;
mod work;

pub use file::{Mode, Replay, Scenario, ScenarioError};
pub use report::{Demand, Failure, RunReport, TransactionCounts};
pub use run::{RunOptions, run};
pub use shrink::{Shrunk, shrink};
pub use sim::{Coverage, FaultKind};
