//! Sessions of ordinary threads: transactions as closures, tried again when they meet others.

use crate::config::Retry;
use crate::database::Db;
use crate::error::TransactionError;
use fabric::{Env, LocalEnv, run_now};
use layout::{Key, RecordMut, RecordRef};
use txn::{Abort, IndexId, Isolation, Lane, Outcome, RowId, Scan, TableId, TxnError};

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
        let lane = self.lane()?;
        let mut attempts = 0;
        let result = loop {
            attempts += 1;
            let reason = match attempt(lane, isolation, &mut body) {
                Err(TransactionError::Aborted { reason, .. }) => reason,
                decided => break decided,
            };
            if attempts >= retry.attempts || !reason.is_retryable() {
                break Err(TransactionError::Aborted { reason, attempts });
            }
            back_off(lane.env(), retry.wait_bound_ns(attempts));
        };
        self.release_lane(matches!(result, Err(TransactionError::Unknown)));
        result
    }

    /// Begins a transaction that the caller commits or drops. Nothing is tried again, and the session
    /// keeps its lane until its next [`Session::transaction`] or its end.
    pub fn begin(&mut self, isolation: Isolation) -> Result<Transaction<'_>, TransactionError> {
        begin(self.lane()?, isolation)
    }

    fn lane(&mut self) -> Result<&mut Lane<LocalEnv>, TransactionError> {
        let lane = match self.lane.take() {
            Some(lane) => lane,
            None => self.db.lanes().borrow(|| self.db.handle())?,
        };
        Ok(self.lane.insert(lane))
    }

    fn release_lane(&mut self, undecided: bool) {
        match self.lane.take() {
            // Its slot must not pass the number of a transaction that nobody has decided.
            Some(_) if undecided => self.db.lanes().forget(),
            Some(lane) => self.db.lanes().give_back(lane),
            None => {}
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
    isolation: Isolation,
) -> Result<Transaction<'_>, TransactionError> {
    match run_now(lane.begin(isolation)) {
        Ok(inner) => Ok(Transaction { inner }),
        Err(reason) => Err(TransactionError::Aborted {
            reason,
            attempts: 1,
        }),
    }
}

fn attempt<T>(
    lane: &mut Lane<LocalEnv>,
    isolation: Isolation,
    body: &mut impl FnMut(&mut Transaction<'_>) -> Result<T, TxnError>,
) -> Result<T, TransactionError> {
    let mut transaction = begin(lane, isolation)?;
    match body(&mut transaction) {
        Ok(value) => match transaction.commit() {
            Outcome::Committed => Ok(value),
            Outcome::Aborted(reason) => Err(TransactionError::Aborted {
                reason,
                attempts: 1,
            }),
            Outcome::Unknown => Err(TransactionError::Unknown),
        },
        Err(error) => {
            transaction.abort();
            match error {
                TxnError::Abort(reason) => Err(TransactionError::Aborted {
                    reason,
                    attempts: 1,
                }),
                error => Err(TransactionError::Statement(error)),
            }
        }
    }
}

fn back_off(env: &LocalEnv, bound_ns: u64) {
    if bound_ns > 0 {
        run_now(env.sleep_ns(env.random() % bound_ns));
    }
}

/// A running transaction. Its methods are those of [`txn::Transaction`], for code that does not await.
pub struct Transaction<'lane> {
    inner: txn::Transaction<'lane, LocalEnv>,
}

impl Transaction<'_> {
    /// The row with this key, if there is one.
    pub fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowId>, TxnError> {
        run_now(self.inner.read(table, key))
    }

    /// Independent reads at once. `found` gets one entry for each.
    pub fn read_many(
        &mut self,
        reads: &[(TableId, Key)],
        found: &mut Vec<Option<RowId>>,
    ) -> Result<(), TxnError> {
        run_now(self.inner.read_many(reads, found))
    }

    /// A row's columns, own writes included.
    pub fn row(&self, row: RowId) -> RecordRef<'_> {
        self.inner.row(row)
    }

    /// Marks a row as updated and gives access to its columns.
    pub fn update(&mut self, row: RowId) -> RecordMut<'_> {
        self.inner.update(row)
    }

    /// Adds a row, to be filled through [`Transaction::update`].
    pub fn insert(&mut self, table: TableId, key: &Key) -> Result<RowId, TxnError> {
        run_now(self.inner.insert(table, key))
    }

    /// Adds rows at once. `rows` gets one entry for each.
    pub fn insert_many(
        &mut self,
        inserts: &[(TableId, Key)],
        rows: &mut Vec<RowId>,
    ) -> Result<(), TxnError> {
        run_now(self.inner.insert_many(inserts, rows))
    }

    /// Deletes a row.
    pub fn delete(&mut self, row: RowId) {
        self.inner.delete(row);
    }

    /// The rows of a range, in key order, own writes included.
    pub fn scan(&mut self, scan: &Scan, rows: &mut Vec<RowId>) -> Result<(), TxnError> {
        run_now(self.inner.scan(scan, rows))
    }

    /// The rows of a secondary key.
    pub fn lookup(
        &mut self,
        index: IndexId,
        key: &Key,
        rows: &mut Vec<RowId>,
    ) -> Result<(), TxnError> {
        run_now(self.inner.lookup(index, key, rows))
    }

    /// Every row of a table, without keeping any of them.
    pub fn for_each(
        &mut self,
        table: TableId,
        mut visit: impl FnMut(RecordRef<'_>),
    ) -> Result<(), TxnError> {
        run_now(self.inner.for_each(table, &mut visit))
    }

    /// Commits.
    pub fn commit(self) -> Outcome {
        run_now(self.inner.commit())
    }

    /// Rolls back; counted as [`Abort::User`].
    pub fn abort(self) {
        run_now(self.inner.abort());
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
