//! What a run was, and how it ended.

use crate::file::faults::PlannedEntry;
use sim::Coverage;
use std::fmt;
use workload::History;

/// Everything that is told of a run.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The scenario's name.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// What was wrong; nothing if all is as it must be.
    pub failure: Option<Failure>,
    /// Transactions by their end.
    pub transactions: TransactionCounts,
    /// Verbs that processes with clients and the observer have sent.
    pub verbs: u64,
    /// Events of the world: what a run costs.
    pub events: u64,
    /// Virtual time that the clients took, in nanoseconds.
    pub virtual_ns: u64,
    /// How often each kind of fault had an effect, and each failure point was reached.
    pub coverage: Coverage,
    /// The faults that have happened by chance, as a plan.
    pub happened: Vec<PlannedEntry>,
    /// A number that two runs share only if everything happened in the same way.
    pub fingerprint: u64,
    /// Every event, if that was asked for.
    pub trace: String,
    /// What clients saw, if every event was asked for and the workload records it.
    pub history: Option<History>,
}

/// Numbers of transactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransactionCounts {
    /// Committed.
    pub committed: u64,
    /// Ended without effect, by the rules of the workload or after the last attempt.
    pub without_effect: u64,
    /// Ended so that nobody knows; those of killed processes and of clients without patience among them.
    pub unknown: u64,
}

impl TransactionCounts {
    /// All of them.
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

/// Which demand was not met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    /// A check of the workload, the judge's verdict among them.
    Check,
    /// A client saw what no snapshot may show, or met an error that it must not.
    Client,
    /// The structure of tables and indexes.
    Structure,
    /// Nothing stays locked.
    Unlocked,
    /// Everything can be read in the end.
    LastLook,
    /// Clients come to their end.
    Progress,
    /// No assertion fails, and the run keeps to its limits.
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
            Self::Panic => "panic",
        }
    }
}

/// What was wrong with a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Which demand was not met.
    pub demand: Demand,
    /// What was found, in a sentence.
    pub sentence: String,
}

impl Failure {
    pub(crate) fn new(demand: Demand, sentence: impl Into<String>) -> Self {
        Self { demand, sentence: sentence.into() }
    }

    /// Two failures of one kind are taken for the same bug: the demand, and the words of the sentence up to
    /// the first number or colon in it.
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
