//! Adds verbs to a batch. Writes and reads that continue the previous one are merged with it.
//!
//! Decision: docs/decisions/0047-the-poster-of-a-verb-on-cold-words-announces-it-first.md

use super::{Batch, Span};
use crate::verb::{SlotGeometry, SlotRead, Verb};
use layout::GlobalPtr;
use layout::row::{Cover, LINK};

/// Adjacent writes to unpublished memory are merged up to this many words: 64 KiB.
const UNSEEN_WORDS_MAX: u32 = 8192;

/// Where the old value of a swap or an addition will be, and the value that the swap expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Swap {
    at: u32,
    expected: u64,
}

impl Batch {
    /// Inlined where the kind of verb is known, so that `bytes` is a constant or a single addition.
    #[inline(always)]
    fn push(&mut self, verb: Verb) {
        self.0.bytes += verb.bytes();
        self.0.verbs.push(verb);
    }

    /// Reads `words` words from `from`; the result may be torn.
    #[inline]
    pub fn read(&mut self, from: GlobalPtr, words: u32) -> Span {
        let span = self.reserve(words);
        self.push(Verb::Read { from, at: span.at, words });
        span
    }

    /// Writes a span of the arena to `to`; readers may see it torn.
    #[inline]
    pub fn write(&mut self, to: GlobalPtr, span: Span) {
        self.push(Verb::Write { to, at: span.at, words: span.words });
    }

    /// As [`Self::write`], to memory that no reader can reach yet. Such writes need no order among
    /// themselves, so adjacent ones are merged into one, up to a length that every fabric sends at
    /// once.
    #[inline]
    pub fn write_unseen(&mut self, to: GlobalPtr, span: Span) {
        if let Some(Verb::Write { to: last, at, words }) = self.0.verbs.last_mut()
            && last.add_words(u64::from(*words)) == to
            && *at + *words == span.at
            && *words + span.words <= UNSEEN_WORDS_MAX
        {
            *words += span.words;
            self.0.bytes += u64::from(span.words) * layout::WORD_BYTES;
            return;
        }
        self.write(to, span);
    }

    #[inline]
    pub fn write_word(&mut self, to: GlobalPtr, value: u64) {
        self.push(Verb::WriteWord { to, value });
    }

    /// Swaps `word` from `expected` to `desired`.
    #[inline]
    pub fn compare_and_swap(&mut self, word: GlobalPtr, expected: u64, desired: u64) -> Swap {
        let at = self.reserve(1).at;
        self.push(Verb::CompareAndSwap { word, expected, desired, at });
        Swap { at, expected }
    }

    #[inline]
    pub fn fetch_and_add(&mut self, word: GlobalPtr, add: u64) -> Swap {
        let at = self.reserve(1).at;
        self.push(Verb::FetchAndAdd { word, add, at });
        Swap { at, expected: 0 }
    }

    /// Whether a completed swap found the expected value.
    #[inline]
    pub fn swapped(&self, swap: Swap) -> bool {
        self.word(swap.at) == swap.expected
    }

    /// The value before a completed swap or addition.
    #[inline]
    pub fn found(&self, swap: Swap) -> u64 {
        self.word(swap.at)
    }

    /// Reads header and untorn image of a row (`AllButLink`), or of an old version or node (`All`).
    /// Reads need no order among themselves: rows that are adjacent in memory and in the arena may
    /// be fetched together.
    #[inline]
    pub fn read_row(&mut self, from: GlobalPtr, words: u32, cover: Cover) -> Span {
        let span = self.reserve(words);
        let goes_on = match self.0.verbs.last() {
            Some(Verb::ReadRow { from: last, at, words, .. }) => {
                last.add_words(u64::from(*words)) == from && *at + *words == span.at
            }
            _ => false,
        };
        self.0.continued += u32::from(goes_on);
        self.push(Verb::ReadRow { from, at: span.at, words, cover, goes_on });
        span
    }

    /// Writes the image in `span` (which includes the header word, not written) so that readers see
    /// it whole. Words before `first` are unchanged; fabrics with checksums write all of them.
    #[inline]
    pub fn write_row(&mut self, to: GlobalPtr, span: Span, first: u32, cover: Cover) {
        self.push(Verb::WriteRow { to, at: span.at, words: span.words, first, cover });
    }

    /// Writes link, image and header of a locked row, in this order; words between link and `first`
    /// are unchanged.
    #[inline]
    pub fn install_row(&mut self, to: GlobalPtr, span: Span, first: u32, cover: Cover) {
        self.push_install(to, span, (first, cover, false));
    }

    /// As [`Self::install_row`] but in any order, which costs a card one request.
    #[inline]
    pub fn install_row_at_once(&mut self, to: GlobalPtr, span: Span, first: u32, cover: Cover) {
        self.push_install(to, span, (first, cover, true));
    }

    #[inline(always)]
    fn push_install(
        &mut self,
        to: GlobalPtr,
        span: Span,
        (first, cover, at_once): (u32, Cover, bool),
    ) {
        debug_assert!(first > LINK && first <= span.words);
        self.push(Verb::InstallRow { to, at: span.at, words: span.words, first, cover, at_once });
    }

    /// Fetches a bucket and selects the slot that holds the key in arena words `key`; the result is
    /// laid out as [`SlotRead`].
    #[inline]
    pub fn find_slot(&mut self, bucket: GlobalPtr, geometry: SlotGeometry, key: Span) -> Span {
        debug_assert_eq!(key.words, u32::from(geometry.key_words));
        let span = self.reserve(SlotRead::SLOT + u32::from(geometry.slot_words));
        self.0.choices += u32::from(geometry.slots > 1);
        self.push(Verb::FindSlot { bucket, geometry, key: key.at, at: span.at });
        span
    }

    /// Delays all later verbs until all earlier ones are complete; costs a round trip.
    #[inline]
    pub fn fence(&mut self) {
        self.0.fences += 1;
        self.push(Verb::Fence);
    }

    /// Puts writes of spans ahead of all verbs.
    pub fn write_ahead(&mut self, writes: &[(GlobalPtr, Span)]) {
        let write = |&(to, Span { at, words }): &_| Verb::Write { to, at, words };
        let verbs = writes.iter().map(write);
        self.0.bytes += verbs.clone().map(|verb| verb.bytes()).sum::<u64>();
        self.0.verbs.splice(0..0, verbs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::RegionId;

    fn ptr(offset: u64) -> GlobalPtr {
        GlobalPtr::new(RegionId(0), offset)
    }

    #[test]
    fn unseen_writes_that_follow_each_other_are_one() {
        let mut batch = Batch::new();
        let row = batch.put(&[1, 2]);
        let (next, beside) = (batch.put(&[3]), batch.put(&[4]));
        batch.write_unseen(ptr(64), row);
        batch.write_unseen(ptr(80), next);
        batch.write_unseen(ptr(96), beside);
        batch.write_unseen(ptr(104), row);
        let write = |to, at, words| Verb::Write { to: ptr(to), at, words };
        assert_eq!(batch.verbs(), [write(64, 0, 3), write(96, 3, 1), write(104, 0, 2)]);
        assert_eq!(batch.bytes(), 48);
    }

    #[test]
    fn rows_that_follow_each_other_are_read_by_one_verb() {
        let mut batch = Batch::new();
        batch.read_row(ptr(64), 4, Cover::AllButLink);
        batch.read_row(ptr(96), 4, Cover::AllButLink);
        batch.read_row(ptr(160), 4, Cover::AllButLink);
        batch.put(&[0]);
        batch.read_row(ptr(192), 4, Cover::AllButLink);
        let requests: Vec<u64> = batch.verbs().iter().map(Verb::requests).collect();
        assert_eq!((requests, batch.verb_count()), (vec![1, 0, 1, 1], 3));
        assert_eq!(batch.bytes(), 4 * 32);
        batch.clear_verbs();
        assert_eq!(batch.verb_count(), 0);
    }

    #[test]
    fn a_fence_orders_and_costs_a_round_trip() {
        let mut batch = Batch::new();
        batch.read(ptr(64), 4);
        batch.fence();
        batch.write_word(ptr(72), 1);
        assert_eq!((batch.round_trips(), batch.bytes()), (2, 40));
    }
}
