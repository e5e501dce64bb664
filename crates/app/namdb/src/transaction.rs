//! A running transaction of an ordinary thread.

use crate::cluster::RemoteTransaction;
use crate::database::{Db, DbIdentity};
use crate::durable::Durable;
use crate::error::{Result, TransactionError};
use crate::key_names::KeyNames;
use crate::rows::Rows;
use durability::Ticket;
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
///
/// ```
/// # use namdb::{Isolation, Record, RecordTable, Storage, record};
/// # record! {
/// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
/// #     index by_size(inhabitants);
/// # }
/// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
/// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
/// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
/// # let mut session = db.session();
/// let mut txn = session.begin(Isolation::Serializable)?;
/// txn.insert(cities, &ghent)?;
/// drop(txn); // Rolled back.
/// assert_eq!(session.begin(Isolation::Snapshot)?.get(cities, "Ghent")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Transaction<'lane> {
    pub(crate) running: Running<'lane>,
    database: DbIdentity,
    pub(crate) key_names: &'lane KeyNames,
    /// Why a statement has ended the transaction. The session retries by this, and not by the
    /// error that the closure returns, which may be of any type.
    ended_by: Option<Abort>,
    /// The directory of its database, if commits are logged.
    durable: Option<&'lane Durable>,
    /// Whether its end waits for the disk.
    is_synchronous: bool,
}

/// The end of a transaction, and the group of the redo log that makes it certain.
pub(crate) struct Finished {
    pub outcome: Result<Outcome>,
    pub ticket: Ticket,
}

impl<'lane> Transaction<'lane> {
    /// A transaction of a database without a redo log.
    pub(crate) fn new(running: Running<'lane>, db: &'lane Db) -> Self {
        let (database, key_names) = (db.identity(), db.key_names());
        Self { running, database, key_names, ended_by: None, durable: None, is_synchronous: false }
    }

    /// The same transaction of a database with a redo log.
    pub(crate) fn logged(mut self, durable: &'lane Durable, is_synchronous: bool) -> Self {
        (self.durable, self.is_synchronous) = (Some(durable), is_synchronous);
        self
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
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, Storage, record};
    /// # record! {
    /// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
    /// #     index by_size(inhabitants);
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
    /// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// txn.insert(cities, &ghent)?;
    /// assert_eq!(txn.schema(cities.id()).expect("it exists").name(), "city");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn schema(&self, table: TableId) -> Option<&Schema> {
        match &self.running {
            Running::Local(local) => local.schema(table),
            Running::Remote(remote) => remote.schema(table),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
    }

    /// Chooses whether the end of this transaction waits for the disk, if its database has a
    /// directory: `true` as with [`Durability::Synchronous`](crate::Durability), `false` as with
    /// `Periodic`. A transaction that does not wait may be lost, though never a part of it.
    ///
    /// ```
    /// # use namdb::{Config, Isolation, KeyValueTable, Retry};
    /// # let db = namdb::open(Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let visits = KeyValueTable::create(&db, "visit", 8, 8, Default::default())?;
    /// db.session().transaction(Isolation::Snapshot, Retry::default(), |txn| {
    ///     txn.set_synchronous(false); // One visit more or less does not matter.
    ///     txn.write_value(visits, b"today", &[7])
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_synchronous(&mut self, is_synchronous: bool) {
        self.is_synchronous = is_synchronous;
    }

    /// Commits, and waits for the disk if the transaction is synchronous.
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, Storage, record};
    /// # record! {
    /// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
    /// #     index by_size(inhabitants);
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
    /// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// txn.insert(cities, &ghent)?;
    /// txn.commit()?;
    /// assert_eq!(session.begin(Isolation::Snapshot)?.get(cities, "Ghent")?, Some(ghent));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`TransactionError::Aborted`] if it had no effect, [`TransactionError::Unknown`] if that is
    /// not known, [`TransactionError::Refused`] and [`TransactionError::NotDurable`] if the
    /// directory is in trouble.
    pub fn commit(mut self) -> Result<()> {
        let durable = self.durable;
        let Finished { outcome, ticket } = self.finish();
        match outcome? {
            Outcome::Committed => durable.map_or(Result::Ok(()), |durable| durable.wait(ticket)),
            Outcome::Aborted(reason) => Err(reason.into()),
            Outcome::Unknown => Err(TransactionError::Unknown),
        }
    }

    /// Commits without waiting for the disk.
    pub(crate) fn finish(&mut self) -> Finished {
        let without_log =
            |outcome| Finished { outcome: Result::Ok(outcome), ticket: Ticket::DURABLE };
        match std::mem::replace(&mut self.running, Running::Ended) {
            Running::Local(local) => match self.durable {
                None => without_log(run_now(local.commit_and_rest())),
                Some(durable) => self.finish_logged(durable, local),
            },
            Running::Remote(remote) => without_log(remote.commit()),
            Running::Ended => unreachable!("{ENDED_ONCE}"),
        }
    }

    fn finish_logged(&self, durable: &Durable, local: txn::Transaction<'_, LocalEnv>) -> Finished {
        if !local.has_written() {
            let ticket = self.ticket_of_reads(durable, &local);
            return Finished { outcome: Result::Ok(run_now(local.commit_and_rest())), ticket };
        }
        if let Err(refused) = durable.admit() {
            run_now(local.abort_and_rest());
            return Finished { outcome: Err(refused), ticket: Ticket::DURABLE };
        }
        let (outcome, version) = run_now(local.commit_with_version());
        let version = version.filter(|_| self.is_synchronous);
        let ticket = version.map(|version| durable.acknowledgements().of_commit(version));
        Finished { outcome: Result::Ok(outcome), ticket: ticket.unwrap_or(Ticket::DURABLE) }
    }

    fn ticket_of_reads(&self, durable: &Durable, local: &txn::Transaction<'_, LocalEnv>) -> Ticket {
        match self.is_synchronous {
            true => durable.acknowledgements().of_snapshot(local.snapshot()),
            false => Ticket::DURABLE,
        }
    }

    /// The group that makes certain what a transaction that will be rolled back has read.
    pub(crate) fn ticket_of_roll_back(&self) -> Ticket {
        match (&self.running, self.durable) {
            (Running::Local(local), Some(durable)) => self.ticket_of_reads(durable, local),
            _ => Ticket::DURABLE,
        }
    }

    /// Rolls back; counted as [`Abort::User`]. The rows that it has read may still be lost: a
    /// transaction that reports anything should commit.
    ///
    /// ```
    /// # use namdb::{Isolation, Record, RecordTable, Storage, record};
    /// # record! {
    /// #     struct City in "city" { key { name: String[30] } inhabitants: i64, }
    /// #     index by_size(inhabitants);
    /// # }
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
    /// # let ghent = City { name: "Ghent".to_owned(), inhabitants: 265_000 };
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// txn.insert(cities, &ghent)?;
    /// txn.abort();
    /// assert_eq!(session.begin(Isolation::Snapshot)?.get(cities, "Ghent")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
