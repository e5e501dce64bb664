//! What TATP runs: how many subscribers, and how strictly transactions are kept apart.

use txn::Isolation;

/// The most subscribers: their numbers are positive and have four bytes.
pub const SUBSCRIBERS_MAX: u32 = i32::MAX as u32;

/// A run of TATP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TatpConfig {
    /// Subscribers.
    pub subscribers: u32,
    /// How strictly transactions are kept apart.
    pub isolation: Isolation,
    /// Whether every attempt is recorded, for the judge of histories. What a recorded run writes is numbered
    /// instead of drawn, so that each value tells who wrote it.
    pub recorded: bool,
    /// Seed of the population.
    pub seed: u64,
}

impl TatpConfig {
    /// TATP with so many subscribers.
    pub fn new(subscribers: u32) -> Self {
        Self { subscribers, isolation: Isolation::Snapshot, recorded: false, seed: 1 }
    }

    /// Why it cannot be run, if it cannot.
    pub(super) fn problem(&self) -> Option<String> {
        let range = 1..=SUBSCRIBERS_MAX;
        (!range.contains(&self.subscribers)).then(|| {
            format!("{} subscribers: 1 to {SUBSCRIBERS_MAX} are possible", self.subscribers)
        })
    }
}
