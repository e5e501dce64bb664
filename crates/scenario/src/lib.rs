//! Scenarios: what a simulated run is made of, in files that people write; and the runs.
//!
//! A run is a scenario and a seed. The world is made as the scenario says, tables are loaded, clients run
//! transactions while things go wrong, and in the end everything is looked at: the judge decides on what
//! clients have seen, the workload on its invariants, and the structural checks on every table and index.
//!
//! ```text
//! file    scenario files, and what is drawn of them for a seed
//! guards  what they may remove of the engine
//! work    the workloads they name
//! run     a run: world, load, clients, faults, the end
//! client  what a client does, and what it puts up with
//! shrink  the smallest run that fails alike, as a script
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
