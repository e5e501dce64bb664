//! An engine in the manner of H-Store [ZB17 7.3]: partitions with a single thread each, which runs one transaction after
//! another to its end; whoever needs several partitions has all of them stand still meanwhile.
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
//! [ZB17 7.3] measured H-Store itself, whose protocol it does not tell; a transaction names its partitions by its input.
//! Ours has two messages each way for every other site, where two-phase commit has a third: nothing can be refused
//! here once all sites are reserved, so that the vote comes with the rows. Turns are taken in one order by all, which
//! leaves no deadlock to find.
//!
//! To read it: [`engine`], [`site`], `turns`.

pub mod engine;
mod request;
pub mod site;
mod turns;

pub use engine::{Cluster, Machine, SerialOutcome, SerialProcedure, submit};
