//! Tables and indexes by their names, once for each database.

use fabric::Env;
use layout::Slot;
use txn::{Columns, Database, IndexId, TableId};

/// Why generated code cannot work with a database.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BindError {
    /// It has no such table.
    #[error("the database has no table {0}; create the workload's tables in it first")]
    NoTable(String),
    /// It has no such index.
    #[error("table {table} has no index {index}; create the workload's tables anew, or this index")]
    NoIndex {
        /// The table.
        table: String,
        /// The index.
        index: String,
    },
    /// A column has another type, or stands elsewhere.
    #[error(
        "column {column} of table {table} is not as it was when its code was generated; generate the code of this schema"
    )]
    OtherColumn {
        /// The table.
        table: String,
        /// The column by position, from 1.
        column: usize,
    },
}

/// The table called `name`, whose columns at these positions are at these places.
pub fn table<E: Env>(
    database: &Database<E>,
    name: &str,
    slots: &[(usize, Slot)],
) -> Result<TableId, BindError> {
    let missing = || BindError::NoTable(name.to_owned());
    let table = database.table(name).ok_or_else(missing)?;
    let schema = database.schema(table).ok_or_else(missing)?;
    for &(column, slot) in slots {
        if column >= schema.columns().len() || schema.slot(column) != slot {
            return Err(BindError::OtherColumn { table: name.to_owned(), column: column + 1 });
        }
    }
    Ok(table)
}

/// The index called `index` of a table.
pub fn index<E: Env>(
    database: &Database<E>,
    table: &str,
    index: &str,
) -> Result<IndexId, BindError> {
    let missing = || BindError::NoIndex { table: table.to_owned(), index: index.to_owned() };
    database.index(table, index).ok_or_else(missing)
}

/// What reads need that look at no other columns of a table than these, by position.
pub fn columns<E: Env>(
    database: &Database<E>,
    name: &str,
    columns: &[usize],
) -> Result<Columns, BindError> {
    let missing = || BindError::NoTable(name.to_owned());
    let table = database.table(name).ok_or_else(missing)?;
    database.columns(table, columns).ok_or_else(missing)
}
