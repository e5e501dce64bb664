//! Rewriting a leaf that the caller has locked.

use super::image::{Head, ImageBuilder, post_image_from};
use super::view::next_version;
use super::{LeafRead, Tree};
use fabric::{Batch, Span};
use layout::leaf;

/// An entry to be put into a leaf: its key in the arena, and its value.
pub type LeafEntry = (Span, u64);

/// Puts `inserts` (sorted by key, strictly rising) into the image of `leaf` that stands in the arena, and
/// pushes its write. A key that stands in the leaf already gets the new value.
///
/// The caller holds the leaf's lock with the image proved current, made sure that there is room,
/// and pushes the write of the insert word afterwards.
pub fn write_leaf_with(batch: &mut Batch, tree: &Tree, leaf: &LeafRead, inserts: &[LeafEntry]) {
    let layout = tree.layout;
    let view = leaf.view(batch, tree);
    assert!(view.is_live(0), "only a leaf in use is rewritten");
    assert!(
        inserts.iter().all(|&(key, _)| view.covers(batch.words(key))),
        "a leaf holds its own keys only"
    );
    debug_assert!(inserts.windows(2).all(|pair| batch.words(pair[0].0) < batch.words(pair[1].0)));
    let (mut shape, version) = (view.shape(), next_version(view.version()));
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
    batch.set_word(leaf.span.at + leaf::VERSION, version);
    post_image_from(batch, layout, leaf.ptr, leaf.span, layout.entry(unchanged));
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
