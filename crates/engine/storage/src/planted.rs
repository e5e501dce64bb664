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
    /// `acknowledgement::any_group_under_way`: a commit waits for the group under way although the
    /// group's snapshot may not cover it.
    AnyGroupUnderWay,
    /// `acknowledgement::readers_not_held`: a transaction that has only read is reported at once.
    ReadersNotHeld,
    /// `flusher::acknowledged_before_sync`: a group is acknowledged before it is written.
    AcknowledgedBeforeSync,
    /// `flusher::numbered_after_snapshot`: a group gets its number behind its snapshot.
    NumberedAfterSnapshot,
    /// `checkpoint::named_early`: the control file names a checkpoint before a group covers it.
    CheckpointNamedEarly,
    /// `restore::covered_entries_replayed`: entries count that the checkpoint's group covers.
    CoveredEntriesReplayed,
    /// `restore::columns_in_wrong_order`: the changes of a row are applied from the last one on.
    ColumnsInWrongOrder,
    /// `control::renamed_unsynced`: the control file gets its name before it is durable.
    ControlRenamedUnsynced,
    /// `control::name_unsynced`: a change is reported before the control file's name is durable.
    ControlNameUnsynced,
    /// `open::first_counter_not_raised`: a start counts from 0 again.
    FirstCounterNotRaised,
    /// `catalog::index_before_group`: a unique index is named before the rows that it was filled
    /// from are durable.
    IndexBeforeGroup,
    /// `checkpoint::without_its_group`: a log may end before the group that completes the
    /// checkpoint.
    CheckpointWithoutItsGroup,
    /// `loss::later_index_kept`: a unique index stays although the commits that it was filled from
    /// are gone.
    LaterIndexKept,
    /// `loss::uncovered_entries_kept`: an accepted loss keeps entries that no group before the
    /// damage covers.
    UncoveredEntriesKept,
    /// `restore::unique_index_plain`: a unique index is a plain one after a restart.
    UniqueIndexPlain,
}

impl PlantedBug {
    /// Those of the redo log.
    pub const LOG: [Self; 4] = [
        Self::GroupBeforeBlocks,
        Self::MarkerBeforeSync,
        Self::NewSegmentUnsynced,
        Self::DroppedEntriesKept,
    ];

    /// Those of a database's directory.
    pub const DIRECTORY: [Self; 15] = [
        Self::AnyGroupUnderWay,
        Self::ReadersNotHeld,
        Self::AcknowledgedBeforeSync,
        Self::NumberedAfterSnapshot,
        Self::CheckpointNamedEarly,
        Self::CoveredEntriesReplayed,
        Self::ColumnsInWrongOrder,
        Self::ControlRenamedUnsynced,
        Self::ControlNameUnsynced,
        Self::FirstCounterNotRaised,
        Self::IndexBeforeGroup,
        Self::CheckpointWithoutItsGroup,
        Self::LaterIndexKept,
        Self::UncoveredEntriesKept,
        Self::UniqueIndexPlain,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GroupBeforeBlocks => "log::group_before_blocks",
            Self::MarkerBeforeSync => "log::marker_before_sync",
            Self::NewSegmentUnsynced => "log::new_segment_unsynced",
            Self::DroppedEntriesKept => "log::dropped_entries_kept",
            Self::AnyGroupUnderWay => "acknowledgement::any_group_under_way",
            Self::ReadersNotHeld => "acknowledgement::readers_not_held",
            Self::AcknowledgedBeforeSync => "flusher::acknowledged_before_sync",
            Self::NumberedAfterSnapshot => "flusher::numbered_after_snapshot",
            Self::CheckpointNamedEarly => "checkpoint::named_early",
            Self::CoveredEntriesReplayed => "restore::covered_entries_replayed",
            Self::ColumnsInWrongOrder => "restore::columns_in_wrong_order",
            Self::ControlRenamedUnsynced => "control::renamed_unsynced",
            Self::ControlNameUnsynced => "control::name_unsynced",
            Self::FirstCounterNotRaised => "open::first_counter_not_raised",
            Self::IndexBeforeGroup => "catalog::index_before_group",
            Self::CheckpointWithoutItsGroup => "checkpoint::without_its_group",
            Self::LaterIndexKept => "loss::later_index_kept",
            Self::UncoveredEntriesKept => "loss::uncovered_entries_kept",
            Self::UniqueIndexPlain => "restore::unique_index_plain",
        }
    }
}
