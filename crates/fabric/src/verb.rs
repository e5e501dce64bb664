//! What a fabric can be asked to do with remote words.

use layout::GlobalPtr;
use layout::bucket::{self, BucketLayout};
use layout::row::Cover;

/// With [`Cover::All`], a `WriteRow` writes the words from the link to this one whatever its `first` says:
/// they are a node's collected-up-to stamp, neighbour and shape.
pub const ALWAYS_WRITTEN_END: u32 = layout::leaf::LOW;

/// One operation on remote memory. `at` and `from_arena` are word offsets in the batch's arena.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verb {
    /// Copies `words` words into the arena; may be torn between words.
    Read {
        /// First remote word.
        from: GlobalPtr,
        /// Where the words go.
        at: u32,
        /// How many.
        words: u32,
    },
    /// Copies `words` words from the arena; may be torn between words.
    Write {
        /// First remote word.
        to: GlobalPtr,
        /// Where the words stand.
        at: u32,
        /// How many.
        words: u32,
    },
    /// Writes one word, which is never torn.
    WriteWord {
        /// The remote word.
        to: GlobalPtr,
        /// Its new value.
        value: u64,
    },
    /// Swaps a word if it holds `expected`; the arena gets what it held.
    CompareAndSwap {
        /// The remote word.
        word: GlobalPtr,
        /// What it must hold.
        expected: u64,
        /// What it then holds.
        desired: u64,
        /// Where the old value goes.
        at: u32,
    },
    /// Adds to a word; the arena gets what it held before.
    FetchAndAdd {
        /// The remote word.
        word: GlobalPtr,
        /// What is added, wrapping.
        add: u64,
        /// Where the old value goes.
        at: u32,
    },
    /// Copies a header word and the untorn image behind it into the arena. An image that stays torn for
    /// too long arrives with [`layout::VersionWord::TORN`] as its version.
    ReadRow {
        /// The header word; the image starts at the next.
        from: GlobalPtr,
        /// Where header and image go.
        at: u32,
        /// Words of header and image together.
        words: u32,
        /// What the checksum covers, where there is one.
        cover: Cover,
        /// It goes on where the verb before it ended, in remote memory and in the arena: one request may fetch both.
        goes_on: bool,
    },
    /// Writes an image so that `ReadRow` sees it whole or not at all; never touches the header word.
    /// Only one writer at a time: the caller holds the lock that guards the image.
    WriteRow {
        /// The header word; the image starts at the next.
        to: GlobalPtr,
        /// Where header and image stand in the arena.
        at: u32,
        /// Words of header and image together.
        words: u32,
        /// The first word that differs from what is there. Words before it are kept, but for the version,
        /// and with `Cover::All` the words from the link to a node's shape.
        first: u32,
        /// What the checksum covers; with `AllButLink` the link word is not written.
        cover: Cover,
    },
    /// What a commit does with a row or an old version that it has locked, in this order: the link word
    /// (unless the cover includes it), the image as [`Verb::WriteRow`] does it, the header word. If `at_once`, all of
    /// it may be one write, whose words come in any order.
    InstallRow {
        /// The header word; the image starts at the next.
        to: GlobalPtr,
        /// Where header and image stand in the arena.
        at: u32,
        /// Words of header and image together.
        words: u32,
        /// The first word behind the link that differs from what is there.
        first: u32,
        /// What the checksum covers.
        cover: Cover,
        /// Nobody locks the row, moves it or takes its memory before the write is complete, and nobody is misled by a header
        /// that is seen before the image.
        at_once: bool,
    },
    /// Fetches a bucket and delivers its header and the slot that holds a key.
    FindSlot {
        /// First word of the bucket.
        bucket: GlobalPtr,
        /// Shape of the bucket, and the tag looked for.
        geometry: SlotGeometry,
        /// Where the key's words stand in the arena.
        key: u32,
        /// Where the result goes, see [`SlotRead`].
        at: u32,
    },
    /// Everything before is complete before anything after starts.
    Fence,
}

/// The shape of a bucket in eight bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotGeometry {
    /// Slots in this bucket or overflow block.
    pub slots: u8,
    /// Words of the key.
    pub key_words: u8,
    /// First word of the key in a slot.
    pub key_at: u8,
    /// Tag of the key looked for.
    pub tag: u8,
    /// Words of a slot.
    pub slot_words: u16,
    /// Whether slots are rows, whose image is read untorn; else plain words.
    pub rows: bool,
}

impl SlotGeometry {
    /// The shape of `layout`'s buckets, looking for a key with hash `hash`.
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

    /// The shape of `layout`'s overflow blocks.
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

    /// Words that a lookup touches whatever the header says: the header, and a slot that stands alone.
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

/// What [`Verb::FindSlot`] leaves in the arena.
///
/// On a miss the insert word is not newer than the slots that were seen, so that a swap from it proves the
/// miss, and collected-up-to word and identity are not older. On a hit nothing is promised of these words.
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
    /// In place of an index: no slot of this block holds the key.
    pub const MISSING: u64 = u64::MAX;
}

impl Verb {
    /// Bytes this verb moves over the wire, both ways, without protocol headers.
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

    /// How many requests a card has to take for it, where memory is not coherent.
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

    /// The first remote word touched.
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

    /// How many remote words lie in the touched range.
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
