//! The types of a plan: one variant for each node of PostgreSQL's executor that transactional
//! statements need.
//!
//! A plan does not contain everything about its statement. PostgreSQL prints neither the columns
//! that an `UPDATE` or `INSERT` sets, nor the numbers of `LIMIT` and `OFFSET`, nor the strength of
//! a lock: take them from the statement. The outputs of an `UPDATE`'s child are the new values, in
//! the order of the table's columns, followed by `ctid`. After a query's output columns, its nodes
//! may have further columns for sorting and locking; the statement has the number of output
//! columns. PostgreSQL does not print conversions that it inserts by itself; they follow from the
//! types of both sides.
//!
//! Decision: docs/decisions/0166-what-a-plan-does-not-say-is-not-guessed.md

use crate::expression::{Expression, SortKey};

#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The node that returns the statement's result.
    pub root: Node,
}

/// A node of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// The operator, with its inputs.
    pub operator: Operator,
    pub output: Vec<Expression>,
    /// The planner's estimate.
    pub estimate: Estimate,
    /// Plans that are executed once, at the first use of their value.
    pub init_plans: Vec<SubPlan>,
    /// Plans that are executed for each row that needs their value.
    pub sub_plans: Vec<SubPlan>,
}

/// The planner's estimate for a node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// Cost until the first row, in PostgreSQL's units.
    pub startup_cost: f64,
    /// Cost until the last row.
    pub total_cost: f64,
    pub rows: u64,
    /// Average size of a row.
    pub width_bytes: u32,
}

/// A plan inside a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct SubPlan {
    /// The name: `InitPlan 1`, `SubPlan 2` or `CTE recent`.
    pub name: String,
    /// The numbers of its columns in expressions, see [`Expression::InitPlanOutput`]; empty if
    /// expressions refer to the plan by its name.
    pub delivers: Vec<u32>,
    pub plan: Node,
}

/// A table in a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    pub schema: String,
    pub name: String,
    /// The table's name in expressions.
    pub alias: String,
}

/// The operation of a node.
#[derive(Clone, PartialEq, Debug)]
pub enum Operator {
    /// Reads rows through an index, or only the index.
    IndexScan(IndexScan),
    /// Reads the rows of a bitmap.
    BitmapHeapScan {
        relation: Relation,
        /// The index condition, evaluated again if the bitmap has whole pages.
        recheck: Option<Expression>,
        filter: Option<Expression>,
        bitmap: Bitmap,
    },
    SequentialScan {
        relation: Relation,
        filter: Option<Expression>,
    },
    /// Reads rows by their tuple identifiers.
    TidScan {
        relation: Relation,
        /// The condition with the tuple identifiers.
        condition: Option<Expression>,
        filter: Option<Expression>,
    },
    Join(Join),
    /// Fills the hash table of the hash join above it.
    Hash {
        input: Box<Node>,
    },
    Sort {
        keys: Vec<SortKey>,
        /// Number of leading keys by which the input is already sorted.
        presorted: usize,
        input: Box<Node>,
    },
    /// `LIMIT` and `OFFSET`.
    Limit {
        input: Box<Node>,
    },
    Aggregate {
        strategy: Strategy,
        /// The grouping keys; empty if all rows form one group.
        keys: Vec<Expression>,
        /// The condition of `HAVING`.
        filter: Option<Expression>,
        input: Box<Node>,
    },
    /// Returns one row for each group of a sorted input.
    Group {
        keys: Vec<Expression>,
        /// The condition of `HAVING`.
        filter: Option<Expression>,
        /// Must be sorted.
        input: Box<Node>,
    },
    /// Removes duplicates from a sorted input.
    Unique {
        /// Must be sorted.
        input: Box<Node>,
    },
    /// Computes its output once, or for each row of its input.
    Result {
        /// Evaluated once, before everything else.
        one_time_filter: Option<Expression>,
        /// Evaluated for each row.
        filter: Option<Expression>,
        /// `None` means a single row without columns.
        input: Option<Box<Node>>,
    },
    /// Computes set-returning functions in the output.
    ProjectSet {
        input: Box<Node>,
    },
    /// The rows of a `VALUES` list; only the statement has the list.
    ValuesScan {
        /// The name in expressions.
        alias: String,
        filter: Option<Expression>,
    },
    /// Concatenates the rows of its inputs.
    Append {
        inputs: Vec<Node>,
    },
    /// Merges several sorted inputs.
    MergeAppend {
        keys: Vec<SortKey>,
        inputs: Vec<Node>,
    },
    /// Buffers the rows of its input for repeated reading.
    Materialize {
        input: Box<Node>,
    },
    /// Caches the rows of its input by parameter values.
    Memoize {
        /// The parameters.
        keys: Vec<Expression>,
        /// Whether keys are compared as binary values.
        is_binary: bool,
        input: Box<Node>,
    },
    /// Inserts, updates or deletes.
    ModifyTable(ModifyTable),
    /// Locks each row of its input.
    LockRows {
        input: Box<Node>,
    },
    /// A sub-select in `FROM`.
    SubqueryScan {
        alias: String,
        filter: Option<Expression>,
        input: Box<Node>,
    },
    /// The rows of functions in `FROM`.
    FunctionScan {
        /// The name in expressions.
        alias: String,
        /// The functions with their arguments.
        calls: Vec<Expression>,
        filter: Option<Expression>,
    },
    /// The rows of a `WITH` query, which is an init plan of a node above.
    CteScan {
        /// The name of the `WITH` query.
        query: String,
        /// The name in expressions.
        alias: String,
        filter: Option<Expression>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub struct IndexScan {
    pub relation: Relation,
    /// The index; a primary key's default name is `TABLE_pkey`.
    pub index: String,
    pub direction: Direction,
    /// Whether the index has all required columns.
    pub index_only: bool,
    /// The index condition; `None` reads the whole index.
    pub condition: Option<Expression>,
    /// Distances by which an index sorts, for indexes that support it.
    pub order_by: Vec<Expression>,
    /// Evaluated for each row.
    pub filter: Option<Expression>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    Forward,
    Backward,
}

/// A set of row positions.
#[derive(Clone, PartialEq, Debug)]
pub struct Bitmap {
    pub source: BitmapSource,
    /// The planner's estimate.
    pub estimate: Estimate,
}

/// The source of a bitmap.
#[derive(Clone, PartialEq, Debug)]
pub enum BitmapSource {
    Index {
        index: String,
        /// The index condition.
        condition: Option<Expression>,
    },
    /// Intersection.
    And(Vec<Bitmap>),
    /// Union.
    Or(Vec<Bitmap>),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Join {
    /// The join algorithm.
    pub method: JoinMethod,
    /// The join type.
    pub kind: JoinKind,
    /// Whether each outer row has at most one inner match.
    pub inner_unique: bool,
    /// Join condition beyond the one of the algorithm.
    pub join_filter: Option<Expression>,
    /// Evaluated for each joined row.
    pub filter: Option<Expression>,
    /// The input that is read once.
    pub outer: Box<Node>,
    /// The input that is searched for matches.
    pub inner: Box<Node>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum JoinMethod {
    /// Reads the inner input for each row of the outer one; its conditions may use the outer row's
    /// columns.
    NestedLoop,
    /// Probes a hash table of the inner input.
    Hash {
        /// The equality condition.
        condition: Option<Expression>,
    },
    /// Merges two sorted inputs.
    Merge {
        /// The equality condition.
        condition: Option<Expression>,
    },
}

/// The type of a join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// Matching pairs.
    Inner,
    /// Also outer rows without a match.
    Left,
    /// Also inner rows without a match.
    Right,
    /// Also unmatched rows of both inputs.
    Full,
    /// Outer rows with a match, once each.
    Semi,
    /// Outer rows without a match.
    Anti,
}

/// The algorithm of an aggregation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// One group.
    Plain,
    /// The input is sorted by the grouping keys.
    Sorted,
    Hashed,
}

/// An `INSERT`, `UPDATE` or `DELETE`.
#[derive(Clone, PartialEq, Debug)]
pub struct ModifyTable {
    pub operation: Operation,
    pub relation: Relation,
    /// `ON CONFLICT`; `None` if a conflict is an error.
    pub conflict: Option<Conflict>,
    pub input: Box<Node>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    Insert,
    Update,
    Delete,
}

/// `ON CONFLICT`.
#[derive(Clone, PartialEq, Debug)]
pub struct Conflict {
    /// Whether the existing row is updated; otherwise it is unchanged.
    pub updates: bool,
    /// The unique indexes of the conflict; any if empty.
    pub indexes: Vec<String>,
    /// The condition of `DO UPDATE`.
    pub filter: Option<Expression>,
}

impl Node {
    /// The nodes that provide rows to this one, outer before inner; without init plans and sub
    /// plans.
    pub fn inputs(&self) -> Vec<&Node> {
        match &self.operator {
            Operator::Join(join) => vec![&join.outer, &join.inner],
            Operator::Append { inputs } | Operator::MergeAppend { inputs, .. } => {
                inputs.iter().collect()
            }
            Operator::ModifyTable(modify) => vec![&modify.input],
            Operator::Result { input, .. } => input.as_deref().into_iter().collect(),
            Operator::Hash { input }
            | Operator::Sort { input, .. }
            | Operator::Limit { input }
            | Operator::Aggregate { input, .. }
            | Operator::Group { input, .. }
            | Operator::Unique { input }
            | Operator::ProjectSet { input }
            | Operator::Materialize { input }
            | Operator::Memoize { input, .. }
            | Operator::LockRows { input }
            | Operator::SubqueryScan { input, .. } => vec![input],
            Operator::IndexScan(_)
            | Operator::BitmapHeapScan { .. }
            | Operator::SequentialScan { .. }
            | Operator::TidScan { .. }
            | Operator::ValuesScan { .. }
            | Operator::FunctionScan { .. }
            | Operator::CteScan { .. } => vec![],
        }
    }

    /// Calls `visit` with this node and all nodes below it: first init plans, then inputs, then sub
    /// plans.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Node)) {
        visit(self);
        self.init_plans.iter().for_each(|init| init.plan.walk(visit));
        self.inputs().into_iter().for_each(|input| input.walk(visit));
        self.sub_plans.iter().for_each(|sub| sub.plan.walk(visit));
    }

    /// The table that this node reads or changes.
    pub fn relation(&self) -> Option<&Relation> {
        match &self.operator {
            Operator::IndexScan(scan) => Some(&scan.relation),
            Operator::BitmapHeapScan { relation, .. }
            | Operator::SequentialScan { relation, .. }
            | Operator::TidScan { relation, .. } => Some(relation),
            Operator::ModifyTable(modify) => Some(&modify.relation),
            _ => None,
        }
    }
}
