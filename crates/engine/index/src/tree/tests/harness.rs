//! A client that changes a tree the way transactions do: lock by swap, rewrite, release.

use crate::error::IndexError;
use crate::tree::*;
use fabric::{Batch, CallError, Env, LocalEnv, LocalWorld, WorldConfig, run_now};
use layout::{GlobalPtr, Key, LeafLayout, NodeId, RegionId, SlotId, VersionWord};
use memory::{AllocateError, EXTENT_SERVICE, ExtentService, Extents, Label, Need, Pool};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Small nodes, so that few keys fill many of them.
pub fn small_layout(checksummed: bool) -> LeafLayout {
    LeafLayout { key_words: 1, value_words: 1, entries: 6, checksummed }
}

/// Allocates inner nodes and root blocks from a server's extents.
pub struct ExtentAllocator {
    extents: Arc<Extents>,
    rest: Mutex<(GlobalPtr, u32)>,
}

const EXTENT_WORDS: u32 = 8 * 1024;

impl ExtentAllocator {
    pub fn new(extents: Arc<Extents>) -> Self {
        Self { extents, rest: Mutex::new((GlobalPtr::NULL, 0)) }
    }
}

impl<E: Env> NodeAllocator<E> for ExtentAllocator {
    fn allocate<'a>(&'a self, env: &'a E, _label: Label, words: u32) -> Allocation<'a> {
        Box::pin(async move {
            let rest = *self.rest.lock().expect("no holder panics");
            let (ptr, rest) = match rest.1.checked_sub(words) {
                Some(left) => (rest.0, left),
                None => {
                    let words_max = EXTENT_WORDS.max(words);
                    let bytes = u64::from(words_max) * layout::WORD_BYTES;
                    let extent = self.extents.allocate_in(env, bytes, Label(1), Need::Growth);
                    (extent.await?, words_max - words)
                }
            };
            *self.rest.lock().expect("no holder panics") = (ptr.add_words(u64::from(words)), rest);
            Ok(ptr)
        })
    }

    fn forget(&self, _label: Label) {}
}

/// Refuses a third of all allocations, in an irregular order.
pub struct Reluctant {
    allocator: ExtentAllocator,
    asked: AtomicU64,
}

impl Reluctant {
    pub fn new(extents: Arc<Extents>) -> Self {
        Self { allocator: ExtentAllocator::new(extents), asked: AtomicU64::new(0) }
    }
}

impl<E: Env> NodeAllocator<E> for Reluctant {
    fn allocate<'a>(&'a self, env: &'a E, label: Label, words: u32) -> Allocation<'a> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        if asked * asked % 31 < 10 {
            let full = AllocateError::Full { wanted_bytes: 1, free_bytes: 0, region_bytes: 1 };
            return Box::pin(std::future::ready(Err(full)));
        }
        self.allocator.allocate(env, label, words)
    }

    fn forget(&self, _label: Label) {}
}

/// A local world whose servers offer extents and trees.
pub fn local_world(server_count: u16, server_bytes: u64) -> Arc<LocalWorld> {
    let server_bytes = vec![server_bytes; usize::from(server_count)];
    let world = LocalWorld::new(&WorldConfig { server_bytes, seed: 1 }).expect("memory for a test");
    for node in 0..server_count {
        let extents = Arc::new(Extents::new(RegionId(node), world.region_bytes(RegionId(node))));
        world.register(NodeId(node), EXTENT_SERVICE, Arc::new(ExtentService(extents.clone())));
        let allocator = Arc::new(ExtentAllocator::new(extents));
        world.register(NodeId(node), TREE_SERVICE, Arc::new(TreeService::new(allocator)));
    }
    world
}

pub fn pool(server_count: u16) -> Pool {
    Pool::new(Label(2), (0..server_count).map(NodeId).collect())
}

/// A thread's or simulated compute server's access to a tree.
pub struct Client<E: Env> {
    pub env: E,
    pub tree: Tree,
    pub cache: LeafCache,
    pub pool: Pool,
    batch: Option<Batch>,
    slot: SlotId,
    /// The number used last, for the recovery of this client.
    pub counter: Rc<Cell<u64>>,
}

impl Client<LocalEnv> {
    /// A separate world with an empty tree.
    pub fn alone(layout: LeafLayout) -> Self {
        let world = local_world(2, 64 << 20);
        let env = world.endpoint();
        let mut pool = pool(2);
        let tree = run_now(create_tree(&env, &mut pool, NodeId(1), layout)).expect("an empty tree");
        Self::new(env, tree, pool, 1)
    }
}

pub fn key(number: u64) -> Key {
    Key::from_words(&[number])
}

impl<E: Env> Client<E> {
    pub fn new(env: E, tree: Tree, pool: Pool, slot: u16) -> Self {
        let cache = LeafCache::default();
        Self { env, tree, cache, pool, batch: None, slot: SlotId(slot), counter: Rc::default() }
    }

    pub fn timestamp(&mut self) -> VersionWord {
        self.counter.set(self.counter.get() + 1);
        VersionWord::new(self.slot, self.counter.get())
    }

    /// An empty batch; that of the last operation, unless it failed.
    pub fn batch(&mut self) -> Batch {
        let mut batch = self.batch.take().unwrap_or_default();
        batch.reset();
        batch
    }

    pub fn keep(&mut self, batch: Batch) {
        self.batch = Some(batch);
    }

    pub async fn get(&mut self, number: u64) -> Result<Option<u64>, IndexError> {
        let batch = self.batch();
        let key = key(number);
        let (batch, leaf) =
            find_leaf(&self.env, batch, &self.tree, &mut self.cache, key.words()).await?;
        let view = leaf.view(&batch, &self.tree);
        let value = view.search(key.words()).ok().map(|index| view.value(index)[0]);
        self.keep(batch);
        Ok(value)
    }

    /// Inserts all of `numbers` (sorted) that belong to the leaf of the first; returns their count.
    pub async fn insert_some(&mut self, numbers: &[u64]) -> Result<usize, IndexError> {
        let batch = self.batch();
        let (env, tree) = (self.env.clone(), self.tree);
        let first = key(numbers[0]);
        let (batch, leaf) = find_leaf(&env, batch, &tree, &mut self.cache, first.words()).await?;
        let view = leaf.view(&batch, &tree);
        let own = |number: &&u64| view.covers(&[**number]);
        let keys: Vec<Key> = numbers.iter().take_while(own).map(|&number| key(number)).collect();
        let timestamp = self.timestamp();
        let made =
            make_room(&env, batch, &tree, &mut self.cache, &mut self.pool, leaf, &keys, timestamp);
        let (batch, leaves) = made.await?;
        let leaf = *leaves
            .iter()
            .find(|leaf| leaf.view(&batch, &tree).covers(first.words()))
            .expect("the parts cover what the leaf covered");
        let view = leaf.view(&batch, &tree);
        let keys: Vec<Key> = keys.into_iter().filter(|key| view.covers(key.words())).collect();
        let batch = self.rewrite(batch, leaf, |batch| {
            let entry = |key: &Key| (batch.put(key.words()), value_of(key.words()[0]));
            let inserts: Vec<LeafEntry> = keys.iter().map(entry).collect();
            write_leaf_with(batch, &tree, &leaf, &inserts);
        });
        let batch = batch.await?;
        self.keep(batch);
        Ok(keys.len())
    }

    pub async fn insert(&mut self, number: u64) -> Result<(), IndexError> {
        self.insert_some(&[number]).await.map(drop)
    }

    /// Removes `number` if it is present.
    pub async fn remove(&mut self, number: u64) -> Result<bool, IndexError> {
        let batch = self.batch();
        let (env, tree) = (self.env.clone(), self.tree);
        let (batch, leaf) = find_leaf(&env, batch, &tree, &mut self.cache, &[number]).await?;
        let Ok(index) = leaf.view(&batch, &tree).search(&[number]) else {
            self.keep(batch);
            return Ok(false);
        };
        let batch = self.rewrite(batch, leaf, |batch| {
            write_leaf_without(batch, &tree, &leaf, &[index], number);
        });
        let batch = batch.await?;
        self.keep(batch);
        Ok(true)
    }

    async fn rewrite(
        &mut self,
        mut batch: Batch,
        leaf: LeafRead,
        post: impl FnOnce(&mut Batch),
    ) -> Result<Batch, IndexError> {
        if leaf.insert.is_locked() {
            return Err(IndexError::Conflict);
        }
        let timestamp = self.timestamp();
        let lock = post_lock(&mut batch, &self.tree, &leaf, timestamp);
        batch = self.env.execute(batch).await?;
        batch.clear_verbs();
        let result = lock_result(&batch, &lock);
        if result == LockResult::Held {
            post(&mut batch);
        }
        if result.must_release() {
            batch.write_word(leaf.ptr, timestamp.word());
            batch = self.env.execute(batch).await?;
            batch.clear_verbs();
        }
        if result == LockResult::Held { Ok(batch) } else { Err(IndexError::Conflict) }
    }

    /// Absorbs the right neighbour of the leaf of `number` if possible, and frees it at once: these
    /// clients keep pointers beyond an operation only in caches.
    pub async fn absorb(&mut self, number: u64) -> Result<bool, IndexError> {
        let batch = self.batch();
        let (env, tree) = (self.env.clone(), self.tree);
        let (batch, leaf) = find_leaf(&env, batch, &tree, &mut self.cache, &[number]).await?;
        let timestamp = self.timestamp();
        let absorbing = absorb_right(&env, batch, &tree, &mut self.cache, leaf, timestamp);
        let (batch, absorbed) = absorbing.await?;
        self.keep(batch);
        if let Some(absorbed) = absorbed {
            self.pool.free(&env, absorbed.dead, tree.layout.words());
        }
        Ok(absorbed.is_some())
    }

    /// All keys from `low` upwards.
    pub async fn scan_up(&mut self, low: u64) -> Result<Vec<u64>, IndexError> {
        let (env, tree) = (self.env.clone(), self.tree);
        let mut batch = self.batch();
        let mut leaf;
        (batch, leaf) = find_leaf(&env, batch, &tree, &mut self.cache, &[low]).await?;
        let mut first = leaf.view(&batch, &tree).lower_bound(&[low]);
        let mut found = Vec::new();
        loop {
            let view = leaf.view(&batch, &tree);
            found.extend((first..view.count()).map(|index| view.key(index)[0]));
            let next;
            (batch, next) = next_leaf(&env, batch, &tree, &mut self.cache, &leaf).await?;
            let Some(next) = next else { break };
            (leaf, first) = next;
        }
        self.keep(batch);
        Ok(found)
    }

    /// All keys from `high` downwards.
    pub async fn scan_down(&mut self, high: u64) -> Result<Vec<u64>, IndexError> {
        let (env, tree) = (self.env.clone(), self.tree);
        let mut batch = self.batch();
        let mut leaf;
        (batch, leaf) = find_leaf(&env, batch, &tree, &mut self.cache, &[high]).await?;
        let (Ok(mut end) | Err(mut end)) =
            leaf.view(&batch, &tree).search(&[high]).map(|index| index + 1);
        let mut found = Vec::new();
        loop {
            let view = leaf.view(&batch, &tree);
            found.extend((0..end).rev().map(|index| view.key(index)[0]));
            let previous;
            (batch, previous) = previous_leaf(&env, batch, &tree, &mut self.cache, &leaf).await?;
            let Some(previous) = previous else { break };
            (leaf, end) = previous;
        }
        self.keep(batch);
        Ok(found)
    }

    /// A full check; any error and, unless `unsettled` is allowed, any unsettled entry fails the
    /// test.
    pub async fn sound(&mut self, unsettled: bool) -> TreeReport {
        let report = check(&self.env, &self.tree).await.expect("the tree can be read");
        assert!(report.errors.is_empty(), "{report:#?}");
        assert!(unsettled || report.unsettled.is_empty(), "{report:#?}");
        report
    }
}

/// The value that the tests store under a key.
pub fn value_of(number: u64) -> u64 {
    number.wrapping_mul(3).wrapping_add(7)
}

/// Whether an operation may be retried.
pub fn is_retryable(error: &IndexError) -> bool {
    matches!(
        error,
        IndexError::Conflict | IndexError::Contended | IndexError::Call(CallError::Unreachable(_))
    )
}
