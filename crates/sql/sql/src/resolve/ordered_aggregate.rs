//! `string_agg`, and `ORDER BY` inside of aggregates: rows of the keys and the value are collected
//! and then sorted.

use super::Resolver;
use super::coerce::{Context, converts_implicitly};
use super::row_comparison::is_drawn;
use super::scope::Scope;
use crate::error::{ErrorKind, Result};
use crate::expression::{Aggregate, BinaryOperator, Expr, ExprKind, Test};
use crate::function::Function;
use crate::query::field;
use crate::types::SqlType;
use sqlparser::ast::{
    self, DuplicateTreatment, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, OrderByExpr, OrderBySort,
};
use sqlparser::tokenizer::Span;

/// The reason why aggregates are not allowed in an argument.
const INSIDE: Option<&str> = Some("inside another aggregate");

/// A key of `ORDER BY`.
struct Key {
    value: Expr,
    descending: bool,
    nulls_first: bool,
}

impl Resolver<'_> {
    /// Resolves `string_agg`, and an aggregate with `ORDER BY` inside; `None` if it is neither.
    pub(super) fn ordered_aggregate(
        &mut self,
        scope: &Scope<'_>,
        name: &str,
        function: &ast::Function,
        span: Span,
    ) -> Option<Result<Expr>> {
        let FunctionArguments::List(list) = &function.args else { return None };
        let known = super::aggregate::named(name);
        let is_texts = name == "string_agg";
        let order = match &list.clauses[..] {
            [FunctionArgumentClause::OrderBy(order)] if is_texts || known.is_some() => &order[..],
            [] if is_texts => &[],
            _ => return None,
        };
        if !self.names.has_own_plans || function.over.is_some() {
            return None;
        }
        Some(match known {
            None | Some(Aggregate::ArrayAgg) => {
                self.collected(scope, (is_texts, order), (function, list), span)
            }
            Some(
                Aggregate::JsonAgg
                | Aggregate::JsonbAgg
                | Aggregate::JsonObjectAgg
                | Aggregate::JsonbObjectAgg,
            ) => Err(self.outside(
                span,
                "an order inside this aggregate",
                "order the rows in a sub-select",
            )),
            Some(aggregate) => self.keys(scope, order).and_then(|_| {
                // The order makes no difference.
                let mut plain = function.clone();
                if let FunctionArguments::List(list) = &mut plain.args {
                    list.clauses.clear();
                }
                self.aggregate(scope, aggregate, &plain, span)
            }),
        })
    }

    fn collected(
        &mut self,
        scope: &Scope<'_>,
        (is_texts, order): (bool, &[OrderByExpr]),
        (function, list): (&ast::Function, &FunctionArgumentList),
        span: Span,
    ) -> Result<Expr> {
        self.check_aggregates(span)?;
        let mut nodes = Vec::new();
        for argument in &list.args {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(node)) = argument else {
                let sentence = "an aggregate accepts only plain arguments";
                return Err(self.error(span, ErrorKind::Syntax, sentence));
            };
            nodes.push(node);
        }
        let (node, separator) = match (&nodes[..], is_texts) {
            ([value, separator], true) => (*value, Some(*separator)),
            ([value], false) => (*value, None),
            _ => {
                let mut values = Vec::new();
                for node in nodes {
                    values.push(self.argument(INSIDE, |resolver| resolver.expr(scope, node))?);
                }
                let name = if is_texts { "string_agg" } else { "array_agg" };
                return Err(self.no_such_function(name, &values, span));
            }
        };
        let written = self.argument(INSIDE, |resolver| resolver.expr(scope, node))?;
        let keys = self.keys(scope, order)?;
        let distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        if distinct && keys.iter().any(|key| key.value != written) {
            let message =
                "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
            return Err(self.type_error(span, message).in_postgres("42P10", message.to_owned()));
        }
        let separator = separator.map(|node| self.separator(scope, &written, node)).transpose()?;
        let filter = match &function.filter {
            Some(node) => {
                let filter = self.argument(INSIDE, |resolver| resolver.expr(scope, node))?;
                Some(self.truth(filter, span)?)
            }
            None => None,
        };
        let is_repeated = is_texts || keys.iter().any(|key| key.value == written);
        let what = "an aggregate of values that are drawn or read for it";
        self.refuse(is_repeated && is_drawn(&written), span, what, "compute them in a sub-select")?;
        let value = self.collected_value(written, is_texts, span)?;
        let filter = match is_texts {
            true => Some(and_present(filter, &value)),
            false => filter,
        };
        let array = sorted(value, keys, distinct, filter);
        Ok(match separator {
            None => array,
            Some(separator) => {
                let function = Function::ArrayToText;
                let arguments = vec![array, separator];
                Expr::new(ExprKind::Function { function, arguments }, SqlType::Text)
            }
        })
    }

    /// The value that is collected, with its type.
    fn collected_value(&self, written: Expr, is_texts: bool, span: Span) -> Result<Expr> {
        let wanted = match written.sql_type.base() {
            SqlType::Unknown => SqlType::Text,
            SqlType::Bytes if is_texts => {
                let advice = "encode the values as texts";
                return Err(self.outside(span, "string_agg of bytea", advice));
            }
            _ if is_texts => SqlType::Text,
            SqlType::Array(_) | SqlType::Record(_) => {
                let advice = "aggregate plain values";
                return Err(self.outside(span, "an array of arrays or rows", advice));
            }
            other => other,
        };
        self.convert(written, &wanted, Context::Implicit, span)
    }

    /// The separator of `string_agg`; null separates nothing.
    fn separator(&mut self, scope: &Scope<'_>, value: &Expr, node: &ast::Expr) -> Result<Expr> {
        use ast::Spanned;
        let span = node.span();
        let separator = self.expr(scope, node)?;
        let is_text = |expr: &Expr| {
            converts_implicitly(&expr.sql_type, &SqlType::Text)
                || expr.sql_type.base() == SqlType::Bytes
        };
        if !is_text(value) || !is_text(&separator) {
            return Err(self.no_such_function("string_agg", &[value.clone(), separator], span));
        }
        let mut uses_rows = false;
        separator.visit(&mut |part| uses_rows |= matches!(part.kind, ExprKind::Column(_)));
        let what = "a separator of string_agg that depends on rows";
        self.refuse(uses_rows, span, what, "write the same separator for all rows")?;
        let separator = self.convert(separator, &SqlType::Text, Context::Implicit, span)?;
        let nothing = Expr::new(ExprKind::Text(String::new()), SqlType::Text);
        let arguments = vec![separator, nothing];
        let kind = ExprKind::Function { function: Function::Coalesce, arguments };
        Ok(Expr::new(kind, SqlType::Text))
    }

    fn keys(&mut self, scope: &Scope<'_>, order: &[OrderByExpr]) -> Result<Vec<Key>> {
        use ast::Spanned;
        let mut keys = Vec::with_capacity(order.len());
        for key in order {
            let span = key.expr.span();
            let value = self.argument(INSIDE, |resolver| resolver.expr(scope, &key.expr))?;
            let descending = match &key.options.sort {
                None | Some(OrderBySort::Asc) => false,
                Some(OrderBySort::Desc) => true,
                Some(_) => return Err(self.outside(span, "USING", "write ASC or DESC")),
            };
            self.check_comparable(&value, true, span)?;
            let nulls_first = key.options.nulls_first.unwrap_or(descending);
            keys.push(Key { value, descending, nulls_first });
        }
        Ok(keys)
    }
}

/// The values in an array, sorted by the keys.
fn sorted(value: Expr, keys: Vec<Key>, distinct: bool, filter: Option<Expr>) -> Expr {
    let array_type = SqlType::Array(Box::new(value.sql_type.clone()));
    let filter = filter.map(Box::new);
    let aggregate = Aggregate::ArrayAgg;
    if keys.is_empty() {
        let argument = Some(Box::new(value));
        let kind = ExprKind::Aggregate { aggregate, argument, distinct, filter };
        return Expr::new(kind, array_type);
    }
    let flags = |key: &Key| {
        let direction = if key.descending { 'd' } else { 'a' };
        [direction, if key.nulls_first { 'f' } else { 'l' }]
    };
    let flags: String = keys.iter().flat_map(flags).collect();
    let values: Vec<Expr> = keys.into_iter().map(|key| key.value).chain([value]).collect();
    let fields = values.iter().map(|value| field("", value.sql_type.clone())).collect();
    let row_type = SqlType::Record(fields);
    let argument = Some(Box::new(Expr::new(ExprKind::Row(values), row_type.clone())));
    let kind = ExprKind::Aggregate { aggregate, argument, distinct, filter };
    let rows = Expr::new(kind, SqlType::Array(Box::new(row_type)));
    let flags = Expr::new(ExprKind::Text(flags), SqlType::Text);
    let function = Function::SortedValues;
    Expr::new(ExprKind::Function { function, arguments: vec![rows, flags] }, array_type)
}

/// The condition, and that the value is not null.
fn and_present(filter: Option<Expr>, value: &Expr) -> Expr {
    let operand = Box::new(value.clone());
    let present = Expr::boolean(ExprKind::Is { operand, test: Test::Null, negated: true });
    match filter {
        None => present,
        Some(filter) => super::operator::pair(BinaryOperator::And, filter, present, SqlType::Bool),
    }
}
