//! The named moments of a commit. The model of the protocol uses the same names.

use fabric::FailurePoint;

/// A moment of a commit at which the world may end, and what is true then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitStep {
    /// A number is drawn; nothing is visible to others.
    Started,
    /// Batch 1 is done: every row's header, bucket and leaf of the write set is locked by us and
    /// was unchanged since the snapshot.
    LocksHeld,
    /// Serializable: everything read is still current, with all locks held.
    ReadsValidated,
    /// The version buffer of every row has a free slot for the version that is displaced: the last
    /// moment to abort.
    BuffersReady,
    /// Old versions, payloads and headers are written: every row is unlocked and carries our
    /// version.
    VersionsInstalled,
    /// The slot counts our number: the commit is visible.
    TimestampPublished,
    /// Aborted: nothing is locked by us any more.
    LocksReleased,
}

impl CommitStep {
    /// Every step, for sweeps that kill at each of them.
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
