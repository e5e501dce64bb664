//! Statements in the form in which they are carried out: expressions compiled, tables and indexes bound, columns that
//! nobody looks at left out.

use procedure::node::JoinKind;
use txn::IndexId;
use value::{AggregateCall, Formula};

/// An expression.
#[derive(Debug)]
pub(crate) struct Term {
    pub formula: Formula,
    /// Whether it asks for rows of sub plans, which have to be carried out between two evaluations.
    pub asks: bool,
}

/// What a node delivers of each row.
#[derive(Debug)]
pub(crate) enum Outputs {
    /// The input's columns as they are.
    Same,
    /// These.
    List(List),
}

/// Expressions over one row.
#[derive(Debug, Default)]
pub(crate) struct List {
    pub outputs: Vec<Output>,
    /// Whether one of them asks for sub plans.
    pub asks: bool,
}

/// An expression over a row, with a short cut for the most frequent ones.
#[derive(Debug)]
pub(crate) enum Output {
    /// A column of source 0.
    Column(usize),
    /// A column of source 1.
    Inner(usize),
    /// Nobody looks at it.
    Unused,
    /// Anything else.
    Term(Term),
}

/// A statement.
#[derive(Debug)]
pub(crate) struct Statement {
    pub root: Node,
    pub plans: Vec<SubPlan>,
    /// Whether it changes rows.
    pub writes: bool,
    pub way: Way,
    /// Its place among those whose rows are read ahead.
    pub ahead: Option<usize>,
    /// Variables that are looked at for what is delivered.
    pub looked_at: Vec<usize>,
}

/// How a statement is carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// It reads, changes or deletes one row by its key, without sub plans, and nothing else has to be looked at.
    Keyed,
    /// It adds one row, without sub plans, and nothing else has to be looked at.
    Adds,
    /// The same, of a table that nothing else in the procedure looks at: the row may be added later, with others.
    AddsLater,
    /// As its nodes say.
    General,
}

/// A plan inside a statement.
#[derive(Debug)]
pub(crate) struct SubPlan {
    pub root: Node,
    /// Most rows that whoever asks for it looks at.
    pub wanted: usize,
}

/// A node of a plan.
#[derive(Debug)]
pub(crate) struct Node {
    pub operator: Operator,
    pub outputs: Outputs,
    /// Columns that it delivers.
    pub width: usize,
    /// Correlated sub plans that its expressions ask for: anew for each row.
    pub asked: Vec<usize>,
}

/// What a node does, see [`procedure::Operator`].
#[derive(Debug)]
pub(crate) enum Operator {
    Scan(Scan),
    Join(Box<Join>),
    Sort { keys: Vec<SortKey>, input: Box<Node> },
    Limit { limit: Option<Term>, offset: Option<Term>, input: Box<Node> },
    Aggregate(Box<Aggregate>),
    Unique { input: Box<Node> },
    Project { condition: Option<Term>, filter: Option<Term>, input: Option<Box<Node>> },
    Values { rows: Vec<List>, filter: Option<Term> },
    Unnest { arrays: Vec<Term>, filter: Option<Term> },
    Series { bounds: Vec<Term>, filter: Option<Term> },
    Append { inputs: Vec<Node> },
    MergeAppend { keys: Vec<SortKey>, inputs: Vec<Node> },
    Shared { plan: usize, filter: Option<Term> },
    Lock { input: Box<Node> },
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
}

/// A way to rows of a table.
#[derive(Debug)]
pub(crate) struct Scan {
    /// The table, by position among those that are bound.
    pub table: usize,
    pub access: Access,
    pub filter: Option<Term>,
    pub is_for_change: bool,
    /// Whether columns are looked at that are kept out of line.
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

/// A range of an index, or of the primary key.
#[derive(Debug)]
pub(crate) struct Range {
    pub index: Option<IndexId>,
    /// Columns of the index.
    pub columns: Vec<usize>,
    /// Words of its keys.
    pub words: u32,
    pub equal: Vec<Term>,
    pub low: Option<Bound>,
    pub high: Option<Bound>,
    pub is_backward: bool,
}

/// An end of a range.
#[derive(Debug)]
pub(crate) struct Bound {
    pub value: Term,
    pub is_included: bool,
}

/// What rows are sorted by.
#[derive(Debug)]
pub(crate) struct SortKey {
    pub value: Output,
    pub descending: bool,
    pub nulls_first: bool,
}

/// A join.
#[derive(Debug)]
pub(crate) struct Join {
    /// Equal values of the outer and the inner row; none for a nested loop.
    pub equal: Option<(List, List)>,
    pub kind: JoinKind,
    pub join_filter: Option<Term>,
    pub filter: Option<Term>,
    pub outer: Node,
    pub inner: Node,
    /// Of a nested loop whose inner rows are found by their keys, without sub plans.
    pub keyed: Option<KeyedInner>,
}

/// The inner rows of a nested loop that are found by their keys.
#[derive(Debug)]
pub(crate) struct KeyedInner {
    /// The column of the table that each column of an inner row is.
    pub columns: Vec<usize>,
}

/// Groups and what is made of each.
#[derive(Debug)]
pub(crate) struct Aggregate {
    pub keys: List,
    pub is_sorted: bool,
    /// Whether it has no keys, and nothing of it asks for sub plans.
    pub is_plain: bool,
    pub calls: Vec<AggregateCall>,
    pub filter: Option<Term>,
    pub input: Node,
}

/// New rows.
#[derive(Debug)]
pub(crate) struct Insert {
    pub table: usize,
    /// The value of each column that SQL sees.
    pub values: List,
    pub ignores_duplicates: bool,
    /// The rows; a single one of nothing if there is no input.
    pub input: Option<Node>,
}

/// Changes to rows.
#[derive(Debug)]
pub(crate) struct Update {
    pub table: usize,
    /// Columns, in the order of `values`.
    pub columns: Vec<usize>,
    pub values: List,
    /// Whether the key or a unique index may change, or checks have to be made: the row is then made as a whole.
    pub is_whole: bool,
    pub input: Node,
}

/// Rows to go.
#[derive(Debug)]
pub(crate) struct Delete {
    pub table: usize,
    pub input: Node,
}
