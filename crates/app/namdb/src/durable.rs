//! The directory of a database: opening it, the threads that write to it, changes of the catalog.
//!
//! ```text
//! sessions        commit in memory, take a ticket, wait for its group
//! flusher         a group of commits, one sync: by the session that waits, if nobody is writing,
//!                 and otherwise by a thread
//! checkpointer    one thread: all rows, when the log has grown
//! ```
//!
//! Two handles lead to the same memory. Sessions use the one with the redo log. Everything else,
//! such as loading, filling indexes and the snapshots of groups, uses the other, whose commits are
//! not logged.

mod checkpointer;

use crate::config::{Config, Durability, OpenError};
use crate::disk_wait;
use crate::error::TransactionError;
use crate::host::{self, Moment};
use durability::{
    Acknowledgements, Control, DurabilityError, Flusher, OpenOptions, Opened, Phase, Restore,
    Ticket, Work, catalog, open_directory,
};
use fabric::{LocalEnv, run_now};
use layout::IndexDesign;
use redo_log::{DatabaseId, Incarnation, OnDamage};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;
use storage::{Directory, RealDisk};
use txn::local::OpenConfig;
use txn::{CatalogError, CatalogKeeper, Database, DatabaseConfig, IndexId, TableId, TableSpec};

/// Slots of the timestamp vector beside those of sessions: for the flusher, the checkpointer,
/// changes of the catalog, and loading.
const OWN_SLOTS: u32 = 8;
/// How long a commit of a relaxed transaction may wait for its group in a synchronous database.
const RELAXED_INTERVAL: Duration = Duration::from_millis(200);
/// Between two attempts while the disk is full.
const FULL_WAIT_MS: u64 = 50;
/// How long the last loaded row may keep a slot.
const LEAVE_NS: u64 = 1_000_000_000;

/// How far a restart has come.
/// [`open_with_progress`](crate::open_with_progress) has an example.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct OpenProgress {
    /// Rows of the checkpoint and entries of the log behind it that are done. An entry that was
    /// read and not yet applied counts half.
    pub rows: u64,
    /// All of them.
    pub all_rows: u64,
    /// Seconds since loading began.
    pub elapsed_s: f64,
}

/// Counters of the directory.
/// [`Db::checkpoint`](crate::Db::checkpoint) has an example.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct DirectoryStatistics {
    /// Groups of commits written since the database was opened, each with one sync.
    pub groups: u64,
    /// Those that a waiting session wrote itself; a thread of the database writes the others.
    pub session_groups: u64,
    /// Bytes of the log that they took.
    pub log_bytes: u64,
    /// Seconds of writing and syncing groups.
    pub group_s: f64,
    /// Checkpoints made since the database was opened.
    pub checkpoints: u64,
    /// Seconds since the last of them was complete; `None` without one.
    pub checkpoint_age_s: Option<f64>,
}

#[derive(Default)]
struct Counters {
    groups: AtomicU64,
    session_groups: AtomicU64,
    log_bytes: AtomicU64,
    group_ns: AtomicU64,
    checkpoints: AtomicU64,
    /// Bytes of the log when the last checkpoint began.
    checkpoint_at: AtomicU64,
    /// Bytes of the log from earlier starts that no checkpoint has made superfluous.
    earlier_log_bytes: AtomicU64,
    last_checkpoint: Mutex<Option<Moment>>,
}

/// The counters of a database's directory, for a monitor. They do not keep the database open.
///
/// ```
/// # let path = std::env::temp_dir().join(format!("namdb-counters-{}", std::process::id()));
/// # let config = namdb::Config {
/// #     server_bytes: 64 << 20,
/// #     directory: Some(path.clone()),
/// #     ..Default::default()
/// # };
/// let db = namdb::open(config)?;
/// let counters = db.directory_counters().expect("it has a directory");
/// db.checkpoint()?;
/// drop(db);
/// assert_eq!(counters.statistics().checkpoints, 1);
/// # std::fs::remove_dir_all(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct DirectoryCounters(Arc<Counters>);

impl DirectoryCounters {
    /// Their values now. [`DirectoryCounters`] has an example.
    pub fn statistics(&self) -> DirectoryStatistics {
        let counters = &self.0;
        let last = *counters.last_checkpoint.lock().expect("no holder panics");
        DirectoryStatistics {
            groups: counters.groups.load(Relaxed),
            session_groups: counters.session_groups.load(Relaxed),
            log_bytes: counters.log_bytes.load(Relaxed),
            group_s: counters.group_ns.load(Relaxed) as f64 / 1e9,
            checkpoints: counters.checkpoints.load(Relaxed),
            checkpoint_age_s: last.map(Moment::elapsed_s),
        }
    }
}

/// The state that the threads share.
struct Shared {
    directory: Directory<RealDisk>,
    control: Mutex<Control>,
    /// Without a redo log. Each user takes a handle for its thread.
    unlogged: Mutex<Database<LocalEnv>>,
    /// With the redo log, if there is one, and without a keeper: for filling indexes, which gives
    /// rows new versions that later entries name.
    filling: Mutex<Database<LocalEnv>>,
    is_logged: bool,
    acknowledgements: Acknowledgements,
    incarnation: Incarnation,
    /// One checkpoint at a time.
    checkpointing: Mutex<()>,
    /// Callers that wait for one.
    checkpoints_wanted: AtomicU64,
    /// Growth of the log until the next one begins.
    checkpoint_log_bytes: u64,
    /// The thread that holds it writes the next group.
    flusher: Mutex<Option<Flusher<LocalEnv, RealDisk>>>,
    counters: Arc<Counters>,
    /// Whether nobody has looked for tables that earlier processes have left.
    has_leftovers: AtomicBool,
    is_closing: AtomicBool,
    closing: Condvar,
}

/// The directory of an open database.
pub(crate) struct Durable {
    shared: Arc<Shared>,
    durability: Durability,
    /// The loss that the configuration has accepted, in a sentence.
    loss: Option<String>,
    threads: Mutex<Option<Threads>>,
}

struct Threads {
    flusher: JoinHandle<Result<(), DurabilityError>>,
    checkpointer: JoinHandle<()>,
}

/// A database that was opened from its directory.
pub(crate) struct FromDirectory {
    /// For sessions.
    pub logged: Database<LocalEnv>,
    pub durable: Durable,
}

/// Opens the database in `path`, or creates one there.
pub(crate) fn open(
    config: &Config,
    path: &Path,
    progress: &dyn Fn(OpenProgress),
) -> Result<FromDirectory, OpenError> {
    let disk = RealDisk::create(path).map_err(|failure| OpenError::created(path, failure))?;
    let directory = run_now(Directory::open(disk)).map_err(DurabilityError::from)?;
    let mut options = OpenOptions::new(DatabaseId(host::random_bytes()));
    options.on_damage = if config.accept_loss { OnDamage::AcceptLoss } else { OnDamage::Refuse };
    let opened = run_now(open_directory(&directory, options))?;
    let Opened { control, log, restore, first_counter, loss, .. } = opened;
    let unlogged = in_memory(config, first_counter)?;
    load(&restore, &unlogged, progress)?;
    let earlier_log_bytes = AtomicU64::new(restore.log_bytes());
    drop(restore);
    let incarnation = log.incarnation();
    let flusher = run_now(Flusher::new(&unlogged, log))?;
    let logged = unlogged.elsewhere(unlogged.env().world().endpoint());
    let acknowledgements = flusher.acknowledgements().clone();
    let lanes = flusher.lanes();
    let is_logged = config.durability != Durability::None;
    let filling = unlogged.elsewhere(unlogged.env().world().endpoint());
    let filling = if is_logged { filling.logging_to(lanes.clone()) } else { filling };
    let shared = Arc::new(Shared {
        directory,
        control: Mutex::new(control),
        unlogged: Mutex::new(unlogged),
        filling: Mutex::new(filling),
        is_logged,
        acknowledgements,
        incarnation,
        checkpointing: Mutex::default(),
        checkpoints_wanted: AtomicU64::new(0),
        checkpoint_log_bytes: config.checkpoint_log_bytes,
        flusher: Mutex::new(Some(flusher)),
        counters: Arc::new(Counters { earlier_log_bytes, ..Counters::default() }),
        has_leftovers: AtomicBool::new(true),
        is_closing: AtomicBool::new(false),
        closing: Condvar::new(),
    });
    let logged = logged.kept_by(shared.clone());
    let loss = loss.map(|loss| loss.to_string());
    let durability = config.durability;
    if !is_logged {
        shared.close_flusher()?;
        let durable = Durable { shared, durability, loss, threads: Mutex::default() };
        return Ok(FromDirectory { logged, durable });
    }
    let logged = logged.logging_to(lanes);
    let interval = match durability {
        Durability::Periodic(interval) => interval,
        _ => RELAXED_INTERVAL,
    };
    let for_flusher = shared.clone();
    let flush = move || run_flusher(&for_flusher, interval);
    let no_thread = |error: std::io::Error| OpenError::Start(error.to_string());
    let flusher = host::spawn("namdb-flusher", flush).map_err(no_thread)?;
    let for_checkpoints = shared.clone();
    let checkpoint = move || checkpointer::run(&for_checkpoints);
    let checkpointer = host::spawn("namdb-checkpoints", checkpoint).map_err(no_thread)?;
    let threads = Mutex::new(Some(Threads { flusher, checkpointer }));
    Ok(FromDirectory { logged, durable: Durable { shared, durability, loss, threads } })
}

/// An empty database in memory, with slots beside those of sessions.
pub(crate) fn in_memory(
    config: &Config,
    first_counter: u64,
) -> Result<Database<LocalEnv>, OpenError> {
    let open_config = config.engine();
    let slots = (config.lanes + OWN_SLOTS).next_multiple_of(8);
    let database = DatabaseConfig { slots, first_counter, ..open_config.database };
    txn::local::open(&OpenConfig { database, ..open_config })
        .map_err(|error| OpenError::Start(error.to_string()))
}

/// Loads all rows, on all cores.
pub(crate) fn load(
    restore: &Restore<RealDisk>,
    unlogged: &Database<LocalEnv>,
    progress: &dyn Fn(OpenProgress),
) -> Result<(), OpenError> {
    run_now(restore.create_tables(unlogged))?;
    if restore.progress().1 == 0 {
        return Ok(());
    }
    let loader = unlogged.elsewhere(unlogged.env().world().endpoint());
    let workers = host::processor_count().clamp(1, OWN_SLOTS as usize - 2);
    let start = Moment::now();
    let report = || {
        let (rows, all_rows) = restore.progress();
        progress(OpenProgress { rows, all_rows, elapsed_s: start.elapsed_s() });
    };
    for phase in Phase::ALL {
        let handles: Vec<_> = (0..workers).map(|_| loader.for_thread()).collect();
        let loaded =
            host::in_parallel(handles, |handle| run_now(restore.work(&handle, phase)), &report);
        loaded.into_iter().collect::<Result<(), _>>()?;
    }
    // The slots are for others now.
    run_now(loader.leave(LEAVE_NS)).map_err(|error| OpenError::Start(error.to_string()))?;
    Ok(())
}

/// Writes the groups that no session writes itself.
fn run_flusher(shared: &Shared, interval: Duration) -> Result<(), DurabilityError> {
    // The groups behind which the log has a marker, and those at the last look.
    let (mut marked, mut seen) = (0, 0);
    loop {
        let is_full = shared.acknowledgements.is_full();
        let limit = if is_full { Duration::from_millis(FULL_WAIT_MS) } else { interval };
        let work = shared.acknowledgements.wait_for_work(limit);
        if work == Work::Stop {
            return shared.close_flusher();
        }
        let mut flusher = shared.flusher();
        let Some(flusher) = flusher.as_mut() else { return Ok(()) };
        match work {
            // A session has written the group.
            Work::Group if !shared.acknowledgements.is_wanted() => continue,
            Work::Idle if !flusher.has_work() => {
                let groups = flusher.statistics().groups;
                // Sessions that write groups need no marker: each group has that of the last one.
                if groups != marked && groups == seen {
                    match run_now(flusher.mark()) {
                        Err(_) if shared.acknowledgements.is_full() => continue,
                        done => done?,
                    }
                    marked = groups;
                }
                seen = groups;
                if is_full {
                    run_now(flusher.check_room(&shared.directory))?;
                }
                continue;
            }
            _ => {}
        }
        match shared.write_group(flusher) {
            Err(_) if shared.acknowledgements.is_full() => host::sleep_ms(FULL_WAIT_MS),
            written => written?,
        }
    }
}

impl Shared {
    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().expect("no holder panics")
    }

    fn unlogged(&self) -> Database<LocalEnv> {
        self.unlogged.lock().expect("no holder panics").for_thread()
    }

    fn flusher(&self) -> MutexGuard<'_, Option<Flusher<LocalEnv, RealDisk>>> {
        // A group is whole or refused, so a holder that panicked, in the waker of a task, has left
        // nothing half done.
        self.flusher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close_flusher(&self) -> Result<(), DurabilityError> {
        match self.flusher().take() {
            Some(flusher) => run_now(flusher.close()),
            None => Ok(()),
        }
    }

    fn write_group(
        &self,
        flusher: &mut Flusher<LocalEnv, RealDisk>,
    ) -> Result<(), DurabilityError> {
        let start = Moment::now();
        run_now(flusher.flush())?;
        run_now(flusher.check_room(&self.directory))?;
        let counters = &self.counters;
        counters.group_ns.fetch_add(Moment::now().since_ns(start), Relaxed);
        counters.groups.store(flusher.statistics().groups, Relaxed);
        counters.log_bytes.store(flusher.statistics().bytes, Relaxed);
        Ok(())
    }

    /// Writes the group of a ticket on the session's own thread, unless somebody is writing: so a
    /// single session need not wake a thread and be woken.
    fn write_group_of(&self, ticket: Ticket) {
        let mut flusher = match self.flusher.try_lock() {
            Ok(flusher) => flusher,
            Err(TryLockError::Poisoned(flusher)) => flusher.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let Some(flusher) = flusher.as_mut() else { return };
        let acknowledgements = &self.acknowledgements;
        if acknowledgements.is_durable(ticket) || acknowledgements.refusal().is_some() {
            return;
        }
        // An error reaches the session, and all others, as a refusal.
        if self.write_group(flusher).is_ok() {
            self.counters.session_groups.fetch_add(1, Relaxed);
        }
    }

    /// Waits; returns whether the database is being closed.
    fn sleep_until_closing(&self, limit: Duration) -> bool {
        let guard = self.checkpointing.lock().expect("no holder panics");
        let is_open = |(): &mut ()| !self.is_closing.load(Relaxed);
        let waited = self.closing.wait_timeout_while(guard, limit, is_open);
        drop(waited.expect("no holder panics"));
        self.is_closing.load(Relaxed)
    }
}

impl Durable {
    /// The loss that the configuration has accepted.
    pub fn accepted_loss(&self) -> Option<&str> {
        self.loss.as_deref()
    }

    /// Whether transactions wait for the disk, if they do not say otherwise.
    pub fn is_synchronous(&self) -> bool {
        self.durability == Durability::Synchronous
    }

    /// Whether tables may be left from earlier processes; true for the first call only.
    pub fn take_leftovers(&self) -> bool {
        self.shared.has_leftovers.swap(false, Relaxed)
    }

    /// Whether transactions are logged.
    pub fn is_logged(&self) -> bool {
        self.shared.is_logged
    }

    pub fn acknowledgements(&self) -> &Acknowledgements {
        &self.shared.acknowledgements
    }

    /// Refuses a commit that could not be acknowledged.
    pub fn admit(&self) -> Result<(), TransactionError> {
        match self.acknowledgements().refusal().filter(|_| self.is_logged()) {
            None => Ok(()),
            Some(refusal) => Err(TransactionError::Refused(refusal.to_string().into())),
        }
    }

    /// Waits until the group of a ticket is durable.
    pub fn wait(&self, ticket: Ticket) -> Result<(), TransactionError> {
        if ticket.is_durable() {
            return Ok(());
        }
        self.shared.wait_for_group(ticket).map_err(not_durable)
    }

    pub fn checkpoint(&self) -> Result<(), DurabilityError> {
        if !self.is_logged() {
            return Err(DurabilityError::NotLogged);
        }
        self.shared.checkpoint_now()
    }

    /// Makes everything durable and closes the directory's files. The first call does it.
    pub fn close(&self) -> Result<(), DurabilityError> {
        let Some(threads) = self.threads.lock().expect("no holder panics").take() else {
            return Ok(());
        };
        self.shared.is_closing.store(true, Relaxed);
        self.shared.closing.notify_all();
        // It gives up a checkpoint under way, which needs the flusher until then.
        let checkpointer = threads.checkpointer.join();
        self.acknowledgements().stop();
        let flusher = threads.flusher.join();
        checkpointer.expect("the checkpointer does not panic");
        flusher.expect("the flusher does not panic")
    }

    pub fn counters(&self) -> DirectoryCounters {
        DirectoryCounters(self.shared.counters.clone())
    }
}

impl Shared {
    /// Waits until the group of a ticket is durable. The error says why it is not.
    fn wait_for_group(&self, ticket: Ticket) -> Result<(), String> {
        self.write_group_of(ticket);
        disk_wait::wait(&self.acknowledgements, ticket)
    }

    /// Waits until everything is durable that is published by now.
    fn wait_for_all(&self) -> Result<(), CatalogError> {
        match self.is_logged {
            true => self
                .wait_for_group(self.acknowledgements.of_next_group())
                .map_err(CatalogError::Directory),
            false => Ok(()),
        }
    }

    /// Runs a change of the catalog, which also changes the control file.
    fn change<T>(
        &self,
        change: impl AsyncFnOnce(
            &mut Control,
            &Directory<RealDisk>,
            &Database<LocalEnv>,
        ) -> Result<T, DurabilityError>,
    ) -> Result<T, CatalogError> {
        let (mut control, database) = (self.control(), self.unlogged());
        run_now(change(&mut control, &self.directory, &database)).map_err(catalog_error)
    }
}

impl CatalogKeeper for Shared {
    fn create_table(&self, spec: TableSpec) -> Result<TableId, CatalogError> {
        self.change(async |control, directory, database| {
            catalog::create_table(control, directory, database, spec).await
        })
    }

    /// Earlier commits may have copied the table's rows elsewhere, so they must become durable
    /// first.
    fn drop_table(&self, name: &str) -> Result<(), CatalogError> {
        self.wait_for_all()?;
        self.change(async |control, directory, database| {
            catalog::drop_table(control, directory, database, name).await
        })
    }

    fn create_index(&self, table: &str, design: IndexDesign) -> Result<IndexId, CatalogError> {
        let filling = self.filling.lock().expect("no holder panics").for_thread();
        self.change(async |control, directory, _| {
            let group = async {
                self.wait_for_all()?;
                Ok(self.acknowledgements.last_group().map_or(0, |(group, _)| group.number))
            };
            catalog::create_index(control, directory, &filling, group, table, design).await
        })
    }

    fn drop_index(&self, table: &str, index: &str) -> Result<(), CatalogError> {
        self.change(async |control, directory, database| {
            catalog::drop_index(control, directory, database, table, index).await
        })
    }
}

impl Drop for Durable {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::error!("the database was not closed cleanly: {error}");
        }
    }
}

fn catalog_error(error: DurabilityError) -> CatalogError {
    match error {
        DurabilityError::Catalog(error) => error,
        other => CatalogError::Directory(other.to_string()),
    }
}

pub(crate) fn not_durable(reason: String) -> TransactionError {
    TransactionError::NotDurable(reason.into())
}
