//! The failure points of collection, of catalog changes and of freezing. Those of a commit are
//! [`crate::commit::CommitStep`], those of hash tables and trees are in crate `index`.

use fabric::FailurePoint;

/// A failure point of collection. Each variant says what is true there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectStep {
    /// The collected-up-to words are raised: versions up to that stamp may be missing. Nothing is
    /// collected yet.
    CollectedRaised,
    /// The rows whose version buffers will be freed are locked; their chain words still lead to the
    /// buffers.
    BuffersLocked,
    /// The chain words of those rows are null and the rows are unlocked.
    BuffersDetached,
    /// The bucket or leaf of an entry is locked.
    EntryLocked,
    /// The tombstone of the entry is locked too; or the entry of a secondary index was found to be
    /// garbage.
    TombstoneLocked,
    /// The entry is removed and its bucket or leaf unlocked.
    EntryRemoved,
}

impl CollectStep {
    /// Every step, for tests that kill a lane at each of them.
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

/// A failure point of a catalog change. Each variant says what is true there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeStep {
    /// A new table or index has its memory; no definition names it.
    StorageMade,
    /// The new definition is in its shard.
    DefinitionStored,
    /// The definition of a dropped table is removed.
    DefinitionRemoved,
    /// The epoch is raised: transactions that begin from now on see the change.
    EpochStarted,
    /// Every running transaction knows the change.
    EpochKnown,
    /// A new index has an entry for every row.
    IndexFilled,
    /// A memory server has freed the memory of a dropped table.
    MemoryFreed,
}

impl ChangeStep {
    /// Every step, for tests that kill a lane at each of them.
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

/// A failure point of a lane that freezes a vector. Each variant says what is true there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FreezeStep {
    /// The lane has the try-lock.
    Locked,
    /// It has read the vector; nothing is written.
    VectorRead,
}

impl FreezeStep {
    /// Every step, for tests that kill a lane at each of them.
    pub const ALL: &[Self] = &[Self::Locked, Self::VectorRead];
}

impl FailurePoint for FreezeStep {
    fn name(self) -> &'static str {
        match self {
            Self::Locked => "freeze::Locked",
            Self::VectorRead => "freeze::VectorRead",
        }
    }
}
