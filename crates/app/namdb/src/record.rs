//! Typed tables: a Rust structure whose fields are the columns of a row.

use crate::database::{Db, DbIdentity};
use crate::declared::open_or_create;
use crate::error::Result;
use crate::transaction::Transaction;
use layout::{
    Key, KeyBuilder, LongValues, PhysicalDesign, RecordMut, RecordRef, Schema, SchemaError,
};
use std::marker::PhantomData;
use txn::{CatalogError, RowId, TableId, TableSpec};

/// A structure that represents a row. [`record!`](crate::record!) implements it.
pub trait Record: Sized {
    /// Name of the table.
    const TABLE: &'static str;

    /// Columns of the table, key columns first.
    fn schema() -> Result<Schema, SchemaError>;

    /// The record's primary key.
    fn own_key(&self) -> RecordKey<Self>;

    /// Decodes a record from a row.
    fn read(row: RecordRef<'_>) -> Self;

    /// Writes all columns except those of the key.
    fn write(&self, row: &mut RecordMut<'_>) -> Result<(), SchemaError>;
}

/// A primary key of a record's table. `key` is `None` if a value does not fit its column: no table
/// has such a record.
#[derive(Debug)]
pub struct RecordKey<R> {
    key: Option<Key>,
    record: PhantomData<fn() -> R>,
}

impl<R> RecordKey<R> {
    #[doc(hidden)]
    pub fn build(builder: Option<KeyBuilder>) -> Self {
        Self { key: builder.map(|builder| builder.key()), record: PhantomData }
    }
}

/// Handle of a table of records.
#[derive(Debug)]
pub struct RecordTable<R> {
    id: TableId,
    database: DbIdentity,
    record: PhantomData<fn() -> R>,
}

impl<R> Clone for RecordTable<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for RecordTable<R> {}

impl<R: Record> RecordTable<R> {
    /// Creates the table of the records.
    pub fn create(db: &Db, design: PhysicalDesign) -> Result<Self, CatalogError> {
        let schema = R::schema()?;
        let spec = TableSpec { schema, design, indexes: Vec::new() };
        let id = db.create_table(spec)?;
        Ok(Self { id, database: db.identity(), record: PhantomData })
    }

    /// Opens the table of the records, or creates it with `design`. Programs that do so at the same
    /// time get the same table. A table that exists keeps its design.
    ///
    /// # Errors
    /// [`CatalogError::Design`], with the first difference, if the table exists with other columns.
    pub fn open_or_create(db: &Db, design: PhysicalDesign) -> Result<Self, CatalogError> {
        let id = open_or_create(db, R::schema()?, design)?;
        Ok(Self { id, database: db.identity(), record: PhantomData })
    }

    /// Opens the table of the records; `None` unless it exists with exactly these columns.
    pub fn open(db: &Db) -> Option<Self> {
        let id = db.table(R::TABLE)?;
        let found = db.schema(id)?;
        let fits = R::schema().is_ok_and(|schema| schema == *found);
        fits.then_some(Self { id, database: db.identity(), record: PhantomData })
    }

    /// The engine's identifier of the table.
    pub fn id(&self) -> TableId {
        self.id
    }
}

impl Transaction<'_> {
    /// Reads the record with this key; `None` if it does not exist.
    ///
    /// Fails if the table belongs to another [`Db`], or the key does not fit its columns.
    /// [`Transaction::put`] and [`Transaction::remove`] fail likewise.
    pub fn get<R: Record>(
        &mut self,
        table: RecordTable<R>,
        key: RecordKey<R>,
    ) -> Result<Option<R>> {
        let key = self.checked_key(table, key)?;
        let Some(row) = self.read(table.id, &key)? else { return Ok(None) };
        self.record(table, row).map(Some)
    }

    /// Decodes a row of the table that a scan or a lookup has found.
    ///
    /// ```
    /// use namdb::{
    ///     Config, IndexDesign, Isolation, PhysicalDesign, Record, RecordTable, Retry, Scan,
    ///     ScanSource, Storage, Text, Value, record,
    /// };
    ///
    /// record! {
    ///     pub struct City in "city" {
    ///         key { name: Text<30> }
    ///         country: Text<2>,
    ///         inhabitants: i64,
    ///     }
    /// }
    ///
    /// let db = namdb::open(Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// // Stored as a tree, so that its rows can be scanned in the order of their keys.
    /// let design = PhysicalDesign { storage: Storage::Tree, ..Default::default() };
    /// let cities = RecordTable::<City>::create(&db, design)?;
    /// let schema = City::schema()?;
    /// let columns =
    ///     ["country", "inhabitants"].map(|name| schema.position(name).expect("a column"));
    /// let by_size = db.create_index("city", IndexDesign {
    ///     name: "by_size".to_owned(),
    ///     columns: columns.to_vec(),
    ///     ..Default::default()
    /// })?;
    ///
    /// let mut session = db.session();
    /// session.transaction(Isolation::Serializable, Retry::default(), |txn| {
    ///     for (name, country, inhabitants) in
    ///         [("Ghent", "BE", 265_000), ("Bruges", "BE", 119_000), ("Delft", "NL", 109_000)]
    ///     {
    ///         let (name, country) = (name.into(), country.into());
    ///         txn.put(cities, &City { name, country, inhabitants })?;
    ///     }
    ///     namdb::Ok(())
    /// })?;
    /// let (found, largest, first) =
    ///     session.transaction(Isolation::Serializable, Retry::default(), |txn| {
    ///         let mut rows = Vec::new();
    ///         // A lookup needs a value for every column of the index.
    ///         let key = schema.encode_columns(&columns, &["NL".into(), Value::Int(109_000)])?;
    ///         txn.lookup(by_size, &key, &mut rows)?;
    ///         let found = txn.record(cities, rows[0])?.name;
    ///         // A scan may fix the leading columns only. Index keys end with the primary key.
    ///         let belgian = schema.append_key_part(Default::default(), columns[0], &"BE".into())?;
    ///         let words = schema.index_key_words(&columns);
    ///         let (low, high) = (belgian.prefix_low(words), belgian.prefix_high(words));
    ///         let source = ScanSource::Index(by_size);
    ///         txn.scan(&Scan { source, low, high, reverse: true, limit: 1 }, &mut rows)?;
    ///         let largest = txn.record(cities, rows[0])?.name;
    ///         // Scans the whole table in key order.
    ///         let source = ScanSource::Table(cities.id());
    ///         let words = schema.key_words();
    ///         let (low, high) = (namdb::Key::lowest(words), namdb::Key::highest(words));
    ///         txn.scan(&Scan { source, low, high, reverse: false, limit: 1 }, &mut rows)?;
    ///         namdb::Ok((found, largest, txn.record(cities, rows[0])?.name))
    ///     })?;
    /// assert_eq!([&*found, &*largest, &*first], ["Delft", "Ghent", "Bruges"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If the row comes from another transaction or another table.
    pub fn record<R: Record>(&mut self, table: RecordTable<R>, row: RowId) -> Result<R> {
        self.check_table(table)?;
        let is_of_table = self.table(row) == table.id;
        assert!(is_of_table, "the row is of another table than that of the records {}", R::TABLE);
        if self.row(row).schema().long_columns().is_empty() {
            return Ok(R::read(self.row(row)));
        }
        let mut values = LongValues::default();
        self.read_long_row(row, &mut values)?;
        Ok(R::read(self.row(row).with_long(&values)))
    }

    /// Inserts the record, or replaces the one with the same key.
    pub fn put<R: Record>(&mut self, table: RecordTable<R>, record: &R) -> Result<()> {
        let key = self.checked_key(table, record.own_key())?;
        let row = match self.read(table.id, &key)? {
            Some(row) => row,
            None => self.insert(table.id, &key)?,
        };
        Ok(record.write(&mut self.update(row))?)
    }

    /// Deletes the record with this key; false if it does not exist.
    pub fn remove<R: Record>(&mut self, table: RecordTable<R>, key: RecordKey<R>) -> Result<bool> {
        let key = self.checked_key(table, key)?;
        let row = self.read(table.id, &key)?;
        row.into_iter().for_each(|row| self.delete(row));
        Ok(row.is_some())
    }

    fn check_table<R: Record>(&self, table: RecordTable<R>) -> Result<()> {
        self.check_database(table.database, || R::TABLE.to_owned())
    }

    fn checked_key<R: Record>(&self, table: RecordTable<R>, key: RecordKey<R>) -> Result<Key> {
        self.check_table(table)?;
        key.key.ok_or_else(|| key_error::<R>().into())
    }
}

fn key_error<R: Record>() -> SchemaError {
    SchemaError::Value {
        table: R::TABLE.to_owned(),
        column: "of the key".to_owned(),
        reason: "longer than the column's maximal length, or contains a NUL character".to_owned(),
    }
}

/// Declares a structure that represents a row of a table, and generates its schema, its key and the
/// code that reads and writes it. The key columns come first. Other columns may be an `Option`:
/// `None` is null.
///
/// ```
/// use namdb::{Isolation, RecordTable, Retry, Text, record};
///
/// record! {
///     /// A customer's account.
///     pub struct Account in "account" {
///         key { branch: i32, number: i64 }
///         owner: Text<40>,
///         balance: i64,
///         closed_on: Option<i32>,
///     }
/// }
///
/// let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
/// let accounts = RecordTable::<Account>::create(&db, Default::default())?;
/// let mut session = db.session();
/// session.transaction(Isolation::Serializable, Retry::default(), |txn| {
///     let owner = "Ada".into();
///     let account = Account { branch: 1, number: 7, owner, balance: 100, closed_on: None };
///     txn.put(accounts, &account)
/// })?;
/// let ada = session.transaction(Isolation::Serializable, Retry::default(), |txn| {
///     txn.get(accounts, Account::key(1, 7))
/// })?;
/// assert_eq!(ada.expect("it was put").balance, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! record {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident in $table:literal {
            key { $($(#[$key_attribute:meta])* $key:ident : $key_type:ty),+ $(,)? }
            $($(#[$field_attribute:meta])* $field:ident : $field_type:ty),* $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        $visibility struct $name {
            $($(#[$key_attribute])* pub $key: $key_type,)+
            $($(#[$field_attribute])* pub $field: $field_type,)*
        }

        impl $name {
            /// Builds a primary key from these values.
            $visibility fn key($($key: impl Into<$key_type>),+) -> $crate::RecordKey<Self> {
                let builder = Some($crate::KeyBuilder::new());
                $(
                    let value: $key_type = $key.into();
                    let builder = builder.and_then(|key| $crate::KeyField::append(&value, key));
                )+
                $crate::RecordKey::build(builder)
            }
        }

        impl $crate::Record for $name {
            const TABLE: &'static str = $table;

            fn schema() -> Result<$crate::Schema, $crate::SchemaError> {
                // A program may never look up a single record; this use avoids its "never used"
                // warning.
                let _ = |$($key: $key_type),+| Self::key($($key),+);
                let key = [$(<$key_type as $crate::Field>::column(stringify!($key))),+];
                let key_positions: Vec<usize> = (0..key.len()).collect();
                let fields = [$(<$field_type as $crate::Field>::column(stringify!($field))),*];
                let columns = key.into_iter().chain(fields).collect();
                $crate::Schema::new($table, columns, &key_positions)
            }

            fn own_key(&self) -> $crate::RecordKey<Self> {
                let builder = Some($crate::KeyBuilder::new());
                $(let builder =
                    builder.and_then(|key| $crate::KeyField::append(&self.$key, key));)+
                $crate::RecordKey::build(builder)
            }

            fn read(row: $crate::RecordRef<'_>) -> Self {
                let mut columns = 0_usize..;
                let mut next = || columns.next().expect("numbers do not end");
                Self {
                    $($key: $crate::Field::read(row, next()),)+
                    $($field: $crate::Field::read(row, next()),)*
                }
            }

            #[allow(unused_variables, unused_mut, reason = "a record may be all key")]
            fn write(
                &self,
                row: &mut $crate::RecordMut<'_>,
            ) -> Result<(), $crate::SchemaError> {
                let mut columns = [$(stringify!($key)),+].len()..;
                let mut next = || columns.next().expect("numbers do not end");
                $($crate::Field::write(&self.$field, row, next())?;)*
                Ok(())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Char, Date, Decimal, Text, Timestamp};
    use layout::Value;

    crate::record! {
        /// One column of each type.
        struct Sample in "sample" {
            key { small: i16, name: Text<8>, raw: Bytes<4>, day: Date, code: Char<3> }
            medium: i32,
            large: i64,
            yes: bool,
            rate: f64,
            note: Option<Text<12>>,
            data: Bytes<6>,
            price: Decimal<2>,
            at: Option<Timestamp>,
            country: Char<2>,
        }
    }

    fn sample() -> Sample {
        Sample {
            small: -3,
            name: "Ada".into(),
            raw: Bytes(vec![0, 1]),
            day: Date(-1),
            code: "a  ".into(),
            medium: 7,
            large: -(1 << 40),
            yes: true,
            rate: 2.5,
            note: None,
            data: Bytes(vec![9, 0, 9]),
            price: Decimal(-1234),
            at: Some(Timestamp(1)),
            country: "BE".into(),
        }
    }

    fn written(record: &Sample) -> Result<Sample, SchemaError> {
        let schema = Sample::schema()?;
        let key = record.own_key().key.expect("the key fits");
        let mut payload = vec![0; schema.row_layout(false).payload_words as usize];
        record.write(&mut RecordMut::new(&schema, &mut payload))?;
        Ok(Sample::read(RecordRef::new(&schema, key.words(), &payload)))
    }

    #[test]
    fn every_field_comes_back() {
        let record = sample();
        assert_eq!(written(&record), Ok(record.clone()));
        let noted = Sample { note: Some("twelve chars".into()), ..record };
        assert_eq!(written(&noted), Ok(noted.clone()));
    }

    #[test]
    fn keys_are_those_of_the_schema() {
        let schema = Sample::schema().expect("the columns are fine");
        let values =
            [Value::Int(-3), "Ada".into(), Value::Bytes(vec![0, 1]), Value::Int(-1), "a".into()];
        let key = Sample::key(-3_i16, "Ada", &[0, 1][..], -1, "a ").key;
        assert_eq!(key, schema.encode_key(&values).ok());
        assert_eq!(key, sample().own_key().key);
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let long = Sample { note: Some("thirteen char".into()), ..sample() };
        assert!(written(&long).expect_err("too long").to_string().contains("column note"));
        assert_eq!(Sample::key(1_i16, "nine char", &[][..], 0, "").key, None);
        assert_eq!(Sample::key(1_i16, "", &[][..], 0, "four").key, None);
        let far = Sample { country: "BEL".into(), ..sample() };
        assert!(written(&far).expect_err("too long").to_string().contains("column country"));
    }
}
