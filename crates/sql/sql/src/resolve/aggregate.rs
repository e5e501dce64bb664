//! Aggregate functions, and the check that other columns are grouped.

use super::Resolver;
use super::coerce::Context;
use super::scope::Scope;
use super::window::WindowPlace;
use crate::error::{Error, ErrorKind, Result};
use crate::expression::{Aggregate, Expr, ExprKind};
use crate::query::{From, FromKind};
use crate::types::{Numeric, SqlType};
use sqlparser::ast::{self, DuplicateTreatment, FunctionArg, FunctionArgExpr, FunctionArguments};
use sqlparser::tokenizer::Span;

/// Whether `min` and `max` take values of this type as they are, beside numbers and texts.
fn is_ordered(sql_type: &SqlType) -> bool {
    sql_type.is_time() || matches!(sql_type, SqlType::Enum(_))
}

/// The aggregate called `name`.
pub(super) fn named(name: &str) -> Option<Aggregate> {
    Some(match name {
        "count" => Aggregate::Count,
        "sum" => Aggregate::Sum,
        "min" => Aggregate::Min,
        "max" => Aggregate::Max,
        "avg" => Aggregate::Avg,
        "bool_and" | "every" => Aggregate::BoolAnd,
        "bool_or" => Aggregate::BoolOr,
        "array_agg" => Aggregate::ArrayAgg,
        "jsonb_agg" => Aggregate::JsonbAgg,
        "json_agg" => Aggregate::JsonAgg,
        "jsonb_object_agg" => Aggregate::JsonbObjectAgg,
        "json_object_agg" => Aggregate::JsonObjectAgg,
        _ => return None,
    })
}

impl Resolver<'_> {
    pub(super) fn aggregate(
        &mut self,
        scope: &Scope<'_>,
        aggregate: Aggregate,
        function: &ast::Function,
        span: Span,
    ) -> Result<Expr> {
        self.check_aggregates(span)?;
        let FunctionArguments::List(list) = &function.args else {
            return Err(self.error(
                span,
                ErrorKind::Syntax,
                "an aggregate has exactly one argument",
            ));
        };
        let advice = "leave it out, or order the rows in a sub-select";
        self.refuse(!list.clauses.is_empty(), span, "an order inside an aggregate", advice)?;
        let distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        // The argument of a window function may be an aggregate.
        let place = match function.over {
            Some(_) => None,
            None => Some("inside another aggregate"),
        };
        let argument = self.only_argument(scope, aggregate, list, place, span)?;
        if let Some(argument) = argument.as_ref().filter(|_| distinct) {
            self.check_comparable(argument, false, span)?;
        }
        let (aggregate, argument) = self.json_aggregate(aggregate, argument, span)?;
        let (argument, sql_type) = self.aggregate_types(aggregate, argument, span)?;
        let filter = match &function.filter {
            Some(node) => {
                let inside = |resolver: &mut Self| resolver.expr(scope, node);
                let place = place.map(|_| "in a FILTER");
                let filter = self.argument(place, inside)?;
                Some(Box::new(self.truth(filter, span)?))
            }
            None => None,
        };
        let argument = argument.map(Box::new);
        Ok(Expr::new(ExprKind::Aggregate { aggregate, argument, distinct, filter }, sql_type))
    }

    /// Refuses an aggregate where there are none.
    pub(super) fn check_aggregates(&self, span: Span) -> Result<()> {
        let Some(place) = self.no_aggregates else { return Ok(()) };
        let sentence = format!("an aggregate is not allowed {place}");
        let error = self.type_error(span, sentence);
        match place.starts_with("in index") {
            true => {
                let message = format!("aggregate functions are not allowed {place}");
                Err(error.in_postgres("42803", message))
            }
            false => Err(error.advise("compute it in a sub-select")),
        }
    }

    /// The argument; `None` for `count(*)`. Nested aggregates are refused for the given reason.
    fn only_argument(
        &mut self,
        scope: &Scope<'_>,
        aggregate: Aggregate,
        list: &ast::FunctionArgumentList,
        refused: Option<&'static str>,
        span: Span,
    ) -> Result<Option<Expr>> {
        let distinct = list.duplicate_treatment.is_some();
        Ok(match &list.args[..] {
            [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]
                if aggregate == Aggregate::Count && !distinct =>
            {
                None
            }
            [
                FunctionArg::Unnamed(FunctionArgExpr::Expr(key)),
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)),
            ] if is_object(aggregate) => {
                let inside = |resolver: &mut Self| {
                    let key = resolver.expr(scope, key)?;
                    let value = resolver.row_or_expr(scope, value)?;
                    resolver.json_pair(aggregate, key, value, span)
                };
                Some(self.argument(refused, inside)?)
            }
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(node))] if !is_object(aggregate) => {
                let takes_rows = matches!(aggregate, Aggregate::JsonbAgg | Aggregate::JsonAgg);
                let inside = |resolver: &mut Self| match takes_rows {
                    true => resolver.row_or_expr(scope, node),
                    false => resolver.expr(scope, node),
                };
                Some(self.argument(refused, inside)?)
            }
            _ => {
                return Err(self.type_error(
                    span,
                    "an aggregate has exactly one argument; only count accepts *",
                ));
            }
        })
    }

    /// Resolves an argument with aggregates allowed, or refused for the given reason.
    pub(super) fn argument(
        &mut self,
        refused: Option<&'static str>,
        inside: impl FnOnce(&mut Self) -> Result<Expr>,
    ) -> Result<Expr> {
        let windows = match refused {
            None => self.windows.clone(),
            Some(_) => WindowPlace::Refused("inside an aggregate"),
        };
        self.with_windows(windows, |resolver| resolver.with_aggregates(refused, inside))
    }

    fn aggregate_types(
        &self,
        aggregate: Aggregate,
        argument: Option<Expr>,
        span: Span,
    ) -> Result<(Option<Expr>, SqlType)> {
        let Some(argument) = argument else {
            return Ok((None, SqlType::Int8));
        };
        if let Some(result) = json_result(aggregate) {
            return Ok((Some(argument), result));
        }
        let open = SqlType::Numeric(Numeric::Open);
        let (wanted, result) = match (aggregate, argument.sql_type.base()) {
            (Aggregate::Count, SqlType::Unknown) => (SqlType::Text, SqlType::Int8),
            (Aggregate::Count, any) => (any, SqlType::Int8),
            (Aggregate::Sum, small @ (SqlType::Int2 | SqlType::Int4)) => (small, SqlType::Int8),
            (Aggregate::Sum, SqlType::Int8) => {
                (SqlType::Int8, SqlType::Numeric(Numeric::Exact { scale: 0 }))
            }
            (Aggregate::Sum, SqlType::Numeric(_)) => (open.clone(), same_scale(&argument.sql_type)),
            (Aggregate::Avg, number) if number.is_integer() => (number, open),
            (Aggregate::Avg, SqlType::Numeric(_)) => (open.clone(), open),
            (Aggregate::Sum, SqlType::Float4) => (SqlType::Float4, SqlType::Float4),
            (Aggregate::Avg, SqlType::Float4) => (SqlType::Float8, SqlType::Float8),
            (Aggregate::Sum | Aggregate::Avg, SqlType::Time(_)) => {
                (SqlType::Interval, SqlType::Interval)
            }
            (Aggregate::Sum | Aggregate::Avg, same @ (SqlType::Float8 | SqlType::Interval)) => {
                (same.clone(), same)
            }
            (Aggregate::Min | Aggregate::Max, SqlType::Numeric(_)) => {
                (open, same_scale(&argument.sql_type))
            }
            (
                Aggregate::Min | Aggregate::Max,
                SqlType::Varchar(_) | SqlType::Text | SqlType::Unknown,
            ) => (SqlType::Text, SqlType::Text),
            (
                Aggregate::Min | Aggregate::Max,
                any @ (SqlType::Int2
                | SqlType::Int4
                | SqlType::Int8
                | SqlType::Float4
                | SqlType::Float8
                | SqlType::Interval
                | SqlType::Time(_)
                | SqlType::Array(_)
                | SqlType::Char(_)),
            ) => (any.clone(), any),
            (Aggregate::Min | Aggregate::Max, one) if is_ordered(&one) => (one.clone(), one),
            (Aggregate::BoolAnd | Aggregate::BoolOr, _) => (SqlType::Bool, SqlType::Bool),
            (Aggregate::ArrayAgg, SqlType::Array(_) | SqlType::Record(_)) => {
                return Err(self.outside(
                    span,
                    "an array of arrays or rows",
                    "aggregate plain values",
                ));
            }
            (Aggregate::ArrayAgg, any) => {
                let element = if any == SqlType::Unknown { SqlType::Text } else { any };
                (element.clone(), SqlType::Array(Box::new(element)))
            }
            _ => {
                return Err(self.no_aggregate(aggregate, &argument, span));
            }
        };
        let argument = self.convert(argument, &wanted, Context::Implicit, span)?;
        Ok((Some(argument), result))
    }

    fn no_aggregate(&self, aggregate: Aggregate, argument: &Expr, span: Span) -> Error {
        let (name, found) = (aggregate.name(), argument.sql_type.base());
        let refused = format!("this aggregate does not accept {}", argument.sql_type);
        let message = format!("function {name}({found}) does not exist");
        let error = self.type_error(span, refused).in_postgres("42883", message);
        error.advise("convert the argument with CAST")
    }

    /// Refuses columns that are neither in GROUP BY nor in an aggregate. `group` has the grouping
    /// expressions.
    pub(super) fn check_grouped(
        &self,
        expr: &Expr,
        group: &[Expr],
        sources: &[From],
        span: Span,
    ) -> Result<()> {
        if group.contains(expr) || matches!(expr.kind, ExprKind::Aggregate { .. }) {
            return Ok(());
        }
        if let ExprKind::Column(column) = expr.kind
            && column.level == 0
            && !self.group_has_key(column.source, group, sources)
        {
            let source = &sources[column.source];
            let name = &source.columns[column.column].name;
            let sentence =
                format!("`{}.{name}` is neither in GROUP BY nor inside an aggregate", source.alias);
            let message = format!(
                "column \"{}.{name}\" must appear in the GROUP BY clause or be used in an aggregate function",
                source.alias
            );
            let error = self.type_error(span, sentence).in_postgres("42803", message);
            return Err(error.advise("add it to GROUP BY, or write min(...) around it"));
        }
        let mut result = Ok(());
        expr.for_each_child(&mut |child| {
            if result.is_ok() {
                result = self.check_grouped(child, group, sources, span);
            }
        });
        result
    }

    /// Whether rows are grouped by the primary key of a table, which determines its other columns.
    fn group_has_key(&self, source: usize, group: &[Expr], sources: &[From]) -> bool {
        let FromKind::Table(table) = sources[source].kind else {
            return false;
        };
        let key = &self.catalog.tables[table].primary_key;
        let grouped = |column: usize| {
            group.iter().any(|expr| {
                matches!(expr.kind, ExprKind::Column(found)
                    if found.level == 0 && found.source == source && found.column == column)
            })
        };
        !key.is_empty() && key.iter().all(|&column| grouped(column))
    }
}

/// The type of an aggregate of JSON.
fn json_result(aggregate: Aggregate) -> Option<SqlType> {
    match aggregate {
        Aggregate::JsonbAgg | Aggregate::JsonbObjectAgg => Some(SqlType::Jsonb),
        Aggregate::ArrayAgg => None,
        other => other.takes_nulls().then_some(SqlType::Json),
    }
}

fn is_object(aggregate: Aggregate) -> bool {
    matches!(aggregate, Aggregate::JsonbObjectAgg | Aggregate::JsonObjectAgg)
}

fn same_scale(sql_type: &SqlType) -> SqlType {
    match sql_type {
        SqlType::Numeric(numeric) => {
            let exact = numeric.scale().map(|scale| Numeric::Exact { scale });
            SqlType::Numeric(exact.unwrap_or(Numeric::Open))
        }
        other => other.clone(),
    }
}
