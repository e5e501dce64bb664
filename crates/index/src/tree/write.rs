//! Rewriting a leaf that the caller has locked.

use super::image::{Head, ImageBuilder, post_image_from};
use super::view::next_version;
use super::{LeafRead, Tree};
use fabric::{Batch, Span};
use layout::Key;

/// Builds the image of `leaf` with `inserts` (sorted by key, strictly rising) and pushes its write.
/// A key that stands in the leaf already gets the new value. Returns where the new image stands in
/// the arena.
///
/// The caller holds the leaf's lock with the image proved current, made sure that there is room,
/// and pushes the write of the insert word afterwards.
pub fn write_leaf_with<V: AsRef<[u64]>>(
    batch: &mut Batch,
    tree: &Tree,
    leaf: &LeafRead,
    inserts: &[(Key, V)],
) -> Span {
    debug_assert!(inserts.windows(2).all(|pair| pair[0].0 < pair[1].0));
    let view = leaf.view(batch, tree);
    assert!(view.is_live(0), "only a leaf in use is rewritten");
    assert!(
        inserts.iter().all(|(key, _)| view.covers(key.words())),
        "a leaf holds its own keys only"
    );
    let (mut head, count) = (Head::of(&view), view.count());
    let mut image = ImageBuilder::start(batch, tree.layout);
    let (mut copied, mut unchanged) = (0, u32::MAX);
    for (key, value) in inserts {
        let found = leaf.view(batch, tree).search(key.words());
        let (before, after) = match found {
            Ok(index) => (index, index + 1),
            Err(index) => (index, index),
        };
        unchanged = unchanged.min(before);
        image.copy(batch, leaf.span, copied, before);
        image.push(batch, key.words(), value.as_ref());
        copied = after;
    }
    image.copy(batch, leaf.span, copied, count);
    head.version = next_version(head.version);
    let span = image.finish(batch, &head);
    post_image_from(batch, tree.layout, leaf.ptr, span, tree.layout.entry(unchanged.min(count)));
    span
}

/// Builds the image of `leaf` without the entries at the indices in `remove` (rising), raises the
/// leaf's stamp of collected entries to at least `collected`, and pushes its write. Readers see
/// both at once: who misses an entry finds the stamp that says why. Locks as for
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
