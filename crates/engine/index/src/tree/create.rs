//! Creates a tree, and opens one by its root block.

use super::descend::read_root;
use super::find::ask;
use super::image::{Head, ImageBuilder, post_image};
use super::message::{Request, TREE_SERVICE};
use super::node::execute;
use super::settle::release_latch;
use super::step::TreeStep;
use super::{LeafView, Tree};
use crate::error::IndexError;
use fabric::{Batch, CallError, Env};
use layout::leaf;
use layout::{GlobalPtr, Key, LeafLayout, NodeId};
use memory::{Label, Pool};

/// Creates an empty tree: one leaf from `pool`, root block and inner nodes on `node`.
pub async fn create_tree<E: Env>(
    env: &E,
    pool: &mut Pool,
    node: NodeId,
    layout: LeafLayout,
) -> Result<Tree, IndexError> {
    assert!((1..=layout::KEY_WORDS_MAX).contains(&(layout.key_words as usize)));
    assert!(layout.entries >= 4, "LeafLayout::within never makes smaller nodes");
    let label = pool.label();
    let first_leaf = pool.allocate(env, layout.words()).await?;
    let mut batch = Batch::new();
    let version = batch.read(first_leaf.add_words(u64::from(leaf::VERSION)), 1);
    batch = execute(env, batch).await?;
    let head = Head::alone(batch.word(version.at), 0, Key::lowest(layout.key_words));
    let span = ImageBuilder::start(&mut batch, layout).finish(&mut batch, &head);
    assert!(LeafView::new(layout, batch.words(span)).is_live(0));
    batch.write_word(first_leaf.add_words(u64::from(leaf::INSERT)), head.insert.word());
    post_image(&mut batch, layout, first_leaf, span);
    execute(env, batch).await?;
    env.reach(TreeStep::FirstLeafWritten).await;
    let nowhere = Tree { root: GlobalPtr::NULL, node, layout };
    let root = ask(env, &nowhere, Request::Create { layout, first_leaf, label }).await?;
    Ok(Tree { root, node, layout })
}

/// Notifies the tree service of `node` that the trees with this label are dropped and their extents
/// freed.
pub async fn forget_trees<E: Env>(env: &E, node: NodeId, label: Label) -> Result<(), CallError> {
    let request = Request::Forget { place: GlobalPtr::new(node.region(), 0), label };
    env.call(node, TREE_SERVICE, request.encode()).await.map(drop)
}

/// Lets the memory server rebuild the inner nodes of a tree that it has taken over.
pub async fn rebuild_tree<E: Env>(env: &E, tree: &Tree) -> Result<(), IndexError> {
    ask(env, tree, Request::Rebuild { root: tree.root }).await.map(drop)
}

/// Releases the latch of a tree whose handlers have all ended, perhaps halfway: [`rebuild_tree`]
/// must follow. Nobody uses the tree.
///
/// # Errors
/// The memory server does not answer.
pub async fn unlatch_tree<E: Env>(env: &E, tree: &Tree) -> Result<(), IndexError> {
    release_latch(env, Batch::new(), tree.root).await.map(drop)
}

/// The tree whose root block is at `root`.
pub async fn open_tree<E: Env>(env: &E, root: GlobalPtr) -> Result<Tree, IndexError> {
    let (_, block) = read_root(env, Batch::new(), root).await?;
    Ok(Tree { root, node: root.region().server(), layout: block.layout })
}
