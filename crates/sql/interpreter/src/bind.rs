//! Binds the tables of a catalog to those of a database.

use crate::cell::BoundColumn;
use crate::digest::Digests;
use crate::error::OpenError;
use crate::key_size::LargeKey;
use fabric::Env;
use layout::{IndexKind, Place, Schema};
use procedure::reference::{AccessPath, access_path};
use sql::catalog::{ForeignKey, ReferentialAction};
use sql::expression::{ColumnRef, Expr, ExprKind};
use sql::namespace::schema_of;
use sql::typing::{self, Conversion};
use sql::{Catalog, Table};
use sql_value::Formula;
use std::sync::Arc;
use txn::{Database, IndexId, ScanSource, TableId};

/// A table with all that reading and changing it requires.
#[derive(Debug)]
pub(crate) struct BoundTable {
    pub id: TableId,
    pub name: String,
    /// The name of the SQL schema that it is in.
    pub namespace: String,
    pub schema: Arc<Schema>,
    /// The columns that are visible to SQL, and behind them the hidden ones of `computed`.
    pub columns: Vec<BoundColumn>,
    /// The values of hidden columns.
    pub computed: Vec<Computed>,
    pub key_name: String,
    /// The columns of the primary key; empty if that is hidden.
    pub key_columns: Vec<usize>,
    /// Whether the key is a hidden number, because the table has no primary key.
    pub has_hidden_key: bool,
    /// How many leading columns of the primary key a range must fix by equality; `None` if it is
    /// not stored as a tree.
    pub named: Option<usize>,
    pub has_long: bool,
    /// Whether some statement does a full scan of it.
    pub is_read_whole: bool,
    /// In schema order.
    pub indexes: Vec<BoundIndex>,
    /// The keys whose sizes must be checked.
    pub large_keys: Vec<LargeKey>,
    pub checks: Vec<(String, Formula)>,
    /// Foreign keys of this table.
    pub references: Vec<Reference>,
    /// Foreign keys of other tables that reference this one.
    pub referrers: Vec<Referrer>,
}

/// A hidden column with the value of an expression over the row.
#[derive(Debug)]
pub(crate) struct Computed {
    pub column: usize,
    pub value: Formula,
    /// The columns that it depends on.
    pub inputs: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct BoundIndex {
    pub id: IndexId,
    pub name: String,
    pub columns: Vec<usize>,
    /// Those without the marker of a partial index.
    pub declared: Vec<usize>,
    /// The row's columns in its keys: those with digests in place of long ones.
    pub stored: Vec<usize>,
    pub unique: bool,
    /// How many leading columns a range must fix by equality; `None` if the index is not stored as
    /// a tree.
    pub named: Option<usize>,
    /// Words in the keys of its entries.
    pub words: u32,
}

/// A foreign key, seen from one of its two tables.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub name: String,
    /// Columns of the table in whose list this is.
    pub own: Vec<usize>,
    pub table: usize,
    /// The matching columns of the other table.
    pub other: Vec<usize>,
    /// How to find the rows of the other table; `None` for a full scan.
    pub path: Option<AccessPath>,
}

/// A foreign key, seen from the table that it references.
#[derive(Clone, Debug)]
pub(crate) struct Referrer {
    pub key: Reference,
    /// The same key, seen from the table that references.
    pub from: Reference,
    pub on_delete: BoundAction,
    pub on_update: BoundAction,
}

/// The fate of the rows that reference one whose key is gone.
#[derive(Clone, Debug)]
pub(crate) enum BoundAction {
    /// The statement fails; unless it `is_lenient`, even if a row has the key at its end.
    Refuse { is_lenient: bool },
    /// The new values of the referencing columns, over the referenced row.
    Cascade(Vec<Formula>),
    /// The columns that get other values; `None` is null.
    Set(Vec<(usize, Option<Formula>)>),
}

impl BoundTable {
    /// The columns that are visible to SQL.
    pub fn visible(&self) -> &[BoundColumn] {
        &self.columns[..self.columns.len() - self.computed.len()]
    }

    /// The hidden columns whose values depend on some of these.
    pub fn computed_from<'t>(&'t self, columns: &'t [usize]) -> impl Iterator<Item = usize> + 't {
        let depends = |value: &&Computed| value.inputs.iter().any(|at| columns.contains(at));
        self.computed.iter().filter(depends).map(|value| value.column)
    }
}

impl Referrer {
    /// Whether it changes rows of the table that references.
    pub fn acts(&self) -> bool {
        self.on_delete.changes_rows() || self.on_update.changes_rows()
    }
}

impl BoundAction {
    fn of(action: &ReferentialAction, key: &ForeignKey, table: &Table, other: &Table) -> Self {
        match action {
            ReferentialAction::NoAction => Self::Refuse { is_lenient: true },
            ReferentialAction::Restrict => Self::Refuse { is_lenient: false },
            ReferentialAction::Cascade => {
                let value = |(&to, &from): (&usize, &usize)| {
                    let column = ColumnRef { level: 0, source: 0, column: from };
                    let sql_type = other.columns[from].sql_type.clone();
                    let value = Expr { kind: ExprKind::Column(column), sql_type };
                    let own = &table.columns[to].sql_type;
                    let converted = typing::convert(value.clone(), own, Conversion::Column);
                    Formula::compile(&converted.unwrap_or(value))
                };
                Self::Cascade(key.columns.iter().zip(&key.references).map(value).collect())
            }
            ReferentialAction::SetNull(columns) => {
                Self::Set(columns.iter().map(|&column| (column, None)).collect())
            }
            ReferentialAction::SetDefault(columns) => {
                let default = |column: usize| table.columns[column].default.as_ref();
                let value = |&column: &usize| (column, default(column).map(Formula::compile));
                Self::Set(columns.iter().map(value).collect())
            }
        }
    }

    /// Whether it changes the rows, and does not refuse the statement.
    pub fn changes_rows(&self) -> bool {
        !matches!(self, Self::Refuse { .. })
    }
}

/// Adds the tables whose rows change when foreign keys act on changes of these.
pub(crate) fn add_reached(tables: &[BoundTable], changed: &mut Vec<usize>) {
    let mut at = 0;
    while let Some(&table) = changed.get(at) {
        for referrer in &tables[table].referrers {
            if referrer.acts() && !changed.contains(&referrer.key.table) {
                changed.push(referrer.key.table);
            }
        }
        at += 1;
    }
}

/// Binds the tables of a catalog to those of a database.
pub(crate) fn bind<E: Env>(
    database: &Database<E>,
    catalog: &Catalog,
) -> Result<Vec<BoundTable>, OpenError> {
    let mut tables = Vec::with_capacity(catalog.tables.len());
    for table in &catalog.tables {
        let namespace = catalog.schemas.name(schema_of(&table.name)).unwrap_or_default();
        tables.push(bind_table(database, table, namespace)?);
    }
    for (at, table) in catalog.tables.iter().enumerate() {
        for key in &table.foreign_keys {
            let reference = |table: usize, own: &[usize], other: &[usize]| Reference {
                name: key.name.clone(),
                own: own.to_vec(),
                table,
                other: other.to_vec(),
                path: access_path(&catalog.tables[table], other),
            };
            let to = reference(key.table, &key.columns, &key.references);
            let from = reference(at, &key.references, &key.columns);
            let other = &catalog.tables[key.table];
            tables[at].references.push(to.clone());
            tables[key.table].referrers.push(Referrer {
                key: from,
                from: to,
                on_delete: BoundAction::of(&key.on_delete, key, table, other),
                on_update: BoundAction::of(&key.on_update, key, table, other),
            });
        }
    }
    Ok(tables)
}

/// The ordered keys that have digests. Hash indexes take values of any length in PostgreSQL, too.
fn large_keys(table: &Table) -> Vec<LargeKey> {
    let has_digest = |columns: &[usize]| columns.iter().any(|&at| table.digest(at).is_some());
    let primary = (&table.primary_key_name, &table.primary_key);
    let trees = table.indexes.iter().filter(|index| index.kind == IndexKind::Tree);
    let keys = trees.map(|index| (&index.name, &index.columns)).chain([primary]);
    keys.filter(|(_, columns)| has_digest(columns))
        .map(|(name, columns)| LargeKey { name: name.clone(), columns: columns.clone() })
        .collect()
}

/// The expressions of a table's hidden columns.
fn computed(table: &Table) -> Vec<Computed> {
    let first = table.visible().len();
    let of = |(at, value): (usize, &Expr)| {
        let mut inputs = Vec::new();
        value.visit(&mut |part| {
            if let ExprKind::Column(column) = &part.kind {
                inputs.push(column.column);
            }
        });
        Computed { column: first + at, value: Formula::compile(value), inputs }
    };
    table.computed.iter().enumerate().map(of).collect()
}

fn bind_table<E: Env>(
    database: &Database<E>,
    table: &Table,
    namespace: &str,
) -> Result<BoundTable, OpenError> {
    let missing = |what: String| OpenError::Missing { what };
    let no_table = || missing(format!("table {}", table.name));
    let id = database.table(table.schema.name()).ok_or_else(no_table)?;
    let schema = database.schema(id).ok_or_else(no_table)?;
    if *schema != table.schema {
        return Err(OpenError::Different { table: table.name.clone() });
    }
    let mut columns = Vec::with_capacity(table.columns.len());
    for (at, (field, column)) in table.all_fields().into_iter().zip(&table.columns).enumerate() {
        let name = field.name.clone();
        let bound = BoundColumn::new(field, column.nullable, &schema, at);
        let mut bound = bound.ok_or_else(|| missing(format!("column {name} of a known type")))?;
        if table.expression(at).is_some() {
            bound.name = procedure::index_part(table, at);
        }
        bound.digests = table.digest(at).map(|digest| Digests {
            at: digest.at,
            bytes: digest.bytes,
            is_key: matches!(schema.place(digest.at), Place::Key { .. }),
        });
        columns.push(bound);
    }
    let mut indexes = Vec::with_capacity(table.indexes.len());
    for index in &table.indexes {
        let found = database.index(table.schema.name(), &index.name);
        let id = found.ok_or_else(|| missing(format!("index {} on {}", index.name, table.name)))?;
        let stored = table.stored_key(&index.columns);
        let words = schema.index_key_words(&stored);
        indexes.push(BoundIndex {
            id,
            name: index.name.clone(),
            columns: index.columns.clone(),
            declared: table.declared(index).to_vec(),
            stored,
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
        namespace: namespace.to_owned(),
        named: database.named_by_ranges(ScanSource::Table(id)),
        has_long: !schema.long_columns().is_empty(),
        columns,
        computed: computed(table),
        key_name: table.primary_key_name.clone(),
        large_keys: large_keys(table),
        key_columns: table.primary_key.clone(),
        has_hidden_key: table.has_hidden_key(),
        is_read_whole: false,
        indexes,
        checks: checks.collect(),
        references: Vec::new(),
        referrers: Vec::new(),
        schema,
    })
}
