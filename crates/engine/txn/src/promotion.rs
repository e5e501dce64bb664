//! Promotion: a replica takes the place of a region whose memory server has died.
//!
//! ```text
//! close     every compute server learns that the region is closed: reads and locks of it fail,
//!           writes go to its replicas alone
//! drain     everything that may hold a lock of the region ends: commits, upkeep, and decisions
//!           about unknown outcomes. The dead compute servers are recovered
//! prepare   the replica's collected-up-to word is raised past all that the dead server's had
//! promote   every compute server sends the region's verbs to the replica
//! finish    the inner nodes of its trees are rebuilt: handlers died with the server
//! ```
//!
//! Locks are on the primary alone, so those of the dead server are gone. Nobody may lock a word of
//! the replica as long as somebody else believes that they hold it: hence the drain. A commit
//! writes the replicas in batch 2 and never before, so one that held locks is completed there or
//! has changed nothing.
//!
//! The caller makes sure that each step ends everywhere before the next begins, and that nothing
//! that the dead server has posted takes effect on others any more.
//!
//! Decision: docs/decisions/0315-replicas-are-written-ahead-of-the-primary.md

use crate::catalog::{CatalogError, Primary, Secondary};
use crate::database::{Database, Shared};
use fabric::{Batch, Env, FabricError, Mutant};
use layout::oracle::{CLOCK, NEWEST};
use layout::{GlobalPtr, RegionId, region};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Acquire};

/// First and longest interval between two looks at the works in progress.
const LOOK_NS: u64 = 10_000;
const LOOK_NS_MAX: u64 = 1_000_000;

/// Works in progress that may hold locks, by the generation in which they began.
#[derive(Default)]
pub(crate) struct LockHolders {
    generation: AtomicU32,
    counts: [AtomicU32; 2],
}

/// A work in progress.
pub(crate) struct LockHolder(Arc<LockHolders>, usize);

impl LockHolders {
    pub fn begin(self: &Arc<Self>) -> LockHolder {
        loop {
            let generation = self.generation.load(Acquire);
            let place = generation as usize % 2;
            self.counts[place].fetch_add(1, AcqRel);
            if self.generation.load(Acquire) == generation {
                return LockHolder(self.clone(), place);
            }
            self.counts[place].fetch_sub(1, AcqRel);
        }
    }

    /// Begins a generation. Returns the place of the one before, whose end is waited for.
    fn turn(&self) -> usize {
        self.generation.fetch_add(1, AcqRel) as usize % 2
    }
}

impl Drop for LockHolder {
    fn drop(&mut self) {
        self.0.counts[self.1].fetch_sub(1, AcqRel);
    }
}

impl<E: Env> Shared<E> {
    /// Begins a work that may hold locks, if regions have replicas.
    pub(crate) fn hold_locks(&self, env: &E) -> Option<LockHolder> {
        env.has_replicas().then(|| self.lock_holders.begin())
    }
}

impl<E: Env> Database<E> {
    /// Waits until nothing of this compute server holds a lock of the regions that are closed now;
    /// `false` if that takes until `deadline_ns`. One call at a time.
    pub async fn drain(&self, deadline_ns: u64) -> bool {
        if self.env.mutant(Mutant::PromoteUndrained) {
            return true;
        }
        let holders = &self.shared.lock_holders;
        let place = holders.turn();
        let mut look_ns = LOOK_NS;
        loop {
            let is_drained =
                holders.counts[place].load(Acquire) == 0 && self.shared.deciding.load(Acquire) == 0;
            if is_drained {
                return true;
            }
            if self.env.now_ns() >= deadline_ns {
                return false;
            }
            self.env.sleep_ns(look_ns).await;
            look_ns = (2 * look_ns).min(LOOK_NS_MAX);
        }
    }

    /// Raises the collected-up-to word of the replicas of a closed region: a transaction whose
    /// snapshot may need what was collected is refused by it.
    ///
    /// # Errors
    ///
    /// If the oracle or a replica does not answer; nothing is promoted then.
    pub async fn prepare_promotion(&self, region: RegionId) -> Result<(), FabricError> {
        let (env, oracle) = (&self.env, self.shared.oracle);
        let mut batch = Batch::new();
        let clock = batch.read(oracle.add_words(u64::from(CLOCK)), 1);
        let newest = batch.read(oracle.add_words(u64::from(NEWEST)), 1);
        let mut batch = env.execute(batch).await?;
        // Every stamp that any word has was the clock, or the number of a frozen vector.
        let stamp = batch.word(clock.at).max(batch.word(newest.at));
        batch.reset();
        for replica in env.replicas(region) {
            let word: GlobalPtr = region::collected(replica);
            batch.write_word(word, stamp);
        }
        if !batch.is_empty() {
            env.execute(batch).await?;
        }
        Ok(())
    }

    /// Rebuilds the inner nodes of the trees in a region, after a replica was promoted.
    ///
    /// # Errors
    ///
    /// If a memory server does not answer or is full; call it again then.
    pub async fn finish_promotion(&self, region: RegionId) -> Result<(), CatalogError> {
        let catalog = self.refresh().await?;
        for (_, table) in catalog.names() {
            let Some(info) = catalog.info(table) else { continue };
            let primary = match &info.primary {
                Primary::Tree(tree) => Some(tree),
                Primary::Hash(_) => None,
            };
            let indexes = info.indexes.iter().filter_map(|&number| catalog.index_info(number));
            let trees = indexes.filter_map(|index| match &index.storage {
                Secondary::Tree(tree) => Some(tree),
                Secondary::Hash(_) => None,
            });
            for tree in primary.into_iter().chain(trees) {
                if tree.root.region() == region {
                    index::tree::rebuild_tree(&self.env, tree).await?;
                }
            }
        }
        Ok(())
    }
}
