//! A running transaction of an ordinary thread.

use crate::cluster::RemoteTransaction;
use crate::database::DbIdentity;
use crate::error::{DuplicateKey, Result, TransactionError};
use fabric::{LocalEnv, run_now};
use layout::{Key, RecordMut, RecordRef, Schema};
use txn::{Abort, CatalogError, IndexId, Outcome, RowId, Scan, TableId, TxnError};

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
            $crate::transaction::Running::Local($running) => fabric::run_now($call),
            $crate::transaction::Running::Remote(remote) => remote.run(|engine, mut statement| {
                let $running = &mut statement;
                engine.block_on($call)
            }),
            $crate::transaction::Running::Ended => {
                unreachable!("{}", $crate::transaction::ENDED_ONCE)
            }
        }
        .map_err(|error| $transaction.failed(error))
    };
}
pub(crate) use wait;

/// A running transaction. Dropping it rolls it back.
///
/// A statement that fails with an abort ([`TransactionError::abort`]) ends the transaction: later
/// statements and the commit fail with the same reason. After any other error the transaction may
/// go on.
pub struct Transaction<'lane> {
    pub(crate) running: Running<'lane>,
    database: DbIdentity,
    /// Why a statement has ended the transaction. The session retries by this, and not by the
    /// error that the closure returns, which may be of any type.
    ended_by: Option<Abort>,
}

impl<'lane> Transaction<'lane> {
    pub(crate) fn new(running: Running<'lane>, database: DbIdentity) -> Self {
        Self { running, database, ended_by: None }
    }
}

impl Transaction<'_> {
    /// The row with this key, if there is one.
    pub fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowId>> {
        wait!(self, running => running.read(table, key))
    }

    /// Reads independent rows in shared round trips. `found` gets one entry per read.
    pub fn read_many(
        &mut self,
        reads: &[(TableId, Key)],
        found: &mut Vec<Option<RowId>>,
    ) -> Result<()> {
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
    pub fn insert(&mut self, table: TableId, key: &Key) -> Result<RowId> {
        let inserted = wait!(self, running => running.insert(table, key));
        inserted.map_err(|error| self.name_duplicate(error, table, key))
    }

    /// Inserts several rows in shared round trips. `rows` gets one entry per row.
    pub fn insert_many(&mut self, inserts: &[(TableId, Key)], rows: &mut Vec<RowId>) -> Result<()> {
        let inserted = wait!(self, running => running.insert_many(inserts, rows));
        inserted.map_err(|error| match rows.len().checked_sub(1) {
            Some(last) => self.name_duplicate(error, inserts[last].0, &inserts[last].1),
            None => error,
        })
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
    pub fn scan(&mut self, scan: &Scan, rows: &mut Vec<RowId>) -> Result<()> {
        wait!(self, running => running.scan(scan, rows))
    }

    /// Scans independent key ranges in shared round trips.
    pub fn scan_many(&mut self, scans: &[Scan], rows: &mut Vec<Vec<RowId>>) -> Result<()> {
        wait!(self, running => running.scan_many(scans, rows))
    }

    /// Finds the rows with a key of a secondary index: one value per column of the index, encoded
    /// by [`encode_columns`](layout::Schema::encode_columns). [`Transaction::record`] has an
    /// example.
    pub fn lookup(&mut self, index: IndexId, key: &Key, rows: &mut Vec<RowId>) -> Result<()> {
        wait!(self, running => running.lookup(index, key, rows))
    }

    /// Visits every row of a table in the snapshot, without keeping the rows. The visit ignores
    /// this transaction's own changes.
    pub fn for_each(&mut self, table: TableId, mut visit: impl FnMut(RecordRef<'_>)) -> Result<()> {
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

    /// Why a statement has ended the transaction; `None` if it has not.
    pub(crate) fn ended_by(&self) -> Option<Abort> {
        self.ended_by
    }

    /// Takes note of a statement's error.
    #[cold]
    pub(crate) fn failed(&mut self, error: TxnError) -> TransactionError {
        self.ended_by = self.ended_by.or(error.abort());
        error.into()
    }

    /// Names the key of an insert that another row has.
    #[cold]
    fn name_duplicate(
        &self,
        error: TransactionError,
        table: TableId,
        key: &Key,
    ) -> TransactionError {
        match (error, self.schema(table)) {
            (TransactionError::Statement(TxnError::DuplicateKey { table }), Some(schema)) => {
                let key = txn::describe_key(schema, schema.key(), key);
                TransactionError::DuplicateKey(Box::new(DuplicateKey { table, key }))
            }
            (error, _) => error,
        }
    }

    /// Rejects a handle of another database, where the same number may denote another table.
    #[inline]
    pub(crate) fn check_database(
        &self,
        handle: DbIdentity,
        table: impl FnOnce() -> String,
    ) -> Result<()> {
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
