//! A bucket of a hash table: a neighbourhood of slots that one read fetches.

use crate::address::WORD_BYTES;
use crate::row::RowLayout;

/// The shape of one table's buckets and of the overflow blocks chained behind them.
///
/// ```text
/// word | field     | written by                        | meaning
///    0 | insert    | compare-and-swap, then write      | unlocked: timestamp of the last insert; locked: lock bit and owner
///    1 | collected | write, under the insert lock      | stamp up to which entries were collected here
///    2 | link      | write, under the insert lock      | next overflow block, or null
///    3 | identity  | write, under the insert lock      | bucket number and split level
///    4 | tags      | write, under the insert lock      | one byte per slot, 0 = empty
///    5 | slots     | see below                         | H rows (inlined), or H times pointer and key (outside)
/// ```
///
/// A tag is one byte of the key's hash, so that a reader that can look (coherent memory) touches only
/// the slot it wants. Readers that fetch the whole neighbourhood compare keys and ignore the tags.
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
    /// Words of the key.
    pub key_words: u32,
    /// First word of the key in a slot.
    pub key_at: u32,
}

/// Most slots of a bucket: one tag byte each in one word.
pub const SLOTS_MAX: u32 = 8;
/// Word of the insert lock.
pub const INSERT: u32 = 0;
/// Word of the bucket's collected-up-to stamp.
pub const COLLECTED: u32 = 1;
/// Word of the overflow pointer.
pub const LINK: u32 = 2;
/// Word of bucket number and split level.
pub const IDENTITY: u32 = 3;
/// Word of the tags.
pub const TAGS: u32 = 4;
/// First word of the slots; the words before are the bucket's header.
pub const SLOTS: u32 = 5;

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

    /// Words of a bucket.
    #[inline]
    pub const fn words(&self) -> u32 {
        self.slot(self.slots)
    }

    /// Words of an overflow block.
    #[inline]
    pub const fn overflow_words(&self) -> u32 {
        self.slot(self.overflow_slots)
    }

    /// Bytes of a bucket.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.words() as u64 * WORD_BYTES
    }
}

const fn overflow_slots(slots: u32) -> u32 {
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

impl Identity {
    /// Reads an identity out of a word of remote memory.
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

/// The tag of a key with hash `hash`: one byte, never 0.
#[inline]
pub const fn tag(hash: u64) -> u8 {
    let byte = (hash >> 56) as u8;
    if byte == 0 { 1 } else { byte }
}

/// The tag of slot `index` in a word of tags.
#[inline]
pub const fn tag_of(tags: u64, index: u32) -> u8 {
    (tags >> (8 * index)) as u8
}

/// A word of tags with slot `index` set to `tag`.
#[inline]
pub const fn with_tag(tags: u64, index: u32, tag: u8) -> u64 {
    let shift = 8 * index;
    tags & !(0xff << shift) | (tag as u64) << shift
}

/// The slots whose tag is `tag`, in order. Tags of slots that a block does not have are 0, so they never
/// match.
#[inline]
pub fn matching_slots(tags: u64, tag: u8) -> impl Iterator<Item = u32> {
    debug_assert!(tag != 0);
    let mut differing = tags ^ u64::from(tag).wrapping_mul(LOW_BITS);
    std::iter::from_fn(move || {
        // The lowest byte that is zero has its high bit set here; higher bits may be wrong.
        let zeros = differing.wrapping_sub(LOW_BITS) & !differing & HIGH_BITS;
        if zeros == 0 {
            return None;
        }
        let index = zeros.trailing_zeros() / 8;
        differing |= 1 << (8 * index);
        Some(index)
    })
}

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = LOW_BITS << 7;

/// The first of `slots` slots that is empty.
#[inline]
pub fn empty_slot(tags: u64, slots: u32) -> Option<u32> {
    (0..slots).find(|&index| tag_of(tags, index) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_independent_bytes() {
        let tags = with_tag(with_tag(u64::MAX, 3, 7), 0, 9);
        assert_eq!((tag_of(tags, 0), tag_of(tags, 3), tag_of(tags, 7)), (9, 7, 255));
        assert_ne!(tag(0), 0);
        assert_eq!(empty_slot(with_tag(tags, 2, 0), 8), Some(2));
        assert_eq!(empty_slot(with_tag(tags, 2, 0), 2), None);
    }

    #[test]
    fn every_slot_with_the_tag_is_found_once_in_order() {
        for pattern in 0..256_u64 {
            let place = |tags, n| {
                with_tag(tags, n, if pattern >> n & 1 == 1 { 7 } else { 6 + 2 * (n as u8 % 2) })
            };
            let tags = (0..8).fold(0, place);
            let expected: Vec<u32> = (0..8).filter(|&n| pattern >> n & 1 == 1).collect();
            assert_eq!(matching_slots(tags, 7).collect::<Vec<_>>(), expected);
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
