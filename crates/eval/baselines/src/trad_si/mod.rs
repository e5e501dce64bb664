//! Trad-SI: snapshot isolation in a shared-nothing database, by messages [blog, figure 3(a)], [ZB17
//! 7.1].
//!
//! Each server owns the rows of some partitions, and no other server accesses them. A client sends
//! a transaction to one of the servers, whose manager runs it on the client's behalf:
//!
//! ```text
//! client      manager                    timestamps            owners
//!   | run ------>| read timestamp ---------->|                    |
//!   |            |<--------------------------|                    |
//!   |            | read ------------------------------------------>|  versions of the snapshot
//!   |            |<------------------------------------------------|
//!   |            | prepare --------------------------------------->|  locked, or refused
//!   |            |<------------------------------------------------|
//!   |            | commit timestamp -------->|                    |
//!   |            |<--------------------------|                    |
//!   |            | commit ---------------------------------------->|  installed, unlocked
//!   |            |<------------------------------------------------|
//!   |<-----------| ended ------------------->|                    |  the read timestamp passes it
//! ```
//!
//! With [`Snapshots::Told`] the first of these steps is missing, and all servers are informed when
//! the read timestamp rises.
//!
//! The papers name the manager, two-phase commit by messages, and a shared-nothing design; they do
//! not print the messages. Ours are as few as possible: data of the manager's own server needs
//! none, reads and prepares of one step are sent in parallel, with one message per owner, and the
//! manager does not wait for the last message.
//!
//! The read timestamp passes a commit when it and all earlier ones are installed everywhere, so no
//! snapshot includes a version that a prepared transaction has locked: readers never wait. A
//! snapshot may be older than its client's last commit: this is generalised snapshot isolation,
//! like that of NAM-DB [ZB17 3.1].
//!
//! Read [`manager`], [`transaction`], `owner` with `partition`, `timestamps`.
//!
//! Decision: docs/decisions/0131-open-details-favour-the-baseline.md

pub mod cluster;
mod exchange;
pub mod manager;
mod owner;
pub mod partition;
mod request;
pub mod step;
mod timestamps;
pub mod transaction;

pub use cluster::{Cluster, Server, Snapshots, submit};
pub use manager::{Manager, Procedure, TransactionOutcome};
pub use partition::Range;
pub use step::CommitStep;
pub use transaction::{Stop, Transaction};
