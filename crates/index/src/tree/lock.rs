//! Taking a leaf's insert word, with proof that the image read before is still the leaf.

use super::{LeafRead, Tree};
use fabric::{Batch, Span, Swap};
use layout::leaf;
use layout::{GlobalPtr, VersionWord};

/// A lock that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafLock {
    ptr: GlobalPtr,
    swap: Swap,
    version: Span,
    expected_version: u64,
}

/// What became of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockResult {
    /// Held, and the image that was read is the leaf.
    Held,
    /// Somebody else holds it or changed the leaf; nothing of ours is there.
    Missed,
    /// Held, but the leaf was rewritten since it was read: release it and start again.
    Outdated,
}

impl LockResult {
    /// Whether the owner's word stands in the leaf, so that it has to be released at the end.
    #[inline]
    pub fn must_release(self) -> bool {
        self != Self::Missed
    }
}

/// Pushes the swap of `leaf`'s insert word to `timestamp` with the lock bit, and a look at the
/// leaf's version behind it; the contract orders a read after an earlier atomic on the same server.
///
/// The version closes two gaps that the insert word leaves. A word of a leaf and its image may have
/// been read at different moments; and whoever changed a leaf twice under one number would leave the
/// same word twice. Splits and commits draw different numbers, and the counter holds even if they did not:
///
/// ```text
/// 1. transaction T splits the leaf under number 7: the word is 7
/// 2. a reader sees word 7 and the image behind the split
/// 3. T commits an insert into the same leaf: word 7 locked, image changes, word 7 again
/// 4. the reader's swap from 7 succeeds, though its image lacks T's entry
/// ```
///
/// The version counts rewrites and never repeats, so step 4 ends as [`LockResult::Outdated`].
#[inline]
pub fn post_lock(
    batch: &mut Batch,
    tree: &Tree,
    leaf: &LeafRead,
    timestamp: VersionWord,
) -> LeafLock {
    assert!(!leaf.insert.is_locked(), "a locked leaf is a conflict before any swap");
    assert!(timestamp == timestamp.timestamp(), "a lock's owner is a number without flags");
    let expected_version = leaf.view(batch, tree).version();
    assert!(expected_version != VersionWord::TORN.word(), "a leaf that was read is whole");
    let word = leaf.ptr.add_words(u64::from(leaf::INSERT));
    let swap = batch.compare_and_swap(word, leaf.insert.word(), timestamp.locked().word());
    let version = batch.read(leaf.ptr.add_words(u64::from(leaf::VERSION)), 1);
    LeafLock { ptr: leaf.ptr, swap, version, expected_version }
}

/// What a completed lock attempt brought.
#[inline]
pub fn lock_result(batch: &Batch, lock: &LeafLock) -> LockResult {
    if !batch.swapped(lock.swap) {
        LockResult::Missed
    } else if batch.word(lock.version.at) == lock.expected_version {
        LockResult::Held
    } else {
        LockResult::Outdated
    }
}

/// Pushes the release of a lock: the owner's number without the lock bit, so that no swap that
/// expected an earlier word succeeds late.
#[inline]
pub(super) fn post_release(batch: &mut Batch, ptr: GlobalPtr, timestamp: VersionWord) {
    batch.write_word(ptr.add_words(u64::from(leaf::INSERT)), timestamp.timestamp().word());
}

impl LeafLock {
    /// The leaf that was to be locked.
    pub fn ptr(&self) -> GlobalPtr {
        self.ptr
    }
}
