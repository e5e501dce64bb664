//! Trad-SI: snapshot isolation in a shared-nothing database, by messages [blog, figure 3(a)], [ZB17 7.1].
//!
//! Each server owns the rows of some partitions, and nobody else touches them. A client sends a transaction to one
//! of the servers, whose manager runs it on the client's behalf:
//!
//! ```text
//! client      manager                    timestamps            owners
//!   | run ------>| read timestamp ---------->|                    |
//!   |            |<--------------------------|                    |
//!   |            | read ------------------------------------------>|  the newest version up to the read timestamp
//!   |            |<------------------------------------------------|
//!   |            | prepare --------------------------------------->|  first committer wins: locked, or refused
//!   |            |<------------------------------------------------|
//!   |            | commit timestamp -------->|                    |
//!   |            |<--------------------------|                    |
//!   |            | commit ---------------------------------------->|  versions installed, locks released
//!   |            |<------------------------------------------------|
//!   |<-----------| ended ------------------->|                    |  the read timestamp passes it
//! ```
//!
//! With [`Snapshots::Told`] the first of these steps is missing, and a read timestamp that rises is told to all servers.
//!
//! The texts name the manager, two-phase commit by messages, and a shared-nothing design; they do not print the
//! messages. Ours are as few as we could: what a manager's own server owns needs none, reads and prepares of
//! one step go out together and are one message for each owner, and nobody waits for the last one.
//!
//! The read timestamp passes a commit when that and all earlier ones are installed everywhere, so a version that
//! is locked by a prepared transaction is in no snapshot: readers never wait. A snapshot may be behind what its client
//! has committed: it is generalised snapshot isolation, as that of NAM-DB [ZB17 3.1].
//!
//! To read it: [`manager`], [`transaction`], `owner` with `partition`, `timestamps`.

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
