//! Locks of rows, among the sessions of a process.
//!
//! A statement that changes or locks a row takes its lock first, and waits for those who hold it.
//! So sessions of one process seldom conflict at their commits. The commit stays the judge: it
//! compares versions, also with the changes of those who take no locks.
//!
//! ```text
//! queue      the holders of a row's lock, and those who wait for it
//! table      the queues of all rows; changes since a snapshot
//! deadlock   who waits for whom
//! held       the locks of a session's transaction
//! wait       the end of a wait
//! ```
//!
//! Decision: docs/decisions/0361-rows-are-locked-before-they-are-changed.md

mod deadlock;
mod held;
#[cfg(test)]
mod model;
mod queue;
mod table;
mod wait;

pub(crate) use held::{LockMark, SessionRows};
pub(crate) use table::RowLocks;
pub(crate) use wait::Waited;

/// A session, among those of the process.
pub(crate) type Owner = u64;

/// A row: a hash of its table and its key. Two rows with equal hashes have one lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct RowKey(u64);

impl RowKey {
    pub fn new(table: u32, key: &[u64]) -> Self {
        // Both halves of the product count, so that every bit depends on all words.
        let mix = |sum: u64, word: u64| {
            let product =
                u128::from(sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
            (product >> 64) as u64 ^ product as u64
        };
        let start = mix(0x6a09_e667_f3bc_c908, u64::from(table));
        Self(key.iter().fold(start, |sum, &word| mix(sum.rotate_left(23), word)))
    }
}
