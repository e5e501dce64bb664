//! Locks a leaf's insert word, with proof that the image read before is current.

use super::{LeafRead, Tree};
use fabric::{Batch, Span, Swap};
use layout::leaf;
use layout::{GlobalPtr, VersionWord};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafLock {
    ptr: GlobalPtr,
    swap: Swap,
    version: Span,
    expected_version: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockResult {
    /// The lock is held, and the image is current.
    Held,
    /// Another process holds or changed the leaf; nothing was written.
    Missed,
    /// The lock is held, but the leaf was rewritten since it was read: release it and restart.
    Outdated,
}

impl LockResult {
    /// Whether the leaf has the owner's word, so that the caller must release it.
    #[inline]
    pub fn must_release(self) -> bool {
        self != Self::Missed
    }
}

/// Pushes the swap of `leaf`'s insert word to `timestamp` with the lock bit, followed by a read of
/// the leaf's version; the contract orders a read after an earlier atomic on the same server.
///
/// The version closes two gaps of the insert word. A leaf's insert word and image may have been
/// read at different moments; and a writer that changed a leaf twice under one number would leave
/// the same word twice. Splits and commits draw different numbers, and the counter suffices even if
/// they did not:
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
    let swap =
        batch.compare_and_swap(word, leaf.insert.word(), timestamp.locked_by_upkeep().word());
    let version = batch.read(leaf.ptr.add_words(u64::from(leaf::VERSION)), 1);
    LeafLock { ptr: leaf.ptr, swap, version, expected_version }
}

/// The result of a completed lock.
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

/// Pushes the release of a lock: the owner's number without the lock bit, so that late swaps that
/// expect an earlier word fail.
#[inline]
pub(super) fn post_release(batch: &mut Batch, ptr: GlobalPtr, timestamp: VersionWord) {
    batch.write_word(ptr.add_words(u64::from(leaf::INSERT)), timestamp.timestamp().word());
}

impl LeafLock {
    pub fn ptr(&self) -> GlobalPtr {
        self.ptr
    }
}
