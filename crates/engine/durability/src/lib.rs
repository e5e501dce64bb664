//! A database with a directory: what a restart finds is what was acknowledged.
//!
//! ```text
//! lanes --entries--> redo log --group, sync--> acknowledgement --> sessions
//! rows  --chunks---> checkpoint files
//! tables ----------> control file, which names the newest checkpoint
//!
//! restart: control file, then checkpoint, then log behind it
//! ```
//!
//! Read [`open`] first, then [`control`] and [`catalog`] (which tables there are), [`flusher`] and
//! [`acknowledgement`] (from a commit to its report), [`checkpoint`] with its files, and
//! [`restore`] with `tail` (from files to rows). Files are used through [`storage::Directory`], so
//! that all of this runs on the simulated disk too.
#![forbid(unsafe_code)]

pub mod acknowledgement;
pub mod catalog;
pub mod checkpoint;
mod checkpoint_file;
pub mod control;
pub mod error;
pub mod flusher;
pub mod open;
pub mod restore;
mod tail;

pub use acknowledgement::{Acknowledgements, Durable, Refusal, Ticket, Work};
pub use checkpoint::{CheckpointStart, remove_obsolete, write_checkpoint};
pub use control::Control;
pub use error::{DurabilityError, Result};
pub use flusher::{FlushStatistics, Flusher};
pub use open::{OpenOptions, Opened, open_directory};
pub use restore::{Half, Restore};
