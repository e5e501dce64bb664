//! Columns by which tables can be partitioned.

use layout::ColumnType;
use sql::load::Draw;
use sql::{Load, Table};

/// Whether rows can be partitioned by this column. Parts are ranges of the first column of the
/// primary key, so that a key alone, or a scan in key order, determines the part.
pub fn leads(table: &Table, column: usize) -> bool {
    table.primary_key.first() == Some(&column)
}

/// The leading key column, if it is an integer that is never null: tables are divided by its
/// ranges.
pub fn divider(table: &Table) -> Option<usize> {
    let column = *table.primary_key.first().filter(|_| !table.has_hidden_key())?;
    let of = &table.schema.columns()[column];
    let is_integer = of.column_type.fixed_bytes().is_some_and(|bytes| bytes > 1)
        && of.column_type != ColumnType::Float8;
    (is_integer && !of.nullable).then_some(column)
}

/// Whether the load draws the values of a column as the digits of column `from` of the same table.
pub fn is_written_out(load: &Load, table: &Table, column: usize, from: &str) -> bool {
    let drawn = load.table(&table.name).and_then(|of| of.column(&table.columns[column].name));
    let Some(Draw::Digits { of, .. }) = drawn.map(|drawn| &drawn.draw) else { return false };
    matches!(&of.draw, Draw::Same(name) if name == from)
}
