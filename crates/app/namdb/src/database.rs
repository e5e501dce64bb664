//! A database, in this process or in a cluster: open it, create tables, open sessions.

use crate::cluster::{BorrowedSeat, LEAVE_NS, Place, Remote, close_seats};
use crate::config::{Config, OpenError};
use crate::durable::{self, Durable, FromDirectory, OpenProgress};
use crate::error::TransactionError;
use crate::key_names::KeyNames;
use crate::lanes::{LanePool, WAIT_MS_MAX};
use crate::session::Session;
use fabric::{LocalEnv, run_now};
use layout::{IndexDesign, Schema};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use txn::catalog::Catalog;
use txn::{CatalogError, Database, IndexId, Lane, Root, TableId, TableMemory, TableSpec};

/// An open database. Clones share it. When the last clone is dropped, a database of [`open`] loses
/// its data, and the process leaves the cluster of a database of [`connect`](crate::connect).
///
/// ```
/// # use namdb::{Column, ColumnType, Schema, TableSpec};
/// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
/// # let column = |name: &str| Column::new(name, ColumnType::Int8);
/// # let schema = Schema::new("account", vec![column("id"), column("n")], &[0])?;
/// # let (design, indexes) = (Default::default(), Vec::new());
/// # let spec = TableSpec { schema, design, indexes };
/// let other = db.clone();
/// std::thread::spawn(move || other.create_table(spec).is_ok()).join().expect("no panic");
/// assert!(db.table("account").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    engine: Engine,
    config: Config,
    key_names: KeyNames,
}

/// The engine that reaches the memory. A transaction chooses once; its statements call a concrete
/// type.
#[cfg_attr(
    feature = "cluster",
    expect(clippy::large_enum_variant, reason = "a database has one, behind a pointer")
)]
pub(crate) enum Engine {
    /// Memory of this process, or mapped into it: verbs complete at once.
    Local(Local),
    /// Memory that a network reaches.
    #[cfg_attr(not(feature = "cluster"), expect(dead_code, reason = "no value can be made"))]
    Remote(Arc<Remote>),
}

pub(crate) struct Local {
    /// An engine handle belongs to one thread; this one is only cloned.
    root: Mutex<Database<LocalEnv>>,
    lanes: LanePool,
    /// The cluster whose regions are mapped; `None` for memory of this process.
    place: Option<Place>,
    /// The directory that keeps the data. Dropped behind the lanes.
    durable: Option<Durable>,
}

impl Local {
    fn new(root: Database<LocalEnv>, lanes: u32, place: Option<Place>) -> Self {
        let lanes = LanePool::new(lanes);
        Self { root: Mutex::new(root), lanes, place, durable: None }
    }

    /// A handle with an endpoint of its own.
    pub(crate) fn handle(&self) -> Database<LocalEnv> {
        self.root.lock().expect("making a handle does not panic").for_thread()
    }

    pub(crate) fn borrow_lane(&self) -> Result<Lane<LocalEnv>, TransactionError> {
        self.borrow_lane_until(None)
    }

    /// Waits no longer than until `gives_up`.
    fn borrow_lane_until(
        &self,
        gives_up: Option<&dyn Fn() -> bool>,
    ) -> Result<Lane<LocalEnv>, TransactionError> {
        let borrowed = self.lanes.borrow(|| self.handle(), gives_up);
        borrowed.map_err(|error| match (error, &self.place) {
            (error, None) => error,
            (TransactionError::Busy { waited_ms }, Some(_)) => {
                let transactions = self.lanes.lane_count_max();
                TransactionError::ProgramBusy { transactions, waited_ms }
            }
            (error, Some(_)) => error.in_cluster(WAIT_MS_MAX),
        })
    }

    pub(crate) fn give_back_lane(&self, lane: Lane<LocalEnv>) {
        self.lanes.give_back(lane);
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if self.place.is_some() {
            self.lanes.close();
            // If a memory server is unreachable, the cluster is lost, and its slots with it.
            let _ = run_now(self.handle().leave(LEAVE_NS));
        }
    }
}

impl Engine {
    /// The cluster, if this process has joined one.
    #[inline]
    pub(crate) fn place(&self) -> Option<&Place> {
        match self {
            Self::Local(local) => local.place.as_ref(),
            Self::Remote(remote) => Some(remote.place()),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Engine::Remote(remote) = &self.engine {
            close_seats(remote);
        }
    }
}

/// Runs a call of the engine's handle, and waits for its result.
macro_rules! on_handle {
    ($db:expr, $handle:ident => $call:expr) => {
        match &$db.shared.engine {
            Engine::Local(local) => {
                let $handle = local.handle();
                run_now($call)
            }
            Engine::Remote(remote) => {
                let seat = BorrowedSeat::take(remote)
                    .map_err(|fault| CatalogError::Unreachable(fault.to_string()))?;
                let $handle = &seat.database;
                seat.engine.block_on($call)
            }
        }
    };
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
///     let row = txn.rows().insert(account, &key)?;
///     txn.rows().update(row).set_int(1, 100);
///     namdb::Ok(())
/// })?;
/// let balance = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
///     let row = txn.rows().read(account, &key)?;
///     namdb::Ok(row.map(|row| txn.rows().row(row).int(1)))
/// })?;
/// assert_eq!(balance, Some(100));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// With [`Config::directory`] the data is there again at the next opening:
///
/// ```
/// # let directory = std::env::temp_dir().join(format!("namdb-open-{}", std::process::id()));
/// use namdb::{Config, KeyValueTable};
///
/// let config = Config {
///     server_bytes: 64 << 20,
///     directory: Some(directory.clone()),
///     ..Default::default()
/// };
/// let db = namdb::open(config.clone())?;
/// let settings = KeyValueTable::create(&db, "setting", 8, 8, Default::default())?;
/// let mut session = db.session();
/// let mut kv = session.key_value()?;
/// kv.write(settings, b"colour", b"blue")?;
/// kv.commit()?; // It is on the disk now.
/// drop((session, settings, db));
///
/// let db = namdb::open(config)?;
/// let settings = KeyValueTable::open(&db, "setting")?;
/// let mut session = db.session();
/// assert_eq!(session.key_value()?.read(settings, b"colour")?.as_deref(), Some(&b"blue"[..]));
/// # drop((session, db));
/// # std::fs::remove_dir_all(directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(config: Config) -> Result<Db, OpenError> {
    open_with_progress(config, &|_| {})
}

/// As [`open`], and calls `progress` about once a second while rows are loaded from
/// [`Config::directory`].
///
/// ```
/// let config = namdb::Config { server_bytes: 64 << 20, ..Default::default() };
/// let db = namdb::open_with_progress(config, &|progress| {
///     println!("{} of {} rows", progress.rows, progress.all_rows);
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_with_progress(
    config: Config,
    progress: &dyn Fn(OpenProgress),
) -> Result<Db, OpenError> {
    config.validate()?;
    if let Some(path) = &config.directory {
        let FromDirectory { logged, durable } = durable::open(&config, path, progress)?;
        let mut local = Local::new(logged, config.lanes, None);
        local.durable = Some(durable);
        return Ok(Db::new(Engine::Local(local), config));
    }
    let root =
        txn::local::open(&config.engine()).map_err(|error| OpenError::Start(error.to_string()))?;
    Ok(Db::new(Engine::Local(Local::new(root, config.lanes, None)), config))
}

impl Db {
    fn new(engine: Engine, config: Config) -> Self {
        let (identity, key_names) = (DbIdentity::next(), KeyNames::default());
        Self { shared: Arc::new(Shared { identity, engine, config, key_names }) }
    }

    /// Wraps a database that another process created and that this process maps into its memory.
    /// Sessions work as usual.
    ///
    /// ```
    /// let config = txn::local::OpenConfig { server_bytes: 64 << 20, ..Default::default() };
    /// let db = namdb::Db::of(txn::local::open(&config)?);
    /// assert_eq!(db.config().server_bytes, 64 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(root: Database<LocalEnv>) -> Self {
        let (lanes, bytes) =
            (root.config().lanes, root.env().world().region_bytes(layout::RegionId(0)));
        let config = joined_config(&root.root(), lanes, bytes);
        Self::new(Engine::Local(Local::new(root, lanes, None)), config)
    }

    /// The database of a cluster whose regions are mapped.
    #[cfg(feature = "cluster")]
    pub(crate) fn mapped(root: Database<LocalEnv>, lanes: u32, place: Place) -> Self {
        let config = joined_config(&place.root, lanes, place.server_bytes());
        Self::new(Engine::Local(Local::new(root, lanes, Some(place))), config)
    }

    /// The database of a cluster that a network reaches.
    #[cfg(feature = "cluster")]
    pub(crate) fn over_network(remote: Arc<Remote>) -> Self {
        let place = remote.place();
        let config = joined_config(&place.root, place.root.slots, place.server_bytes());
        Self::new(Engine::Remote(remote), config)
    }

    /// The configuration it was opened with.
    ///
    /// ```
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// assert_eq!(db.config().server_bytes, 64 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// Opens a session. It is cheap, can be sent to another thread, and serves one thread at a
    /// time.
    ///
    /// ```
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// let mut session = db.session();
    /// let txn = session.begin(namdb::Isolation::Snapshot)?;
    /// txn.commit()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn session(&self) -> Session {
        Session::new(self.clone())
    }

    /// The engine's own handle, with its own endpoint, for programs that run lanes themselves.
    ///
    /// ```
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// use fabric::run_now;
    ///
    /// let mut lane = run_now(db.handle().lane())?;
    /// let txn = run_now(lane.begin(namdb::Isolation::Snapshot));
    /// assert!(txn.is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If a network reaches the database, as with [`connect`](crate::connect) over `tcp`.
    pub fn handle(&self) -> Database<LocalEnv> {
        match &self.shared.engine {
            Engine::Local(local) => local.handle(),
            Engine::Remote(_) => panic!("a database over a network has no handle without waits"),
        }
    }

    /// Creates a table and its indexes. Sessions may run meanwhile.
    ///
    /// ```
    /// # use namdb::{Column, ColumnType, Schema, TableSpec};
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let column = |name: &str| Column::new(name, ColumnType::Int8);
    /// # let schema = Schema::new("account", vec![column("id"), column("n")], &[0])?;
    /// # let (design, indexes) = (Default::default(), Vec::new());
    /// # let spec = TableSpec { schema, design, indexes };
    /// let account = db.create_table(spec)?;
    /// assert_eq!(db.table("account"), Some(account));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_table(&self, spec: TableSpec) -> Result<TableId, CatalogError> {
        on_handle!(self, handle => handle.create_table(spec))
    }

    /// Drops a table and all its indexes. Waits for the transactions that use it, at most the
    /// maximal duration of a transaction. On [`CatalogError::Unacknowledged`] the table is dropped,
    /// and a later change of the catalog frees its memory.
    ///
    /// ```
    /// # use namdb::{Column, ColumnType, Schema, TableSpec};
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let column = |name: &str| Column::new(name, ColumnType::Int8);
    /// # let schema = Schema::new("account", vec![column("id"), column("n")], &[0])?;
    /// # let (design, indexes) = (Default::default(), Vec::new());
    /// # let spec = TableSpec { schema, design, indexes };
    /// db.create_table(spec)?;
    /// db.drop_table("account")?;
    /// assert_eq!(db.table("account"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drop_table(&self, name: &str) -> Result<(), CatalogError> {
        self.key_names().remove(name);
        on_handle!(self, handle => handle.drop_table(name))
    }

    /// Creates an index and fills it. Sessions may run meanwhile.
    ///
    /// ```
    /// # use namdb::{Column, ColumnType, Schema, TableSpec};
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let column = |name: &str| Column::new(name, ColumnType::Int8);
    /// # let schema = Schema::new("account", vec![column("id"), column("n")], &[0])?;
    /// # let (design, indexes) = (Default::default(), Vec::new());
    /// # let spec = TableSpec { schema, design, indexes };
    /// # db.create_table(spec)?;
    /// use namdb::{IndexDesign, IndexKind};
    ///
    /// let (name, columns, kind) = ("by_n".to_owned(), vec![1], IndexKind::Tree);
    /// let design = IndexDesign { name, columns, kind, ..Default::default() };
    /// let by_n = db.create_index("account", design)?;
    /// assert_eq!(db.index("account", "by_n"), Some(by_n));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create_index(&self, table: &str, design: IndexDesign) -> Result<IndexId, CatalogError> {
        let created = on_handle!(self, handle => handle.create_index(table, design));
        created.map_err(|error| self.key_names().name_error(error))
    }

    /// Drops an index. Sessions may run meanwhile.
    ///
    /// ```
    /// # use namdb::{Column, ColumnType, Schema, TableSpec};
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let column = |name: &str| Column::new(name, ColumnType::Int8);
    /// # let schema = Schema::new("account", vec![column("id"), column("n")], &[0])?;
    /// # let (design, indexes) = (Default::default(), Vec::new());
    /// # let spec = TableSpec { schema, design, indexes };
    /// # db.create_table(spec)?;
    /// # let (name, columns) = ("by_n".to_owned(), vec![1]);
    /// # let design = namdb::IndexDesign { name, columns, ..Default::default() };
    /// # db.create_index("account", design)?;
    /// db.drop_index("account", "by_n")?;
    /// assert_eq!(db.index("account", "by_n"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drop_index(&self, table: &str, index: &str) -> Result<(), CatalogError> {
        on_handle!(self, handle => handle.drop_index(table, index))
    }

    /// Finds a table by its name; `None` also if the cluster is unreachable.
    ///
    /// ```
    /// # use namdb::{Column, ColumnType, Schema, TableSpec};
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let column = |name: &str| Column::new(name, ColumnType::Int8);
    /// # let schema = Schema::new("account", vec![column("id"), column("n")], &[0])?;
    /// # let (design, indexes) = (Default::default(), Vec::new());
    /// # let spec = TableSpec { schema, design, indexes };
    /// assert_eq!(db.table("account"), None);
    /// let account = db.create_table(spec)?;
    /// assert_eq!(db.table("account"), Some(account));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn table(&self, name: &str) -> Option<TableId> {
        self.catalog().ok()?.table(name)
    }

    /// Finds an index by the names of its table and of itself; `None` as for [`Db::table`].
    /// [`Db::create_index`] has an example.
    pub fn index(&self, table: &str, index: &str) -> Option<IndexId> {
        self.catalog().ok()?.index(table, index)
    }

    /// The columns of a table; `None` if it does not exist, or as for [`Db::table`].
    ///
    /// ```
    /// # use namdb::{Column, ColumnType, Schema, TableSpec};
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let column = |name: &str| Column::new(name, ColumnType::Int8);
    /// # let schema = Schema::new("account", vec![column("id"), column("n")], &[0])?;
    /// # let (design, indexes) = (Default::default(), Vec::new());
    /// # let spec = TableSpec { schema, design, indexes };
    /// let account = db.create_table(spec)?;
    /// assert_eq!(db.schema(account).expect("it exists").columns()[1].name, "n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn schema(&self, table: TableId) -> Option<Arc<Schema>> {
        self.catalog().ok()?.info(table).map(|info| info.schema.clone())
    }

    /// Memory that each table and index uses.
    ///
    /// ```
    /// # use namdb::{Column, ColumnType, Schema, TableSpec};
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let column = |name: &str| Column::new(name, ColumnType::Int8);
    /// # let schema = Schema::new("account", vec![column("id"), column("n")], &[0])?;
    /// # let (design, indexes) = (Default::default(), Vec::new());
    /// # let spec = TableSpec { schema, design, indexes };
    /// db.create_table(spec)?;
    /// for table in db.memory_usage()? {
    ///     println!("{}: {} bytes", table.name, table.used_bytes);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn memory_usage(&self) -> Result<Vec<TableMemory>, CatalogError> {
        on_handle!(self, handle => handle.memory_usage())
    }

    /// The catalog, with the changes that other processes have made.
    pub(crate) fn catalog(&self) -> Result<Arc<Catalog>, CatalogError> {
        on_handle!(self, handle => handle.refresh())
    }

    /// The directory that keeps the data.
    pub(crate) fn durable(&self) -> Option<&Durable> {
        match &self.shared.engine {
            Engine::Local(local) => local.durable.as_ref(),
            Engine::Remote(_) => None,
        }
    }

    pub(crate) fn identity(&self) -> DbIdentity {
        self.shared.identity
    }

    pub(crate) fn key_names(&self) -> &KeyNames {
        &self.shared.key_names
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    /// A lane of a database that no network separates from this process.
    #[cfg(feature = "procedures")]
    pub(crate) fn borrow_lane(&self) -> Result<Lane<LocalEnv>, TransactionError> {
        match &self.shared.engine {
            Engine::Local(local) => local.borrow_lane(),
            Engine::Remote(_) => {
                unreachable!("procedures run there on seats, and SQL sessions are refused")
            }
        }
    }

    /// As [`Self::borrow_lane`]; waits no longer than until `gives_up`.
    #[cfg(feature = "sql")]
    pub(crate) fn borrow_lane_until(
        &self,
        gives_up: &dyn Fn() -> bool,
    ) -> Result<Lane<LocalEnv>, TransactionError> {
        match &self.shared.engine {
            Engine::Local(local) => local.borrow_lane_until(Some(gives_up)),
            Engine::Remote(_) => unreachable!("SQL sessions are refused there"),
        }
    }

    /// Whether transactions that think should give their lanes back.
    #[cfg(feature = "sql")]
    pub(crate) fn are_lanes_scarce(&self) -> bool {
        matches!(&self.shared.engine, Engine::Local(local) if local.lanes.are_scarce())
    }

    /// Takes back such a lane.
    #[cfg(any(feature = "procedures", feature = "sql"))]
    pub(crate) fn give_back_lane(&self, lane: Lane<LocalEnv>) {
        if let Engine::Local(local) = &self.shared.engine {
            local.give_back_lane(lane);
        }
    }
}

/// The configuration of a database that other processes have made.
fn joined_config(root: &Root, lanes: u32, server_bytes: u64) -> Config {
    Config {
        servers: root.servers.len() as u16,
        server_bytes,
        lanes,
        transaction_time_max_ms: root.config.transaction_time_max_ns / 1_000_000,
        oracle: root.config.oracle,
        ..Config::default()
    }
}
