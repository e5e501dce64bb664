//! A second model: group commit, a crash at any moment, and the restart.
//!
//! Two lanes run transactions on two rows, a reader reads both, a flusher commits groups, and the
//! power fails up to twice. The commit protocol itself is one step here: the first model is about
//! it. The questions are which transactions come back, and what was reported before the crash.
//!
//! ```text
//! lane     begin with a snapshot | lock or abort | append the entry | install | publish | report
//! reader   snapshot | report
//! flusher  snapshot S | take a lane's buffer, one after the other | write | sync
//! crash    memory is gone; of what was written and not synced, the entries or all may survive
//! restart  the entries count that the last group of their start of the database covers
//! ```
//!
//! Read [`state`] for the processes and what a restart finds, [`steps`] for their steps, and
//! [`promises`] for the properties.
//!
//! Decision: docs/decisions/0296-a-group-of-commits-is-what-a-snapshot-covers.md

pub mod promises;
pub mod state;
pub mod steps;

pub use state::{Guards, State};
pub use steps::{Action, GroupCommit};
