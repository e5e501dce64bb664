//! Tables that a program declares: found or created, and compared with what the catalog has.

use crate::database::Db;
use crate::host::{Moment, sleep_ms};
use layout::{Column, ColumnType, PhysicalDesign, Schema};
use txn::{CatalogError, TableId, TableSpec};

/// How long to wait for a table that another program is creating.
const CREATION_WAIT_MS: u64 = 5_000;
const CREATION_LOOK_MS: u64 = 5;

/// The table of this schema, which is created unless it is there. Programs that do so at the same
/// time get the same table.
pub(crate) fn open_or_create(
    db: &Db,
    schema: Schema,
    design: PhysicalDesign,
) -> Result<TableId, CatalogError> {
    let start = Moment::now();
    loop {
        if let Some(table) = find(db, &schema)? {
            return Ok(table);
        }
        let spec =
            TableSpec { schema: schema.clone(), design: design.clone(), indexes: Vec::new() };
        match db.create_table(spec) {
            // Another program was faster. Its table is in the catalog's next epoch.
            Err(CatalogError::Exists(_)) if start.elapsed_ms() < CREATION_WAIT_MS => {
                sleep_ms(CREATION_LOOK_MS);
            }
            created => return created,
        }
    }
}

/// The table of this schema, if there is one of its name.
///
/// # Errors
/// The table has other columns.
fn find(db: &Db, schema: &Schema) -> Result<Option<TableId>, CatalogError> {
    let catalog = db.catalog()?;
    let Some(table) = catalog.table(schema.name()) else { return Ok(None) };
    let found = catalog.info(table).map(|info| &*info.schema);
    match found.and_then(|found| difference(schema, found)) {
        None => Ok(Some(table)),
        Some(difference) => Err(CatalogError::Design {
            table: schema.name().to_owned(),
            reason: format!(
                "{difference}; declare the table as it was created, give it another name, or drop it first"
            ),
        }),
    }
}

/// The first difference between a declared table and the one in the database, in words.
fn difference(declared: &Schema, found: &Schema) -> Option<String> {
    if declared == found {
        return None;
    }
    let (ours, theirs) = (declared.columns(), found.columns());
    let changed = ours.iter().zip(theirs).find(|(ours, theirs)| ours != theirs);
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
    }
}
