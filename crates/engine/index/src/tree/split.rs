//! Makes room in a leaf: splits it until the pending keys fit.
//!
//! Decision: docs/decisions/0033-the-path-to-a-leaf-is-a-hint.md

use super::cache::LeafCache;
use super::find::settle_range;
use super::image::{Head, ImageBuilder, post_image};
use super::lock::{LockResult, lock_result, post_lock, post_release};
use super::node::execute;
use super::plan::{Part, plan};
use super::step::TreeStep;
use super::view::{next_life, next_version};
use super::{LeafRead, Tree};
use crate::error::IndexError;
use fabric::{Batch, Env, Mutant, Span};
use layout::leaf;
use layout::{GlobalPtr, Key, VersionWord};
use memory::Pool;

/// Splits `leaf` until each of its parts has room for its share of the keys in `pending` (sorted,
/// all covered by the leaf), and returns the parts, left to right, as they now are in memory. A
/// leaf with enough room is returned as it is, without any verb.
///
/// `timestamp` is a number that the caller uses only for this. The insert words of all parts hold
/// it afterwards, unlocked: other transactions may use the room, and the caller's lock then fails.
///
/// # Errors
/// [`IndexError::Conflict`] if another process holds the leaf or changed it since it was read. If
/// the last step, the call, fails, the split is complete and correct, and only the inner nodes lack
/// it.
#[allow(clippy::too_many_arguments, reason = "they are what a change of a tree takes")]
pub async fn make_room<E: Env>(
    env: &E,
    batch: Batch,
    tree: &Tree,
    cache: &mut LeafCache,
    pool: &mut Pool,
    leaf: LeafRead,
    pending: &[Key],
    timestamp: VersionWord,
) -> Result<(Batch, Vec<LeafRead>), IndexError> {
    assert!(
        batch.is_empty(),
        "a read that was left in the batch would be done again, over its result"
    );
    let view = leaf.view(&batch, tree);
    assert!(view.is_live(0), "only a leaf in use is split");
    assert!(pending.is_sorted());
    assert!(pending.iter().all(|key| view.covers(key.words())), "pending keys fall into the leaf");
    let Some(parts) = plan(&view, tree.layout.entries, pending) else {
        return Ok((batch, vec![leaf]));
    };
    if leaf.insert.is_locked() {
        return Err(IndexError::Conflict);
    }
    assert!(parts.len() > 1, "a split leaves several parts");
    assert!(parts[1..].windows(2).all(|pair| pair[0].low < pair[1].low), "parts rise");
    let rights = allocate(env, tree, pool, parts.len() - 1).await?;
    let locked = lock_leaf(env, batch, tree, &leaf, &rights, timestamp).await;
    if let Err(IndexError::Conflict) = locked {
        rights.iter().for_each(|&ptr| pool.free(env, ptr, tree.layout.words()));
    }
    let (batch, versions) = locked?;
    env.reach(TreeStep::LeafLocked).await;

    let mut batch = batch;
    let rights = build_rights(env, &mut batch, tree, &leaf, &parts, &rights, versions, timestamp);
    let late = env.mutant(Mutant::TreeLeftFirst);
    let batch = if late { batch } else { write_rights(env, batch, tree, &rights).await? };
    env.reach(TreeStep::RightWritten).await;
    let (batch, left) =
        rewrite_left(env, batch, tree, &leaf, &parts, rights[0].ptr, timestamp).await?;
    env.reach(TreeStep::LeftRewritten).await;
    let batch = if late { write_rights(env, batch, tree, &rights).await? } else { batch };
    let leaves: Vec<LeafRead> = std::iter::once(left).chain(rights).collect();
    for part in &leaves {
        cache.learn(part.ptr, &part.view(&batch, tree));
    }
    let high = leaf.view(&batch, tree).high_key();
    settle_range(env, tree, parts[1].low, high).await?;
    env.reach(TreeStep::SeparatorsAdded).await;
    Ok((batch, leaves))
}

async fn allocate<E: Env>(
    env: &E,
    tree: &Tree,
    pool: &mut Pool,
    count: usize,
) -> Result<Vec<GlobalPtr>, IndexError> {
    let words = tree.layout.words();
    let mut allocated = Vec::with_capacity(count);
    for _ in 0..count {
        match pool.allocate(env, words).await {
            Ok(ptr) => allocated.push(ptr),
            Err(error) => {
                allocated.iter().for_each(|&ptr| pool.free(env, ptr, words));
                return Err(error.into());
            }
        }
    }
    Ok(allocated)
}

/// Locks the leaf, and in the same round trip reads the last versions of the new leaves' memory
/// from its earlier generations.
async fn lock_leaf<E: Env>(
    env: &E,
    mut batch: Batch,
    tree: &Tree,
    leaf: &LeafRead,
    rights: &[GlobalPtr],
    timestamp: VersionWord,
) -> Result<(Batch, Span), IndexError> {
    let lock = post_lock(&mut batch, tree, leaf, timestamp);
    let at = batch.arena_words() as u32;
    for right in rights {
        batch.read(right.add_words(u64::from(leaf::VERSION)), 1);
    }
    let versions = Span { at, words: rights.len() as u32 };
    batch = execute(env, batch).await?;
    match lock_result(&batch, &lock) {
        LockResult::Held => Ok((batch, versions)),
        LockResult::Missed => Err(IndexError::Conflict),
        LockResult::Outdated => {
            post_release(&mut batch, leaf.ptr, timestamp);
            execute(env, batch).await?;
            Err(IndexError::Conflict)
        }
    }
}

/// Builds the images of the new leaves.
#[allow(clippy::too_many_arguments, reason = "they are what a split knows")]
fn build_rights<E: Env>(
    env: &E,
    batch: &mut Batch,
    tree: &Tree,
    leaf: &LeafRead,
    parts: &[Part],
    rights: &[GlobalPtr],
    versions: Span,
    timestamp: VersionWord,
) -> Vec<LeafRead> {
    let whole = Head::of(&leaf.view(batch, tree));
    let forgets = env.mutant(Mutant::TreeSplitForgetsCollected);
    let collected = if forgets { 0 } else { whole.collected };
    let mut leaves = Vec::with_capacity(rights.len());
    for (index, (part, ptr)) in parts[1..].iter().zip(rights).enumerate() {
        let mut image = ImageBuilder::start(batch, tree.layout);
        image.copy(batch, leaf.span, part.entries.start, part.entries.end);
        let head = Head {
            insert: timestamp,
            version: next_life(batch.word(versions.at + index as u32)),
            next: rights.get(index + 1).copied().unwrap_or(whole.next),
            low: part.low,
            high: parts.get(index + 2).map_or(whole.high, |after| Some(after.low)),
            // A reader that misses a key in the part sees there what was collected in the whole.
            collected,
            ..whole
        };
        let span = image.finish(batch, &head);
        leaves.push(LeafRead { ptr: *ptr, span, insert: timestamp });
    }
    leaves
}

/// Writes the new leaves to memory that no reader reaches yet. The insert word is written first: a
/// reader with a pointer from an earlier generation must not find the new image beside the old
/// word.
async fn write_rights<E: Env>(
    env: &E,
    mut batch: Batch,
    tree: &Tree,
    rights: &[LeafRead],
) -> Result<Batch, IndexError> {
    for right in rights {
        let insert_word = right.ptr.add_words(u64::from(leaf::INSERT));
        batch.write_word(insert_word, right.insert.word());
        post_image(&mut batch, tree.layout, right.ptr, right.span);
    }
    execute(env, batch).await
}

/// Moves the upper part of the leaf's range to the new leaves, at once for every reader, and
/// unlocks the leaf.
async fn rewrite_left<E: Env>(
    env: &E,
    mut batch: Batch,
    tree: &Tree,
    leaf: &LeafRead,
    parts: &[Part],
    next: GlobalPtr,
    timestamp: VersionWord,
) -> Result<(Batch, LeafRead), IndexError> {
    let whole = Head::of(&leaf.view(&batch, tree));
    let mut image = ImageBuilder::start(&mut batch, tree.layout);
    image.copy(&mut batch, leaf.span, 0, parts[0].entries.end);
    let version = match env.mutant(Mutant::TreeKeepRewriteCounter) {
        true => whole.version,
        false => next_version(whole.version),
    };
    let head = Head { insert: timestamp, version, next, high: Some(parts[1].low), ..whole };
    let span = image.finish(&mut batch, &head);
    post_image(&mut batch, tree.layout, leaf.ptr, span);
    post_release(&mut batch, leaf.ptr, timestamp);
    let left = LeafRead { ptr: leaf.ptr, span, insert: timestamp };
    Ok((execute(env, batch).await?, left))
}
