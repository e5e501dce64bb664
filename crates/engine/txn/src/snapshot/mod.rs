//! A snapshot: which versions a transaction sees [ZB17 §4.1].
//!
//! To read it: the snapshot here, [`oracle`] (how one is taken), [`slot`] and [`shared_slot`]
//! (slots of the vector and their numbers); where many compute servers ask, [`freshness`],
//! [`collector`], [`packed`] and [`fetch`].
//!
//! Decision: docs/decisions/0022-a-snapshot-is-never-edited.md

pub(crate) mod collector;
pub(crate) mod fetch;
pub(crate) mod freshness;
pub(crate) mod oracle;
pub(crate) mod packed;
pub(crate) mod shared_slot;
pub(crate) mod slot;
pub(crate) mod timestamp;

use layout::{SlotId, VersionWord};

/// One counter per timestamp slot. Two snapshots of a database are always comparable: one is at or
/// before the other. Nobody changes a snapshot once it was taken.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    counters: Vec<u64>,
    /// Orders snapshots against collection: what was collected up to a larger stamp may be missing
    /// here.
    pub stamp: u64,
}

impl Clone for Snapshot {
    fn clone(&self) -> Self {
        Self { counters: self.counters.clone(), stamp: self.stamp }
    }

    /// Takes the memory along that is there.
    fn clone_from(&mut self, other: &Self) {
        self.set(&other.counters, other.stamp);
    }
}

impl Snapshot {
    /// Takes the counters over.
    #[inline]
    pub fn set(&mut self, counters: &[u64], stamp: u64) {
        debug_assert!(
            counters.iter().zip(&self.counters).all(|(counter, before)| counter >= before),
            "a later snapshot has all that an earlier one has"
        );
        // Vectors have a few words and seldom become longer: neither is worth a call.
        if self.counters.len() == counters.len() {
            self.counters.iter_mut().zip(counters).for_each(|(own, counter)| *own = *counter);
        } else {
            self.counters.clear();
            self.counters.extend_from_slice(counters);
        }
        self.stamp = stamp;
    }

    /// Whether `version` is part of the snapshot. A slot that did not exist then is not.
    #[inline]
    pub fn covers(&self, version: VersionWord) -> bool {
        let slot = usize::from(version.slot().0);
        self.counters.get(slot).is_some_and(|&counter| version.counter() <= counter)
    }

    /// The counter of `slot`.
    #[inline]
    pub fn counter(&self, slot: SlotId) -> u64 {
        self.counters.get(usize::from(slot.0)).copied().unwrap_or(0)
    }

    /// The counters.
    #[inline]
    pub fn counters(&self) -> &[u64] {
        &self.counters
    }

    /// Upper bound of the commits that `vector` has published and the snapshot does not cover: the
    /// numbers in between. Aborted transactions have drawn some of them.
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
    fn a_snapshot_lags_by_what_was_published_since() {
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
