//! Rewrites a leaf that the caller has locked.

use super::image::{Head, ImageBuilder, post_image_from};
use super::view::{LeafView, is_below, next_version};
use super::{LeafRead, Tree};
use fabric::{Batch, Span};
use layout::leaf;

/// A new entry of a leaf: its key in the arena, and its value.
pub type LeafEntry = (Span, u64);

/// Puts `inserts` (sorted by key, strictly rising) into the image of `leaf` in the arena, and
/// pushes its write. A key that the leaf already has gets the new value.
///
/// The caller holds the leaf's lock with the image proved current, has ensured that there is room,
/// and pushes the write of the insert word afterwards.
pub fn write_leaf_with(batch: &mut Batch, tree: &Tree, leaf: &LeafRead, inserts: &[LeafEntry]) {
    let layout = tree.layout;
    let view = leaf.view(batch, tree);
    assert!(view.is_live(0), "only a leaf in use is rewritten");
    let ends = [inserts.first(), inserts.last()];
    assert!(
        ends.into_iter().flatten().all(|&(key, _)| view.covers(batch.words(key))),
        "a leaf holds its own keys only"
    );
    debug_assert!(inserts.windows(2).all(|pair| batch.words(pair[0].0) < batch.words(pair[1].0)));
    let version = next_version(view.version());
    let unchanged = match common_gap(batch, &view, inserts) {
        Some(index) => put_side_by_side(batch, tree, leaf, index, inserts),
        None => put_one_by_one(batch, tree, leaf, inserts),
    };
    batch.set_word(leaf.span.at + leaf::VERSION, version);
    debug_assert!(leaf.view(batch, tree).is_in_order());
    post_image_from(batch, layout, leaf.ptr, leaf.span, layout.entry(unchanged));
}

/// The index for all of `inserts`, if they are new and no entry lies between them.
fn common_gap(batch: &Batch, view: &LeafView<'_>, inserts: &[LeafEntry]) -> Option<u32> {
    let (&(first, _), &(last, _)) = (inserts.first()?, inserts.last()?);
    let Err(index) = view.search(batch.words(first)) else { return None };
    let is_before = index == view.count() || is_below(batch.words(last), view.key(index));
    is_before.then_some(index)
}

/// Puts new entries at `index`, and returns it.
fn put_side_by_side(
    batch: &mut Batch,
    tree: &Tree,
    leaf: &LeafRead,
    index: u32,
    inserts: &[LeafEntry],
) -> u32 {
    let (layout, added) = (tree.layout, inserts.len() as u32);
    let mut shape = leaf.view(batch, tree).shape();
    assert!(shape.count + added <= layout.entries, "the caller has made room");
    let mut at = leaf.span.at + layout.entry(index);
    let tail = Span { at, words: (shape.count - index) * layout.entry_words() };
    batch.shift(tail, at + added * layout.entry_words());
    for &(key, value) in inserts {
        batch.shift(key, at);
        batch.set_word(at + layout.key_words, value);
        at += layout.entry_words();
    }
    shape.count += added;
    batch.set_word(leaf.span.at + leaf::SHAPE, shape.word());
    index
}

/// Puts each entry at its position, and returns the first index that changes.
fn put_one_by_one(batch: &mut Batch, tree: &Tree, leaf: &LeafRead, inserts: &[LeafEntry]) -> u32 {
    let layout = tree.layout;
    let mut shape = leaf.view(batch, tree).shape();
    let mut unchanged = shape.count;
    for &(key, value) in inserts {
        let found = leaf.view(batch, tree).search(batch.words(key));
        let (Ok(index) | Err(index)) = found;
        let at = leaf.span.at + layout.entry(index);
        if found.is_err() {
            assert!(shape.count < layout.entries, "the caller has made room");
            let tail = Span { at, words: (shape.count - index) * layout.entry_words() };
            batch.shift(tail, at + layout.entry_words());
            batch.shift(key, at);
            shape.count += 1;
            batch.set_word(leaf.span.at + leaf::SHAPE, shape.word());
        }
        batch.set_word(at + layout.key_words, value);
        unchanged = unchanged.min(index);
    }
    unchanged
}

/// Builds the image of `leaf` without the entries at the indices in `remove` (rising), raises the
/// leaf's stamp of collected entries to at least `collected`, and pushes its write. Readers see
/// both at once: a reader that misses an entry finds the stamp that explains it. Locks as for
/// [`write_leaf_with`].
pub fn write_leaf_without(
    batch: &mut Batch,
    tree: &Tree,
    leaf: &LeafRead,
    remove: &[u32],
    collected: u64,
) -> Span {
    assert!(remove.windows(2).all(|pair| pair[0] < pair[1]));
    let view = leaf.view(batch, tree);
    assert!(view.is_live(0), "only a leaf in use is rewritten");
    let (mut head, count) = (Head::of(&view), view.count());
    assert!(remove.last().is_none_or(|&index| index < count));
    let mut image = ImageBuilder::start(batch, tree.layout);
    let mut copied = 0;
    for &index in remove {
        image.copy(batch, leaf.span, copied, index);
        copied = index + 1;
    }
    image.copy(batch, leaf.span, copied, count);
    head.version = next_version(head.version);
    head.collected = head.collected.max(collected);
    let span = image.finish(batch, &head);
    let unchanged = remove.first().copied().unwrap_or(count);
    post_image_from(batch, tree.layout, leaf.ptr, span, tree.layout.entry(unchanged));
    span
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::Verb;
    use layout::leaf::{LeafLayout, Shape};
    use layout::{GlobalPtr, NodeId, RegionId, VersionWord};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const LAYOUT: LeafLayout =
        LeafLayout { key_words: 2, value_words: 1, entries: 12, checksummed: false };

    /// An unbounded leaf with these entries in a batch's arena.
    fn leaf_with(batch: &mut Batch, entries: &BTreeMap<u64, u64>) -> LeafRead {
        let mut words = vec![0; LAYOUT.words() as usize];
        let shape = Shape { count: entries.len() as u32, unbounded: true, ..Shape::default() };
        words[leaf::SHAPE as usize] = shape.word();
        words[leaf::VERSION as usize] = 1;
        for (index, (&key, &value)) in entries.iter().enumerate() {
            let at = LAYOUT.entry(index as u32) as usize;
            words[at..at + 3].copy_from_slice(&[7, key, value]);
        }
        let ptr = GlobalPtr::new(RegionId(0), 4096);
        LeafRead { ptr, span: batch.put(&words), insert: VersionWord::NONE }
    }

    proptest! {
        #[test]
        fn entries_go_where_they_belong_and_what_changes_is_written(
            old in prop::collection::btree_map(0_u64..20, 0_u64..100, 0..8),
            new in prop::collection::btree_map(0_u64..20, 100_u64..200, 1..5),
        ) {
            let tree = Tree { root: GlobalPtr::NULL, node: NodeId(0), layout: LAYOUT };
            let mut batch = Batch::new();
            let read = leaf_with(&mut batch, &old);
            let before = batch.words(read.span).to_vec();
            let inserts: Vec<LeafEntry> =
                new.iter().map(|(&key, &value)| (batch.put(&[7, key]), value)).collect();
            write_leaf_with(&mut batch, &tree, &read, &inserts);
            let mut expected = old.clone();
            expected.extend(&new);
            let view = read.view(&batch, &tree);
            let found = (0..view.count()).map(|n| (view.key(n)[1], view.value(n)[0]));
            prop_assert!(found.eq(expected.iter().map(|(&key, &value)| (key, value))));
            let Some(&Verb::WriteRow { first, .. }) = batch.verbs().last() else {
                return Err(TestCaseError::fail("the leaf is written"));
            };
            let (first, entries) = (first as usize, LAYOUT.entry(0) as usize);
            prop_assert_eq!(&batch.words(read.span)[entries..first], &before[entries..first]);
        }
    }
}
