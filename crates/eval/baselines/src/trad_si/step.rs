//! The failure points of a two-phase commit.

use fabric::FailurePoint;

/// A moment of a commit at which a manager may die. No server completes what it has begun: rows
/// stay locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitStep {
    /// All owners have voted to commit.
    Prepared,
    /// A commit timestamp is drawn; the read timestamp cannot pass it before the commit ends.
    TimestampDrawn,
    /// All owners have installed the versions; no snapshot covers them.
    VersionsInstalled,
}

impl CommitStep {
    /// Every step, for sweeps that kill at each of them.
    pub const ALL: &[Self] = &[Self::Prepared, Self::TimestampDrawn, Self::VersionsInstalled];
}

impl FailurePoint for CommitStep {
    fn name(self) -> &'static str {
        match self {
            Self::Prepared => "trad_si::Prepared",
            Self::TimestampDrawn => "trad_si::TimestampDrawn",
            Self::VersionsInstalled => "trad_si::VersionsInstalled",
        }
    }
}
