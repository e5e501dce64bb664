//! NAM-DB's protocol as printed [ZB17 4, 5, 6.1]: snapshot isolation by one-sided verbs over a timestamp vector.
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
//! What the texts leave open, and what is here:
//!
//! - Records that are read or written independently of each other are one batch; the text says so of locks and of
//!   installs alone.
//! - A bucket has two records ([`design::BUCKET_SLOTS`]); who is not in its bucket is in one behind it.
//! - A record is put by a swap that claims the first free place of its bucket: the header's lock bit without a version.
//!   One install write then brings key and data. Who looks for a key and meets a claimed place finds nothing; who wants
//!   to put one there fails to lock.
//! - Records that are deleted keep their places. Buffers of old versions stand at fixed places; the pointers are there.
//! - What the mover does is in [`mover`], and that of the two ways to share a slot it is the second in [`vector::Slots`].
//! - There is no journal, no monitoring, no catalog: nobody takes over what a dead server began.
//!
//! What is wrong with it is shown by `tests/judged/nam_db`: records are torn by the single install write; the vector
//! is not read at one moment; a vector that was fetched before lacks the own commit; a slot that several threads write
//! covers commits that are not installed; data of an old version may be that of a newer one by the time it is read.
//!
//! To read it: [`design`], [`vector`], [`client`], [`transaction`], `read`, `commit`, [`mover`].

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
