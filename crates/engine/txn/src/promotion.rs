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
use crate::database::{Database, Oracle, Shared};
use crate::recovery::readable;
use fabric::{Batch, Env, FabricError, Mutant};
use layout::oracle::{CLOCK, EPOCH, FREEZER, INDEXES, KEEPERS, NEWEST, SLOT_COUNT, TABLES, VECTOR};
use layout::{GlobalPtr, RegionId, region};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32};

/// First and longest interval between two looks at the works in progress.
const LOOK_NS: u64 = 10_000;
const LOOK_NS_MAX: u64 = 1_000_000;
/// More than the additions to a word that its replicas lack: those that dead compute servers had
/// under way, and those that failed because a replica's server stood still. Clock and epoch may be
/// raised often; the numbers of tables and indexes have 32 bits, and are drawn seldom.
const LOST_TICKS_MAX: u64 = 1 << 40;
const LOST_NUMBERS_MAX: u64 = 1 << 10;

/// Works in progress that may hold locks: of one database, or of all databases of a process
/// ([`Database::counted_in`]).
#[derive(Default, Debug)]
pub struct LockHolders {
    /// Works are counted by the generation in which they began.
    generation: AtomicU32,
    counts: [AtomicU32; 2],
    /// Decisions about unknown outcomes in progress.
    deciding: AtomicU32,
    /// Whether an outcome stays undecided.
    has_given_up_decision: AtomicBool,
    /// Changes of the catalog in progress. They hold no locks, and may take long.
    changes: AtomicU32,
}

/// A change of the catalog in progress.
pub(crate) struct RunningChange(Arc<LockHolders>);

impl Drop for RunningChange {
    fn drop(&mut self) {
        self.0.changes.fetch_sub(1, SeqCst);
    }
}

/// A work in progress.
pub(crate) struct LockHolder(Arc<LockHolders>, usize);

/// A wait for the end of everything that may hold a lock of a region that is closed now. There is
/// one at a time; it may be repeated.
pub struct Drain {
    holders: Arc<LockHolders>,
    has_turned: bool,
}

impl Drain {
    pub fn new(holders: Arc<LockHolders>) -> Self {
        Self { holders, has_turned: false }
    }

    /// Whether all of it has ended.
    pub fn is_over(&mut self) -> bool {
        let holders = &self.holders;
        // The next generation uses the place of the one before this: a drain that was not awaited
        // may have left works there.
        if !self.has_turned && holders.are_earlier_ended() {
            holders.turn();
            self.has_turned = true;
        }
        self.has_turned && holders.are_earlier_ended() && holders.deciding.load(Acquire) == 0
    }

    /// Whether a decision was given up: then the compute server must end, be fenced, and be
    /// recovered.
    pub fn has_failed(&self) -> bool {
        self.holders.has_given_up_decision.load(Acquire)
    }
}

impl LockHolders {
    pub(crate) fn begin(self: &Arc<Self>) -> LockHolder {
        loop {
            let generation = self.generation.load(SeqCst);
            let place = generation as usize % 2;
            self.counts[place].fetch_add(1, SeqCst);
            if self.generation.load(SeqCst) == generation {
                return LockHolder(self.clone(), place);
            }
            self.counts[place].fetch_sub(1, SeqCst);
        }
    }

    /// A change of the catalog begins.
    pub(crate) fn begin_change(self: &Arc<Self>) -> RunningChange {
        self.changes.fetch_add(1, SeqCst);
        RunningChange(self.clone())
    }

    /// Whether no change of the catalog is in progress.
    pub fn are_changes_over(&self) -> bool {
        self.changes.load(SeqCst) == 0
    }

    /// A decision has begun.
    pub(crate) fn begin_decision(&self) {
        self.deciding.fetch_add(1, AcqRel);
    }

    /// A decision has ended, or was given up.
    pub(crate) fn end_decision(&self, is_decided: bool) {
        if !is_decided {
            self.has_given_up_decision.store(true, Release);
        }
        self.deciding.fetch_sub(1, AcqRel);
    }

    /// Begins a generation.
    fn turn(&self) {
        self.generation.fetch_add(1, SeqCst);
    }

    /// Whether no work of an earlier generation is in progress.
    fn are_earlier_ended(&self) -> bool {
        let place = (self.generation.load(SeqCst) as usize + 1) % 2;
        self.counts[place].load(SeqCst) == 0
    }
}

impl Drop for LockHolder {
    fn drop(&mut self) {
        self.0.counts[self.1].fetch_sub(1, SeqCst);
    }
}

impl<E: Env> Shared<E> {
    /// Begins a work that may hold locks, if regions have replicas.
    pub(crate) fn hold_locks(&self, env: &E) -> Option<LockHolder> {
        env.has_replicas().then(|| self.lock_holders().begin())
    }

    /// As [`Self::hold_locks`], for work that also needs the oracle.
    ///
    /// # Errors
    ///
    /// If the oracle's server has died, and no replica was promoted yet.
    pub(crate) fn begin_work(&self, env: &E) -> Result<Option<LockHolder>, FabricError> {
        let holder = self.hold_locks(env);
        match env.is_paused() {
            true => Err(FabricError::Unreachable(env.node_of(self.oracle.region()))),
            false => Ok(holder),
        }
    }
}

impl<E: Env> Database<E> {
    /// Waits until nothing of this compute server holds a lock of the regions that are closed now;
    /// `false` if that takes until `deadline_ns`, or if a decision about an unknown outcome was
    /// given up: then this compute server must end, be fenced, and be recovered. One call at a
    /// time; it may be repeated.
    pub async fn drain(&self, deadline_ns: u64) -> bool {
        if self.env.mutant(Mutant::PromoteUndrained) {
            return true;
        }
        let mut drain = Drain::new(self.shared.lock_holders().clone());
        let mut look_ns = LOOK_NS;
        while !drain.is_over() {
            if self.env.now_ns() >= deadline_ns {
                return false;
            }
            self.env.sleep_ns(look_ns).await;
            look_ns = (2 * look_ns).min(LOOK_NS_MAX);
        }
        !drain.has_failed()
    }

    /// Waits until no change of the catalog is in progress on this compute server; `false` if that
    /// takes until `deadline_ns`. Before a server is filled, while
    /// [`fabric::AddressMap::defers_changes`] lets none begin.
    pub async fn await_changes(&self, deadline_ns: u64) -> bool {
        let mut look_ns = LOOK_NS;
        while !self.shared.lock_holders().are_changes_over() {
            if self.env.now_ns() >= deadline_ns {
                return false;
            }
            self.env.sleep_ns(look_ns).await;
            look_ns = (2 * look_ns).min(LOOK_NS_MAX);
        }
        true
    }

    /// Prepares the replicas of a closed region for a promotion. Their collected-up-to word is
    /// raised: a transaction whose snapshot may need what was collected is refused by it. The
    /// oracle's words come back if the region has them.
    ///
    /// # Errors
    ///
    /// If the oracle or a replica does not answer; nothing is promoted then.
    pub async fn prepare_promotion(&self, region: RegionId) -> Result<(), FabricError> {
        let (env, shared) = (&self.env, &*self.shared);
        let mut batch = Batch::new();
        let words = batch.read(readable(env, shared.oracle), VECTOR);
        let mut batch = env.execute(batch).await?;
        let mut words = batch.words(words).to_vec();
        if env.is_closed(shared.oracle.region()) {
            self.restore(&mut words);
        }
        // Every stamp that any word has was the clock, or the number of a frozen vector.
        let stamp = match shared.config.oracle {
            Oracle::DoubleCollect => words[CLOCK as usize],
            Oracle::Frozen => words[NEWEST as usize],
        };
        batch.reset();
        for replica in env.replicas(region) {
            let word: GlobalPtr = region::collected(replica);
            batch.write_word(word, stamp);
        }
        // Of an open region somebody else has restored the oracle.
        if region == shared.oracle.region() && env.is_closed(region) {
            let words = batch.put(&words);
            batch.write(shared.oracle, words);
        }
        if !batch.is_empty() {
            env.execute(batch).await?;
        }
        Ok(())
    }

    /// Raises the oracle's first words, as a replica has them, past all that the dead server may
    /// have given out. A dead compute server's additions may be missing, and so may a frozen
    /// vector.
    fn restore(&self, words: &mut [u64]) {
        words[CLOCK as usize] += LOST_TICKS_MAX;
        words[EPOCH as usize] += LOST_TICKS_MAX;
        words[TABLES as usize] += LOST_NUMBERS_MAX;
        words[INDEXES as usize] += LOST_NUMBERS_MAX;
        words[NEWEST as usize] += 1;
        words[KEEPERS as usize] += LOST_NUMBERS_MAX;
        words[SLOT_COUNT as usize] = u64::from(self.shared.slots());
        // Nobody freezes a vector: everybody has drained, and the dead are fenced.
        words[FREEZER as usize] = 0;
    }

    /// Rebuilds the inner nodes of the trees in a region, after a replica was promoted.
    ///
    /// # Errors
    ///
    /// If a memory server does not answer or is full; call it again then.
    pub async fn finish_promotion(&self, region: RegionId) -> Result<(), CatalogError> {
        for tree in self.trees().await? {
            if tree.root.region() == region {
                index::tree::rebuild_tree(&self.env, &tree).await?;
            }
        }
        Ok(())
    }

    /// Releases the latches of all trees, which handlers held that ended with their servers. Nobody
    /// uses the database, and [`Self::finish_promotion`] follows for each region.
    ///
    /// # Errors
    ///
    /// If a memory server does not answer.
    pub async fn release_latches(&self) -> Result<(), CatalogError> {
        for tree in self.trees().await? {
            index::tree::unlatch_tree(&self.env, &tree).await?;
        }
        Ok(())
    }

    /// All trees of the database.
    async fn trees(&self) -> Result<Vec<index::tree::Tree>, CatalogError> {
        let catalog = self.refresh().await?;
        let mut all = Vec::new();
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
            all.extend(primary.into_iter().chain(trees).copied());
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::services;
    use crate::{DatabaseConfig, TableSpec};
    use fabric::{DynEnv, Fabric};
    use layout::{Column, ColumnType, IndexDesign, IndexKind, PhysicalDesign, Schema, Storage};
    use sim::{SimConfig, World};

    /// The word of a tree's root block that is its latch.
    const LATCH: u64 = 1;

    /// Handlers of the primary tree and of an index have ended with their servers.
    #[test]
    fn the_latches_of_all_trees_are_released() {
        let world = World::new(SimConfig::new(1).with_servers(&[1 << 20; 2]));
        let nodes = world.serve(services);
        let admin = world.endpoint(world.compute_node(0));
        world.block_on(&admin, async {
            let env: DynEnv = admin.clone().into_dyn();
            let created = Database::create(env.clone(), nodes, DatabaseConfig::default()).await;
            let database = created.expect("the servers are empty");
            let columns = [("id", ColumnType::Int4), ("group", ColumnType::Int8)];
            let columns = columns.map(|(name, kind)| Column::new(name, kind)).to_vec();
            let schema = Schema::new("t", columns, &[0]).expect("a valid schema");
            let design = PhysicalDesign { storage: Storage::Tree, ..PhysicalDesign::default() };
            let index = IndexDesign {
                name: "by_group".to_owned(),
                columns: vec![1],
                unique: false,
                kind: IndexKind::Tree,
                node_bytes: 256,
                size_hint: 4,
                hashed_columns: None,
            };
            let spec = TableSpec { schema, design, indexes: vec![index] };
            database.create_table(spec).await.expect("nobody else runs");
            let trees = database.trees().await.expect("the servers answer");
            assert_eq!(trees.len(), 2);
            let mut batch = Batch::new();
            for tree in &trees {
                batch.write_word(tree.root.add_words(LATCH), 1);
            }
            env.execute(batch).await.expect("the servers answer");
            for tree in &trees {
                assert!(database.finish_promotion(tree.root.region()).await.is_err());
            }
            database.release_latches().await.expect("the servers answer");
            for tree in &trees {
                database.finish_promotion(tree.root.region()).await.expect("nobody has a latch");
            }
        });
    }

    #[test]
    fn a_work_that_a_drain_has_not_awaited_is_awaited_by_the_next() {
        let holders = Arc::new(LockHolders::default());
        let old = holders.begin();
        assert!(holders.are_earlier_ended(), "it is of this generation");
        holders.turn();
        assert!(!holders.are_earlier_ended());
        let new = holders.begin();
        drop(old);
        assert!(holders.are_earlier_ended());
        holders.turn();
        assert!(!holders.are_earlier_ended());
        drop(new);
        assert!(holders.are_earlier_ended());
    }

    #[test]
    fn a_drain_waits_for_a_decision_about_a_commit_that_has_ended() {
        let holders = Arc::new(LockHolders::default());
        let commit = holders.begin();
        holders.begin_decision();
        drop(commit);
        let mut drain = Drain::new(holders.clone());
        assert!(!drain.is_over(), "the outcome is unknown, and locks may be held");
        holders.end_decision(true);
        assert!(drain.is_over() && !drain.has_failed());
        holders.begin_decision();
        let mut drain = Drain::new(holders.clone());
        assert!(!drain.is_over());
        holders.end_decision(false);
        assert!(drain.is_over() && drain.has_failed(), "others must decide");
    }
}
