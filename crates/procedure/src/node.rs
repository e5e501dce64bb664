//! The types of statements that are ready to be carried out.
//!
//! Expressions are those of `sql`, and what their columns refer to depends on where they stand:
//!
//! ```text
//! level 0, source 0   the input: for a scan the table's row, all of its columns in the order of the catalog;
//!                     for values, arrays, numbers in a row and shared plans the row that they make;
//!                     else what the input node delivers; for a join what the outer one delivers
//! level 0, source 1   for a join what the inner one delivers
//! level n             the outer row of the n-th nested loop around, or the row that the n-th sub plan around is asked for,
//!                     counted together from the inside
//! ```
//!
//! Variables are those of the procedure. There are no parameters by number, no names, and no conversions that only
//! PostgreSQL knows of.

use sql::expression::Expr;
use sql::query::RowLock;
use sql::{Catalog, Field};

/// The procedures of a workload, ready to be carried out.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// The tables.
    pub catalog: Catalog,
    /// The procedures, in the order of the file.
    pub procedures: Vec<Procedure>,
}

/// A procedure whose statements have plans.
#[derive(Clone, PartialEq, Debug)]
pub struct Procedure {
    /// What it does around its statements.
    pub routine: sql::Procedure,
    /// Statement `n` of the routine ([`sql::procedure::Sql::number`], [`sql::procedure::Formula::number`]) is at `n - 1`.
    pub statements: Vec<Statement>,
}

/// A statement with its plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// What delivers its rows.
    pub root: Node,
    /// The columns of the result: the root's first ones. Behind them may stand what only the plan needed.
    pub fields: Vec<Field>,
    /// Plans inside it, by the positions that [`sql::expression::ExprKind::SubPlan`] and [`Operator::Shared`] have.
    pub sub_plans: Vec<SubPlan>,
}

/// A plan inside a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct SubPlan {
    /// What delivers its rows.
    pub root: Node,
    /// Whether its rows depend on the row that asks for it. Otherwise it is carried out once in a statement, when it is
    /// wanted first.
    pub is_correlated: bool,
}

/// A node of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// What it does, with its inputs.
    pub operator: Operator,
    /// What it delivers of each row. Aggregates stand only in the outputs, keys and filter of [`Operator::Aggregate`].
    pub outputs: Vec<Expr>,
    /// Rows that PostgreSQL expects each time.
    pub rows: u64,
}

/// What a node does.
#[derive(Clone, PartialEq, Debug)]
pub enum Operator {
    /// Reads rows of a table.
    Scan(Scan),
    /// Puts rows of two inputs together.
    Join(Join),
    /// Sorts its input.
    Sort {
        /// By what, over the input.
        keys: Vec<SortKey>,
        /// The rows.
        input: Box<Node>,
    },
    /// Leaves out the first rows, and those beyond a number. Both may be null, and then say nothing.
    Limit {
        /// Most rows; an error if it is negative.
        limit: Option<Expr>,
        /// Rows left out; an error if it is negative.
        offset: Option<Expr>,
        /// The rows.
        input: Box<Node>,
    },
    /// Counts, sums, and so on. The argument of an aggregate is an expression over the input.
    Aggregate {
        /// What groups have in common, over the input; no keys: there is one group, of no rows if there is no input.
        keys: Vec<Expr>,
        /// Whether equal keys follow each other in the input; groups then come in its order.
        is_sorted: bool,
        /// Which groups are wanted.
        filter: Option<Expr>,
        /// The rows.
        input: Box<Node>,
    },
    /// Leaves out rows that equal the one before.
    Unique {
        /// The rows, sorted.
        input: Box<Node>,
    },
    /// Computes its outputs of each row of its input, or once.
    Project {
        /// Asked once, before the input is read; over nothing.
        condition: Option<Expr>,
        /// Which rows are wanted.
        filter: Option<Expr>,
        /// The rows; one without columns if there is no input.
        input: Option<Box<Node>>,
    },
    /// Rows written out, over nothing.
    Values {
        /// The rows.
        rows: Vec<Vec<Expr>>,
        /// Which of them are wanted.
        filter: Option<Expr>,
    },
    /// The elements of arrays side by side, shorter ones filled with nulls.
    Unnest {
        /// The arrays.
        arrays: Vec<Expr>,
        /// Which rows are wanted.
        filter: Option<Expr>,
    },
    /// Numbers in a row: `generate_series`.
    Series {
        /// From, to, and by how much if it is said.
        bounds: Vec<Expr>,
        /// Which rows are wanted.
        filter: Option<Expr>,
    },
    /// The rows of one input after the other.
    Append {
        /// The inputs.
        inputs: Vec<Node>,
    },
    /// The rows of several sorted inputs in their order.
    MergeAppend {
        /// The order, over what the inputs deliver.
        keys: Vec<SortKey>,
        /// The inputs.
        inputs: Vec<Node>,
    },
    /// The rows of a plan that several nodes read.
    Shared {
        /// The sub plan.
        plan: usize,
        /// Which rows are wanted.
        filter: Option<Expr>,
    },
    /// Makes sure at commit that the rows of the scans below that are for change have not changed.
    Lock {
        /// The scans' table.
        table: usize,
        /// Whether others may lock the same rows.
        strength: RowLock,
        /// The rows.
        input: Box<Node>,
    },
    /// Inserts rows.
    Insert(Insert),
    /// Changes rows.
    Update(Update),
    /// Deletes rows.
    Delete(Delete),
}

/// A way to rows of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Scan {
    /// The table by position in the catalog.
    pub table: usize,
    /// How rows are found.
    pub access: Access,
    /// What is asked of them besides; all that the access does not see to by itself.
    pub filter: Option<Expr>,
    /// Whether another node counts on the order of the index.
    pub is_ordered: bool,
    /// Whether the statement changes, deletes or locks the rows.
    pub is_for_change: bool,
}

/// How rows are found. Expressions are over levels 1 and above and variables, and have the types of the columns that they
/// are compared to, of texts without regard to length: one that is too long for the column finds nothing. So does a null.
#[derive(Clone, PartialEq, Debug)]
pub enum Access {
    /// One row by the values of the whole primary key, in the order of its columns.
    Key(Vec<Expr>),
    /// Rows by the values of all columns of an index: equal ones only, so that a hash table can serve it.
    Lookup {
        /// The index, by position in [`sql::Table::indexes`].
        index: usize,
        /// The values.
        key: Vec<Expr>,
    },
    /// Rows in the order of an index.
    Range(Range),
    /// Rows that any of several accesses finds, each once, in no order.
    Any(Vec<Access>),
    /// As an access for each element of an array, which stands in it as [`sql::expression::ExprKind::Element`].
    /// Rows come once, however often the array has an element; if the scan is ordered, in the order of the index.
    Each {
        /// The array.
        array: Expr,
        /// The access.
        access: Box<Access>,
        /// From the greatest element to the least, which a key by itself does not tell.
        is_backward: bool,
    },
    /// All rows.
    All,
}

/// A range of an index.
#[derive(Clone, PartialEq, Debug)]
pub struct Range {
    /// The index, by position in [`sql::Table::indexes`]; none for the primary key.
    pub index: Option<usize>,
    /// Values of its first columns.
    pub equal: Vec<Expr>,
    /// Where the next column begins.
    pub low: Option<Bound>,
    /// Where it ends.
    pub high: Option<Bound>,
    /// From the end to the beginning.
    pub is_backward: bool,
}

/// An end of a range.
#[derive(Clone, PartialEq, Debug)]
pub struct Bound {
    /// The value.
    pub value: Expr,
    /// Whether the value itself is inside.
    pub is_included: bool,
}

/// What rows are sorted by.
#[derive(Clone, PartialEq, Debug)]
pub struct SortKey {
    /// The value.
    pub value: Expr,
    /// From the greatest to the least.
    pub descending: bool,
    /// Nulls before everything else.
    pub nulls_first: bool,
}

/// A join.
#[derive(Clone, PartialEq, Debug)]
pub struct Join {
    /// How partners are found.
    pub method: JoinMethod,
    /// What happens to rows without partners.
    pub kind: JoinKind,
    /// What makes partners, beyond what the method compares.
    pub join_filter: Option<Expr>,
    /// What is asked of joined rows.
    pub filter: Option<Expr>,
    /// The input that is read once.
    pub outer: Box<Node>,
    /// The input that is asked for partners.
    pub inner: Box<Node>,
}

/// How a join finds partners.
#[derive(Clone, PartialEq, Debug)]
pub enum JoinMethod {
    /// Carries out the inner input for each outer row, which is its level 1.
    NestedLoop,
    /// Looks for equal values: an expression over source 0 and one over source 1 each. Nulls equal nothing. Inputs of
    /// a merge join are sorted by them, and its result is.
    Equal {
        /// What is compared.
        pairs: Vec<(Expr, Expr)>,
        /// Whether rows have to come in the order of the outer input: a hash join keeps that, a merge join is one.
        is_ordered: bool,
    },
}

/// What a join does with rows that have no partner, and with several partners.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// Only pairs.
    Inner,
    /// And outer rows without partner.
    Left,
    /// And inner rows without partner.
    Right,
    /// And both.
    Full,
    /// Outer rows that have a partner, once.
    Semi,
    /// Outer rows that have none.
    Anti,
}

/// New rows. The node's outputs are over the rows as they were inserted.
#[derive(Clone, PartialEq, Debug)]
pub struct Insert {
    /// The table by position in the catalog.
    pub table: usize,
    /// The value of each of its columns, over the input, defaults included and converted to the column's type. The hidden
    /// key has none.
    pub values: Vec<Expr>,
    /// Whether a row whose key exists is left out; otherwise that is an error.
    pub ignores_duplicates: bool,
    /// The rows.
    pub input: Box<Node>,
}

/// Changes to rows. The node's outputs are over the rows as they are afterwards (source 0), and what the input delivers
/// (source 1).
#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    /// The table by position in the catalog; exactly one scan below is for change.
    pub table: usize,
    /// Columns by position and their new values, over the rows as they are (source 0), and what the input delivers (source 1).
    pub assignments: Vec<(usize, Expr)>,
    /// The rows.
    pub input: Box<Node>,
}

/// Rows to go. The node's outputs are over the rows as they were (source 0), and what the input delivers (source 1).
#[derive(Clone, PartialEq, Debug)]
pub struct Delete {
    /// The table by position in the catalog; exactly one scan below is for change.
    pub table: usize,
    /// The rows.
    pub input: Box<Node>,
}
