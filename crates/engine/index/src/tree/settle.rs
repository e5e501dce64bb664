//! Settling: updates the inner nodes to match the leaves.
//!
//! One idempotent operation serves split, absorption and repair. It relies on leaves only: under
//! the latch it walks the leaves of the requested range, from one that certainly begins where an
//! entry says, and gives the inner nodes above exactly one entry per leaf. Every change of leaves
//! is followed by its own settling, which waits for the same latch, so a change that this one did
//! not see is handled by the next:
//!
//! ```text
//! 1. settle A walks leaves X, Y            2. a client splits Y into Y, Z
//! 3. A writes entries X, Y                 4. the client's settle walks Y, Z, adds Z
//! ```
//!
//! Decision: docs/decisions/0033-the-path-to-a-leaf-is-a-hint.md

use super::chain::read_behind;
use super::descend::{InnerRead, check_key, descend, entry_for, read_root};
use super::inner::{Inner, Separator};
use super::node::{WAIT_COUNT_MAX, back_off, execute, read_node};
use super::root::{TreeRoot, inner_layout, latch};
use super::service::NodeAllocator;
use super::step::TreeStep;
use super::view::{LeafView, is_below};
use crate::damage::Flaw;
use crate::error::IndexError;
use fabric::{Batch, Env};
use layout::{GlobalPtr, Key};
use std::ops::Range;

/// Restarts of the walk over the leaves because one of them was absorbed meanwhile.
pub(super) const WALK_RETRY_COUNT_MAX: u32 = 100;
pub(super) const UNLATCHED: u64 = 0;
const LATCHED: u64 = 1;

/// Replaces some entries of an inner node.
pub(super) struct Change<'a> {
    /// The entries replaced, by position.
    pub replaced: Range<u32>,
    /// The leaves whose entries replace them.
    pub links: &'a [Link],
}

/// A leaf on the walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub ptr: GlobalPtr,
    pub low: Key,
    pub high: Option<Key>,
}

impl Link {
    pub fn of(ptr: GlobalPtr, leaf: &LeafView<'_>) -> Self {
        Self { ptr, low: Key::from_words(leaf.low()), high: leaf.high_key() }
    }

    fn covers(&self, key: &Key) -> bool {
        self.low <= *key && self.high.is_none_or(|high| *key < high)
    }
}

/// Updates the inner nodes above the leaves that cover `low..high` (`high` `None`: to the end), and
/// returns the leaf that covers `low`.
pub(super) async fn settle<E: Env>(
    env: &E,
    batch: Batch,
    allocator: &dyn NodeAllocator<E>,
    root: GlobalPtr,
    low: Key,
    high: Option<Key>,
) -> Result<(Batch, GlobalPtr), IndexError> {
    let (batch, block) = read_root(env, batch, root).await?;
    check_key(&block, &low)?;
    let batch = take_latch(env, batch, root).await?;
    env.reach(TreeStep::LatchHeld).await;
    let settled = settle_latched(env, batch, allocator, root, low, high).await;
    env.reach(TreeStep::Settled).await;
    let (batch, result) = match settled {
        Ok((batch, ptr)) => (batch, Ok(ptr)),
        Err(error) => (Batch::new(), Err(error)),
    };
    let batch = release_latch(env, batch, root).await?;
    Ok((batch, result?))
}

pub(super) async fn take_latch<E: Env>(
    env: &E,
    mut batch: Batch,
    root: GlobalPtr,
) -> Result<Batch, IndexError> {
    for tried in 0..WAIT_COUNT_MAX {
        let swap = batch.compare_and_swap(latch(root), UNLATCHED, LATCHED);
        batch = execute(env, batch).await?;
        if batch.swapped(swap) {
            return Ok(batch);
        }
        back_off(env, tried).await;
    }
    Err(IndexError::Contended)
}

pub(super) async fn release_latch<E: Env>(
    env: &E,
    mut batch: Batch,
    root: GlobalPtr,
) -> Result<Batch, IndexError> {
    batch.write_word(latch(root), UNLATCHED);
    execute(env, batch).await
}

async fn settle_latched<E: Env>(
    env: &E,
    batch: Batch,
    allocator: &dyn NodeAllocator<E>,
    root: GlobalPtr,
    low: Key,
    high: Option<Key>,
) -> Result<(Batch, GlobalPtr), IndexError> {
    // The latch guards the root block: it only changes here.
    let (batch, block) = read_root(env, batch, root).await?;
    let (batch, links) = walk(env, batch, root, &block, low, high).await?;
    let found =
        links.iter().find(|link| link.covers(&low)).expect("the walk passes the low key").ptr;
    let mut inner = Inner { env, allocator, root, block };
    let batch = align(&mut inner, batch, &links).await?;
    Ok((batch, found))
}

/// The leaves from one that begins at or before `low` to the one that reaches `high`, without gap.
async fn walk<E: Env>(
    env: &E,
    mut batch: Batch,
    root: GlobalPtr,
    block: &TreeRoot,
    low: Key,
    high: Option<Key>,
) -> Result<(Batch, Vec<Link>), IndexError> {
    for tried in 0..WALK_RETRY_COUNT_MAX {
        let (start, links);
        (batch, start) = trusted_leaf(env, batch, root, block, &low).await?;
        (batch, links) = walk_from(env, batch, block, start, &low, high.as_ref()).await?;
        if let Some(links) = links {
            assert!(links.windows(2).all(|pair| pair[0].high == Some(pair[1].low)));
            return Ok((batch, links));
        }
        back_off(env, tried).await;
    }
    Err(IndexError::Contended)
}

async fn walk_from<E: Env>(
    env: &E,
    mut batch: Batch,
    block: &TreeRoot,
    start: (GlobalPtr, Link),
    low: &Key,
    high: Option<&Key>,
) -> Result<(Batch, Option<Vec<Link>>), IndexError> {
    let (mut next, first) = start;
    let mut links = vec![first];
    let mut last = first;
    while let Some(end) = last.high {
        if *low < end && high.is_some_and(|high| *high <= end) {
            break;
        }
        let behind;
        (batch, behind) = read_behind(env, batch, block.layout, next, end.words()).await?;
        let Some(behind) = behind else {
            return Ok((batch, None));
        };
        let leaf = LeafView::new(block.layout, batch.words(behind.span));
        last = Link::of(behind.ptr, &leaf);
        next = leaf.next();
        links.push(last);
        batch.truncate(behind.span.at);
    }
    Ok((batch, Some(links)))
}

/// A leaf at or before `key` that certainly belongs to the tree, with its right neighbour: the
/// nearest one left of `key` that begins where its entry says. Other entries are skipped; the
/// leftmost is the first leaf, which lives as long as the tree.
async fn trusted_leaf<E: Env>(
    env: &E,
    mut batch: Batch,
    root: GlobalPtr,
    block: &TreeRoot,
    key: &Key,
) -> Result<(Batch, (GlobalPtr, Link)), IndexError> {
    let layout = inner_layout(block.layout);
    let mut probe = *key;
    loop {
        let node;
        (batch, node) = descend(env, batch, root, probe.words(), 1).await?;
        let last = entry_for(&node, &node.view(&batch, layout), probe.words())?;
        let found;
        (batch, found) = trusted_child(env, batch, block, &node, last).await?;
        if let Some(found) = found {
            return Ok((batch, found));
        }
        let Some(before) = Key::from_words(node.view(&batch, layout).low()).predecessor() else {
            return Err(IndexError::Damaged(Flaw::NoFirstLeaf.at(block.first_leaf)));
        };
        batch.truncate(node.span.at);
        probe = before;
    }
}

/// The last trustworthy child among entries `0..=last` of `node`. The first entry may be a loan,
/// and is trusted if its leaf covers the entry's key.
async fn trusted_child<E: Env>(
    env: &E,
    mut batch: Batch,
    block: &TreeRoot,
    node: &InnerRead,
    last: u32,
) -> Result<(Batch, Option<(GlobalPtr, Link)>), IndexError> {
    let layout = inner_layout(block.layout);
    for index in (0..=last).rev() {
        let ptr = node.view(&batch, layout).child(index);
        let span;
        (batch, span) = read_node(env, batch, block.layout, ptr).await?;
        let leaf = LeafView::new(block.layout, batch.words(span));
        let key = node.view(&batch, layout).key(index);
        let exact = leaf.low() == key;
        let loan = index == 0 && leaf.covers(key);
        let found =
            (leaf.is_live(0) && (exact || loan)).then(|| (leaf.next(), Link::of(ptr, &leaf)));
        batch.truncate(span.at);
        if found.is_some() {
            return Ok((batch, found));
        }
    }
    Ok((batch, None))
}

/// Gives every inner node of level 1 above `links` one entry per leaf.
async fn align<E: Env>(
    inner: &mut Inner<'_, E>,
    mut batch: Batch,
    links: &[Link],
) -> Result<Batch, IndexError> {
    let end = links.last().expect("a walk meets at least one leaf").high;
    let mut position = Some(links[0].low);
    while let Some(low) = position.filter(|low| end.is_none_or(|end| *low < end)) {
        let mark = batch.arena_words() as u32;
        let node;
        (batch, node) = descend(inner.env, batch, inner.root, low.words(), 1).await?;
        let view = node.view(&batch, inner.layout());
        position = view.high_key();
        if let Some(change) = change_in_place(&view, links, inner.layout().entries) {
            batch = inner.rewrite_part(batch, &node, &change).await?;
        } else {
            let (old, new) = (separators(&view), aligned(&view, links));
            if old != new {
                batch = inner.replace(batch, &node, &old, new).await?;
            }
        }
        batch.truncate(mark);
    }
    Ok(batch)
}

/// The usual effect of splitting one leaf: some entries of the node are replaced by `links`, and
/// all of them fit. `None` in any other case: no room, a loan at the beginning, too few entries
/// left.
fn change_in_place<'a>(
    node: &LeafView<'_>,
    links: &'a [Link],
    capacity: u32,
) -> Option<Change<'a>> {
    let start = links[0].low;
    if is_below(start.words(), node.low()) {
        return None;
    }
    let inside = links.iter().take_while(|link| !node.ends_before(link.low.words())).count();
    let (Ok(from) | Err(from)) = node.search(start.words());
    let to = match links[links.len() - 1].high {
        Some(end) => node.search(end.words()).unwrap_or_else(|after| after),
        None => node.count(),
    };
    let count = from + inside as u32 + node.count() - to;
    (2..=capacity)
        .contains(&count)
        .then_some(Change { replaced: from..to, links: &links[..inside] })
}

pub(super) fn separators(node: &LeafView<'_>) -> Vec<Separator> {
    (0..node.count())
        .map(|index| Separator { low: Key::from_words(node.key(index)), child: node.child(index) })
        .collect()
}

/// The entries of `node` with those in the range of `links` replaced by one per leaf. If no leaf
/// begins where the node begins, its first entry borrows the leaf that covers this key.
fn aligned(node: &LeafView<'_>, links: &[Link]) -> Vec<Separator> {
    let (start, end) = (links[0].low, links[links.len() - 1].high);
    let old = separators(node);
    let low = Key::from_words(node.low());
    let mut new: Vec<Separator> = old.iter().copied().filter(|old| old.low < start).collect();
    if start <= low {
        let first = links.iter().find(|link| link.covers(&low)).expect("the leaves meet");
        if first.low != low {
            new.push(Separator { low, child: first.ptr });
        }
    }
    let inside = |link: &&Link| low <= link.low && !node.ends_before(link.low.words());
    new.extend(
        links.iter().filter(inside).map(|link| Separator { low: link.low, child: link.ptr }),
    );
    new.extend(old.into_iter().filter(|old| end.is_some_and(|end| end <= old.low)));
    assert!(!is_below(new[0].low.words(), low.words()));
    assert!(new[0].low == low, "an inner node begins with its low fence");
    new
}
