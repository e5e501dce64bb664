//! Sessions of ordinary threads: transactions as closures, tried again when they meet others.

use crate::config::Retry;
use crate::database::{Db, DbIdentity};
use crate::error::TransactionError;
use fabric::{Env, LocalEnv, run_now};
use layout::{Key, RecordMut, RecordRef, Schema};
use txn::{
    Abort, CatalogError, IndexId, Isolation, Lane, Outcome, RowId, Scan, TableId, TxnError,
    UniqueViolation,
};

/// Runs transactions one after another. A session is `Send`, and threads have one each.
pub struct Session {
    db: Db,
    lane: Option<Lane<LocalEnv>>,
}

impl Session {
    pub(crate) fn new(db: Db) -> Self {
        Self { db, lane: None }
    }

    /// The database it belongs to.
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// Runs `body` as a transaction and commits it, again and again as `retry` allows while it meets
    /// others. `body` may therefore run several times and should have no other effects.
    ///
    /// `Ok` means committed. An error says whether the transaction left no trace or its outcome is
    /// unknown. `body` rolls back by returning an error: its own with `Err(Abort::User.into())`.
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
        // The clock is read where the first attempt has failed, and not by those that succeed.
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

    /// Begins a transaction that the caller commits or drops. Nothing is tried again, and the session
    /// keeps its lane until its next [`Session::transaction`], [`Session::rest`] or its end.
    pub fn begin(&mut self, isolation: Isolation) -> Result<Transaction<'_>, TransactionError> {
        let database = self.db.identity();
        begin(self.lane()?, database, isolation)
    }

    /// Gives back the lane that the session has kept since [`Session::begin`]: as many sessions as there are lanes
    /// would leave none to others.
    pub fn rest(&mut self) {
        self.release_lane(false);
    }

    /// A hint that the next transaction will read these rows, for transactions of a few reads: what they
    /// miss in the processor's caches is on its way while they take their snapshot. The session has its lane from
    /// now on, as after [`Session::begin`].
    pub fn prefetch(&mut self, reads: &[(TableId, Key)]) {
        // Whoever cannot have a lane is told so by the transaction.
        if let Ok(lane) = self.lane() {
            lane.prefetch(reads);
        }
    }

    /// What the last [`Abort::UniqueViolation`] of a commit after [`Session::begin`] was about.
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

    /// Gives the lane back, unless nobody has decided its last transaction: then it takes no other.
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

/// A running transaction. Its methods are those of [`txn::Transaction`], for code that does not await.
/// Dropped before its end, it is rolled back.
pub struct Transaction<'lane> {
    /// There until the transaction ends.
    inner: Option<txn::Transaction<'lane, LocalEnv>>,
    database: DbIdentity,
}

impl<'lane> Transaction<'lane> {
    /// The row with this key, if there is one.
    pub fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowId>, TxnError> {
        run_now(self.open().read(table, key))
    }

    /// Independent reads at once. `found` gets one entry for each.
    pub fn read_many(
        &mut self,
        reads: &[(TableId, Key)],
        found: &mut Vec<Option<RowId>>,
    ) -> Result<(), TxnError> {
        run_now(self.open().read_many(reads, found))
    }

    /// A row's columns, own writes included.
    pub fn row(&self, row: RowId) -> RecordRef<'_> {
        self.inner.as_ref().expect(ENDED_ONCE).row(row)
    }

    /// The columns of a table, if it is there.
    pub fn schema(&self, table: TableId) -> Option<&Schema> {
        self.inner.as_ref().expect(ENDED_ONCE).schema(table)
    }

    /// Marks a row as updated and gives access to its columns.
    pub fn update(&mut self, row: RowId) -> RecordMut<'_> {
        self.open().update(row)
    }

    /// Adds a row, to be filled through [`Transaction::update`].
    pub fn insert(&mut self, table: TableId, key: &Key) -> Result<RowId, TxnError> {
        run_now(self.open().insert(table, key))
    }

    /// Adds rows at once. `rows` gets one entry for each.
    pub fn insert_many(
        &mut self,
        inserts: &[(TableId, Key)],
        rows: &mut Vec<RowId>,
    ) -> Result<(), TxnError> {
        run_now(self.open().insert_many(inserts, rows))
    }

    /// Deletes a row.
    pub fn delete(&mut self, row: RowId) {
        self.open().delete(row);
    }

    /// The rows of a range, in key order, own writes included. There is an example at
    /// [`Transaction::record`].
    pub fn scan(&mut self, scan: &Scan, rows: &mut Vec<RowId>) -> Result<(), TxnError> {
        run_now(self.open().scan(scan, rows))
    }

    /// The rows of independent ranges, which share their round trips.
    pub fn scan_many(
        &mut self,
        scans: &[Scan],
        rows: &mut Vec<Vec<RowId>>,
    ) -> Result<(), TxnError> {
        run_now(self.open().scan_many(scans, rows))
    }

    /// The rows of a secondary key: one value for each column of the index, as
    /// [`encode_columns`](layout::Schema::encode_columns) makes it. There is an example at
    /// [`Transaction::record`].
    pub fn lookup(
        &mut self,
        index: IndexId,
        key: &Key,
        rows: &mut Vec<RowId>,
    ) -> Result<(), TxnError> {
        run_now(self.open().lookup(index, key, rows))
    }

    /// Every row of a table, without keeping any of them.
    pub fn for_each(
        &mut self,
        table: TableId,
        mut visit: impl FnMut(RecordRef<'_>),
    ) -> Result<(), TxnError> {
        run_now(self.open().for_each(table, &mut visit))
    }

    /// Commits.
    pub fn commit(mut self) -> Outcome {
        run_now(self.inner.take().expect(ENDED_ONCE).commit_and_rest())
    }

    /// Rolls back; counted as [`Abort::User`].
    pub fn abort(mut self) {
        self.roll_back();
    }

    /// Refuses a handle of another database: its number may be that of another table here.
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
    /// Also ends what the lane has announced, so that nothing is kept for a snapshot nobody reads.
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
