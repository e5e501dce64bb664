//! Benchmarks that load, run and check themselves, in every world in which the engine runs.
//!
//! A driver uses one trait, [`Workload`]: create the tables, load them in parts, make a terminal
//! per thread, run transactions one by one, and check the database afterwards. The behaviour of a
//! workload follows from its configuration and a seed; this crate has no clock and no threads.
//!
//! Read [`driver`] first, then [`bank`], the smallest workload, then [`tpcc`].
#![forbid(unsafe_code)]

pub mod append;
pub mod attempts;
pub mod bank;
pub mod catch_up;
pub mod churn;
pub mod count;
pub mod cycle;
pub mod driver;
pub mod error;
pub mod loading;
pub mod passing;
pub mod recording;
pub mod register;
#[cfg(test)]
mod simulated;
pub mod smallbank;
pub mod tatp;
mod testimony;
pub mod tpcc;
#[cfg(test)]
mod trial;
mod verdicts;
pub mod ycsb;

pub use append::Append;
pub use attempts::Attempts;
pub use bank::Bank;
pub use churn::{Churn, ChurnConfig};
pub use cycle::Cycle;
pub use driver::{
    AbortCounts, CheckResult, Finished, REASON_COUNT, RunTotals, TransactionResult, Whereabouts,
    Workload,
};
pub use error::WorkloadError;
pub use fabric::random::{self, Random};
/// The histories of recorded runs.
pub use history_judge::History;
pub use passing::Passing;
pub use register::{Register, RegisterConfig};
pub use smallbank::SmallBank;
pub use tatp::Tatp;
pub use tpcc::Tpcc;
pub use ycsb::Ycsb;
