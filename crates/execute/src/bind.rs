//! The tables of a catalog as a database has them.

use crate::cell::BoundColumn;
use crate::error::OpenError;
use fabric::Env;
use layout::Schema;
use procedure::reference::{Way, way};
use sql::{Catalog, Table};
use std::sync::Arc;
use txn::{Database, IndexId, ScanSource, TableId};
use value::Formula;

/// A table with all that reading and changing it takes.
#[derive(Debug)]
pub(crate) struct BoundTable {
    pub id: TableId,
    pub name: String,
    pub schema: Arc<Schema>,
    /// The columns that SQL sees.
    pub columns: Vec<BoundColumn>,
    /// The primary key's name.
    pub key_name: String,
    /// The key is a number that nobody sees.
    pub has_hidden_key: bool,
    /// How many first columns of the primary key a range has to name by their values; none if it is no tree.
    pub named: Option<usize>,
    pub has_long: bool,
    /// Whether a statement reads it as a whole.
    pub is_read_whole: bool,
    /// Its indexes, in the order of the schema.
    pub indexes: Vec<BoundIndex>,
    pub checks: Vec<(String, Formula)>,
    /// Rows that it refers to.
    pub references: Vec<Reference>,
    /// Rows that refer to it.
    pub referrers: Vec<Reference>,
}

/// An index.
#[derive(Clone, Debug)]
pub(crate) struct BoundIndex {
    pub id: IndexId,
    pub name: String,
    pub columns: Vec<usize>,
    pub unique: bool,
    /// How many of its first columns a range has to name by their values; none if it is no tree.
    pub named: Option<usize>,
    /// Words of its entries' keys.
    pub words: u32,
}

/// Columns of one table whose values stand in another one.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub name: String,
    /// Columns of the table that has this reference in its list.
    pub own: Vec<usize>,
    pub table: usize,
    /// The same columns in that table.
    pub other: Vec<usize>,
    /// How those are found there; by reading all if there is none.
    pub way: Option<Way>,
}

/// Finds the tables of a catalog in a database.
pub(crate) fn bind<E: Env>(
    database: &Database<E>,
    catalog: &Catalog,
) -> Result<Vec<BoundTable>, OpenError> {
    let mut tables = Vec::with_capacity(catalog.tables.len());
    for table in &catalog.tables {
        tables.push(bind_table(database, table)?);
    }
    for (at, table) in catalog.tables.iter().enumerate() {
        for key in &table.foreign_keys {
            let reference = |table: usize, own: &[usize], other: &[usize]| Reference {
                name: key.name.clone(),
                own: own.to_vec(),
                table,
                other: other.to_vec(),
                way: way(&catalog.tables[table], other),
            };
            let to = reference(key.table, &key.columns, &key.references);
            let from = reference(at, &key.references, &key.columns);
            tables[at].references.push(to);
            tables[key.table].referrers.push(from);
        }
    }
    Ok(tables)
}

fn bind_table<E: Env>(database: &Database<E>, table: &Table) -> Result<BoundTable, OpenError> {
    let missing = |what: String| OpenError::Missing { what };
    let no_table = || missing(format!("table {}", table.name));
    let id = database.table(&table.name).ok_or_else(no_table)?;
    let schema = database.schema(id).ok_or_else(no_table)?;
    if *schema != table.schema {
        let what = format!("table {} with these columns, types and key", table.name);
        return Err(missing(what));
    }
    let mut columns = Vec::with_capacity(table.columns.len());
    for (at, (field, column)) in table.fields().into_iter().zip(&table.columns).enumerate() {
        let name = field.name.clone();
        let bound = BoundColumn::new(field, column.nullable, &schema, at);
        columns.push(bound.ok_or_else(|| missing(format!("column {name} of a known type")))?);
    }
    let mut indexes = Vec::with_capacity(table.indexes.len());
    for index in &table.indexes {
        let found = database.index(&table.name, &index.name);
        let id = found.ok_or_else(|| missing(format!("index {} on {}", index.name, table.name)))?;
        let words = schema.index_key_words(&index.columns);
        indexes.push(BoundIndex {
            id,
            name: index.name.clone(),
            columns: index.columns.clone(),
            unique: index.unique,
            named: database.named_by_ranges(ScanSource::Index(id)),
            words,
        });
    }
    let checks = table.checks.iter();
    let checks = checks.map(|check| (check.name.clone(), Formula::compile(&check.condition)));
    Ok(BoundTable {
        id,
        name: table.name.clone(),
        named: database.named_by_ranges(ScanSource::Table(id)),
        has_long: !schema.long_columns().is_empty(),
        columns,
        key_name: table.primary_key_name.clone(),
        has_hidden_key: table.has_hidden_key(),
        is_read_whole: false,
        indexes,
        checks: checks.collect(),
        references: Vec::new(),
        referrers: Vec::new(),
        schema,
    })
}
