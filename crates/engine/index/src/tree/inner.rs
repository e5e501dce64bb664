//! Changes inner nodes, under the latch of the tree.

use super::descend::{InnerRead, descend};
use super::image::{Head, ImageBuilder, post_image};
use super::node::{execute, read_node};
use super::root::{TreeRoot, inner_layout};
use super::service::NodeAllocator;
use super::settle::{Change, Link, separators};
use super::step::TreeStep;
use super::view::{LeafView, next_life, next_version};
use crate::error::IndexError;
use fabric::{Batch, Env, Span};
use layout::leaf;
use layout::{GlobalPtr, Key, LeafLayout};

/// An entry of an inner node: the low fence and the address of a child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Separator {
    pub low: Key,
    pub child: GlobalPtr,
}

/// Memory for a node, and the first version of its next generation.
struct Fresh {
    ptr: GlobalPtr,
    version: u64,
}

/// Fill of an inner node after a split in the middle, in percent.
const FILL_PERCENT: usize = 70;

/// The inner nodes of one tree, for the handler that holds its latch.
pub(super) struct Inner<'a, E: Env> {
    pub env: &'a E,
    pub allocator: &'a dyn NodeAllocator<E>,
    pub root: GlobalPtr,
    /// The root block; it does not change while the latch is held.
    pub block: TreeRoot,
}

impl<E: Env> Inner<'_, E> {
    /// The shape of inner nodes.
    pub fn layout(&self) -> LeafLayout {
        inner_layout(self.block.layout)
    }

    /// Replaces the entries of `node` by `new`. If they are too many it is split, and so are its
    /// ancestors as far as needed; if only a loan is left, its left neighbour absorbs it. Each
    /// split allocates its nodes, including a new top, before it changes anything: if the parent
    /// could not be split for lack of memory, the level has more nodes than the parent has entries,
    /// but is correct.
    pub async fn replace(
        &mut self,
        mut batch: Batch,
        node: &InnerRead,
        old: &[Separator],
        new: Vec<Separator>,
    ) -> Result<Batch, IndexError> {
        let capacity = self.layout().entries as usize;
        let (mut node, mut old, mut new) = (*node, old.to_vec(), new);
        loop {
            let head = Head::of(&node.view(&batch, self.layout()));
            let groups = split_evenly_or_append(&old, &new, capacity);
            if groups.len() == 1 {
                batch = self.rewrite(batch, node.ptr, &head, &new).await?;
                if let ([only], 1) = (&new[..], head.level) {
                    batch = self.shrink(batch, node.ptr, &head, only).await?;
                }
                return Ok(batch);
            }
            let is_top = node.ptr == self.block.top;
            let (fresh, rights);
            let count = groups.len() - 1 + usize::from(is_top);
            (batch, fresh) = self.allocate(batch, count).await?;
            (batch, rights) = self.split(batch, node.ptr, &head, &groups, &fresh).await?;
            if is_top {
                let top = fresh.last().expect("there is one more for the top");
                batch = self.raise(batch, node.ptr, &head, top).await?;
            }
            (batch, node) =
                descend(self.env, batch, self.root, head.low.words(), head.level + 1).await?;
            old = separators(&node.view(&batch, self.layout()));
            new = merge(&old, &rights);
        }
    }

    /// Rewrites a node in place with some of its entries replaced, unless they are the same.
    pub async fn rewrite_part(
        &self,
        mut batch: Batch,
        node: &InnerRead,
        change: &Change<'_>,
    ) -> Result<Batch, IndexError> {
        let layout = self.layout();
        let view = node.view(&batch, layout);
        let stands = |(index, link): (u32, &Link)| {
            view.key(index) == link.low.words() && view.child(index) == link.ptr
        };
        if change.replaced.len() == change.links.len()
            && change.replaced.clone().zip(change.links).all(stands)
        {
            return Ok(batch);
        }
        let head = Head::of(&view);
        let count = view.count();
        let mut image = ImageBuilder::start(&mut batch, layout);
        image.copy(&mut batch, node.span, 0, change.replaced.start);
        for link in change.links {
            image.push(&mut batch, link.low.words(), &[link.ptr.word()]);
        }
        image.copy(&mut batch, node.span, change.replaced.end, count);
        let head = Head { version: next_version(head.version), ..head };
        let span = image.finish(&mut batch, &head);
        post_image(&mut batch, layout, node.ptr, span);
        execute(self.env, batch).await
    }

    /// Rewrites a node in place with entries that fit.
    async fn rewrite(
        &self,
        mut batch: Batch,
        ptr: GlobalPtr,
        head: &Head,
        entries: &[Separator],
    ) -> Result<Batch, IndexError> {
        let head = Head { version: next_version(head.version), ..*head };
        self.post(&mut batch, ptr, &head, entries);
        execute(self.env, batch).await
    }

    fn post(&self, batch: &mut Batch, ptr: GlobalPtr, head: &Head, entries: &[Separator]) {
        let layout = self.layout();
        assert!(head.dead || entries.first().is_some_and(|first| first.low == head.low));
        assert!(entries.windows(2).all(|pair| pair[0].low < pair[1].low));
        let mut image = ImageBuilder::start(batch, layout);
        for entry in entries {
            image.push(batch, entry.low.words(), &[entry.child.word()]);
        }
        let span = image.finish(batch, head);
        post_image(batch, layout, ptr, span);
    }

    /// Allocates memory for `count` nodes, or for none. Absorbed nodes come first: a reader that
    /// still descends through one notices by level and fences that it is another node. They leave
    /// the spare list with the next change of the root block; fresh memory is lost if not all of it
    /// can be allocated.
    async fn allocate(
        &mut self,
        mut batch: Batch,
        count: usize,
    ) -> Result<(Batch, Vec<Fresh>), IndexError> {
        let layout = self.layout();
        let mut spare = self.block.spare;
        let mut found = Vec::with_capacity(count);
        for _ in 0..count {
            if spare.is_null() {
                let node = self.allocator.allocate(self.env, self.block.label, layout.words());
                found.push(node.await?);
                continue;
            }
            found.push(spare);
            let span;
            (batch, span) = read_node(self.env, batch, layout, spare).await?;
            spare = LeafView::new(layout, batch.words(span)).next();
        }
        self.block.spare = spare;
        let version = |ptr: &GlobalPtr| batch.read(ptr.add_words(u64::from(leaf::VERSION)), 1);
        let versions: Vec<Span> = found.iter().map(version).collect();
        batch = execute(self.env, batch).await?;
        let fresh = |(ptr, version): (GlobalPtr, Span)| Fresh {
            ptr,
            version: next_life(batch.word(version.at)),
        };
        let fresh = found.into_iter().zip(versions).map(fresh).collect();
        Ok((batch, fresh))
    }

    /// Splits a node into `groups`: writes the new nodes first, in `fresh` memory, then the node
    /// itself, which links to them from then on. Returns the separators that its parent lacks.
    async fn split(
        &mut self,
        mut batch: Batch,
        ptr: GlobalPtr,
        head: &Head,
        groups: &[&[Separator]],
        fresh: &[Fresh],
    ) -> Result<(Batch, Vec<Separator>), IndexError> {
        let mut rights = Vec::with_capacity(groups.len() - 1);
        let mut after = (head.next, head.high);
        for (group, &Fresh { ptr: right, version }) in groups[1..].iter().rev().zip(fresh) {
            self.block.inner_count += 1;
            let low = group[0].low;
            let right_head = Head { version, next: after.0, low, high: after.1, ..*head };
            self.post(&mut batch, right, &right_head, group);
            self.block.post_changes(&mut batch, self.root);
            batch = execute(self.env, batch).await?;
            after = (right, Some(low));
            rights.push(Separator { low, child: right });
        }
        rights.reverse();
        self.env.reach(TreeStep::InnerRightWritten).await;
        let left_head = Head { next: after.0, high: after.1, ..*head };
        batch = self.rewrite(batch, ptr, &left_head, groups[0]).await?;
        self.env.reach(TreeStep::InnerLeftWritten).await;
        Ok((batch, rights))
    }

    /// Puts a new top above the old one, which is its only child at first.
    async fn raise(
        &mut self,
        mut batch: Batch,
        old_top: GlobalPtr,
        head: &Head,
        top: &Fresh,
    ) -> Result<Batch, IndexError> {
        assert!(head.high.is_none(), "the top was alone on its level");
        let &Fresh { ptr: top, version } = top;
        self.block.inner_count += 1;
        let entry = Separator { low: head.low, child: old_top };
        let top_head = Head { version, level: head.level + 1, next: GlobalPtr::NULL, ..*head };
        self.post(&mut batch, top, &top_head, &[entry]);
        self.block.top = top;
        self.block.height += 1;
        self.block.post_changes(&mut batch, self.root);
        let batch = execute(self.env, batch).await?;
        self.env.reach(TreeStep::RootRaised).await;
        Ok(batch)
    }

    /// Lets the left neighbour absorb a node of level 1 that has only a loan, so that a permanently
    /// emptied range costs nothing. This is not done for the first node of its parent: its
    /// neighbour belongs to another parent, and one node per parent is a fair price for simplicity.
    async fn shrink(
        &mut self,
        batch: Batch,
        ptr: GlobalPtr,
        head: &Head,
        only: &Separator,
    ) -> Result<Batch, IndexError> {
        let Some(before) = head.low.predecessor() else {
            return Ok(batch);
        };
        if ptr == self.block.top {
            return Ok(batch);
        }
        let (batch, is_loan) = self.is_loan(batch, only).await?;
        if !is_loan {
            return Ok(batch);
        }
        let layout = self.layout();
        let (batch, parent) = descend(self.env, batch, self.root, head.low.words(), 2).await?;
        let entry = parent.view(&batch, layout).search(head.low.words());
        let Ok(index @ 1..) = entry else {
            return Ok(batch);
        };
        if parent.view(&batch, layout).child(index) != ptr {
            return Ok(batch);
        }
        let (batch, left) = descend(self.env, batch, self.root, before.words(), 1).await?;
        let left_view = left.view(&batch, layout);
        let left_head = Head::of(&left_view);
        assert!(left_head.high == Some(head.low) && left_head.next == ptr, "neighbours meet");
        let entries = separators(&left_view);
        let wider = Head { high: head.high, next: head.next, ..left_head };
        let batch = self.rewrite(batch, left.ptr, &wider, &entries).await?;
        self.env.reach(TreeStep::InnerTookOver).await;
        self.bury(batch, ptr, head, &parent, index).await
    }

    async fn is_loan(&self, batch: Batch, entry: &Separator) -> Result<(Batch, bool), IndexError> {
        let layout = self.block.layout;
        let (batch, span) = read_node(self.env, batch, layout, entry.child).await?;
        let leaf = LeafView::new(layout, batch.words(span));
        let is_loan = leaf.is_live(0) && leaf.low() != entry.low.words();
        Ok((batch, is_loan))
    }

    async fn bury(
        &mut self,
        mut batch: Batch,
        ptr: GlobalPtr,
        head: &Head,
        parent: &InnerRead,
        index: u32,
    ) -> Result<Batch, IndexError> {
        let parent_view = parent.view(&batch, self.layout());
        let parent_head = Head::of(&parent_view);
        let mut entries = separators(&parent_view);
        entries.remove(index as usize);
        // The node was rewritten once since `head` was read.
        let version = next_version(next_version(head.version));
        let dead = Head { version, dead: true, next: self.block.spare, ..*head };
        self.post(&mut batch, ptr, &dead, &[]);
        batch = execute(self.env, batch).await?;
        self.env.reach(TreeStep::InnerDead).await;
        batch = self.rewrite(batch, parent.ptr, &parent_head, &entries).await?;
        self.block.spare = ptr;
        self.block.inner_count -= 1;
        self.block.post_changes(&mut batch, self.root);
        execute(self.env, batch).await
    }
}

fn merge(old: &[Separator], more: &[Separator]) -> Vec<Separator> {
    let mut all: Vec<Separator> = old.iter().chain(more).copied().collect();
    all.sort_by_key(|entry| entry.low);
    all
}

/// One group if the entries fit; full groups if all new entries come after the old ones, because
/// more will follow there; otherwise groups of equal size.
fn split_evenly_or_append<'a>(
    old: &[Separator],
    new: &'a [Separator],
    capacity: usize,
) -> Vec<&'a [Separator]> {
    if new.len() <= capacity {
        return vec![new];
    }
    if new.starts_with(old) {
        return new.chunks(capacity).collect();
    }
    let count = (new.len() * 100).div_ceil(capacity * FILL_PERCENT).max(2);
    (0..count)
        .map(|group| &new[new.len() * group / count..new.len() * (group + 1) / count])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(keys: impl IntoIterator<Item = u64>) -> Vec<Separator> {
        let entry = |key| Separator { low: Key::from_words(&[key]), child: GlobalPtr::NULL };
        keys.into_iter().map(entry).collect()
    }

    #[test]
    fn appended_separators_leave_full_nodes_behind() {
        let sizes = |old: &[Separator], new: &[Separator]| -> Vec<usize> {
            split_evenly_or_append(old, new, 8).iter().map(|group| group.len()).collect()
        };
        assert_eq!(sizes(&entries(0..5), &entries(0..8)), [8]);
        assert_eq!(sizes(&entries(0..8), &entries(0..9)), [8, 1]);
        assert_eq!(sizes(&entries(1..9), &entries(0..9)), [4, 5]);
        let many = sizes(&entries(1..9), &entries(0..100));
        assert!(
            many.iter().all(|&size| (4..=8).contains(&size)) && many.iter().sum::<usize>() == 100
        );
    }
}
