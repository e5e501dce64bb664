//! Sessions of ordinary threads: transactions as closures, retried on conflicts.

use crate::config::Retry;
use crate::database::{Db, DbIdentity};
use crate::error::TransactionError;
use fabric::{Env, LocalEnv, run_now};
use layout::{Key, RecordMut, RecordRef, Schema};
use txn::{
    Abort, CatalogError, IndexId, Isolation, Lane, Outcome, RowId, Scan, TableId, TxnError,
    UniqueViolation,
};

/// Runs transactions one after another. A session is `Send`; each thread needs its own.
pub struct Session {
    db: Db,
    lane: Option<Lane<LocalEnv>>,
}

impl Session {
    pub(crate) fn new(db: Db) -> Self {
        Self { db, lane: None }
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
        let database = self.db.identity();
        let lane = self.lane()?;
        let mut attempts = 0;
        // Only a failed first attempt reads the clock; a transaction that commits at once does not.
        let mut first_end_ns = None;
        let result = loop {
            attempts += 1;
            let reason = match attempt(lane, database, isolation, &mut body) {
                Err(TransactionError::Aborted { reason, .. }) => reason,
                decided => break decided,
            };
            let now_ns = lane.env().now_ns();
            let elapsed_ns = now_ns - *first_end_ns.get_or_insert(now_ns);
            if !reason.is_retryable() || !retry.allows(attempts, elapsed_ns) {
                break Err(TransactionError::Aborted { reason, attempts });
            }
            back_off(lane.env(), retry.wait_bound_ns(attempts));
        };
        self.release_lane(matches!(result, Err(TransactionError::Unknown)));
        result
    }

    /// Begins a transaction that the caller commits or drops. It is not retried. The session keeps
    /// its lane until its next [`Session::transaction`] or [`Session::rest`], or until it is
    /// dropped.
    pub fn begin(&mut self, isolation: Isolation) -> Result<Transaction<'_>, TransactionError> {
        let database = self.db.identity();
        begin(self.lane()?, database, isolation)
    }

    /// Returns the lane that the session has kept since [`Session::begin`]. Sessions that keep all
    /// lanes make every other session wait.
    pub fn rest(&mut self) {
        self.release_lane(false);
    }

    /// Hints that the next transaction reads these rows, for transactions with few reads: the
    /// processor fetches them into its caches while the transaction takes its snapshot. As after
    /// [`Session::begin`], the session then keeps its lane.
    pub fn prefetch(&mut self, reads: &[(TableId, Key)]) {
        // If no lane is free, the transaction that follows reports it.
        if let Ok(lane) = self.lane() {
            lane.prefetch(reads);
        }
    }

    /// The key of the last [`Abort::UniqueViolation`] of a commit after [`Session::begin`].
    pub fn last_unique_violation(&self) -> Option<&UniqueViolation> {
        self.lane.as_ref()?.last_unique_violation()
    }

    fn lane(&mut self) -> Result<&mut Lane<LocalEnv>, TransactionError> {
        let lane = match self.lane.take() {
            Some(lane) => lane,
            None => self.db.lanes().borrow(|| self.db.handle())?,
        };
        Ok(self.lane.insert(lane))
    }

    /// Returns the lane. A lane whose last outcome is unknown runs no further transaction and is
    /// dropped.
    fn release_lane(&mut self, is_undecided: bool) {
        match self.lane.take() {
            Some(lane) if !is_undecided => self.db.lanes().give_back(lane),
            _ => {}
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.release_lane(false);
    }
}

fn begin(
    lane: &mut Lane<LocalEnv>,
    database: DbIdentity,
    isolation: Isolation,
) -> Result<Transaction<'_>, TransactionError> {
    match run_now(lane.begin(isolation)) {
        Ok(inner) => Ok(Transaction { inner: Some(inner), database }),
        Err(reason) => Err(TransactionError::Aborted { reason, attempts: 1 }),
    }
}

fn attempt<T>(
    lane: &mut Lane<LocalEnv>,
    database: DbIdentity,
    isolation: Isolation,
    body: &mut impl FnMut(&mut Transaction<'_>) -> Result<T, TxnError>,
) -> Result<T, TransactionError> {
    let mut transaction = begin(lane, database, isolation)?;
    match body(&mut transaction) {
        Ok(value) => match transaction.commit() {
            Outcome::Committed => Ok(value),
            Outcome::Aborted(reason) => Err(aborted(lane, reason)),
            Outcome::Unknown => Err(TransactionError::Unknown),
        },
        Err(error) => {
            transaction.abort();
            match error {
                TxnError::Abort(reason) => Err(TransactionError::Aborted { reason, attempts: 1 }),
                error => Err(TransactionError::Statement(error)),
            }
        }
    }
}

fn aborted(lane: &Lane<LocalEnv>, reason: Abort) -> TransactionError {
    match lane.last_unique_violation() {
        Some(violation) if reason == Abort::UniqueViolation => {
            TransactionError::UniqueViolation(violation.clone())
        }
        _ => TransactionError::Aborted { reason, attempts: 1 },
    }
}

fn back_off(env: &LocalEnv, bound_ns: u64) {
    if bound_ns > 0 {
        run_now(env.sleep_ns(env.random() % bound_ns));
    }
}

/// A running transaction: the methods of [`txn::Transaction`] without `await`. Dropping it rolls it
/// back.
pub struct Transaction<'lane> {
    /// `Some` until the transaction ends.
    inner: Option<txn::Transaction<'lane, LocalEnv>>,
    database: DbIdentity,
}

impl<'lane> Transaction<'lane> {
    /// Reads the row with this key; `None` if it does not exist.
    pub fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowId>, TxnError> {
        run_now(self.open().read(table, key))
    }

    /// Reads independent rows in shared round trips. `found` gets one entry per read.
    pub fn read_many(
        &mut self,
        reads: &[(TableId, Key)],
        found: &mut Vec<Option<RowId>>,
    ) -> Result<(), TxnError> {
        run_now(self.open().read_many(reads, found))
    }

    /// A row's columns, including this transaction's own writes.
    pub fn row(&self, row: RowId) -> RecordRef<'_> {
        self.inner.as_ref().expect(ENDED_ONCE).row(row)
    }

    /// The columns of a table; `None` if it does not exist.
    pub fn schema(&self, table: TableId) -> Option<&Schema> {
        self.inner.as_ref().expect(ENDED_ONCE).schema(table)
    }

    /// Marks a row as updated and returns its columns for writing.
    pub fn update(&mut self, row: RowId) -> RecordMut<'_> {
        self.open().update(row)
    }

    /// Inserts a row; set its columns with [`Transaction::update`].
    pub fn insert(&mut self, table: TableId, key: &Key) -> Result<RowId, TxnError> {
        run_now(self.open().insert(table, key))
    }

    /// Inserts several rows in shared round trips. `rows` gets one entry per row.
    pub fn insert_many(
        &mut self,
        inserts: &[(TableId, Key)],
        rows: &mut Vec<RowId>,
    ) -> Result<(), TxnError> {
        run_now(self.open().insert_many(inserts, rows))
    }

    /// Deletes a row that this transaction has read or inserted.
    pub fn delete(&mut self, row: RowId) {
        self.open().delete(row);
    }

    /// Scans a key range in key order, including this transaction's own writes.
    /// [`Transaction::record`] has an example.
    pub fn scan(&mut self, scan: &Scan, rows: &mut Vec<RowId>) -> Result<(), TxnError> {
        run_now(self.open().scan(scan, rows))
    }

    /// Scans independent key ranges in shared round trips.
    pub fn scan_many(
        &mut self,
        scans: &[Scan],
        rows: &mut Vec<Vec<RowId>>,
    ) -> Result<(), TxnError> {
        run_now(self.open().scan_many(scans, rows))
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
        run_now(self.open().lookup(index, key, rows))
    }

    /// Visits every row of a table in the snapshot, without keeping the rows. The visit ignores
    /// this transaction's own changes.
    pub fn for_each(
        &mut self,
        table: TableId,
        mut visit: impl FnMut(RecordRef<'_>),
    ) -> Result<(), TxnError> {
        run_now(self.open().for_each(table, &mut visit))
    }

    /// Commits and returns the outcome.
    pub fn commit(mut self) -> Outcome {
        run_now(self.inner.take().expect(ENDED_ONCE).commit_and_rest())
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

    #[inline]
    pub(crate) fn open(&mut self) -> &mut txn::Transaction<'lane, LocalEnv> {
        self.inner.as_mut().expect(ENDED_ONCE)
    }

    fn roll_back(&mut self) {
        self.inner.take().into_iter().for_each(|inner| run_now(inner.abort_and_rest()));
    }
}

const ENDED_ONCE: &str = "a transaction ends by being consumed";

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
