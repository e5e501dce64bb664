//! A database inside this process: open it, create tables, open sessions.

use crate::config::{Config, OpenError};
use crate::lanes::LanePool;
use crate::session::Session;
use fabric::{LocalEnv, run_now};
use layout::{IndexDesign, Schema};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use txn::local::OpenConfig;
use txn::{CatalogError, Database, DatabaseConfig, IndexId, TableId, TableMemory, TableSpec};

/// An open database. Clones share it; the data is lost when the last clone is dropped.
#[derive(Clone)]
pub struct Db {
    shared: Arc<Shared>,
}

/// Identifies the database in this process to which a typed table handle belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DbIdentity(u64);

impl DbIdentity {
    fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Relaxed))
    }
}

struct Shared {
    identity: DbIdentity,
    /// An engine handle belongs to one thread; this one is only cloned.
    root: Mutex<Database<LocalEnv>>,
    lanes: LanePool,
    config: Config,
}

/// Opens a database in this process.
///
/// ```
/// use namdb::{Column, ColumnType, Isolation, KeyBuilder, Retry, Schema, TableSpec};
///
/// let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
/// let columns = vec![
///     Column::new("id", ColumnType::Int8),
///     Column::new("balance", ColumnType::Int8),
/// ];
/// let schema = Schema::new("account", columns, &[0])?;
/// let account = db.create_table(TableSpec {
///     schema,
///     design: Default::default(),
///     indexes: Vec::new(),
/// })?;
///
/// let key = KeyBuilder::new().int8(7).key();
/// let mut session = db.session();
/// session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
///     let row = txn.insert(account, &key)?;
///     txn.update(row).set_int(1, 100);
///     Ok(())
/// })?;
/// let balance = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
///     let row = txn.read(account, &key)?;
///     Ok(row.map(|row| txn.row(row).int(1)))
/// })?;
/// assert_eq!(balance, Some(100));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(config: Config) -> Result<Db, OpenError> {
    config.validate()?;
    let open_config = OpenConfig {
        servers: config.servers,
        server_bytes: config.server_bytes,
        seed: config.seed,
        database: DatabaseConfig {
            oracle: config.oracle,
            lanes: config.lanes,
            transaction_time_max_ns: config.transaction_time_max_ms * 1_000_000,
            ..DatabaseConfig::default()
        },
    };
    let root =
        txn::local::open(&open_config).map_err(|error| OpenError::Start(error.to_string()))?;
    let lanes = LanePool::new(config.lanes);
    Ok(Db::new(root, lanes, config))
}

impl Db {
    fn new(root: Database<LocalEnv>, lanes: LanePool, config: Config) -> Self {
        let (identity, root) = (DbIdentity::next(), Mutex::new(root));
        Self { shared: Arc::new(Shared { identity, root, lanes, config }) }
    }

    /// Wraps a database that another process created and that this process maps into its memory.
    /// Sessions work as usual.
    pub fn of(root: Database<LocalEnv>) -> Self {
        let settings = root.config();
        let config = Config {
            servers: root.root().servers.len() as u16,
            server_bytes: root.env().world().region_bytes(layout::RegionId(0)),
            lanes: settings.lanes,
            transaction_time_max_ms: settings.transaction_time_max_ns / 1_000_000,
            oracle: settings.oracle,
            seed: 1,
        };
        let lanes = LanePool::new(config.lanes);
        Self::new(root, lanes, config)
    }

    /// The configuration it was opened with.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// Opens a session. It is cheap, can be sent to another thread, and serves one thread at a
    /// time.
    pub fn session(&self) -> Session {
        Session::new(self.clone())
    }

    /// The engine's own handle, with its own endpoint, for programs that run lanes themselves.
    pub fn handle(&self) -> Database<LocalEnv> {
        self.shared.root.lock().expect("begetting a handle does not panic").for_thread()
    }

    /// Creates a table and its indexes. Sessions may run meanwhile.
    pub fn create_table(&self, spec: TableSpec) -> Result<TableId, CatalogError> {
        run_now(self.handle().create_table(spec))
    }

    /// Drops a table and all its indexes. Waits for the transactions that use it, at most the
    /// maximal duration of a transaction. On [`CatalogError::Unacknowledged`] the table is dropped,
    /// and a later change of the catalog frees its memory.
    pub fn drop_table(&self, name: &str) -> Result<(), CatalogError> {
        run_now(self.handle().drop_table(name))
    }

    /// Creates an index and fills it. Sessions may run meanwhile.
    pub fn create_index(&self, table: &str, design: IndexDesign) -> Result<IndexId, CatalogError> {
        run_now(self.handle().create_index(table, design))
    }

    /// Drops an index. Sessions may run meanwhile.
    pub fn drop_index(&self, table: &str, index: &str) -> Result<(), CatalogError> {
        run_now(self.handle().drop_index(table, index))
    }

    /// Finds a table by its name.
    pub fn table(&self, name: &str) -> Option<TableId> {
        self.handle().table(name)
    }

    /// Finds an index by the names of its table and of itself.
    pub fn index(&self, table: &str, index: &str) -> Option<IndexId> {
        self.handle().index(table, index)
    }

    /// The columns of a table; `None` if it does not exist.
    pub fn schema(&self, table: TableId) -> Option<Arc<Schema>> {
        self.handle().schema(table)
    }

    /// Memory that each table and index uses.
    pub fn memory_usage(&self) -> Result<Vec<TableMemory>, CatalogError> {
        run_now(self.handle().memory_usage())
    }

    pub(crate) fn identity(&self) -> DbIdentity {
        self.shared.identity
    }

    pub(crate) fn lanes(&self) -> &LanePool {
        &self.shared.lanes
    }
}
