//! Joins.

use super::Lowering;
use super::access::conjuncts;
use super::error::LowerError;
use super::node::Lowered;
use super::scope::Scope;
use crate::node::{Join, JoinKind, JoinMethod, Operator};
use postgres_plan::Expression;
use postgres_plan::node;
use sql::expression::{BinaryOperator, Expr, ExprKind};

/// Two expressions that the join compares.
type Pair = (Expr, Expr);

impl<'a> Lowering<'a> {
    pub(super) fn join(
        &mut self,
        around: Option<&Scope<'_>>,
        node: &'a node::Node,
        join: &'a node::Join,
        is_ordered: bool,
    ) -> Lowered {
        // PostgreSQL's hash join guarantees no order. A merge join needs sorted inputs, whether or
        // not its own order matters.
        let (outer_ordered, inner_ordered) = match join.method {
            node::JoinMethod::NestedLoop => (is_ordered, false),
            node::JoinMethod::Hash { .. } => (false, false),
            node::JoinMethod::Merge { .. } => (true, true),
        };
        let (outer, outer_row) = self.node(around, &join.outer, outer_ordered)?;
        let outer_row = [outer_row];
        let inside = Scope { around, sources: &outer_row };
        let inner_around = match join.method {
            node::JoinMethod::NestedLoop => Some(&inside),
            _ => around,
        };
        let (inner, inner_row) = self.node(inner_around, &join.inner, inner_ordered)?;
        let [outer_row] = outer_row;
        let sources = [outer_row, inner_row];
        let scope = Scope { around, sources: &sources };
        let method = match &join.method {
            node::JoinMethod::NestedLoop => JoinMethod::NestedLoop,
            node::JoinMethod::Hash { condition } => JoinMethod::Equal {
                pairs: self.pairs(&scope, condition.as_ref())?,
                is_ordered: false,
            },
            node::JoinMethod::Merge { condition } => JoinMethod::Equal {
                pairs: self.pairs(&scope, condition.as_ref())?,
                is_ordered: true,
            },
        };
        let kind = match join.kind {
            node::JoinKind::Inner => JoinKind::Inner,
            node::JoinKind::Left => JoinKind::Left,
            node::JoinKind::Right => JoinKind::Right,
            node::JoinKind::Full => JoinKind::Full,
            node::JoinKind::Semi => JoinKind::Semi,
            node::JoinKind::Anti => JoinKind::Anti,
        };
        if method == JoinMethod::NestedLoop && matches!(kind, JoinKind::Right | JoinKind::Full) {
            return self
                .error("a nested loop cannot return unmatched inner rows; create the plans again");
        }
        let join_filter = self.condition(&scope, join.join_filter.as_ref())?;
        let filter = self.condition(&scope, join.filter.as_ref())?;
        let (outer, inner) = (Box::new(outer), Box::new(inner));
        let operator = Operator::Join(Join { method, kind, join_filter, filter, outer, inner });
        self.finish(&scope, node, operator)
    }

    /// Returns the pairs that the join compares: an expression over the outer row and one over the
    /// inner row.
    fn pairs(
        &mut self,
        scope: &Scope<'_>,
        condition: Option<&Expression>,
    ) -> Result<Vec<Pair>, LowerError> {
        let mut pairs = Vec::new();
        for condition in condition.map(conjuncts).unwrap_or_default() {
            let compared = self.typed(scope, condition)?;
            let pair = match compared.kind {
                ExprKind::Binary { operator: BinaryOperator::Equal, left, right } => {
                    match (is_of(&left, 0), is_of(&right, 1), is_of(&left, 1), is_of(&right, 0)) {
                        (true, true, _, _) => Some((*left, *right)),
                        (_, _, true, true) => Some((*right, *left)),
                        _ => None,
                    }
                }
                _ => None,
            };
            match pair {
                Some(pair) => pairs.push(pair),
                None => return self.error(format!("the join condition `{condition}` is not an equality between both sides; create the plans again")),
            }
        }
        if pairs.is_empty() {
            return self.error("the join has no condition; create the plans again");
        }
        Ok(pairs)
    }
}

/// Whether all columns of this query in `expr` come from input `wanted`.
fn is_of(expr: &Expr, wanted: usize) -> bool {
    let mut is_of = true;
    expr.visit(&mut |part| {
        if let ExprKind::Column(column) = &part.kind {
            is_of &= column.level > 0 || column.source == wanted;
        }
    });
    is_of
}
