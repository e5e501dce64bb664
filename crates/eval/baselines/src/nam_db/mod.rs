//! NAM-DB's protocol as printed [ZB17 4, 5, 6.1]: snapshot isolation by one-sided verbs over a
//! timestamp vector.
//!
//! ```text
//! step                 verbs                                                     at
//! timestamp            read the vector, or take what the fetch thread has        vector's servers
//! read                 read buckets; headers of old versions, their data         data servers
//! validate and lock    compare and swap: version unchanged, lock bit             data servers
//!                      read counter and headers of the ring
//! copy old versions    write data, header, and the next-write counter            data servers
//! install new versions write records, header first, their new version unlocks    data servers
//! indexes              messages to the processors that walk the trees            data servers
//! publish              write the commit timestamp into the own slot              vector's servers
//! ```
//!
//! The paper leaves some things open; our choices are:
//!
//! - Records that are read or written independently of each other are one batch; the paper says so
//!   only about locks and installs.
//! - A bucket has two records ([`design::BUCKET_SLOTS`]); a record that does not fit is in a later
//!   bucket.
//! - A new record is inserted by a swap that claims the first free place of its bucket: the header
//!   has the lock bit and no version. One install write then writes key and data. A reader of a key
//!   that meets a claimed place finds nothing; a transaction that wants to insert there fails to
//!   lock.
//! - Deleted records keep their places. Buffers of old versions are at fixed places; the pointers
//!   exist nevertheless.
//! - [`mover`] describes the mover. Of the two ways to share a slot we implement the second, in
//!   [`vector::Slots`].
//! - There is no journal, no monitoring, no catalog: no server completes what a dead one began.
//!
//! `tests/judged/nam_db` shows its faults: the single install write lets readers see torn records;
//! the vector is not read at one moment; a vector that was fetched earlier may lack the own commit;
//! a slot that several threads write covers commits that are not installed; the data of an old
//! version may be those of a newer one by the time it is read.
//!
//! Read [`design`], [`vector`], [`client`], [`transaction`], `read`, `commit`, [`mover`].
//!
//! Decision: docs/decisions/0143-the-protocol-as-printed-is-an-engine-of-its-own.md

pub mod client;
mod commit;
pub mod compute_server;
pub mod design;
pub mod header;
pub mod index;
pub mod load;
pub mod memory_server;
pub mod mover;
mod overflow;
mod read;
pub mod step;
pub mod transaction;
pub mod vector;

pub use client::{Client, Timestamps};
pub use compute_server::ComputeServer;
pub use design::{Design, Placement, TableSize};
pub use load::{LOADED, Load, survey};
pub use memory_server::MemoryServer;
pub use step::{CommitStep, Step, StepTimes};
pub use transaction::{Ended, Stop, Transaction};
pub use vector::{Fetch, Slots, Vector};
