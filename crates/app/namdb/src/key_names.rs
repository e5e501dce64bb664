//! Keys in errors as the program writes them: the fields of the record that declares the table, and
//! their values.
//!
//! The engine knows columns only: a `u64` is stored less 2^63, an enum as a number. Opening a table
//! of records therefore notes how to show its keys.

use crate::record::Record;
use layout::{RecordMut, RecordRef, Schema};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use txn::{CatalogError, UniqueViolation};

/// The tables of records that a database has opened, by their names.
#[derive(Default)]
pub(crate) struct KeyNames {
    tables: Mutex<BTreeMap<&'static str, Table>>,
}

/// A table of records of one type.
#[derive(Clone, Copy)]
struct Table {
    /// Shows a primary key.
    primary: fn(&[u64]) -> Option<String>,
    /// Shows the key of an entry of the index of this name.
    index: fn(&str, &[u64]) -> Option<String>,
}

impl KeyNames {
    /// Notes that the records of a table are of type `R`.
    pub fn add<R: Record>(&self) {
        let table = Table { primary: primary_key::<R>, index: index_key::<R> };
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).insert(R::TABLE, table);
    }

    /// Forgets a table that was dropped: another one of its name may have other columns.
    pub fn remove(&self, table: &str) {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).remove(table);
    }

    fn get(&self, table: &str) -> Option<Table> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).get(table).copied()
    }

    /// A primary key of a table, such as `number = 7`; `None` if the table has no records.
    pub fn primary_key(&self, table: &str, key: &[u64]) -> Option<String> {
        (self.get(table)?.primary)(key)
    }

    /// The violation with the key of a record.
    pub fn name(&self, violation: UniqueViolation) -> UniqueViolation {
        let table = self.get(&violation.table);
        let key = table.and_then(|table| (table.index)(&violation.index, &violation.entry));
        UniqueViolation { key: key.unwrap_or(violation.key), ..violation }
    }

    /// The error with the key of a record.
    pub fn name_error(&self, error: CatalogError) -> CatalogError {
        match error {
            CatalogError::Duplicate(violation) => CatalogError::Duplicate(self.name(violation)),
            other => other,
        }
    }
}

fn primary_key<R: Record>(key: &[u64]) -> Option<String> {
    let schema = R::schema().ok()?;
    described::<R>(&schema, schema.key(), key)
}

fn index_key<R: Record>(index: &str, entry: &[u64]) -> Option<String> {
    let index = R::indexes().into_iter().find(|declared| declared.name == index)?;
    described::<R>(&R::schema().ok()?, &index.columns, entry)
}

/// The fields of these columns in a key that begins with them. The key's other columns are those of
/// the primary key, so that it makes a row.
fn described<R: Record>(schema: &Schema, columns: &[usize], words: &[u64]) -> Option<String> {
    // Another process may have replaced the table by one with other columns.
    if words.len() != schema.index_key_words(columns) as usize {
        return None;
    }
    let mut values = BTreeMap::new();
    let mut at = 0;
    for column in schema.index_key(columns) {
        values.insert(column, schema.read_key_part(words, column, at));
        at += schema.key_part_bytes(column);
    }
    let primary: Vec<_> = schema.key().iter().map(|column| values[column].clone()).collect();
    let key = schema.encode_key(&primary).ok()?;
    let mut payload = vec![0; schema.row_layout(false).payload_words as usize];
    let mut row = RecordMut::new(schema, &mut payload);
    for (&column, value) in &values {
        if !schema.key().contains(&column) {
            row.set(column, value).ok()?;
        }
    }
    R::describe(RecordRef::new(schema, key.words(), &payload), columns)
}
