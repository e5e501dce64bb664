//! What a lane has done.

use crate::abort::Abort;
use serde::{Deserialize, Serialize};

/// Counts of one lane since it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LaneStatistics {
    /// Transactions that committed.
    pub commits: u64,
    /// Transactions that aborted, by [`Abort::index`].
    pub aborts: [u64; Abort::ALL.len()],
    /// Transactions whose outcome is unknown.
    pub unknown: u64,
    /// Snapshots taken.
    pub snapshots: u64,
    /// Round trips for them.
    pub snapshot_round_trips: u64,
    /// Verbs for them.
    pub snapshot_verbs: u64,
    /// Reads that had to look for an old version.
    pub old_version_reads: u64,
    /// Versions that the mover put into the overflow region.
    pub versions_moved: u64,
    /// Version buffers given to rows. Less those collected, over all lanes, that is how many are in
    /// use.
    pub buffers_given: u64,
    /// Version buffers given back by collection.
    pub buffers_collected: u64,
    /// Values out of line given back by collection.
    pub values_collected: u64,
    /// Tombstones and index entries removed by collection.
    pub entries_collected: u64,
    /// Round trips of collection and growth, which belong to no transaction.
    pub upkeep_round_trips: u64,
    /// Verbs of collection and growth.
    pub upkeep_verbs: u64,
    /// Bytes of collection and growth.
    pub upkeep_bytes: u64,
    /// Calls among the verbs of collection and growth.
    pub upkeep_calls: u64,
    /// Messages of collection and growth, where verbs travel in messages.
    pub upkeep_messages: u64,
    /// Buckets split.
    pub buckets_split: u64,
}

impl LaneStatistics {
    /// Aborts for one reason.
    pub fn aborted(&self, abort: Abort) -> u64 {
        self.aborts[abort.index()]
    }

    /// All aborts.
    pub fn aborted_total(&self) -> u64 {
        self.aborts.iter().sum()
    }
}
