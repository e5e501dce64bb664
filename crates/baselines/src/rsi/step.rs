//! The named moments of a commit.

use fabric::FailurePoint;

/// A moment of a commit at which a compute server may die. Nobody ends what it has begun: the read timestamp stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitStep {
    /// A commit timestamp is drawn: from now on there is a hole in the list of outcomes.
    TimestampDrawn,
    /// All records of the write set are locked, and were unchanged since they were read.
    RecordsLocked,
    /// All records are written, and unlocked by that; no snapshot covers them.
    RecordsInstalled,
    /// A record had changed: what was locked is unlocked.
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
