//! Rows by columns: the statements of the engine without `await`.

use crate::error::{DuplicateKey, Result, TransactionError};
use crate::transaction::{ENDED_ONCE, Running, Transaction};
use layout::{Key, RecordMut, RecordRef};
use txn::{IndexId, RowId, Scan, TableId, TxnError};

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

/// A transaction's rows by columns; see [`Transaction::rows`]. A [`RowId`] is valid until the
/// transaction ends.
pub struct Rows<'txn, 'lane> {
    pub(crate) transaction: &'txn mut Transaction<'lane>,
}

impl<'txn, 'lane> Rows<'txn, 'lane> {
    #[inline]
    pub(crate) fn new(transaction: &'txn mut Transaction<'lane>) -> Self {
        Self { transaction }
    }

    /// The row with this key, if there is one.
    pub fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowId>> {
        wait!(self.transaction, running => running.read(table, key))
    }

    /// Reads independent rows in shared round trips. `found` gets one entry per read.
    pub fn read_many(
        &mut self,
        reads: &[(TableId, Key)],
        found: &mut Vec<Option<RowId>>,
    ) -> Result<()> {
        wait!(self.transaction, running => running.read_many(reads, found))
    }

    /// A row's columns, including this transaction's own writes.
    pub fn row(&self, row: RowId) -> RecordRef<'_> {
        match &self.transaction.running {
            Running::Local(local) => local.row(row),
            Running::Remote(remote) => remote.row(row),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
    }

    /// Marks a row as updated and returns its columns for writing.
    pub fn update(&mut self, row: RowId) -> RecordMut<'_> {
        match &mut self.transaction.running {
            Running::Local(local) => local.update(row),
            Running::Remote(remote) => remote.update(row),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
    }

    /// Inserts a row; set its columns with [`Rows::update`].
    pub fn insert(&mut self, table: TableId, key: &Key) -> Result<RowId> {
        let inserted = wait!(self.transaction, running => running.insert(table, key));
        inserted.map_err(|error| self.name_duplicate(error, table, key))
    }

    /// Inserts several rows in shared round trips. `rows` gets one entry per row.
    pub fn insert_many(&mut self, inserts: &[(TableId, Key)], rows: &mut Vec<RowId>) -> Result<()> {
        let inserted = wait!(self.transaction, running => running.insert_many(inserts, rows));
        inserted.map_err(|error| match rows.len().checked_sub(1) {
            Some(last) => self.name_duplicate(error, inserts[last].0, &inserts[last].1),
            None => error,
        })
    }

    /// Deletes a row that this transaction has read or inserted.
    pub fn delete(&mut self, row: RowId) {
        match &mut self.transaction.running {
            Running::Local(local) => local.delete(row),
            Running::Remote(remote) => remote.statement().1.delete(row),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
    }

    /// Scans a key range in key order, including this transaction's own writes.
    pub fn scan(&mut self, scan: &Scan, rows: &mut Vec<RowId>) -> Result<()> {
        wait!(self.transaction, running => running.scan(scan, rows))
    }

    /// Scans independent key ranges in shared round trips.
    pub fn scan_many(&mut self, scans: &[Scan], rows: &mut Vec<Vec<RowId>>) -> Result<()> {
        wait!(self.transaction, running => running.scan_many(scans, rows))
    }

    /// Finds the rows with a key of a secondary index: one value per column of the index, encoded
    /// by [`encode_columns`](layout::Schema::encode_columns).
    pub fn lookup(&mut self, index: IndexId, key: &Key, rows: &mut Vec<RowId>) -> Result<()> {
        wait!(self.transaction, running => running.lookup(index, key, rows))
    }

    /// Visits every row of a table in the snapshot, without keeping the rows. The visit ignores
    /// this transaction's own changes.
    pub fn for_each(&mut self, table: TableId, mut visit: impl FnMut(RecordRef<'_>)) -> Result<()> {
        wait!(self.transaction, running => running.for_each(table, &mut visit))
    }

    /// The table that a row is of.
    pub(crate) fn table(&mut self, row: RowId) -> TableId {
        match &mut self.transaction.running {
            Running::Local(local) => local.table(row),
            Running::Remote(remote) => remote.statement().1.table(row),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
    }

    /// Names the key of an insert that another row has.
    #[cold]
    fn name_duplicate(
        &self,
        error: TransactionError,
        table: TableId,
        key: &Key,
    ) -> TransactionError {
        match (error, self.transaction.schema(table)) {
            (TransactionError::Statement(TxnError::DuplicateKey { table }), Some(schema)) => {
                let names = self.transaction.key_names;
                let key = names
                    .primary_key(&table, key.words())
                    .unwrap_or_else(|| txn::describe_key(schema, schema.key(), key));
                TransactionError::DuplicateKey(Box::new(DuplicateKey { table, key }))
            }
            (error, _) => error,
        }
    }
}
