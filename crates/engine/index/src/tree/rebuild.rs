//! Rebuilds all inner nodes from the leaves: a memory server does this for each tree that it takes
//! over from one that has died, whose handlers may have held latches.
//!
//! Inner nodes contain only information from leaves, so half-done changes need no analysis. Compute
//! servers may keep changing leaves: the next lookup that loses time over a change missed by this
//! walk settles it.

use super::chain::read_behind;
use super::descend::read_root;
use super::image::{Head, ImageBuilder, post_image};
use super::inner::Separator;
use super::node::{back_off, execute, read_node};
use super::root::{TreeRoot, inner_layout, latch};
use super::service::NodeAllocator;
use super::settle::{Link, UNLATCHED, WALK_RETRY_COUNT_MAX, release_latch, take_latch};
use super::view::LeafView;
use crate::damage::Flaw;
use crate::error::IndexError;
use fabric::{Batch, Env};
use layout::leaf;
use layout::{GlobalPtr, Key};

/// Fill of each new inner node in percent.
const FILL_PERCENT: usize = 80;

/// As [`rebuild_inner_nodes`], beside other handlers.
pub(super) async fn rebuild<E: Env>(
    env: &E,
    batch: Batch,
    allocator: &dyn NodeAllocator<E>,
    root: GlobalPtr,
) -> Result<Batch, IndexError> {
    let batch = take_latch(env, batch, root).await?;
    if let Err(error) = rebuild_inner_nodes(env, allocator, root).await {
        release_latch(env, Batch::new(), root).await?;
        return Err(error);
    }
    Ok(batch)
}

/// Creates new inner nodes for the tree at `root`, makes them the start of descents, and releases
/// its latch. The old ones stay allocated until the tree is dropped. No handler may be running on
/// the tree.
pub async fn rebuild_inner_nodes<E: Env>(
    env: &E,
    allocator: &dyn NodeAllocator<E>,
    root: GlobalPtr,
) -> Result<(), IndexError> {
    let (batch, mut block) = read_root(env, Batch::new(), root).await?;
    let (mut batch, links) = walk_all(env, batch, &block).await?;
    let mut level: Vec<Separator> =
        links.iter().map(|link| Separator { low: link.low, child: link.ptr }).collect();
    (block.height, block.inner_count, block.spare) = (0, 0, GlobalPtr::NULL);
    while level.len() > 1 || block.height == 0 {
        block.height += 1;
        (batch, level) = build_level(env, batch, allocator, &block, &level).await?;
        block.inner_count += level.len() as u64;
    }
    block.top = level[0].child;
    block.post_changes(&mut batch, root);
    batch.write_word(latch(root), UNLATCHED);
    execute(env, batch).await?;
    Ok(())
}

/// All leaves from the first one on. Where a leaf changes its range meanwhile, the walk steps back
/// to the last leaf that still begins where it began; the first one lives as long as the tree.
async fn walk_all<E: Env>(
    env: &E,
    mut batch: Batch,
    block: &TreeRoot,
) -> Result<(Batch, Vec<Link>), IndexError> {
    let low = Key::lowest(block.layout.key_words);
    let mut links = vec![Link { ptr: block.first_leaf, low, high: None }];
    let mut tried = 0;
    while let Some(&Link { ptr, low, .. }) = links.last() {
        let span;
        (batch, span) = read_node(env, batch, block.layout, ptr).await?;
        let leaf = LeafView::new(block.layout, batch.words(span));
        if !leaf.is_live(0) || leaf.low() != low.words() {
            links.pop();
            continue;
        }
        let mut last = Link::of(ptr, &leaf);
        let mut next = leaf.next();
        batch.truncate(span.at);
        links.pop();
        loop {
            links.push(last);
            let Some(end) = last.high else { return Ok((batch, links)) };
            let behind;
            (batch, behind) = read_behind(env, batch, block.layout, next, end.words()).await?;
            let Some(behind) = behind else { break };
            let leaf = LeafView::new(block.layout, batch.words(behind.span));
            (last, next) = (Link::of(behind.ptr, &leaf), leaf.next());
            batch.truncate(behind.span.at);
        }
        tried += 1;
        if tried > links.len() + WALK_RETRY_COUNT_MAX as usize {
            return Err(IndexError::Contended);
        }
        back_off(env, tried as u32).await;
    }
    Err(IndexError::Damaged(Flaw::NoFirstLeaf.at(block.first_leaf)))
}

/// Writes the nodes above `children` and returns the separators that lead to them.
async fn build_level<E: Env>(
    env: &E,
    mut batch: Batch,
    allocator: &dyn NodeAllocator<E>,
    block: &TreeRoot,
    children: &[Separator],
) -> Result<(Batch, Vec<Separator>), IndexError> {
    let layout = inner_layout(block.layout);
    let size = (layout.entries as usize * FILL_PERCENT / 100).max(2);
    let mut nodes = Vec::with_capacity(children.len().div_ceil(size));
    let (mut next, mut high) = (GlobalPtr::NULL, None);
    for group in children.chunks(size).rev() {
        batch.reset();
        let ptr = allocator.allocate(env, block.label, layout.words()).await?;
        let version = batch.read(ptr.add_words(u64::from(leaf::VERSION)), 1);
        batch = execute(env, batch).await?;
        let low = group[0].low;
        let alone = Head::alone(batch.word(version.at), block.height as u8, low);
        let head = Head { next, high, ..alone };
        let mut image = ImageBuilder::start(&mut batch, layout);
        for child in group {
            image.push(&mut batch, child.low.words(), &[child.child.word()]);
        }
        let span = image.finish(&mut batch, &head);
        post_image(&mut batch, layout, ptr, span);
        batch = execute(env, batch).await?;
        (next, high) = (ptr, Some(low));
        nodes.push(Separator { low, child: ptr });
    }
    nodes.reverse();
    Ok((batch, nodes))
}
