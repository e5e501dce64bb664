//! Tables, keys and indexes of a schema.

use crate::enumeration::Types;
use crate::expression::{BinaryOperator, Expr, ExprKind};
use crate::namespace::Schemas;
use crate::query::Select;
use crate::types::{Field, SqlType};
use layout::{IndexKind, Schema};
use std::fmt;

/// The hidden key column of a table without a primary key; each row has a different number. SQL
/// cannot name it, because PostgreSQL has a system column of this name.
pub const HIDDEN_KEY: &str = "ctid";

/// The tables of a schema, in file order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Catalog {
    pub tables: Vec<Table>,
    /// The views of an SQL session; each sees those before it.
    pub views: Vec<View>,
    pub schemas: Schemas,
    /// Those that sessions have created.
    pub types: Types,
}

/// A query with a name, which statements read as a table.
#[derive(Clone, PartialEq, Debug)]
pub struct View {
    pub name: String,
    pub columns: Vec<Field>,
    /// The query over the catalog's tables; views in it are resolved.
    pub query: Select,
    /// The views that it names.
    pub views: Vec<String>,
}

/// A table with its keys.
#[derive(Clone, PartialEq)]
pub struct Table {
    pub name: String,
    /// The columns as SQL sees them, in order, and behind them the hidden ones of `computed`.
    /// `schema` has the same columns, followed by [`HIDDEN_KEY`] if there is no primary key, and by
    /// those of `digests`.
    pub columns: Vec<TableColumn>,
    /// How rows are stored.
    pub schema: Schema,
    /// Positions of the primary key's columns; empty if there is no primary key.
    pub primary_key: Vec<usize>,
    /// The name of the primary key's index in plans; empty if there is no primary key.
    pub primary_key_name: String,
    /// All indexes except the primary key.
    pub indexes: Vec<Index>,
    pub foreign_keys: Vec<ForeignKey>,
    /// The CHECK constraints, sorted by name.
    pub checks: Vec<Check>,
    /// The columns whose values do not fit keys, by position.
    pub digests: Vec<Digest>,
    /// The expressions that indexes have, one for each hidden column, which are the last ones.
    ///
    /// Decision: docs/decisions/0372-an-index-over-an-expression-has-a-hidden-column.md
    pub computed: Vec<Expr>,
}

/// Without digests and expressions where there are none: the fingerprints of generated code are
/// made of this text.
impl fmt::Debug for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = formatter.debug_struct("Table");
        table.field("name", &self.name).field("columns", &self.columns);
        table.field("schema", &self.schema).field("primary_key", &self.primary_key);
        table.field("primary_key_name", &self.primary_key_name);
        table.field("indexes", &self.indexes).field("foreign_keys", &self.foreign_keys);
        table.field("checks", &self.checks);
        if !self.digests.is_empty() {
            table.field("digests", &self.digests);
        }
        if !self.computed.is_empty() {
            table.field("computed", &self.computed);
        }
        table.finish()
    }
}

/// A column whose values may be too long for keys. Keys and indexes have a hidden column of the
/// row in its place, with a digest of the value: the value itself if it is short, otherwise its
/// first bytes and a hash of all of it.
///
/// Decision: docs/decisions/0359-keys-have-digests-of-long-values.md
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest {
    /// Position of the column.
    pub column: usize,
    /// Position of the hidden column in the table's `schema`.
    pub at: usize,
    /// Bytes of a digest; shorter values are stored as they are.
    pub bytes: u8,
}

#[derive(Clone, PartialEq, Debug)]
pub struct TableColumn {
    pub name: String,
    /// Distinguishes all columns that the table has ever had; from 1, in the order of creation.
    pub number: u32,
    pub sql_type: SqlType,
    pub nullable: bool,
    /// The default value; null if there is none.
    pub default: Option<Expr>,
    /// Whether the default is the column's own sequence, by `GENERATED ... AS IDENTITY`.
    pub identity: Option<Identity>,
}

/// The forms of an identity column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Identity {
    /// Statements give no other values, unless they say so.
    Always,
    ByDefault,
}

/// An index, or a unique key other than the primary key.
#[derive(Clone, PartialEq, Debug)]
pub struct Index {
    /// The name in PostgreSQL's plans.
    pub name: String,
    /// Positions of its columns, most significant first.
    pub columns: Vec<usize>,
    /// Whether it is unique; nulls are never equal.
    pub unique: bool,
    /// The kind after `USING`; a tree if it is absent.
    pub kind: IndexKind,
}

#[derive(Clone, PartialEq, Eq)]
pub struct ForeignKey {
    pub name: String,
    /// Positions of the referencing columns.
    pub columns: Vec<usize>,
    /// Position of the referenced table.
    pub table: usize,
    /// Positions of the referenced columns.
    pub references: Vec<usize>,
    pub on_delete: ReferentialAction,
    pub on_update: ReferentialAction,
}

/// Without actions where there are none: the fingerprints of generated code are made of this text.
impl fmt::Debug for ForeignKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut key = formatter.debug_struct("ForeignKey");
        key.field("name", &self.name).field("columns", &self.columns);
        key.field("table", &self.table).field("references", &self.references);
        for (name, action) in [("on_delete", &self.on_delete), ("on_update", &self.on_update)] {
            if action.changes_rows() {
                key.field(name, action);
            }
        }
        key.finish()
    }
}

/// The fate of rows whose referenced row is deleted, or gets another key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum ReferentialAction {
    /// The statement fails, unless a row has the key at its end.
    #[default]
    NoAction,
    /// The statement fails.
    Restrict,
    /// They are deleted, or get the new key.
    Cascade,
    /// These of their columns become null.
    SetNull(Vec<usize>),
    /// These of their columns get their default values.
    SetDefault(Vec<usize>),
}

impl ReferentialAction {
    /// Whether it changes rows, and does not refuse the statement.
    pub fn changes_rows(&self) -> bool {
        !matches!(self, Self::NoAction | Self::Restrict)
    }

    /// The columns that it sets.
    pub fn set_columns_mut(&mut self) -> &mut [usize] {
        match self {
            Self::SetNull(columns) | Self::SetDefault(columns) => columns,
            Self::NoAction | Self::Restrict | Self::Cascade => &mut [],
        }
    }
}

/// A CHECK constraint.
#[derive(Clone, PartialEq, Debug)]
pub struct Check {
    pub name: String,
    /// The condition over the table, which is source 0; null counts as true.
    pub condition: Expr,
}

impl Catalog {
    /// The position of the table called `name`.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|table| table.name == name)
    }

    /// The view called `name`.
    pub fn view(&self, name: &str) -> Option<&View> {
        self.views.iter().find(|view| view.name == name)
    }

    /// A table, and those with rows that go with its rows, by `ON DELETE CASCADE`.
    pub fn deleted_with(&self, table: usize) -> Vec<usize> {
        let (mut found, mut at) = (vec![table], 0);
        while let Some(&from) = found.get(at) {
            let cascades =
                |key: &ForeignKey| key.table == from && key.on_delete == ReferentialAction::Cascade;
            for (other, table) in self.tables.iter().enumerate() {
                if !found.contains(&other) && table.foreign_keys.iter().any(cascades) {
                    found.push(other);
                }
            }
            at += 1;
        }
        found
    }

    pub fn table(&self, name: &str) -> Option<&Table> {
        self.position(name).map(|at| &self.tables[at])
    }
}

impl Table {
    /// The position of the column called `name`.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.visible().iter().position(|column| column.name == name)
    }

    /// The columns that SQL sees.
    pub fn visible(&self) -> &[TableColumn] {
        &self.columns[..self.columns.len() - self.computed.len()]
    }

    /// The columns that SQL sees, with their types.
    pub fn fields(&self) -> Vec<Field> {
        self.visible().iter().map(field).collect()
    }

    /// All columns with their types, also the hidden ones.
    pub fn all_fields(&self) -> Vec<Field> {
        self.columns.iter().map(field).collect()
    }

    /// The expression of a hidden column; `None` of one that SQL sees.
    pub fn expression(&self, column: usize) -> Option<&Expr> {
        self.computed.get(column.checked_sub(self.visible().len())?)
    }

    /// The digest that keys have of a column; `None` if they have its values.
    pub fn digest(&self, column: usize) -> Option<&Digest> {
        self.digests.iter().find(|digest| digest.column == column)
    }

    /// The positions in `schema` of the columns of a key or index.
    pub fn stored_key(&self, columns: &[usize]) -> Vec<usize> {
        let stored = |&column: &usize| self.digest(column).map_or(column, |digest| digest.at);
        columns.iter().map(stored).collect()
    }

    /// The condition of the rows of a partial index. Its first column is hidden, true in these rows
    /// and null in all others: no row equals them.
    ///
    /// Decision: docs/decisions/0375-a-partial-index-begins-with-a-marker.md
    pub fn predicate(&self, index: &Index) -> Option<&Expr> {
        self.marker(*index.columns.first()?)
    }

    /// The condition of the rows in which a hidden column is true, if it is a marker.
    pub fn marker(&self, column: usize) -> Option<&Expr> {
        marked(self.expression(column)?)
    }

    /// The columns that an index was declared with, without the marker of a partial one.
    pub fn declared<'i>(&self, index: &'i Index) -> &'i [usize] {
        &index.columns[usize::from(self.predicate(index).is_some())..]
    }

    /// Whether the primary key is [`HIDDEN_KEY`].
    pub fn has_hidden_key(&self) -> bool {
        self.primary_key.is_empty()
    }
}

/// The marker of the rows with a condition: `condition OR NULL`. Its null has no type, unlike each
/// null of a client.
pub(crate) fn marker(condition: Expr) -> Expr {
    let null = Expr { kind: ExprKind::Null, sql_type: SqlType::Unknown };
    let (left, right) = (Box::new(condition), Box::new(null));
    let kind = ExprKind::Binary { operator: BinaryOperator::Or, left, right };
    Expr { kind, sql_type: SqlType::Bool }
}

/// The condition of a marker.
fn marked(value: &Expr) -> Option<&Expr> {
    match &value.kind {
        ExprKind::Binary { operator: BinaryOperator::Or, left, right } => {
            let is_untyped = right.kind == ExprKind::Null && right.sql_type == SqlType::Unknown;
            is_untyped.then_some(&**left)
        }
        _ => None,
    }
}

fn field(column: &TableColumn) -> Field {
    Field { name: column.name.clone(), sql_type: column.sql_type.clone() }
}
