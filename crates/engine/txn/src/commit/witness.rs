//! Witnesses of a serializable transaction: words that must not change between its reads and its
//! commit.

use layout::{GlobalPtr, Key};
use std::collections::BTreeSet;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct WordWitness {
    pub word: GlobalPtr,
    /// Its value when it was read.
    pub value: u64,
}

/// A leaf that proves keys absent. Its insert word may have been read later than its entries, so
/// the rewrite counter, which was read with them, must be unchanged too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LeafWitness {
    pub leaf: GlobalPtr,
    pub insert: u64,
    pub version: u64,
}

/// A row that must exist at this address with this key, in any version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyWitness {
    pub row: GlobalPtr,
    pub key: Key,
}

/// All witnesses of a transaction: of its guarded reads, or of all if it is serializable.
#[derive(Default)]
pub(crate) struct Witnesses {
    pub words: Vec<WordWitness>,
    pub leaves: Vec<LeafWitness>,
    pub keys: Vec<KeyWitness>,
    /// Whether each is in the lists once: statements guard the same rows again and again, on
    /// several snapshots.
    are_distinct: bool,
    /// Those in the lists, if they are distinct.
    known: BTreeSet<Known>,
}

/// A witness that is in a list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Known {
    Word(WordWitness),
    Leaf(LeafWitness),
    Key(GlobalPtr),
}

/// A point in the lists of witnesses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WitnessMark {
    words: usize,
    leaves: usize,
    keys: usize,
}

impl Witnesses {
    #[inline]
    pub fn reset(&mut self) {
        self.words.clear();
        self.leaves.clear();
        if self.are_distinct {
            self.keys.clear();
            self.known.clear();
            self.are_distinct = false;
        }
    }

    /// From now on, a witness that is in a list is not added again.
    pub fn make_distinct(&mut self) {
        self.are_distinct = true;
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.leaves.is_empty() && self.keys.is_empty()
    }

    pub fn count(&self) -> usize {
        self.words.len() + self.leaves.len() + self.keys.len()
    }

    #[inline]
    pub fn add_word(&mut self, word: GlobalPtr, value: u64) {
        debug_assert!(!word.is_null());
        let witness = WordWitness { word, value };
        if !self.are_distinct || self.known.insert(Known::Word(witness)) {
            self.words.push(witness);
        }
    }

    #[inline]
    pub fn add_leaf(&mut self, witness: LeafWitness) {
        debug_assert!(!witness.leaf.is_null());
        if !self.are_distinct || self.known.insert(Known::Leaf(witness)) {
            self.leaves.push(witness);
        }
    }

    /// Adds the witness of a key. A row has one key as long as it exists.
    pub fn add_key(&mut self, witness: KeyWitness) {
        debug_assert!(!witness.row.is_null());
        debug_assert!(self.are_distinct, "only guards are for keys");
        if self.known.insert(Known::Key(witness.row)) {
            self.keys.push(witness);
        }
    }

    /// The present ends of the lists.
    pub fn mark(&self) -> WitnessMark {
        let Self { words, leaves, keys, .. } = self;
        WitnessMark { words: words.len(), leaves: leaves.len(), keys: keys.len() }
    }

    /// Removes the guards that were added behind a mark.
    pub fn truncate(&mut self, mark: WitnessMark) {
        if !self.are_distinct {
            return;
        }
        let words = self.words.drain(mark.words..).map(Known::Word);
        let leaves = self.leaves.drain(mark.leaves..).map(Known::Leaf);
        let keys = self.keys.drain(mark.keys..).map(|witness| Known::Key(witness.row));
        for gone in words.chain(leaves).chain(keys) {
            self.known.remove(&gone);
        }
    }

    /// Removes the witnesses of one version of a leaf; returns whether there were any.
    pub fn remove_leaf(&mut self, leaf: GlobalPtr, version: u64) -> bool {
        let before = self.leaves.len();
        let known = &mut self.known;
        self.leaves.retain(|witness| {
            let stays = witness.leaf != leaf || witness.version != version;
            if !stays {
                known.remove(&Known::Leaf(*witness));
            }
            stays
        });
        self.leaves.len() < before
    }
}
