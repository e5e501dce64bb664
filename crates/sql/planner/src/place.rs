//! Translates expressions of blocks to expressions of nodes.
//!
//! A column of a relation becomes a position in the rows that a node sees; see
//! [`procedure::node`] for the numbering of levels and sources.

use crate::build::Builder;
use crate::error::{Result, refuse};
use crate::expression::all;
use crate::path::Conditions;
use procedure::node::{Node, Operator, SubPlan};
use sql::SqlType;
use sql::expression::{ColumnRef, Expr, ExprKind, SubqueryKind};

/// The columns of a row.
#[derive(Clone, Debug)]
pub(crate) enum Columns {
    /// All columns of a relation, in order.
    Whole(usize),
    /// Relations and columns.
    List(Vec<(usize, usize)>),
}

impl Columns {
    fn position(&self, relation: usize, column: usize) -> Option<usize> {
        match self {
            Self::Whole(own) => (*own == relation).then_some(column),
            Self::List(list) => list.iter().position(|place| *place == (relation, column)),
        }
    }
}

/// The rows that a node's expressions see: its own, then those around it.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'f> {
    pub sources: &'f [Columns],
    pub next: Option<&'f Frame<'f>>,
}

impl<'f> Frame<'f> {
    pub fn new(sources: &'f [Columns], next: Option<&'f Frame<'f>>) -> Self {
        Self { sources, next }
    }

    fn find(&self, relation: usize, column: usize) -> Option<ColumnRef> {
        let mut frame = Some(self);
        let mut level = 0;
        while let Some(here) = frame {
            for (source, columns) in here.sources.iter().enumerate() {
                if let Some(column) = columns.position(relation, column) {
                    return Some(ColumnRef { level, source, column });
                }
            }
            frame = here.next;
            level += 1;
        }
        None
    }
}

impl Builder<'_, '_> {
    /// Translates an expression.
    pub(crate) fn place(&mut self, frame: &Frame<'_>, expr: &Expr) -> Result<Expr> {
        let mut expr = expr.clone();
        self.place_in(frame, &mut expr)?;
        Ok(expr)
    }

    pub(crate) fn place_all<'e>(
        &mut self,
        frame: &Frame<'_>,
        exprs: impl IntoIterator<Item = &'e Expr>,
    ) -> Result<Vec<Expr>> {
        exprs.into_iter().map(|expr| self.place(frame, expr)).collect()
    }

    /// The conjunction of conditions, cheap ones first, otherwise as written.
    pub(crate) fn filter(
        &mut self,
        frame: &Frame<'_>,
        conditions: &Conditions,
    ) -> Result<Option<Expr>> {
        let mut sorted: Vec<_> = conditions.iter().collect();
        sorted.sort_by_key(|condition| condition.operations);
        Ok(all(self.place_all(frame, sorted.into_iter().map(|condition| &condition.expr))?))
    }

    pub(crate) fn place_in(&mut self, frame: &Frame<'_>, expr: &mut Expr) -> Result<()> {
        let mut failed = Ok(());
        expr.for_each_child_mut(&mut |child| {
            if failed.is_ok() {
                failed = self.place_in(frame, child);
            }
        });
        failed?;
        match &mut expr.kind {
            ExprKind::Column(column) => match frame.find(column.source, column.column) {
                Some(found) => *column = found,
                None => return refuse("a sub-select uses a row that is not available to it"),
            },
            ExprKind::SubPlan { plan, kind } => {
                let root = self.block(*plan, Some(frame))?;
                let is_correlated = reach(&self.sub_plans, &root) > 0 || has_effects(&root);
                if let SubqueryKind::In { operand, .. } = kind
                    && let Some(first) = root.outputs.first()
                    && !is_comparable(&operand.sql_type, &first.sql_type)
                {
                    return refuse(
                        "the value before IN has another type than the rows after it; convert it with CAST",
                    );
                }
                self.sub_plans.push(SubPlan { root, is_correlated });
                *plan = self.sub_plans.len() - 1;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether values of the types are compared without a conversion.
fn is_comparable(one: &SqlType, other: &SqlType) -> bool {
    one.base() == other.base()
        || one.is_number() && other.is_number()
        || one.is_text() && other.is_text()
        || one.is_time() && other.is_time()
}

/// The outermost level to which a node refers, not counting its own loops.
pub(crate) fn reach(plans: &[SubPlan], node: &Node) -> u32 {
    let mut reach = 0;
    node.for_each_expr(&mut |expr| {
        expr.visit(&mut |part| match &part.kind {
            ExprKind::Column(column) => reach = reach.max(column.level),
            ExprKind::SubPlan { plan, .. } => {
                // Level 1 of the sub plan is this node's row.
                let inside = plans.get(*plan).map_or(0, |plan| self::reach(plans, &plan.root));
                reach = reach.max(inside.saturating_sub(1));
            }
            _ => {}
        });
    });
    let below = node
        .inputs()
        .into_iter()
        .map(|(input, is_inner)| self::reach(plans, input).saturating_sub(u32::from(is_inner)));
    below.fold(reach, u32::max)
}

/// Whether a plan calls a routine for a value that may differ each time.
fn has_effects(node: &Node) -> bool {
    let is_drawn = |operator: &Operator| {
        matches!(operator, Operator::Call { is_volatile: true, is_value: true, .. })
    };
    let mut found = false;
    node.walk(&mut |node| found |= is_drawn(&node.operator));
    found
}

/// The columns of a row, as expressions over it.
pub(crate) fn passed(types: &[SqlType]) -> Vec<Expr> {
    let column = |(at, sql_type): (usize, &SqlType)| {
        let kind = ExprKind::Column(ColumnRef { level: 0, source: 0, column: at });
        Expr { kind, sql_type: sql_type.clone() }
    };
    types.iter().enumerate().map(column).collect()
}
