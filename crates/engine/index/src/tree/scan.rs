//! Steps from leaf to leaf, in both directions.
//!
//! Leaves may split or be absorbed between two steps, so the leaf that covers the next key may also
//! hold keys that the scan has seen. Each step therefore returns which entries are new, by the
//! fence of the previous leaf: an entry is delivered once, whatever happens in between.

use super::cache::LeafCache;
use super::chain::read_behind;
use super::find::find_leaf;
use super::view::LeafView;
use super::{LeafRead, Tree};
use crate::error::IndexError;
use fabric::{Batch, Env, Mutant};
use layout::Key;

/// The leaf after `leaf`, and its first entry beyond `leaf`'s upper fence; `None` at the end.
pub async fn next_leaf<E: Env>(
    env: &E,
    batch: Batch,
    tree: &Tree,
    cache: &mut LeafCache,
    leaf: &LeafRead,
) -> Result<(Batch, Option<(LeafRead, u32)>), IndexError> {
    let view = leaf.view(&batch, tree);
    let (next, Some(bound)) = (view.next(), view.high_key()) else {
        return Ok((batch, None));
    };
    let (batch, behind) = read_behind(env, batch, tree.layout, next, bound.words()).await?;
    if let Some(behind) = behind {
        let view = LeafView::new(tree.layout, batch.words(behind.span));
        cache.learn(behind.ptr, &view);
        let insert = view.insert_word();
        return Ok((batch, Some((LeafRead { ptr: behind.ptr, span: behind.span, insert }, 0))));
    }
    let (batch, found) = find_leaf(env, batch, tree, cache, bound.words()).await?;
    let whole = env.mutant(Mutant::TreeWholeLeaves);
    let first = if whole { 0 } else { found.view(&batch, tree).lower_bound(bound.words()) };
    Ok((batch, Some((found, first))))
}

/// The leaf before `leaf`, and the end of its entries below `leaf`'s low fence (the index after the
/// last of them); `None` at the first leaf.
pub async fn previous_leaf<E: Env>(
    env: &E,
    batch: Batch,
    tree: &Tree,
    cache: &mut LeafCache,
    leaf: &LeafRead,
) -> Result<(Batch, Option<(LeafRead, u32)>), IndexError> {
    let bound = Key::from_words(leaf.view(&batch, tree).low());
    let Some(before) = bound.predecessor() else {
        return Ok((batch, None));
    };
    let (batch, found) = find_leaf(env, batch, tree, cache, before.words()).await?;
    let end = found.view(&batch, tree).lower_bound(bound.words());
    Ok((batch, Some((found, end))))
}
