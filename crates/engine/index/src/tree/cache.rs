//! The last known addresses of leaves: a compute server's shortcut past the inner nodes.
//!
//! Decisions:
//! - docs/decisions/0032-leaves-are-read-one-sided-inner-nodes-by-call.md
//! - docs/decisions/0050-the-leaf-cache-is-sorted-chunks-of-words.md

use super::order::{count_below, count_to};
use super::view::{LeafView, generation, is_below};
use layout::{GlobalPtr, Key};

/// Default capacity of a cache in leaves; about 4 MiB.
const LEAF_COUNT_MAX: usize = 1 << 16;
const CHUNK_LEAVES_MAX: usize = 64;

/// An endpoint's cache of one tree's leaves. It is plain private memory and may be outdated at any
/// time, so a reader compares generation and fences with those of the leaf it has read.
///
/// Leaves are in chunks, ordered by key, each as a record of words:
///
/// ```text
/// word  | field
///    0  | low: K words
///    K  | high: K words
///   2K  | address
/// 2K+1  | generation, and whether the leaf is the rightmost
/// ```
#[derive(Clone, Debug)]
pub struct LeafCache {
    /// Words of a key; 0 before the first leaf.
    key_words: usize,
    chunks: Vec<Vec<u64>>,
    /// The first key of each chunk.
    firsts: Vec<u64>,
    leaf_count: usize,
    leaf_count_max: usize,
    /// The leaf used last, by chunk and word; accesses to neighbouring keys need no search.
    finger: (usize, usize),
    /// The entry evicted last; the next victim follows it.
    hand: Option<Key>,
}

/// A leaf as it was last seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafPlace {
    pub ptr: GlobalPtr,
    /// Generation of that memory.
    pub(super) generation: u32,
}

/// A finger on no leaf.
const NOWHERE: (usize, usize) = (usize::MAX, 0);
/// In the last word of a record: the leaf is the rightmost.
const UNBOUNDED: u64 = 1 << 32;

impl Default for LeafCache {
    fn default() -> Self {
        Self::new(LEAF_COUNT_MAX)
    }
}

impl LeafCache {
    /// An empty cache for at most `leaf_count_max` leaves.
    pub fn new(leaf_count_max: usize) -> Self {
        assert!(leaf_count_max > 0);
        Self {
            key_words: 0,
            chunks: Vec::new(),
            firsts: Vec::new(),
            leaf_count: 0,
            leaf_count_max,
            finger: NOWHERE,
            hand: None,
        }
    }

    pub fn leaf_count(&self) -> usize {
        self.leaf_count
    }

    /// Empties the cache after the tree was dropped.
    pub fn clear(&mut self) {
        *self = Self::new(self.leaf_count_max);
    }

    #[inline]
    fn stride(&self) -> usize {
        2 * self.key_words + 2
    }

    /// The leaf that covered `key` when it was last seen.
    #[inline]
    pub fn find(&mut self, key: &[u64]) -> Option<LeafPlace> {
        if let Some(place) = self.place_at(self.finger, key) {
            return Some(place);
        }
        let at = self.position(key)?;
        let place = self.place_at(at, key)?;
        self.finger = at;
        Some(place)
    }

    /// Visits the leaves that covered `from..=to` when they were last seen, up to `count_max` of
    /// them and up to the first gap.
    pub fn run(
        &self,
        from: &[u64],
        to: &[u64],
        count_max: usize,
        visit: &mut impl FnMut(LeafPlace),
    ) {
        let (mut at, mut key) = (self.position(from), from);
        for _ in 0..count_max {
            let Some(place) = at.and_then(|at| self.place_at(at, key)) else { return };
            visit(place);
            let (chunk, word) = at.expect("a place was found there");
            let record = &self.chunks[chunk][word..][..self.stride()];
            let high = &record[self.key_words..2 * self.key_words];
            if record[2 * self.key_words + 1] & UNBOUNDED != 0 || is_below(to, high) {
                return;
            }
            let next = self.after((chunk, word));
            (at, key) = (Some(next), high);
        }
    }

    /// The leaf with its record at `at`, if it covers `key`.
    #[inline]
    fn place_at(&self, at: (usize, usize), key: &[u64]) -> Option<LeafPlace> {
        let words = key.len();
        let record = self.chunks.get(at.0)?.get(at.1..at.1 + self.stride())?;
        let (low, rest) = record.split_at(words);
        let (high, rest) = rest.split_at(words);
        let covers = !is_below(key, low) && (rest[1] & UNBOUNDED != 0 || is_below(key, high));
        covers.then(|| LeafPlace { ptr: GlobalPtr::from_word(rest[0]), generation: rest[1] as u32 })
    }

    /// Chunk and word of the last record that begins at or before `key`.
    #[inline]
    fn position(&self, key: &[u64]) -> Option<(usize, usize)> {
        if self.chunks.is_empty() {
            return None;
        }
        let chunk = count_to(&self.firsts, self.key_words, key).checked_sub(1)?;
        let record = count_to(&self.chunks[chunk], self.stride(), key).checked_sub(1)?;
        Some((chunk, record * self.stride()))
    }

    /// Adds a leaf that was just read.
    #[inline]
    pub(super) fn learn(&mut self, ptr: GlobalPtr, leaf: &LeafView<'_>) {
        let unbounded = if leaf.shape().unbounded { UNBOUNDED } else { 0 };
        let life = u64::from(generation(leaf.version())) | unbounded;
        let (words, (chunk, at)) = (leaf.low().len(), self.finger);
        let known = self.chunks.get(chunk).and_then(|chunk| chunk.get(at..at + self.stride()));
        let is_known = known.is_some_and(|record| {
            record[2 * words..] == [ptr.word(), life]
                && record[..words] == *leaf.low()
                && (unbounded != 0 || record[words..2 * words] == *leaf.high())
        });
        if !is_known {
            self.learn_new(ptr, leaf, life);
        }
    }

    #[cold]
    fn learn_new(&mut self, ptr: GlobalPtr, leaf: &LeafView<'_>, life: u64) {
        let low = leaf.low();
        self.key_words = low.len();
        let stride = self.stride();
        let (chunk, at) = self.place_for(low);
        let records = &mut self.chunks[chunk];
        let tail = [ptr.word(), life];
        let record = low.iter().chain(leaf.high()).chain(&tail).copied();
        if records[at..].starts_with(low) {
            records[at..at + stride].iter_mut().zip(record).for_each(|(word, new)| *word = new);
            self.finger = (chunk, at);
            return;
        }
        records.splice(at..at, record);
        self.leaf_count += 1;
        self.finger = (chunk, at);
        if at == 0 {
            self.renew_first(chunk);
        }
        if self.chunks[chunk].len() > CHUNK_LEAVES_MAX * stride {
            self.split_chunk(chunk);
        }
        if self.leaf_count > self.leaf_count_max {
            self.evict(&Key::from_words(low));
        }
    }

    /// The position of the record that begins with `low`, or where to insert it.
    fn place_for(&mut self, low: &[u64]) -> (usize, usize) {
        if self.chunks.is_empty() {
            self.chunks.push(Vec::new());
            self.firsts.extend_from_slice(low);
        }
        let chunk = count_to(&self.firsts, self.key_words, low).saturating_sub(1);
        (chunk, count_below(&self.chunks[chunk], self.stride(), low) * self.stride())
    }

    fn renew_first(&mut self, chunk: usize) {
        let words = self.key_words;
        self.firsts[chunk * words..][..words].copy_from_slice(&self.chunks[chunk][..words]);
    }

    fn split_chunk(&mut self, chunk: usize) {
        let middle = CHUNK_LEAVES_MAX / 2 * self.stride();
        let right = self.chunks[chunk].split_off(middle);
        let at = (chunk + 1) * self.key_words;
        self.firsts.splice(at..at, right[..self.key_words].iter().copied());
        self.chunks.insert(chunk + 1, right);
        if self.finger.0 == chunk && self.finger.1 >= middle {
            self.finger = (chunk + 1, self.finger.1 - middle);
        }
    }

    fn remove(&mut self, (chunk, at): (usize, usize)) {
        let (stride, words) = (self.stride(), self.key_words);
        self.chunks[chunk].drain(at..at + stride);
        self.leaf_count -= 1;
        if self.chunks[chunk].is_empty() {
            self.chunks.remove(chunk);
            self.firsts.drain(chunk * words..(chunk + 1) * words);
        } else if at == 0 {
            self.renew_first(chunk);
        }
    }

    /// Removes the record that leads from `key` to `ptr`.
    pub(super) fn forget(&mut self, key: &[u64], ptr: GlobalPtr) {
        // The finger may point to an outdated leaf that overlaps the one that the search would
        // find.
        self.finger = NOWHERE;
        let Some((chunk, at)) = self.position(key) else { return };
        if self.chunks[chunk][at + 2 * self.key_words] == ptr.word() {
            self.remove((chunk, at));
        }
    }

    /// Evicts records in key order: no bookkeeping on the warm path, and unused leaves go soon.
    fn evict(&mut self, kept: &Key) {
        let behind = self.hand.and_then(|hand| self.position(hand.words()));
        let mut at = behind.map_or((0, 0), |at| self.after(at));
        if self.chunks[at.0][at.1..].starts_with(kept.words()) {
            at = self.after(at);
        }
        let low = &self.chunks[at.0][at.1..][..self.key_words];
        if low == kept.words() {
            return;
        }
        self.hand = Some(Key::from_words(low));
        self.remove(at);
    }

    /// The record after the one at `at`; the first follows the last.
    fn after(&self, (chunk, at): (usize, usize)) -> (usize, usize) {
        match at + self.stride() {
            next if next < self.chunks[chunk].len() => (chunk, next),
            _ if chunk + 1 < self.chunks.len() => (chunk + 1, 0),
            _ => (0, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::RegionId;
    use layout::leaf::{LeafLayout, Shape};
    use proptest::prelude::*;

    const LAYOUT: LeafLayout =
        LeafLayout { key_words: 1, value_words: 1, entries: 4, checksummed: false };

    fn leaf(low: u64, high: u64) -> [u64; 15] {
        let unbounded = high == u64::MAX;
        let shape = Shape { unbounded, ..Shape::default() }.word();
        [0, 1 << 32, 0, 0, shape, low, high, 0, 0, 0, 0, 0, 0, 0, 0]
    }

    fn ptr(number: u64) -> GlobalPtr {
        GlobalPtr::new(RegionId(0), 4096 + 8 * number)
    }

    #[test]
    fn keys_lead_to_the_leaf_between_whose_fences_they_lie() {
        let mut cache = LeafCache::default();
        cache.learn(ptr(1), &LeafView::new(LAYOUT, &leaf(10, 20)));
        cache.learn(ptr(2), &LeafView::new(LAYOUT, &leaf(30, u64::MAX)));
        let mut found = |key: u64| cache.find(&[key]).map(|place| place.ptr);
        assert_eq!(
            (found(9), found(10), found(19), found(20)),
            (None, Some(ptr(1)), Some(ptr(1)), None)
        );
        assert_eq!((found(30), found(u64::MAX)), (Some(ptr(2)), Some(ptr(2))));
        cache.learn(ptr(1), &LeafView::new(LAYOUT, &leaf(10, 15)));
        assert_eq!(cache.find(&[15]), None);
        cache.forget(&[12], ptr(1));
        assert_eq!((cache.find(&[12]), cache.leaf_count()), (None, 1));
    }

    #[test]
    fn the_oldest_victims_go_first_and_never_the_newcomer() {
        let mut cache = LeafCache::new(3);
        for number in 0..50 {
            let low = number * 7 % 50 * 10;
            cache.learn(ptr(number), &LeafView::new(LAYOUT, &leaf(low, low + 10)));
            assert!(cache.leaf_count() <= 3);
            cache.finger = NOWHERE;
            assert_eq!(cache.find(&[low]).map(|place| place.ptr), Some(ptr(number)));
        }
    }

    proptest! {
        #[test]
        fn many_leaves_are_kept_apart(
            steps in prop::collection::vec((0_u64..400, any::<bool>()), 0..600),
        ) {
            let mut cache = LeafCache::default();
            let mut model = std::collections::BTreeMap::new();
            for (number, is_learned) in steps {
                if is_learned {
                    cache.learn(ptr(number), &LeafView::new(LAYOUT, &leaf(10 * number, 10 * number + 5)));
                    model.insert(number, ());
                } else {
                    cache.forget(&[10 * number + 2], ptr(number));
                    model.remove(&number);
                }
                prop_assert_eq!(cache.leaf_count(), model.len());
            }
            for number in 0..400 {
                let found = cache.find(&[10 * number + 4]).map(|place| place.ptr);
                prop_assert_eq!(found, model.contains_key(&number).then(|| ptr(number)));
                prop_assert_eq!(cache.find(&[10 * number + 5]), None);
            }
        }
    }
}
