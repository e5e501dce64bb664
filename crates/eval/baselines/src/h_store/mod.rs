//! An engine in the manner of H-Store [ZB17 7.3]: each partition has a single thread, which runs
//! one transaction after another; a transaction on several partitions stops all of them meanwhile.
//!
//! ```text
//! client       base site                          other site
//!   | run -------->| waits for its turns, in the order of their numbers
//!   |              | reserve ---------------------->|  waits for its turn, and reads
//!   |              |<-------------------------------|
//!   |              | runs the procedure             |  stands still
//!   |              | finish ----------------------->|  writes; the next transaction's turn
//!   |              |<-------------------------------|
//!   |<-------------|
//! ```
//!
//! [ZB17 7.3] measured H-Store itself and does not describe its protocol; a transaction's input
//! names its partitions. Ours sends two messages to every other site and gets two answers, where
//! two-phase commit has a third: once all sites are reserved, none can refuse, so the vote comes
//! with the rows. All sites grant turns in the same order, so there are no deadlocks to detect.
//!
//! Read [`engine`], [`site`], `turns`.
//!
//! Decision: docs/decisions/0131-open-details-favour-the-baseline.md

pub mod engine;
mod request;
pub mod site;
mod turns;

pub use engine::{Cluster, Machine, SerialOutcome, SerialProcedure, submit};
