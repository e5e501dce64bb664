//! Statistics of a lane.

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
    pub snapshots: u64,
    /// Round trips of snapshots.
    pub snapshot_round_trips: u64,
    /// Verbs of snapshots.
    pub snapshot_verbs: u64,
    /// Reads that needed an old version.
    pub old_version_reads: u64,
    /// Versions that the mover moved to the overflow region.
    pub versions_moved: u64,
    /// Version buffers given to rows. Summed over all lanes, these minus the collected ones are in
    /// use.
    pub buffers_given: u64,
    /// Version buffers that collection freed.
    pub buffers_collected: u64,
    /// Long values that collection freed.
    pub values_collected: u64,
    /// Tombstones and index entries that collection removed.
    pub entries_collected: u64,
    /// Round trips of upkeep (collection and growth), which belong to no transaction.
    pub upkeep_round_trips: u64,
    pub upkeep_verbs: u64,
    pub upkeep_bytes: u64,
    /// Calls among the verbs of upkeep.
    pub upkeep_calls: u64,
    /// Messages of upkeep, where messages carry the verbs.
    pub upkeep_messages: u64,
    pub buckets_split: u64,
}

impl LaneStatistics {
    /// Aborts for one reason.
    pub fn aborted(&self, abort: Abort) -> u64 {
        self.aborts[abort.index()]
    }

    pub fn aborted_total(&self) -> u64 {
        self.aborts.iter().sum()
    }
}
