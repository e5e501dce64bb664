//! Releases the locks of a dead owner in a tree.

use super::absorb::{bury, unlink_and_unlock};
use super::chain::{is_taken_over, read_behind};
use super::descend::read_root;
use super::find::settle_range;
use super::lock::post_release;
use super::node::{back_off, execute, read_node};
use super::settle::WALK_RETRY_COUNT_MAX;
use super::view::LeafView;
use super::{LeafRead, Tree};
use crate::error::IndexError;
use fabric::{Batch, Env};
use layout::{GlobalPtr, Key, VersionWord};

/// A leaf that the dead owner has locked, and its upper fence.
#[derive(Clone, Copy, Debug)]
struct Held {
    ptr: GlobalPtr,
    low: Key,
    high: Option<Key>,
}

/// Releases all leaves that are locked under `owner`'s number, after the owner was fenced and all
/// its writes have ended, and completes its changes: a neighbour whose range was already absorbed
/// dies, all other leaves are unlocked as they are. Returns the dead leaves, for the caller to free
/// like those of [`super::absorb_right`].
///
/// A leaf that stays torn cannot be repaired, because its entries are not stored elsewhere; it is
/// reported as [`IndexError::Contended`].
pub async fn release_dead_owner<E: Env>(
    env: &E,
    batch: Batch,
    tree: &Tree,
    owner: VersionWord,
) -> Result<(Batch, Vec<GlobalPtr>), IndexError> {
    assert!(owner == owner.timestamp(), "an owner is a number without flags");
    let (mut batch, held) = held_leaves(env, batch, tree, owner).await?;
    let mut dead = Vec::new();
    for leaf in &held {
        let mark = batch.arena_words() as u32;
        let buried;
        (batch, buried) = release_leaf(env, batch, tree, leaf, owner).await?;
        dead.extend(buried);
        batch.truncate(mark);
    }
    for leaf in &held {
        settle_range(env, tree, leaf.low, leaf.high).await?;
    }
    Ok((batch, dead))
}

async fn release_leaf<E: Env>(
    env: &E,
    batch: Batch,
    tree: &Tree,
    held: &Held,
    owner: VersionWord,
) -> Result<(Batch, Option<GlobalPtr>), IndexError> {
    let (mut batch, span) = read_node(env, batch, tree.layout, held.ptr).await?;
    let leaf = LeafRead { ptr: held.ptr, span, insert: owner.locked_by_upkeep() };
    let next = leaf.view(&batch, tree).next();
    if !next.is_null() {
        let span;
        (batch, span) = read_node(env, batch, tree.layout, next).await?;
        let right = LeafRead { ptr: next, span, insert: owner.locked_by_upkeep() };
        let view = right.view(&batch, tree);
        if is_taken_over(&view, held.high.as_ref().map(Key::words)) {
            let after = view.next();
            if view.is_live(0) {
                batch = bury(env, batch, tree, &right, owner).await?;
            }
            (batch, _) = unlink_and_unlock(env, batch, tree, &leaf, after, owner).await?;
            return Ok((batch, Some(next)));
        }
    }
    post_release(&mut batch, held.ptr, owner);
    Ok((execute(env, batch).await?, None))
}

/// The linked leaves that the owner has locked. No process links or unlinks them while they are
/// locked, so a walk without gap finds each, whatever happens to other leaves.
async fn held_leaves<E: Env>(
    env: &E,
    mut batch: Batch,
    tree: &Tree,
    owner: VersionWord,
) -> Result<(Batch, Vec<Held>), IndexError> {
    let block;
    (batch, block) = read_root(env, batch, tree.root).await?;
    for tried in 0..WALK_RETRY_COUNT_MAX {
        let found;
        (batch, found) = walk_held(env, batch, tree, block.first_leaf, owner).await?;
        if let Some(held) = found {
            return Ok((batch, held));
        }
        back_off(env, tried).await;
    }
    Err(IndexError::Contended)
}

async fn walk_held<E: Env>(
    env: &E,
    mut batch: Batch,
    tree: &Tree,
    first_leaf: GlobalPtr,
    owner: VersionWord,
) -> Result<(Batch, Option<Vec<Held>>), IndexError> {
    let mut held = Vec::new();
    let mut ptr = first_leaf;
    let mut span;
    (batch, span) = read_node(env, batch, tree.layout, ptr).await?;
    loop {
        let leaf = LeafView::new(tree.layout, batch.words(span));
        let (low, high, next) = (Key::from_words(leaf.low()), leaf.high_key(), leaf.next());
        if leaf.insert_word() == owner.locked_by_upkeep() {
            held.push(Held { ptr, low, high });
        }
        batch.truncate(span.at);
        let Some(end) = high else {
            return Ok((batch, Some(held)));
        };
        let behind;
        (batch, behind) = read_behind(env, batch, tree.layout, next, end.words()).await?;
        let Some(behind) = behind else {
            return Ok((batch, None));
        };
        (ptr, span) = (behind.ptr, behind.span);
    }
}
