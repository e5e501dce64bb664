//! Aggregate functions.

use crate::evaluate::{Context, Scope, unsupported};
use crate::functions;
use crate::operators::{bool_of, compare, int_of, sort_order, text_of};
use crate::select::Row;
use sql_session::SqlError;
use sql_value::Value;
use sqlparser::ast::{self, Expr};
use std::cmp::Ordering;

/// Whether a function is an aggregate.
pub fn is_aggregate(name: &str) -> bool {
    matches!(
        name,
        "count"
            | "array_agg"
            | "string_agg"
            | "max"
            | "min"
            | "sum"
            | "bool_and"
            | "bool_or"
            | "every"
    )
}

/// Whether an expression has an aggregate outside of its sub-queries.
pub fn is_in(expression: &Expr) -> bool {
    match expression {
        Expr::Function(function) => {
            is_aggregate(&functions::name(function)) && function.over.is_none()
                || functions::arguments(function).is_ok_and(|all| all.iter().any(|one| is_in(one)))
        }
        Expr::Nested(inner)
        | Expr::Cast { expr: inner, .. }
        | Expr::Collate { expr: inner, .. }
        | Expr::UnaryOp { expr: inner, .. }
        | Expr::IsNull(inner)
        | Expr::IsNotNull(inner)
        | Expr::CompoundFieldAccess { root: inner, .. } => is_in(inner),
        Expr::BinaryOp { left, right, .. } => is_in(left) || is_in(right),
        Expr::Case { operand, conditions, else_result, .. } => {
            operand.as_deref().is_some_and(is_in)
                || conditions.iter().any(|when| is_in(&when.condition) || is_in(&when.result))
                || else_result.as_deref().is_some_and(is_in)
        }
        _ => false,
    }
}

/// The value of an aggregate over a group.
pub fn value(
    context: &Context<'_>,
    name: &str,
    function: &ast::Function,
    group: &[Row],
    scope: &Scope<'_>,
) -> Result<Value, SqlError> {
    let arguments = functions::arguments(function)?;
    let (is_distinct, order) = clauses(function);
    let mut inputs: Vec<(Vec<Value>, Vec<Value>)> = Vec::new();
    for row in group {
        let inner = Scope { row, group: None, ..*scope };
        if let Some(filter) = &function.filter
            && bool_of(&context.value(filter, &inner)?) != Some(true)
        {
            continue;
        }
        let values = arguments.iter().map(|argument| context.value(argument, &inner));
        let keys = order.iter().map(|by| context.value(&by.expr, &inner));
        inputs.push((values.collect::<Result<_, _>>()?, keys.collect::<Result<_, _>>()?));
    }
    inputs.sort_by(|(_, left), (_, right)| by_keys(left, right, order));
    let mut values: Vec<Value> =
        inputs.iter().map(|(values, _)| values.first().cloned().unwrap_or(Value::Int(1))).collect();
    if is_distinct {
        values.sort_by(sort_order);
        values.dedup_by(|one, other| sort_order(one, other) == Ordering::Equal);
    }
    let known = || values.iter().filter(|value| !value.is_null());
    let none_is_null = |value: Option<Value>| value.unwrap_or(Value::Null);
    let extreme = |wanted: Ordering| {
        known().fold(None::<&Value>, |best, value| match best {
            Some(best) if compare(value, best) != Some(wanted) => Some(best),
            _ => Some(value),
        })
    };
    Ok(match name {
        "count" => Value::Int(known().count() as i64),
        "array_agg" if values.is_empty() => Value::Null,
        "array_agg" => Value::Array(values.into()),
        "string_agg" => {
            let separator = inputs.first().and_then(|(values, _)| values.get(1)).and_then(text_of);
            let texts: Vec<String> = known().filter_map(text_of).collect();
            match texts.is_empty() {
                true => Value::Null,
                false => Value::text(&texts.join(&separator.unwrap_or_default())),
            }
        }
        "max" => none_is_null(extreme(Ordering::Greater).cloned()),
        "min" => none_is_null(extreme(Ordering::Less).cloned()),
        "sum" if known().count() == 0 => Value::Null,
        "sum" => Value::Int(known().filter_map(int_of).fold(0, i64::wrapping_add)),
        "bool_and" | "every" if known().count() == 0 => Value::Null,
        "bool_and" | "every" => Value::Bool(known().all(|value| bool_of(value) == Some(true))),
        "bool_or" if known().count() == 0 => Value::Null,
        "bool_or" => Value::Bool(known().any(|value| bool_of(value) == Some(true))),
        name => return Err(unsupported(format!("the aggregate {name}"))),
    })
}

fn clauses(function: &ast::Function) -> (bool, &[ast::OrderByExpr]) {
    let ast::FunctionArguments::List(list) = &function.args else { return (false, &[]) };
    let is_distinct = list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct);
    let order = list.clauses.iter().find_map(|clause| match clause {
        ast::FunctionArgumentClause::OrderBy(order) => Some(order.as_slice()),
        _ => None,
    });
    (is_distinct, order.unwrap_or_default())
}

/// Compares sort keys.
pub fn by_keys(left: &[Value], right: &[Value], order: &[ast::OrderByExpr]) -> Ordering {
    for ((left, right), by) in left.iter().zip(right).zip(order) {
        let is_descending = matches!(by.options.sort, Some(ast::OrderBySort::Desc));
        // By default, nulls come last, or first in descending order.
        let nulls_first = by.options.nulls_first.unwrap_or(is_descending);
        let order = match (left.is_null(), right.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) if nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if is_descending => sort_order(right, left),
            (false, false) => sort_order(left, right),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}
