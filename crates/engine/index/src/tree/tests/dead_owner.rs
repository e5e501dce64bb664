//! Unlocks the leaves of a client that has died.

use crate::error::IndexError;
use crate::tree::chain::read_behind;
use crate::tree::descend::read_root;
use crate::tree::lock::post_release;
use crate::tree::node::{back_off, execute, read_node};
use crate::tree::settle::WALK_RETRY_COUNT_MAX;
use crate::tree::{LeafView, Tree};
use fabric::{Batch, Env};
use layout::{GlobalPtr, VersionWord};

/// Unlocks the leaves that are locked under `owner`'s number, after the owner was fenced and its
/// last batch has arrived whole or not at all: nothing is half done between two batches.
pub async fn release_dead_owner<E: Env>(
    env: &E,
    batch: Batch,
    tree: &Tree,
    owner: VersionWord,
) -> Result<Batch, IndexError> {
    let (mut batch, held) = held_leaves(env, batch, tree, owner).await?;
    for leaf in held {
        post_release(&mut batch, leaf, owner);
    }
    match batch.is_empty() {
        true => Ok(batch),
        false => execute(env, batch).await,
    }
}

/// The linked leaves that the owner has locked. No process links or unlinks them while they are
/// locked, so a walk without gap finds each, whatever happens to other leaves.
async fn held_leaves<E: Env>(
    env: &E,
    mut batch: Batch,
    tree: &Tree,
    owner: VersionWord,
) -> Result<(Batch, Vec<GlobalPtr>), IndexError> {
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
) -> Result<(Batch, Option<Vec<GlobalPtr>>), IndexError> {
    let mut held = Vec::new();
    let mut ptr = first_leaf;
    let mut span;
    (batch, span) = read_node(env, batch, tree.layout, ptr).await?;
    loop {
        let leaf = LeafView::new(tree.layout, batch.words(span));
        let (high, next) = (leaf.high_key(), leaf.next());
        if leaf.insert_word() == owner.locked_by_upkeep() {
            held.push(ptr);
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
