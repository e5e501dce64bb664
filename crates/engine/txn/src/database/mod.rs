//! A database: the state that its lanes share.

mod shared;

use crate::catalog::keeper::CatalogKeeper;
use crate::catalog::{
    Catalog, CatalogError, IndexId, Primary, Secondary, TABLES_MAX, TableId, TableMemory,
    index_label, table_label,
};
use crate::detach::detached;
use crate::lane::{Lane, LaneError, LaneInner};
use crate::operations::{EngineEnv, Operations};
use crate::promotion::LockHolders;
use crate::read::scan::ScanSource;
use crate::recovery::{JournalError, LaneJournal};
use crate::snapshot::slot::take_lane_place;
use fabric::{Batch, Env};
use layout::oracle::{OWNER_RECOVERS, VECTOR};
use layout::{GlobalPtr, NodeId, OracleLayout, Schema, WORD_BYTES};
use memory::extent::{allocate_extent, usage};
use memory::{AllocateError, Label};
pub(crate) use shared::{ANONYMOUS, Placed, Shared};
use shared::{Claim, LanePoolGuard};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Default number of slots of the vector, and maximal number of lanes of a compute server.
const SLOTS: u32 = 64;
/// Maximal number of slots of a vector: versions have 16 bits for the slot.
pub const SLOTS_MAX: u32 = (1 << 16) - 8;

/// How lanes take snapshots of a database; all lanes use the same way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Oracle {
    /// Read the vector until two reads agree.
    DoubleCollect,
    /// Read numbered vectors that are frozen one after another.
    Frozen,
}

impl Oracle {
    pub const fn name(self) -> &'static str {
        match self {
            Self::DoubleCollect => "double-collect",
            Self::Frozen => "frozen",
        }
    }
}

/// Configuration of a database.
#[derive(Clone, PartialEq, Debug)]
pub struct DatabaseConfig {
    pub oracle: Oracle,
    /// Maximal number of lanes of a compute server, 1 to 64.
    pub lanes: u32,
    /// Slots of the vector: a multiple of 8, at most [`SLOTS_MAX`].
    pub slots: u32,
    /// Whether the lanes of this compute server share two slots of the vector, or have one each.
    /// Sharing makes the vector shorter, but a commit waits for those of its compute server that
    /// drew their numbers before it.
    pub shares_slot: bool,
    /// Whether lanes keep the leaves that they have written last, and insert into them without
    /// reading them again. Saves one read per leaf where each lane inserts at a place of its own;
    /// where lanes insert into the same leaf, attempts abort because of it.
    pub keeps_leaves: bool,
    /// Number of copies of each frozen vector, beside the oracle's ring, for fetchers
    /// ([`Database::fetch_vectors`]). They are spread over the other memory servers. With 0, all
    /// fetchers read the ring. For large clusters the square root of the number of compute servers
    /// is best.
    pub vector_copies: u32,
    /// Maximal number of tables.
    pub tables: usize,
    /// The paper's E: collection does not wait for a transaction that runs longer.
    pub transaction_time_max_ns: u64,
    /// Whether each lane keeps a journal on a memory server, with which others complete or undo
    /// its last commit if its compute server dies ([`Database::recover`]). Lanes that share a slot
    /// have none.
    pub journals: bool,
    /// First number of a new slot; tests start near the end.
    pub first_counter: u64,
}

impl Default for DatabaseConfig {
    fn default() -> Self {
        Self {
            oracle: Oracle::DoubleCollect,
            lanes: SLOTS,
            slots: SLOTS,
            tables: TABLES_MAX,
            shares_slot: false,
            keeps_leaves: false,
            vector_copies: 0,
            transaction_time_max_ns: 10_000_000_000,
            journals: false,
            first_counter: 0,
        }
    }
}

/// The location and the configuration of a database: everything on which compute servers must
/// agree.
#[derive(Clone, PartialEq, Debug)]
pub struct Root {
    /// The oracle's area.
    pub oracle: GlobalPtr,
    pub slots: u32,
    pub copies: Vec<GlobalPtr>,
    /// The memory servers, in the order in which tables are spread over them.
    pub servers: Vec<NodeId>,
    pub config: DatabaseConfig,
}

/// A handle to a database from one endpoint.
pub struct Database<E: Env> {
    pub(crate) env: E,
    pub(crate) shared: Arc<Shared<E>>,
    /// Counts the handles. Lanes do not count.
    handles: Arc<LanePoolGuard<E>>,
}

impl<E: Env> Clone for Database<E> {
    fn clone(&self) -> Self {
        self.with_env(self.env.clone())
    }
}

impl<E: Env> Database<E> {
    /// Creates a database on memory servers that have none yet; allocates the oracle's area on the
    /// first.
    pub async fn create(
        env: E,
        servers: Vec<NodeId>,
        config: DatabaseConfig,
    ) -> Result<Self, CatalogError>
    where
        E: EngineEnv,
    {
        (E::operations().create)(env, servers, config).await
    }

    pub(crate) async fn create_generic(
        operations: &'static Operations<E>,
        env: E,
        servers: Vec<NodeId>,
        config: DatabaseConfig,
    ) -> Result<Self, CatalogError> {
        assert!((1..=SLOTS).contains(&config.lanes), "a compute server has 1 to 64 lanes");
        let is_whole = config.slots.is_multiple_of(8) && (8..=SLOTS_MAX).contains(&config.slots);
        assert!(is_whole, "a vector has 8 to 65,528 slots, a multiple of 8");
        assert!(!servers.is_empty());
        let has_marks = !config.shares_slot && config.slots <= layout::region::MARKS_MAX;
        assert!(has_marks || !config.journals, "each lane with a journal has a slot and a mark");
        let oracle_layout = OracleLayout { slots: config.slots };
        let bytes = u64::from(oracle_layout.words()) * WORD_BYTES;
        let oracle = allocate_extent(&env, servers[0], bytes, Label(0)).await?;
        let mut batch = Batch::new();
        // The clock starts at 1, because an announcement of 0 means an idle lane.
        batch.write_word(oracle, 1);
        env.execute(batch).await?;
        let copies = allocate_copies(&env, &servers, &config).await?;
        let root = Root { oracle, slots: config.slots, copies, servers, config };
        Ok(Self::of(env, Shared::new(operations, root)))
    }

    /// A handle for another endpoint of the same compute server.
    pub fn with_env(&self, env: E) -> Self {
        Self { env, shared: self.shared.clone(), handles: self.handles.clone() }
    }

    /// A handle from another compute server: the two share only remote memory.
    pub fn elsewhere(&self, env: E) -> Self {
        let mut shared = Shared::new(self.shared.operations, self.root());
        shared.redo = self.shared.redo.clone();
        shared.keeper = self.shared.keeper.clone();
        Self::of(env, shared)
    }

    /// Appends the after-images of all commits to lanes of this redo log. Each commit appends its
    /// entry before others can see it, so a group of the log may have any snapshot of this database
    /// that was taken before.
    ///
    /// # Panics
    ///
    /// If the database has lanes or a redo log.
    #[must_use]
    pub fn logging_to(self, lanes: redo_log::Lanes) -> Self {
        assert!(self.shared.lane_pool().made == 0, "the log needs the commits of all lanes");
        assert!(self.shared.redo.set(lanes).is_ok(), "a database has one redo log");
        self
    }

    /// Leaves changes of the catalog to a keeper. A handle with a redo log creates and drops no
    /// tables itself. It does create indexes: filling one installs rows again, and the log must
    /// have each version of a row.
    ///
    /// # Panics
    ///
    /// If the database has a keeper.
    #[must_use]
    pub fn kept_by(self, keeper: Arc<dyn CatalogKeeper>) -> Self {
        assert!(self.shared.keeper.set(keeper).is_ok(), "a catalog has one keeper");
        self
    }

    /// The root, with which another compute server opens this database.
    pub fn root(&self) -> Root {
        let Shared { oracle, oracle_layout, copies, servers, config, .. } = &*self.shared;
        let (copies, servers, config) = (copies.clone(), servers.clone(), config.clone());
        Root { oracle: *oracle, slots: oracle_layout.slots, copies, servers, config }
    }

    /// Words of the oracle's area.
    pub fn oracle_words(&self) -> u32 {
        self.shared.oracle_layout.words()
    }

    /// Opens a database that another endpoint has created. Its catalog is unknown at first:
    /// [`Database::refresh`] fetches it, and so does the first transaction.
    pub fn open(env: E, root: &Root) -> Self
    where
        E: EngineEnv,
    {
        Self::of(env, Shared::new(E::operations(), root.clone()))
    }

    fn of(env: E, shared: Shared<E>) -> Self {
        env.write_beside(shared.oracle, u64::from(shared.oracle_layout.words()));
        let shared = Arc::new(shared);
        Self { env, handles: Arc::new(LanePoolGuard(shared.clone())), shared }
    }

    /// Sets the memory server, by position, that is nearest to this compute server: of copied
    /// tables, lanes read the copy there. Compute servers need not agree on it. The default is the
    /// first server; existing lanes follow with the next change of the catalog.
    pub fn nearest_to(self, server: u16) -> Self {
        self.shared.nearest.store(server, Relaxed);
        *self.shared.catalog.lock().expect("no holder panics") = Arc::default();
        self
    }

    /// Names this compute server among all that ever open the database, as the owner of its lanes'
    /// slots. The identity is above 1 and below 2^63.
    #[must_use]
    pub fn as_member(self, identity: u64) -> Self {
        assert!(identity > 1 && identity & OWNER_RECOVERS == 0, "these owners have a meaning");
        self.shared.set_member(identity);
        self
    }

    /// Counts the works of this database that may hold locks together with those of the process's
    /// other databases, before any has begun.
    ///
    /// # Panics
    /// If works have begun.
    #[must_use]
    pub fn counted_in(self, holders: Arc<LockHolders>) -> Self {
        self.shared.count_in(holders);
        self
    }

    pub fn env(&self) -> &E {
        &self.env
    }

    /// Number of memory servers over which tables are spread.
    pub fn server_count(&self) -> usize {
        self.shared.servers.len()
    }

    pub fn config(&self) -> &DatabaseConfig {
        &self.shared.config
    }

    pub(crate) async fn lane_generic(&self) -> Result<Lane<E>, LaneError> {
        loop {
            match self.shared.claim_lane() {
                Claim::Idle(inner) => return Ok(Lane::new(inner)),
                Claim::New => break,
                Claim::Wait => self.env.yield_now().await,
                Claim::Exhausted => return Err(LaneError::Exhausted(self.shared.config.lanes)),
            }
        }
        if E::IMMEDIATE {
            return new_lane(&self.env, &self.shared).await;
        }
        // The new lane keeps the slot that it takes, so it is created even if the caller drops this
        // future.
        let (env, shared) = (self.env.clone(), self.shared.clone());
        detached(&self.env, async move { new_lane(&env, &shared).await }, drop).await
    }

    pub(crate) async fn refresh_generic(&self) -> Result<Arc<Catalog>, CatalogError> {
        let epoch = self.epoch().await?;
        self.shared.catalog_at_least(&self.env, epoch).await
    }

    pub(crate) async fn epoch(&self) -> Result<u64, CatalogError> {
        let mut batch = Batch::new();
        let epoch = batch.read(self.shared.oracle.add_words(u64::from(layout::oracle::EPOCH)), 1);
        let batch = self.env.execute(batch).await?;
        Ok(batch.words(epoch)[0])
    }

    /// The table called `name`, if this compute server knows one.
    pub fn table(&self, name: &str) -> Option<TableId> {
        self.shared.cached_catalog().table(name)
    }

    /// The index called `index` of the table called `table`.
    pub fn index(&self, table: &str, index: &str) -> Option<IndexId> {
        self.shared.cached_catalog().index(table, index)
    }

    pub fn schema(&self, table: TableId) -> Option<Arc<Schema>> {
        let catalog = self.shared.cached_catalog();
        catalog.info(table).map(|info| info.schema.clone())
    }

    /// Whether [`Transaction::scan`](crate::Transaction::scan) can read all of a table or index in
    /// order: it is a tree, or trees in parts that are ranges or copies. `None` if the table or
    /// index does not exist.
    pub fn is_ordered(&self, source: ScanSource) -> Option<bool> {
        let (is_tree, named) = self.order(source)?;
        Some(is_tree && named == 0)
    }

    /// How many leading columns a range of a table or index must fix by equality for
    /// [`Transaction::scan`](crate::Transaction::scan) to read it: 0 if all of it is in order, or
    /// the columns whose hash selects the part if its parts are hashed. `None` if it is not a tree,
    /// or does not exist.
    pub fn named_by_ranges(&self, source: ScanSource) -> Option<usize> {
        self.order(source).and_then(|(is_tree, named)| is_tree.then_some(named))
    }

    /// Whether it is a tree or trees in parts, and how many columns ranges must fix by equality.
    fn order(&self, source: ScanSource) -> Option<(bool, usize)> {
        let catalog = self.shared.cached_catalog();
        let (is_tree, parts) = match source {
            ScanSource::Table(table) => {
                let info = catalog.info(table)?;
                (matches!(info.primary, Primary::Tree(_)), &info.parts)
            }
            ScanSource::Index(index) => {
                let info = catalog.index_info(index)?;
                (matches!(info.storage, Secondary::Tree(_)), &info.parts)
            }
        };
        Some((is_tree, parts.as_ref().map_or(0, |parts| parts.named())))
    }

    pub(crate) async fn memory_usage_generic(&self) -> Result<Vec<TableMemory>, CatalogError> {
        let catalog = self.shared.cached_catalog();
        let mut bytes = std::collections::BTreeMap::<u64, u64>::new();
        for &server in &self.shared.servers {
            for part in usage(&self.env, server).await? {
                *bytes.entry(part.label.0).or_default() += part.bytes;
            }
        }
        let mut tables: Vec<TableMemory> = catalog
            .names()
            .map(|(name, table)| {
                let indexes = catalog.info(table).map(|info| info.indexes.as_slice());
                let indexes = indexes.unwrap_or_default().iter().map(|index| index_label(index.0));
                let labels = indexes.chain([table_label(table.0)]);
                let used_bytes = labels.filter_map(|label| bytes.remove(&label.0)).sum();
                let of = catalog.whole_name(name).to_owned();
                let part = catalog.info(table).and_then(|info| info.design.part.as_ref());
                let is_copy = part.is_some_and(|part| part.rule.is_copied());
                TableMemory { name: name.to_owned(), of, is_copy, used_bytes }
            })
            .collect();
        let (name, of) = ("system".to_owned(), "system".to_owned());
        let used_bytes = bytes.values().sum();
        tables.push(TableMemory { name, of, is_copy: false, used_bytes });
        Ok(tables)
    }

    pub(crate) async fn populate_generic(&self, bytes: u64) -> Result<(), CatalogError> {
        for &server in &self.shared.servers {
            memory::extent::populate(&self.env, server, bytes).await?;
        }
        Ok(())
    }

    pub(crate) async fn vector_generic(&self) -> Result<Vec<u64>, CatalogError> {
        let mut batch = Batch::new();
        let words = batch.read(self.shared.oracle, VECTOR + self.shared.slots_in_use());
        let batch = self.env.execute(batch).await?;
        Ok(batch.words(words)[VECTOR as usize..].to_vec())
    }
}

/// Allocates the copies of frozen vectors, on the servers after the oracle's.
async fn allocate_copies<E: Env>(
    env: &E,
    servers: &[NodeId],
    config: &DatabaseConfig,
) -> Result<Vec<GlobalPtr>, CatalogError> {
    let shape = OracleLayout { slots: config.slots }.copies();
    let bytes = u64::from(shape.words()) * WORD_BYTES;
    let mut copies = Vec::new();
    for number in 1..=config.vector_copies as usize {
        let server = servers[number % servers.len()];
        copies.push(allocate_extent(env, server, bytes, Label(0)).await?);
    }
    Ok(copies)
}

/// Creates a lane with a place of its own. The pool of idle lanes has already counted it.
async fn new_lane<E: Env>(env: &E, shared: &Arc<Shared<E>>) -> Result<Lane<E>, LaneError> {
    let holder = shared.begin_work(env);
    let place = match &holder {
        Ok(_) => take_lane_place(env, shared).await,
        Err(error) => Err(error.clone()),
    };
    let place = match place {
        Ok(Some(place)) => Ok(place),
        Ok(None) => Err(LaneError::Exhausted(shared.slots())),
        Err(_) => Err(LaneError::Unreachable),
    };
    let place = place.inspect_err(|_| shared.lane_pool().made -= 1)?;
    let mut inner = LaneInner::new(env.clone(), shared.clone(), place);
    if shared.keeps_journals() {
        let opened = LaneJournal::open(env, shared, inner.identity.slot);
        match opened.await {
            Ok(journal) => inner.journal = Some(Box::new(journal)),
            Err(error) => {
                shared.lane_pool().made -= 1;
                // If the slot cannot be returned, it is recovered when this process has ended.
                let _ = Box::new(inner).return_place().await;
                return Err(match error {
                    JournalError::Fabric(_) | JournalError::Allocate(AllocateError::Call(_)) => {
                        LaneError::Unreachable
                    }
                    JournalError::Allocate(error) => LaneError::NoJournal(error),
                });
            }
        }
    }
    Ok(Lane::new(Box::new(inner)))
}
