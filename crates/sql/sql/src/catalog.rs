//! Tables, keys and indexes of a schema.

use crate::expression::Expr;
use crate::types::{Field, SqlType};
use layout::{IndexKind, Schema};

/// The column that a table without a primary key gets: a number that no other row of it has. No SQL can name it, since
/// PostgreSQL has a system column of this name.
pub const HIDDEN_KEY: &str = "ctid";

/// The tables of a schema, in the order of the file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Catalog {
    /// The tables.
    pub tables: Vec<Table>,
}

/// A table with its keys.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns as SQL sees them, in order. `schema` has the same ones, and behind them [`HIDDEN_KEY`] if there is no
    /// primary key.
    pub columns: Vec<TableColumn>,
    /// How rows are stored.
    pub schema: Schema,
    /// The primary key's columns by position; none if there is none.
    pub primary_key: Vec<usize>,
    /// What plans call the primary key's index; empty if there is none.
    pub primary_key_name: String,
    /// Everything else that rows are found by.
    pub indexes: Vec<Index>,
    /// What refers to other tables.
    pub foreign_keys: Vec<ForeignKey>,
    /// What every row satisfies, in the order of their names.
    pub checks: Vec<Check>,
}

/// A column of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// Whether it may be null.
    pub nullable: bool,
    /// What it is if an insert does not say; null if there is none.
    pub default: Option<Expr>,
}

/// An index, or a unique key besides the primary one.
#[derive(Clone, PartialEq, Debug)]
pub struct Index {
    /// Its name, which PostgreSQL's plans use.
    pub name: String,
    /// Its columns by position, most significant first.
    pub columns: Vec<usize>,
    /// Whether no two rows have equal values, nulls apart.
    pub unique: bool,
    /// What `USING` asks for; a tree if nothing is said.
    pub kind: IndexKind,
}

/// A reference to rows of another table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignKey {
    /// Its name.
    pub name: String,
    /// The columns that refer, by position.
    pub columns: Vec<usize>,
    /// The table referred to, by position.
    pub table: usize,
    /// Its columns.
    pub references: Vec<usize>,
}

/// A condition on the rows of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// The condition over the table, which is source 0; null counts as true.
    pub condition: Expr,
}

impl Catalog {
    /// The position of the table called `name`.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|table| table.name == name)
    }

    /// The table called `name`.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.position(name).map(|at| &self.tables[at])
    }
}

impl Table {
    /// The position of the column called `name`.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The columns as those of a row.
    pub fn fields(&self) -> Vec<Field> {
        let field = |column: &TableColumn| Field {
            name: column.name.clone(),
            sql_type: column.sql_type.clone(),
        };
        self.columns.iter().map(field).collect()
    }

    /// Whether the primary key is [`HIDDEN_KEY`].
    pub fn has_hidden_key(&self) -> bool {
        self.primary_key.is_empty()
    }
}
