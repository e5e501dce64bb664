//! Statements on records: reads and writes by primary key.

use crate::error::Result;
use crate::field::Misfit;
use crate::key::{FullKey, KeyRange};
use crate::range::Range;
use crate::record::{Record, RecordTable};
use crate::rows::Rows;
use crate::transaction::Transaction;
use layout::{Key, KeyBuilder, LongValues, SchemaError};
use txn::RowId;

/// Statements on records. The key is a value, or a tuple if it has several columns: text is given
/// as `&str`, numbers in the type of their field.
///
/// A statement fails if the table belongs to another [`Db`](crate::Db), or if a value does not fit
/// its column; then it has changed nothing.
///
/// ```
/// use namdb::{Isolation, RecordTable, Retry, Storage, TransactionError, record};
///
/// record! {
///     pub struct City in "city" {
///         key { name: String[30] }
///         inhabitants: i64,
///     }
/// }
///
/// let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
/// let cities = RecordTable::<City>::create(&db, Storage::Tree.into())?;
/// let city = |name: &str, inhabitants| City { name: name.to_owned(), inhabitants };
/// db.session().transaction(Isolation::Serializable, Retry::default(), |txn| {
///     txn.insert(cities, &city("Ghent", 265_000))?;
///     txn.insert(cities, &city("Bruges", 119_000))?;
///     let twice = txn.insert(cities, &city("Ghent", 1));
///     assert!(matches!(twice, Err(TransactionError::DuplicateKey(_))));
///
///     // Updates and deletes return the record as it was; `None`: there was none.
///     assert_eq!(txn.update(cities, &city("Ghent", 265_001))?, Some(city("Ghent", 265_000)));
///     assert_eq!(txn.update(cities, &city("Delft", 109_000))?, None);
///     assert_eq!(txn.upsert(cities, &city("Delft", 109_000))?, None);
///     assert_eq!(txn.delete(cities, "Bruges")?, Some(city("Bruges", 119_000)));
///     assert_eq!(txn.get(cities, "Bruges")?, None);
///
///     let names = txn.range(cities, "A".."F").map(|city| Ok(city?.name));
///     assert_eq!(names.collect::<namdb::Result<Vec<_>>>()?, ["Delft"]);
///     let last = txn.range(cities, ..).rev().next().transpose()?;
///     assert_eq!(last, Some(city("Ghent", 265_001)));
///     namdb::Ok(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<'lane> Transaction<'lane> {
    /// Reads the record with this key; `None` if it does not exist.
    pub fn get<R: Record>(
        &mut self,
        table: RecordTable<R>,
        key: impl FullKey<R::Key>,
    ) -> Result<Option<R>> {
        let key = self.key_of(table, key)?;
        match self.rows().read(table.id, &key)? {
            Some(row) => self.rows().decode(row).map(Some),
            None => Ok(None),
        }
    }

    /// Inserts a record.
    ///
    /// # Errors
    /// [`TransactionError::DuplicateKey`](crate::TransactionError::DuplicateKey) if a record with
    /// its key exists. The transaction may go on.
    pub fn insert<R: Record>(&mut self, table: RecordTable<R>, record: &R) -> Result<()> {
        let key = self.checked_key(table, record)?;
        let mut rows = self.rows();
        let row = rows.insert(table.id, &key)?;
        record.write(&mut rows.update(row));
        Ok(())
    }

    /// Replaces the record with the same key and returns the previous one. If there is none, the
    /// result is `None` and nothing has changed, as after an `UPDATE` of no rows in SQL.
    pub fn update<R: Record>(&mut self, table: RecordTable<R>, record: &R) -> Result<Option<R>> {
        let key = self.checked_key(table, record)?;
        match self.rows().read(table.id, &key)? {
            Some(row) => self.replace(row, record).map(Some),
            None => Ok(None),
        }
    }

    /// Replaces the record with the same key and returns the previous one, or inserts it and
    /// returns `None`.
    pub fn upsert<R: Record>(&mut self, table: RecordTable<R>, record: &R) -> Result<Option<R>> {
        let key = self.checked_key(table, record)?;
        let mut rows = self.rows();
        if let Some(row) = rows.read(table.id, &key)? {
            return self.replace(row, record).map(Some);
        }
        let row = rows.insert(table.id, &key)?;
        record.write(&mut rows.update(row));
        Ok(None)
    }

    /// Deletes the record with this key and returns it; `None` if it does not exist.
    pub fn delete<R: Record>(
        &mut self,
        table: RecordTable<R>,
        key: impl FullKey<R::Key>,
    ) -> Result<Option<R>> {
        let key = self.key_of(table, key)?;
        let mut rows = self.rows();
        let Some(row) = rows.read(table.id, &key)? else { return Ok(None) };
        let previous = rows.decode(row)?;
        rows.delete(row);
        Ok(Some(previous))
    }

    /// The records in a range of keys, in the order of their keys; `.rev()` turns it around. The
    /// table's storage is [`Storage::Tree`](layout::Storage::Tree). See [`KeyRange`] for the
    /// ranges, and [`Range`] for the errors.
    pub fn range<R: Record>(
        &mut self,
        table: RecordTable<R>,
        keys: impl KeyRange<R::Key>,
    ) -> Range<'_, 'lane, R> {
        Range::of_table(self, table, keys)
    }

    fn replace<R: Record>(&mut self, row: RowId, record: &R) -> Result<R> {
        let mut rows = self.rows();
        let previous = rows.decode(row)?;
        record.write(&mut rows.update(row));
        Ok(previous)
    }

    pub(crate) fn check_table<R: Record>(&self, table: RecordTable<R>) -> Result<()> {
        self.check_database(table.database, || R::TABLE.to_owned())
    }

    fn key_of<R: Record>(&self, table: RecordTable<R>, key: impl FullKey<R::Key>) -> Result<Key> {
        self.check_table(table)?;
        let key = key.append_prefix(KeyBuilder::new()).map_err(key_misfit::<R>)?;
        Ok(key.key())
    }

    /// The key of a record that fits its columns.
    fn checked_key<R: Record>(&self, table: RecordTable<R>, record: &R) -> Result<Key> {
        self.check_table(table)?;
        record.check()?;
        Ok(record.own_key()?)
    }
}

/// A value of a key that does not fit its column.
#[cold]
pub(crate) fn key_misfit<R: Record>(misfit: Misfit) -> SchemaError {
    crate::record::misfit::<R>("of the key", misfit)
}

impl Rows<'_, '_> {
    /// Decodes a row of the table that a read, a scan or a lookup has found.
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
    /// # txn.insert(cities, &ghent)?;
    /// # let key = ghent.own_key()?;
    /// # let mut rows = txn.rows();
    /// let row = rows.read(cities.id(), &key)?.expect("it was inserted");
    /// assert_eq!(rows.record(cities, row)?, ghent);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If the row comes from another transaction or another table.
    pub fn record<R: Record>(&mut self, table: RecordTable<R>, row: RowId) -> Result<R> {
        self.transaction.check_table(table)?;
        let is_of_table = self.table(row) == table.id;
        assert!(is_of_table, "the row is of another table than that of the records {}", R::TABLE);
        self.decode(row)
    }

    /// Decodes a row of the record's table, with its values out of line.
    pub(crate) fn decode<R: Record>(&mut self, row: RowId) -> Result<R> {
        if !self.row(row).refers_to_values() {
            return Ok(R::read(self.row(row))?);
        }
        let mut values = LongValues::default();
        self.read_long_row(row, &mut values)?;
        Ok(R::read(self.row(row).with_long(&values))?)
    }
}
