//! The parameters of TATP: the number of subscribers, and the isolation level.

use txn::Isolation;

/// The largest number of subscribers: their numbers are positive and have four bytes.
pub const SUBSCRIBERS_MAX: u32 = i32::MAX as u32;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TatpConfig {
    pub subscribers: u32,
    /// The isolation level.
    pub isolation: Isolation,
    /// Whether every attempt is recorded for the judge of histories. A recorded run writes unique
    /// numbers instead of random ones, so that each value identifies its writer.
    pub recorded: bool,
    /// Seed of the population.
    pub seed: u64,
}

impl TatpConfig {
    /// TATP with this many subscribers.
    pub fn new(subscribers: u32) -> Self {
        Self { subscribers, isolation: Isolation::Snapshot, recorded: false, seed: 1 }
    }

    /// The reason why the configuration is invalid, if it is.
    pub(super) fn problem(&self) -> Option<String> {
        let range = 1..=SUBSCRIBERS_MAX;
        (!range.contains(&self.subscribers)).then(|| {
            format!("{} subscribers: 1 to {SUBSCRIBERS_MAX} are possible", self.subscribers)
        })
    }
}
