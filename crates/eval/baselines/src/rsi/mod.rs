//! RSI: the first protocol of network-attached memory, with a global timestamp oracle [ZB17 3.1,
//! listing 1, figure 2].
//!
//! Memory servers keep one version of each record and serve verbs; compute servers do everything
//! else:
//!
//! ```text
//! step  verbs                                           at
//!    1  read the read timestamp                         oracle
//!    2  read records; newer than the snapshot: abort    memory servers
//!    3  fetch and add: the commit timestamp             oracle
//!    4  compare and swap: version unchanged, lock bit   memory servers
//!    5  write records, their new version unlocks them   memory servers
//!    6  write the outcome at its place in the list      oracle; asynchronous
//! ```
//!
//! A thread of the oracle's server scans the list and raises the read timestamp up to the first
//! missing outcome ([`timestamp_thread`]). If a compute server dies between steps 3 and 6, it
//! leaves a gap in the list, before which the read timestamp stops for ever; a slow one delays it
//! [ZB17 3.2].
//!
//! We deviate: an outcome is a word at its place, not a bit, because words are the unit of atomic
//! writes of a fabric. Beside the records as printed there are others ([`Records`]), because the
//! printed ones do not keep the protocol's promise: one write installs version and content of a
//! record, so a concurrent reader may get the old version with some of the new content.
//! `tests/judged/rsi.rs` shows that, and that they have no other fault.

pub mod client;
pub mod oracle;
pub mod record;
pub mod step;
pub mod timestamp_thread;

pub use client::{Client, Ended, Snapshot};
pub use oracle::Oracle;
pub use record::{Record, Records};
pub use step::CommitStep;
