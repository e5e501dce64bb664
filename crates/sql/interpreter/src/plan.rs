//! The executable form of statements: expressions are compiled, tables and indexes bound, unused
//! columns dropped.
//!
//! Decision: docs/decisions/0184-a-procedure-is-a-list-of-steps-with-jumps-and-a-plan-node.md

use crate::row_lock::RowLockMode;
use procedure::node::JoinKind;
use sql::query::IfLocked;
use sql::window::WindowFunction;
use sql_value::{AggregateCall, Formula};
use txn::IndexId;

#[derive(Debug)]
pub(crate) struct Term {
    pub formula: Formula,
    /// Whether it uses sub plans, which must be executed between two evaluations.
    pub uses_sub_plans: bool,
}

/// The outputs of a node.
#[derive(Debug)]
pub(crate) enum Outputs {
    /// The input's columns, unchanged.
    Same,
    List(List),
}

#[derive(Debug, Default)]
pub(crate) struct List {
    pub outputs: Vec<Output>,
    /// Whether one of them uses sub plans.
    pub uses_sub_plans: bool,
}

/// An output expression, with fast paths for columns.
#[derive(Debug)]
pub(crate) enum Output {
    /// A column of source 0.
    Column(usize),
    /// A column of source 1.
    Inner(usize),
    /// Not used.
    Unused,
    Term(Term),
}

#[derive(Debug)]
pub(crate) struct Statement {
    pub root: Node,
    pub plans: Vec<SubPlan>,
    pub writes: bool,
    pub execution: Execution,
    /// Its position among the statements that are read ahead.
    pub ahead: Option<usize>,
    /// Variables that its outputs read.
    pub looked_at: Vec<usize>,
    /// Tables that it reads; noted only if it calls routines.
    pub reads: Vec<usize>,
    /// Maximum number of nodes that wait for each other.
    pub height: usize,
    /// The routines that it calls and that see the rows from before it.
    pub stable: Vec<String>,
}

/// How a statement is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Execution {
    /// Reads, updates or deletes one row by its key, without sub plans or checks on other rows.
    Keyed,
    /// Inserts one row, without sub plans or checks on other rows.
    Adds,
    /// As `Adds`, into a table that no other statement of the procedure uses: the row may be
    /// inserted later, in a batch.
    AddsLater,
    /// As a tree of nodes.
    General,
}

#[derive(Debug)]
pub(crate) struct SubPlan {
    pub root: Node,
    /// Maximum number of rows that its user needs.
    pub wanted: usize,
}

/// A node of a plan.
#[derive(Debug)]
pub(crate) struct Node {
    /// Its number in the statement, in the order of [`procedure::Node::walk`]: first the nodes of
    /// the root, then those of each sub plan.
    pub number: usize,
    pub operator: Operator,
    pub outputs: Outputs,
    /// Columns that it delivers.
    pub width: usize,
    /// Correlated sub plans that its expressions use; they are executed again for each row.
    pub correlated: Vec<usize>,
}

/// The operation of a node, see [`procedure::Operator`].
#[derive(Debug)]
pub(crate) enum Operator {
    Scan(Scan),
    Join(Box<Join>),
    Sort {
        keys: Vec<SortKey>,
        input: Box<Node>,
    },
    Limit {
        limit: Option<Term>,
        offset: Option<Term>,
        input: Box<Node>,
    },
    Aggregate(Box<Aggregate>),
    Unique {
        input: Box<Node>,
    },
    Project {
        condition: Option<Term>,
        filter: Option<Term>,
        input: Option<Box<Node>>,
    },
    Values {
        rows: Vec<List>,
        filter: Option<Term>,
    },
    Unnest {
        arrays: Vec<Term>,
        filter: Option<Term>,
    },
    Series {
        bounds: Vec<Term>,
        filter: Option<Term>,
    },
    Call(Box<RoutineCall>),
    Recursive(Box<Recursion>),
    WorkTable {
        number: usize,
        filter: Option<Term>,
    },
    Append {
        inputs: Vec<Node>,
    },
    MergeAppend {
        keys: Vec<SortKey>,
        inputs: Vec<Node>,
    },
    SetOperation(Box<SetOperation>),
    Window(Box<Window>),
    Shared {
        plan: usize,
        filter: Option<Term>,
    },
    /// Its rows have no ids, so that a join above does not take them for those of another table,
    /// unless it `keeps_ids` for the next lock.
    Lock {
        mode: RowLockMode,
        if_locked: IfLocked,
        keeps_ids: bool,
        input: Box<Node>,
    },
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
}

/// A query that reads its own rows.
#[derive(Debug)]
pub(crate) struct Recursion {
    /// By which the step refers to it.
    pub number: usize,
    /// Whether duplicates are kept.
    pub keeps_all: bool,
    pub first: Node,
    pub step: Node,
    pub filter: Option<Term>,
}

/// A call of a routine of the catalog.
#[derive(Debug)]
pub(crate) struct RoutineCall {
    pub routine: String,
    pub arguments: Vec<Term>,
    pub filter: Option<Term>,
    pub is_volatile: bool,
    /// Whether its rows are kept until the end of the statement: they depend on no row.
    pub is_kept: bool,
}

/// A scan of a table.
#[derive(Debug)]
pub(crate) struct Scan {
    /// Position among the bound tables.
    pub table: usize,
    pub access: Access,
    pub filter: Option<Term>,
    pub is_for_change: bool,
    /// Whether it uses columns that are stored out of line.
    pub reads_long: bool,
}

/// How rows are found, see [`procedure::Access`].
#[derive(Debug)]
pub(crate) enum Access {
    Key(Vec<Term>),
    Lookup { index: IndexId, columns: Vec<usize>, key: Vec<Term> },
    Range(Range),
    Any(Vec<Access>),
    Each { array: Term, access: Box<Access>, is_backward: bool },
    All,
}

/// A range scan of an index, or of the primary key.
#[derive(Debug)]
pub(crate) struct Range {
    pub index: Option<IndexId>,
    pub columns: Vec<usize>,
    /// The row's columns in the keys of the index, see [`crate::bind::BoundIndex`].
    pub stored: Vec<usize>,
    /// Words per key.
    pub words: u32,
    pub equal: Vec<Term>,
    pub low: Option<Bound>,
    pub high: Option<Bound>,
    pub is_backward: bool,
    /// Whether rows must have the order of their values where digests do not tell it.
    pub sorts_ties: bool,
}

/// A bound of a range.
#[derive(Debug)]
pub(crate) struct Bound {
    pub value: Term,
    pub is_included: bool,
}

#[derive(Debug)]
pub(crate) struct SortKey {
    pub value: Output,
    pub descending: bool,
    pub nulls_first: bool,
}

#[derive(Debug)]
pub(crate) struct Join {
    /// The expressions over outer and inner rows that must be equal; `None` for a nested loop.
    pub equal: Option<(List, List)>,
    pub kind: JoinKind,
    pub join_filter: Option<Term>,
    pub filter: Option<Term>,
    pub outer: Node,
    pub inner: Node,
    /// Set if a nested loop finds its inner rows by key, without sub plans.
    pub keyed: Option<KeyedInner>,
}

/// How a nested loop finds its inner rows by key.
#[derive(Debug)]
pub(crate) struct KeyedInner {
    /// The table's column for each column of an inner row.
    pub columns: Vec<usize>,
}

#[derive(Debug)]
pub(crate) struct Aggregate {
    pub keys: List,
    pub is_sorted: bool,
    /// Whether it has no keys, and does not use sub plans.
    pub is_plain: bool,
    pub calls: Vec<AggregateCall>,
    pub filter: Option<Term>,
    pub input: Node,
}

/// `INTERSECT` or `EXCEPT`.
#[derive(Debug)]
pub(crate) struct SetOperation {
    /// Whether it keeps the rows that the right input does not have.
    pub is_except: bool,
    /// Whether duplicates are kept.
    pub all: bool,
    pub left: Node,
    pub right: Node,
}

/// Window functions with the same partition and order.
#[derive(Debug)]
pub(crate) struct Window {
    /// Columns of the input.
    pub partition: Vec<usize>,
    /// Columns of the input.
    pub order: Vec<usize>,
    /// Whether the first key of the order descends.
    pub descending: bool,
    pub calls: Vec<WindowCall>,
    pub input: Node,
}

/// A window function.
#[derive(Debug)]
pub(crate) struct WindowCall {
    pub function: WindowFunction,
    pub arguments: Vec<Output>,
    /// Set if it is an aggregate.
    pub aggregate: Option<AggregateCall>,
    pub unit: WindowUnit,
    pub start: WindowBound,
    pub end: WindowBound,
}

/// The unit of a frame, see [`sql::window::FrameUnit`].
#[derive(Debug)]
pub(crate) enum WindowUnit {
    Rows,
    Groups,
    Range(Option<WindowRange>),
}

/// The key of a frame of a range, and its values at the bounds.
#[derive(Debug)]
pub(crate) struct WindowRange {
    pub key: Output,
    pub start: Option<Output>,
    pub end: Option<Output>,
}

/// A bound of a frame.
#[derive(Debug)]
pub(crate) enum WindowBound {
    Unbounded,
    CurrentRow,
    Preceding(Term),
    Following(Term),
}

#[derive(Debug)]
pub(crate) struct Insert {
    pub table: usize,
    /// The values of the columns that are visible to SQL.
    pub values: List,
    pub ignores_duplicates: bool,
    pub update: Option<Box<ConflictUpdate>>,
    /// `None` for a single row without columns.
    pub input: Option<Node>,
    /// The number of the node of that row.
    pub row: usize,
}

/// The update of the row that has the key of a row to be inserted.
#[derive(Debug)]
pub(crate) struct ConflictUpdate {
    /// The unique key, by position among the table's indexes; `None` is the primary key.
    pub index: Option<usize>,
    /// Positions of columns, in the order of `values`.
    pub columns: Vec<usize>,
    pub values: List,
    pub filter: Option<Term>,
    /// The mode of the locks that it takes.
    pub mode: RowLockMode,
}

#[derive(Debug)]
pub(crate) struct Update {
    pub table: usize,
    /// Positions of columns, in the order of `values`.
    pub columns: Vec<usize>,
    pub values: List,
    /// Whether the update may change the primary key or a unique index, or must be checked: it then
    /// builds the whole new row.
    pub is_whole: bool,
    /// The mode of the locks that it takes.
    pub mode: RowLockMode,
    pub input: Node,
}

#[derive(Debug)]
pub(crate) struct Delete {
    pub table: usize,
    pub input: Node,
}
