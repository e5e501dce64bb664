//! Registered memory through which words move between a batch and the card.
//!
//! Arenas of batches grow and move, and registering memory takes longer than many round trips; so
//! each engine thread registers memory once, and words are copied. It grows piecewise and never
//! shrinks. A range of it belongs to the card from posting to completion, even if the waiting
//! future is dropped.
//!
//! Decision: docs/decisions/0084-words-pass-through-staging-memory.md

use super::{Device, Registered, VerbsError};
use std::sync::Arc;

/// Bytes of the first memory; every further one has twice the size of the previous one.
const FIRST_BYTES: u64 = 1 << 20;

/// A range of staging memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Range {
    pub(super) memory: u32,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// All staging memory of one thread.
pub(super) struct Staging {
    device: Arc<Device>,
    memories: Vec<Arc<Registered>>,
    free: Free,
}

impl Staging {
    pub(super) fn new(device: &Arc<Device>) -> Self {
        Self { device: device.clone(), memories: Vec::new(), free: Free::default() }
    }

    /// All memories, by number; [`Staging::take`] may add one.
    pub(super) fn memories(&self) -> &[Arc<Registered>] {
        &self.memories
    }

    /// Reserves `bytes` adjacent bytes, a multiple of 8.
    pub(super) fn take(&mut self, bytes: u64) -> Result<Range, VerbsError> {
        assert!(bytes.is_multiple_of(layout::WORD_BYTES));
        if let Some(range) = self.free.take(bytes) {
            return Ok(range);
        }
        let last_bytes = self.memories.last().map_or(FIRST_BYTES / 2, |last| last.bytes());
        let next_bytes = (2 * last_bytes).max(bytes);
        let memory = Registered::map("namdb-staging", next_bytes, &self.device, false)?;
        self.free.add(self.memories.len() as u32, next_bytes);
        self.memories.push(Arc::new(memory));
        Ok(self.free.take(bytes).expect("it was added just now"))
    }

    /// Frees a range.
    pub(super) fn give_back(&mut self, range: Range) {
        self.free.give_back(range);
    }

    /// Copies `words` to byte `offset` of `range`.
    pub(super) fn put(&self, range: Range, offset: u64, words: &[u64]) {
        let to = self.words(range, offset, words.len() as u64);
        crate::raw::store_words(to, words);
    }

    /// Copies words from byte `offset` of `range`.
    pub(super) fn get(&self, range: Range, offset: u64, to: &mut [u64]) {
        crate::raw::load_words(self.words(range, offset, to.len() as u64), to);
    }

    fn words(&self, range: Range, offset: u64, count: u64) -> &[std::sync::atomic::AtomicU64] {
        assert!(
            offset + count * layout::WORD_BYTES <= range.bytes,
            "a range holds what is put there"
        );
        let memory = &self.memories[range.memory as usize];
        memory.words(range.offset + offset, count).expect("ranges lie in their memory")
    }
}

/// Free ranges in order, with no two adjacent.
#[derive(Default)]
struct Free(Vec<Range>);

impl Free {
    fn add(&mut self, memory: u32, bytes: u64) {
        self.give_back(Range { memory, offset: 0, bytes });
    }

    fn take(&mut self, bytes: u64) -> Option<Range> {
        let index = self.0.iter().position(|range| range.bytes >= bytes)?;
        let range = &mut self.0[index];
        let taken = Range { bytes, ..*range };
        range.offset += bytes;
        range.bytes -= bytes;
        if range.bytes == 0 {
            self.0.remove(index);
        }
        Some(taken)
    }

    fn give_back(&mut self, range: Range) {
        if range.bytes == 0 {
            return;
        }
        let place = |range: &Range| (range.memory, range.offset);
        let index = self.0.partition_point(|other| place(other) < place(&range));
        self.0.insert(index, range);
        self.join(index);
        if index > 0 {
            self.join(index - 1);
        }
    }

    /// Merges the range at `index` with the next one if they are adjacent.
    fn join(&mut self, index: usize) {
        let Some(next) = self.0.get(index + 1).copied() else { return };
        let range = &mut self.0[index];
        if range.memory == next.memory && range.offset + range.bytes == next.offset {
            range.bytes += next.bytes;
            self.0.remove(index + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_in_any_order_is_whole_again() {
        let mut free = Free::default();
        free.add(0, 64);
        free.add(1, 128);
        let whole = free.0.clone();
        let taken: Vec<Range> =
            [16, 32, 16, 64, 64].map(|bytes| free.take(bytes).expect("room")).into();
        assert!(free.0.is_empty() && free.take(8).is_none());
        for (index, range) in taken.iter().enumerate() {
            let is_apart = |other: &Range| {
                other.memory != range.memory
                    || other.offset + other.bytes <= range.offset
                    || range.offset + range.bytes <= other.offset
            };
            assert!(taken[..index].iter().all(is_apart), "{taken:?}");
        }
        for index in [3, 0, 2, 4, 1] {
            free.give_back(taken[index]);
        }
        assert_eq!(free.0, whole);
    }
}
