//! B+-trees over remote memory [ZB17 §5.2].
//!
//! Compute servers read and write leaves with one-sided verbs; inner nodes belong to the memory
//! server that holds the tree's root block, and only its handlers change them. A compute server
//! caches the addresses of leaves ([`LeafCache`]), so that a warm lookup is one round trip for the
//! leaf and nothing else; a miss costs one more call. We deviate from the paper, whose trees are
//! reached by calls only: most lookups then cost the memory server nothing.
//!
//! The tree is a B-link tree [LY81]: every node knows its fences and its right neighbour. Cache and
//! inner nodes are therefore only hints about a leaf. A reader of a leaf compares its fences with
//! the key; from a leaf too far left it follows `next`, and in any other case it calls again. So a
//! change of leaves is complete for readers before any inner node reflects it, and every split or
//! absorption ends with the same idempotent call, *settle*: the handler walks the changed leaves
//! and updates the inner nodes. A reader that finds the inner nodes outdated, because a process
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
//! - At every moment each key lies between the fences of a leaf that is reached from the first leaf
//!   over `next`. A writer that changes a leaf holds its insert word; readers never wait for it.
//! - A leaf's low fence never changes while it lives; the next leaf in the same memory has another
//!   [`generation`].
//! - An inner node's first entry has the node's low fence as its key. On level 1 its child may
//!   begin left of that key (a *loan*: the leaf that began there was absorbed by a leaf of the
//!   neighbouring inner node); all other entries have the low fences of their children as keys.
//! - Insert words hold numbers that are never reused, and a lock consists of a swap *and* a read of
//!   the node's version after it ([`post_lock`]), so that a leaf with an outdated image is never
//!   changed.
//!
//! # Reading order
//! [`root`], `view` and `image` are the nouns. Compute side: `create`, `find`, `chain`, `scan`,
//! `lock`, `write`, `split` (with `plan`), `absorb`, `recover`. Memory server: `service`,
//! `descend`, `settle`, `inner`, `rebuild`. [`check`] verifies it all.
//!
//! [LY81] Lehman, Yao: Efficient locking for concurrent operations on B-trees.
//!
//! Decision: docs/decisions/0032-leaves-are-read-one-sided-inner-nodes-by-call.md

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
pub use create::{create_tree, forget_trees, open_tree, rebuild_tree, unlatch_tree};
pub use find::{PostedLeaf, accept_any, accept_leaf, find_leaf, post_leaf, post_leaf_at};
pub use lock::{LeafLock, LockResult, lock_result, post_lock};
pub use message::TREE_SERVICE;
pub use rebuild::rebuild_inner_nodes;
pub use scan::{next_leaf, previous_leaf};
pub use service::{Allocation, NodeAllocator, TreeService};
pub use split::make_room;
pub use step::TreeStep;
pub use view::{LeafView, generation};
pub use write::{LeafEntry, write_leaf_with, write_leaf_without};

use fabric::{Batch, Span};
use layout::{GlobalPtr, LeafLayout, NodeId, VersionWord};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tree {
    /// Its root block, see [`root::TreeRoot`].
    pub root: GlobalPtr,
    /// The memory server with root block and inner nodes, which answers calls.
    pub node: NodeId,
    /// The shape of its leaves.
    pub layout: LeafLayout,
}

/// A leaf that was read untorn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafRead {
    pub ptr: GlobalPtr,
    /// Its words in the arena.
    pub span: Span,
    /// Its insert word, read with it: the expected value of a lock.
    pub insert: VersionWord,
}

impl LeafRead {
    /// The leaf's words in `batch`'s arena.
    #[inline]
    pub fn view<'a>(&self, batch: &'a Batch, tree: &Tree) -> LeafView<'a> {
        LeafView::new(tree.layout, batch.words(self.span))
    }
}
