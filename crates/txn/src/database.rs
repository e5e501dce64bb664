//! A database: what its lanes share.

use crate::catalog::{Catalog, CatalogError, IndexId, Primary, Secondary, TableId, TableMemory};
use crate::catalog::{index_label, table_label};
use crate::definition::TableDefinition;
use crate::lane::{Lane, LaneError, LaneInner};
use crate::release::Released;
use crate::snapshot::SLOTS_MAX;
use crate::value::check_values;
use crate::value_pool::SharedPieces;
use fabric::{Batch, Env};
use index::hash::HashReport;
use layout::oracle::{LANE_ACTIVE, SLOT_COUNT, VECTOR};
use layout::{GlobalPtr, NodeId, OracleLayout, Schema, SlotId, WORD_BYTES};
use memory::Label;
use memory::extent::{allocate_extent, usage};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// How snapshots of a database are taken; never both ways at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Oracle {
    /// Read the vector until two reads agree.
    DoubleCollect,
    /// Read numbered vectors that are frozen one after another.
    Frozen,
}

impl Oracle {
    /// The name in reports and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DoubleCollect => "double-collect",
            Self::Frozen => "frozen",
        }
    }
}

/// What a database is opened with.
#[derive(Clone, PartialEq, Debug)]
pub struct DatabaseConfig {
    /// How snapshots are taken.
    pub oracle: Oracle,
    /// Most lanes, 1 to 64.
    pub lanes: u32,
    /// The paper's E: a transaction that runs longer may find its versions collected.
    pub transaction_time_max_ns: u64,
    /// First number of a new slot; tests start near the end.
    pub first_counter: u64,
}

impl Default for DatabaseConfig {
    fn default() -> Self {
        Self {
            oracle: Oracle::DoubleCollect,
            lanes: SLOTS_MAX as u32,
            transaction_time_max_ns: 10_000_000_000,
            first_counter: 0,
        }
    }
}

/// A handle to a database from one endpoint.
pub struct Database<E: Env> {
    pub(crate) env: E,
    pub(crate) shared: Arc<Shared<E>>,
}

impl<E: Env> Clone for Database<E> {
    fn clone(&self) -> Self {
        Self { env: self.env.clone(), shared: self.shared.clone() }
    }
}

/// What all handles and lanes share on a compute server. Nothing here is touched on the data path but
/// the two numbers.
pub(crate) struct Shared<E: Env> {
    pub oracle: GlobalPtr,
    pub oracle_layout: OracleLayout,
    pub servers: Vec<NodeId>,
    pub config: DatabaseConfig,
    slot_count: AtomicU32,
    published: Vec<AtomicU64>,
    catalog: Mutex<Arc<Catalog>>,
    /// Memory of dropped tables and indexes that lanes may still use.
    pub released: Mutex<Vec<Released>>,
    /// Free memory for values out of line.
    pub pieces: SharedPieces,
    home: Mutex<Home<E>>,
}

/// Lanes that nobody uses at the moment.
struct Home<E: Env> {
    idle: Vec<Box<LaneInner<E>>>,
    made: u32,
}

impl<E: Env> Shared<E> {
    /// How many slots the vector has, as far as this compute server knows.
    #[inline]
    pub fn slots_in_use(&self) -> u32 {
        self.slot_count.load(Relaxed)
    }

    /// Notes that the vector has become longer.
    pub fn note_slots(&self, count: u32) {
        self.slot_count.fetch_max(count.min(SLOTS_MAX as u32), Relaxed);
    }

    /// The last number that this compute server published for `slot`.
    pub fn published(&self, slot: SlotId) -> u64 {
        self.published[usize::from(slot.0)].load(Relaxed)
    }

    /// Notes what was published.
    #[inline]
    pub fn note_published(&self, slot: SlotId, counter: u64) {
        self.published[usize::from(slot.0)].store(counter, Relaxed);
    }

    /// The memory servers, starting with another one for each table.
    pub fn nodes(&self, label: Label) -> Vec<NodeId> {
        let mut nodes = self.servers.clone();
        nodes.rotate_left((label.0 % self.servers.len() as u64) as usize);
        nodes
    }

    /// The position of a memory server in the list.
    #[inline]
    pub fn server_position(&self, node: NodeId) -> usize {
        let position = self.servers.iter().position(|&server| server == node);
        position.expect("rows live on the database's memory servers")
    }

    /// The catalog as it was last read.
    pub fn cached_catalog(&self) -> Arc<Catalog> {
        self.catalog.lock().expect("no holder panics").clone()
    }

    /// The catalog of `epoch` or a later one.
    pub async fn catalog_at_least(
        &self,
        env: &E,
        epoch: u64,
    ) -> Result<Arc<Catalog>, CatalogError> {
        let cached = self.cached_catalog();
        if cached.epoch >= epoch {
            return Ok(cached);
        }
        let definitions = self.definitions(env).await?;
        let catalog = Arc::new(Catalog::build(epoch, &definitions, !E::COHERENT)?);
        let mut current = self.catalog.lock().expect("no holder panics");
        if current.epoch < epoch {
            let has = |label| catalog.tables.iter().flatten().any(|info| info.label == label);
            self.pieces.retain(has);
            *current = catalog;
        }
        Ok(current.clone())
    }

    /// All definitions, from all shards.
    pub async fn definitions(&self, env: &E) -> Result<Vec<TableDefinition>, CatalogError> {
        let mut definitions = Vec::new();
        for &server in &self.servers {
            for bytes in memory::catalog::list(env, server).await? {
                definitions.push(TableDefinition::decode(&bytes)?);
            }
        }
        Ok(definitions)
    }

    /// A lane comes home. Its announcement is withdrawn by whoever takes it next or by the time limit;
    /// where verbs are immediate, at once.
    pub fn take_back(self: &Arc<Self>, mut inner: Box<LaneInner<E>>) {
        if inner.is_lost {
            return;
        }
        if E::IMMEDIATE && inner.is_announced {
            inner.is_announced = false;
            let word =
                self.oracle_layout.lane(self.oracle, inner.slot).add_words(u64::from(LANE_ACTIVE));
            let mut batch = Batch::new();
            batch.write_word(word, 0);
            let env = inner.env.clone();
            env.clone().spawn(async move {
                let _ = env.execute(batch).await;
            });
        }
        inner.batch.get_or_insert_with(Batch::new).reset();
        self.home.lock().expect("no holder panics").idle.push(inner);
    }
}

impl<E: Env> Database<E> {
    /// Makes a database on memory servers that hold none yet: allocates the oracle's area on the first.
    pub async fn create(
        env: E,
        servers: Vec<NodeId>,
        config: DatabaseConfig,
    ) -> Result<Self, CatalogError> {
        assert!((1..=SLOTS_MAX as u32).contains(&config.lanes), "a database has 1 to 64 lanes");
        assert!(!servers.is_empty());
        let oracle_layout = OracleLayout { slots: SLOTS_MAX as u32 };
        let bytes = u64::from(oracle_layout.words()) * WORD_BYTES;
        let oracle = allocate_extent(&env, servers[0], bytes, Label(0)).await?;
        let mut batch = Batch::new();
        // The clock starts at 1, since a lane's announcement of 0 means that it is idle.
        batch.write_word(oracle, 1);
        env.execute(batch).await?;
        let shared = Shared {
            oracle,
            oracle_layout,
            servers,
            config,
            slot_count: AtomicU32::new(0),
            published: (0..SLOTS_MAX).map(|_| AtomicU64::new(0)).collect(),
            catalog: Mutex::default(),
            released: Mutex::default(),
            pieces: SharedPieces::default(),
            home: Mutex::new(Home { idle: Vec::new(), made: 0 }),
        };
        Ok(Self { env, shared: Arc::new(shared) })
    }

    /// A handle for another endpoint of the same compute server.
    pub fn with_env(&self, env: E) -> Self {
        Self { env, shared: self.shared.clone() }
    }

    /// A handle from another compute server: it shares nothing with this one but remote memory.
    pub fn elsewhere(&self, env: E) -> Self {
        let own = &*self.shared;
        let shared = Shared {
            oracle: own.oracle,
            oracle_layout: own.oracle_layout,
            servers: own.servers.clone(),
            config: own.config.clone(),
            slot_count: AtomicU32::new(0),
            published: (0..SLOTS_MAX).map(|_| AtomicU64::new(0)).collect(),
            catalog: Mutex::default(),
            released: Mutex::default(),
            pieces: SharedPieces::default(),
            home: Mutex::new(Home { idle: Vec::new(), made: 0 }),
        };
        Self { env, shared: Arc::new(shared) }
    }

    /// The endpoint of this handle.
    pub fn env(&self) -> &E {
        &self.env
    }

    /// How the database was opened.
    pub fn config(&self) -> &DatabaseConfig {
        &self.shared.config
    }

    /// A lane: one that came home, or a new one with a timestamp slot of its own.
    pub async fn lane(&self) -> Result<Lane<E>, LaneError> {
        let limit = self.shared.config.lanes;
        {
            let mut home = self.shared.home.lock().expect("no holder panics");
            if let Some(inner) = home.idle.pop() {
                return Ok(Lane::new(inner));
            }
            if home.made == limit {
                return Err(LaneError::Exhausted(limit));
            }
            home.made += 1;
        }
        let slot = take_slot(&self.env, &self.shared).await.map_err(|_| LaneError::Unreachable)?;
        if u32::from(slot.0) >= SLOTS_MAX as u32 {
            return Err(LaneError::Exhausted(limit));
        }
        let first = self.shared.config.first_counter;
        let inner = LaneInner::new(self.env.clone(), self.shared.clone(), slot, first);
        Ok(Lane::new(Box::new(inner)))
    }

    /// Brings the cached catalog up to date.
    pub async fn refresh(&self) -> Result<Arc<Catalog>, CatalogError> {
        let epoch = self.epoch().await?;
        self.shared.catalog_at_least(&self.env, epoch).await
    }

    pub(crate) async fn epoch(&self) -> Result<u64, CatalogError> {
        let mut batch = Batch::new();
        let epoch = batch.read(self.shared.oracle.add_words(u64::from(layout::oracle::EPOCH)), 1);
        let batch = self.env.execute(batch).await?;
        Ok(batch.words(epoch)[0])
    }

    /// The table called `name`, as far as this compute server knows.
    pub fn table(&self, name: &str) -> Option<TableId> {
        self.shared.cached_catalog().table(name)
    }

    /// The index called `index` of the table called `table`.
    pub fn index(&self, table: &str, index: &str) -> Option<IndexId> {
        self.shared.cached_catalog().index(table, index)
    }

    /// A table's columns.
    ///
    /// # Panics
    /// If there is no such table.
    pub fn schema(&self, table: TableId) -> Arc<Schema> {
        let catalog = self.shared.cached_catalog();
        catalog.info(table).expect("the caller has the table from this database").schema.clone()
    }

    /// Memory handed out per table, and for the system itself.
    pub async fn memory_usage(&self) -> Result<Vec<TableMemory>, CatalogError> {
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
                let indexes = indexes.unwrap_or_default().iter().map(|&index| index_label(index));
                let labels = indexes.chain([table_label(table.0)]);
                let used_bytes = labels.filter_map(|label| bytes.remove(&label.0)).sum();
                TableMemory { name: name.to_owned(), used_bytes }
            })
            .collect();
        tables.push(TableMemory { name: "system".to_owned(), used_bytes: bytes.values().sum() });
        Ok(tables)
    }

    /// Has every memory server touch the next `bytes` bytes that it will hand out. A host may charge
    /// dearly for the first touch of a page; this charges it now, and not to a transaction.
    pub async fn populate(&self, bytes: u64) -> Result<(), CatalogError> {
        for &server in &self.shared.servers {
            memory::extent::populate(&self.env, server, bytes).await?;
        }
        Ok(())
    }

    /// Checks the structure of every table and index. Meant for a database at rest.
    pub async fn check(&self) -> Result<StructureReport, CatalogError> {
        let catalog = self.refresh().await?;
        let mut report = StructureReport::default();
        for (name, table) in catalog.names() {
            let Some(info) = catalog.info(table) else { continue };
            match &info.primary {
                Primary::Hash(hash) => {
                    report.add_hash(name, index::hash::check(&self.env, hash).await?);
                }
                Primary::Tree(tree) => {
                    report.add_tree(name, index::tree::check(&self.env, tree).await?);
                }
            }
            if info.has_long_columns {
                report.add_values(name, check_values(self, table).await?);
            }
            for &number in &info.indexes {
                let Some(index) = catalog.index_info(IndexId(number)) else { continue };
                let name = format!("{name}.{}", index.design.name);
                match &index.storage {
                    Secondary::Hash(hash) => {
                        report.add_hash(&name, index::hash::check(&self.env, hash).await?);
                    }
                    Secondary::Tree(tree) => {
                        report.add_tree(&name, index::tree::check(&self.env, tree).await?);
                    }
                }
            }
        }
        Ok(report)
    }

    /// The words of the vector, for tests and reports.
    pub async fn vector(&self) -> Result<Vec<u64>, CatalogError> {
        let mut batch = Batch::new();
        let words = batch.read(self.shared.oracle, VECTOR + self.shared.slots_in_use());
        let batch = self.env.execute(batch).await?;
        Ok(batch.words(words)[VECTOR as usize..].to_vec())
    }
}

/// A slot of the vector that nobody has used before.
pub(crate) async fn take_slot<E: Env>(
    env: &E,
    shared: &Shared<E>,
) -> Result<SlotId, fabric::FabricError> {
    let mut batch = Batch::new();
    let count = batch.fetch_and_add(shared.oracle.add_words(u64::from(SLOT_COUNT)), 1);
    let batch = env.execute(batch).await?;
    let slot = batch.found(count);
    shared.note_slots(slot as u32 + 1);
    Ok(SlotId(slot as u16))
}

/// What the structural checks found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StructureReport {
    /// One line per structure: what it holds.
    pub lines: Vec<String>,
    /// What is wrong.
    pub errors: Vec<String>,
    /// Locks found held.
    pub locked: Vec<String>,
}

impl StructureReport {
    fn add_hash(&mut self, name: &str, report: HashReport) {
        self.lines.push(format!(
            "{name}: {} buckets, {} overflow blocks, {} slots in use",
            report.buckets, report.overflow_blocks, report.used_slots
        ));
        self.errors.extend(report.errors.into_iter().map(|error| format!("{name}: {error}")));
        self.locked.extend(report.locked.into_iter().map(|at| format!("{name}: {at:?}")));
    }

    fn add_values(&mut self, name: &str, (count, errors): (u64, Vec<String>)) {
        self.lines.push(format!("{name}: {count} values out of line"));
        self.errors.extend(errors.into_iter().map(|error| format!("{name}: {error}")));
    }

    fn add_tree(&mut self, name: &str, report: index::tree::TreeReport) {
        self.lines.push(format!("{name}: {} leaves, {} entries", report.leaves, report.entries));
        self.errors.extend(report.errors.into_iter().map(|error| format!("{name}: {error}")));
        self.locked.extend(report.locked.into_iter().map(|at| format!("{name}: {at:?}")));
    }
}
