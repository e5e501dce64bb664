//! The failure points of a commit.

use fabric::FailurePoint;

/// A moment of a commit at which a compute server may die. No server completes what it has begun:
/// the read timestamp stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitStep {
    /// A commit timestamp is drawn: from now on the list of outcomes has a gap.
    TimestampDrawn,
    /// All records of the write set are locked, and were unchanged since they were read.
    RecordsLocked,
    /// All records are written, and thereby unlocked; no snapshot covers them.
    RecordsInstalled,
    /// A record had changed: all locks are released.
    LocksReleased,
}

impl CommitStep {
    /// Every step, for sweeps that kill at each of them.
    pub const ALL: &[Self] =
        &[Self::TimestampDrawn, Self::RecordsLocked, Self::RecordsInstalled, Self::LocksReleased];
}

impl FailurePoint for CommitStep {
    fn name(self) -> &'static str {
        match self {
            Self::TimestampDrawn => "rsi::TimestampDrawn",
            Self::RecordsLocked => "rsi::RecordsLocked",
            Self::RecordsInstalled => "rsi::RecordsInstalled",
            Self::LocksReleased => "rsi::LocksReleased",
        }
    }
}
