//! The state that all SQL sessions of a process share.

use crate::access::OWNER;
use crate::access::login::{Login, admit, has_passwords, login, trusts_host};
use crate::advisory::AdvisoryLocks;
use crate::catalog::change::EngineIndex;
use crate::catalog::sequences::{Ranges, Sequence};
use crate::catalog::snapshot::CatalogSnapshot;
use crate::catalog::version::{Analyzed, Parsed};
use crate::catalog::{Definition, Store, Version, is_physical};
use crate::error::{SqlError, abort_error, catalog_error};
use crate::host::Host;
use crate::locks::TableLocks;
use crate::row_locks::RowLocks;
use crate::session::{Ended, RETRIES, SessionOptions, SqlSession, ended};
use crate::waiting::{WAIT_MAX, Waiter, wait_until};
use interpreter::{Attempts, Runner, StatementError};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Condvar, Mutex, RwLock};
use txn::{Database, Isolation, Transaction};

/// A database with its SQL catalog. Clones share it.
#[derive(Clone)]
pub struct SqlDatabase<H: Host> {
    shared: Arc<Shared<H>>,
}

struct Shared<H> {
    host: H,
    store: Store,
    current: RwLock<Arc<Version>>,
    /// The serial number of `current`.
    serial: AtomicU64,
    analyzed: Mutex<Analyzed>,
    locks: TableLocks,
    ranges: Ranges,
    advisory: AdvisoryLocks,
    row_locks: Arc<RowLocks>,
    /// Number of sessions so far.
    sessions: AtomicU64,
    /// Whether a session changes the catalog.
    is_changing: Mutex<bool>,
    changed: Condvar,
}

impl<H: Host> SqlDatabase<H> {
    /// Reads the SQL catalog that is stored in the database; creates an empty one if the database
    /// has none.
    ///
    /// # Errors
    /// The catalog cannot be read or created.
    pub async fn open(host: H) -> Result<Self, SqlError> {
        let database = host.handle();
        let store = Store::open(&database).await?;
        let (epoch, definitions, analyzed) = read(&host, &database, &store).await?;
        let version = build(&database, epoch, definitions, &analyzed)?;
        if host.has_leftovers() {
            drop_abandoned(&database, &version).await?;
        }
        let shared = Shared {
            host,
            store,
            serial: AtomicU64::new(version.serial),
            current: RwLock::new(Arc::new(version)),
            analyzed: Mutex::new(analyzed),
            locks: TableLocks::default(),
            ranges: Ranges::default(),
            advisory: AdvisoryLocks::default(),
            row_locks: Arc::default(),
            sessions: AtomicU64::new(0),
            is_changing: Mutex::new(false),
            changed: Condvar::new(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// A session, which stays on the calling thread.
    pub fn session(&self, options: SessionOptions) -> SqlSession<H> {
        SqlSession::new(self.clone(), self.version(), options)
    }

    /// A session of a client that has logged in as [`Self::login`] requires. Roles may have
    /// changed since, so the answer is compared with that of the version that the session gets.
    ///
    /// # Errors
    /// The user may not connect any more, or another proof is needed now.
    pub fn session_after(
        &self,
        login: &Login,
        is_local: bool,
        options: SessionOptions,
    ) -> Result<SqlSession<H>, SqlError> {
        let (version, now) = (self.version(), self.host().sql_time_us());
        let names = (&*options.user, &*options.database);
        admit(&version.roles, &version.objects, names, (login, is_local), now)?;
        Ok(SqlSession::new(self.clone(), version, options))
    }

    pub fn host(&self) -> &H {
        &self.shared.host
    }

    /// Reads the stored catalog again, if another process has changed it.
    ///
    /// # Errors
    /// The catalog cannot be read.
    pub async fn refresh(&self) -> Result<(), SqlError> {
        let database = self.host().handle();
        let (epoch, definitions, analyzed) = read(self.host(), &database, self.store()).await?;
        if epoch != self.version().epoch {
            self.shared.analyzed.lock().expect("no holder panics").clone_from(&analyzed);
            self.publish(Arc::new(build(&database, epoch, definitions, &analyzed)?));
        }
        Ok(())
    }

    /// Drops the storage that transactions of an earlier process had created and not committed, or
    /// replaced and not dropped, when it crashed; returns the number of dropped tables. Only for a
    /// process that has the database for itself, and no session yet: storage of open transactions
    /// looks the same. [`Self::open`] does it for a host that has leftovers.
    ///
    /// # Errors
    /// The engine's catalog cannot be read, or a table or index cannot be dropped.
    pub async fn drop_abandoned(&self) -> Result<usize, SqlError> {
        drop_abandoned(&self.host().handle(), &self.version()).await
    }

    /// The committed catalog.
    pub fn catalog(&self) -> CatalogSnapshot {
        CatalogSnapshot::new(self.version())
    }

    /// Whether a client that gives this name may connect, and how it proves that it is the user.
    pub fn login(&self, user: &str, database: &str, is_local: bool) -> Login {
        let (version, now) = (self.version(), self.host().sql_time_us());
        login(&version.roles, &version.objects, (user, database), is_local, now)
    }

    /// Whether clients of this host need no password, as long as no superuser has one.
    pub fn trusts_host(&self) -> bool {
        trusts_host(&self.version().roles)
    }

    /// Whether a role has a password and may log in, so that clients of other hosts can connect.
    pub fn has_passwords(&self) -> bool {
        has_passwords(&self.version().roles)
    }

    /// The name of the role that owns the database, if it has one: the first role that is created
    /// gives it that of its session.
    pub fn owner(&self) -> Option<String> {
        self.version().roles.get(OWNER).map(|role| role.name.clone())
    }

    pub(crate) fn store(&self) -> &Store {
        &self.shared.store
    }

    pub(crate) fn locks(&self) -> &TableLocks {
        &self.shared.locks
    }

    pub(crate) fn row_locks(&self) -> &Arc<RowLocks> {
        &self.shared.row_locks
    }

    pub(crate) fn advisory_locks(&self) -> &AdvisoryLocks {
        &self.shared.advisory
    }

    /// A number that no other session of the process has.
    pub(crate) fn next_session(&self) -> u64 {
        self.shared.sessions.fetch_add(1, Relaxed)
    }

    pub(crate) fn ranges(&self) -> &Ranges {
        &self.shared.ranges
    }

    /// Stores the statistics of a table, by a transaction of its own.
    pub(crate) async fn store_statistics(
        &self,
        table: i64,
        statistics: &planner::TableStatistics,
    ) -> Result<(), SqlError> {
        let store = self.store();
        self.by_own_transaction(async |runner, statement| {
            store.write_statistics(runner, statement, table, statistics).await
        })
        .await
    }

    /// Changes the bound of a sequence by a transaction of its own; returns the new one. A later
    /// commit with a value of the sequence is behind this one on the disk.
    pub(crate) async fn change_sequence(
        &self,
        sequence: Sequence,
        change: &dyn Fn(i64) -> i64,
    ) -> Result<i64, SqlError> {
        let store = self.store();
        self.by_own_transaction(async |runner, statement| {
            store.change_sequence(runner, statement, sequence, change).await
        })
        .await
    }

    /// Does `work` in a transaction of its own, and repeats it after conflicts.
    async fn by_own_transaction<T>(
        &self,
        work: impl AsyncFn(&mut Runner, &mut Transaction<'_, H::Env>) -> Result<T, StatementError>,
    ) -> Result<T, SqlError> {
        let host = self.host();
        let database = host.handle();
        let mut runner = Runner::new(database.env(), host.sql_time_us());
        let mut attempts = Attempts::new(database.env(), RETRIES);
        loop {
            let (abort, error) = match self.try_own_transaction(&mut runner, &work).await {
                Ok(done) => return Ok(done),
                Err(ended @ (Ended::Failed(_) | Ended::Again)) => return Err(ended.into()),
                Err(Ended::Aborted(abort, error)) => (abort, error),
            };
            if !attempts.again(database.env(), abort).await {
                return Err(error);
            }
        }
    }

    async fn try_own_transaction<T>(
        &self,
        runner: &mut Runner,
        work: &impl AsyncFn(&mut Runner, &mut Transaction<'_, H::Env>) -> Result<T, StatementError>,
    ) -> Result<T, Ended> {
        let host = self.host();
        let lane = host.borrow_lane(&|| false)?;
        let mut transaction = match lane.begin_owned(Isolation::Snapshot).await {
            Ok(transaction) => transaction,
            Err((lane, abort)) => {
                host.give_back_lane(lane);
                return Err(Ended::Aborted(abort, abort_error(abort)));
            }
        };
        runner.begin(transaction.statement().env());
        match work(runner, &mut transaction.statement()).await {
            Ok(done) => {
                let committed = host.commit(transaction, false).await;
                ended(host, committed).map(|()| done)
            }
            Err(error) => {
                host.give_back_lane(transaction.abort_and_rest().await);
                Err(error.into())
            }
        }
    }

    /// The committed version of the catalog.
    pub(crate) fn version(&self) -> Arc<Version> {
        self.shared.current.read().expect("no holder panics").clone()
    }

    /// Its serial number. To look whether it has changed takes no lock, which all threads would
    /// write.
    pub(crate) fn serial(&self) -> u64 {
        self.shared.serial.load(Acquire)
    }

    pub(crate) fn publish(&self, version: Arc<Version>) {
        let serial = version.serial;
        let mut current = self.shared.current.write().expect("no holder panics");
        *current = version;
        self.shared.serial.store(serial, Release);
    }

    pub(crate) fn analyzed(&self) -> Analyzed {
        self.shared.analyzed.lock().expect("no holder panics").clone()
    }

    /// Forgets the statistics of tables that are gone, or have other columns.
    pub(crate) fn forget_analyzed(&self, tables: &[i64]) {
        let mut analyzed = self.shared.analyzed.lock().expect("no holder panics");
        analyzed.retain(|table, _| !tables.contains(table));
    }

    pub(crate) fn set_analyzed(&self, table: i64, statistics: planner::TableStatistics) {
        self.shared.analyzed.lock().expect("no holder panics").insert(table, statistics);
    }

    /// Waits until no other session changes the catalog, and begins a change.
    pub(crate) fn begin_change(&self, waiter: &dyn Waiter) -> Result<(), SqlError> {
        let changing = self.shared.is_changing.lock().expect("no holder panics");
        let busy = || {
            let message = "another transaction changes the catalog";
            SqlError::new("55P03", message).hint("Retry when it has ended.")
        };
        let is_free = |changing: &mut bool| !*changing;
        let waiter = (waiter, WAIT_MAX);
        *wait_until(waiter, &self.shared.changed, changing, is_free, busy)? = true;
        Ok(())
    }

    pub(crate) fn end_change(&self) {
        *self.shared.is_changing.lock().expect("no holder panics") = false;
        self.shared.changed.notify_one();
    }
}

async fn read<H: Host>(
    host: &H,
    database: &Database<H::Env>,
    store: &Store,
) -> Result<(i64, Vec<Definition>, Analyzed), SqlError> {
    database.refresh().await.map_err(|error| catalog_error(&error))?;
    let mut runner = Runner::new(database.env(), host.sql_time_us());
    let lane = host.borrow_lane(&|| false)?;
    let mut transaction = match lane.begin_owned(Isolation::Snapshot).await {
        Ok(transaction) => transaction,
        Err((lane, abort)) => {
            host.give_back_lane(lane);
            return Err(abort_error(abort));
        }
    };
    runner.begin(database.env());
    let read = store.read(&mut runner, &mut transaction.statement()).await;
    let analyzed = store.read_statistics(&mut runner, &mut transaction.statement()).await;
    host.give_back_lane(transaction.abort_and_rest().await);
    let (epoch, definitions) = read?;
    Ok((epoch, definitions, analyzed?))
}

/// See [`SqlDatabase::drop_abandoned`].
async fn drop_abandoned<E: fabric::Env>(
    database: &Database<E>,
    version: &Version,
) -> Result<usize, SqlError> {
    let catalog = database.refresh().await.map_err(|error| catalog_error(&error))?;
    let kept: BTreeSet<&str> = version.storage().collect();
    let indexes: BTreeSet<EngineIndex> = version.indexes().collect();
    let mut dropped_tables = 0;
    for (name, table) in catalog.names() {
        if is_physical(name) && !kept.contains(name) {
            database.drop_table(name).await.map_err(|error| catalog_error(&error))?;
            dropped_tables += 1;
        }
        let Some(info) = catalog.info(table).filter(|_| kept.contains(name)) else { continue };
        for index in info.indexes.iter().filter_map(|&index| catalog.index_info(index)) {
            let index = (name.to_owned(), index.design.name.clone());
            if !indexes.contains(&index) {
                let dropped = database.drop_index(&index.0, &index.1).await;
                dropped.map_err(|error| catalog_error(&error))?;
            }
        }
    }
    Ok(dropped_tables)
}

fn build<E: fabric::Env>(
    database: &Database<E>,
    epoch: i64,
    definitions: Vec<Definition>,
    analyzed: &Analyzed,
) -> Result<Version, SqlError> {
    let parsed = Parsed::read(&definitions, "")?;
    Version::bind(database, epoch, definitions, parsed, analyzed)
}

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<SqlDatabase<crate::LocalHost>>();
    const fn is_sent<T: Send>() {}
    is_sent::<SqlSession<crate::LocalHost>>();
};
