//! The size that a key has in PostgreSQL, which refuses larger ones.

use crate::bind::BoundTable;
use crate::cell::{BoundColumn, Cell};
use crate::error::{Failure, Result};
use sql::SqlType;
use sql_value::{Error, Value};

/// Most bytes of an entry of a B-tree in PostgreSQL: a third of a page.
const ENTRY_BYTES_MAX: usize = 2704;
/// Bytes of the header of an entry, without and with nulls.
const HEADER_BYTES: [usize; 2] = [8, 16];
/// Longest text or bytes with a length of one byte.
const SHORT_BYTES_MAX: usize = 126;
/// Bytes of a longer length; the value is then aligned to them.
const LENGTH_BYTES: usize = 4;
const HINT: &str = "Values larger than 1/3 of a buffer page cannot be indexed.\nConsider a function index of an MD5 hash of the value, or use full text indexing.";

/// A key that may be too large: it has digests.
#[derive(Debug)]
pub(crate) struct LargeKey {
    pub name: String,
    pub columns: Vec<usize>,
}

/// Checks the sizes of a row's keys.
///
/// # Errors
///
/// One of them is too large.
#[inline]
pub(crate) fn check_sizes(table: &BoundTable, values: &[Value]) -> Result<()> {
    table.large_keys.iter().try_for_each(|key| {
        let bytes = entry_bytes(table, &key.columns, values);
        if bytes <= ENTRY_BYTES_MAX { Ok(()) } else { Err(too_large(table, key, bytes)) }
    })
}

#[cold]
fn too_large(table: &BoundTable, key: &LargeKey, bytes: usize) -> Failure {
    let message = format!(
        "index row size {bytes} exceeds btree version 4 maximum {ENTRY_BYTES_MAX} for index \"{}\"",
        key.name
    );
    let detail = format!("Index row references a tuple in relation \"{}\".", table.name);
    Error::new("54000", message).detail(detail).hint(HINT).into()
}

/// The bytes of a key as PostgreSQL stores it without compression.
fn entry_bytes(table: &BoundTable, columns: &[usize], values: &[Value]) -> usize {
    let has_nulls = columns.iter().any(|&at| values[at].is_null());
    let header = HEADER_BYTES[usize::from(has_nulls)];
    let add = |bytes, &at: &usize| add_value(bytes, &table.columns[at], &values[at]);
    columns.iter().fold(header, add).next_multiple_of(8)
}

fn add_value(bytes: usize, column: &BoundColumn, value: &Value) -> usize {
    let fixed = |width: usize| bytes.next_multiple_of(width) + width;
    match (column.cell, value) {
        (_, Value::Null) => bytes,
        (Cell::Text(_) | Cell::KeyText(_), Value::Text(text)) => {
            let padded = match column.sql_type {
                SqlType::Char(Some(length)) => {
                    (length as usize).saturating_sub(text.chars().count())
                }
                _ => 0,
            };
            add_bytes(bytes, text.len() + padded)
        }
        (_, Value::Bytes(value)) => add_bytes(bytes, value.len()),
        (Cell::Decimal(_), _) => add_bytes(bytes, column.key_bytes as usize),
        (Cell::Uuid, _) => bytes + 16,
        (Cell::Bool, _) => bytes + 1,
        _ => fixed(column.key_bytes.max(1) as usize),
    }
}

fn add_bytes(bytes: usize, length: usize) -> usize {
    match length <= SHORT_BYTES_MAX {
        true => bytes + 1 + length,
        false => bytes.next_multiple_of(LENGTH_BYTES) + LENGTH_BYTES + length,
    }
}
