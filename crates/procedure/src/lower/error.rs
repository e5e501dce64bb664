//! Why a statement cannot be carried out.

use plan::Operator;
use std::fmt;

/// Why a statement cannot be carried out, with its place and what to write instead.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct LowerError {
    /// The procedure.
    pub procedure: String,
    /// The line of `procedures.sql` at which the statement begins.
    pub line: u32,
    /// The statement's number in the procedure, from 1.
    pub number: u32,
    /// The node of the plan, with those above it; empty where it is about the whole.
    pub node: String,
    /// What is wrong, and what to write instead.
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

/// What PostgreSQL calls a node.
pub(super) fn title(operator: &Operator) -> &'static str {
    match operator {
        Operator::IndexScan(scan) if scan.index_only => "Index Only Scan",
        Operator::IndexScan(_) => "Index Scan",
        Operator::BitmapHeapScan { .. } => "Bitmap Heap Scan",
        Operator::SequentialScan { .. } => "Seq Scan",
        Operator::TidScan { .. } => "Tid Scan",
        Operator::Join(join) => match join.method {
            plan::node::JoinMethod::NestedLoop => "Nested Loop",
            plan::node::JoinMethod::Hash { .. } => "Hash Join",
            plan::node::JoinMethod::Merge { .. } => "Merge Join",
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
