//! Recovery of compute servers that have died [ZB17 §6.2].
//!
//! A dead compute server leaves locks, and commits that are installed in part. Its slots name it as
//! their owner, and each of its lanes has a [journal](layout::journal) on a memory server: batch 1
//! writes it beside the locks, so it costs no round trip. When all memory servers have fenced the
//! dead one, any survivor recovers its slots:
//!
//! ```text
//! claim     swap the owner of each slot, so that one survivor recovers it
//! decide    each journal whose number the vector does not cover: a mark on any server says that
//!           batch 2 was posted, so install it again; otherwise release the locks
//! retire    raise the slots past every number that was drawn, and withdraw the announcements
//! free      the slots have no owner any more
//! ```
//!
//! A lane's upkeep has journals of its own, which name all of its locks ([`upkeep`]).
//!
//! The journal of a commit may be lost with the last batch 1, while locks of this batch are held.
//! Nothing was installed then, so these locks guard nothing. They are *stray*: their number is
//! covered by the vector, and no lane keeps a lock when it publishes its number. A lane that meets
//! a stray lock releases it.
//!
//! Decision: docs/decisions/0311-a-commit-writes-its-batch-2-to-a-journal-with-its-locks.md

mod journal;
mod recover;
mod stray;
mod upkeep;

pub(crate) use journal::{JournalError, LaneJournal, begin_entry, in_region, places, readable};
pub use recover::{Recovered, RecoveryError};
pub(crate) use stray::LockedWord;
