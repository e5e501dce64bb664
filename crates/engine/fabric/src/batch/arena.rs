//! The arena: the words that the verbs of a batch read and write. It only grows.

use super::Batch;

/// Smallest arena in words; it grows when a transaction needs more, and never shrinks.
const ARENA_WORDS_MIN: usize = 1024;
/// Largest arena in words (2 GiB): offsets are 32 bits wide.
pub const ARENA_WORDS_MAX: usize = 1 << 28;

/// A range of words in a batch's arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    pub at: u32,
    pub words: u32,
}

impl Batch {
    /// Takes `words` words of the arena. They keep their previous contents.
    #[inline]
    pub fn reserve(&mut self, words: u32) -> Span {
        let at = self.0.used;
        self.0.used = at + words as usize;
        if self.0.used > self.0.arena.len() {
            self.grow();
        }
        Span { at: at as u32, words }
    }

    #[cold]
    pub(super) fn grow(&mut self) {
        assert!(self.0.used <= ARENA_WORDS_MAX, "a transaction's arena holds at most 2 GiB");
        let words = self.0.used.next_power_of_two().max(ARENA_WORDS_MIN);
        self.0.arena.resize(words, 0);
    }

    /// Gives up the memory of a batch without verbs that its arena does not use, for a long rest.
    pub fn shrink(&mut self) {
        self.clear_verbs();
        self.0.verbs.shrink_to_fit();
        self.0.arena.truncate(self.0.used);
        self.0.arena.shrink_to_fit();
    }

    /// Words of the arena in use; callers limit their read sets by it.
    #[inline]
    pub fn arena_words(&self) -> usize {
        self.0.used
    }

    /// Words of the arena, those that are not in use included.
    pub fn room_words(&self) -> usize {
        self.0.arena.len()
    }

    /// Frees all arena words from `at` on: scans that work in chunks reuse them.
    #[inline]
    pub fn truncate(&mut self, at: u32) {
        assert!(at as usize <= self.0.used);
        self.0.used = at as usize;
    }

    /// Copies `words` into the arena.
    #[inline]
    pub fn put(&mut self, words: &[u64]) -> Span {
        let span = self.reserve(words.len() as u32);
        let to = self.words_mut(span);
        // Most callers put keys of one or two words, for which a call to `memcpy` would cost too
        // much.
        match *words {
            [only] => to[0] = only,
            [first, second] => (to[0], to[1]) = (first, second),
            _ => to.copy_from_slice(words),
        }
        span
    }

    /// Copies `span` to a new place in the arena.
    #[inline]
    pub fn duplicate(&mut self, span: Span) -> Span {
        let copy = self.reserve(span.words);
        let from = span.at as usize;
        self.0.arena.copy_within(from..from + span.words as usize, copy.at as usize);
        copy
    }

    /// Moves the words of `span` to word `to` of the arena; the ranges may overlap.
    #[inline]
    pub fn shift(&mut self, span: Span, to: u32) {
        let from = span.at as usize;
        self.0.arena.copy_within(from..from + span.words as usize, to as usize);
    }

    /// The words of a span.
    #[inline]
    pub fn words(&self, span: Span) -> &[u64] {
        &self.0.arena[span.at as usize..(span.at + span.words) as usize]
    }

    /// The words of a span, to change them.
    #[inline]
    pub fn words_mut(&mut self, span: Span) -> &mut [u64] {
        &mut self.0.arena[span.at as usize..(span.at + span.words) as usize]
    }

    /// Word `index` of the arena.
    #[inline]
    pub fn word(&self, index: u32) -> u64 {
        self.0.arena[index as usize]
    }

    /// Sets word `index` of the arena.
    #[inline]
    pub fn set_word(&mut self, index: u32, value: u64) {
        self.0.arena[index as usize] = value;
    }

    /// The arena's words in use, for back ends that send them.
    #[inline]
    pub fn arena(&self) -> &[u64] {
        &self.0.arena[..self.0.used]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arena_grows_and_keeps_its_words() {
        let mut batch = Batch::new();
        let first = batch.put(&[1, 2, 3]);
        batch.reserve(1 << 20);
        assert_eq!(batch.words(first), [1, 2, 3]);
        let copy = batch.duplicate(first);
        assert_eq!(batch.words(copy), [1, 2, 3]);
    }
}
