//! RSI: the first protocol of network-attached memory, with a global timestamp oracle [ZB17 3.1, listing 1, figure 2].
//!
//! Memory servers keep one version of each record and serve verbs; compute servers do everything else:
//!
//! ```text
//! step  verbs                                           at
//!    1  read the read timestamp                         oracle
//!    2  read records; newer than the snapshot: abort    memory servers
//!    3  fetch and add: the commit timestamp             oracle
//!    4  compare and swap: version unchanged, lock bit   memory servers
//!    5  write records, their new version unlocks them   memory servers
//!    6  write the outcome at its place in the list      oracle; nobody waits for it
//! ```
//!
//! A thread of the oracle's server scans the list and raises the read timestamp up to the first outcome that is missing
//! ([`timestamp_thread`]). A compute server that dies between steps 3 and 6 leaves a hole in the list, before which the
//! read timestamp stands for ever; a slow one holds it up [ZB17 3.2].
//!
//! We deviate: an outcome is a word at its place, not a bit, because words are what a fabric writes at once. And
//! beside the records as printed there are others ([`Records`]), because the printed ones do not keep what the protocol
//! promises: one write installs version and content of a record, so that who reads it meanwhile gets the old
//! version with some of the new content. `tests/judged/rsi.rs` shows that, and that nothing else is wrong with them.

pub mod client;
pub mod oracle;
pub mod record;
pub mod step;
pub mod timestamp_thread;

pub use client::{Client, Ended, Snapshot};
pub use oracle::Oracle;
pub use record::{Record, Records};
pub use step::CommitStep;
