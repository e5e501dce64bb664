//! A bucket of a hash table: a group of slots (neighbourhood) that one read fetches.
//!
//! Decisions:
//! - docs/decisions/0016-insert-words-prove-absence.md
//! - docs/decisions/0028-bucket-tags-are-one-word.md
//! - docs/decisions/0251-tags-become-narrower-where-buckets-become-wider.md

use crate::address::WORD_BYTES;
use crate::row::RowLayout;

/// The shape of one table's buckets and of the overflow blocks chained to them.
///
/// ```text
/// word | field     | written by                   | meaning
///    0 | insert    | compare-and-swap, then write | unlocked: timestamp of the last insert;
///      |           |                              | locked: lock bit and owner
///    1 | collected | write, under the insert lock | stamp up to which entries were collected
///    2 | link      | write, under the insert lock | next overflow block, or null
///    3 | identity  | write, under the insert lock | bucket number and split level
///    4 | tags      | write, under the insert lock | one tag per slot, 0 = empty
///    5 | slots     | see below                    | H rows (inlined), or H times pointer and key
/// ```
///
/// A tag is the first bits of the key's hash, so that a reader with coherent memory touches only
/// the wanted slot. Readers that fetch the whole bucket compare keys and ignore the tags. The tags
/// of a block share one word: 8 bits each for up to 8 slots, 4 for up to 16, 2 for up to 32.
///
/// # Invariants
/// - Insert word locked: only its owner changes words 1..5 and empty slots. The insert word of a
///   bucket guards its overflow blocks too; theirs is unused.
/// - A slot is written before its tag, its tag before its row's commit is published.
/// - `identity` changes only while the bucket is locked for a split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BucketLayout {
    /// Slots in a bucket, H in the papers: 1 to [`SLOTS_MAX`].
    pub slots: u32,
    /// Slots in an overflow block.
    pub overflow_slots: u32,
    /// Words of a slot: a whole row if inlined, one pointer word plus the key if outside.
    pub slot_words: u32,
    pub key_words: u32,
    /// First word of the key in a slot.
    pub key_at: u32,
}

/// Largest number of slots of a bucket: two tag bits each in one word.
pub const SLOTS_MAX: u32 = 32;
/// Word of the insert lock.
pub const INSERT: u32 = 0;
/// Word of the bucket's collected-up-to stamp.
pub const COLLECTED: u32 = 1;
/// Word of the overflow pointer.
pub const LINK: u32 = 2;
/// Word of bucket number and split level.
pub const IDENTITY: u32 = 3;
pub const TAGS: u32 = 4;
/// First word of the slots; the words before are the bucket's header.
pub const SLOTS: u32 = 5;
// One read fetches the whole header, the insert word first.
const _: () = {
    assert!(INSERT == 0 && COLLECTED == INSERT + 1 && LINK == COLLECTED + 1);
    assert!(IDENTITY == LINK + 1 && TAGS == IDENTITY + 1 && SLOTS == TAGS + 1);
};

impl BucketLayout {
    /// Buckets whose slots hold whole rows.
    pub const fn inlined(slots: u32, row: RowLayout) -> Self {
        Self {
            slots,
            overflow_slots: overflow_slots(slots),
            slot_words: row.words(),
            key_words: row.key_words,
            key_at: crate::row::KEY,
        }
    }

    /// Buckets whose slots hold a pointer to the row and its key.
    pub const fn outside(slots: u32, key_words: u32) -> Self {
        Self {
            slots,
            overflow_slots: overflow_slots(slots),
            slot_words: 1 + key_words,
            key_words,
            key_at: 1,
        }
    }

    /// First word of slot `index`.
    #[inline]
    pub const fn slot(&self, index: u32) -> u32 {
        SLOTS + index * self.slot_words
    }

    #[inline]
    pub const fn words(&self) -> u32 {
        self.slot(self.slots)
    }

    /// Words of an overflow block.
    #[inline]
    pub const fn overflow_words(&self) -> u32 {
        self.slot(self.overflow_slots)
    }

    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.words() as u64 * WORD_BYTES
    }
}

/// Slots of an overflow block behind a bucket of `slots` slots.
pub const fn overflow_slots(slots: u32) -> u32 {
    if slots < 2 { slots } else { 2 }
}

/// Bucket number and split level in one word.
///
/// ```text
///  63      56 55                                   0
/// +----------+--------------------------------------+
/// |  level   |  number of the bucket                |
/// +----------+--------------------------------------+
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Number of the bucket in its table.
    pub bucket: u64,
    /// How many times the bucket was split, counted from the table's first size.
    pub level: u32,
}

const LEVEL_SHIFT: u32 = 56;
const _: () = {
    let largest = Identity { bucket: (1 << LEVEL_SHIFT) - 1, level: u8::MAX as u32 };
    assert!(largest.word() == u64::MAX);
    let read = Identity::from_word(largest.word());
    assert!(read.bucket == largest.bucket && read.level == largest.level);
};

impl Identity {
    /// Decodes an identity from a word of remote memory.
    #[inline]
    pub const fn from_word(word: u64) -> Self {
        Self { bucket: word & ((1 << LEVEL_SHIFT) - 1), level: (word >> LEVEL_SHIFT) as u32 }
    }

    /// The identity as a word of remote memory.
    #[inline]
    pub const fn word(self) -> u64 {
        (self.level as u64) << LEVEL_SHIFT | self.bucket
    }
}

/// Bits of each tag in a block of `slots` slots, as a power of two.
#[inline]
const fn tag_shift(slots: u32) -> u32 {
    match slots {
        0..=8 => 3,
        9..=16 => 2,
        _ => 1,
    }
}
// The tags of all slots share one word, and a tag has at least two bits: 0 marks an empty slot.
const _: () = {
    assert!(8 << tag_shift(8) == u64::BITS && 16 << tag_shift(16) == u64::BITS);
    assert!(SLOTS_MAX << tag_shift(SLOTS_MAX) == u64::BITS && 1 << tag_shift(SLOTS_MAX) >= 2);
};

/// The lowest bit of each tag in a block of `slots` slots.
#[inline]
const fn low_bits(slots: u32) -> u64 {
    match slots {
        0..=8 => 0x0101_0101_0101_0101,
        9..=16 => 0x1111_1111_1111_1111,
        _ => 0x5555_5555_5555_5555,
    }
}

/// The tag, never 0, of a key with hash `hash` in a block of `slots` slots.
#[inline]
pub const fn tag(slots: u32, hash: u64) -> u8 {
    let first = (hash >> (64 - (1 << tag_shift(slots)))) as u8;
    if first == 0 { 1 } else { first }
}

/// The tag of slot `index` in the word of tags of a block of `slots` slots.
#[inline]
pub const fn tag_of(slots: u32, tags: u64, index: u32) -> u8 {
    let shift = tag_shift(slots);
    (tags >> (index << shift)) as u8 & (u8::MAX >> (8 - (1 << shift)))
}

/// The word of tags of a block of `slots` slots with slot `index` set to `tag`.
#[inline]
pub const fn with_tag(slots: u32, tags: u64, index: u32, tag: u8) -> u64 {
    let shift = tag_shift(slots);
    let mask = u64::MAX >> (64 - (1 << shift));
    let at = index << shift;
    tags & !(mask << at) | (tag as u64) << at
}

/// The slots with tag `tag`, in order, of a block of `slots` slots. Tags beyond the block's slots
/// are 0, so they never match.
#[inline]
pub fn matching_slots(slots: u32, tags: u64, tag: u8) -> impl Iterator<Item = u32> {
    debug_assert!(tag != 0);
    let (low, shift) = (low_bits(slots), tag_shift(slots));
    let high = low << ((1 << shift) - 1);
    let mut differing = tags ^ u64::from(tag).wrapping_mul(low);
    std::iter::from_fn(move || {
        // The lowest zero tag has its high bit set here; bits above it may be wrong.
        let zeros = differing.wrapping_sub(low) & !differing & high;
        if zeros == 0 {
            return None;
        }
        let index = zeros.trailing_zeros() >> shift;
        differing |= 1 << (index << shift);
        Some(index)
    })
}

/// The first empty slot of a block of `slots` slots.
#[inline]
pub fn empty_slot(slots: u32, tags: u64) -> Option<u32> {
    (0..slots).find(|&index| tag_of(slots, tags, index) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of slots for each width of tags, with the largest tag.
    const WIDTHS: [(u32, u8); 4] = [(2, 255), (8, 255), (16, 15), (32, 3)];

    #[test]
    fn tags_are_independent() {
        for (slots, largest) in WIDTHS {
            let last = slots - 1;
            let tags = with_tag(slots, with_tag(slots, u64::MAX, last, 2), 0, 1);
            assert_eq!((tag_of(slots, tags, 0), tag_of(slots, tags, last)), (1, 2));
            assert!((1..last).all(|n| tag_of(slots, tags, n) == largest));
            assert_eq!((tag(slots, 0), tag(slots, u64::MAX)), (1, largest));
            assert_eq!(empty_slot(slots, tags), None);
            assert_eq!(empty_slot(slots, with_tag(slots, tags, last, 0)), Some(last));
        }
    }

    #[test]
    fn every_slot_with_the_tag_is_found_once_in_order() {
        for (slots, largest) in WIDTHS {
            // Patterns repeat after eight slots.
            for pattern in 0..256_u64 {
                let has = |n: u32| pattern >> (n % 8) & 1 == 1;
                let other = |n: u32| if n.is_multiple_of(2) { largest } else { 1 };
                let place = |tags, n| with_tag(slots, tags, n, if has(n) { 2 } else { other(n) });
                let tags = (0..slots).fold(0, place);
                let expected: Vec<u32> = (0..slots).filter(|&n| has(n)).collect();
                assert_eq!(matching_slots(slots, tags, 2).collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn identity_round_trips() {
        let identity = Identity { bucket: (1 << 56) - 1, level: 63 };
        assert_eq!(Identity::from_word(identity.word()), identity);
    }

    #[test]
    fn slots_follow_the_header() {
        let row = RowLayout { key_words: 1, payload_words: 4, checksummed: false };
        let bucket = BucketLayout::inlined(4, row);
        assert_eq!((bucket.slot(0), bucket.slot(1), bucket.words()), (5, 13, 37));
        assert_eq!(BucketLayout::outside(8, 2).words(), 5 + 8 * 3);
    }
}
