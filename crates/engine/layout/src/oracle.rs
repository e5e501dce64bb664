//! The timestamp oracle's words: the vector, the words of each lane beside it, and frozen copies.

use crate::address::{GlobalPtr, WORD_BYTES};
use crate::vector_copy::CopyLayout;
use crate::version::SlotId;

/// The shape of the oracle's area, which is on the first memory server.
///
/// ```text
/// word | field   | written by                | meaning
///    0 | clock   | fetch-and-add             | counts horizons; the stamp of a double collect
///    1 | epoch   | fetch-and-add             | the catalog's version; read with the vector
///    2 | slots   | fetch-and-add             | number of allocated slots
///    3 | freezer | compare-and-swap, write   | try-lock for freezing a vector: 0, or its holder
///    4 | newest  | write, under the try-lock | number of the newest frozen vector
///    5 | tables  | fetch-and-add             | tables created; a number is never used twice
///    6 | indexes | fetch-and-add             | indexes created
///    7 | keepers | fetch-and-add             | compute servers that have parked transactions
///    8 | vector  | write, by the slot's lane | N counters: the paper's T_R
///  8+N | lanes   | write, by the slot's lane | 8 words per lane: see below. Survivors write them,
///      |         |                           | too, and the owner is swapped
/// 8+9N | ring    | write, under the try-lock | 8 frozen vectors: number, epoch, N counters,
///      |         |                           | checksum
/// ```
///
/// A lane's eight words fill a cache line of their own: `active` (0 if idle, else the stamp that
/// bounds its snapshot from below), `acknowledged` (the last catalog epoch it has seen), `working`
/// (1 while it grows or collects after a commit: changes of the catalog wait for that, horizons do
/// not), `owner` (the compute server whose lanes draw the slot's numbers; 0 if none does, and the
/// vector has the last number: the next owner swaps the word), and `journal` (address of the
/// newest [journal](crate::journal) of these lanes, 0 if there is none).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OracleLayout {
    /// Number of slots, a multiple of 8 so that lanes start on a cache line.
    pub slots: u32,
}

pub const CLOCK: u32 = 0;
/// Word of the catalog epoch.
pub const EPOCH: u32 = 1;
/// Word of the number of allocated slots.
pub const SLOT_COUNT: u32 = 2;
/// Word of the freezer's try-lock.
pub const FREEZER: u32 = 3;
/// Word of the newest frozen vector's number.
pub const NEWEST: u32 = 4;
/// Word of the number of created tables.
pub const TABLES: u32 = 5;
/// Word of the number of created indexes.
pub const INDEXES: u32 = 6;
/// Word of the number of keepers of pins.
pub const KEEPERS: u32 = 7;
/// First word of the vector.
pub const VECTOR: u32 = 8;
pub const LANE_WORDS: u32 = 8;
/// In a lane's words: 0 if idle, else the stamp that bounds its snapshot from below.
pub const LANE_ACTIVE: u32 = 0;
/// In a lane's words: the last catalog epoch it has seen.
pub const LANE_ACKNOWLEDGED: u32 = 1;
/// In a lane's words: 1 while it grows or collects after a commit.
pub const LANE_WORKING: u32 = 2;
/// In a lane's words: the compute server that owns the slot, 0 if it is free.
pub const LANE_OWNER: u32 = 3;
/// In a lane's words: the newest journal of the slot's lanes, 0 if there is none.
pub const LANE_JOURNAL: u32 = 4;
/// In the owner's word: the compute server is recovering the slot of another one that has died.
pub const OWNER_RECOVERS: u64 = 1 << 63;
/// The owner of a slot that has too few numbers left for another one.
pub const OWNER_USED_UP: u64 = u64::MAX;
/// Frozen vectors in the ring: number n is in place n mod 8.
pub const RING_PLACES: u32 = 8;
const _: () = assert!(VECTOR as u64 * WORD_BYTES == 64);
const _: () = assert!(LANE_WORDS as u64 * WORD_BYTES == 64);

impl OracleLayout {
    /// The address of `slot`'s counter in the vector.
    #[inline]
    pub const fn slot(&self, base: GlobalPtr, slot: SlotId) -> GlobalPtr {
        debug_assert!((slot.0 as u32) < self.slots);
        base.add_words(VECTOR as u64 + slot.0 as u64)
    }

    /// The first word of the lane that owns `slot`.
    #[inline]
    pub const fn lane(&self, base: GlobalPtr, slot: SlotId) -> GlobalPtr {
        base.add_words((VECTOR + self.slots + slot.0 as u32 * LANE_WORDS) as u64)
    }

    /// The address of frozen vector `number`.
    #[inline]
    pub const fn frozen(&self, base: GlobalPtr, number: u64) -> GlobalPtr {
        let place = number % RING_PLACES as u64;
        let first = VECTOR + self.slots + self.slots * LANE_WORDS;
        base.add_words(first as u64 + place * self.frozen_words() as u64)
    }

    /// Words of a frozen vector: number, epoch, counters, checksum.
    #[inline]
    pub const fn frozen_words(&self) -> u32 {
        self.slots + 3
    }

    /// The shape of copies of these vectors on other servers.
    #[inline]
    pub const fn copies(&self) -> CopyLayout {
        CopyLayout { slots: self.slots }
    }

    /// Words of the whole area.
    pub const fn words(&self) -> u32 {
        VECTOR + self.slots + self.slots * LANE_WORDS + RING_PLACES * self.frozen_words()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::RegionId;

    #[test]
    fn areas_do_not_overlap() {
        let oracle = OracleLayout { slots: 64 };
        let base = GlobalPtr::new(RegionId(0), 4096);
        let last_slot = oracle.slot(base, SlotId(63));
        let first_lane = oracle.lane(base, SlotId(0));
        assert_eq!(last_slot.add_words(1), first_lane);
        assert_eq!(first_lane.offset() % 64, 0);
        assert_eq!(oracle.lane(base, SlotId(63)).add_words(8), oracle.frozen(base, 8));
        let end = oracle.frozen(base, 7).add_words(u64::from(oracle.frozen_words()));
        assert_eq!(end, base.add_words(u64::from(oracle.words())));
    }
}
