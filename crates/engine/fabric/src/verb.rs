//! The operations of a fabric on remote words.
//!
//! Decisions:
//! - docs/decisions/0045-one-verb-installs-a-row.md
//! - docs/decisions/0149-one-write-installs-a-row-where-memory-is-not-coherent.md

use layout::GlobalPtr;
use layout::bucket::{self, BucketLayout};
use layout::row::Cover;

/// With [`Cover::All`], a `WriteRow` writes the words from the link to this one regardless of
/// `first`: they are a node's collected-up-to stamp, neighbour and shape.
pub const ALWAYS_WRITTEN_END: u32 = layout::leaf::LOW;

/// One operation on remote memory. `at` and `key` are word offsets in the batch's arena.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verb {
    /// Copies `words` words into the arena; may be torn between words.
    Read { from: GlobalPtr, at: u32, words: u32 },
    /// Copies `words` words from the arena; may be torn between words.
    Write { to: GlobalPtr, at: u32, words: u32 },
    /// Writes one word, which is never torn.
    WriteWord { to: GlobalPtr, value: u64 },
    /// Swaps a word if it holds `expected`; the arena receives the old value.
    CompareAndSwap {
        word: GlobalPtr,
        expected: u64,
        desired: u64,
        /// Where the old value goes.
        at: u32,
    },
    /// Adds to a word; the arena receives the old value.
    FetchAndAdd {
        word: GlobalPtr,
        /// The summand; the sum wraps.
        add: u64,
        /// Where the old value goes.
        at: u32,
    },
    /// Copies a header word and the untorn image behind it into the arena. An image that stays torn
    /// for too many retries is returned with [`layout::VersionWord::TORN`] as its version.
    ReadRow {
        /// The header word; the image starts at the next.
        from: GlobalPtr,
        /// Where header and image go.
        at: u32,
        /// Words of header and image together.
        words: u32,
        /// The checksum's coverage, on fabrics with checksums.
        cover: Cover,
        /// Whether it continues the previous verb, in remote memory and in the arena: one request
        /// may fetch both.
        goes_on: bool,
    },
    /// Writes an image so that `ReadRow` sees all of it or nothing; never writes the header word.
    /// There is only one writer at a time: the caller holds the lock of the image.
    WriteRow {
        /// The header word; the image starts at the next.
        to: GlobalPtr,
        /// Header and image in the arena.
        at: u32,
        /// Words of header and image together.
        words: u32,
        /// The first word that changes. Earlier words are kept, except the version, and with
        /// `Cover::All` the words from the link to a node's shape.
        first: u32,
        /// The checksum's coverage; with `AllButLink` the link word is not written.
        cover: Cover,
    },
    /// Installs a row or an old version that the commit has locked, in this order: the link word
    /// (unless the cover includes it), the image as [`Verb::WriteRow`], the header word. If
    /// `at_once`, all of it may be one write, whose words arrive in any order.
    InstallRow {
        /// The header word; the image starts at the next.
        to: GlobalPtr,
        /// Header and image in the arena.
        at: u32,
        /// Words of header and image together.
        words: u32,
        /// The first word after the link that changes.
        first: u32,
        /// The checksum's coverage.
        cover: Cover,
        /// The row is not locked, moved or freed before the write is complete, and no reader relies
        /// on the image once it sees the header.
        at_once: bool,
    },
    /// Fetches a bucket and returns its header and the slot with the key.
    FindSlot {
        /// First word of the bucket.
        bucket: GlobalPtr,
        /// Shape of the bucket, and the tag of the key.
        geometry: SlotGeometry,
        /// The key's words in the arena.
        key: u32,
        /// Where the result goes, see [`SlotRead`].
        at: u32,
    },
    /// Completes all earlier verbs before any later one starts.
    Fence,
}

/// The shape of a bucket in eight bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotGeometry {
    /// Slots in this bucket or overflow block.
    pub slots: u8,
    pub key_words: u8,
    /// First word of the key in a slot.
    pub key_at: u8,
    /// Tag of the wanted key.
    pub tag: u8,
    pub slot_words: u16,
    /// Whether slots are rows, which are read untorn; otherwise plain words.
    pub rows: bool,
}

impl SlotGeometry {
    /// The shape of `layout`'s buckets, with the tag of `hash`.
    #[inline]
    pub fn bucket(layout: &BucketLayout, rows: bool, hash: u64) -> Self {
        Self {
            slots: layout.slots as u8,
            key_words: layout.key_words as u8,
            key_at: layout.key_at as u8,
            tag: bucket::tag(layout.slots, hash),
            slot_words: layout.slot_words as u16,
            rows,
        }
    }

    /// The shape of `layout`'s overflow blocks, with the tag of `hash`.
    #[inline]
    pub fn overflow(layout: &BucketLayout, rows: bool, hash: u64) -> Self {
        let slots = layout.overflow_slots;
        let tag = bucket::tag(slots, hash);
        Self { slots: slots as u8, tag, ..Self::bucket(layout, rows, hash) }
    }

    /// First word of slot `index`.
    #[inline]
    pub const fn slot(&self, index: u32) -> u32 {
        bucket::SLOTS + index * self.slot_words as u32
    }

    /// Words that every lookup touches: the header, and the slot if there is only one.
    #[inline]
    pub const fn first_words(&self) -> u32 {
        if self.slots == 1 { self.words() } else { bucket::SLOTS }
    }

    /// Words of the whole bucket.
    #[inline]
    pub const fn words(&self) -> u32 {
        self.slot(self.slots as u32)
    }
}

/// The result of [`Verb::FindSlot`] in the arena.
///
/// On a miss the insert word is not newer than the slots that were read, so a swap from it proves
/// the miss, and collected-up-to word and identity are not older. On a hit these words have no
/// guarantee.
///
/// ```text
/// word | field
///    0 | insert word
///    1 | collected-up-to stamp, never older than the slots seen
///    2 | link to the next overflow block
///    3 | identity
///    4 | tags
///    5 | index of the slot that holds the key, or MISSING
///    6 | the slot
/// ```
pub struct SlotRead;

impl SlotRead {
    /// Word of the slot's index.
    pub const INDEX: u32 = bucket::SLOTS;
    /// First word of the slot.
    pub const SLOT: u32 = bucket::SLOTS + 1;
    /// Instead of an index: no slot of this block holds the key.
    pub const MISSING: u64 = u64::MAX;
}

impl Verb {
    /// Whether it writes words that its poster names.
    pub const fn is_write(&self) -> bool {
        matches!(
            self,
            Self::Write { .. }
                | Self::WriteWord { .. }
                | Self::WriteRow { .. }
                | Self::InstallRow { .. }
        )
    }

    /// Bytes this verb moves over the network in both directions, without protocol headers.
    #[inline(always)]
    pub const fn bytes(&self) -> u64 {
        let words = match self {
            Self::Read { words, .. } | Self::Write { words, .. } => *words,
            Self::ReadRow { words, .. } => *words,
            Self::WriteRow { words, first, .. } => *words - *first + 1,
            Self::InstallRow { words, at_once: true, .. } => *words,
            Self::InstallRow { words, first, .. } => *words - *first + 3,
            Self::WriteWord { .. } => 1,
            Self::FetchAndAdd { .. } => 2,
            Self::CompareAndSwap { .. } => 3,
            Self::FindSlot { geometry, .. } => geometry.words(),
            Self::Fence => 0,
        };
        words as u64 * layout::WORD_BYTES
    }

    /// Number of a card's requests for it, if memory is not coherent.
    #[inline]
    pub const fn requests(&self) -> u64 {
        match self {
            Self::Fence | Self::ReadRow { goes_on: true, .. } => 0,
            Self::WriteRow { cover: Cover::AllButLink, .. } => 2,
            Self::InstallRow { at_once: true, .. } => 1,
            Self::InstallRow { cover: Cover::All, .. } => 2,
            Self::InstallRow { cover: Cover::AllButLink, .. } => 3,
            _ => 1,
        }
    }

    /// The first remote word.
    pub const fn target(&self) -> GlobalPtr {
        match self {
            Self::Read { from, .. } | Self::ReadRow { from, .. } => *from,
            Self::Write { to, .. }
            | Self::WriteWord { to, .. }
            | Self::WriteRow { to, .. }
            | Self::InstallRow { to, .. } => *to,
            Self::CompareAndSwap { word, .. } | Self::FetchAndAdd { word, .. } => *word,
            Self::FindSlot { bucket, .. } => *bucket,
            Self::Fence => GlobalPtr::NULL,
        }
    }

    /// Number of remote words in its range.
    pub const fn target_words(&self) -> u32 {
        match self {
            Self::Read { words, .. }
            | Self::Write { words, .. }
            | Self::ReadRow { words, .. }
            | Self::WriteRow { words, .. }
            | Self::InstallRow { words, .. } => *words,
            Self::FindSlot { geometry, .. } => geometry.words(),
            Self::Fence => 0,
            _ => 1,
        }
    }
}
const _: () = assert!(size_of::<Verb>() <= 32);
