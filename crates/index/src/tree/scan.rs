//! From leaf to leaf, in both directions.
//!
//! Leaves may split or be absorbed between two steps, so the leaf that covers the next key may also hold
//! keys the scan has seen. Each step therefore says which entries are new, by the fence of the leaf before:
//! an entry is delivered once, whatever happens in between.

use super::cache::LeafCache;
use super::find::find_leaf;
use super::node::read_node;
use super::view::predecessor;
use super::{LeafRead, Tree};
use crate::error::IndexError;
use fabric::{Batch, Env};
use layout::Key;

/// The leaf behind `leaf`, and its first entry that lies behind `leaf`'s upper fence; `None` at the end.
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
    let (mut batch, span) = read_node(env, batch, tree.layout, next).await?;
    let mut found = LeafRead {
        ptr: next,
        span,
        insert: Default::default(),
    };
    let view = found.view(&batch, tree);
    if view.is_live(0) && view.covers(bound.words()) {
        cache.learn(next, &view);
        found.insert = view.insert_word();
    } else {
        batch.truncate(span.at);
        (batch, found) = find_leaf(env, batch, tree, cache, bound.words()).await?;
    }
    let first = found.view(&batch, tree).lower_bound(bound.words());
    Ok((batch, Some((found, first))))
}

/// The leaf before `leaf`, and the end of its entries that lie before `leaf`'s low fence (the index behind
/// the last of them); `None` at the first leaf.
pub async fn previous_leaf<E: Env>(
    env: &E,
    batch: Batch,
    tree: &Tree,
    cache: &mut LeafCache,
    leaf: &LeafRead,
) -> Result<(Batch, Option<(LeafRead, u32)>), IndexError> {
    let bound = Key::from_words(leaf.view(&batch, tree).low());
    let Some(before) = predecessor(bound.words()) else {
        return Ok((batch, None));
    };
    let (batch, found) = find_leaf(env, batch, tree, cache, before.words()).await?;
    let end = found.view(&batch, tree).lower_bound(bound.words());
    Ok((batch, Some((found, end))))
}
