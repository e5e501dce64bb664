//! Witnesses of a serializable transaction: words that must not change between its reads and its
//! commit.

use layout::GlobalPtr;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WordWitness {
    pub word: GlobalPtr,
    /// Its value when it was read.
    pub value: u64,
}

/// A leaf that proves keys absent. Its insert word may have been read later than its entries, so
/// the rewrite counter, which was read with them, must be unchanged too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LeafWitness {
    pub leaf: GlobalPtr,
    pub insert: u64,
    pub version: u64,
}

/// All witnesses of a transaction: of its guarded reads, or of all if it is serializable.
#[derive(Default)]
pub(crate) struct Witnesses {
    pub words: Vec<WordWitness>,
    pub leaves: Vec<LeafWitness>,
}

impl Witnesses {
    #[inline]
    pub fn reset(&mut self) {
        self.words.clear();
        self.leaves.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.leaves.is_empty()
    }

    pub fn count(&self) -> usize {
        self.words.len() + self.leaves.len()
    }

    #[inline]
    pub fn add_word(&mut self, word: GlobalPtr, value: u64) {
        debug_assert!(!word.is_null());
        self.words.push(WordWitness { word, value });
    }

    #[inline]
    pub fn add_leaf(&mut self, witness: LeafWitness) {
        debug_assert!(!witness.leaf.is_null());
        self.leaves.push(witness);
    }

    /// Removes the witnesses of one version of a leaf; returns whether there were any.
    pub fn remove_leaf(&mut self, leaf: GlobalPtr, version: u64) -> bool {
        let before = self.leaves.len();
        self.leaves.retain(|witness| witness.leaf != leaf || witness.version != version);
        self.leaves.len() < before
    }
}
