//! Finds the bucket of a key.
//!
//! Decision: docs/decisions/0029-hash-tables-grow-linearly-and-the-split-level.md

use super::HashTable;
use layout::bucket::Identity;
use layout::key::hash_words;
use layout::{GlobalPtr, Placement, Schema};

/// How keys select their bucket, with precomputed constants.
#[derive(Clone, PartialEq, Debug)]
pub enum Locator {
    /// By the key's hash.
    Hashed,
    /// By the hash of the key's first bytes; the rest distinguishes entries of a secondary index.
    Prefix {
        /// Number of key bytes to hash.
        bytes: u32,
    },
    /// By the mixed-radix number of the key's integer columns.
    Dense {
        /// One per key column.
        digits: Vec<Digit>,
        slots: u64,
    },
}

/// A key column as a digit: the difference between its value and the smallest one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Digit {
    /// The word with the column's first byte.
    word: u32,
    /// Bits before the column in that word, and bits of the column.
    skipped: u32,
    bits: u32,
    /// The smallest value, in the encoding of keys.
    smallest: u64,
    /// Number of values.
    count: u64,
}

impl Digit {
    fn new(at: u32, bytes: u32, smallest: i64, count: u64) -> Self {
        let sign = 1_u64 << (8 * bytes - 1);
        let smallest = (smallest as u64).wrapping_add(sign) & (u64::MAX >> (64 - 8 * bytes));
        Self { word: at / 8, skipped: at % 8 * 8, bits: 8 * bytes, smallest, count }
    }

    #[inline]
    fn of(&self, key: &[u64]) -> u64 {
        let mut value = key[self.word as usize] << self.skipped;
        if self.skipped + self.bits > 64 {
            value |= key[self.word as usize + 1] >> (64 - self.skipped);
        }
        (value >> (64 - self.bits)).wrapping_sub(self.smallest)
    }
}

impl Locator {
    /// The locator of a table's primary key.
    pub fn new(schema: &Schema, placement: &Placement, slots: u32) -> Self {
        let Placement::Dense { columns } = placement else {
            return Self::Hashed;
        };
        let mut at = 0;
        let placed = schema.key().iter().zip(columns).map(|(&column, &(smallest, count))| {
            let bytes = schema.key_part_bytes(column);
            at += bytes;
            Digit::new(at - bytes, bytes, smallest, count)
        });
        Self::Dense { digits: placed.collect(), slots: u64::from(slots) }
    }

    /// The number that selects the bucket, and a number whose top byte is the tag.
    #[inline(always)]
    pub fn hash(&self, key: &[u64]) -> (u64, u64) {
        match self {
            Self::Hashed => {
                let hash = hash_words(key);
                (hash, hash)
            }
            Self::Prefix { bytes } => {
                let hash = hash_prefix(key, *bytes);
                (hash, hash)
            }
            Self::Dense { digits, slots } => {
                let next = |sum: u64, digit: &Digit| {
                    sum.wrapping_mul(digit.count).wrapping_add(digit.of(key))
                };
                let number = digits.iter().fold(0, next);
                match *slots {
                    1 => (number, 1 << 56),
                    slots => (number / slots, (number % slots + 1) << 56),
                }
            }
        }
    }
}

/// `number` modulo `modulus`. Numbers of dense keys are below it and need no division.
#[inline]
fn remainder(number: u64, modulus: u64) -> u64 {
    if number < modulus { number } else { number % modulus }
}

/// The hash of the first `bytes` bytes of a key.
fn hash_prefix(key: &[u64], bytes: u32) -> u64 {
    let (whole, rest) = ((bytes / 8) as usize, bytes % 8);
    let mut words = [0; layout::KEY_WORDS_MAX];
    words[..whole].copy_from_slice(&key[..whole]);
    if rest == 0 {
        return hash_words(&words[..whole]);
    }
    words[whole] = key[whole] >> (64 - 8 * rest);
    hash_words(&words[..whole + 1])
}

/// A copy of a table's root block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Directory {
    /// How many times the table has doubled.
    pub level: u32,
    /// The next bucket to split.
    pub split: u64,
    pub segments: Vec<GlobalPtr>,
}

/// The bucket of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub number: u64,
    pub bucket: GlobalPtr,
    /// The number that selected the bucket.
    pub hash: u64,
    /// A number whose top byte is the key's tag.
    pub tag_hash: u64,
}

impl HashTable {
    /// Words between two buckets: whole cache lines, so that headers do not straddle lines.
    #[inline]
    pub fn stride_words(&self) -> u64 {
        u64::from(self.layout.words()).next_multiple_of(8)
    }

    /// The bucket of `key` according to `directory`.
    #[inline(always)]
    pub fn locate(&self, directory: &Directory, key: &[u64]) -> Place {
        let (hash, tag_hash) = self.locator.hash(key);
        let mut number = remainder(hash, self.initial_buckets << directory.level);
        if number < directory.split {
            number = remainder(hash, self.initial_buckets << (directory.level + 1));
        }
        Place { number, bucket: self.bucket(directory, number), hash, tag_hash }
    }

    /// The address of bucket `number`.
    #[inline]
    pub fn bucket(&self, directory: &Directory, number: u64) -> GlobalPtr {
        let segment = directory.segments[(number >> self.segment_shift) as usize];
        segment.add_words((number & ((1 << self.segment_shift) - 1)) * self.stride_words())
    }

    pub fn bucket_count(&self, directory: &Directory) -> u64 {
        (self.initial_buckets << directory.level) + directory.split
    }

    /// The bucket to which the bucket at `place`, whose identity word was read, redirects its
    /// readers: a split may have moved the key before the root counts it, and may never get that
    /// far. Of several splits, the first one that moved the key determines the result; the next
    /// bucket redirects further. `None` if the key was not moved, or the directory does not have
    /// the bucket's segment yet.
    pub fn redirected(&self, directory: &Directory, place: &Place, identity: u64) -> Option<Place> {
        let level = Identity::from_word(identity).level;
        let numbers = (0..=level).map(|level| place.hash % (self.initial_buckets << level));
        let number = numbers.into_iter().find(|&number| number > place.number)?;
        let is_known = (number >> self.segment_shift) < directory.segments.len() as u64;
        is_known.then(|| Place { number, bucket: self.bucket(directory, number), ..*place })
    }

    /// Whether the key still belongs to the bucket at `place`, whose identity word was read.
    #[inline]
    pub fn is_current(&self, place: &Place, identity: u64) -> bool {
        let level = Identity::from_word(identity).level;
        level == 0 || remainder(place.hash, self.initial_buckets << level) == place.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::KeyBuilder;
    use layout::key::read_signed;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_are_distances_from_the_smallest(a: i16, b: i32, c: i64, smallest: i32) {
            let key = KeyBuilder::new().int2(a).int8(c).int4(b).key();
            for (at, bytes) in [(0, 2), (2, 8), (10, 4)] {
                let smallest = if bytes == 2 { i64::from(smallest as i16) } else { i64::from(smallest) };
                let distance = read_signed(key.words(), at, bytes).wrapping_sub(smallest);
                let digit = Digit::new(at, bytes, smallest, 10).of(key.words());
                prop_assert_eq!(digit, distance as u64);
            }
        }
    }
}
