//! The words of the global timestamp oracle.

use layout::{GlobalPtr, WORD_BYTES};

/// Places for outcomes: the largest number of transactions ahead of the read timestamp.
pub const OUTCOME_PLACES: u64 = 1 << 14;
const READ: u64 = 0;
/// The words that all transactions change are not adjacent.
const COMMIT: u64 = 8;
const OUTCOMES: u64 = 16;

/// The location of the oracle.
///
/// ```text
/// word | field            | written by
///    0 | read timestamp   | the timestamp thread: all transactions up to this one have ended
///    8 | commit timestamp | fetch-and-add: the last one that was drawn
///   16 | outcomes         | write: t and whether it committed, at place t modulo their number
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Oracle {
    first: GlobalPtr,
}

impl Oracle {
    /// Bytes of the oracle.
    pub const BYTES: u64 = (OUTCOMES + OUTCOME_PLACES) * WORD_BYTES;

    /// The oracle at `first`, in zeroed memory: no transaction has begun.
    pub const fn new(first: GlobalPtr) -> Self {
        Self { first }
    }

    pub fn read_timestamp(&self) -> GlobalPtr {
        self.first.add_words(READ)
    }

    /// The word from which commit timestamps are drawn.
    pub fn commit_timestamp(&self) -> GlobalPtr {
        self.first.add_words(COMMIT)
    }

    /// The place of a transaction's outcome.
    pub fn outcome(&self, timestamp: u64) -> GlobalPtr {
        self.first.add_words(OUTCOMES + timestamp % OUTCOME_PLACES)
    }
}

/// An outcome as a word.
pub(super) const fn outcome_word(timestamp: u64, has_committed: bool) -> u64 {
    timestamp << 1 | has_committed as u64
}

/// Whether a word of the list is the outcome of this transaction, and not of an earlier one at the
/// same place.
pub(super) const fn is_outcome_of(word: u64, timestamp: u64) -> bool {
    word >> 1 == timestamp
}
