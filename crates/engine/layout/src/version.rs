//! The version of a row, and the lock on it: one word each.
//!
//! Decision: docs/decisions/0007-a-timestamp-is-16-bits-of-slot-and-46-bits-of-counter.md

/// An index of the timestamp vector. One per lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SlotId(pub u16);

/// The writer and time of a version: the commit timestamp `(i, t)` of [ZB17 §4.1], with two flag
/// bits.
///
/// ```text
///  63   62       61        46 45                                0
/// +----+--------+------------+-----------------------------------+
/// |lock|deleted |  slot id   |  counter of that slot             |
/// +----+--------+------------+-----------------------------------+
/// ```
///
/// The same shape serves three words: a row's header (unlocked: the version; locked: the lock bit
/// and the owner's timestamp, with both bits if upkeep holds it), the version beside the payload,
/// and the insert word of a bucket or leaf.
///
/// We deviate: the paper has 29 + 32 bits, and a 32-bit counter of a busy slot wraps within an
/// hour.
///
/// # Invariants
/// A `(slot, counter)` pair serves one attempt to commit and is never reused. Counter 0 is never
/// handed out, so the zero word means "nothing was ever installed here".
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct VersionWord(u64);

const COUNTER_BITS: u32 = 46;
const SLOT_BITS: u32 = 16;
const COUNTER_MASK: u64 = (1 << COUNTER_BITS) - 1;
const SLOT_MASK: u64 = ((1 << SLOT_BITS) - 1) << COUNTER_BITS;
const DELETED: u64 = 1 << 62;
const LOCK: u64 = 1 << 63;
const _: () = {
    assert!(COUNTER_MASK | SLOT_MASK | DELETED | LOCK == u64::MAX);
    assert!(COUNTER_MASK & SLOT_MASK == 0);
    assert!((COUNTER_MASK | SLOT_MASK) & (DELETED | LOCK) == 0);
};

/// The largest counter; a lane whose counter comes near it changes to a new slot.
pub const COUNTER_MAX: u64 = COUNTER_MASK;

impl VersionWord {
    /// Nothing was ever installed here.
    pub const NONE: Self = Self(0);
    /// The value of a version word while the payload beside it is being written (a seqlock).
    pub const TORN: Self = Self(LOCK);
    /// The header of a row that moved to another bucket; no swap ever expects it.
    pub const MOVED: Self = Self(u64::MAX);

    /// The version that `slot` installs with its number `counter`.
    #[inline]
    pub const fn new(slot: SlotId, counter: u64) -> Self {
        debug_assert!(counter <= COUNTER_MAX);
        Self((slot.0 as u64) << COUNTER_BITS | counter)
    }

    /// Decodes a version from a word of remote memory.
    #[inline]
    pub const fn from_word(word: u64) -> Self {
        Self(word)
    }

    /// The version as a word of remote memory.
    #[inline]
    pub const fn word(self) -> u64 {
        self.0
    }

    /// The slot whose owner wrote it.
    #[inline]
    pub const fn slot(self) -> SlotId {
        SlotId(((self.0 & SLOT_MASK) >> COUNTER_BITS) as u16)
    }

    /// The number that the owner has drawn.
    #[inline]
    pub const fn counter(self) -> u64 {
        self.0 & COUNTER_MASK
    }

    /// The same timestamp with the lock bit set: the header's value while its owner commits.
    #[inline]
    pub const fn locked(self) -> Self {
        Self(self.0 | LOCK)
    }

    /// The header or insert word that upkeep has locked: a split, an absorption, collection. The
    /// second flag tells these locks from those of commits, whose journals others can carry out.
    #[inline]
    pub const fn locked_by_upkeep(self) -> Self {
        Self(self.0 | LOCK | DELETED)
    }

    /// Whether a commit holds this lock, and not upkeep.
    #[inline]
    pub const fn is_lock_of_commit(self) -> bool {
        self.is_locked() && !self.is_deleted() && self.0 != Self::TORN.0
    }

    /// Whether upkeep holds this lock, and not a commit.
    #[inline]
    pub const fn is_lock_of_upkeep(self) -> bool {
        self.is_locked() && self.is_deleted() && self.0 != Self::MOVED.0 && self.0 != Self::TORN.0
    }

    /// The same timestamp with both flags cleared.
    #[inline]
    pub const fn timestamp(self) -> Self {
        Self(self.0 & (COUNTER_MASK | SLOT_MASK))
    }

    /// The same timestamp marked as a deletion: the row is a tombstone from this version on.
    #[inline]
    pub const fn deleted(self) -> Self {
        Self(self.0 | DELETED)
    }

    /// Whether the lock bit is set.
    #[inline]
    pub const fn is_locked(self) -> bool {
        self.0 & LOCK != 0
    }

    /// Whether the row does not exist in this version.
    #[inline]
    pub const fn is_deleted(self) -> bool {
        self.0 & DELETED != 0
    }

    /// Whether nothing was ever installed.
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl std::fmt::Debug for VersionWord {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Self::MOVED {
            return write!(formatter, "moved");
        }
        let lock = if self.is_locked() { "locked " } else { "" };
        let deleted = if self.is_deleted() { " deleted" } else { "" };
        write!(formatter, "{lock}({},{}){deleted}", self.slot().0, self.counter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_of_commits_and_of_upkeep_are_told_apart() {
        let number = VersionWord::new(SlotId(7), 99);
        assert!(number.locked().is_lock_of_commit());
        assert!(number.locked_by_upkeep().is_locked());
        assert_eq!(number.locked_by_upkeep().timestamp(), number);
        let others = [number, number.deleted(), number.locked_by_upkeep()];
        let special = [VersionWord::TORN, VersionWord::MOVED, VersionWord::NONE];
        assert!(others.into_iter().chain(special).all(|word| !word.is_lock_of_commit()));
    }

    #[test]
    fn flags_do_not_touch_the_timestamp() {
        let version = VersionWord::new(SlotId(65_535), COUNTER_MAX);
        let flagged = version.deleted().locked();
        assert!(flagged.is_locked() && flagged.is_deleted());
        assert_eq!((flagged.slot(), flagged.counter()), (SlotId(65_535), COUNTER_MAX));
        assert_eq!(flagged.timestamp(), version);
    }

    #[test]
    fn special_words_are_locked_so_that_no_swap_expects_them() {
        assert!(VersionWord::TORN.is_locked() && VersionWord::MOVED.is_locked());
        assert!(VersionWord::NONE.is_none() && !VersionWord::NONE.is_locked());
    }
}
