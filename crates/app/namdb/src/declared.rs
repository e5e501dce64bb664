//! Tables and indexes that a program declares: found or created, and compared with what the catalog
//! has.

use crate::database::Db;
use crate::host::{Moment, sleep_ms};
use crate::record::Record;
use layout::{Column, ColumnType, IndexDesign, PhysicalDesign, Schema, SchemaError};
use txn::catalog::Catalog;
use txn::{CatalogError, IndexId, TableId, TableSpec};

/// How long to wait for a table or an index that another program is creating.
const CREATION_WAIT_MS: u64 = 5_000;
const CREATION_LOOK_MS: u64 = 5;
/// Names that an error lists.
const NAMES_MAX: usize = 10;

/// A declared table.
pub(crate) struct Declared {
    pub schema: Schema,
    pub indexes: Vec<IndexDesign>,
}

impl Declared {
    /// The table of a record.
    pub(crate) fn of<R: Record>() -> Result<Self, SchemaError> {
        Ok(Self { schema: R::schema()?, indexes: R::indexes() })
    }

    pub(crate) fn with_design(self, design: PhysicalDesign) -> TableSpec {
        TableSpec { schema: self.schema, design, indexes: self.indexes }
    }

    fn refused(&self, reason: &str) -> CatalogError {
        CatalogError::Design { table: self.schema.name().to_owned(), reason: reason.to_owned() }
    }
}

/// The declared table, which is created unless it is there, as are its indexes. Programs that do so
/// at the same time get the same table.
pub(crate) fn open_or_create(
    db: &Db,
    declared: &Declared,
    design: PhysicalDesign,
) -> Result<TableId, CatalogError> {
    let table = retry_while_created(|| match find(db, declared)? {
        Some(table) => Ok(table),
        None => db.create_table(TableSpec {
            schema: declared.schema.clone(),
            design: design.clone(),
            indexes: declared.indexes.clone(),
        }),
    })?;
    for index in &declared.indexes {
        retry_while_created(|| match find_index(&*db.catalog()?, declared, index)? {
            Some(_) => Ok(()),
            None => db.create_index(declared.schema.name(), index.clone()).map(drop),
        })?;
    }
    Ok(table)
}

/// Calls again while another program has created the object and the catalog does not show it yet.
fn retry_while_created<T>(
    mut create: impl FnMut() -> Result<T, CatalogError>,
) -> Result<T, CatalogError> {
    let start = Moment::now();
    loop {
        match create() {
            // Another program was faster. Its object is in the catalog's next epoch.
            Err(CatalogError::Exists(_)) if start.elapsed_ms() < CREATION_WAIT_MS => {
                sleep_ms(CREATION_LOOK_MS);
            }
            created => return created,
        }
    }
}

/// The declared table.
///
/// # Errors
/// It does not exist, or has other columns.
pub(crate) fn open(db: &Db, declared: &Declared) -> Result<TableId, CatalogError> {
    match find(db, declared)? {
        Some(table) => Ok(table),
        None => Err(missing_table(&*db.catalog()?, declared.schema.name())),
    }
}

/// The declared index of this name: its table, and the columns.
pub(crate) fn open_index<R: Record>(
    db: &Db,
    name: &str,
) -> Result<(TableId, IndexId, Vec<usize>), CatalogError> {
    let declared = Declared::of::<R>()?;
    let table = open(db, &declared)?;
    let index = declared.indexes.iter().find(|index| index.name == name);
    let index = index.ok_or_else(|| CatalogError::NoIndex(format!("{name} in the record")))?;
    match find_index(&*db.catalog()?, &declared, index)? {
        Some(id) => Ok((table, id, index.columns.clone())),
        None => Err(CatalogError::NoIndex(format!(
            "{name} on table {}; `open_or_create` of the table creates it",
            R::TABLE
        ))),
    }
}

/// A table that is not there, with those that are.
pub(crate) fn missing_table(catalog: &Catalog, name: &str) -> CatalogError {
    let mut names: Vec<&str> = catalog.names().map(|(name, _)| catalog.whole_name(name)).collect();
    names.sort_unstable();
    names.dedup();
    let known = match names.len() {
        0 => "the database has no tables yet".to_owned(),
        1 => format!("the database has table {}", names[0]),
        count if count <= NAMES_MAX => format!("the database has tables {}", names.join(", ")),
        count => {
            format!("the database has {count} tables, such as {}", names[..NAMES_MAX].join(", "))
        }
    };
    CatalogError::NoTable(format!("{name}; {known}; `open_or_create` finds or creates a table"))
}

/// The table of this name, if there is one.
///
/// # Errors
/// The table has other columns.
fn find(db: &Db, declared: &Declared) -> Result<Option<TableId>, CatalogError> {
    let catalog = db.catalog()?;
    let schema = &declared.schema;
    let Some(table) = catalog.table(schema.name()) else { return Ok(None) };
    let found = catalog.info(table).map(|info| &*info.schema);
    match found.and_then(|found| difference(schema, found)) {
        None => Ok(Some(table)),
        Some(difference) => Err(declared.refused(&format!(
            "{difference}; declare the table as it was created, give it another name, or drop it first"
        ))),
    }
}

/// The declared index, if there is one of its name.
///
/// # Errors
/// The index has other columns, or is unique where the declared one is not.
fn find_index(
    catalog: &Catalog,
    declared: &Declared,
    index: &IndexDesign,
) -> Result<Option<IndexId>, CatalogError> {
    let schema = &declared.schema;
    let Some(id) = catalog.index(schema.name(), &index.name) else { return Ok(None) };
    let Some(found) = catalog.index_info(id) else { return Ok(None) };
    if (&found.design.columns, found.design.unique) == (&index.columns, index.unique) {
        return Ok(Some(id));
    }
    let shown = |index: &IndexDesign| {
        let keyword = if index.unique { "unique" } else { "index" };
        let columns = index.columns.iter().map(|&column| &*schema.columns()[column].name);
        format!("`{keyword} {}({})`", index.name, columns.collect::<Vec<_>>().join(", "))
    };
    Err(declared.refused(&format!(
        "the declaration has {}, and the database has {}; declare it as it was created, or drop it first",
        shown(index),
        shown(&found.design)
    )))
}

/// The first difference between a declared table and the one in the database, in words. The room
/// for short values in a row is none: the table keeps the room that it was created with.
fn difference(declared: &Schema, found: &Schema) -> Option<String> {
    let (ours, theirs) = (declared.columns(), found.columns());
    let is_same =
        |ours: &Column, theirs: &Column| *ours == Column { in_row: ours.in_row, ..theirs.clone() };
    let changed = ours.iter().zip(theirs).find(|(ours, theirs)| !is_same(ours, theirs));
    if changed.is_none() && ours.len() == theirs.len() && declared.key() == found.key() {
        return None;
    }
    Some(match changed {
        Some((ours, theirs)) if ours.name == theirs.name => format!(
            "column `{}` is declared as {}, and is {} in the database",
            ours.name,
            type_name(ours),
            type_name(theirs)
        ),
        Some((ours, theirs)) => format!(
            "the declaration has column `{}` where the database has column `{}`",
            ours.name, theirs.name
        ),
        None if ours.len() != theirs.len() => format!(
            "the declaration has {} columns, and the table in the database has {}",
            ours.len(),
            theirs.len()
        ),
        None => format!(
            "the declaration has {}, and the table in the database has {}",
            key_of(declared),
            key_of(found)
        ),
    })
}

/// The type of a field that declares this column, see [`record!`](crate::record!).
fn type_name(column: &Column) -> String {
    let name = match column.column_type {
        ColumnType::Int2 => "i16".to_owned(),
        ColumnType::Int4 => "i32".to_owned(),
        ColumnType::Int8 => "i64".to_owned(),
        ColumnType::Bool => "bool".to_owned(),
        ColumnType::Float8 => "f64".to_owned(),
        ColumnType::Decimal { scale } => format!("Decimal<{scale}>"),
        ColumnType::Char(bytes) => format!("Char<{bytes}>"),
        ColumnType::Varchar(bytes) => format!("Text<{bytes}>"),
        ColumnType::Bytes(bytes) => format!("Bytes<{bytes}>"),
        ColumnType::Date => "Date".to_owned(),
        ColumnType::Timestamp => "Timestamp".to_owned(),
    };
    if column.nullable { format!("Option<{name}>") } else { name }
}

fn key_of(schema: &Schema) -> String {
    let names: Vec<&str> =
        schema.key().iter().map(|&column| schema.columns()[column].name.as_str()).collect();
    format!("key ({})", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, KeyValueTable, RecordTable, Text, open, record};

    record! {
        struct City in "city" {
            key { name: Text<30> }
            inhabitants: i64,
        }
        index by_size(inhabitants);
    }

    /// The same table, as a program of another version declares it.
    mod other {
        use crate::record;

        record! {
            pub struct City in "city" {
                key { name: crate::Text<30> }
                inhabitants: i32,
            }
        }
    }

    fn database() -> Db {
        open(Config { server_bytes: 64 << 20, ..Config::default() }).expect("64 MiB can be had")
    }

    #[test]
    fn a_table_is_created_once_and_found_then() {
        let db = database();
        let first = RecordTable::<City>::open_or_create(&db, Default::default()).expect("new");
        let again = RecordTable::<City>::open_or_create(&db, Default::default()).expect("there");
        assert_eq!(first.id(), again.id());
        let first = KeyValueTable::open_or_create(&db, "kv", 8, 8, Default::default());
        let again = KeyValueTable::open_or_create(&db, "kv", 8, 8, Default::default());
        assert_eq!(first.expect("new"), again.expect("there"));
    }

    #[test]
    fn threads_that_create_a_table_at_once_get_the_same() {
        let db = database();
        let create = || RecordTable::<City>::open_or_create(&db, Default::default());
        let tables: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(create)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let ids = tables.into_iter().map(|table| table.expect("it is there").id());
        assert!(ids.collect::<std::collections::BTreeSet<_>>().len() == 1);
    }

    #[test]
    fn a_table_with_other_columns_is_refused_with_the_difference() {
        let db = database();
        RecordTable::<City>::open_or_create(&db, Default::default()).expect("it is new");
        let refused = RecordTable::<other::City>::open_or_create(&db, Default::default());
        assert_eq!(
            refused.expect_err("another type").to_string(),
            "table city: column `inhabitants` is declared as i32, and is i64 in the database; \
             declare the table as it was created, give it another name, or drop it first"
        );
        let schema = |columns: &[(&str, ColumnType)], key: &[usize]| {
            let columns = columns.iter().map(|(name, of)| Column::new(name, *of)).collect();
            Schema::new("t", columns, key).expect("the columns are fine")
        };
        let (a, b) = (("a", ColumnType::Int8), ("b", ColumnType::Int8));
        let found = schema(&[a, b], &[0]);
        let told = |declared: Schema| difference(&declared, &found).expect("they differ");
        assert!(told(schema(&[a], &[0])).contains("has 1 columns"));
        assert!(told(schema(&[b, a], &[0])).contains("column `b` where"));
        assert!(told(schema(&[a, b], &[0, 1])).contains("key (a, b), and"));
        assert_eq!(difference(&found, &found.clone()), None);
        let text = |column: Column| {
            let columns = vec![Column::new("a", ColumnType::Int8), column];
            Schema::new("t", columns, &[0]).expect("the columns are fine")
        };
        let column = Column::new("c", ColumnType::Varchar(100));
        assert_eq!(difference(&text(column.clone().with_in_row(63)), &text(column)), None);
    }
}
