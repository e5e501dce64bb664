//! Planted bugs: each removes one guard of the durable files, so that a test can show that it
//! notices.
//!
//! Decision: docs/decisions/0005-mutants-exist-only-in-simulated-worlds.md

/// A planted bug, named after what it does. Only simulated disks ever switch one on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PlantedBug {
    /// `log::group_before_blocks`: a group record is written ahead of the blocks that it covers.
    GroupBeforeBlocks,
    /// `log::marker_before_sync`: the sync marker says that a group is synced before it is.
    MarkerBeforeSync,
    /// `log::new_segment_unsynced`: commits go to a new segment whose name is not durable.
    NewSegmentUnsynced,
    /// `log::dropped_entries_kept`: entries that no group covers stay after a crash, and count as
    /// covered by the groups of a later incarnation.
    DroppedEntriesKept,
}

impl PlantedBug {
    pub const ALL: [Self; 4] = [
        Self::GroupBeforeBlocks,
        Self::MarkerBeforeSync,
        Self::NewSegmentUnsynced,
        Self::DroppedEntriesKept,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GroupBeforeBlocks => "log::group_before_blocks",
            Self::MarkerBeforeSync => "log::marker_before_sync",
            Self::NewSegmentUnsynced => "log::new_segment_unsynced",
            Self::DroppedEntriesKept => "log::dropped_entries_kept",
        }
    }
}
