//! The root block of a tree: the start of descents, and the latch for changes of inner nodes.

use crate::damage::Flaw;
use fabric::Batch;
use layout::{GlobalPtr, LeafLayout};
use memory::Label;

/// The root block of one tree, in the region of the memory server that offers its service.
///
/// ```text
/// word | field      | written by                        | meaning
///    0 | magic      | write, once                       | "namdbBPT"
///    1 | latch      | compare-and-swap, then write      | 1 while inner nodes change, else 0
///    2 | shape      | write, once                       | the leaves' LeafLayout, packed
///    3 | first leaf | write, once                       | leftmost leaf; it is never absorbed
///    4 | label      | write, once                       | label of the tree's memory
///    5 | top        | write, under the latch            | the inner node where a descent starts
///    6 | height     | write, under the latch            | levels of inner nodes, at least 1
///    7 | inner      | write, under the latch            | inner nodes in use
///    8 | spare      | write, under the latch            | absorbed inner nodes, by `next`; or null
/// ```
///
/// # Invariants
/// - Only handlers of the tree service on the block's own node change words 1 and 5..9.
/// - `top` may be outdated when it is read: the node it names stays the leftmost of its level,
///   and from there every other node of the level is reached through `next`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeRoot {
    /// The shape of the leaves.
    pub layout: LeafLayout,
    pub first_leaf: GlobalPtr,
    /// The label of the tree's memory.
    pub label: Label,
    pub top: GlobalPtr,
    pub height: u64,
    pub inner_count: u64,
    /// Absorbed inner nodes, linked by `next`.
    pub spare: GlobalPtr,
}

const MAGIC: u64 = u64::from_be_bytes(*b"namdbBPT");
const MAGIC_WORD: u32 = 0;
const LATCH: u32 = 1;
const SHAPE: u32 = 2;
const FIRST_LEAF: u32 = 3;
const LABEL: u32 = 4;
const TOP: u32 = 5;
const HEIGHT: u32 = 6;
const INNER_COUNT: u32 = 7;
const SPARE: u32 = 8;
/// Words of a root block.
pub const ROOT_WORDS: u32 = 9;
const _: () = {
    assert!(MAGIC_WORD + 1 == LATCH && LATCH + 1 == SHAPE && SHAPE + 1 == FIRST_LEAF);
    assert!(FIRST_LEAF + 1 == LABEL && LABEL + 1 == TOP);
    assert!(TOP + 1 == HEIGHT && HEIGHT + 1 == INNER_COUNT);
    assert!(INNER_COUNT + 1 == SPARE && SPARE + 1 == ROOT_WORDS);
};

/// A [`LeafLayout`] in one word.
///
/// ```text
///  63     57   56    55          40 39       32 31              0
/// +---------+-------+--------------+-----------+----------------+
/// |    0    |checked| value words  | key words | entries        |
/// +---------+-------+--------------+-----------+----------------+
/// ```
const KEY_WORDS_SHIFT: u32 = 32;
const VALUE_WORDS_SHIFT: u32 = 40;
const CHECKSUMMED_SHIFT: u32 = 56;
const _: () = assert!(KEY_WORDS_SHIFT < VALUE_WORDS_SHIFT && VALUE_WORDS_SHIFT < CHECKSUMMED_SHIFT);

/// Encodes a node's shape as a word.
pub(super) fn pack_layout(layout: LeafLayout) -> u64 {
    assert!(layout.key_words < 1 << (VALUE_WORDS_SHIFT - KEY_WORDS_SHIFT));
    assert!(layout.value_words < 1 << (CHECKSUMMED_SHIFT - VALUE_WORDS_SHIFT));
    u64::from(layout.entries)
        | u64::from(layout.key_words) << KEY_WORDS_SHIFT
        | u64::from(layout.value_words) << VALUE_WORDS_SHIFT
        | u64::from(layout.checksummed) << CHECKSUMMED_SHIFT
}

/// Decodes the shape in a word; `None` if it is impossible.
pub(super) fn unpack_layout(word: u64) -> Option<LeafLayout> {
    let layout = LeafLayout {
        key_words: (word >> KEY_WORDS_SHIFT) as u32 & 0xff,
        value_words: (word >> VALUE_WORDS_SHIFT) as u32 & 0xffff,
        entries: word as u32,
        checksummed: word >> CHECKSUMMED_SHIFT == 1,
    };
    let keys_fit = (1..=layout::KEY_WORDS_MAX as u32).contains(&layout.key_words);
    let entries_fit = (ENTRIES_MIN..=ENTRIES_MAX).contains(&layout.entries);
    let possible = keys_fit && entries_fit && word >> CHECKSUMMED_SHIFT <= 1;
    possible.then_some(layout)
}

/// Smallest capacity of a node; `LeafLayout::within` never makes smaller ones.
const ENTRIES_MIN: u32 = 4;
/// Largest capacity of a node, far above any sensible node size.
const ENTRIES_MAX: u32 = 1 << 20;

/// The shape of a tree's inner nodes: as many separators as fit into a leaf's words.
pub(super) fn inner_layout(leaf: LeafLayout) -> LeafLayout {
    let bytes = leaf.words() * layout::WORD_BYTES as u32;
    LeafLayout::within(bytes, leaf.key_words, 1, leaf.checksummed)
}

impl TreeRoot {
    /// The block's words, with a free latch.
    pub(super) fn words(&self) -> [u64; ROOT_WORDS as usize] {
        let mut words = [0; ROOT_WORDS as usize];
        words[MAGIC_WORD as usize] = MAGIC;
        words[SHAPE as usize] = pack_layout(self.layout);
        words[FIRST_LEAF as usize] = self.first_leaf.word();
        words[LABEL as usize] = self.label.0;
        words[TOP as usize] = self.top.word();
        words[HEIGHT as usize] = self.height;
        words[INNER_COUNT as usize] = self.inner_count;
        words[SPARE as usize] = self.spare.word();
        words
    }

    /// Decodes a root block from words of remote memory.
    pub(super) fn from_words(words: &[u64]) -> Result<Self, Flaw> {
        assert!(words.len() == ROOT_WORDS as usize);
        if words[MAGIC_WORD as usize] != MAGIC {
            return Err(Flaw::NoTreeRoot);
        }
        let layout = unpack_layout(words[SHAPE as usize]);
        Ok(Self {
            layout: layout.ok_or(Flaw::SenselessShape)?,
            first_leaf: GlobalPtr::from_word(words[FIRST_LEAF as usize]),
            label: Label(words[LABEL as usize]),
            top: GlobalPtr::from_word(words[TOP as usize]),
            height: words[HEIGHT as usize],
            inner_count: words[INNER_COUNT as usize],
            spare: GlobalPtr::from_word(words[SPARE as usize]),
        })
    }

    /// Pushes the write of all words after the label, the only ones that change. Readers read each
    /// separately.
    pub(super) fn post_changes(&self, batch: &mut Batch, root: GlobalPtr) {
        let span = batch.put(&self.words()[TOP as usize..]);
        batch.write(root.add_words(u64::from(TOP)), span);
    }
}

/// The address of the latch of the tree at `root`.
pub(super) fn latch(root: GlobalPtr) -> GlobalPtr {
    root.add_words(u64::from(LATCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::RegionId;

    #[test]
    fn a_root_block_comes_back_and_garbage_is_refused() {
        let layout = LeafLayout::within(512, 2, 3, true);
        let ptr = |offset| GlobalPtr::new(RegionId(2), offset);
        let (first_leaf, top, spare) = (ptr(64), ptr(128), GlobalPtr::NULL);
        let label = Label(5);
        let root = TreeRoot { layout, first_leaf, label, top, height: 3, inner_count: 17, spare };
        assert_eq!(TreeRoot::from_words(&root.words()), Ok(root));
        assert_eq!(TreeRoot::from_words(&[0; ROOT_WORDS as usize]), Err(Flaw::NoTreeRoot));
        let mut damaged = root.words();
        damaged[SHAPE as usize] |= 0xff << KEY_WORDS_SHIFT;
        assert_eq!(TreeRoot::from_words(&damaged), Err(Flaw::SenselessShape));
    }

    #[test]
    fn inner_nodes_are_no_larger_than_leaves() {
        for value_words in 1..9 {
            let leaf = LeafLayout::within(512, 2, value_words, true);
            assert!(inner_layout(leaf).words() <= leaf.words());
            assert_eq!(inner_layout(leaf).value_words, 1);
        }
    }
}
