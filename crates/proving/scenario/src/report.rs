//! The report of a run.

use crate::file::faults::PlannedEntry;
use sim::Coverage;
use std::fmt;
use workload::History;

#[derive(Clone, Debug)]
pub struct RunReport {
    pub scenario: String,
    pub seed: u64,
    /// The failure; `None` if all requirements are met.
    pub failure: Option<Failure>,
    /// Number of transactions by their outcome.
    pub transactions: TransactionCounts,
    /// Verbs posted by client processes and the observer.
    pub verbs: u64,
    /// Number of the world's events: the cost of a run.
    pub events: u64,
    /// The clients' virtual time, in nanoseconds.
    pub virtual_ns: u64,
    /// How often each kind of fault had an effect, and each failure point was reached.
    pub coverage: Coverage,
    /// The random faults that have happened, as a plan.
    pub happened: Vec<PlannedEntry>,
    /// A number that two runs share only if everything happened in the same way.
    pub fingerprint: u64,
    /// The text of every event, if requested.
    pub trace: String,
    /// The clients' history, if every event was requested and the workload records it.
    pub history: Option<History>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransactionCounts {
    pub committed: u64,
    /// Ended without effect, by the rules of the workload or after the last attempt.
    pub without_effect: u64,
    /// With unknown outcome, including those of killed processes and abandoned ones.
    pub unknown: u64,
}

impl TransactionCounts {
    pub fn all(&self) -> u64 {
        self.committed + self.without_effect + self.unknown
    }

    /// Adds those of another run.
    pub fn add(&mut self, other: &Self) {
        self.committed += other.committed;
        self.without_effect += other.without_effect;
        self.unknown += other.unknown;
    }
}

/// The requirement that was violated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    /// A check of the workload, including the judge's verdict.
    Check,
    /// A client saw a result that no snapshot permits, or got an error that no fault explains.
    Client,
    /// The structure of tables and indexes.
    Structure,
    /// Nothing stays locked.
    Unlocked,
    /// Everything is readable at the end.
    LastLook,
    /// Clients end.
    Progress,
    /// Every read finds what its snapshot has, by the shadow history.
    Shadow,
    /// No assertion fails, and the run stays within its limits.
    Panic,
}

impl Demand {
    /// In a word or two.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Client => "client",
            Self::Structure => "structure",
            Self::Unlocked => "locks",
            Self::LastLook => "last look",
            Self::Progress => "progress",
            Self::Shadow => "shadow history",
            Self::Panic => "panic",
        }
    }
}

/// A failure of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The violated requirement.
    pub demand: Demand,
    /// The finding, in a sentence.
    pub sentence: String,
}

impl Failure {
    pub(crate) fn new(demand: Demand, sentence: impl Into<String>) -> Self {
        Self { demand, sentence: sentence.into() }
    }

    /// The kind of a failure: two failures of one kind count as the same bug. It is the
    /// requirement, and the sentence up to the first number or colon.
    pub fn kind(&self) -> String {
        let is_end = |letter: char| letter.is_ascii_digit() || letter == ':';
        let words = self.sentence.split(is_end).next();
        format!("{}: {}", self.demand.name(), words.unwrap_or_default().trim())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.demand.name(), self.sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_make_another_kind() {
        let failure = |sentence: &str| Failure::new(Demand::Check, sentence).kind();
        assert_eq!(failure("no money was lost: 7, not 8"), failure("no money was lost: 5, not 8"));
        assert_ne!(failure("no money was lost: 7"), failure("all accounts are there: 7"));
    }
}
