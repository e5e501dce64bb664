//! Reads a node in the arena: fences, entries, search.

use super::order::{count_below, wide};
use layout::leaf::{self, LeafLayout, Shape};
use layout::{GlobalPtr, Key, VersionWord};

/// A node in an arena, insert word included. Leaves and inner nodes have the same shape.
#[derive(Clone, Copy, Debug)]
pub struct LeafView<'a> {
    layout: LeafLayout,
    words: &'a [u64],
}

impl<'a> LeafView<'a> {
    /// Interprets `words` as a node of shape `layout`.
    #[inline]
    pub fn new(layout: LeafLayout, words: &'a [u64]) -> Self {
        assert!(words.len() == layout.words() as usize);
        Self { layout, words }
    }

    #[inline]
    fn word(&self, index: u32) -> u64 {
        self.words[index as usize]
    }

    #[inline]
    fn slice(&self, at: u32, words: u32) -> &'a [u64] {
        &self.words[at as usize..(at + words) as usize]
    }

    /// The insert word that was read with the node.
    #[inline]
    pub fn insert_word(&self) -> VersionWord {
        VersionWord::from_word(self.word(leaf::INSERT))
    }

    /// Counts the rewrites of the node; see [`generation`] for its upper half.
    #[inline]
    pub fn version(&self) -> u64 {
        self.word(leaf::VERSION)
    }

    /// Whether the node was being written while it was read.
    #[inline]
    pub fn is_torn(&self) -> bool {
        self.version() == VersionWord::TORN.word()
    }

    /// The stamp up to which entries were collected here.
    #[inline]
    pub fn collected(&self) -> u64 {
        self.word(leaf::COLLECTED)
    }

    /// The right neighbour, or null.
    #[inline]
    pub fn next(&self) -> GlobalPtr {
        GlobalPtr::from_word(self.word(leaf::NEXT))
    }

    /// Entry count, level and flags.
    #[inline]
    pub fn shape(&self) -> Shape {
        Shape::from_word(self.word(leaf::SHAPE))
    }

    /// The smallest key the node may hold.
    #[inline]
    pub fn low(&self) -> &'a [u64] {
        self.slice(leaf::LOW, self.layout.key_words)
    }

    /// The smallest key the node may not hold, unless it is unbounded.
    #[inline]
    pub fn high(&self) -> &'a [u64] {
        self.slice(self.layout.high(), self.layout.key_words)
    }

    /// The upper fence as a key, or `None` for the rightmost node.
    #[inline]
    pub fn high_key(&self) -> Option<Key> {
        (!self.shape().unbounded).then(|| Key::from_words(self.high()))
    }

    #[inline]
    pub fn count(&self) -> u32 {
        self.shape().count
    }

    /// The key of entry `index`.
    #[inline]
    pub fn key(&self, index: u32) -> &'a [u64] {
        debug_assert!(index < self.count());
        self.slice(self.layout.entry(index), self.layout.key_words)
    }

    /// The value of entry `index`.
    #[inline]
    pub fn value(&self, index: u32) -> &'a [u64] {
        debug_assert!(index < self.count());
        self.slice(self.layout.entry(index) + self.layout.key_words, self.layout.value_words)
    }

    /// The child of entry `index` of an inner node.
    #[inline]
    pub(super) fn child(&self, index: u32) -> GlobalPtr {
        GlobalPtr::from_word(self.value(index)[0])
    }

    /// The first entry whose key is not below `key`; the count if there is none.
    #[inline]
    pub fn lower_bound(&self, key: &[u64]) -> u32 {
        debug_assert!(key.len() == self.layout.key_words as usize);
        let (start, end) = (self.layout.entry(0), self.layout.entry(self.count()));
        let entries = &self.words[start as usize..end as usize];
        count_below(entries, self.layout.entry_words() as usize, key) as u32
    }

    /// The index of the entry with `key`, or where to insert it.
    #[inline]
    pub fn search(&self, key: &[u64]) -> Result<u32, u32> {
        let index = self.lower_bound(key);
        if index < self.count() && self.key(index) == key { Ok(index) } else { Err(index) }
    }

    /// As [`Self::search`], trying position `near` first: keys are often searched in order.
    #[inline]
    pub fn search_near(&self, near: u32, key: &[u64]) -> Result<u32, u32> {
        let (near, count) = (near.min(self.count()), self.count());
        if near > 0 && !is_below(self.key(near - 1), key) {
            return self.search(key);
        }
        if near == count || is_below(key, self.key(near)) {
            return Err(near);
        }
        if self.key(near) == key { Ok(near) } else { self.search(key) }
    }

    /// Whether `key` lies between the node's fences.
    #[inline]
    pub fn covers(&self, key: &[u64]) -> bool {
        !is_below(key, self.low()) && !self.ends_before(key)
    }

    /// Whether `key` lies beyond the node's upper fence.
    #[inline]
    pub fn ends_before(&self, key: &[u64]) -> bool {
        !self.shape().unbounded && !is_below(key, self.high())
    }

    /// Whether the keys rise strictly and lie between the fences. For assertions: it reads the
    /// whole node.
    pub fn is_in_order(&self) -> bool {
        let mut keys = (0..self.count()).map(|index| self.key(index));
        let is_rising =
            (1..self.count()).all(|index| is_below(self.key(index - 1), self.key(index)));
        is_rising && keys.all(|key| self.covers(key))
    }

    /// Whether the node is untorn, in use, on `level`, and not overfull: a reader checks this
    /// before the fences. Any other node was absorbed, reused, or is being written.
    #[inline]
    pub fn is_live(&self, level: u8) -> bool {
        let shape = self.shape();
        !self.is_torn() && !shape.dead && shape.level == level && shape.count <= self.layout.entries
    }
}

/// Whether key `a` is smaller than key `b`.
#[inline]
pub(super) fn is_below(a: &[u64], b: &[u64]) -> bool {
    debug_assert!(a.len() == b.len());
    if let ([a, c], [b, d]) = (a, b) {
        return wide(*a, *c) < wide(*b, *d);
    }
    for (left, right) in a.iter().zip(b) {
        if left != right {
            return left < right;
        }
    }
    false
}

/// Low bits of a version, which count the rewrites of one generation of a node.
const GENERATION_SHIFT: u32 = 32;

/// The generation of a node's memory: the upper half of the version. A cached pointer is valid for
/// one generation only; fences alone do not show that, as a new leaf is written before it is
/// linked.
#[inline]
pub fn generation(version: u64) -> u32 {
    (version >> GENERATION_SHIFT) as u32
}

/// Flags of version words, which a rewrite counter never has.
const FLAGS: u64 = 3 << 62;
const _: () = assert!(VersionWord::TORN.word() & FLAGS != 0);

/// The first version of the next generation of memory whose version word holds `found`, whatever
/// that is.
#[inline]
pub(super) fn next_life(found: u64) -> u64 {
    (((found & !FLAGS) >> GENERATION_SHIFT) + 1) << GENERATION_SHIFT & !FLAGS
}

#[inline]
pub(super) fn next_version(version: u64) -> u64 {
    (version + 1) & !FLAGS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_rise_over_lives_and_never_look_torn() {
        assert_eq!(generation(next_life(0)), 1);
        let used = next_version(next_version(next_life(0)));
        assert!(next_life(used) > used && generation(next_life(used)) == 2);
        for word in [VersionWord::TORN.word(), u64::MAX, !FLAGS] {
            assert!(next_life(word) & FLAGS == 0 && next_version(word & !FLAGS) & FLAGS == 0);
        }
    }

    #[test]
    fn search_finds_entries_and_gaps() {
        let layout = LeafLayout { key_words: 1, value_words: 1, entries: 4, checksummed: false };
        let shape = Shape { count: 2, ..Shape::default() }.word();
        let words = [0, 1, 0, 0, shape, 5, 50, 10, 1, 20, 2, 0, 0, 0, 0];
        let view = LeafView::new(layout, &words);
        assert_eq!((view.search(&[10]), view.search(&[20])), (Ok(0), Ok(1)));
        assert_eq!(
            (view.search(&[5]), view.search(&[15]), view.search(&[49])),
            (Err(0), Err(1), Err(2))
        );
        for (near, key) in (0..5).flat_map(|near| (5..50).map(move |key| (near, key))) {
            assert_eq!(view.search_near(near, &[key]), view.search(&[key]), "{near} {key}");
        }
        assert!(
            view.covers(&[5]) && view.covers(&[49]) && !view.covers(&[4]) && !view.covers(&[50])
        );
    }
}
