//! The failure points of a commit, and the steps that a transaction's time is divided into.

use fabric::FailurePoint;

/// A moment of a commit at which a compute server may die. No server completes what it has begun:
/// records stay locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitStep {
    /// All records of the write set are locked, and were unchanged since they were read.
    RecordsLocked,
    /// The current versions are in the old-version buffers.
    OldVersionsCopied,
    /// All new versions are installed, and unlocked by that; no snapshot covers them.
    VersionsInstalled,
    /// Indexes have the new entries, and no longer the deleted ones.
    IndexesUpdated,
    /// All later snapshots cover the commit.
    Published,
    /// A record had changed: all locks are released.
    LocksReleased,
}

impl CommitStep {
    /// Every step, for sweeps that kill at each of them.
    pub const ALL: &[Self] = &[
        Self::RecordsLocked,
        Self::OldVersionsCopied,
        Self::VersionsInstalled,
        Self::IndexesUpdated,
        Self::Published,
        Self::LocksReleased,
    ];
}

impl FailurePoint for CommitStep {
    fn name(self) -> &'static str {
        match self {
            Self::RecordsLocked => "nam_db::RecordsLocked",
            Self::OldVersionsCopied => "nam_db::OldVersionsCopied",
            Self::VersionsInstalled => "nam_db::VersionsInstalled",
            Self::IndexesUpdated => "nam_db::IndexesUpdated",
            Self::Published => "nam_db::Published",
            Self::LocksReleased => "nam_db::LocksReleased",
        }
    }
}

/// The steps of a transaction, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Gets its read timestamp.
    Timestamp,
    /// Reads records and indexes, and searches places for new records.
    Read,
    /// Locks the write set, or releases it.
    Lock,
    /// Copies current versions to the old-version buffers.
    OldVersions,
    /// Installs new versions.
    NewVersions,
    /// Updates indexes.
    Index,
    Publish,
}

impl Step {
    pub const ALL: [Self; 7] = [
        Self::Timestamp,
        Self::Read,
        Self::Lock,
        Self::OldVersions,
        Self::NewVersions,
        Self::Index,
        Self::Publish,
    ];

    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timestamp => "timestamp",
            Self::Read => "read",
            Self::Lock => "validate and lock",
            Self::OldVersions => "copy old versions",
            Self::NewVersions => "install new versions",
            Self::Index => "indexes",
            Self::Publish => "publish",
        }
    }
}

/// Nanoseconds of each step.
pub type StepTimes = [u64; Step::ALL.len()];

/// Adds up the time of each step.
#[derive(Debug)]
pub(super) struct Stopwatch {
    last_ns: u64,
    spent_ns: StepTimes,
}

impl Stopwatch {
    pub(super) fn start(now_ns: u64) -> Self {
        Self { last_ns: now_ns, spent_ns: StepTimes::default() }
    }

    /// Adds the time since the last call to this step.
    pub(super) fn end(&mut self, step: Step, now_ns: u64) {
        self.spent_ns[step as usize] += now_ns - self.last_ns;
        self.last_ns = now_ns;
    }

    pub(super) fn spent_ns(&self) -> StepTimes {
        self.spent_ns
    }
}
