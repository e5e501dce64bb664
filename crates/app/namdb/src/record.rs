//! Typed tables: a Rust structure whose fields are the columns of a row.

use crate::database::{Db, DbIdentity};
use crate::declared::{self, Declared};
use crate::field::{Field, Misfit};
use crate::key::KeyColumns;
use layout::{Column, IndexDesign, Key, PhysicalDesign, RecordMut, RecordRef, Schema, SchemaError};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::marker::PhantomData;
use txn::{CatalogError, TableId};

/// A structure that represents a row. [`record!`](crate::record!) implements it.
///
/// ```
/// use namdb::{Record, record};
///
/// record! {
///     struct City in "city" { key { name: String[30] } inhabitants: u64, }
/// }
///
/// assert_eq!((City::TABLE, City::fields()), ("city", &[("name", 1), ("inhabitants", 1)][..]));
/// assert_eq!(City::schema()?.columns()[1].name, "inhabitants");
/// # Ok::<(), namdb::SchemaError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a record",
    note = "declare it with `record! {{ struct {Self} in \"table\" {{ key {{ .. }} .. }} }}`"
)]
pub trait Record: Sized {
    /// Name of the table.
    const TABLE: &'static str;

    /// The types of the key fields, as a tuple.
    type Key: KeyColumns;

    /// The fields, key first: each with its name and its number of columns.
    fn fields() -> &'static [(&'static str, usize)];

    /// Columns of the table, key columns first.
    fn schema() -> Result<Schema, SchemaError>;

    /// The declared indexes.
    fn indexes() -> Vec<IndexDesign>;

    /// The record's primary key.
    fn own_key(&self) -> Result<Key, SchemaError>;

    /// Decodes a record from a row.
    fn read(row: RecordRef<'_>) -> Result<Self, SchemaError>;

    /// Checks that all fields but those of the key fit their columns.
    fn check(&self) -> Result<(), SchemaError>;

    /// Writes all columns except those of the key.
    fn write(&self, row: &mut RecordMut<'_>);

    /// The fields that these columns make up, in their order, with their values, such as
    /// `number = 7`; `None` if a column belongs to a field that has further ones.
    fn describe(row: RecordRef<'_>, columns: &[usize]) -> Option<String>;
}

/// Names the field of a value that does not fit.
#[doc(hidden)]
#[cold]
pub fn misfit<R: Record>(field: &str, misfit: Misfit) -> SchemaError {
    SchemaError::Value { table: R::TABLE.to_owned(), column: field.to_owned(), reason: misfit.0 }
}

/// The text of [`Record::describe`].
#[doc(hidden)]
pub struct Description<'a> {
    row: RecordRef<'a>,
    columns: &'a [usize],
    /// The column of the next field.
    next: usize,
    /// Fields by the place of their columns among the wanted ones.
    fields: BTreeMap<usize, String>,
    described: usize,
}

impl<'a> Description<'a> {
    pub fn new(row: RecordRef<'a>, columns: &'a [usize]) -> Self {
        Self { row, columns, next: 0, fields: BTreeMap::new(), described: 0 }
    }

    /// Adds the next field of the record.
    #[must_use]
    pub fn field<F: Field<Value: Debug>>(mut self, name: &str) -> Self {
        if let Some(place) = self.columns.iter().position(|&column| column == self.next)
            && let Ok(value) = F::read(self.row, self.next)
        {
            self.fields.insert(place, format!("{name} = {value:?}"));
            self.described += F::COLUMNS;
        }
        self.next += F::COLUMNS;
        self
    }

    pub fn finish(self) -> Option<String> {
        let fields: Vec<String> = self.fields.into_values().collect();
        (self.described == self.columns.len()).then(|| fields.join(", "))
    }
}

/// The positions of the columns of these fields.
fn positions<R: Record>(wanted: &[&str]) -> Vec<usize> {
    let mut positions = Vec::new();
    for wanted in wanted {
        let mut begin = 0;
        for (name, columns) in R::fields() {
            if name == wanted {
                positions.extend(begin..begin + columns);
            }
            begin += columns;
        }
    }
    positions
}

/// The design of an index over these fields.
#[doc(hidden)]
pub fn index_design<R: Record>(name: &str, unique: bool, fields: &[&str]) -> IndexDesign {
    let (name, columns) = (name.to_owned(), positions::<R>(fields));
    IndexDesign { name, columns, unique, ..IndexDesign::default() }
}

/// The schema of a table with these columns; the first `key_columns` are the key.
#[doc(hidden)]
pub fn schema_of(
    table: &str,
    mut columns: Vec<Column>,
    key_columns: usize,
) -> Result<Schema, SchemaError> {
    // Keys are in the row as a whole.
    columns[..key_columns].iter_mut().for_each(|column| column.in_row = None);
    let key: Vec<usize> = (0..key_columns).collect();
    Schema::new(table, columns, &key)
}

/// Handle of a table of records. It is cheap to copy, and belongs to its [`Db`].
///
/// ```
/// use namdb::{CatalogError, RecordTable, Storage, record};
///
/// record! {
///     struct Note in "note" {
///         key { number: u64 }
///         text: String[5000],
///     }
/// }
///
/// let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
/// assert!(matches!(RecordTable::<Note>::open(&db), Err(CatalogError::NoTable(_))));
/// // A tree: its records can be read in the order of their keys. The default is a hash table.
/// let notes = RecordTable::<Note>::open_or_create(&db, Storage::Tree.into())?;
/// assert_eq!(RecordTable::<Note>::open(&db)?.id(), notes.id());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RecordTable<R> {
    pub(crate) id: TableId,
    pub(crate) database: DbIdentity,
    record: PhantomData<fn() -> R>,
}

impl<R> Clone for RecordTable<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for RecordTable<R> {}

impl<R: Record> RecordTable<R> {
    /// Creates the table of the records and its declared indexes.
    ///
    /// ```
    /// use namdb::{CatalogError, RecordTable, record};
    ///
    /// record! {
    ///     struct City in "city" { key { name: String[30] } }
    /// }
    ///
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// RecordTable::<City>::create(&db, Default::default())?;
    /// let twice = RecordTable::<City>::create(&db, Default::default());
    /// assert!(matches!(twice, Err(CatalogError::Exists(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CatalogError::Exists`] if there is a table of this name: use
    /// [`RecordTable::open`] or [`RecordTable::open_or_create`].
    pub fn create(db: &Db, design: PhysicalDesign) -> Result<Self, CatalogError> {
        let id = db.create_table(Declared::of::<R>()?.with_design(design))?;
        Ok(Self::new(db, id))
    }

    /// Opens the table of the records, or creates it with `design`, and creates the declared
    /// indexes that it lacks. Programs that do so at the same time get the same table. A table that
    /// exists keeps its design.
    /// [`RecordTable`] has an example.
    ///
    /// # Errors
    /// [`CatalogError::Design`], with the first difference, if the table or an index exists with
    /// other columns.
    pub fn open_or_create(db: &Db, design: PhysicalDesign) -> Result<Self, CatalogError> {
        let id = declared::open_or_create(db, &Declared::of::<R>()?, design)?;
        Ok(Self::new(db, id))
    }

    /// Opens the table of the records.
    /// [`RecordTable`] has an example.
    ///
    /// # Errors
    /// [`CatalogError::NoTable`], with the tables that exist, if there is no such table, and
    /// [`CatalogError::Design`], with the first difference, if it has other columns.
    pub fn open(db: &Db) -> Result<Self, CatalogError> {
        let id = declared::open(db, &Declared::of::<R>()?)?;
        Ok(Self::new(db, id))
    }

    fn new(db: &Db, id: TableId) -> Self {
        db.key_names().add::<R>();
        Self { id, database: db.identity(), record: PhantomData }
    }

    /// The engine's identifier of the table, for [`Transaction::rows`](crate::Transaction::rows).
    /// [`RecordTable`] has an example.
    pub fn id(&self) -> TableId {
        self.id
    }
}
