//! The failure points of a commit. The model of the protocol uses the same names.

use fabric::FailurePoint;

/// A failure point of a commit. Each variant says what is true there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitStep {
    /// The timestamp is drawn; nothing is visible to others.
    Started,
    /// Batch 1 is complete: every row, bucket and leaf of the write set is locked, and was
    /// unchanged since the snapshot.
    LocksHeld,
    /// Serializable only: with all locks held, everything read is still current.
    ReadsValidated,
    /// The version buffer of every row has a free slot for the displaced version: the last moment
    /// to abort.
    BuffersReady,
    /// Old versions, payloads and headers are written: every row is unlocked and has the new
    /// version.
    VersionsInstalled,
    /// The timestamp is in the slot: the commit is visible.
    TimestampPublished,
    /// The commit has aborted and released all locks.
    LocksReleased,
}

impl CommitStep {
    /// Every step, for tests that kill a lane at each of them.
    pub const ALL: &[Self] = &[
        Self::Started,
        Self::LocksHeld,
        Self::ReadsValidated,
        Self::BuffersReady,
        Self::VersionsInstalled,
        Self::TimestampPublished,
        Self::LocksReleased,
    ];
}

impl FailurePoint for CommitStep {
    fn name(self) -> &'static str {
        match self {
            Self::Started => "commit::Started",
            Self::LocksHeld => "commit::LocksHeld",
            Self::ReadsValidated => "commit::ReadsValidated",
            Self::BuffersReady => "commit::BuffersReady",
            Self::VersionsInstalled => "commit::VersionsInstalled",
            Self::TimestampPublished => "commit::TimestampPublished",
            Self::LocksReleased => "commit::LocksReleased",
        }
    }
}
