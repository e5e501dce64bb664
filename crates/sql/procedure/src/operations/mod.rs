//! The table accesses of procedures: the low-level operations that the tuner counts and by which it
//! partitions tables [SPADE 4.1, 4.2].
//!
//! Decisions:
//! - docs/decisions/0289-a-hashed-index-is-partitioned-by-the-columns-that-its-range.md
//! - docs/decisions/0290-foreign-keys-are-operations-of-a-procedure.md

mod flow;
mod trace;

use crate::node::{Procedure, Workload};
use flow::Flow;
use sql::expression::Expr;

/// One access to a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Operation {
    /// Number of the statement in the procedure, from 1.
    pub statement: u32,
    /// Position of the table in the catalog.
    pub table: usize,
    pub action: Action,
    /// The loops around it, outermost first. The product of their counts says how often the
    /// operation is executed.
    pub repeats: Vec<Repeat>,
    /// The branches around it, outermost first.
    pub branches: Vec<Branch>,
    /// Rows per execution, as PostgreSQL estimates; for a range, those that are actually read.
    pub rows: u64,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    Read {
        path: Path,
        /// The values that find the rows.
        keys: Vec<Key>,
        /// Whether the statement then updates, deletes or locks the rows.
        is_for_change: bool,
        /// Whether the rows are needed in index order.
        is_ordered: bool,
        /// Whether a foreign key check reads the rows. The check runs after the change, for all
        /// changed rows.
        is_reference: bool,
    },
    Insert {
        /// The origins of its column values, in column order.
        values: Vec<Origin>,
    },
    /// Updates rows that an earlier operation has read.
    Update {
        /// Position of the operation that has read them.
        read: Option<usize>,
        /// Positions of the columns.
        columns: Vec<usize>,
    },
    /// Deletes rows that an earlier operation has read.
    Delete {
        /// Position of the operation that has read them.
        read: Option<usize>,
    },
}

/// How rows are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Path {
    /// The whole primary key: one row.
    Key,
    /// All columns of the index at this position.
    Lookup(usize),
    /// A range of the index at this position; `None` for the primary key.
    Range(Option<usize>),
    /// A full table scan.
    All,
}

/// A value that finds rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Key {
    /// Position of the column.
    pub column: usize,
    /// Whether the column equals the value; otherwise the value is a bound of a range.
    pub is_equal: bool,
    pub origin: Origin,
}

/// The origin of a value.
#[derive(Clone, PartialEq, Debug)]
pub enum Origin {
    /// A parameter of the procedure, by position among its variables.
    Argument(usize),
    /// An element of an array.
    Element(Box<Origin>),
    Constant,
    /// A column of a row that an earlier operation has read or written: positions of both.
    Output {
        operation: usize,
        column: usize,
    },
    /// One of these, depending on the branch taken.
    OneOf(Vec<Origin>),
    Computed,
}

/// Why an operation is executed several times.
#[derive(Clone, PartialEq, Debug)]
pub struct Repeat {
    /// The line of the loop; that of the statement for a loop inside a plan.
    pub line: u32,
    pub times: Times,
}

/// How often an operation is executed.
#[derive(Clone, PartialEq, Debug)]
pub enum Times {
    /// PostgreSQL's estimate, or a literal.
    Count(u64),
    /// Once for each element of an array.
    Elements(Origin),
    /// The value of an expression.
    Number(Origin),
    /// Until a condition holds.
    Unknown,
}

/// A branch of a procedure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Branch {
    /// The line of `IF` or `CASE`.
    pub line: u32,
    /// Number of the branch, from 0; `ELSE` is the last.
    pub branch: usize,
    /// Number of branches, including the implicit empty `ELSE`.
    pub count: usize,
}

/// Returns how many leading columns of these the keys fix by equality.
pub fn named(columns: &[usize], keys: &[Key]) -> usize {
    let is_named = |column: &&usize| keys.iter().any(|key| key.is_equal && key.column == **column);
    columns.iter().take_while(is_named).count()
}

impl Workload {
    /// Lists the operations of a procedure in program order and, inside a statement, in plan order.
    pub fn operations(&self, procedure: &Procedure) -> Vec<Operation> {
        Flow::new(self, procedure).operations()
    }
}

/// A value during the analysis; variables are resolved after the whole procedure has been visited.
#[derive(Clone, PartialEq, Debug)]
enum Traced<'p> {
    Origin(Origin),
    Variable(usize, Option<usize>),
    Element(Box<Traced<'p>>),
    OneOf(Vec<Traced<'p>>),
    /// A column of a statement's result: positions of both.
    Result(usize, usize),
    /// The value of an expression.
    Expr(&'p Expr),
}
