//! The plain form: tables of bytes by bytes, with read, write, delete and commit.
//!
//! This is the client interface of RAMCloud's transactions [RAMCloud slides]: writes stay with the client
//! until `commit`, which either takes all of them or none.

use crate::database::{Db, DbIdentity};
use crate::declared::open_or_create;
use crate::error::TransactionError;
use crate::session::{Session, Transaction};
use layout::{Column, ColumnType, Key, KeyBuilder, PhysicalDesign, Schema, SchemaError};
use txn::{Abort, CatalogError, Isolation, Outcome, RowId, TableId, TableSpec, TxnError};

/// Most bytes of a key.
pub const KEY_BYTES_MAX: u32 = 62;
/// Most bytes of a value.
pub const VALUE_BYTES_MAX: u32 = layout::column::COLUMN_LENGTH_MAX;
/// Tables whose values have at most this many bytes keep them in their rows.
const ROW_BYTES_MAX: u32 = 7 * 1024;
/// There a value stands in columns of this many bytes, as many as its table needs.
const PIECE_BYTES: u32 = 1024;
/// In other tables values of at most this many bytes stand in the row, and longer ones out of line.
const SHORT_BYTES_MAX: u32 = 256;
/// The column of a short value, or of the first piece.
const VALUE: usize = 1;
/// The column of a value out of line; null for a short one.
const LONG_VALUE: usize = 2;

/// A table of values by keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyValueTable {
    id: TableId,
    database: DbIdentity,
    key_bytes_max: u32,
    value_bytes_max: u32,
}

impl KeyValueTable {
    /// Creates a table whose keys have at most `key_bytes_max` bytes and its values `value_bytes_max`.
    ///
    /// With up to 7 KiB, values stand in their rows, and every row takes the most. With more, values take
    /// what they have, but those of more than 256 bytes stand outside the row, which takes one more round
    /// trip to read.
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

    /// The table of this name, which is created unless it is there, see
    /// [`RecordTable::open_or_create`](crate::RecordTable::open_or_create).
    ///
    /// # Errors
    /// [`CatalogError::Design`] if the table is there with other columns or lengths.
    pub fn open_or_create(
        db: &Db,
        name: &str,
        key_bytes_max: u32,
        value_bytes_max: u32,
        design: PhysicalDesign,
    ) -> Result<Self, CatalogError> {
        let id = open_or_create(db, schema(name, key_bytes_max, value_bytes_max)?, design)?;
        Ok(Self { id, database: db.identity(), key_bytes_max, value_bytes_max })
    }

    /// The table of this name, if it was created as a table of bytes.
    pub fn open(db: &Db, name: &str) -> Option<Self> {
        let id = db.table(name)?;
        let found = db.schema(id)?;
        let length = |column: &Column| column.column_type.length_max();
        let (key, values) = found.columns().split_first()?;
        let key_bytes_max = length(key);
        let value_bytes_max = match values.last().map(length)? {
            long if long > ROW_BYTES_MAX => long,
            _ => values.iter().map(length).sum(),
        };
        let fits =
            schema(name, key_bytes_max, value_bytes_max).is_ok_and(|schema| schema == *found);
        fits.then_some(Self { id, database: db.identity(), key_bytes_max, value_bytes_max })
    }

    /// The table.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// Whether values may stand out of line.
    fn is_long(&self) -> bool {
        self.value_bytes_max > ROW_BYTES_MAX
    }

    /// None if the key is too long, and so in no table.
    fn key(&self, key: &[u8]) -> Option<Key> {
        let fits = key.len() <= self.key_bytes_max as usize;
        fits.then(|| {
            KeyBuilder::new().padded(key, self.key_bytes_max).unsigned(key.len() as u64, 2).key()
        })
    }
}

/// The columns of a table of bytes.
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

/// A transaction on tables of bytes.
///
/// ```
/// use namdb::{Config, KeyValueTable, Outcome};
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
/// assert_eq!(kv.commit(), Outcome::Committed);
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
    /// Begins a serializable transaction on tables of bytes. Dropping it rolls it back. As with
    /// [`Session::begin`], the session keeps its lane; [`Session::rest`] gives it back.
    pub fn key_value(&mut self) -> Result<KeyValue<'_>, TransactionError> {
        Ok(KeyValue { transaction: self.begin(Isolation::Serializable)? })
    }
}

impl KeyValue<'_> {
    /// The value under a key.
    pub fn read(&mut self, table: KeyValueTable, key: &[u8]) -> Result<Option<Vec<u8>>, TxnError> {
        self.transaction.read_value(table, key)
    }

    /// Puts a value under a key.
    pub fn write(
        &mut self,
        table: KeyValueTable,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), TxnError> {
        self.transaction.write_value(table, key, value)
    }

    /// Removes what is under a key; false if nothing is.
    pub fn delete(&mut self, table: KeyValueTable, key: &[u8]) -> Result<bool, TxnError> {
        self.transaction.delete_value(table, key)
    }

    /// Commits all writes and deletes, or none.
    pub fn commit(self) -> Outcome {
        self.transaction.commit()
    }

    /// Forgets them; counted as [`Abort::User`].
    pub fn abort(self) -> Abort {
        self.transaction.abort();
        Abort::User
    }
}

impl Transaction<'_> {
    /// The value under a key of a table of bytes.
    pub fn read_value(
        &mut self,
        table: KeyValueTable,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, TxnError> {
        let key = self.checked_bytes(table, key)?;
        let Some(row) = self.read(table.id, &key)? else {
            return Ok(None);
        };
        if table.is_long() {
            return self.read_long_value(row).map(Some);
        }
        let row = self.row(row);
        let pieces = VALUE..row.schema().columns().len();
        Ok(Some(pieces.flat_map(|column| row.bytes(column)).copied().collect()))
    }

    fn read_long_value(&mut self, row: RowId) -> Result<Vec<u8>, TxnError> {
        let mut value = Vec::new();
        if !self.read_long(row, LONG_VALUE, &mut value)? {
            value.extend_from_slice(self.row(row).bytes(VALUE));
        }
        Ok(value)
    }

    /// Puts a value under a key of a table of bytes.
    pub fn write_value(
        &mut self,
        table: KeyValueTable,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), TxnError> {
        let key = self.checked_bytes(table, key)?;
        if value.len() > table.value_bytes_max as usize {
            return Err(self.too_long(table, "value", value.len(), table.value_bytes_max));
        }
        let row = match self.read(table.id, &key)? {
            Some(row) => row,
            None => self.insert(table.id, &key)?,
        };
        let mut update = self.update(row);
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

    /// The key of a row, if the table is of this database and the key fits it.
    fn checked_bytes(&self, table: KeyValueTable, key: &[u8]) -> Result<Key, TxnError> {
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
    ) -> TxnError {
        let name = match self.schema(table.id) {
            Some(schema) => schema.name().to_owned(),
            None => format!("number {}", table.id.0),
        };
        let reason = format!("it has {bytes} bytes, at most {bytes_max} fit");
        SchemaError::Value { table: name, column: column.to_owned(), reason }.into()
    }

    /// Removes what is under a key of a table of bytes; false if nothing is.
    pub fn delete_value(&mut self, table: KeyValueTable, key: &[u8]) -> Result<bool, TxnError> {
        let key = self.checked_bytes(table, key)?;
        let row = self.read(table.id, &key)?;
        row.into_iter().for_each(|row| self.delete(row));
        Ok(row.is_some())
    }
}
