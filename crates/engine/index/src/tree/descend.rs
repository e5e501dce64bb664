//! Descends the inner nodes, on the memory server.

use super::node::{back_off, read_node};
use super::root::{ROOT_WORDS, TreeRoot, inner_layout};
use super::view::{LeafView, is_below};
use crate::damage::Flaw;
use crate::error::IndexError;
use fabric::{Batch, CallError, Env, Span};
use layout::{GlobalPtr, Key, LeafLayout};

/// Restarts of a descent before it fails. It restarts if it meets a node that was absorbed between
/// two reads, which is rare.
const DESCENT_RETRY_COUNT_MAX: u32 = 100;

/// An inner node that was read untorn.
#[derive(Clone, Copy, Debug)]
pub(super) struct InnerRead {
    pub ptr: GlobalPtr,
    pub span: Span,
}

impl InnerRead {
    pub fn view<'a>(&self, batch: &'a Batch, layout: LeafLayout) -> LeafView<'a> {
        LeafView::new(layout, batch.words(self.span))
    }
}

/// Reads the root block at `root`.
pub(super) async fn read_root<E: Env>(
    env: &E,
    mut batch: Batch,
    root: GlobalPtr,
) -> Result<(Batch, TreeRoot), IndexError> {
    let span = batch.read(root, ROOT_WORDS);
    batch = env.execute(batch).await?;
    batch.clear_verbs();
    let block = TreeRoot::from_words(batch.words(span)).map_err(|flaw| flaw.at(root))?;
    batch.truncate(span.at);
    Ok((batch, block))
}

/// The last entry whose key is not above `key`; an inner node that covers `key` always has one.
pub(super) fn entry_for(
    node: &InnerRead,
    view: &LeafView<'_>,
    key: &[u64],
) -> Result<u32, IndexError> {
    match view.search(key) {
        Ok(index) => Ok(index),
        Err(0) => Err(IndexError::Damaged(Flaw::LowFenceMissing.at(node.ptr))),
        Err(index) => Ok(index - 1),
    }
}

/// The leaf for `key` according to level 1: the answer to a call.
pub(super) async fn find_child<E: Env>(
    env: &E,
    batch: Batch,
    root: GlobalPtr,
    key: &Key,
) -> Result<(Batch, GlobalPtr), IndexError> {
    let (batch, block) = read_root(env, batch, root).await?;
    check_key(&block, key)?;
    let (batch, node) = descend(env, batch, root, key.words(), 1).await?;
    let view = node.view(&batch, inner_layout(block.layout));
    let child = view.child(entry_for(&node, &view, key.words())?);
    Ok((batch, child))
}

/// Refuses keys with another length than the tree's.
pub(super) fn check_key(block: &TreeRoot, key: &Key) -> Result<(), IndexError> {
    if key.words().len() != block.layout.key_words as usize {
        return Err(CallError::Malformed("the tree service: a key of another length").into());
    }
    Ok(())
}

/// Reads the inner node on `level` that covers `key`. It needs no latch: each node is read untorn,
/// and its level and fences prove that it is on the path.
pub(super) async fn descend<E: Env>(
    env: &E,
    mut batch: Batch,
    root: GlobalPtr,
    key: &[u64],
    level: u8,
) -> Result<(Batch, InnerRead), IndexError> {
    assert!(level >= 1);
    for tried in 0..DESCENT_RETRY_COUNT_MAX {
        let block;
        (batch, block) = read_root(env, batch, root).await?;
        let found;
        (batch, found) = descend_once(env, batch, &block, key, level).await?;
        if let Some(node) = found {
            return Ok((batch, node));
        }
        back_off(env, tried).await;
    }
    Err(IndexError::Contended)
}

async fn descend_once<E: Env>(
    env: &E,
    mut batch: Batch,
    block: &TreeRoot,
    key: &[u64],
    level: u8,
) -> Result<(Batch, Option<InnerRead>), IndexError> {
    let layout = inner_layout(block.layout);
    let mut ptr = block.top;
    let mut expected_level = None;
    loop {
        let span;
        (batch, span) = read_node(env, batch, layout, ptr).await?;
        let node = InnerRead { ptr, span };
        let view = node.view(&batch, layout);
        let found_level = view.shape().level;
        let on_the_way = view.is_live(expected_level.unwrap_or(found_level));
        if !on_the_way || found_level < level || is_below(key, view.low()) {
            batch.truncate(span.at);
            return Ok((batch, None));
        }
        if view.ends_before(key) {
            ptr = view.next();
            expected_level = Some(found_level);
        } else if found_level == level {
            return Ok((batch, Some(node)));
        } else {
            ptr = view.child(entry_for(&node, &view, key)?);
            expected_level = Some(found_level - 1);
        }
        if ptr.is_null() {
            return Err(IndexError::Damaged(Flaw::LeadsNowhere.at(node.ptr)));
        }
        batch.truncate(span.at);
    }
}
