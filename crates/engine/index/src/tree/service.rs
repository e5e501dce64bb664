//! The tree service: creates trees, and handles calls of compute servers that need inner nodes.
//!
//! Decision: docs/decisions/0032-leaves-are-read-one-sided-inner-nodes-by-call.md

use super::descend::find_child;
use super::image::{Head, ImageBuilder, post_image};
use super::message::{Answer, Request};
use super::node::execute;
use super::rebuild::rebuild;
use super::root::{ROOT_WORDS, TreeRoot, inner_layout};
use super::settle::settle;
use crate::error::IndexError;
use fabric::{Batch, CallError, Env, Reply, Service};
use layout::leaf;
use layout::{GlobalPtr, Key, LeafLayout};
use memory::{AllocateError, Label};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

/// An allocation under way.
pub type Allocation<'a> = Pin<Box<dyn Future<Output = Result<GlobalPtr, AllocateError>> + 'a>>;

/// Allocates root blocks and inner nodes, in the region of their tree.
pub trait NodeAllocator<E: Env>: Send + Sync {
    /// Allocates `words` words for the tree with this label; `env` is the memory server's.
    fn allocate<'a>(&'a self, env: &'a E, label: Label, words: u32) -> Allocation<'a>;

    /// Drops the state of trees with this label, whose extents are being freed.
    fn forget(&self, label: Label);
}

pub struct TreeService<E: Env> {
    allocator: Arc<dyn NodeAllocator<E>>,
    /// Batches of finished calls, reused so that a call allocates no arena. Never locked across an
    /// await.
    batches: Mutex<Vec<Batch>>,
}

impl<E: Env> TreeService<E> {
    /// A service that allocates its nodes from `allocator`.
    pub fn new(allocator: Arc<dyn NodeAllocator<E>>) -> Self {
        Self { allocator, batches: Mutex::default() }
    }

    fn take_batch(&self) -> Batch {
        self.batches.lock().expect("no holder panics").pop().unwrap_or_default()
    }

    fn put_back(&self, mut batch: Batch) {
        batch.reset();
        self.batches.lock().expect("no holder panics").push(batch);
    }

    async fn answer(
        &self,
        env: &E,
        batch: Batch,
        request: Request,
    ) -> Result<(Batch, GlobalPtr), IndexError> {
        let allocator = &*self.allocator;
        match request {
            Request::Create { layout, first_leaf, label } => {
                create(env, batch, allocator, (layout, first_leaf, label)).await
            }
            Request::Forget { label, .. } => {
                allocator.forget(label);
                Ok((batch, GlobalPtr::NULL))
            }
            Request::Rebuild { root } => {
                let batch = rebuild(env, batch, allocator, root).await?;
                Ok((batch, root))
            }
            Request::Find { root, key } => find_child(env, batch, root, &key).await,
            Request::Settle { root, low, high } => {
                settle(env, batch, allocator, root, low, high).await
            }
        }
    }
}

impl<E: Env> Service<E> for TreeService<E> {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let request = Request::decode(request)?;
            match self.answer(env, self.take_batch(), request).await {
                Ok((batch, ptr)) => {
                    self.put_back(batch);
                    Ok(Answer::Found(ptr).encode())
                }
                Err(IndexError::Damaged(damage)) => Ok(Answer::Damaged(damage).encode()),
                Err(IndexError::Contended) => Ok(Answer::Contended.encode()),
                Err(IndexError::OutOfMemory(sentence)) => Ok(Answer::Full(sentence).encode()),
                Err(IndexError::Call(error)) => Err(error),
                Err(error) => Err(CallError::Refused(error.to_string())),
            }
        })
    }
}

/// Creates the top node, whose only child is the first leaf, and then the root block.
async fn create<E: Env>(
    env: &E,
    mut batch: Batch,
    allocator: &dyn NodeAllocator<E>,
    (layout, first_leaf, label): (LeafLayout, GlobalPtr, Label),
) -> Result<(Batch, GlobalPtr), IndexError> {
    let inner = inner_layout(layout);
    let top = allocator.allocate(env, label, inner.words()).await?;
    let root = allocator.allocate(env, label, ROOT_WORDS).await?;
    let version = batch.read(top.add_words(u64::from(leaf::VERSION)), 1);
    batch = execute(env, batch).await?;
    let low = Key::lowest(layout.key_words);
    let mut image = ImageBuilder::start(&mut batch, inner);
    image.push(&mut batch, low.words(), &[first_leaf.word()]);
    let head = Head::alone(batch.word(version.at), 1, low);
    let span = image.finish(&mut batch, &head);
    post_image(&mut batch, inner, top, span);
    let spare = GlobalPtr::NULL;
    let block = TreeRoot { layout, first_leaf, label, top, height: 1, inner_count: 1, spare };
    let block = batch.put(&block.words());
    batch.write(root, block);
    Ok((execute(env, batch).await?, root))
}
