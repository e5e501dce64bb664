//! Sessions of ordinary threads: transactions as closures, retried on conflicts.

use crate::cluster::{BorrowedSeat, Place, RemoteTransaction, rest_seat};
use crate::config::Retry;
use crate::database::{Db, DbIdentity, Engine, Local};
use crate::error::TransactionError;
use crate::host::Moment;
use fabric::{Env, LocalEnv, run_now};
use layout::{Key, RecordMut, RecordRef, Schema};
use txn::{
    Abort, CatalogError, IndexId, Isolation, Lane, Outcome, RowId, Scan, TableId, TxnError,
    UniqueViolation,
};

/// Runs transactions one after another. A session is `Send`; each thread needs its own.
pub struct Session {
    db: Db,
    /// Kept after [`Session::begin`]. Over a network, the thread keeps it with its connections.
    lane: Option<Lane<LocalEnv>>,
    /// Of the last transaction over a network.
    remote_violation: Option<UniqueViolation>,
}

impl Session {
    pub(crate) fn new(db: Db) -> Self {
        Self { db, lane: None, remote_violation: None }
    }

    /// The database that the session belongs to.
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// Runs `body` as a transaction and commits it. On a conflict with another transaction it
    /// retries as `retry` allows, so `body` may run several times and should have no other side
    /// effects.
    ///
    /// `Ok` means committed. The error says whether the transaction had no effect or its outcome is
    /// unknown. To roll back, `body` returns an error, such as `Err(Abort::User.into())`.
    ///
    /// ```
    /// # use namdb::*;
    /// # let db = namdb::open(Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// let mut session = db.session();
    /// let result = session.transaction(Isolation::Serializable, Retry::NEVER, |_txn| {
    ///     Err::<(), _>(Abort::User.into())
    /// });
    /// assert_eq!(result.unwrap_err().abort(), Some(Abort::User));
    /// # Ok::<(), OpenError>(())
    /// ```
    pub fn transaction<T>(
        &mut self,
        isolation: Isolation,
        retry: Retry,
        mut body: impl FnMut(&mut Transaction<'_>) -> Result<T, TxnError>,
    ) -> Result<T, TransactionError> {
        let mut attempts = 0;
        // The clock is read where the first attempt has failed, and not by those that succeed.
        let mut first_end = None;
        let result = loop {
            attempts += 1;
            let reason = match self.attempt(isolation, &mut body) {
                Err(TransactionError::Aborted { reason, .. }) => reason,
                decided => break decided,
            };
            let now = Moment::now();
            let elapsed_ns = now.since_ns(*first_end.get_or_insert(now));
            if !reason.is_retryable() || !retry.allows(attempts, elapsed_ns) {
                break Err(self.given_up(reason, attempts));
            }
            self.back_off(retry.wait_bound_ns(attempts));
        };
        self.release_lane(matches!(result, Err(TransactionError::Unknown)));
        result
    }

    fn attempt<T>(
        &mut self,
        isolation: Isolation,
        body: &mut impl FnMut(&mut Transaction<'_>) -> Result<T, TxnError>,
    ) -> Result<T, TransactionError> {
        let mut transaction = self.begin(isolation)?;
        match body(&mut transaction) {
            Ok(value) => match transaction.commit() {
                Outcome::Committed => Ok(value),
                Outcome::Aborted(reason) => Err(self.aborted(reason)),
                Outcome::Unknown => Err(TransactionError::Unknown),
            },
            Err(error) => {
                transaction.abort();
                match error {
                    TxnError::Abort(reason) => {
                        Err(TransactionError::Aborted { reason, attempts: 1 })
                    }
                    error => Err(TransactionError::Statement(error)),
                }
            }
        }
    }

    fn aborted(&self, reason: Abort) -> TransactionError {
        match self.last_unique_violation() {
            Some(violation) if reason == Abort::UniqueViolation => {
                TransactionError::UniqueViolation(violation.clone())
            }
            _ => TransactionError::Aborted { reason, attempts: 1 },
        }
    }

    /// The error of a transaction that is not tried again.
    fn given_up(&self, reason: Abort, attempts: u32) -> TransactionError {
        if reason == Abort::Unreachable
            && let Some(place) = self.db.engine().place()
            && let Some(trouble) = place.trouble_after_unreachable()
        {
            return TransactionError::ClusterLost(trouble.to_owned());
        }
        TransactionError::Aborted { reason, attempts }
    }

    fn back_off(&self, bound_ns: u64) {
        if bound_ns == 0 {
            return;
        }
        match self.db.engine() {
            Engine::Local(_) => {
                // An attempt has failed, so the session has its lane.
                let lane = self.lane.as_ref().expect("the session keeps its lane");
                run_now(lane.env().sleep_ns(lane.env().random() % bound_ns));
            }
            Engine::Remote(remote) => {
                // If the thread cannot connect, the next attempt says why.
                let Ok(seat) = BorrowedSeat::take(remote) else { return };
                let env = seat.database.env();
                seat.engine.block_on(env.sleep_ns(env.random() % bound_ns));
            }
        }
    }

    /// Begins a transaction that the caller commits or drops. Nothing is retried. The session keeps
    /// its lane until its next [`Session::transaction`], [`Session::rest`] or its end.
    pub fn begin(&mut self, isolation: Isolation) -> Result<Transaction<'_>, TransactionError> {
        let (database, engine) = (self.db.identity(), self.db.engine());
        if let Some(trouble) = engine.place().and_then(Place::trouble) {
            return Err(TransactionError::ClusterLost(trouble.to_owned()));
        }
        let running = match engine {
            Engine::Local(local) => {
                let lane = lane(&mut self.lane, local)?;
                let begun = run_now(lane.begin(isolation));
                Running::Local(
                    begun.map_err(|reason| TransactionError::Aborted { reason, attempts: 1 })?,
                )
            }
            Engine::Remote(remote) => {
                let violation = &mut self.remote_violation;
                let begun = RemoteTransaction::begin(remote, isolation, violation)?;
                Running::Remote(Box::new(begun))
            }
        };
        Ok(Transaction { running, database })
    }

    /// Returns the lane that the session has kept since [`Session::begin`]. Sessions that keep all
    /// lanes make every other session wait.
    pub fn rest(&mut self) {
        self.release();
    }

    /// Hints that the next transaction reads these rows, for transactions with few reads: the
    /// processor fetches them into its caches while the transaction takes its snapshot. As after
    /// [`Session::begin`], the session then keeps its lane.
    pub fn prefetch(&mut self, reads: &[(TableId, Key)]) {
        // If there is no lane, the transaction reports it.
        if let Engine::Local(local) = self.db.engine()
            && let Ok(lane) = lane(&mut self.lane, local)
        {
            lane.prefetch(reads);
        }
    }

    /// The key of the last [`Abort::UniqueViolation`] of a commit after [`Session::begin`].
    pub fn last_unique_violation(&self) -> Option<&UniqueViolation> {
        match &self.lane {
            Some(lane) => lane.last_unique_violation(),
            None => self.remote_violation.as_ref(),
        }
    }

    /// Returns the lane. A lane whose last outcome is unknown runs no further transaction and is
    /// dropped.
    fn release_lane(&mut self, is_undecided: bool) {
        let lane = self.lane.take().filter(|_| !is_undecided);
        if let (Engine::Local(local), Some(lane)) = (self.db.engine(), lane) {
            local.give_back_lane(lane);
        }
    }

    /// As [`Session::release_lane`], and over a network the thread gives its slot back if this
    /// process has many.
    fn release(&mut self) {
        self.release_lane(false);
        if let Engine::Remote(remote) = self.db.engine() {
            rest_seat(remote);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.release();
    }
}

/// The lane of a session, which borrows one if it has none.
fn lane<'session>(
    kept: &'session mut Option<Lane<LocalEnv>>,
    local: &Local,
) -> Result<&'session mut Lane<LocalEnv>, TransactionError> {
    let lane = match kept.take() {
        Some(lane) => lane,
        None => local.borrow_lane()?,
    };
    Ok(kept.insert(lane))
}

/// A transaction in the engine that runs it.
pub(crate) enum Running<'lane> {
    /// The transaction has ended.
    Ended,
    Local(txn::Transaction<'lane, LocalEnv>),
    Remote(Box<RemoteTransaction<'lane>>),
}

pub(crate) const ENDED_ONCE: &str = "a transaction ends by being consumed";

/// Runs a statement, and waits for its result. The local path has one branch, which also tells
/// whether the transaction has ended.
macro_rules! wait {
    ($transaction:expr, $running:ident => $call:expr) => {
        match &mut $transaction.running {
            $crate::session::Running::Local($running) => fabric::run_now($call),
            $crate::session::Running::Remote(remote) => remote.run(|engine, mut statement| {
                let $running = &mut statement;
                engine.block_on($call)
            }),
            $crate::session::Running::Ended => unreachable!("{}", $crate::session::ENDED_ONCE),
        }
    };
}
pub(crate) use wait;

/// A running transaction: the methods of [`txn::Transaction`] without `await`. Dropping it rolls it
/// back.
pub struct Transaction<'lane> {
    pub(crate) running: Running<'lane>,
    database: DbIdentity,
}

impl Transaction<'_> {
    /// The row with this key, if there is one.
    pub fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowId>, TxnError> {
        wait!(self, running => running.read(table, key))
    }

    /// Reads independent rows in shared round trips. `found` gets one entry per read.
    pub fn read_many(
        &mut self,
        reads: &[(TableId, Key)],
        found: &mut Vec<Option<RowId>>,
    ) -> Result<(), TxnError> {
        wait!(self, running => running.read_many(reads, found))
    }

    /// A row's columns, including this transaction's own writes.
    pub fn row(&self, row: RowId) -> RecordRef<'_> {
        match &self.running {
            Running::Local(local) => local.row(row),
            Running::Remote(remote) => remote.row(row),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
    }

    /// The columns of a table; `None` if it does not exist.
    pub fn schema(&self, table: TableId) -> Option<&Schema> {
        match &self.running {
            Running::Local(local) => local.schema(table),
            Running::Remote(remote) => remote.schema(table),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
    }

    /// Marks a row as updated and returns its columns for writing.
    pub fn update(&mut self, row: RowId) -> RecordMut<'_> {
        match &mut self.running {
            Running::Local(local) => local.update(row),
            Running::Remote(remote) => remote.update(row),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
    }

    /// Inserts a row; set its columns with [`Transaction::update`].
    pub fn insert(&mut self, table: TableId, key: &Key) -> Result<RowId, TxnError> {
        wait!(self, running => running.insert(table, key))
    }

    /// Inserts several rows in shared round trips. `rows` gets one entry per row.
    pub fn insert_many(
        &mut self,
        inserts: &[(TableId, Key)],
        rows: &mut Vec<RowId>,
    ) -> Result<(), TxnError> {
        wait!(self, running => running.insert_many(inserts, rows))
    }

    /// Deletes a row that this transaction has read or inserted.
    pub fn delete(&mut self, row: RowId) {
        match &mut self.running {
            Running::Local(local) => local.delete(row),
            Running::Remote(remote) => remote.statement().1.delete(row),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
    }

    /// Scans a key range in key order, including this transaction's own writes.
    /// [`Transaction::record`] has an example.
    pub fn scan(&mut self, scan: &Scan, rows: &mut Vec<RowId>) -> Result<(), TxnError> {
        wait!(self, running => running.scan(scan, rows))
    }

    /// Scans independent key ranges in shared round trips.
    pub fn scan_many(
        &mut self,
        scans: &[Scan],
        rows: &mut Vec<Vec<RowId>>,
    ) -> Result<(), TxnError> {
        wait!(self, running => running.scan_many(scans, rows))
    }

    /// Finds the rows with a key of a secondary index: one value per column of the index, encoded
    /// by [`encode_columns`](layout::Schema::encode_columns). [`Transaction::record`] has an
    /// example.
    pub fn lookup(
        &mut self,
        index: IndexId,
        key: &Key,
        rows: &mut Vec<RowId>,
    ) -> Result<(), TxnError> {
        wait!(self, running => running.lookup(index, key, rows))
    }

    /// Visits every row of a table in the snapshot, without keeping the rows. The visit ignores
    /// this transaction's own changes.
    pub fn for_each(
        &mut self,
        table: TableId,
        mut visit: impl FnMut(RecordRef<'_>),
    ) -> Result<(), TxnError> {
        wait!(self, running => running.for_each(table, &mut visit))
    }

    /// Commits and returns the outcome.
    pub fn commit(mut self) -> Outcome {
        match std::mem::replace(&mut self.running, Running::Ended) {
            Running::Local(local) => run_now(local.commit_and_rest()),
            Running::Remote(remote) => remote.commit(),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
    }

    /// Rolls back; counted as [`Abort::User`].
    pub fn abort(mut self) {
        self.roll_back();
    }

    /// Rejects a handle of another database, where the same number may denote another table.
    #[inline]
    pub(crate) fn check_database(
        &self,
        handle: DbIdentity,
        table: impl FnOnce() -> String,
    ) -> Result<(), TxnError> {
        match handle == self.database {
            true => Ok(()),
            false => {
                let reason = "the handle belongs to another database; open the table in this one";
                Err(CatalogError::Design { table: table(), reason: reason.to_owned() }.into())
            }
        }
    }

    /// The table that a row is of.
    pub(crate) fn table(&mut self, row: RowId) -> TableId {
        match &mut self.running {
            Running::Local(local) => local.table(row),
            Running::Remote(remote) => remote.statement().1.table(row),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
    }

    fn roll_back(&mut self) {
        match std::mem::replace(&mut self.running, Running::Ended) {
            Running::Local(local) => run_now(local.abort_and_rest()),
            // It rolls back where it is dropped.
            Running::Remote(_) | Running::Ended => {}
        }
    }
}

impl Drop for Transaction<'_> {
    /// Also withdraws the lane's announced stamp, so that no version is kept for this snapshot.
    fn drop(&mut self) {
        self.roll_back();
    }
}

const _: () = {
    const fn is_send<T: Send>() {}
    const fn is_sync<T: Sync>() {}
    is_send::<Session>();
    is_send::<Db>();
    is_sync::<Db>();
    is_send::<Abort>();
};
