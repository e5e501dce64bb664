//! Compiles window functions.

use super::node::{of_group, output, term};
use crate::plan::{Node, Output, Window, WindowBound, WindowCall, WindowRange, WindowUnit};
use sql::expression::{Expr, ExprKind};
use sql::window::{self, FrameBound, FrameUnit, WindowFunction};

/// Compiles calls with the same partition and order over an input whose columns are all there.
pub(super) fn window(calls: &[window::WindowCall], input: Node) -> Window {
    let first = calls.first().map(|call| &call.window);
    let column = |expr: &Expr| match &expr.kind {
        ExprKind::Column(column) => Some(column.column),
        _ => None,
    };
    let partition = first.iter().flat_map(|window| &window.partition).filter_map(column).collect();
    let keys = || first.iter().flat_map(|window| &window.order);
    let order = keys().filter_map(|key| column(&key.value)).collect();
    let descending = keys().next().is_some_and(|key| key.descending);
    Window { partition, order, descending, calls: calls.iter().map(call).collect(), input }
}

fn call(call: &window::WindowCall) -> WindowCall {
    let mut calls = Vec::new();
    if let WindowFunction::Aggregate(aggregate) = call.function {
        let boxed = |expr: &Expr| Box::new(expr.clone());
        let kind = ExprKind::Aggregate {
            aggregate,
            argument: call.arguments.first().map(boxed),
            distinct: false,
            filter: call.filter.as_ref().map(boxed),
        };
        of_group(&Expr { kind, sql_type: call.sql_type.clone() }, &mut calls);
    }
    let frame = &call.window.frame;
    WindowCall {
        function: call.function,
        arguments: call.arguments.iter().map(output).collect(),
        aggregate: calls.pop(),
        unit: unit(&frame.unit),
        start: bound(&frame.start),
        end: bound(&frame.end),
    }
}

fn unit(unit: &FrameUnit) -> WindowUnit {
    let optional = |expr: &Option<Expr>| -> Option<Output> { expr.as_ref().map(output) };
    match unit {
        FrameUnit::Rows => WindowUnit::Rows,
        FrameUnit::Groups => WindowUnit::Groups,
        FrameUnit::Range(range) => WindowUnit::Range(range.as_ref().map(|range| WindowRange {
            key: output(&range.key),
            start: optional(&range.start),
            end: optional(&range.end),
        })),
    }
}

fn bound(bound: &FrameBound) -> WindowBound {
    match bound {
        FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => WindowBound::Unbounded,
        FrameBound::CurrentRow => WindowBound::CurrentRow,
        FrameBound::Preceding(distance) => WindowBound::Preceding(term(distance)),
        FrameBound::Following(distance) => WindowBound::Following(term(distance)),
    }
}
