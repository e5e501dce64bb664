//! Where leaves were last seen: the compute server's shortcut past the inner nodes.

use super::view::{LeafView, generation, is_below};
use layout::{GlobalPtr, Key};
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

/// Leaves that a cache keeps unless told otherwise; about 12 MiB.
const LEAF_COUNT_MAX: usize = 1 << 16;

/// What one endpoint remembers of one tree's leaves. Plain private memory: it may be outdated at
/// any time, so whoever reads a leaf by it compares generation and fences with what was read.
#[derive(Debug)]
pub struct LeafCache {
    leaves: BTreeMap<Key, Place>,
    leaf_count_max: usize,
    /// The leaf used last; runs of neighbouring keys never search the map.
    finger: Option<(Key, Place)>,
    /// The entry evicted last; the next victim stands behind it.
    hand: Option<Key>,
}

/// A leaf as it was last seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub ptr: GlobalPtr,
    /// Which life of that memory.
    pub generation: u32,
    /// `None` for the rightmost leaf.
    high: Option<Key>,
}

impl Place {
    #[inline]
    fn ends_before(&self, key: &[u64]) -> bool {
        self.high.as_ref().is_some_and(|high| !is_below(key, high.words()))
    }
}

impl Default for LeafCache {
    fn default() -> Self {
        Self::new(LEAF_COUNT_MAX)
    }
}

impl LeafCache {
    /// An empty cache for at most `leaf_count_max` leaves.
    pub fn new(leaf_count_max: usize) -> Self {
        assert!(leaf_count_max > 0);
        Self { leaves: BTreeMap::new(), leaf_count_max, finger: None, hand: None }
    }

    /// Leaves remembered.
    pub fn leaf_count(&self) -> usize {
        self.leaves.len()
    }

    /// The leaf that held `key` when it was last seen.
    #[inline]
    pub fn leaf_of(&mut self, key: &[u64]) -> Option<GlobalPtr> {
        self.find(key).map(|place| place.ptr)
    }

    /// Forgets everything: the tree was dropped.
    pub fn clear(&mut self) {
        self.leaves.clear();
        self.finger = None;
        self.hand = None;
    }

    /// The leaf that covered `key` when it was last seen.
    #[inline]
    pub(super) fn find(&mut self, key: &[u64]) -> Option<Place> {
        let covers =
            |(low, place): &&(Key, Place)| !is_below(key, low.words()) && !place.ends_before(key);
        if let Some((_, place)) = self.finger.as_ref().filter(covers) {
            return Some(*place);
        }
        let bounds = (Unbounded, Included(Key::from_words(key)));
        let (low, place) = self.leaves.range(bounds).next_back()?;
        if place.ends_before(key) {
            return None;
        }
        self.finger = Some((*low, *place));
        Some(*place)
    }

    /// Remembers a leaf that was just read.
    #[inline]
    pub(super) fn learn(&mut self, ptr: GlobalPtr, leaf: &LeafView<'_>) {
        if let Some((low, place)) = &self.finger {
            let same_place = place.ptr == ptr && place.generation == generation(leaf.version());
            let same_high = match &place.high {
                Some(high) => !leaf.shape().unbounded && high.words() == leaf.high(),
                None => leaf.shape().unbounded,
            };
            if same_place && same_high && low.words() == leaf.low() {
                return;
            }
        }
        self.learn_new(ptr, leaf);
    }

    #[cold]
    fn learn_new(&mut self, ptr: GlobalPtr, leaf: &LeafView<'_>) {
        let low = Key::from_words(leaf.low());
        let place = Place { ptr, generation: generation(leaf.version()), high: leaf.high_key() };
        self.finger = Some((low, place));
        if self.leaves.insert(low, place).is_none() && self.leaves.len() > self.leaf_count_max {
            self.evict(&low);
        }
    }

    /// Forgets whatever leads from `key` to `ptr`.
    pub(super) fn forget(&mut self, key: &[u64], ptr: GlobalPtr) {
        if self.finger.as_ref().is_some_and(|(_, place)| place.ptr == ptr) {
            self.finger = None;
        }
        let bounds = (Unbounded, Included(Key::from_words(key)));
        let found = self.leaves.range(bounds).next_back();
        if let Some(low) = found.filter(|(_, place)| place.ptr == ptr).map(|(low, _)| *low) {
            self.leaves.remove(&low);
        }
    }

    /// Sweeps over the keys in turn: no bookkeeping on the warm path, and no leaf stays unused for
    /// long.
    fn evict(&mut self, kept: &Key) {
        let behind = self.hand.and_then(|hand| {
            let mut behind = self.leaves.range((Excluded(hand), Unbounded));
            behind.find(|(low, _)| *low != kept).map(|(low, _)| *low)
        });
        let victim = behind.or_else(|| self.leaves.keys().find(|low| *low != kept).copied());
        if let Some(victim) = victim {
            self.leaves.remove(&victim);
            self.hand = Some(victim);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::RegionId;
    use layout::leaf::{LeafLayout, Shape};

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
            cache.finger = None;
            assert_eq!(cache.find(&[low]).map(|place| place.ptr), Some(ptr(number)));
        }
    }
}
