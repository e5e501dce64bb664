//! A snapshot: the versions that a transaction sees [ZB17 §4.1].
//!
//! Read the snapshot here first, then [`oracle`] (taking one), [`slot`] and [`shared_slot`] (slots
//! of the vector and their numbers). [`freshness`], [`collector`], [`packed`] and [`fetch`] serve
//! clusters in which many compute servers need snapshots, [`pins`] transactions without a lane,
//! [`renewal`] transactions that take a newer one.
//!
//! Decision: docs/decisions/0022-a-snapshot-is-never-edited.md

pub(crate) mod collector;
pub(crate) mod fetch;
pub(crate) mod freezer;
pub(crate) mod freshness;
pub(crate) mod oracle;
pub(crate) mod packed;
pub(crate) mod pins;
pub(crate) mod renewal;
pub(crate) mod shared_slot;
pub(crate) mod slot;
pub(crate) mod timestamp;

use layout::{SlotId, VersionWord};

/// One counter per timestamp slot. Two snapshots of a database are always comparable: one is at or
/// before the other. A snapshot never changes after it is taken.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    counters: Vec<u64>,
    /// Orders snapshots and collection: versions collected up to a larger stamp may be missing in
    /// this snapshot.
    pub stamp: u64,
}

impl Clone for Snapshot {
    fn clone(&self) -> Self {
        Self { counters: self.counters.clone(), stamp: self.stamp }
    }

    /// Reuses the allocation.
    fn clone_from(&mut self, other: &Self) {
        self.set(&other.counters, other.stamp);
    }
}

impl Snapshot {
    /// Replaces the counters, in the existing allocation.
    #[inline]
    pub fn set(&mut self, counters: &[u64], stamp: u64) {
        debug_assert!(
            counters.iter().zip(&self.counters).all(|(counter, before)| counter >= before),
            "a later snapshot has all that an earlier one has"
        );
        // Vectors have a few words and seldom grow: neither case is worth a call of `memcpy`.
        if self.counters.len() == counters.len() {
            self.counters.iter_mut().zip(counters).for_each(|(own, counter)| *own = *counter);
        } else {
            self.counters.clear();
            self.counters.extend_from_slice(counters);
        }
        self.stamp = stamp;
    }

    /// Whether the snapshot contains `version`. A slot that did not exist when the snapshot was
    /// taken is not covered.
    #[inline]
    pub fn covers(&self, version: VersionWord) -> bool {
        let slot = usize::from(version.slot().0);
        self.counters.get(slot).is_some_and(|&counter| version.counter() <= counter)
    }

    /// The counter of `slot`; 0 for a slot that is not in the snapshot.
    #[inline]
    pub fn counter(&self, slot: SlotId) -> u64 {
        self.counters.get(usize::from(slot.0)).copied().unwrap_or(0)
    }

    #[inline]
    pub fn counters(&self) -> &[u64] {
        &self.counters
    }

    /// Upper bound of the number of commits that `vector` has published and the snapshot does not
    /// cover: the count of numbers in between, which includes those of aborted transactions.
    pub fn lag(&self, vector: &[u64]) -> u64 {
        let behind = |(slot, &counter): (usize, &u64)| {
            let covered = self.counters().get(slot).copied().unwrap_or(0);
            counter.saturating_sub(covered)
        };
        vector.iter().enumerate().map(behind).sum()
    }

    /// Whether every version that `earlier` covers is covered here too.
    pub fn includes(&self, earlier: &Self) -> bool {
        earlier
            .counters()
            .iter()
            .enumerate()
            .all(|(slot, &counter)| counter <= self.counter(SlotId(slot as u16)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lag_counts_the_numbers_published_since() {
        let mut snapshot = Snapshot::default();
        snapshot.set(&[5, 0, 9], 1);
        assert_eq!(snapshot.lag(&[5, 0, 9]), 0);
        assert_eq!(snapshot.lag(&[7, 1, 9, 4]), 7, "a slot that is new counts from its start");
        assert_eq!(snapshot.lag(&[4]), 0, "an older vector has nothing that is missing");
    }

    #[test]
    fn covers_up_to_each_slots_counter() {
        let mut snapshot = Snapshot::default();
        snapshot.set(&[5, 0, 9], 1);
        assert!(snapshot.covers(VersionWord::new(SlotId(0), 5).deleted()));
        assert!(!snapshot.covers(VersionWord::new(SlotId(0), 6)));
        assert!(!snapshot.covers(VersionWord::new(SlotId(3), 1)));
        assert!(!snapshot.covers(VersionWord::new(SlotId(64), 1)));
        let mut later = snapshot.clone();
        later.set(&[5, 0, 9, 1], 2);
        assert!(later.includes(&snapshot) && !snapshot.includes(&later));
    }
}
