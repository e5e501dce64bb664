//! A lane: one timestamp slot and everything a transaction needs, kept from one to the next.

use crate::abort::{Abort, TxnError};
use crate::access::{Access, AccessMap};
use crate::by_server::ByServer;
use crate::catalog::{
    Catalog, CatalogError, IndexId, IndexInfo, Primary, Secondary, TableId, TableInfo,
};
use crate::collect::{Horizon, Retired};
use crate::database::Shared;
use crate::detach::away_from_home;
use crate::displaced::DisplacedBuffer;
use crate::kept::KeptLeaves;
use crate::shared_slot::SharedSlot;
use crate::slot::LanePlace;
use crate::snapshot::Snapshot;
use crate::statistics::LaneStatistics;
use crate::transaction::{Isolation, Transaction};
use crate::unique::UniqueViolation;
use crate::value_pool::ValuePool;
use crate::write::{
    BucketInsert, BucketSeen, EntryInsert, InsertBlock, LeafInsert, LeafSeen, LeafWitness, Owner,
};
use fabric::{Batch, Env, Span};
use index::hash::Directory;
use index::tree::LeafCache;
use layout::oracle::{LANE_ACKNOWLEDGED, LANE_ACTIVE};
use layout::{GlobalPtr, Key, NodeId, SlotId, VersionWord};
use memory::{Label, Pool};
use std::collections::VecDeque;
use std::sync::Arc;

/// Number at which a slot is given up: one transaction never draws as many as are left.
pub(crate) const COUNTER_LIMIT: u64 = layout::version::COUNTER_MAX - (1 << 24);

/// Why no lane was given.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaneError {
    /// All timestamp slots are in use.
    #[error("all {0} lanes are in use; end a session, or open the database with more lanes")]
    Exhausted(u32),
    /// The oracle cannot be reached.
    #[error("the timestamp oracle cannot be reached")]
    Unreachable,
}

/// A lane runs one transaction at a time. It goes back to its database when it is dropped.
pub struct Lane<E: Env> {
    env: E,
    /// Gone for good once a future was dropped whose work goes on: it then goes home on its own.
    inner: Option<Box<LaneInner<E>>>,
}

impl<E: Env> Lane<E> {
    pub(crate) fn new(inner: Box<LaneInner<E>>) -> Self {
        Self { env: inner.env.clone(), inner: Some(inner) }
    }

    pub(crate) fn inner(&mut self) -> &mut LaneInner<E> {
        self.inner.as_mut().expect("a lane that is not at home has its inner part")
    }

    /// Starts a transaction: takes a snapshot.
    #[inline]
    pub async fn begin(&mut self, isolation: Isolation) -> Result<Transaction<'_, E>, Abort> {
        let Some(inner) = self.inner.as_mut() else { return Err(Abort::Unreachable) };
        inner.begin().await?;
        Ok(Transaction::new(&mut self.inner, isolation))
    }

    /// A hint that the next transaction will read these rows: where memory is reached through the
    /// processor's caches, they are on their way while the snapshot is taken.
    #[inline]
    pub fn prefetch(&self, reads: &[(TableId, Key)]) {
        if E::IMMEDIATE
            && let Some(inner) = &self.inner
        {
            inner.prefetch(reads);
        }
    }

    /// As [`Self::prefetch`], that the next transaction will look for this key in an index: a hint if the index is a
    /// hash table.
    #[inline]
    pub fn prefetch_lookup(&self, index: IndexId, key: &Key) {
        if E::IMMEDIATE
            && let Some(inner) = &self.inner
        {
            inner.prefetch_lookup(index.0, key);
        }
    }

    /// The world this lane lives in.
    pub fn env(&self) -> &E {
        &self.env
    }

    /// What the lane has done; none if the future of a commit was dropped, which goes on without the lane.
    pub fn statistics(&self) -> Option<&LaneStatistics> {
        Some(&self.inner.as_ref()?.statistics)
    }

    /// The snapshot that was taken last; none as for [`Lane::statistics`]. [`Snapshot::lag`] tells how stale it is.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        Some(&self.inner.as_ref()?.snapshot)
    }

    /// The version that the lane's last commit gave to its rows; none as for [`Lane::statistics`].
    pub fn last_commit(&self) -> Option<VersionWord> {
        let inner = self.inner.as_ref()?;
        Some(inner.committed)
    }

    /// What the last [`Abort::UniqueViolation`] of this lane was about.
    pub fn last_unique_violation(&self) -> Option<&UniqueViolation> {
        self.inner.as_ref()?.last_unique_violation.as_deref()
    }

    /// Withdraws the announcement of the last snapshot: nobody waits for a lane at rest. A lane that will
    /// begin again soon need not; one that is kept aside should. Dropping a lane does it, too.
    pub async fn rest(&mut self) -> Result<(), Abort> {
        let Some(inner) = self.inner.as_mut() else { return Err(Abort::Unreachable) };
        inner.rest().await
    }

    /// Collects what can be collected, without waiting for enough of it to pile up. It holds locks as it
    /// goes, so like a commit it goes on to its end.
    pub async fn collect_garbage(&mut self) -> Result<(), Abort> {
        if E::IMMEDIATE {
            return self.inner().collect_all().await;
        }
        let collect = async |inner: &mut LaneInner<E>| inner.collect_all().await;
        away_from_home(&mut self.inner, collect).await.unwrap_or(Err(Abort::Unreachable))
    }
}

impl<E: Env> Drop for Lane<E> {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            let shared = inner.shared.clone();
            shared.take_back(inner);
        }
    }
}

/// What a lane keeps per table.
pub(crate) struct LaneTable {
    /// The catalog epoch for which the table's indexes are open.
    pub epoch: u64,
    /// Copy of the hash directory, where the primary key is hashed.
    pub directory: Directory,
    /// Leaves by key, where it is a tree.
    pub leaves: LeafCache,
    /// Leaves that this lane has written last.
    pub kept: KeptLeaves,
    /// Rows and overflow blocks.
    pub pool: Pool,
    /// Leaves: on the tree's server, since its handlers reach no other.
    pub nodes: Pool,
    label: Label,
    /// Version buffers.
    buffers: ByServer<Pool>,
    /// Values out of line.
    values: ByServer<ValuePool>,
}

impl LaneTable {
    /// Where version buffers of rows on `server` come from.
    #[inline]
    pub fn buffers_on(&mut self, server: NodeId) -> &mut Pool {
        let Self { label, buffers, .. } = self;
        buffers.on(server, || Pool::new(*label, vec![server]))
    }

    /// Where values out of line of rows on `server` come from.
    pub fn values_on(&mut self, server: NodeId) -> &mut ValuePool {
        let Self { label, values, .. } = self;
        values.on(server, || ValuePool::new(*label, server))
    }
}

/// What a lane keeps per secondary index.
pub(crate) struct LaneIndex {
    pub directory: Directory,
    pub leaves: LeafCache,
    pub pool: Pool,
}

/// Where overflow blocks of a table or index come from, if it is open.
#[inline]
pub(crate) fn blocks_of<'a>(
    tables: &'a mut [Option<Box<LaneTable>>],
    indexes: &'a mut [Option<Box<LaneIndex>>],
    owner: Owner,
) -> Option<&'a mut Pool> {
    match owner {
        Owner::Table(table) => tables[table as usize].as_mut().map(|table| &mut table.pool),
        Owner::Index(index) => indexes[index as usize].as_mut().map(|index| &mut index.pool),
    }
}

/// What the lane remembers of the leaves of a table or index, and where new ones come from, if it is open.
#[inline]
pub(crate) fn leaves_of<'a>(
    tables: &'a mut [Option<Box<LaneTable>>],
    indexes: &'a mut [Option<Box<LaneIndex>>],
    owner: Owner,
) -> Option<(&'a mut LeafCache, &'a mut Pool)> {
    match owner {
        Owner::Table(table) => {
            tables[table as usize].as_mut().map(|table| (&mut table.leaves, &mut table.nodes))
        }
        Owner::Index(index) => {
            indexes[index as usize].as_mut().map(|index| (&mut index.leaves, &mut index.pool))
        }
    }
}

/// The owned part of a lane: what a commit that nobody waits for any more still needs.
pub(crate) struct LaneInner<E: Env> {
    pub env: E,
    pub shared: Arc<Shared<E>>,
    pub slot: SlotId,
    /// Which of the lanes beside a shared slot this is.
    pub number: u32,
    /// Where numbers come from, if not from `counter` alone.
    pub shared_slot: Option<Arc<SharedSlot>>,
    /// The last number used, committed or not.
    pub counter: u64,
    /// The last number whose commit was published.
    pub committed: VersionWord,
    /// The last number used, if it is not over: only where numbers are shared.
    pub drawn: Option<VersionWord>,
    /// The lane's announcement stands: horizons and catalog changes wait for it.
    pub is_announced: bool,
    /// A commit's outcome is unknown: the lane takes no more transactions.
    pub is_lost: bool,
    /// A transaction has begun and not committed; if the next one begins so, the last one failed.
    pub is_unfinished: bool,
    /// The last transaction failed, perhaps for its snapshot's age: a frozen vector has to be newer.
    pub wants_newer: bool,
    pub catalog: Arc<Catalog>,
    /// By position in the catalog. A table that the lane has not opened costs a word: lanes of large clusters open few
    /// of many.
    pub tables: Vec<Option<Box<LaneTable>>>,
    pub indexes: Vec<Option<Box<LaneIndex>>>,
    pub snapshot: Snapshot,
    pub horizon: Horizon,
    pub retired: VecDeque<Retired>,
    /// Version buffers that wait for a horizon.
    pub displaced: VecDeque<DisplacedBuffer>,
    pub statistics: LaneStatistics,
    /// The transaction's batch; away while it executes.
    pub batch: Option<Batch>,
    pub accesses: Vec<Access>,
    pub map: AccessMap,
    /// Accesses that are written, in order.
    pub written: Vec<u32>,
    /// Values out of line that the transaction has set.
    pub stage: layout::LongStage,
    /// Where the commit stores them.
    pub placed: Vec<crate::commit::PlacedValue>,
    pub buckets_seen: Vec<BucketSeen>,
    pub bucket_inserts: Vec<BucketInsert>,
    pub insert_blocks: Vec<InsertBlock>,
    pub leaf_inserts: Vec<LeafInsert>,
    pub entry_inserts: Vec<EntryInsert>,
    /// One entry for each chain that became longer: whose it is wants one more bucket.
    pub wants_growth: Vec<Owner>,
    /// Whether upkeep follows the commit that runs.
    pub is_upkeep_due: bool,
    pub leaves_seen: Vec<LeafSeen>,
    /// Words that must not change before a serializable commit, with what they held.
    pub witnesses: Vec<(GlobalPtr, u64)>,
    /// Leaves whose entries must not change before a serializable commit.
    pub leaf_witnesses: Vec<LeafWitness>,
    /// Rows read one by one; a single one needs no validation.
    pub read_count: u32,
    /// Tells the row ids of one transaction from those of others.
    pub transaction: u32,
    pub serializable: bool,
    /// The index whose entries the transaction adds for rows that it does not change.
    pub filling: Option<u32>,
    /// What the last unique violation was about; later transactions leave it.
    pub last_unique_violation: Option<Box<UniqueViolation>>,
    pub scratch: Scratch,
}

/// Lists that protocol steps fill and empty, kept so that they need no memory of their own each time.
#[derive(Default)]
pub(crate) struct Scratch {
    pub pending: Vec<crate::read::Pending>,
    pub spans: Vec<Span>,
    pub inserting: Vec<u32>,
    /// Collected-up-to words that are being raised, with what they may hold.
    pub raising: Vec<(GlobalPtr, u64)>,
    pub found: Vec<Option<crate::access::RowId>>,
    pub looking: crate::scan::Looking,
    pub locks: crate::commit::Locks,
    /// Accesses that are written, not deleted, and of a table with indexes.
    pub indexed: Vec<u32>,
    pub entries: Vec<crate::secondary::Entry>,
    /// Indexed columns of those that are unique, by index.
    pub unique_keys: Vec<(u32, Key)>,
    pub leaf_entries: Vec<index::tree::LeafEntry>,
    pub cursors: Vec<crate::cursor::Cursor>,
    pub round: crate::cursor::Round,
    /// For upkeep, whose verbs are not the transaction's.
    pub batch: Option<Batch>,
    /// Leaves that are locked though nothing goes into them.
    pub bare_leaves: Vec<u32>,
}

impl<E: Env> LaneInner<E> {
    pub(crate) fn new(env: E, shared: Arc<Shared<E>>, place: LanePlace) -> Self {
        let LanePlace { slot, number, counter, shared_slot } = place;
        // Lanes begin far apart, so that they do not take each other's row ids for their own.
        let transaction = ((u32::from(slot.0) << 16) | number).wrapping_mul(0x9e37_79b9);
        Self {
            env,
            shared,
            slot,
            number,
            shared_slot,
            counter,
            committed: VersionWord::new(slot, counter),
            drawn: None,
            is_announced: false,
            is_lost: false,
            is_unfinished: false,
            wants_newer: false,
            catalog: Arc::default(),
            tables: Vec::new(),
            indexes: Vec::new(),
            snapshot: Snapshot::default(),
            horizon: Horizon::default(),
            retired: VecDeque::new(),
            displaced: VecDeque::new(),
            statistics: LaneStatistics::default(),
            batch: Some(Batch::new()),
            accesses: Vec::with_capacity(256),
            map: AccessMap::default(),
            written: Vec::with_capacity(64),
            stage: layout::LongStage::default(),
            placed: Vec::new(),
            buckets_seen: Vec::new(),
            bucket_inserts: Vec::new(),
            insert_blocks: Vec::new(),
            leaf_inserts: Vec::new(),
            entry_inserts: Vec::new(),
            wants_growth: Vec::new(),
            is_upkeep_due: false,
            leaves_seen: Vec::new(),
            witnesses: Vec::new(),
            leaf_witnesses: Vec::new(),
            read_count: 0,
            transaction,
            serializable: false,
            filling: None,
            last_unique_violation: None,
            scratch: Scratch::default(),
        }
    }

    /// Withdraws the announcement, if it stands.
    pub(crate) async fn rest(&mut self) -> Result<(), Abort> {
        if !self.is_announced {
            return Ok(());
        }
        let shared_slot = self.shared_slot.clone();
        let is_fetched = || self.shared.fetched.is_running();
        let rested = shared_slot.as_deref().map(|slot| slot.rest(self.number, is_fetched));
        let (word, value) = match rested {
            Some(Ok(None)) => {
                self.is_announced = false;
                return Ok(());
            }
            Some(Ok(Some(epoch))) => (LANE_ACKNOWLEDGED, epoch),
            None | Some(Err(_)) => (LANE_ACTIVE, 0),
        };
        let word = self.lane_word(word);
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.reset();
        batch.write_word(word, value);
        let batch = self.env.execute(batch).await.map_err(|_| Abort::Unreachable)?;
        self.scratch.batch = Some(batch);
        self.is_announced = false;
        Ok(())
    }

    /// Forgets the last transaction, takes a snapshot, and takes note of catalog changes.
    #[inline]
    async fn begin(&mut self) -> Result<(), Abort> {
        if self.is_lost || self.shared_slot.as_ref().is_some_and(|slot| slot.is_lost()) {
            return Err(Abort::Unreachable);
        }
        let drawn = |slot: &Arc<SharedSlot>| slot.has_drawn(COUNTER_LIMIT);
        let is_used_up =
            self.counter >= COUNTER_LIMIT || self.shared_slot.as_ref().is_some_and(drawn);
        if is_used_up && !self.env.mutant("lane::pass_last_number") {
            self.take_new_slot().await?;
        }
        self.wants_newer = self.is_unfinished;
        self.is_unfinished = true;
        self.reset();
        self.is_announced = true;
        self.take_snapshot().await
    }

    /// Near its last number a slot is given up for a new one. The old one keeps its final number in the
    /// vector for as long as versions carry it.
    #[cold]
    async fn take_new_slot(&mut self) -> Result<(), Abort> {
        if self.shared_slot.is_some() {
            return Err(Abort::SnapshotUnavailable);
        }
        self.rest().await?;
        let taken = crate::slot::take_slot(&self.env, &self.shared).await;
        let taken = taken.map_err(|_| Abort::Unreachable)?.ok_or(Abort::SnapshotUnavailable)?;
        (self.slot, self.counter) = (taken.slot, taken.counter);
        Ok(())
    }

    #[inline]
    pub(crate) fn reset(&mut self) {
        self.batch().reset();
        self.accesses.clear();
        self.map.clear();
        self.written.clear();
        if !self.stage.is_empty() {
            self.stage.clear();
            self.placed.clear();
        }
        self.buckets_seen.clear();
        self.bucket_inserts.clear();
        self.insert_blocks.clear();
        self.leaf_inserts.clear();
        self.entry_inserts.clear();
        self.wants_growth.clear();
        self.leaves_seen.clear();
        self.witnesses.clear();
        self.leaf_witnesses.clear();
        self.read_count = 0;
        self.transaction = self.transaction.wrapping_add(1);
        self.filling = None;
    }

    /// The transaction's batch.
    #[inline]
    pub fn batch(&mut self) -> &mut Batch {
        self.batch.get_or_insert_with(Batch::new)
    }

    /// Posts the batch and waits: one round trip. If it fails, the arena is gone with it.
    #[inline]
    pub async fn execute(&mut self) -> Result<(), fabric::FabricError> {
        if E::IMMEDIATE {
            return self.env.execute_now(self.batch.get_or_insert_with(Batch::new));
        }
        let batch = self.batch.take().unwrap_or_default();
        self.batch = Some(self.env.execute(batch).await?);
        Ok(())
    }

    /// A number that serves one attempt only.
    #[inline]
    pub fn next_timestamp(&mut self) -> VersionWord {
        match &self.shared_slot {
            None => self.counter += 1,
            Some(_) => return self.draw_shared(self.written.len()),
        }
        VersionWord::new(self.slot, self.counter)
    }

    /// A number for a split before a commit, or for what is done after one. No short commit waits for it.
    pub fn upkeep_timestamp(&mut self) -> VersionWord {
        match &self.shared_slot {
            None => self.next_timestamp(),
            Some(_) => self.draw_shared(usize::MAX),
        }
    }

    #[inline(never)]
    fn draw_shared(&mut self, writes: usize) -> VersionWord {
        self.end_number();
        let slot = self.shared_slot.as_ref().expect("the lane shares its numbers");
        let drawn = slot.draw(writes);
        self.drawn = Some(drawn);
        drawn
    }

    /// The last number is over: nothing that is visible has it, unless it was installed to the last word.
    pub fn end_number(&mut self) {
        if let Some(slot) = &self.shared_slot
            && let Some(drawn) = self.drawn.take()
        {
            slot.end(drawn);
        }
    }

    /// What became of the last number is not known: the lane takes no transaction any more, and nobody passes it.
    pub fn lose_number(&mut self) {
        self.is_lost = true;
        if let Some(slot) = &self.shared_slot {
            slot.lose();
        }
    }

    /// One of the words beside the vector that the owner of the slot announces by.
    #[inline]
    pub fn lane_word(&self, word: u32) -> GlobalPtr {
        let lane = self.shared.oracle_layout.lane(self.shared.oracle, self.slot);
        lane.add_words(u64::from(word))
    }

    /// The table at a position that the catalog is known to hold.
    #[inline]
    pub fn info(&self, table: u32) -> &Arc<TableInfo> {
        self.catalog.tables[table as usize]
            .as_ref()
            .expect("accesses name tables of the lane's catalog")
    }

    /// Whether the lane's part of a table is there and complete.
    #[inline]
    pub fn is_open(&self, table: u32) -> bool {
        matches!(self.tables.get(table as usize), Some(Some(open)) if open.epoch == self.catalog.epoch)
    }

    /// The lane's part of a table, made when it is first used.
    #[inline]
    pub async fn open_table(&mut self, table: u32) -> Result<(), TxnError> {
        if self.is_open(table) { Ok(()) } else { self.open_table_slowly(table).await }
    }

    #[cold]
    async fn open_table_slowly(&mut self, table: u32) -> Result<(), TxnError> {
        let info = self.catalog.info(TableId(table));
        let Some(info) = info.cloned() else {
            // The snapshot is older than the table, or the table is gone for good.
            let newest = self.shared.cached_catalog();
            return match newest.info(TableId(table)) {
                Some(_) => Err(Abort::CatalogChanged.into()),
                None => Err(CatalogError::NoTable(format!("number {table}")).into()),
            };
        };
        let position = table as usize;
        if self.tables.len() <= position {
            self.tables.resize_with(position + 1, || None);
        }
        if self.tables[position].is_none() {
            self.tables[position] = Some(Box::new(self.new_lane_table(&info).await?));
        }
        for index in info.indexes.clone() {
            self.open_index(index).await?;
        }
        self.lane_table(table).epoch = self.catalog.epoch;
        Ok(())
    }

    async fn new_lane_table(&self, info: &TableInfo) -> Result<LaneTable, TxnError> {
        let directory = match &info.primary {
            Primary::Hash(hash) => index::hash::read_directory(&self.env, hash).await?,
            Primary::Tree(_) => Directory::default(),
        };
        let nodes = self.shared.nodes(info.placed());
        let leaf_nodes = match &info.primary {
            Primary::Tree(tree) => vec![tree.node],
            Primary::Hash(_) => nodes.clone(),
        };
        Ok(LaneTable {
            epoch: 0,
            directory,
            leaves: LeafCache::default(),
            kept: KeptLeaves::default(),
            pool: Pool::new(info.label, nodes),
            nodes: Pool::new(info.label, leaf_nodes),
            label: info.label,
            buffers: ByServer::new(),
            values: ByServer::new(),
        })
    }

    async fn open_index(&mut self, index: u32) -> Result<(), TxnError> {
        if let Some(Some(_)) = self.indexes.get(index as usize) {
            return Ok(());
        }
        let Some(info) = self.catalog.indexes[index as usize].clone() else {
            return Err(TxnError::Abort(Abort::CatalogChanged));
        };
        let directory = match &info.storage {
            Secondary::Hash(hash) => index::hash::read_directory(&self.env, hash).await?,
            Secondary::Tree(_) => Directory::default(),
        };
        let nodes = match &info.storage {
            Secondary::Tree(tree) => vec![tree.node],
            Secondary::Hash(_) => self.shared.nodes(info.placed()),
        };
        let pool = Pool::new(info.label, nodes);
        let position = index as usize;
        if self.indexes.len() <= position {
            self.indexes.resize_with(position + 1, || None);
        }
        let opened = LaneIndex { directory, leaves: LeafCache::default(), pool };
        self.indexes[position] = Some(Box::new(opened));
        Ok(())
    }

    /// The index at a position that the catalog is known to hold.
    #[inline]
    pub fn index_info(&self, index: u32) -> &Arc<IndexInfo> {
        self.catalog.indexes[index as usize]
            .as_ref()
            .expect("tables name indexes of the lane's catalog")
    }

    /// The lane's part of a table that [`Self::open_table`] has opened.
    #[inline]
    pub fn lane_table(&mut self, table: u32) -> &mut LaneTable {
        self.tables[table as usize].as_mut().expect("the table was opened when it was first named")
    }

    /// Goes over to a newer catalog; forgets what the lane keeps of tables and indexes that are gone. What it
    /// keeps of others is completed when they are next used.
    pub fn adopt_catalog(&mut self, catalog: Arc<Catalog>) {
        for (position, table) in self.tables.iter_mut().enumerate() {
            if catalog.tables.get(position).is_none_or(Option::is_none) {
                *table = None;
            }
        }
        for (position, index) in self.indexes.iter_mut().enumerate() {
            if catalog.indexes.get(position).is_none_or(Option::is_none) {
                *index = None;
            }
        }
        let (tables, indexes) = (&self.tables, &self.indexes);
        let is_there = |table: usize| tables.get(table).is_some_and(Option::is_some);
        let has_index = |index: u32| indexes.get(index as usize).is_some_and(Option::is_some);
        self.retired
            .retain(|retired| is_there(retired.table()) && retired.index().is_none_or(has_index));
        self.displaced.retain(|displaced| is_there(displaced.table as usize));
        self.catalog = catalog;
    }
}
