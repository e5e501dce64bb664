//! Columns that divide tables: which ones parts and partitions can be made by.

use layout::ColumnType;
use sql::load::Draw;
use sql::{Load, Table};

/// Whether rows can be partitioned by a column of their table: parts are ranges of the first column of the primary key, so that whoever
/// has a key, and whoever goes through keys in order, knows where its rows are.
pub fn leads(table: &Table, column: usize) -> bool {
    table.primary_key.first() == Some(&column)
}

/// The leading column of a table's key, if tables can be divided by ranges of it: an integer that is never null.
pub fn divider(table: &Table) -> Option<usize> {
    let column = *table.primary_key.first().filter(|_| !table.has_hidden_key())?;
    let of = &table.schema.columns()[column];
    let is_integer = of.column_type.fixed_bytes().is_some_and(|bytes| bytes > 1)
        && of.column_type != ColumnType::Float8;
    (is_integer && !of.nullable).then_some(column)
}

/// Whether the load makes the values of a column, by position, of the digits of another one's of its table.
pub fn is_written_out(load: &Load, table: &Table, column: usize, from: &str) -> bool {
    let drawn = load.table(&table.name).and_then(|of| of.column(&table.columns[column].name));
    let Some(Draw::Digits { of, .. }) = drawn.map(|drawn| &drawn.draw) else { return false };
    matches!(&of.draw, Draw::Same(name) if name == from)
}
