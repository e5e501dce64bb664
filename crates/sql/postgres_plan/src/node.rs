//! Plans as types: one variant for each node of PostgreSQL's executor that statements of transactions need.
//!
//! A plan alone does not say all that its statement does. PostgreSQL prints neither the columns that an `UPDATE` sets or an
//! `INSERT` fills, nor the numbers behind `LIMIT` and `OFFSET`, nor the strength of a lock: take them from the statement.
//! The outputs of an `UPDATE`'s child are the new values, in the order of the table's columns, and then `ctid`. Behind the
//! columns that a query delivers, its nodes may have more that it sorts by or locks with: the statement tells how many.
//! Conversions that PostgreSQL inserts by itself are not printed either; they follow from the types of both sides.
//!
//! Decision: docs/decisions/0166-what-a-plan-does-not-say-is-not-guessed.md

use crate::expression::{Expression, SortKey};

/// A plan of a statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The node that delivers the statement's result.
    pub root: Node,
}

/// A node of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// What it does, with its inputs.
    pub operator: Operator,
    /// What it delivers for each row.
    pub output: Vec<Expression>,
    /// What the planner expects.
    pub estimate: Estimate,
    /// Plans that are carried out once, when their value is wanted first.
    pub init_plans: Vec<SubPlan>,
    /// Plans that are carried out for each row that wants their value.
    pub sub_plans: Vec<SubPlan>,
}

/// What the planner expects of a node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// Cost up to the first row, in PostgreSQL's units.
    pub startup_cost: f64,
    /// Cost up to the last row.
    pub total_cost: f64,
    /// Rows.
    pub rows: u64,
    /// Bytes of a row.
    pub width_bytes: u32,
}

/// A plan inside a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct SubPlan {
    /// Its name, such as `InitPlan 1`, `SubPlan 2` or `CTE recent`.
    pub name: String,
    /// The numbers by which expressions name its columns, see [`Expression::InitPlanOutput`]; empty where they name
    /// the plan as a whole.
    pub delivers: Vec<u32>,
    /// The plan.
    pub plan: Node,
}

/// A table in a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    /// Its schema.
    pub schema: String,
    /// The table.
    pub name: String,
    /// What expressions call it.
    pub alias: String,
}

/// What a node does.
#[derive(Clone, PartialEq, Debug)]
pub enum Operator {
    /// Follows an index to rows, or reads the index alone.
    IndexScan(IndexScan),
    /// Reads the rows that a bitmap names.
    BitmapHeapScan {
        /// The table.
        relation: Relation,
        /// What holds for each row, asked again where the bitmap names whole pages.
        recheck: Option<Expression>,
        /// What is asked besides.
        filter: Option<Expression>,
        /// Which rows.
        bitmap: Bitmap,
    },
    /// Reads a whole table.
    SequentialScan {
        /// The table.
        relation: Relation,
        /// Which rows are wanted.
        filter: Option<Expression>,
    },
    /// Reads rows by their places.
    TidScan {
        /// The table.
        relation: Relation,
        /// The places.
        condition: Option<Expression>,
        /// What is asked besides.
        filter: Option<Expression>,
    },
    /// Puts rows of two inputs together.
    Join(Join),
    /// Fills the hash table of the hash join above.
    Hash {
        /// Its rows.
        input: Box<Node>,
    },
    /// Sorts.
    Sort {
        /// By what.
        keys: Vec<SortKey>,
        /// How many of the keys the input is sorted by already.
        presorted: usize,
        /// The rows.
        input: Box<Node>,
    },
    /// Leaves out the first rows, and those beyond a number.
    Limit {
        /// The rows.
        input: Box<Node>,
    },
    /// Counts, sums, and so on.
    Aggregate {
        /// How groups are found.
        strategy: Strategy,
        /// By what they are formed; none if all rows are one group.
        keys: Vec<Expression>,
        /// Which groups are wanted.
        filter: Option<Expression>,
        /// The rows.
        input: Box<Node>,
    },
    /// One row of each run of equal ones.
    Group {
        /// By what they are equal.
        keys: Vec<Expression>,
        /// Which are wanted.
        filter: Option<Expression>,
        /// The rows, sorted.
        input: Box<Node>,
    },
    /// Leaves out repetitions of a row.
    Unique {
        /// The rows, sorted.
        input: Box<Node>,
    },
    /// Computes its output, for each row of its input or once.
    Result {
        /// Asked once, before everything else.
        one_time_filter: Option<Expression>,
        /// Asked of each row.
        filter: Option<Expression>,
        /// The rows; one without columns if there is no input.
        input: Option<Box<Node>>,
    },
    /// Computes functions that deliver several rows.
    ProjectSet {
        /// The rows.
        input: Box<Node>,
    },
    /// The rows of a `VALUES` list, which only the statement shows.
    ValuesScan {
        /// What expressions call it.
        alias: String,
        /// Which rows are wanted.
        filter: Option<Expression>,
    },
    /// The rows of one input after the other.
    Append {
        /// The inputs.
        inputs: Vec<Node>,
    },
    /// The rows of several sorted inputs in their order.
    MergeAppend {
        /// The order.
        keys: Vec<SortKey>,
        /// The inputs.
        inputs: Vec<Node>,
    },
    /// Keeps rows to deliver them again.
    Materialize {
        /// The rows.
        input: Box<Node>,
    },
    /// Keeps rows by the values that they were asked for with.
    Memoize {
        /// Those values.
        keys: Vec<Expression>,
        /// Whether values are compared bit by bit.
        is_binary: bool,
        /// The rows.
        input: Box<Node>,
    },
    /// Inserts, updates or deletes.
    ModifyTable(ModifyTable),
    /// Locks the rows that it passes on.
    LockRows {
        /// The rows.
        input: Box<Node>,
    },
    /// Gives a name to the rows of a query.
    SubqueryScan {
        /// The name.
        alias: String,
        /// Which rows are wanted.
        filter: Option<Expression>,
        /// The query.
        input: Box<Node>,
    },
    /// The rows that functions deliver.
    FunctionScan {
        /// What expressions call it.
        alias: String,
        /// The functions with their arguments.
        calls: Vec<Expression>,
        /// Which rows are wanted.
        filter: Option<Expression>,
    },
    /// The rows of a `WITH` query, which is among the init plans of a node above.
    CteScan {
        /// The query's name.
        query: String,
        /// What expressions call it.
        alias: String,
        /// Which rows are wanted.
        filter: Option<Expression>,
    },
}

/// A scan through an index.
#[derive(Clone, PartialEq, Debug)]
pub struct IndexScan {
    /// The table.
    pub relation: Relation,
    /// The index; that of a primary key is called `TABLE_pkey` unless somebody named it.
    pub index: String,
    /// In which order of the index.
    pub direction: Direction,
    /// Whether the index alone has all that is wanted.
    pub index_only: bool,
    /// What the index is asked for; all of it if nothing.
    pub condition: Option<Expression>,
    /// By what an index that knows distances sorts.
    pub order_by: Vec<Expression>,
    /// What is asked of the rows besides.
    pub filter: Option<Expression>,
}

/// The order in which an index is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    Forward,
    Backward,
}

/// A set of places of rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Bitmap {
    /// How it is made.
    pub source: BitmapSource,
    /// What the planner expects.
    pub estimate: Estimate,
}

/// How a bitmap is made.
#[derive(Clone, PartialEq, Debug)]
pub enum BitmapSource {
    /// From an index.
    Index {
        /// The index.
        index: String,
        /// What it is asked for.
        condition: Option<Expression>,
    },
    /// What all of them have.
    And(Vec<Bitmap>),
    /// What any of them has.
    Or(Vec<Bitmap>),
}

/// A join.
#[derive(Clone, PartialEq, Debug)]
pub struct Join {
    /// How partners are found.
    pub method: JoinMethod,
    /// What happens to rows without partners.
    pub kind: JoinKind,
    /// Whether a row of the outer input has one partner at most.
    pub inner_unique: bool,
    /// What makes partners, beyond what the method compares.
    pub join_filter: Option<Expression>,
    /// What is asked of the joined rows.
    pub filter: Option<Expression>,
    /// The input that is read once.
    pub outer: Box<Node>,
    /// The input that is asked for partners.
    pub inner: Box<Node>,
}

/// How a join finds partners.
#[derive(Clone, PartialEq, Debug)]
pub enum JoinMethod {
    /// Reads the inner input again for each row of the outer one, by whose columns its conditions may go.
    NestedLoop,
    /// Looks into a hash table of the inner input.
    Hash {
        /// What is compared.
        condition: Option<Expression>,
    },
    /// Reads two sorted inputs side by side.
    Merge {
        /// What is compared.
        condition: Option<Expression>,
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

/// How an aggregate finds its groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// There is one group.
    Plain,
    /// The input is sorted by the keys.
    Sorted,
    /// By hashing.
    Hashed,
}

/// A change of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct ModifyTable {
    /// What is done.
    pub operation: Operation,
    /// To which table.
    pub relation: Relation,
    /// What happens to a row that is there already; none if that is an error.
    pub conflict: Option<Conflict>,
    /// The rows.
    pub input: Box<Node>,
}

/// What is done to a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    Insert,
    Update,
    Delete,
}

/// `ON CONFLICT`.
#[derive(Clone, PartialEq, Debug)]
pub struct Conflict {
    /// Whether the row that is there is updated; otherwise it is left alone.
    pub updates: bool,
    /// The unique indexes that find it; none if it is any of them.
    pub indexes: Vec<String>,
    /// Which rows are updated.
    pub filter: Option<Expression>,
}

impl Node {
    /// The nodes that give rows to this one, outer before inner; without init plans and sub plans.
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

    /// Calls `visit` with this node and all below it: first init plans, then inputs, then sub plans.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Node)) {
        visit(self);
        self.init_plans.iter().for_each(|init| init.plan.walk(visit));
        self.inputs().into_iter().for_each(|input| input.walk(visit));
        self.sub_plans.iter().for_each(|sub| sub.plan.walk(visit));
    }

    /// The table that this node reads or changes, if it does.
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
