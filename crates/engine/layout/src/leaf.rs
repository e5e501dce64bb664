//! A node of a B+-tree: sorted entries between two fences. Leaves and inner nodes have the same
//! shape.
//!
//! Decisions:
//! - docs/decisions/0016-insert-words-prove-absence.md
//! - docs/decisions/0018-the-leafs-rewrite-counter-is-read-again-behind-the-lock.md

use crate::address::WORD_BYTES;

/// The shape of one tree's nodes.
///
/// ```text
/// word    | field     | written by                   | meaning
///    0    | insert    | compare-and-swap, then write | unlocked: timestamp of the last change;
///         |           |                              | locked: lock bit and owner
///    1    | version   | write_row, under the lock    | counts the rewrites of this node;
///         |           |                              | TORN while it is written
///    2    | collected | write_row, under the lock    | stamp up to which entries were collected
///    3    | next      | write_row, under the lock    | right neighbour, or null
///    4    | shape     | write_row, under the lock    | entry count, level, flags
///    5    | low       | write_row, under the lock    | K words: smallest key this node may hold
///  5+K    | high      | write_row, under the lock    | K words: smallest key it may not hold
///         |           |                              | (unless UNBOUNDED)
///  5+2K   | entries   | write_row, under the lock    | sorted; K key and V value words each
///  end    | checksum  | write_row                    | only where memory is not coherent
/// ```
///
/// `read_row` reads the words from 1 on untorn, like a row's image.
///
/// # Invariants
/// - Keys rise strictly; every key lies in `low..high`.
/// - Neighbours meet: a node's `high` is its right neighbour's `low`.
/// - A DEAD node was absorbed by its left neighbour; a reader that meets it restarts from the root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafLayout {
    pub key_words: u32,
    /// Words of an entry's value: 1 pointer, or the primary key and a pointer.
    pub value_words: u32,
    /// Capacity of a node.
    pub entries: u32,
    /// Whether the node ends with a checksum word.
    pub checksummed: bool,
}

/// Word of the insert lock.
pub const INSERT: u32 = 0;
/// Word of the rewrite counter.
pub const VERSION: u32 = 1;
/// Word of the node's collected-up-to stamp.
pub const COLLECTED: u32 = 2;
/// Word of the right neighbour.
pub const NEXT: u32 = 3;
/// Word of count, level and flags.
pub const SHAPE: u32 = 4;
/// First word of the low fence.
pub const LOW: u32 = 5;
// `read_row` does not return the insert word; the version word is where a row has its own.
const _: () = {
    assert!(INSERT == crate::row::HEADER && VERSION == crate::row::VERSION);
    assert!(COLLECTED == VERSION + 1 && NEXT == COLLECTED + 1);
    assert!(SHAPE == NEXT + 1 && LOW == SHAPE + 1);
};

impl LeafLayout {
    /// The largest node of at most `node_bytes` bytes, but with at least 4 entries.
    pub const fn within(
        node_bytes: u32,
        key_words: u32,
        value_words: u32,
        checksummed: bool,
    ) -> Self {
        let fixed = LOW + 2 * key_words + checksummed as u32;
        let room = (node_bytes / WORD_BYTES as u32).saturating_sub(fixed);
        let entries = room / (key_words + value_words);
        Self { key_words, value_words, entries: if entries < 4 { 4 } else { entries }, checksummed }
    }

    /// First word of the high fence.
    #[inline]
    pub const fn high(&self) -> u32 {
        LOW + self.key_words
    }

    #[inline]
    pub const fn entry_words(&self) -> u32 {
        self.key_words + self.value_words
    }

    /// First word of entry `index`.
    #[inline]
    pub const fn entry(&self, index: u32) -> u32 {
        LOW + 2 * self.key_words + index * self.entry_words()
    }

    #[inline]
    pub const fn words(&self) -> u32 {
        self.entry(self.entries) + self.checksummed as u32
    }
}

/// Entry count, level and flags of a node in one word.
///
/// ```text
///  63    62         47        40 31                  0
/// +-----+----------+-----------+----------------------+
/// |dead |unbounded |  level    |  entry count         |
/// +-----+----------+-----------+----------------------+
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    pub count: u32,
    /// 0 for leaves.
    pub level: u8,
    /// Whether the node has no upper fence: it is the rightmost of its level.
    pub unbounded: bool,
    /// Whether the node was absorbed by its left neighbour.
    pub dead: bool,
}

const LEVEL_SHIFT: u32 = 40;
const UNBOUNDED: u64 = 1 << 62;
const DEAD: u64 = 1 << 63;
const _: () = {
    const LEVEL: u64 = (u8::MAX as u64) << LEVEL_SHIFT;
    const COUNT: u64 = u32::MAX as u64;
    assert!(DEAD & UNBOUNDED == 0 && (DEAD | UNBOUNDED) & LEVEL == 0);
    assert!((DEAD | UNBOUNDED | LEVEL) & COUNT == 0);
};

impl Shape {
    /// Decodes a shape from a word of remote memory.
    #[inline]
    pub const fn from_word(word: u64) -> Self {
        Self {
            count: word as u32,
            level: (word >> LEVEL_SHIFT) as u8,
            unbounded: word & UNBOUNDED != 0,
            dead: word & DEAD != 0,
        }
    }

    /// The shape as a word of remote memory.
    #[inline]
    pub const fn word(self) -> u64 {
        let unbounded = if self.unbounded { UNBOUNDED } else { 0 };
        let dead = if self.dead { DEAD } else { 0 };
        dead | unbounded | (self.level as u64) << LEVEL_SHIFT | self.count as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_fits_into_its_bytes() {
        let leaf = LeafLayout::within(512, 2, 1, true);
        assert!(leaf.words() * 8 <= 512 && leaf.words() * 8 > 512 - 24);
        assert_eq!(LeafLayout::within(8, 8, 9, false).entries, 4);
    }

    #[test]
    fn shape_round_trips() {
        let shape = Shape { count: u32::MAX, level: 255, unbounded: true, dead: true };
        assert_eq!(Shape::from_word(shape.word()), shape);
    }
}
