//! Why a statement cannot be lowered.

use postgres_plan::Operator;
use std::fmt;

/// Why a statement cannot be lowered, with its location and what to write instead.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct LowerError {
    pub procedure: String,
    /// The line of `procedures.sql` at which the statement begins.
    pub line: u32,
    /// The statement's number in the procedure, from 1.
    pub number: u32,
    /// The plan's node with its ancestors; empty if the error is about the whole statement.
    pub node: String,
    pub sentence: String,
}

impl fmt::Display for LowerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { procedure, line, number, node, sentence } = self;
        write!(formatter, "procedures.sql:{line}: in the plan of {procedure}.{number}")?;
        if !node.is_empty() {
            write!(formatter, ", node {node}")?;
        }
        write!(formatter, ": {sentence}")
    }
}

/// Returns PostgreSQL's name of a node.
pub(super) fn title(operator: &Operator) -> &'static str {
    match operator {
        Operator::IndexScan(scan) if scan.index_only => "Index Only Scan",
        Operator::IndexScan(_) => "Index Scan",
        Operator::BitmapHeapScan { .. } => "Bitmap Heap Scan",
        Operator::SequentialScan { .. } => "Seq Scan",
        Operator::TidScan { .. } => "Tid Scan",
        Operator::Join(join) => match join.method {
            postgres_plan::node::JoinMethod::NestedLoop => "Nested Loop",
            postgres_plan::node::JoinMethod::Hash { .. } => "Hash Join",
            postgres_plan::node::JoinMethod::Merge { .. } => "Merge Join",
        },
        Operator::Hash { .. } => "Hash",
        Operator::Sort { .. } => "Sort",
        Operator::Limit { .. } => "Limit",
        Operator::Aggregate { .. } => "Aggregate",
        Operator::Group { .. } => "Group",
        Operator::Unique { .. } => "Unique",
        Operator::Result { .. } => "Result",
        Operator::ProjectSet { .. } => "ProjectSet",
        Operator::ValuesScan { .. } => "Values Scan",
        Operator::Append { .. } => "Append",
        Operator::MergeAppend { .. } => "Merge Append",
        Operator::Materialize { .. } => "Materialize",
        Operator::Memoize { .. } => "Memoize",
        Operator::ModifyTable(_) => "ModifyTable",
        Operator::LockRows { .. } => "LockRows",
        Operator::SubqueryScan { .. } => "Subquery Scan",
        Operator::FunctionScan { .. } => "Function Scan",
        Operator::CteScan { .. } => "CTE Scan",
    }
}
