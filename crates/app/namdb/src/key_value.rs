//! Key-value tables: byte strings by byte strings, with read, write, delete and commit.
//!
//! The interface follows RAMCloud's transactions [RAMCloud slides]: the client buffers writes until
//! `commit`, which applies all of them or none.

use crate::database::{Db, DbIdentity};
use crate::declared::{Declared, missing_table, open_or_create};
use crate::error::{Result, TransactionError};
use crate::session::Session;
use crate::transaction::Transaction;
use layout::{Column, ColumnType, Key, KeyBuilder, PhysicalDesign, Schema, SchemaError};
use txn::{Abort, CatalogError, Isolation, RowId, TableId, TableSpec};

/// Maximal length of a key in bytes.
pub const KEY_BYTES_MAX: u32 = 62;
/// Maximal length of a value in bytes.
pub const VALUE_BYTES_MAX: u32 = layout::column::COLUMN_LENGTH_MAX;
/// A table whose maximal value length is at most this stores values in the rows.
const ROW_BYTES_MAX: u32 = 7 * 1024;
/// Such a row splits a value into columns of this many bytes.
const PIECE_BYTES: u32 = 1024;
/// Other tables store a value of at most this many bytes in the row, and a longer one out of line.
const SHORT_BYTES_MAX: u32 = 256;
/// Column of a short value, or of a value's first piece.
const VALUE: usize = 1;
/// Column of a value out of line; null if the value is short.
const LONG_VALUE: usize = 2;

/// Handle of a key-value table.
/// [`KeyValue`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyValueTable {
    id: TableId,
    database: DbIdentity,
    key_bytes_max: u32,
    value_bytes_max: u32,
}

impl KeyValueTable {
    /// Creates a table with keys of at most `key_bytes_max` and values of at most `value_bytes_max`
    /// bytes.
    ///
    /// If `value_bytes_max` is at most 7 KiB, values are stored in the rows, and every row has room
    /// for the longest. Otherwise values of over 256 bytes are stored out of line with the memory
    /// that they need, and reading one takes one more round trip.
    /// [`KeyValue`] has an example.
    pub fn create(
        db: &Db,
        name: &str,
        key_bytes_max: u32,
        value_bytes_max: u32,
        design: PhysicalDesign,
    ) -> Result<Self, CatalogError> {
        let schema = schema(name, key_bytes_max, value_bytes_max)?;
        let id = db.create_table(TableSpec { schema, design, indexes: Vec::new() })?;
        Ok(Self { id, database: db.identity(), key_bytes_max, value_bytes_max })
    }

    /// Opens the table of this name, or creates it; see
    /// [`RecordTable::open_or_create`](crate::RecordTable::open_or_create).
    ///
    /// ```
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// use namdb::KeyValueTable;
    ///
    /// let first = KeyValueTable::open_or_create(&db, "setting", 16, 100, Default::default())?;
    /// let again = KeyValueTable::open_or_create(&db, "setting", 16, 100, Default::default())?;
    /// assert_eq!(first, again);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CatalogError::Design`] if the table exists with other columns or lengths.
    pub fn open_or_create(
        db: &Db,
        name: &str,
        key_bytes_max: u32,
        value_bytes_max: u32,
        design: PhysicalDesign,
    ) -> Result<Self, CatalogError> {
        let schema = schema(name, key_bytes_max, value_bytes_max)?;
        let id = open_or_create(db, &Declared { schema, indexes: Vec::new() }, design)?;
        Ok(Self { id, database: db.identity(), key_bytes_max, value_bytes_max })
    }

    /// Opens the table of this name.
    ///
    /// ```
    /// # use namdb::{Isolation, KeyValueTable};
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let settings = KeyValueTable::create(&db, "setting", 16, 16, Default::default())?;
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// assert_eq!(KeyValueTable::open(&db, "setting")?, settings);
    /// assert!(KeyValueTable::open(&db, "colour").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CatalogError::NoTable`], with the tables that exist, and [`CatalogError::Design`] if the
    /// table is not one of bytes.
    pub fn open(db: &Db, name: &str) -> Result<Self, CatalogError> {
        let catalog = db.catalog()?;
        let id = catalog.table(name).ok_or_else(|| missing_table(&catalog, name))?;
        let fits = |&(keys, values): &(u32, u32)| {
            let found = catalog.info(id).map(|info| &*info.schema);
            schema(name, keys, values).is_ok_and(|schema| found == Some(&schema))
        };
        let lengths = catalog.info(id).and_then(|info| lengths(&info.schema)).filter(fits);
        let (key_bytes_max, value_bytes_max) = lengths.ok_or_else(|| CatalogError::Design {
            table: name.to_owned(),
            reason: "it is not a table of bytes; open it as `RecordTable`, or by `Db::table`"
                .to_owned(),
        })?;
        Ok(Self { id, database: db.identity(), key_bytes_max, value_bytes_max })
    }

    /// The engine's identifier of the table.
    ///
    /// ```
    /// # use namdb::{Isolation, KeyValueTable};
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let settings = KeyValueTable::create(&db, "setting", 16, 16, Default::default())?;
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// assert_eq!(Some(settings.id()), db.table("setting"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn id(&self) -> TableId {
        self.id
    }

    /// Whether long values are stored out of line.
    fn is_long(&self) -> bool {
        self.value_bytes_max > ROW_BYTES_MAX
    }

    /// Encodes a key; `None` if it is too long, so that no row can have it.
    fn key(&self, key: &[u8]) -> Option<Key> {
        let fits = key.len() <= self.key_bytes_max as usize;
        fits.then(|| {
            KeyBuilder::new().padded(key, self.key_bytes_max).unsigned(key.len() as u64, 2).key()
        })
    }
}

/// The columns of a key-value table.
fn schema(name: &str, key_bytes_max: u32, value_bytes_max: u32) -> Result<Schema, SchemaError> {
    let mut columns = vec![Column::new("key", ColumnType::Bytes(key_bytes_max))];
    if value_bytes_max > ROW_BYTES_MAX {
        columns.push(Column::new("short", ColumnType::Bytes(SHORT_BYTES_MAX)));
        columns.push(Column::nullable("value", ColumnType::Bytes(value_bytes_max)));
    } else {
        let pieces = value_bytes_max.div_ceil(PIECE_BYTES).max(1);
        for index in 0..pieces {
            let bytes = (value_bytes_max - index * PIECE_BYTES).min(PIECE_BYTES);
            columns.push(Column::new(&format!("value{index}"), ColumnType::Bytes(bytes)));
        }
    }
    Schema::new(name, columns, &[0])
}

/// The maximal lengths of keys and values of a table with these columns, if it is one of bytes.
fn lengths(found: &Schema) -> Option<(u32, u32)> {
    let length = |column: &Column| column.column_type.length_max();
    let (key, values) = found.columns().split_first()?;
    let value_bytes_max = match values.last().map(length)? {
        long if long > ROW_BYTES_MAX => long,
        _ => values.iter().map(length).sum(),
    };
    Some((length(key), value_bytes_max))
}

/// A transaction on key-value tables.
///
/// ```
/// use namdb::{Config, KeyValueTable};
///
/// let db = namdb::open(Config { server_bytes: 64 << 20, ..Default::default() })?;
/// let table = KeyValueTable::create(&db, "settings", 16, 100, Default::default())?;
/// let mut session = db.session();
///
/// let mut kv = session.key_value()?;
/// kv.write(table, b"colour", b"blue")?;
/// kv.write(table, b"size", b"12")?;
/// kv.delete(table, b"size")?;
/// assert_eq!(kv.read(table, b"colour")?.as_deref(), Some(&b"blue"[..]));
/// kv.commit()?;
///
/// let mut kv = session.key_value()?;
/// assert_eq!(kv.read(table, b"colour")?.as_deref(), Some(&b"blue"[..]));
/// assert_eq!(kv.read(table, b"size")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct KeyValue<'session> {
    transaction: Transaction<'session>,
}

impl Session {
    /// Begins a serializable transaction on key-value tables. Dropping it rolls it back. As after
    /// [`Session::begin`], the session keeps its lane; [`Session::rest`] returns it.
    /// [`KeyValue`] has an example.
    pub fn key_value(&mut self) -> Result<KeyValue<'_>, TransactionError> {
        Ok(KeyValue { transaction: self.begin(Isolation::Serializable)? })
    }
}

impl KeyValue<'_> {
    /// Reads the value of a key; `None` if the key does not exist.
    /// [`KeyValue`] has an example.
    pub fn read(&mut self, table: KeyValueTable, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.transaction.read_value(table, key)
    }

    /// Writes the value of a key, whether or not the key exists.
    /// [`KeyValue`] has an example.
    pub fn write(&mut self, table: KeyValueTable, key: &[u8], value: &[u8]) -> Result<()> {
        self.transaction.write_value(table, key, value)
    }

    /// Deletes a key; false if it does not exist.
    /// [`KeyValue`] has an example.
    pub fn delete(&mut self, table: KeyValueTable, key: &[u8]) -> Result<bool> {
        self.transaction.delete_value(table, key)
    }

    /// Commits all writes and deletes, or none of them.
    /// [`KeyValue`] has an example.
    ///
    /// # Errors
    /// As [`Transaction::commit`].
    pub fn commit(self) -> Result<()> {
        self.transaction.commit()
    }

    /// Rolls back all writes and deletes; counted as [`Abort::User`].
    ///
    /// ```
    /// # use namdb::{Isolation, KeyValueTable};
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let settings = KeyValueTable::create(&db, "setting", 16, 16, Default::default())?;
    /// # let mut session = db.session();
    /// let mut kv = session.key_value()?;
    /// kv.write(settings, b"colour", b"blue")?;
    /// kv.abort();
    /// assert_eq!(session.key_value()?.read(settings, b"colour")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn abort(self) -> Abort {
        self.transaction.abort();
        Abort::User
    }
}

impl Transaction<'_> {
    /// Reads the value of a key in a key-value table; `None` if the key does not exist.
    ///
    /// ```
    /// # use namdb::{Isolation, KeyValueTable};
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let settings = KeyValueTable::create(&db, "setting", 16, 16, Default::default())?;
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// txn.write_value(settings, b"colour", b"blue")?;
    /// assert_eq!(txn.read_value(settings, b"colour")?.as_deref(), Some(&b"blue"[..]));
    /// assert_eq!(txn.read_value(settings, b"size")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_value(&mut self, table: KeyValueTable, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let key = self.checked_bytes(table, key)?;
        let Some(row) = self.rows().read(table.id, &key)? else {
            return Ok(None);
        };
        if table.is_long() {
            return self.read_long_value(row).map(Some);
        }
        let rows = self.rows();
        let row = rows.row(row);
        let pieces = VALUE..row.schema().columns().len();
        Ok(Some(pieces.flat_map(|column| row.bytes(column)).copied().collect()))
    }

    fn read_long_value(&mut self, row: RowId) -> Result<Vec<u8>> {
        let mut value = Vec::new();
        if !self.rows().read_long(row, LONG_VALUE, &mut value)? {
            value.extend_from_slice(self.rows().row(row).bytes(VALUE));
        }
        Ok(value)
    }

    /// Writes the value of a key in a key-value table, whether or not the key exists.
    /// [`Transaction::read_value`] has an example.
    pub fn write_value(&mut self, table: KeyValueTable, key: &[u8], value: &[u8]) -> Result<()> {
        let key = self.checked_bytes(table, key)?;
        if value.len() > table.value_bytes_max as usize {
            return Err(self.too_long(table, "value", value.len(), table.value_bytes_max));
        }
        let row = match self.rows().read(table.id, &key)? {
            Some(row) => row,
            None => self.rows().insert(table.id, &key)?,
        };
        let mut rows = self.rows();
        let mut update = rows.update(row);
        if table.is_long() {
            let is_short = value.len() <= SHORT_BYTES_MAX as usize;
            update.set_bytes(VALUE, if is_short { value } else { &[] });
            match is_short {
                true => update.set_null(LONG_VALUE),
                false => update.set_bytes(LONG_VALUE, value),
            }
            return Ok(());
        }
        let mut pieces = value.chunks(PIECE_BYTES as usize);
        let piece_count = table.value_bytes_max.div_ceil(PIECE_BYTES).max(1);
        for column in VALUE..=piece_count as usize {
            update.set_bytes(column, pieces.next().unwrap_or(&[]));
        }
        Ok(())
    }

    /// Encodes a key after checking that the table belongs to this database and that the key fits.
    fn checked_bytes(&self, table: KeyValueTable, key: &[u8]) -> Result<Key> {
        self.check_database(table.database, || format!("number {}", table.id.0))?;
        let too_long = || self.too_long(table, "key", key.len(), table.key_bytes_max);
        table.key(key).ok_or_else(too_long)
    }

    fn too_long(
        &self,
        table: KeyValueTable,
        column: &str,
        bytes: usize,
        bytes_max: u32,
    ) -> TransactionError {
        let name = match self.schema(table.id) {
            Some(schema) => schema.name().to_owned(),
            None => format!("number {}", table.id.0),
        };
        let reason = format!("it has {bytes} bytes, at most {bytes_max} fit");
        SchemaError::Value { table: name, column: column.to_owned(), reason }.into()
    }

    /// Deletes a key of a key-value table; false if it does not exist.
    ///
    /// ```
    /// # use namdb::{Isolation, KeyValueTable};
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// # let settings = KeyValueTable::create(&db, "setting", 16, 16, Default::default())?;
    /// # let mut session = db.session();
    /// # let mut txn = session.begin(Isolation::Serializable)?;
    /// txn.write_value(settings, b"colour", b"blue")?;
    /// assert!(txn.delete_value(settings, b"colour")?);
    /// assert!(!txn.delete_value(settings, b"colour")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_value(&mut self, table: KeyValueTable, key: &[u8]) -> Result<bool> {
        let key = self.checked_bytes(table, key)?;
        let row = self.rows().read(table.id, &key)?;
        row.into_iter().for_each(|row| self.rows().delete(row));
        Ok(row.is_some())
    }
}
