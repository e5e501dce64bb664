//! Finds tables and indexes by name, once for each database.

use fabric::Env;
use layout::Slot;
use txn::{Columns, Database, IndexId, TableId};

/// Why generated code does not fit a database.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BindError {
    /// The table does not exist.
    #[error("the database has no table {0}; create the tables of the workload first")]
    NoTable(String),
    /// The index does not exist.
    #[error(
        "table {table} has no index {index}; create the tables of the workload again, or create this index"
    )]
    NoIndex { table: String, index: String },
    /// A column has another type, or another position in the row.
    #[error(
        "column {column} of table {table} has changed since the code was generated; generate the code again"
    )]
    OtherColumn {
        table: String,
        /// Position of the column, from 1.
        column: usize,
    },
}

/// Finds the table called `name`, and checks the slots of the given columns.
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

/// Finds the index called `index` of a table.
pub fn index<E: Env>(
    database: &Database<E>,
    table: &str,
    index: &str,
) -> Result<IndexId, BindError> {
    let missing = || BindError::NoIndex { table: table.to_owned(), index: index.to_owned() };
    database.index(table, index).ok_or_else(missing)
}

/// Returns the projection of reads that use only these columns, given by position.
pub fn columns<E: Env>(
    database: &Database<E>,
    name: &str,
    columns: &[usize],
) -> Result<Columns, BindError> {
    let missing = || BindError::NoTable(name.to_owned());
    let table = database.table(name).ok_or_else(missing)?;
    database.columns(table, columns).ok_or_else(missing)
}
