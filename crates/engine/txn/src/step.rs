//! The named moments of collection and of catalog changes. Those of a commit are
//! [`crate::commit::CommitStep`], those inside hash tables and trees stand in crate `index`.

use fabric::FailurePoint;

/// A moment of collection at which the world may end, and what is true then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectStep {
    /// The regions say up to which stamp things may be missing; nothing is collected yet.
    CollectedRaised,
    /// Rows whose version buffers go are locked; their chains still lead there.
    BuffersLocked,
    /// Those rows lead nowhere and are unlocked.
    BuffersDetached,
    /// The bucket or leaf of an entry is locked.
    EntryLocked,
    /// So is the tombstone behind it; or the entry of an index was found to be garbage.
    TombstoneLocked,
    /// The entry is gone, its bucket or leaf unlocked.
    EntryRemoved,
}

impl CollectStep {
    /// Every step, for sweeps that kill at each of them.
    pub const ALL: &[Self] = &[
        Self::CollectedRaised,
        Self::BuffersLocked,
        Self::BuffersDetached,
        Self::EntryLocked,
        Self::TombstoneLocked,
        Self::EntryRemoved,
    ];
}

impl FailurePoint for CollectStep {
    fn name(self) -> &'static str {
        match self {
            Self::CollectedRaised => "collect::CollectedRaised",
            Self::BuffersLocked => "collect::BuffersLocked",
            Self::BuffersDetached => "collect::BuffersDetached",
            Self::EntryLocked => "collect::EntryLocked",
            Self::TombstoneLocked => "collect::TombstoneLocked",
            Self::EntryRemoved => "collect::EntryRemoved",
        }
    }
}

/// A moment of a catalog change at which the world may end, and what is true then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeStep {
    /// A new table or index has its memory; no definition names it.
    StorageMade,
    /// The new definition is in its shard.
    DefinitionStored,
    /// The definition of a dropped table is gone.
    DefinitionRemoved,
    /// The epoch is raised: transactions that begin now learn of the change.
    EpochStarted,
    /// No transaction runs that does not know of it.
    EpochKnown,
    /// A new index has an entry for every row.
    IndexFilled,
    /// A memory server has taken back what it held of a dropped table.
    MemoryFreed,
}

impl ChangeStep {
    /// Every step, for sweeps that kill at each of them.
    pub const ALL: &[Self] = &[
        Self::StorageMade,
        Self::DefinitionStored,
        Self::DefinitionRemoved,
        Self::EpochStarted,
        Self::EpochKnown,
        Self::IndexFilled,
        Self::MemoryFreed,
    ];
}

impl FailurePoint for ChangeStep {
    fn name(self) -> &'static str {
        match self {
            Self::StorageMade => "change::StorageMade",
            Self::DefinitionStored => "change::DefinitionStored",
            Self::DefinitionRemoved => "change::DefinitionRemoved",
            Self::EpochStarted => "change::EpochStarted",
            Self::EpochKnown => "change::EpochKnown",
            Self::IndexFilled => "change::IndexFilled",
            Self::MemoryFreed => "change::MemoryFreed",
        }
    }
}
