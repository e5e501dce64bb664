//! B+-trees over remote memory [ZB17 §5.2].
//!
//! Leaves are read and written one-sided by compute servers; inner nodes belong to the memory
//! server that holds the tree's root block, and only its handlers change them. A compute server
//! remembers where leaves were ([`LeafCache`]), so that a warm lookup is one round trip for the
//! leaf and nothing else; a miss costs one call more. We deviate from the paper, whose trees are
//! reached by calls only: most lookups then cost the memory server nothing.
//!
//! The tree is a B-link tree [LY81]: every node knows its fences and its right neighbour. What
//! leads to a leaf (cache, inner nodes) is therefore a hint. Whoever reads a leaf compares its
//! fences with the key; too far left is mended by following `next`, anything else by asking again.
//! So a change of leaves is complete for readers before any inner node knows of it, and every split
//! or absorption ends with the same idempotent call, *settle*: the handler walks the changed leaves
//! and brings the inner nodes into line. Whoever finds the inner nodes outdated, because somebody
//! died in between, calls it as well.
//!
//! ```text
//! compute server                |  memory servers
//! LeafCache: low fence -> leaf  |  root block -> inner nodes, level 2 -> inner nodes, level 1
//!       \                                                                   |     |     |
//!        +-- read_row, one-sided ----------------------------------------> leaf->leaf->leaf
//! ```
//!
//! # Invariants
//! - At every moment each key lies between the fences of a leaf that is reached from the first
//!   leaf over `next`. Whoever changes a leaf holds its insert word; readers never wait for it.
//! - A leaf's low fence never changes while it lives; its memory's next life has another
//!   [`generation`].
//! - An inner node's first entry has the node's low fence as its key. On level 1 its child may
//!   begin left of that key (a *loan*: the leaf that began there was absorbed by a leaf of the
//!   neighbouring inner node); all other entries have the low fences of their children as keys.
//! - Insert words hold numbers that never come back, and a lock is taken by a swap *and* a look
//!   at the node's version behind it ([`post_lock`]), so that nobody changes a leaf whose image is
//!   outdated.
//!
//! # Reading order
//! [`root`], `view` and `image` are the nouns. Compute side: `create`, `find`, `chain`, `scan`,
//! `lock`, `write`, `split` (with `plan`), `absorb`, `recover`. Memory server: `service`,
//! `descend`, `settle`, `inner`, `rebuild`. [`check`] proves it all.
//!
//! [LY81] Lehman, Yao: Efficient locking for concurrent operations on B-trees.

mod absorb;
mod cache;
mod chain;
mod check;
mod create;
mod descend;
mod find;
mod image;
mod inner;
mod lock;
mod message;
mod node;
mod order;
mod plan;
mod rebuild;
mod recover;
pub mod root;
mod scan;
mod service;
mod settle;
mod split;
mod step;
#[cfg(test)]
mod tests;
mod view;
mod write;

pub use absorb::{Absorbed, absorb_right};
pub use cache::{LeafCache, LeafPlace};
pub use check::{TreeReport, check};
pub use create::{create_tree, forget_trees, open_tree};
pub use find::{PostedLeaf, accept_any, accept_leaf, find_leaf, post_leaf, post_leaf_at};
pub use lock::{LeafLock, LockResult, lock_result, post_lock};
pub use message::TREE_SERVICE;
pub use rebuild::rebuild_inner_nodes;
pub use recover::release_dead_owner;
pub use scan::{next_leaf, previous_leaf};
pub use service::{NodeAllocator, TreeService};
pub use split::make_room;
pub use step::TreeStep;
pub use view::{LeafView, generation};
pub use write::{LeafEntry, write_leaf_with, write_leaf_without};

use fabric::{Batch, Span};
use layout::{GlobalPtr, LeafLayout, NodeId, VersionWord};

/// A tree, as everybody who uses it names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tree {
    /// Its root block, see [`root::TreeRoot`].
    pub root: GlobalPtr,
    /// The memory server that holds root block, inner nodes and leaves, and answers calls.
    pub node: NodeId,
    /// The shape of its leaves.
    pub layout: LeafLayout,
}

/// A leaf that was read whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafRead {
    /// Where it lives.
    pub ptr: GlobalPtr,
    /// Where its words stand in the arena.
    pub span: Span,
    /// Its insert word, read with it: what a lock must expect.
    pub insert: VersionWord,
}

impl LeafRead {
    /// The leaf's words in `batch`'s arena.
    #[inline]
    pub fn view<'a>(&self, batch: &'a Batch, tree: &Tree) -> LeafView<'a> {
        LeafView::new(tree.layout, batch.words(self.span))
    }
}
