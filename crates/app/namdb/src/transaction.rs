//! A running transaction of an ordinary thread.

use crate::cluster::RemoteTransaction;
use crate::database::DbIdentity;
use crate::error::{Result, TransactionError};
use crate::rows::Rows;
use fabric::{LocalEnv, run_now};
use layout::Schema;
use txn::{Abort, CatalogError, Outcome, TableId, TxnError};

/// A transaction in the engine that runs it.
pub(crate) enum Running<'lane> {
    /// The transaction has ended.
    Ended,
    Local(txn::Transaction<'lane, LocalEnv>),
    Remote(Box<RemoteTransaction<'lane>>),
}

pub(crate) const ENDED_ONCE: &str = "a transaction ends by being consumed";

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

impl<'lane> Transaction<'lane> {
    /// Rows by columns, without a type for the record: for tables and indexes that are only known
    /// at run time, and for reads of many rows in shared round trips.
    ///
    /// ```
    /// use namdb::{Column, ColumnType, Isolation, KeyBuilder, Retry, Schema, TableSpec};
    ///
    /// let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// let columns =
    ///     vec![Column::new("id", ColumnType::Int8), Column::new("balance", ColumnType::Int8)];
    /// let schema = Schema::new("account", columns, &[0])?;
    /// let (design, indexes) = (Default::default(), Vec::new());
    /// let account = db.create_table(TableSpec { schema, design, indexes })?;
    ///
    /// let key = KeyBuilder::new().int8(7).key();
    /// let mut session = db.session();
    /// let balance = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
    ///     let mut rows = txn.rows();
    ///     let row = rows.insert(account, &key)?;
    ///     rows.update(row).set_int(1, 100);
    ///     namdb::Ok(rows.row(row).int(1))
    /// })?;
    /// assert_eq!(balance, 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn rows(&mut self) -> Rows<'_, 'lane> {
        Rows::new(self)
    }

    /// The columns of a table; `None` if it does not exist.
    pub fn schema(&self, table: TableId) -> Option<&Schema> {
        match &self.running {
            Running::Local(local) => local.schema(table),
            Running::Remote(remote) => remote.schema(table),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
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
