//! The types of lowered statements.
//!
//! Expressions are those of `sql`. Which row a column refers to depends on the node:
//!
//! ```text
//! level 0, source 0   the input: for a scan the table's row, all columns in catalog order;
//!                     for values, arrays, series and shared plans the row that they produce;
//!                     else the input node's outputs; for a join the outer input's
//! level 0, source 1   for a join the inner input's outputs
//! level n             the outer row of the n-th enclosing nested loop, or the row for which the
//!                     n-th enclosing sub plan is executed, counted together from the inside
//! ```
//!
//! Variables are the procedure's. There are no numbered parameters, no names, and no casts that
//! only PostgreSQL knows.

use sql::expression::Expr;
use sql::query::{RowLock, SetOperation};
use sql::window::WindowCall;
use sql::{Catalog, Field};
use std::fmt;

/// The lowered procedures of a workload.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    pub catalog: Catalog,
    /// In file order.
    pub procedures: Vec<Procedure>,
}

/// A procedure whose statements have plans.
#[derive(Clone, PartialEq, Debug)]
pub struct Procedure {
    /// Its control flow, around the statements.
    pub routine: sql::Procedure,
    /// Statement `n` of the routine ([`sql::procedure::Sql::number`],
    /// [`sql::procedure::Formula::number`]) is at `n - 1`.
    pub statements: Vec<Statement>,
}

/// A statement with its plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    pub root: Node,
    /// The columns of the result: the root's first outputs. Further outputs may follow that only
    /// the plan needs.
    pub fields: Vec<Field>,
    /// Its sub plans; [`sql::expression::ExprKind::SubPlan`] and [`Operator::Shared`] refer to them
    /// by position.
    pub sub_plans: Vec<SubPlan>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct SubPlan {
    pub root: Node,
    /// Whether its rows depend on the row that uses it. Otherwise it is executed at most once per
    /// statement, at its first use.
    pub is_correlated: bool,
}

/// A node of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// The operation, with its inputs.
    pub operator: Operator,
    /// The output columns. Aggregates occur only in the outputs, keys and filter of
    /// [`Operator::Aggregate`].
    pub outputs: Vec<Expr>,
    /// PostgreSQL's estimate of the number of rows per execution.
    pub rows: u64,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Operator {
    /// Reads rows of a table.
    Scan(Scan),
    Join(Join),
    Sort {
        /// The sort keys, over the input.
        keys: Vec<SortKey>,
        input: Box<Node>,
    },
    /// Skips the first rows and limits the number of rows. A null means no limit, or no offset.
    Limit {
        /// Maximum number of rows; an error if it is negative.
        limit: Option<Expr>,
        /// Number of rows to skip; an error if it is negative.
        offset: Option<Expr>,
        input: Box<Node>,
    },
    /// Aggregates groups of rows. The argument of an aggregate is an expression over the input.
    Aggregate {
        /// The grouping keys, over the input. Without keys there is exactly one group, even if the
        /// input is empty.
        keys: Vec<Expr>,
        /// Whether equal keys are adjacent in the input; groups then come in its order.
        is_sorted: bool,
        filter: Option<Expr>,
        input: Box<Node>,
    },
    /// Drops rows that equal the previous one.
    Unique {
        /// Must be sorted.
        input: Box<Node>,
    },
    /// Computes its outputs for each row of its input, or once.
    Project {
        /// A one-time filter, evaluated without a row before the input is read.
        condition: Option<Expr>,
        filter: Option<Expr>,
        /// Without an input there is a single row without columns.
        input: Option<Box<Node>>,
    },
    /// Literal rows; their expressions see no row.
    Values {
        rows: Vec<Vec<Expr>>,
        filter: Option<Expr>,
    },
    /// The elements of arrays side by side; shorter arrays are padded with nulls.
    Unnest {
        arrays: Vec<Expr>,
        filter: Option<Expr>,
    },
    /// `generate_series`.
    Series {
        /// Start, stop and optionally step.
        bounds: Vec<Expr>,
        filter: Option<Expr>,
    },
    /// The rows of a routine of the catalog.
    Call {
        routine: String,
        /// The values of its input parameters.
        arguments: Vec<Expr>,
        is_volatile: bool,
        /// Whether it is a value of an expression. Otherwise it runs once per statement if its
        /// arguments see no row.
        is_value: bool,
        /// Number of columns.
        width: usize,
        filter: Option<Expr>,
    },
    /// The rows of the first input, then those of the step, again and again until it has none.
    Recursive {
        /// By which the step refers to it.
        number: usize,
        /// Whether duplicates are kept.
        keeps_all: bool,
        /// Number of columns.
        width: usize,
        first: Box<Node>,
        step: Box<Node>,
        filter: Option<Expr>,
    },
    /// The rows that the last step of a recursion has added.
    WorkTable {
        number: usize,
        /// Number of columns.
        width: usize,
        filter: Option<Expr>,
    },
    /// All rows of the first input, then of the second, and so on.
    Append {
        inputs: Vec<Node>,
    },
    /// Merges several sorted inputs.
    MergeAppend {
        /// The sort keys, over the inputs' outputs.
        keys: Vec<SortKey>,
        inputs: Vec<Node>,
    },
    /// Compares two inputs: rows of both (`INTERSECT`), or of the left one only (`EXCEPT`). Of
    /// equal rows the left one is delivered.
    SetOperation {
        operation: SetOperation,
        /// Whether duplicates are kept.
        all: bool,
        left: Box<Node>,
        right: Box<Node>,
    },
    /// Computes window functions. The outputs are over the input's columns, followed by a column
    /// for each call.
    Window {
        /// They have the same partition and order; their expressions are over the input, and the
        /// keys are columns of it.
        calls: Vec<WindowCall>,
        /// Sorted by partition and order.
        input: Box<Node>,
    },
    /// The rows of a sub plan that several nodes read.
    Shared {
        plan: usize,
        filter: Option<Expr>,
    },
    /// Validates at commit that the rows found by the scans below with `is_for_change` have not
    /// changed.
    Lock {
        /// The table of these scans, by position in the catalog.
        table: usize,
        /// `FOR UPDATE`, `FOR SHARE` and so on.
        strength: RowLock,
        input: Box<Node>,
    },
    Insert(Insert),
    Update(Update),
    Delete(Delete),
}

/// A scan of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Scan {
    /// Position of the table in the catalog.
    pub table: usize,
    pub access: Access,
    /// The conditions that the access does not enforce itself.
    pub filter: Option<Expr>,
    /// Whether another node relies on the order of the index.
    pub is_ordered: bool,
    /// Whether the statement updates, deletes or locks the rows.
    pub is_for_change: bool,
}

/// How rows are found. Expressions see variables and levels 1 and above, and have the types of the
/// columns with which they are compared, except that the length of a text may differ: a text too
/// long for the column finds no rows. Neither does null.
#[derive(Clone, PartialEq, Debug)]
pub enum Access {
    /// One row by its whole primary key, in key order.
    Key(Vec<Expr>),
    /// Rows that equal the given values in all columns of an index. A hash index can serve it.
    Lookup {
        /// Position in [`sql::Table::indexes`].
        index: usize,
        key: Vec<Expr>,
    },
    /// Rows in index order.
    Range(Range),
    /// Rows that any of several accesses finds, each once, in no particular order.
    Any(Vec<Access>),
    /// The access for each element of an array; `access` refers to the element as
    /// [`sql::expression::ExprKind::Element`]. Each row comes once, even if the array repeats an
    /// element; in index order if the scan is ordered.
    Each {
        array: Expr,
        access: Box<Access>,
        /// From the greatest element to the least; a single key does not imply a direction.
        is_backward: bool,
    },
    All,
}

/// A range scan of an index.
#[derive(Clone, PartialEq, Debug)]
pub struct Range {
    /// Position in [`sql::Table::indexes`]; `None` for the primary key.
    pub index: Option<usize>,
    /// Values of the leading columns, compared for equality.
    pub equal: Vec<Expr>,
    /// Lower bound of the next column.
    pub low: Option<Bound>,
    pub high: Option<Bound>,
    pub is_backward: bool,
}

/// A bound of a range.
#[derive(Clone, PartialEq, Debug)]
pub struct Bound {
    pub value: Expr,
    /// Whether the bound is inclusive.
    pub is_included: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct SortKey {
    pub value: Expr,
    pub descending: bool,
    pub nulls_first: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Join {
    pub method: JoinMethod,
    /// How rows without a match are treated.
    pub kind: JoinKind,
    /// The join condition, beyond the pairs that the method compares.
    pub join_filter: Option<Expr>,
    /// Applied to joined rows.
    pub filter: Option<Expr>,
    /// The input that is read once.
    pub outer: Box<Node>,
    /// The input that is searched for matches.
    pub inner: Box<Node>,
}

/// The join algorithm.
#[derive(Clone, PartialEq, Debug)]
pub enum JoinMethod {
    /// Executes the inner input for each outer row, which the inner input sees as level 1.
    NestedLoop,
    /// Joins equal values. Each pair is an expression over source 0 and one over source 1. Null
    /// matches nothing. The inputs and the result of a merge join are sorted by the pairs.
    Equal {
        pairs: Vec<(Expr, Expr)>,
        /// Whether the result must be in the order of the outer input: a hash join preserves it, a
        /// merge join produces it.
        is_ordered: bool,
    },
}

/// How a join treats rows without a match, and with several matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// Matching pairs only.
    Inner,
    /// Also outer rows without a match.
    Left,
    /// Also inner rows without a match.
    Right,
    /// Also outer and inner rows without a match.
    Full,
    /// Each outer row that has a match, once.
    Semi,
    /// Outer rows without a match.
    Anti,
}

/// Inserts rows. The node's outputs are over the inserted rows.
#[derive(Clone, PartialEq)]
pub struct Insert {
    /// Position of the table in the catalog.
    pub table: usize,
    /// The value of each column, over the input, with defaults filled in and cast to the column's
    /// type. The hidden key has no value.
    pub values: Vec<Expr>,
    /// Whether a row whose key exists is skipped (`ON CONFLICT DO NOTHING`); otherwise it is an
    /// error.
    pub ignores_duplicates: bool,
    /// The update of a row whose key exists (`ON CONFLICT DO UPDATE`).
    pub update: Option<Box<ConflictUpdate>>,
    pub input: Box<Node>,
}

/// Without the update where there is none: the fingerprints of generated code are made of this
/// text.
impl fmt::Debug for Insert {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut insert = formatter.debug_struct("Insert");
        insert.field("table", &self.table).field("values", &self.values);
        insert.field("ignores_duplicates", &self.ignores_duplicates);
        if let Some(update) = &self.update {
            insert.field("update", update);
        }
        insert.field("input", &self.input).finish()
    }
}

/// The update of the row that has the key of a row to be inserted. Expressions are over that row
/// (source 0) and the one to be inserted (source 1).
#[derive(Clone, PartialEq, Debug)]
pub struct ConflictUpdate {
    /// The unique key, by position in [`sql::Table::indexes`]; `None` is the primary key.
    pub index: Option<usize>,
    pub assignments: Vec<(usize, Expr)>,
    pub filter: Option<Expr>,
}

/// Updates rows. The node's outputs are over the new row (source 0) and the input's outputs (source
/// 1).
#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    /// Position of the table in the catalog; exactly one scan below has `is_for_change`.
    pub table: usize,
    /// Positions of columns and their new values, over the current row (source 0) and the input's
    /// outputs (source 1).
    pub assignments: Vec<(usize, Expr)>,
    pub input: Box<Node>,
}

/// Deletes rows. The node's outputs are over the old row (source 0) and the input's outputs (source
/// 1).
#[derive(Clone, PartialEq, Debug)]
pub struct Delete {
    /// Position of the table in the catalog; exactly one scan below has `is_for_change`.
    pub table: usize,
    pub input: Box<Node>,
}
