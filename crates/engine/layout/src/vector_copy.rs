//! Copies of frozen vectors on memory servers other than the oracle's, for the fetchers of compute
//! servers.
//!
//! Decision: docs/decisions/0145-frozen-vectors-have-packed-copies-for-fetchers.md

use crate::address::GlobalPtr;
use crate::oracle::RING_PLACES;

/// The shape of such an area. Fetchers read nothing but it all the time, and N of them read N
/// counters each, so vectors are packed here: 16 bits per counter, its difference from the counter
/// of a *base*, which is an earlier vector and is stored here unpacked. A fetcher that has read a
/// base needs only packed vectors until there is another base: at the latest when some counter has
/// grown by more than 65,535.
///
/// ```text
/// word       | field     | written by           | meaning
///    0       | newest    | write, the collector | number of the newest vector, written after it
///    1       | bases     | write, the collector | 2 bases: number, N counters, checksum
///    1+2(N+2)| places    | write, the collector | 8 packed vectors: see below
/// ```
///
/// Vector number n is in place n mod 8, after its base:
///
/// ```text
/// word   | field     | meaning
///    0   | number    | as in the oracle's ring
///    1   | epoch     | as in the oracle's ring
///    2   | base      | number of the base
///    3   | collected | stamp to which the collected-up-to words of all regions had been raised
///    4   | offsets   | N/4 words: four counters minus the base's, the first lowest
///    4+N/4 | checksum | over the words before
/// ```
///
/// # Invariants
/// Unpacking a place with its base yields exactly the frozen vector of that number. Both are used
/// only if their checksums match, which detects that one is being replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyLayout {
    /// Slots of the vector, a multiple of 8.
    pub slots: u32,
}

/// In a copy: word of the newest vector's number.
pub const COPY_NEWEST: u32 = 0;
/// Number of bases in a copy: a new one replaces the older.
pub const BASE_PLACES: u32 = 2;
/// In a packed vector: its number.
pub const PACKED_NUMBER: u32 = 0;
/// In a packed vector: the catalog's version.
pub const PACKED_EPOCH: u32 = 1;
/// In a packed vector: the number of its base.
pub const PACKED_BASE: u32 = 2;
/// In a packed vector: the stamp that all collected-up-to words had been raised to.
pub const PACKED_COLLECTED: u32 = 3;
/// In a packed vector: the first word of offsets.
pub const PACKED_OFFSETS: u32 = 4;
pub const OFFSET_BITS: u32 = u16::BITS;
pub const OFFSETS_PER_WORD: u32 = u64::BITS / OFFSET_BITS;
const FIRST_BASE: u32 = 1;
const _: () = assert!(OFFSETS_PER_WORD * OFFSET_BITS == u64::BITS);
// A vector has a multiple of 8 slots, so no word of offsets is partly used.
const _: () = assert!(8 % OFFSETS_PER_WORD == 0);
const _: () = assert!(PACKED_OFFSETS == PACKED_COLLECTED + 1);

impl CopyLayout {
    /// Words of a base: number, counters, checksum.
    #[inline]
    pub const fn base_words(&self) -> u32 {
        self.slots + 2
    }

    /// Words of a packed vector.
    #[inline]
    pub const fn packed_words(&self) -> u32 {
        PACKED_OFFSETS + self.slots / OFFSETS_PER_WORD + 1
    }

    /// The address of a base, number 0 or 1.
    #[inline]
    pub const fn base(&self, copy: GlobalPtr, place: u32) -> GlobalPtr {
        debug_assert!(place < BASE_PLACES);
        copy.add_words((FIRST_BASE + place * self.base_words()) as u64)
    }

    /// The address of packed vector `number`.
    #[inline]
    pub const fn packed(&self, copy: GlobalPtr, number: u64) -> GlobalPtr {
        let place = number % RING_PLACES as u64;
        let first = FIRST_BASE + BASE_PLACES * self.base_words();
        copy.add_words(first as u64 + place * self.packed_words() as u64)
    }

    /// Words of the whole area.
    pub const fn words(&self) -> u32 {
        FIRST_BASE + BASE_PLACES * self.base_words() + RING_PLACES * self.packed_words()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::RegionId;

    #[test]
    fn areas_do_not_overlap() {
        let shape = CopyLayout { slots: 64 };
        let copy = GlobalPtr::new(RegionId(1), 4096);
        assert_eq!(shape.base(copy, 0), copy.add_words(u64::from(COPY_NEWEST) + 1));
        let bases_end = shape.base(copy, 1).add_words(u64::from(shape.base_words()));
        assert_eq!(bases_end, shape.packed(copy, 8));
        let end = shape.packed(copy, 7).add_words(u64::from(shape.packed_words()));
        assert_eq!(end, copy.add_words(u64::from(shape.words())));
        assert_eq!(shape.packed_words(), 4 + 16 + 1);
    }
}
