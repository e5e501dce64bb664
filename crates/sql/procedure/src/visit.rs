//! Visits inputs and expressions of nodes.

use crate::node::{Access, Join, JoinMethod, Node, Operator, Range, Scan};
use sql::expression::Expr;

impl Node {
    /// Returns the inputs of this node, outer before inner, each with whether it is executed once
    /// per row of a loop.
    pub fn inputs(&self) -> Vec<(&Node, bool)> {
        match &self.operator {
            Operator::Join(join) => {
                let is_loop = join.method == JoinMethod::NestedLoop;
                vec![(&join.outer, false), (&join.inner, is_loop)]
            }
            Operator::SetOperation { left, right, .. } => vec![(left, false), (right, false)],
            Operator::Recursive { first, step, .. } => vec![(first, false), (step, false)],
            Operator::Append { inputs } | Operator::MergeAppend { inputs, .. } => {
                inputs.iter().map(|input| (input, false)).collect()
            }
            Operator::Project { input, .. } => {
                input.iter().map(|input| (&**input, false)).collect()
            }
            Operator::Sort { input, .. }
            | Operator::Limit { input, .. }
            | Operator::Aggregate { input, .. }
            | Operator::Window { input, .. }
            | Operator::Unique { input }
            | Operator::Lock { input, .. } => vec![(input, false)],
            Operator::Insert(insert) => vec![(&insert.input, false)],
            Operator::Update(update) => vec![(&update.input, false)],
            Operator::Delete(delete) => vec![(&delete.input, false)],
            Operator::Scan(_)
            | Operator::Values { .. }
            | Operator::Unnest { .. }
            | Operator::Series { .. }
            | Operator::Call { .. }
            | Operator::WorkTable { .. }
            | Operator::Shared { .. } => vec![],
        }
    }

    /// Visits this node and its descendants, without sub plans: inputs first, in the order in which
    /// they begin to deliver rows.
    pub fn walk<'n>(&'n self, visit: &mut dyn FnMut(&'n Node)) {
        self.inputs().into_iter().for_each(|(input, _)| input.walk(visit));
        visit(self);
    }

    /// Visits the expressions of this node: those of its operator, then its outputs.
    pub fn for_each_expr<'n>(&'n self, visit: &mut dyn FnMut(&'n Expr)) {
        self.operator.for_each_expr(visit);
        self.outputs.iter().for_each(visit);
    }
}

impl Operator {
    fn for_each_expr<'n>(&'n self, visit: &mut dyn FnMut(&'n Expr)) {
        match self {
            Self::Scan(scan) => scan.for_each_expr(visit),
            Self::Join(join) => join.for_each_expr(visit),
            Self::Sort { keys, .. } | Self::MergeAppend { keys, .. } => {
                keys.iter().for_each(|key| visit(&key.value));
            }
            Self::Limit { limit, offset, .. } => limit.iter().chain(offset).for_each(visit),
            Self::Aggregate { keys, filter, .. } => keys.iter().chain(filter).for_each(visit),
            Self::Project { condition, filter, .. } => {
                condition.iter().chain(filter).for_each(visit);
            }
            Self::Values { rows, filter } => rows.iter().flatten().chain(filter).for_each(visit),
            Self::Unnest { arrays: exprs, filter }
            | Self::Series { bounds: exprs, filter }
            | Self::Call { arguments: exprs, filter, .. } => {
                exprs.iter().chain(filter).for_each(visit);
            }
            Self::Shared { filter, .. }
            | Self::Recursive { filter, .. }
            | Self::WorkTable { filter, .. } => filter.iter().for_each(visit),
            Self::Insert(insert) => {
                insert.values.iter().for_each(&mut *visit);
                if let Some(update) = &insert.update {
                    let assigned = update.assignments.iter().map(|(_, value)| value);
                    assigned.chain(&update.filter).for_each(visit);
                }
            }
            Self::Update(update) => {
                update.assignments.iter().for_each(|(_, value)| visit(value));
            }
            Self::Window { calls, .. } => {
                calls.iter().for_each(|call| call.for_each_expr(visit));
            }
            Self::Append { .. }
            | Self::SetOperation { .. }
            | Self::Unique { .. }
            | Self::Lock { .. }
            | Self::Delete(_) => {}
        }
    }
}

impl Scan {
    fn for_each_expr<'n>(&'n self, visit: &mut dyn FnMut(&'n Expr)) {
        self.access.for_each_expr(visit);
        self.filter.iter().for_each(visit);
    }
}

impl Join {
    fn for_each_expr<'n>(&'n self, visit: &mut dyn FnMut(&'n Expr)) {
        if let JoinMethod::Equal { pairs, .. } = &self.method {
            pairs.iter().flat_map(|(outer, inner)| [outer, inner]).for_each(&mut *visit);
        }
        self.join_filter.iter().chain(&self.filter).for_each(visit);
    }
}

impl Access {
    /// Visits the values that find rows.
    pub fn for_each_expr<'n>(&'n self, visit: &mut dyn FnMut(&'n Expr)) {
        match self {
            Self::Key(key) | Self::Lookup { key, .. } => key.iter().for_each(visit),
            Self::Range(Range { equal, low, high, .. }) => {
                let bounds = low.iter().chain(high).map(|bound| &bound.value);
                equal.iter().chain(bounds).for_each(visit);
            }
            Self::Any(accesses) => accesses.iter().for_each(|access| access.for_each_expr(visit)),
            Self::Each { array, access, .. } => {
                visit(array);
                access.for_each_expr(visit);
            }
            Self::All => {}
        }
    }
}
