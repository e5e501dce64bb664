//! How old the newest frozen vector may be before a lane freezes another one.
//!
//! A frozen vector stays the newest one until a lane wants a newer one. A lane that has committed
//! does, for its own next snapshot only. A compute server that only reads, or has just joined,
//! would never see the last commit of another that is now idle. So the lanes of a compute server
//! record a time from which on the newest vector may be out of date:
//!
//! ```text
//! read at t1         newest is n - 2 or older     vector n - 1 is written after t1
//! freezer            vector n is read after n - 1 was written: it has all that was published by t1
//! read at t2         newest is n
//! ```
//!
//! Where a collector freezes all the time, no record is needed.
//!
//! Decisions:
//! - docs/decisions/0021-double-collect-is-the-default-snapshot-frozen-vectors.md
//! - docs/decisions/0139-a-fetcher-takes-vectors-for-all-lanes-of-a-compute-server.md

use layout::oracle::RING_PLACES;
use std::sync::{Mutex, MutexGuard};

/// A snapshot covers everything that any compute server has published this long before the
/// transaction began.
pub(crate) const STALE_NS: u64 = 1_000_000;

/// The ages of frozen vectors, as far as the lanes of a compute server know them.
#[derive(Default)]
pub(crate) struct Freshness(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    /// The newest vector that any read of the ring found.
    number: u64,
    /// The time of the last read, in nanoseconds of the environment's clock.
    looked_ns: u64,
    /// The time of the last read that did not find vector `number`.
    before_ns: u64,
    /// The vectors found last, at their places in the ring.
    vectors: [Known; RING_PLACES as usize],
}

/// The age of a vector.
#[derive(Clone, Copy, Default)]
struct Known {
    number: u64,
    /// The vector covers everything that was published by this time; 0 if unknown.
    has_all_by_ns: u64,
}

impl Freshness {
    /// Records that a read of the ring that began at `began_ns` found vector `number` as the
    /// newest.
    pub fn note_read(&self, number: u64, began_ns: u64) {
        self.seen().note_read(number, began_ns);
    }

    /// Records that this compute server has frozen vector `number`, and began at `began_ns`.
    pub fn note_freeze(&self, number: u64, began_ns: u64) {
        let mut seen = self.seen();
        seen.note_read(number, began_ns);
        for vector in seen.vectors.iter_mut().filter(|vector| vector.number >= number) {
            vector.has_all_by_ns = vector.has_all_by_ns.max(began_ns);
        }
    }

    /// Whether vector `number` is fresh enough for a transaction that began at `began_ns`.
    pub fn is_fresh_enough(&self, number: u64, began_ns: u64) -> bool {
        let Known { number: known, has_all_by_ns } = *self.seen().known(number);
        known == number && has_all_by_ns > 0 && has_all_by_ns + STALE_NS >= began_ns
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().expect("no holder panics")
    }
}

impl Seen {
    fn note_read(&mut self, number: u64, began_ns: u64) {
        if number < self.number {
            return;
        }
        if number > self.number {
            let newest = *self.known(self.number);
            // At the time of the chosen read, the ring did not yet have vector `number - 1`.
            let not_yet_ns =
                if self.number + 2 <= number { self.looked_ns } else { self.before_ns };
            let has_all_by_ns = newest.has_all_by_ns.max(not_yet_ns);
            *self.known(number) = Known { number, has_all_by_ns };
            (self.number, self.before_ns) = (number, self.looked_ns);
        }
        self.looked_ns = self.looked_ns.max(began_ns);
    }

    fn known(&mut self, number: u64) -> &mut Known {
        &mut self.vectors[(number % u64::from(RING_PLACES)) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_vector_found_has_an_unknown_age() {
        let freshness = Freshness::default();
        freshness.note_read(7, 1_000);
        assert!(!freshness.is_fresh_enough(7, 1_000));
        freshness.note_freeze(8, 1_100);
        assert!(
            freshness.is_fresh_enough(8, 1_000) && freshness.is_fresh_enough(8, 1_100 + STALE_NS)
        );
        assert!(
            !freshness.is_fresh_enough(8, 1_101 + STALE_NS) && !freshness.is_fresh_enough(7, 1_000)
        );
    }

    #[test]
    fn the_second_vector_after_a_read_was_frozen_after_it() {
        let freshness = Freshness::default();
        freshness.note_read(7, 10_000_000);
        // The freezer may have read vector 8 before the read at 10 ms.
        freshness.note_read(8, 20_000_000);
        assert!(!freshness.is_fresh_enough(8, 10_000_000 + STALE_NS));
        freshness.note_read(9, 30_000_000);
        assert!(freshness.is_fresh_enough(9, 10_000_000 + STALE_NS));
        assert!(!freshness.is_fresh_enough(9, 10_000_001 + STALE_NS));
        freshness.note_read(11, 40_000_000);
        assert!(freshness.is_fresh_enough(11, 30_000_000 + STALE_NS));
        assert!(!freshness.is_fresh_enough(11, 30_000_001 + STALE_NS));
    }

    #[test]
    fn a_late_read_proves_nothing() {
        let freshness = Freshness::default();
        freshness.note_read(7, 10_000_000);
        freshness.note_read(9, 20_000_000);
        freshness.note_read(8, 19_000_000);
        freshness.note_read(10, 21_000_000);
        assert!(
            freshness.is_fresh_enough(10, 10_000_000 + STALE_NS)
                && !freshness.is_fresh_enough(8, 10_000_000)
        );
        assert!(!freshness.is_fresh_enough(10, 10_000_001 + STALE_NS));
    }

    #[test]
    fn a_freeze_does_not_make_an_older_vector_fresh() {
        let freshness = Freshness::default();
        freshness.note_read(7, 10_000_000);
        freshness.note_read(8, 10_000_000);
        freshness.note_freeze(10, 20_000_000);
        assert!(freshness.is_fresh_enough(10, 20_000_000 + STALE_NS));
        assert!(!freshness.is_fresh_enough(8, 20_000_000));
        // A later vector covers what the frozen one covers.
        freshness.note_read(11, 25_000_000);
        assert!(freshness.is_fresh_enough(11, 20_000_000 + STALE_NS));
    }
}
