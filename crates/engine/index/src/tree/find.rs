//! Finds the leaf for a key: through the cache in one round trip, otherwise by a call and a read.

use super::cache::{LeafCache, LeafPlace};
use super::chain::read_behind;
use super::message::{Answer, Request, TREE_SERVICE};
use super::node::{back_off, read_node};
use super::view::{LeafView, generation, is_below};
use super::{LeafRead, Tree};
use crate::error::IndexError;
use fabric::{Batch, Env, Mutant, Span};
use layout::row::Cover;
use layout::{GlobalPtr, Key};

/// Restarts of a search before it fails.
const FIND_RETRY_COUNT_MAX: u32 = 100;
/// Leaves passed to the right before a call is cheaper. More of them after an answer of the memory
/// server mean that a process died between a split and its call, so settling pays.
const HOP_COUNT_MAX: u32 = 4;

/// A pushed read of a leaf, which need not be posted yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PostedLeaf {
    /// The expected leaf.
    pub ptr: GlobalPtr,
    /// Its words in the arena.
    pub span: Span,
    generation: u32,
}

/// Pushes the read of the leaf that covered `key` when the cache last saw it; `None` if the cache
/// has none. For callers that read several leaves in one round trip.
#[inline]
pub fn post_leaf(
    batch: &mut Batch,
    tree: &Tree,
    cache: &mut LeafCache,
    key: &[u64],
) -> Option<PostedLeaf> {
    assert!(key.len() == tree.layout.key_words as usize);
    Some(post_leaf_at(batch, tree, cache.find(key)?))
}

/// Pushes the read of the leaf at `place`, where the cache last saw it.
#[inline]
pub fn post_leaf_at(batch: &mut Batch, tree: &Tree, place: LeafPlace) -> PostedLeaf {
    let LeafPlace { ptr, generation } = place;
    let span = batch.read_row(ptr, tree.layout.words(), Cover::All);
    PostedLeaf { ptr, span, generation }
}

/// The leaf from a completed read, if it is untorn and covers `key`; otherwise the caller uses
/// [`find_leaf`].
#[inline]
pub fn accept_leaf(
    batch: &Batch,
    tree: &Tree,
    posted: PostedLeaf,
    key: &[u64],
) -> Option<LeafRead> {
    accept_any(batch, tree, posted).filter(|leaf| leaf.view(batch, tree).covers(key))
}

/// The leaf from a completed read, if it is untorn and still the expected one, whatever keys it
/// covers now.
#[inline]
pub fn accept_any(batch: &Batch, tree: &Tree, posted: PostedLeaf) -> Option<LeafRead> {
    let leaf = LeafRead { ptr: posted.ptr, span: posted.span, insert: Default::default() };
    let view = leaf.view(batch, tree);
    let same_life = generation(view.version()) == posted.generation;
    debug_assert!(!view.is_live(0) || !same_life || view.is_in_order(), "a leaf is read whole");
    (view.is_live(0) && same_life).then(|| LeafRead { insert: view.insert_word(), ..leaf })
}

/// Reads the leaf that covers `key`, untorn, to the end of the arena. `batch` must hold no verbs.
///
/// It takes one round trip if the cache is right, one more per split since then, and a call and a
/// read if the cache has no leaf or names one that was absorbed.
pub async fn find_leaf<E: Env>(
    env: &E,
    mut batch: Batch,
    tree: &Tree,
    cache: &mut LeafCache,
    key: &[u64],
) -> Result<(Batch, LeafRead), IndexError> {
    assert!(key.len() == tree.layout.key_words as usize);
    assert!(batch.is_empty(), "finding posts a batch of its own");
    let mut outdated_answers = 0;
    for tried in 0..FIND_RETRY_COUNT_MAX {
        let cached = cache.find(key);
        let (start, generation) = match cached {
            Some(place) => (place.ptr, Some(place.generation)),
            None if outdated_answers == 0 => (ask_for_leaf(env, tree, key).await?, None),
            None => (settle_key(env, tree, key).await?, None),
        };
        let found;
        (batch, found) = walk_right(env, batch, tree, cache, start, generation, key).await?;
        if let Some(leaf) = found {
            assert!(leaf.view(&batch, tree).covers(key));
            return Ok((batch, leaf));
        }
        match cached {
            Some(place) => cache.forget(key, place.ptr),
            None => {
                outdated_answers += 1;
                back_off(env, tried).await;
            }
        }
    }
    Err(IndexError::Contended)
}

/// Follows `next` from the leaf at `start` to the one that covers `key`; `None` if that fails.
async fn walk_right<E: Env>(
    env: &E,
    batch: Batch,
    tree: &Tree,
    cache: &mut LeafCache,
    start: GlobalPtr,
    expected: Option<u32>,
    key: &[u64],
) -> Result<(Batch, Option<LeafRead>), IndexError> {
    let (mut batch, span) = read_node(env, batch, tree.layout, start).await?;
    let (mut ptr, mut leaf) = (start, LeafView::new(tree.layout, batch.words(span)));
    let other_life = expected.is_some_and(|expected| expected != generation(leaf.version()))
        && !env.mutant(Mutant::TreeAnyLife);
    if !leaf.is_live(0) || other_life || is_below(key, leaf.low()) {
        batch.truncate(span.at);
        return Ok((batch, None));
    }
    let mut span = span;
    for _ in 0..HOP_COUNT_MAX {
        cache.learn(ptr, &leaf);
        if !leaf.ends_before(key) {
            break;
        }
        let (next, end) = (leaf.next(), Key::from_words(leaf.high()));
        batch.truncate(span.at);
        let behind;
        (batch, behind) = read_behind(env, batch, tree.layout, next, end.words()).await?;
        let Some(behind) = behind else {
            return Ok((batch, None));
        };
        (ptr, span) = (behind.ptr, behind.span);
        leaf = LeafView::new(tree.layout, batch.words(span));
    }
    if leaf.ends_before(key) {
        batch.truncate(span.at);
        return Ok((batch, None));
    }
    cache.learn(ptr, &leaf);
    let insert = leaf.insert_word();
    Ok((batch, Some(LeafRead { ptr, span, insert })))
}

#[cold]
async fn ask_for_leaf<E: Env>(env: &E, tree: &Tree, key: &[u64]) -> Result<GlobalPtr, IndexError> {
    ask(env, tree, Request::Find { root: tree.root, key: Key::from_words(key) }).await
}

/// Settles the inner nodes around `key`: the last answer led to an absorbed leaf.
#[cold]
async fn settle_key<E: Env>(env: &E, tree: &Tree, key: &[u64]) -> Result<GlobalPtr, IndexError> {
    let key = Key::from_words(key);
    ask(env, tree, Request::Settle { root: tree.root, low: key, high: Some(key) }).await
}

/// Settles the inner nodes above the leaves that cover `low..high`, and returns the leaf that
/// covers `low`.
pub(super) async fn settle_range<E: Env>(
    env: &E,
    tree: &Tree,
    low: Key,
    high: Option<Key>,
) -> Result<GlobalPtr, IndexError> {
    ask(env, tree, Request::Settle { root: tree.root, low, high }).await
}

pub(super) async fn ask<E: Env>(
    env: &E,
    tree: &Tree,
    request: Request,
) -> Result<GlobalPtr, IndexError> {
    let answer = env.call(tree.node, TREE_SERVICE, request.encode()).await?;
    match Answer::decode(&answer)? {
        Answer::Found(ptr) => Ok(ptr),
        Answer::Contended => Err(IndexError::Contended),
        Answer::Damaged(damage) => Err(damage.into()),
        Answer::Full(sentence) => Err(IndexError::OutOfMemory(sentence)),
    }
}
