//! A batch: verbs that are posted together, and the arena that holds their words.
//!
//! Decisions:
//! - docs/decisions/0001-one-batch-and-one-arena-per-transaction.md
//! - docs/decisions/0047-the-poster-of-a-verb-on-cold-words-announces-it-first.md

use crate::verb::{SlotGeometry, SlotRead, Verb};
use layout::row::{Cover, LINK};
use layout::{GlobalPtr, RegionId};
use std::collections::{BTreeMap, BTreeSet};

/// Adjacent writes to unpublished memory are merged up to this many words: 64 KiB.
const UNSEEN_WORDS_MAX: u32 = 8192;

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

/// Where the old value of a swap or an addition will be, and the value that the swap expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Swap {
    at: u32,
    expected: u64,
}

/// Verbs that are posted together, and the words they read and write.
///
/// The arena outlives a single round trip: a transaction uses one batch from begin to end, so that
/// a row is copied once on its way in and once on its way out. The batch moves into
/// [`crate::Fabric::execute`] and comes back from it; a caller that drops the future in between
/// leaves the buffers to the fabric.
#[derive(Clone)]
pub struct Batch(Box<Body>);

#[derive(Clone)]
struct Body {
    verbs: Vec<Verb>,
    bytes: u64,
    fences: u32,
    /// Lookups in buckets of several slots.
    choices: u32,
    /// Reads of rows that continue where the previous one ended.
    continued: u32,
    arena: Vec<u64>,
    used: usize,
}

/// Writes that were put into a batch and will be posted later, with words that stay in its arena.
#[derive(Default)]
pub struct VerbList {
    verbs: Vec<Verb>,
    bytes: u64,
    fences: u32,
}

impl Default for Batch {
    fn default() -> Self {
        Self::new()
    }
}

impl VerbList {
    /// The writes, with those of the words ahead of them.
    pub fn verbs(&self) -> &[Verb] {
        &self.verbs
    }
}

impl Batch {
    /// An empty batch; its arena grows on demand.
    pub fn new() -> Self {
        let (verbs, arena) = (Vec::new(), Vec::new());
        Self(Box::new(Body {
            verbs,
            bytes: 0,
            fences: 0,
            choices: 0,
            continued: 0,
            arena,
            used: 0,
        }))
    }

    /// Clears verbs and arena for the next transaction.
    #[inline]
    pub fn reset(&mut self) {
        self.clear_verbs();
        self.0.used = 0;
    }

    /// Clears the verbs and keeps the arena.
    #[inline]
    pub fn clear_verbs(&mut self) {
        self.0.verbs.clear();
        self.0.bytes = 0;
        self.0.fences = 0;
        self.0.choices = 0;
        self.0.continued = 0;
    }

    /// Moves the writes of this batch to a list, behind one write of a word for each region that
    /// they reach: `first` has its address and value. Their words stay in the arena.
    ///
    /// # Panics
    ///
    /// If the batch has other verbs.
    pub fn set_aside(
        &mut self,
        list: &mut VerbList,
        mut first: impl FnMut(RegionId) -> Option<(GlobalPtr, u64)>,
    ) {
        list.verbs.clear();
        (list.bytes, list.fences) = (self.0.bytes, self.0.fences);
        let mut regions = Vec::new();
        for verb in &self.0.verbs {
            assert!(verb.is_write() || *verb == Verb::Fence, "only writes are set aside");
            if *verb == Verb::Fence || regions.contains(&verb.target().region()) {
                continue;
            }
            let region = verb.target().region();
            regions.push(region);
            if let Some((to, value)) = first(region) {
                let verb = Verb::WriteWord { to, value };
                list.bytes += verb.bytes();
                list.verbs.push(verb);
            }
        }
        list.verbs.extend_from_slice(&self.0.verbs);
        self.clear_verbs();
    }

    /// Replaces the verbs by those that were set aside.
    pub fn resume(&mut self, list: &mut VerbList) {
        self.clear_verbs();
        std::mem::swap(&mut self.0.verbs, &mut list.verbs);
        (self.0.bytes, self.0.fences) = (list.bytes, list.fences);
    }

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
    fn grow(&mut self) {
        assert!(self.0.used <= ARENA_WORDS_MAX, "a transaction's arena holds at most 2 GiB");
        let words = self.0.used.next_power_of_two().max(ARENA_WORDS_MIN);
        self.0.arena.resize(words, 0);
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
        self.refuse_unordered(to, span.words);
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
        self.refuse_unordered(to, 1);
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
        self.refuse_unordered(to, span.words);
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
        self.refuse_unordered(to, span.words);
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

    /// Refuses a write of words that an earlier unfenced read or atomic touches: the contract does
    /// not order the two, so this is a bug of the caller.
    #[inline]
    fn refuse_unordered(&self, to: GlobalPtr, words: u32) {
        if cfg!(debug_assertions) || cfg!(test) {
            self.assert_ordered(to, words);
        }
    }

    fn assert_ordered(&self, to: GlobalPtr, words: u32) {
        let since_fence = self.0.verbs.rsplit(|verb| *verb == Verb::Fence).next().unwrap_or(&[]);
        for verb in since_fence {
            let unordered = matches!(
                verb,
                Verb::Read { .. }
                    | Verb::ReadRow { .. }
                    | Verb::FindSlot { .. }
                    | Verb::CompareAndSwap { .. }
                    | Verb::FetchAndAdd { .. }
            );
            let (start, end) =
                (verb.target(), verb.target().add_words(u64::from(verb.target_words())));
            let overlap = start < to.add_words(u64::from(words)) && to < end;
            assert!(!(unordered && overlap), "a write after {verb:?} needs a fence to be ordered");
        }
    }

    /// Replaces this batch by a copy of another one: its verbs, and the words in use. Room for both
    /// is kept.
    pub fn copy_from(&mut self, other: &Self) {
        let (body, other) = (&mut *self.0, &*other.0);
        body.verbs.clone_from(&other.verbs);
        (body.bytes, body.fences) = (other.bytes, other.fences);
        (body.choices, body.continued) = (other.choices, other.continued);
        body.used = other.used;
        if body.used > body.arena.len() {
            self.grow();
        }
        self.0.arena[..other.used].copy_from_slice(&other.arena[..other.used]);
    }

    /// Removes the writes that these words prove: words that were unlocked, and rows that have the
    /// batch's version. On the server of a word all writes ahead of its own are proved, and on all
    /// servers those before the last fence ahead of it. The write of an unlocked word is proved
    /// too; that of a row is not, because its words arrive in any order. Reads and atomics stay.
    pub fn retain_unproved(&mut self, written: &BTreeSet<GlobalPtr>) {
        let (mut proved, mut fence, mut fenced) = (BTreeMap::new(), 0, 0);
        for (number, verb) in self.0.verbs.iter().enumerate() {
            let end = match verb {
                Verb::Fence => {
                    fence = number;
                    continue;
                }
                Verb::WriteWord { to, .. } if written.contains(to) => number + 1,
                Verb::InstallRow { to, .. } if written.contains(to) => number,
                _ => continue,
            };
            proved.insert(verb.target().region(), end);
            fenced = fence;
        }
        for (number, verb) in std::mem::take(&mut self.0.verbs).into_iter().enumerate() {
            let is_proved = || {
                let of_server = proved.get(&verb.target().region());
                number < fenced || of_server.is_some_and(|end| number < *end)
            };
            if verb.is_write() && is_proved() {
                self.0.bytes -= verb.bytes();
            } else {
                self.0.verbs.push(verb);
            }
        }
    }

    /// Puts writes of spans ahead of all verbs.
    pub fn write_ahead(&mut self, writes: &[(GlobalPtr, Span)]) {
        let write = |&(to, Span { at, words }): &_| Verb::Write { to, at, words };
        let verbs = writes.iter().map(write);
        self.0.bytes += verbs.clone().map(|verb| verb.bytes()).sum::<u64>();
        self.0.verbs.splice(0..0, verbs);
    }

    /// The verbs in posting order.
    #[inline]
    pub fn verbs(&self) -> &[Verb] {
        &self.0.verbs
    }

    /// Number of verbs; a read that continues the previous one is not counted.
    #[inline]
    pub fn verb_count(&self) -> u64 {
        self.0.verbs.len() as u64 - u64::from(self.0.continued)
    }

    /// Whether the batch has no verbs.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.verbs.is_empty()
    }

    /// Bytes that the verbs move.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Number of verbs that search a bucket of several slots.
    #[inline]
    pub fn choice_count(&self) -> u32 {
        self.0.choices
    }

    /// Round trips of the batch: one, and one more per fence.
    #[inline]
    pub fn round_trips(&self) -> u64 {
        1 + u64::from(self.0.fences)
    }

    /// The arena's words in use, for back ends that send them.
    #[inline]
    pub fn arena(&self) -> &[u64] {
        &self.0.arena[..self.0.used]
    }

    /// Verbs and arena together, for back ends that execute them.
    #[inline]
    pub fn parts_mut(&mut self) -> (&[Verb], &mut [u64]) {
        let body = &mut *self.0;
        (&body.verbs, &mut body.arena[..body.used])
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(&self.0.verbs).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::row::KEY;

    fn ptr(offset: u64) -> GlobalPtr {
        GlobalPtr::new(RegionId(0), offset)
    }

    #[test]
    fn arena_grows_and_keeps_its_words() {
        let mut batch = Batch::new();
        let first = batch.put(&[1, 2, 3]);
        batch.reserve(1 << 20);
        assert_eq!(batch.words(first), [1, 2, 3]);
        let copy = batch.duplicate(first);
        assert_eq!(batch.words(copy), [1, 2, 3]);
    }

    #[test]
    fn writes_that_were_set_aside_go_on_behind_a_word_for_each_region() {
        let there = |region, byte| GlobalPtr::new(RegionId(region), byte);
        let mut batch = Batch::new();
        let span = batch.put(&[7, 8]);
        batch.write(there(1, 64), span);
        batch.fence();
        batch.write_word(there(0, 128), 9);
        batch.write_word(there(1, 128), 9);
        let mut list = VerbList::default();
        batch.set_aside(&mut list, |region| Some((GlobalPtr::new(region, 0), 5)));
        assert!(batch.is_empty() && batch.round_trips() == 1);
        batch.read(there(1, 256), 1);
        batch.resume(&mut list);
        let targets = batch.verbs().iter().filter(|verb| **verb != Verb::Fence);
        let targets: Vec<_> = targets.map(Verb::target).collect();
        let marks = [there(1, 0), there(0, 0)];
        assert_eq!(targets[..2], marks);
        assert_eq!(targets[2..], [there(1, 64), there(0, 128), there(1, 128)]);
        assert_eq!((batch.round_trips(), batch.bytes()), (2, 6 * layout::WORD_BYTES));
        assert_eq!(batch.words(span), [7, 8]);
    }

    #[test]
    fn a_copy_has_the_verbs_and_the_words_in_use_and_keeps_its_room() {
        let mut batch = Batch::new();
        let read = batch.read(ptr(512), 2);
        let span = batch.put(&[7, 8]);
        batch.write(ptr(64), span);
        batch.fence();
        batch.read_row(ptr(640), 4, Cover::AllButLink);
        batch.read_row(ptr(672), 4, Cover::AllButLink);
        let (key_words, key_at, tag) = (2, 1, 5);
        let geometry = SlotGeometry { slots: 2, key_words, key_at, tag, slot_words: 8, rows: true };
        batch.find_slot(ptr(1024), geometry, span);
        let mut copy = Batch::new();
        copy.reserve(100_000);
        let room = copy.0.arena.len();
        copy.copy_from(&batch);
        let totals = |batch: &Batch| {
            (batch.bytes(), batch.round_trips(), batch.verb_count(), batch.choice_count())
        };
        assert_eq!((copy.verbs(), totals(&copy)), (batch.verbs(), totals(&batch)));
        assert_eq!(copy.arena(), batch.arena());
        assert_eq!((copy.words(span), copy.words(read)), (&[7, 8][..], batch.words(read)));
        assert_eq!(copy.0.arena.len(), room);
        let mut first = Batch::new();
        first.copy_from(&batch);
        assert_eq!(first.arena(), batch.arena());
    }

    /// The writes that are left of: slot and tags in region 1, a fence, the insert word in region
    /// 0, a row in region 2.
    fn left_when_unlocked(unlocked: &[GlobalPtr]) -> Vec<GlobalPtr> {
        let mut batch = Batch::new();
        let there = |region, byte| GlobalPtr::new(RegionId(region), byte);
        batch.write_word(there(1, 64), 1);
        batch.write_word(there(1, 128), 2);
        batch.fence();
        batch.write_word(there(0, 512), 3);
        batch.write_word(there(2, 64), 4);
        batch.retain_unproved(&unlocked.iter().copied().collect());
        let targets = batch.verbs().iter().filter(|verb| !matches!(verb, Verb::Fence));
        targets.map(|verb| verb.target()).collect()
    }

    #[test]
    fn an_unlocked_word_proves_what_was_written_before_its_fence() {
        let there = |region, byte| GlobalPtr::new(RegionId(region), byte);
        let all = [there(1, 64), there(1, 128), there(0, 512), there(2, 64)];
        assert_eq!(left_when_unlocked(&[]), all);
        // A slot beside the one in region 1 may meanwhile belong to another transaction: writing
        // the tags again would erase it.
        assert_eq!(left_when_unlocked(&[all[2]]), [all[3]]);
        // Without a fence in between, only its own server is proved.
        assert_eq!(left_when_unlocked(&[all[1]]), [all[2], all[3]]);
    }

    #[test]
    fn a_row_with_the_new_version_proves_that_the_old_one_was_saved() {
        let there = |region, byte| GlobalPtr::new(RegionId(region), byte);
        let (buffer, row) = (there(1, 4096), there(1, 64));
        let mut batch = Batch::new();
        let image = batch.put(&[0; 8]);
        batch.install_row(buffer, image, KEY, Cover::All);
        batch.install_row(row, image, KEY, Cover::AllButLink);
        batch.write_word(there(2, 64), 1);
        batch.retain_unproved(&[row].into());
        let targets: Vec<_> = batch.verbs().iter().map(Verb::target).collect();
        assert_eq!(targets, [row, there(2, 64)]);
    }

    /// The writes that are left of: two rows in region 1, each behind its old version; a fence;
    /// tags in region 1; a fence; a row behind its old version in region 2, an insert word in
    /// region 0.
    fn left_of_rows(proved: &[usize]) -> Vec<usize> {
        let there = |region, byte| GlobalPtr::new(RegionId(region), byte);
        let targets = [
            there(1, 4096),
            there(1, 64),
            there(1, 8192),
            there(1, 128),
            there(1, 512),
            there(2, 4096),
            there(2, 64),
            there(0, 512),
        ];
        let mut batch = Batch::new();
        let image = batch.put(&[0; 8]);
        for (number, &target) in targets.iter().enumerate() {
            match number {
                0 | 1 | 2 | 3 | 5 | 6 => batch.install_row(target, image, KEY, Cover::All),
                _ => batch.write_word(target, 1),
            }
            if number == 3 || number == 4 {
                batch.fence();
            }
        }
        batch.retain_unproved(&proved.iter().map(|&number| targets[number]).collect());
        let left = batch.verbs().iter().filter(|verb| !matches!(verb, Verb::Fence));
        let number = |verb: &Verb| targets.iter().position(|&target| target == verb.target());
        left.map(|verb| number(verb).expect("it was written")).collect()
    }

    #[test]
    fn each_of_several_rows_proves_the_writes_before_it() {
        assert_eq!(left_of_rows(&[]), [0, 1, 2, 3, 4, 5, 6, 7]);
        // The first row may be written again, but its old version was saved; nothing proves the
        // second one's.
        assert_eq!(left_of_rows(&[1]), [1, 2, 3, 4, 5, 6, 7]);
        // A server carries writes out in order: the second row proves the first.
        for proved in [&[3][..], &[1, 3]] {
            assert_eq!(left_of_rows(proved), [3, 4, 5, 6, 7]);
        }
    }

    #[test]
    fn only_the_fences_before_a_proof_count() {
        // The tags are behind one fence: they prove both rows, and nothing behind the second.
        assert_eq!(left_of_rows(&[4]), [5, 6, 7]);
        // A row behind both fences proves what is before them, and its own old version.
        assert_eq!(left_of_rows(&[6]), [6, 7]);
        assert_eq!(left_of_rows(&[7]), [5, 6]);
        assert_eq!(left_of_rows(&[1, 7]), [5, 6]);
        assert_eq!(left_of_rows(&[6, 7]), [6]);
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
    #[should_panic(expected = "needs a fence")]
    fn a_write_after_a_read_of_the_same_word_is_refused() {
        let mut batch = Batch::new();
        batch.read(ptr(64), 4);
        batch.write_word(ptr(72), 1);
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
