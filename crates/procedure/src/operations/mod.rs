//! What procedures ask of tables: the low-level operations that the tuner counts and partitions by [SPADE 4.1, 4.2].

mod flow;
mod trace;

use crate::node::{Procedure, Workload};
use flow::Flow;
use sql::expression::Expr;

/// One access to a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Operation {
    /// The statement in the procedure, from 1.
    pub statement: u32,
    /// The table by position in the catalog.
    pub table: usize,
    /// What is done.
    pub action: Action,
    /// What is repeated around it, from the outside to the inside. It is carried out as often as the product says.
    pub repeats: Vec<Repeat>,
    /// The branches in which it stands, from the outside to the inside.
    pub branches: Vec<Branch>,
    /// Rows each time, as PostgreSQL expects: for a range those that are wanted of it.
    pub rows: u64,
}

/// What is done with a table.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Rows are found.
    Read {
        /// By what.
        path: Path,
        /// The values that it goes by.
        keys: Vec<Key>,
        /// Whether they are changed, deleted or locked thereafter.
        is_for_change: bool,
        /// Whether they are wanted in the order of the index.
        is_ordered: bool,
        /// Whether a foreign key asks whether they are there. It does so behind the change, of all rows that were changed.
        is_reference: bool,
    },
    /// A row is added.
    Insert {
        /// Where the values of its columns come from, in order.
        values: Vec<Origin>,
    },
    /// Rows that have been read are changed.
    Update {
        /// The operation that has read them, by position.
        read: Option<usize>,
        /// The columns by position.
        columns: Vec<usize>,
    },
    /// Rows that have been read are deleted.
    Delete {
        /// The operation that has read them, by position.
        read: Option<usize>,
    },
}

/// By what rows are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Path {
    /// The whole primary key: one row.
    Key,
    /// All columns of an index, by position.
    Lookup(usize),
    /// A range of an index, by position; of the primary key if there is none.
    Range(Option<usize>),
    /// The whole table is read.
    All,
}

/// A value by which rows are found.
#[derive(Clone, PartialEq, Debug)]
pub struct Key {
    /// The column by position.
    pub column: usize,
    /// Whether rows have this very value; otherwise it is an end of a range.
    pub is_equal: bool,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a value comes from.
#[derive(Clone, PartialEq, Debug)]
pub enum Origin {
    /// A parameter of the procedure, by position among its variables.
    Argument(usize),
    /// An element of an array.
    Element(Box<Origin>),
    /// It is always the same.
    Constant,
    /// A column of a row that an earlier operation has read or written, both by position.
    Output {
        /// The operation.
        operation: usize,
        /// The table's column.
        column: usize,
    },
    /// One or the other, as the procedure takes its way.
    OneOf(Vec<Origin>),
    /// Anything else.
    Computed,
}

/// Why something is carried out several times.
#[derive(Clone, PartialEq, Debug)]
pub struct Repeat {
    /// The line of the loop; that of the statement for a loop inside a plan.
    pub line: u32,
    /// How often.
    pub times: Times,
}

/// How often something is carried out.
#[derive(Clone, PartialEq, Debug)]
pub enum Times {
    /// As PostgreSQL expects, or as it is written.
    Count(u64),
    /// Once for each element of an array.
    Elements(Origin),
    /// As often as a number says.
    Number(Origin),
    /// Until something holds.
    Unknown,
}

/// A branch of a procedure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Branch {
    /// The line of `IF` or `CASE`.
    pub line: u32,
    /// Which branch, from 0; `ELSE` is the last.
    pub branch: usize,
    /// How many there are, with the one in which nothing holds.
    pub count: usize,
}

/// How many of the first of these columns a range names by their values.
pub fn named(columns: &[usize], keys: &[Key]) -> usize {
    let is_named = |column: &&usize| keys.iter().any(|key| key.is_equal && key.column == **column);
    columns.iter().take_while(is_named).count()
}

impl Workload {
    /// The operations of a procedure, in the order of the program and, inside a statement, of its plan.
    pub fn operations(&self, procedure: &Procedure) -> Vec<Operation> {
        Flow::new(self, procedure).operations()
    }
}

/// A value while it is traced: variables are looked up when the whole procedure has been seen.
#[derive(Clone, PartialEq, Debug)]
enum Traced<'p> {
    Origin(Origin),
    Variable(usize, Option<usize>),
    Element(Box<Traced<'p>>),
    OneOf(Vec<Traced<'p>>),
    /// A column of the result of a statement, both by position.
    Result(usize, usize),
    /// As often as an expression says.
    Expr(&'p Expr),
}
