//! A row, an old version of a row, and the buffer of old versions: one shape for all three.
//!
//! Decisions:
//! - docs/decisions/0004-the-version-word-of-a-row-is-its-seqlock.md
//! - docs/decisions/0006-the-lock-is-not-the-version.md
//! - docs/decisions/0010-the-chain-word-packs-pointer-and-ring-position.md

use crate::address::GlobalPtr;

/// The shape of one table's rows.
///
/// ```text
/// word | in a row | in an old version      | written by
///    0 | header   | moved flag / next ptr  | row: compare-and-swap, then write; old: write
///    1 | version  | version                | write_row, under the row's lock;
///      |          |                        | TORN while payload changes
///    2 | chain    | successor              | write, under the row's lock
///    3 | key      | key                    | write_row, once
///  3+K | payload  | payload                | write_row, under the row's lock
///  end | checksum | checksum               | only where memory is not coherent
/// ```
///
/// The words from 1 on are the *image*: what `read_row` returns untorn. The header is outside: it
/// stays locked all through a commit, and a lock hides nothing from readers.
///
/// # Invariants
/// - Header unlocked: header == version, or a commit is between its last two writes.
/// - The version word alone decides visibility; the header alone decides who may write.
/// - A reader takes an old version only if the snapshot covers its version and not its successor.
/// - A row's checksum covers words 1 and 3.. (the chain is written before the payload, on its own);
///   an old version's covers all words from 1 on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowLayout {
    /// Words of the encoded primary key.
    pub key_words: u32,
    /// Words of the payload: all columns outside the key.
    pub payload_words: u32,
    /// Whether the image ends with a checksum word: on fabrics whose memory is not coherent.
    pub checksummed: bool,
}

pub const HEADER: u32 = 0;
pub const VERSION: u32 = 1;
/// Word of the chain (row) or of the successor (old version).
pub const LINK: u32 = 2;
/// First word of the key.
pub const KEY: u32 = 3;
// The header is outside the image; the words of the image are adjacent, so that one verb takes all.
const _: () =
    assert!(HEADER == 0 && VERSION == HEADER + 1 && LINK == VERSION + 1 && KEY == LINK + 1);

impl RowLayout {
    /// First word of the payload.
    #[inline]
    pub const fn payload(&self) -> u32 {
        KEY + self.key_words
    }

    /// Words from the header to the end.
    #[inline]
    pub const fn words(&self) -> u32 {
        self.payload() + self.payload_words + self.checksummed as u32
    }

    /// Bytes from the header to the end.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.words() as u64 * crate::WORD_BYTES
    }
}

/// The word with the address of a row's buffer of old versions, and the next slot to write.
///
/// ```text
///  63                                         3 2        0
/// +--------------------------------------------+----------+
/// |  address of the version buffer (or null)   |next slot |
/// +--------------------------------------------+----------+
/// ```
///
/// The paper's next-write counter [ZB17 §5.1] is the low three bits; a buffer has at most 8 slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChainWord(u64);

/// Largest number of old versions in a buffer beside a record.
pub const BUFFER_SLOTS_MAX: u32 = 8;
const NEXT_MASK: u64 = 7;
const _: () = {
    assert!(BUFFER_SLOTS_MAX as u64 == NEXT_MASK + 1);
    // Buffers begin at words, so that the bits of the slot are free in their addresses.
    assert!(NEXT_MASK < crate::WORD_BYTES);
};

impl ChainWord {
    /// A chain to `buffer`, whose next slot to write is `next`.
    #[inline]
    pub const fn new(buffer: GlobalPtr, next: u32) -> Self {
        debug_assert!(next < BUFFER_SLOTS_MAX);
        Self(buffer.word() | next as u64)
    }

    /// Decodes a chain from a word of remote memory.
    #[inline]
    pub const fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// The chain as a word of remote memory.
    #[inline]
    pub const fn word(self) -> u64 {
        self.0
    }

    /// The buffer, or null if the row has none.
    #[inline]
    pub const fn buffer(self) -> GlobalPtr {
        GlobalPtr::from_word(self.0 & !NEXT_MASK)
    }

    /// The slot for the next displaced version.
    #[inline]
    pub const fn next(self) -> u32 {
        (self.0 & NEXT_MASK) as u32
    }

    /// Whether the buffer, if there is one, is on another server than `row`: a split has moved the
    /// row.
    #[inline]
    pub fn is_far_from(self, row: GlobalPtr) -> bool {
        let buffer = self.buffer();
        !buffer.is_null() && buffer.region() != row.region()
    }
}

/// The shape of a buffer of old versions.
///
/// ```text
/// word        | field         | written by
///    0        | overflow head | write under the row's lock, by the version mover and by the
///             |               | collection that frees the buffer: null, also while it is free
///    1 + n*R  | slot n        | write_row, under the row's lock; R = words of a row
/// ```
///
/// We deviate from [ZB17 §5.1]: header and data of an old version are adjacent, and a reader
/// fetches all slots in one batch; with at most 8 slots that costs the same round trip and one
/// check less.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferLayout {
    /// The shape of the rows whose versions it holds.
    pub row: RowLayout,
    /// Number of slots, 1 to [`BUFFER_SLOTS_MAX`].
    pub slots: u32,
}

/// Word of the overflow list's head in a version buffer.
pub const OVERFLOW_HEAD: u32 = 0;
/// In word 0 of a buffer's slot: the overflow list has this version too, so the slot is free.
pub const MOVED_FLAG: u64 = 1;
// Word 0 of an old version is the flag in a buffer and an address in the overflow region.
// No address is the flag.
const _: () = assert!(MOVED_FLAG != 0 && MOVED_FLAG < crate::WORD_BYTES);
const _: () = assert!(OVERFLOW_HEAD == 0);

impl BufferLayout {
    /// First word of slot `index`.
    #[inline]
    pub const fn slot(&self, index: u32) -> u32 {
        debug_assert!(index < self.slots);
        1 + index * self.row.words()
    }

    /// The address of the slot for a row's next displaced version.
    #[inline]
    pub fn next_slot(&self, chain: ChainWord) -> GlobalPtr {
        chain.buffer().add_words(u64::from(self.slot(chain.next())))
    }

    /// Words of the whole buffer.
    #[inline]
    pub const fn words(&self) -> u32 {
        1 + self.slots * self.row.words()
    }

    /// The slot to write after slot `index`.
    #[inline]
    pub const fn after(&self, index: u32) -> u32 {
        if index + 1 == self.slots { 0 } else { index + 1 }
    }
}

/// Which words of an image its checksum covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cover {
    /// All but the link word: rows, whose chain is written separately from the payload.
    AllButLink,
    /// Every word: old versions and nodes.
    All,
}

/// The checksum of `image` (words from the version on, without the checksum word itself).
pub fn checksum(image: &[u64], cover: Cover) -> u64 {
    debug_assert!(image.len() >= 2);
    let mut hasher = crc32fast::Hasher::new();
    let link = (LINK - VERSION) as usize;
    if cover == Cover::All {
        hasher.update(bytemuck::cast_slice(image));
    } else {
        hasher.update(bytemuck::cast_slice(&image[..link]));
        hasher.update(bytemuck::cast_slice(&image[link + 1..]));
    }
    // The high half marks the word as written, so that fresh memory never looks intact.
    u64::from(hasher.finalize()) | 1 << 32
}

/// Whether a row (header, image, checksum) is whole. Fresh memory counts as whole: only zeros, with
/// [`crate::VersionWord::NONE`] as its version.
pub fn is_intact(row: &[u64], cover: Cover) -> bool {
    let (image, sum) = (&row[VERSION as usize..row.len() - 1], row[row.len() - 1]);
    if sum != 0 {
        return sum == checksum(image, cover);
    }
    let link = (LINK - VERSION) as usize;
    let is_covered = |index: usize| cover == Cover::All || index != link;
    image.iter().enumerate().all(|(index, &word)| word == 0 || !is_covered(index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::RegionId;

    const ROW: RowLayout = RowLayout { key_words: 2, payload_words: 5, checksummed: true };

    #[test]
    fn words_follow_each_other_without_gap() {
        assert_eq!((ROW.payload(), ROW.words(), ROW.bytes()), (5, 11, 88));
        let buffer = BufferLayout { row: ROW, slots: 3 };
        assert_eq!((buffer.slot(0), buffer.slot(2), buffer.words()), (1, 23, 34));
        assert_eq!((buffer.after(0), buffer.after(2)), (1, 0));
    }

    #[test]
    fn chain_keeps_pointer_and_counter_apart() {
        let chain = ChainWord::new(GlobalPtr::new(RegionId(9), 4096), 7);
        assert_eq!((chain.buffer(), chain.next()), (GlobalPtr::new(RegionId(9), 4096), 7));
    }

    #[test]
    fn checksum_skips_the_link_of_a_row_only() {
        let (one, two) = ([4, 1, 9, 9], [4, 2, 9, 9]);
        assert_eq!(checksum(&one, Cover::AllButLink), checksum(&two, Cover::AllButLink));
        assert_ne!(checksum(&one, Cover::All), checksum(&two, Cover::All));
        assert_ne!(checksum(&[0, 0], Cover::All), 0);
    }
}
