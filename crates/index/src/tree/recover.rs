//! Releasing what somebody who died has left locked in a tree.

use super::absorb::bury;
use super::descend::{descend, read_root};
use super::find::settle_range;
use super::lock::post_release;
use super::node::{back_off, execute, read_node};
use super::root::inner_layout;
use super::settle::separators;
use super::view::LeafView;
use super::{LeafRead, Tree};
use crate::error::IndexError;
use fabric::{Batch, Env};
use layout::{GlobalPtr, Key, VersionWord};
use std::collections::BTreeSet;

/// How often the walk over all leaves starts again because others changed them under its feet.
const WALK_RETRY_COUNT_MAX: u32 = 100;

/// A leaf that the dead owner holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    ptr: GlobalPtr,
    low: Key,
    high: Option<Key>,
}

/// Releases all leaves that are locked under `owner`'s number, whoever held it is fenced off, and finishes
/// what was begun: a neighbour whose range was taken over already dies, everything else is unlocked as it
/// is. Returns the dead leaves, for the caller to free like those of [`super::absorb_right`].
///
/// The owner's writes must have come to an end. A leaf that stays torn is beyond a tree's means, its
/// entries stand nowhere else; it is reported as [`IndexError::Contended`].
pub async fn release_dead_owner<E: Env>(
    env: &E,
    batch: Batch,
    tree: &Tree,
    owner: VersionWord,
) -> Result<(Batch, Vec<GlobalPtr>), IndexError> {
    let (batch, linked, held) = walk_leaves(env, batch, tree, owner).await?;
    let (mut batch, children) = unlinked_children(env, batch, tree, &linked).await?;
    // Held and not linked: the left neighbour, held as well, has taken it over.
    let mut dead = Vec::new();
    for ptr in children {
        let span;
        (batch, span) = read_node(env, batch, tree.layout, ptr).await?;
        let leaf = LeafRead {
            ptr,
            span,
            insert: owner.locked(),
        };
        let view = leaf.view(&batch, tree);
        if view.is_live(0) && view.insert_word() == owner.locked() {
            batch = bury(env, batch, tree, &leaf, owner).await?;
            dead.push(ptr);
        }
        batch.truncate(span.at);
    }
    // Only now: an unlocked left neighbour may change, and nobody may see the old state beside it.
    for leaf in &held {
        post_release(&mut batch, leaf.ptr, owner);
    }
    if !batch.is_empty() {
        batch = execute(env, batch).await?;
    }
    for leaf in &held {
        settle_range(env, tree, leaf.low, leaf.high).await?;
    }
    Ok((batch, dead))
}

/// All leaves that are linked, and those among them that the owner holds. While he holds them nobody links
/// or unlinks them, so that a walk without gap finds each, whatever happens to others.
async fn walk_leaves<E: Env>(
    env: &E,
    mut batch: Batch,
    tree: &Tree,
    owner: VersionWord,
) -> Result<(Batch, BTreeSet<GlobalPtr>, Vec<Held>), IndexError> {
    let block;
    (batch, block) = read_root(env, batch, tree.root).await?;
    for tried in 0..WALK_RETRY_COUNT_MAX {
        let (mut linked, mut held) = (BTreeSet::new(), Vec::new());
        let mut ptr = block.first_leaf;
        let mut position = Some(Key::lowest(tree.layout.key_words));
        while let Some(low) = position {
            let span;
            (batch, span) = read_node(env, batch, tree.layout, ptr).await?;
            let leaf = LeafView::new(tree.layout, batch.words(span));
            if !leaf.is_live(0) || leaf.low() != low.words() {
                break;
            }
            linked.insert(ptr);
            position = leaf.high_key();
            if leaf.insert_word() == owner.locked() {
                held.push(Held {
                    ptr,
                    low,
                    high: position,
                });
            }
            ptr = leaf.next();
            batch.truncate(span.at);
        }
        if position.is_none() {
            return Ok((batch, linked, held));
        }
        back_off(env, tried).await;
    }
    Err(IndexError::Contended)
}

/// The leaves that inner nodes lead to though they are not linked.
async fn unlinked_children<E: Env>(
    env: &E,
    mut batch: Batch,
    tree: &Tree,
    linked: &BTreeSet<GlobalPtr>,
) -> Result<(Batch, BTreeSet<GlobalPtr>), IndexError> {
    let mut unlinked = BTreeSet::new();
    let mut position = Some(Key::lowest(tree.layout.key_words));
    while let Some(low) = position {
        let node;
        (batch, node) = descend(env, batch, tree.root, low.words(), 1).await?;
        let view = node.view(&batch, inner_layout(tree.layout));
        let children = separators(&view).into_iter().map(|entry| entry.child);
        unlinked.extend(children.filter(|child| !linked.contains(child)));
        position = view.high_key();
        batch.truncate(node.span.at);
    }
    Ok((batch, unlinked))
}
