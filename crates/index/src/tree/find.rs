//! Finding the leaf that holds a key: by the cache in one round trip, else by a call and a read.

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

/// How often finding starts again before it gives up.
const FIND_RETRY_COUNT_MAX: u32 = 100;
/// Leaves passed on the way to the right before it is cheaper to ask. More of them behind an answer
/// of the memory server mean that somebody died before it told of a split, so that settling pays.
const HOP_COUNT_MAX: u32 = 4;

/// A read of a leaf that was pushed but need not have been posted yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PostedLeaf {
    /// The leaf hoped for.
    pub ptr: GlobalPtr,
    /// Where its words will stand in the arena.
    pub span: Span,
    generation: u32,
}

/// Pushes the read of the leaf that covered `key` when the cache saw it last; `None` if the cache
/// knows none. For callers that put several leaves into one round trip.
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

/// Pushes the read of the leaf at `place`, where the cache saw it last.
#[inline]
pub fn post_leaf_at(batch: &mut Batch, tree: &Tree, place: LeafPlace) -> PostedLeaf {
    let LeafPlace { ptr, generation } = place;
    let span = batch.read_row(ptr, tree.layout.words(), Cover::All);
    PostedLeaf { ptr, span, generation }
}

/// The leaf behind a completed read, if it is whole and covers `key`; else the caller goes to
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

/// The leaf behind a completed read, if it is whole and still the one that was hoped for, whatever keys
/// it covers by now.
#[inline]
pub fn accept_any(batch: &Batch, tree: &Tree, posted: PostedLeaf) -> Option<LeafRead> {
    let leaf = LeafRead { ptr: posted.ptr, span: posted.span, insert: Default::default() };
    let view = leaf.view(batch, tree);
    let same_life = generation(view.version()) == posted.generation;
    debug_assert!(!view.is_live(0) || !same_life || view.is_in_order(), "a leaf is read whole");
    (view.is_live(0) && same_life).then(|| LeafRead { insert: view.insert_word(), ..leaf })
}

/// Reads the leaf that covers `key`, whole, to the end of the arena. `batch` must hold no verbs.
///
/// One round trip if the cache is right; one more per split since it was; a call and a read if it
/// knows nothing or names a leaf that is gone.
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

/// Follows `next` from the leaf at `start` to the one that covers `key`; `None` if this leads
/// nowhere.
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

/// Has the inner nodes around `key` brought into line: the last answer led to a leaf that is gone.
#[cold]
async fn settle_key<E: Env>(env: &E, tree: &Tree, key: &[u64]) -> Result<GlobalPtr, IndexError> {
    let key = Key::from_words(key);
    ask(env, tree, Request::Settle { root: tree.root, low: key, high: Some(key) }).await
}

/// Has the inner nodes brought into line with the leaves that cover `low..high`, and returns the
/// leaf that covers `low`.
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
