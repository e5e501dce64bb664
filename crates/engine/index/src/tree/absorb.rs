//! Merges the right neighbour of a leaf with few entries into the leaf.

use super::cache::LeafCache;
use super::find::settle_range;
use super::image::{Head, ImageBuilder, post_image};
use super::lock::{LockResult, lock_result, post_lock, post_release};
use super::node::{execute, read_node};
use super::step::TreeStep;
use super::view::next_version;
use super::{LeafRead, Tree};
use crate::error::IndexError;
use fabric::{Batch, Env, Mutant, Note};
use layout::{GlobalPtr, VersionWord};

/// Largest fill of a leaf in percent after it has absorbed its neighbour. At 50 %, as many inserts
/// as there are entries must come before the leaf is split again.
const FILL_PERCENT_MAX: u32 = 50;

/// A leaf that absorbed its right neighbour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Absorbed {
    /// The leaf after the absorption.
    pub leaf: LeafRead,
    /// The neighbour. No pointer of the tree leads to it, but readers may still be on their way:
    /// the caller frees it into a pool of this tree's leaves once every operation that began before
    /// now has ended.
    pub dead: GlobalPtr,
}

/// If `leaf` or its right neighbour is empty, or both together fill at most half of a leaf, moves
/// range and entries of the neighbour into the leaf. `None` if there is no neighbour or it has too
/// many entries.
///
/// `timestamp` as for [`super::make_room`].
///
/// # Errors
/// [`IndexError::Conflict`] if another process holds one of the two or changed it since it was
/// read.
pub async fn absorb_right<E: Env>(
    env: &E,
    batch: Batch,
    tree: &Tree,
    cache: &mut LeafCache,
    leaf: LeafRead,
    timestamp: VersionWord,
) -> Result<(Batch, Option<Absorbed>), IndexError> {
    let view = leaf.view(&batch, tree);
    assert!(view.is_live(0), "only a leaf in use takes over another");
    let (right_ptr, Some(bound)) = (view.next(), view.high_key()) else {
        return Ok((batch, None));
    };
    let (batch, span) = read_node(env, batch, tree.layout, right_ptr).await?;
    let right = LeafRead { ptr: right_ptr, span, insert: VersionWord::NONE };
    let right_view = right.view(&batch, tree);
    let right = LeafRead { insert: right_view.insert_word(), ..right };
    let meets = right_view.is_live(0) && right_view.low() == bound.words();
    if !meets || leaf.insert.is_locked() || right.insert.is_locked() {
        return Err(IndexError::Conflict);
    }
    if !is_worth_it(leaf.view(&batch, tree).count(), right_view.count(), tree.layout.entries) {
        return Ok((batch, None));
    }
    let high = right_view.high_key();
    let batch = lock_both(env, batch, tree, &leaf, &right, timestamp).await?;
    env.reach(TreeStep::NeighboursLocked).await;
    let (batch, leaf) = take_over(env, batch, tree, &leaf, &right, timestamp).await?;
    env.reach(TreeStep::RightTakenOver).await;
    let late = env.mutant(Mutant::TreeLateBurial);
    let batch = if late { bury_late(env, batch, tree, &right, timestamp).await? } else { batch };
    cache.forget(bound.words(), right.ptr);
    cache.learn(leaf.ptr, &leaf.view(&batch, tree));
    if let Err(error) = settle_range(env, tree, bound, high).await {
        // Inner nodes still lead to the neighbour, so its memory must never be used for another
        // leaf.
        env.note(|| Note::Loses { at: right.ptr });
        return Err(error);
    }
    env.reach(TreeStep::SeparatorRemoved).await;
    Ok((batch, Some(Absorbed { leaf, dead: right.ptr })))
}

fn is_worth_it(left: u32, right: u32, capacity: u32) -> bool {
    left == 0 || right == 0 || (left + right) * 100 <= capacity * FILL_PERCENT_MAX
}

/// Tries both locks at once; holds both or none afterwards, so that there is no deadlock.
async fn lock_both<E: Env>(
    env: &E,
    mut batch: Batch,
    tree: &Tree,
    leaf: &LeafRead,
    right: &LeafRead,
    timestamp: VersionWord,
) -> Result<Batch, IndexError> {
    let locks = [leaf, right].map(|leaf| post_lock(&mut batch, tree, leaf, timestamp));
    batch = execute(env, batch).await?;
    let results = locks.map(|lock| (lock.ptr(), lock_result(&batch, &lock)));
    if results.iter().all(|(_, result)| *result == LockResult::Held) {
        return Ok(batch);
    }
    for (ptr, _) in results.iter().filter(|(_, result)| result.must_release()) {
        post_release(&mut batch, *ptr, timestamp);
    }
    if !batch.is_empty() {
        execute(env, batch).await?;
    }
    Err(IndexError::Conflict)
}

/// Writes the leaf with both ranges and linked past the neighbour, marks the neighbour DEAD, and
/// unlocks both. If the process dies, all of it is done or nothing.
///
/// The neighbour dies before the leaf is unlocked: readers that still see the neighbour must not
/// miss the leaf's changes.
async fn take_over<E: Env>(
    env: &E,
    mut batch: Batch,
    tree: &Tree,
    leaf: &LeafRead,
    right: &LeafRead,
    timestamp: VersionWord,
) -> Result<(Batch, LeafRead), IndexError> {
    let (left_view, right_view) = (leaf.view(&batch, tree), right.view(&batch, tree));
    let (left_head, right_head) = (Head::of(&left_view), Head::of(&right_view));
    let (left_count, right_count) = (left_view.count(), right_view.count());
    assert!(left_head.high == Some(right_head.low), "neighbours meet");
    let region = |leaf: &LeafRead| leaf.ptr.region();
    assert!(region(leaf) == region(right), "the leaves of a tree are in one region");
    let mut image = ImageBuilder::start(&mut batch, tree.layout);
    image.copy(&mut batch, leaf.span, 0, left_count);
    image.copy(&mut batch, right.span, 0, right_count);
    let forgets = env.mutant(Mutant::TreeAbsorbForgetsCollected);
    let of_right = if forgets { 0 } else { right_head.collected };
    let head = Head {
        insert: timestamp,
        version: next_version(left_head.version),
        collected: left_head.collected.max(of_right),
        high: right_head.high,
        next: right_head.next,
        ..left_head
    };
    let span = image.finish(&mut batch, &head);
    post_image(&mut batch, tree.layout, leaf.ptr, span);
    if !env.mutant(Mutant::TreeLateBurial) {
        post_burial(&mut batch, tree, right, timestamp);
    }
    post_release(&mut batch, leaf.ptr, timestamp);
    Ok((execute(env, batch).await?, LeafRead { ptr: leaf.ptr, span, insert: timestamp }))
}

/// Marks a leaf as absorbed (DEAD), and unlocks it: readers restart, and swaps that arrive late
/// fail on its insert word. Fences and `next` stay, for readers that come from the preceding leaf.
fn post_burial(batch: &mut Batch, tree: &Tree, leaf: &LeafRead, timestamp: VersionWord) {
    let head = Head::of(&leaf.view(batch, tree));
    let head = Head { version: next_version(head.version), dead: true, ..head };
    let span = ImageBuilder::start(batch, tree.layout).finish(batch, &head);
    post_image(batch, tree.layout, leaf.ptr, span);
    post_release(batch, leaf.ptr, timestamp);
}

/// Buries the neighbour after the leaf was unlocked. For a mutant.
#[cold]
async fn bury_late<E: Env>(
    env: &E,
    mut batch: Batch,
    tree: &Tree,
    right: &LeafRead,
    timestamp: VersionWord,
) -> Result<Batch, IndexError> {
    post_burial(&mut batch, tree, right, timestamp);
    execute(env, batch).await
}
