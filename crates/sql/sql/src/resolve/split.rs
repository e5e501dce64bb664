//! Splits a query with window functions in two: the rows that the functions see become those of a
//! sub-select, and the query becomes one over these rows and the functions' values
//! ([`FromKind::Windows`]). `DISTINCT ON` is such a query, too.

use crate::expression::{BinaryOperator, ColumnRef, Expr, ExprKind};
use crate::query::{
    From, FromKind, Join, OrderBy, OrderKey, Output, Plain, Select, SelectBody, field,
};
use crate::types::SqlType;
use crate::window::{
    Frame, FrameBound, FrameUnit, Window, WindowCall, WindowFunction, WindowKey, Windows,
};

pub(super) fn key_value(key: &OrderKey, outputs: &[Output]) -> Expr {
    match &key.by {
        OrderBy::Output(at) => outputs[*at].expr.clone(),
        OrderBy::Expr(expr) => expr.clone(),
    }
}

/// Whether an expression has the same value in all rows, and needs no plan.
pub(super) fn is_constant(expr: &Expr) -> bool {
    let mut is_constant = true;
    expr.visit(&mut |part| {
        is_constant &= match &part.kind {
            ExprKind::Column(_)
            | ExprKind::Aggregate { .. }
            | ExprKind::Window(_)
            | ExprKind::Subquery { .. }
            | ExprKind::SubPlan { .. }
            | ExprKind::Element => false,
            ExprKind::Function { function, .. } => !function.is_volatile(),
            _ => true,
        };
    });
    is_constant
}

/// Moves the rows that the window functions of a query see into a sub-select. Replaces `keys` as
/// well.
pub(super) fn over_windows(
    plain: Plain,
    order: Vec<OrderKey>,
    mut keys: Option<Vec<Expr>>,
) -> (Plain, Vec<OrderKey>, Option<Vec<Expr>>) {
    let keys_of_order = keys.iter_mut().flatten().map(|key| OrderKey {
        by: OrderBy::Expr(key.clone()),
        descending: false,
        nulls_first: false,
    });
    let count = order.len();
    let all = order.into_iter().chain(keys_of_order).collect();
    let (plain, mut order) = Rewriting::default().rewrite(plain, all, None);
    let replaced = order.split_off(count).into_iter().filter_map(|key| match key.by {
        OrderBy::Expr(key) => Some(key),
        OrderBy::Output(_) => None,
    });
    let replaced = replaced.collect();
    (plain, order, keys.map(|_| replaced))
}

/// Keeps the first row of those that are equal in `keys`.
pub(super) fn first_rows(
    plain: Plain,
    order: Vec<OrderKey>,
    keys: Vec<Expr>,
) -> (Plain, Vec<OrderKey>) {
    let of_window = |key: &OrderKey| WindowKey {
        value: key_value(key, &plain.outputs),
        descending: key.descending,
        nulls_first: key.nulls_first,
    };
    let frame = Frame {
        unit: FrameUnit::Range(None),
        start: FrameBound::UnboundedPreceding,
        end: FrameBound::CurrentRow,
    };
    let order_of_window = order.iter().map(of_window).collect();
    let number = WindowCall {
        function: WindowFunction::RowNumber,
        arguments: Vec::new(),
        filter: None,
        window: Window { partition: keys, order: order_of_window, frame },
        sql_type: SqlType::Int8,
    };
    let number = Expr::new(ExprKind::Window(Box::new(number)), SqlType::Int8);
    let one = Expr::new(ExprKind::Integer(1), SqlType::Int8);
    let is_first = super::operator::pair(BinaryOperator::Equal, number, one, SqlType::Bool);
    Rewriting::default().rewrite(plain, order, Some(is_first))
}

/// The columns of the sub-select so far.
#[derive(Default)]
struct Rewriting {
    /// `GROUP BY` of the sub-select.
    group: Vec<Expr>,
    inner: Vec<Output>,
    calls: Vec<WindowCall>,
}

/// The source of the values of window functions until the number of other columns is known.
const CALLS: usize = 1;

impl Rewriting {
    fn rewrite(
        mut self,
        mut plain: Plain,
        mut order: Vec<OrderKey>,
        mut filter: Option<Expr>,
    ) -> (Plain, Vec<OrderKey>) {
        self.group.clone_from(&plain.group);
        let mut outputs = std::mem::take(&mut plain.outputs);
        outputs.iter_mut().for_each(|output| self.outside(&mut output.expr));
        for key in &mut order {
            if let OrderBy::Expr(expr) = &mut key.by {
                self.outside(expr);
            }
        }
        filter.iter_mut().for_each(|filter| self.outside(filter));
        if self.inner.is_empty() {
            self.column(Expr::new(ExprKind::Bool(true), SqlType::Bool));
        }
        let width = self.inner.len();
        let in_order = order.iter_mut().filter_map(|key| match &mut key.by {
            OrderBy::Expr(expr) => Some(expr),
            OrderBy::Output(_) => None,
        });
        let exprs = outputs.iter_mut().map(|output| &mut output.expr);
        exprs.chain(in_order).chain(&mut filter).for_each(|expr| settle(expr, width));
        let distinct = std::mem::take(&mut plain.distinct);
        let of_inner = self.inner.iter().map(|output| field("", output.expr.sql_type.clone()));
        let of_calls = self.calls.iter().map(|call| field("", call.sql_type.clone()));
        let columns = of_inner.chain(of_calls).collect();
        let body = SelectBody::Plain(Plain { outputs: self.inner, ..plain });
        let query = Select {
            body,
            order: Vec::new(),
            limit: None,
            offset: None,
            lock: None,
            locked: Vec::new(),
        };
        let windows = Windows { query, calls: self.calls };
        let kind = FromKind::Windows(Box::new(windows));
        let outer = Plain {
            sources: vec![From { alias: String::new(), columns, kind, is_common: false }],
            joins: vec![Join::Source(0)],
            filter,
            group: Vec::new(),
            is_grouped: false,
            having: None,
            distinct,
            outputs,
        };
        (outer, order)
    }

    /// Replaces what depends on rows by columns of the sub-select.
    fn outside(&mut self, expr: &mut Expr) {
        if !expr.has_window() {
            self.inside(expr);
            return;
        }
        let ExprKind::Window(call) = &mut expr.kind else {
            expr.for_each_child_mut(&mut |child| match child.has_window() {
                true => self.outside(child),
                false => self.leaves(child),
            });
            return;
        };
        let mut call = (**call).clone();
        // `FILTER` decides whether the argument is evaluated.
        call.arguments.iter_mut().chain(&mut call.filter).for_each(|part| self.leaves(part));
        call.window.for_each_expr_mut(&mut |part| self.inside(part));
        // Constants are equal in all rows.
        let is_column = |key: &Expr| matches!(key.kind, ExprKind::Column(_));
        call.window.partition.retain(is_column);
        call.window.order.retain(|key| is_column(&key.value));
        let at = self.calls.iter().position(|known| *known == call).unwrap_or(self.calls.len());
        if at == self.calls.len() {
            self.calls.push(call);
        }
        expr.kind = ExprKind::Column(ColumnRef { level: 0, source: CALLS, column: at });
    }

    /// Replaces the columns of an operand, which may have to stay unevaluated for some rows: `CASE`
    /// and others decide.
    fn leaves(&mut self, expr: &mut Expr) {
        let is_leaf = matches!(
            expr.kind,
            ExprKind::Column(_) | ExprKind::Aggregate { .. } | ExprKind::Subquery { .. }
        );
        if is_leaf || is_drawn(expr) || self.group.contains(expr) {
            self.inside(expr);
        } else {
            expr.for_each_child_mut(&mut |child| self.leaves(child));
        }
    }

    fn inside(&mut self, expr: &mut Expr) {
        if !is_constant(expr) {
            *expr = self.column(expr.clone());
        }
    }

    fn column(&mut self, expr: Expr) -> Expr {
        let sql_type = expr.sql_type.clone();
        let known = self.inner.iter().position(|output| output.expr == expr && !is_drawn(&expr));
        let column = known.unwrap_or(self.inner.len());
        if known.is_none() {
            self.inner.push(Output { name: String::new(), expr });
        }
        Expr::new(ExprKind::Column(ColumnRef { level: 0, source: 0, column }), sql_type)
    }
}

/// Whether two evaluations in one row may differ.
fn is_drawn(expr: &Expr) -> bool {
    let mut is_drawn = false;
    expr.visit(&mut |part| {
        if let ExprKind::Function { function, .. } = &part.kind {
            is_drawn |= function.is_volatile();
        }
    });
    is_drawn || expr.has_subquery()
}

/// Gives the values of window functions their place behind the other columns.
fn settle(expr: &mut Expr, width: usize) {
    if let ExprKind::Column(column) = &mut expr.kind
        && (column.level, column.source) == (0, CALLS)
    {
        *column = ColumnRef { level: 0, source: 0, column: width + column.column };
    }
    expr.for_each_child_mut(&mut |child| settle(child, width));
}
