//! Decides where to split a leaf: a pure function of its entries and of pending keys.

use super::view::LeafView;
use layout::Key;
use std::ops::Range;

/// One leaf after the split.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// Its low fence; the first part keeps that of the leaf.
    pub low: Key,
    /// Its entries of the old leaf.
    pub entries: Range<u32>,
}

/// Fill of a leaf in percent if a split in the middle needs more than two leaves.
const FILL_PERCENT: usize = 90;

/// A key of the leaf or a pending one, in order.
#[derive(Clone, Copy)]
enum Item {
    Old(u32),
    New(usize),
}

/// The parts of a split after which `pending` (sorted) fits; `None` if it fits without a split.
///
/// - *Append*: all new keys lie in one gap, and the gap is at the end, or gets several keys at
///   once, or its keys rise by equal steps (the orders of one district, say, while the next
///   district's follow). The part left of the gap's end is packed full, because no further keys
///   will come there; the part right of it gets its own leaves.
/// - *Middle* otherwise: all parts get equally many keys, old and new.
pub(super) fn plan(leaf: &LeafView<'_>, capacity: u32, pending: &[Key]) -> Option<Vec<Part>> {
    let items = merge(leaf, pending);
    let capacity = capacity as usize;
    if items.len() <= capacity {
        return None;
    }
    let ends = match append_end(leaf, pending, &items) {
        Some(end) => append_ends(items.len(), end, capacity),
        None => middle_ends(items.len(), capacity),
    };
    Some(parts(leaf, pending, &items, &ends))
}

fn merge(leaf: &LeafView<'_>, pending: &[Key]) -> Vec<Item> {
    let count = leaf.count();
    let mut items = Vec::with_capacity(count as usize + pending.len());
    let mut old = 0;
    for (index, key) in pending.iter().enumerate() {
        let repeated = index > 0 && pending[index - 1] == *key;
        let (Ok(bound) | Err(bound)) = leaf.search(key.words());
        items.extend((old..bound).map(Item::Old));
        old = bound;
        if !repeated && leaf.search(key.words()).is_err() {
            items.push(Item::New(index));
        }
    }
    items.extend((old..count).map(Item::Old));
    items
}

/// The index after the last new key, if the new keys are an append.
fn append_end(leaf: &LeafView<'_>, pending: &[Key], items: &[Item]) -> Option<usize> {
    let is_new = |item: &Item| matches!(item, Item::New(_));
    let first = items.iter().position(is_new)?;
    let end = items.iter().rposition(is_new)? + 1;
    let one_gap = items[first..end].iter().all(is_new);
    let at_end = end == items.len();
    let several = first > 0 && end - first > 1;
    (one_gap && (at_end || several || rises_evenly(leaf, pending, &items[..end]))).then_some(end)
}

/// Whether the differences of the last three keys are equal.
fn rises_evenly(leaf: &LeafView<'_>, pending: &[Key], items: &[Item]) -> bool {
    let [.., a, b, c] = items else { return false };
    let words = |item: &Item| match *item {
        Item::Old(index) => leaf.key(index),
        Item::New(index) => pending[index].words(),
    };
    distance(words(a), words(b)) == distance(words(b), words(c))
}

/// `b - a`, as a number with as many words.
fn distance(a: &[u64], b: &[u64]) -> Key {
    let mut difference = [0; layout::KEY_WORDS_MAX];
    let mut borrow = false;
    for index in (0..a.len()).rev() {
        let (value, first) = b[index].overflowing_sub(a[index]);
        let (value, second) = value.overflowing_sub(u64::from(borrow));
        difference[index] = value;
        borrow = first || second;
    }
    Key::from_words(&difference[..a.len()])
}

fn append_ends(count: usize, end: usize, capacity: usize) -> Vec<usize> {
    let mut ends: Vec<usize> = (capacity..end).step_by(capacity).collect();
    ends.push(end);
    if end < count {
        ends.push(count);
    }
    ends
}

fn middle_ends(count: usize, capacity: usize) -> Vec<usize> {
    let part_count = (count * 100).div_ceil(capacity * FILL_PERCENT).max(2);
    (1..=part_count).map(|part| count * part / part_count).collect()
}

fn parts(leaf: &LeafView<'_>, pending: &[Key], items: &[Item], ends: &[usize]) -> Vec<Part> {
    let key = |item: &Item| match *item {
        Item::Old(index) => Key::from_words(leaf.key(index)),
        Item::New(index) => pending[index],
    };
    let mut start = 0;
    let mut old = 0;
    let mut parts = Vec::with_capacity(ends.len());
    for &end in ends {
        assert!(start < end, "every part gets a key");
        let low = if start == 0 { Key::from_words(leaf.low()) } else { key(&items[start]) };
        let old_count =
            items[start..end].iter().filter(|item| matches!(item, Item::Old(_))).count();
        let entries = old..old + old_count as u32;
        old = entries.end;
        parts.push(Part { low, entries });
        start = end;
    }
    assert!(old == leaf.count(), "every entry goes somewhere");
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::leaf::{LeafLayout, Shape};
    use proptest::prelude::*;

    const LAYOUT: LeafLayout =
        LeafLayout { key_words: 1, value_words: 1, entries: 8, checksummed: false };

    fn node(keys: &[u64]) -> Vec<u64> {
        let shape = Shape { count: keys.len() as u32, unbounded: true, ..Shape::default() };
        let mut words = vec![0, 1, 0, 0, shape.word(), 0, u64::MAX];
        keys.iter().for_each(|&key| words.extend([key, 0]));
        words.resize(LAYOUT.words() as usize, 0);
        words
    }

    fn split(old: &[u64], new: &[u64]) -> Option<Vec<(u64, Range<u32>)>> {
        let words = node(old);
        let pending: Vec<Key> = new.iter().map(|&key| Key::from_words(&[key])).collect();
        let parts = plan(&LeafView::new(LAYOUT, &words), LAYOUT.entries, &pending)?;
        Some(parts.into_iter().map(|part| (part.low.words()[0], part.entries)).collect())
    }

    #[test]
    fn nothing_is_split_while_there_is_room() {
        assert_eq!(split(&[1, 2, 3, 4, 5, 6, 7], &[9]), None);
        assert_eq!(split(&[1, 2, 3, 4, 5, 6, 7, 8], &[3, 8]), None);
        assert_eq!(split(&[1, 2, 3, 4, 5, 6, 7, 8], &[]), None);
    }

    #[test]
    fn appends_leave_full_leaves_behind() {
        let full = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(split(&full, &[9]), Some(vec![(0, 0..8), (9, 8..8)]));
        let many: Vec<u64> = (10..30).collect();
        let parts = vec![(0, 0..4), (14, 4..4), (22, 4..4)];
        assert_eq!(split(&[1, 2, 3, 4], &many[..18]), Some(parts));
    }

    #[test]
    fn an_append_point_inside_a_leaf_is_recognised() {
        let old = [10, 11, 12, 13, 500, 501, 502, 503];
        assert_eq!(split(&old, &[14]), Some(vec![(0, 0..4), (500, 4..8)]));
        assert_eq!(split(&old, &[20, 21]), Some(vec![(0, 0..4), (500, 4..8)]));
        assert_eq!(split(&old, &[90]), Some(vec![(0, 0..4), (90, 4..8)]));
        assert_eq!(split(&[1, 5, 9, 40, 41, 42, 43, 44], &[2]), Some(vec![(0, 0..3), (40, 3..8)]));
    }

    proptest! {
        #[test]
        fn parts_have_room_for_all_and_meet(
            old in prop::collection::btree_set(0_u64..200, 0..=8),
            new in prop::collection::btree_set(0_u64..200, 0..60),
        ) {
            let old: Vec<u64> = old.into_iter().collect();
            let new: Vec<u64> = new.into_iter().collect();
            let all: std::collections::BTreeSet<u64> = old.iter().chain(&new).copied().collect();
            let Some(parts) = split(&old, &new) else {
                prop_assert!(all.len() <= 8);
                return Ok(());
            };
            prop_assert!(parts.len() >= 2 && parts[0].0 == 0 && parts[0].1.start == 0);
            for (index, (low, entries)) in parts.iter().enumerate() {
                let high = parts.get(index + 1).map_or(u64::MAX, |(low, _)| *low);
                prop_assert!(*low < high);
                prop_assert!(all.range(low..&high).count() <= 8);
                let own = old.iter().filter(|key| (*low..high).contains(key)).count();
                prop_assert_eq!(own, entries.len());
                let next = parts.get(index + 1).map(|(_, entries)| entries.start);
                prop_assert_eq!(entries.end, next.unwrap_or(old.len() as u32));
            }
        }
    }
}
