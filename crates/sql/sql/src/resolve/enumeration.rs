//! `enum_first`, `enum_last` and `enum_range`: the labels are known when a statement is resolved.

use super::Resolver;
use super::scope::Scope;
use crate::enumeration::EnumType;
use crate::error::{ErrorKind, Result};
use crate::expression::{CastKind, Expr, ExprKind};
use crate::types::SqlType;
use sqlparser::ast::FunctionArguments;
use sqlparser::tokenizer::Span;
use std::sync::Arc;

impl Resolver<'_> {
    /// The value of a function of enumerated types; `None` if the name is another one.
    pub(super) fn enum_call(
        &mut self,
        scope: &Scope<'_>,
        name: &str,
        arguments: &FunctionArguments,
        span: Span,
    ) -> Option<Result<Expr>> {
        let count = match name {
            "enum_first" | "enum_last" => 1..=1,
            "enum_range" => 1..=2,
            _ => return None,
        };
        let nodes = match self.plain_arguments(name, arguments, span) {
            Ok(nodes) => nodes,
            Err(error) => return Some(Err(error)),
        };
        let values = nodes.iter().map(|node| self.expr(scope, node)).collect::<Result<Vec<_>>>();
        Some(values.and_then(|values| match count.contains(&values.len()) {
            true => self.enum_value(name, &values, span),
            false => Err(self.no_enum(name, &values, span)),
        }))
    }

    fn enum_value(&self, name: &str, values: &[Expr], span: Span) -> Result<Expr> {
        let mut found = values.iter().filter_map(|value| match &value.sql_type {
            SqlType::Enum(of) => Some(of),
            _ => None,
        });
        let Some(of) = found.next().filter(|of| found.all(|other| other == *of)) else {
            return Err(self.no_enum(name, values, span));
        };
        let (first, last) = match values {
            [low, high] => (self.bound(low, of, span)?, self.bound(high, of, span)?),
            _ => (None, None),
        };
        let within = |place: i64| {
            first.is_none_or(|first| place >= first) && last.is_none_or(|last| place <= last)
        };
        let labels: Vec<&str> =
            of.labels.iter().filter(|one| within(one.0)).map(|one| &*one.1).collect();
        let own = SqlType::Enum(of.clone());
        Ok(match name {
            "enum_first" => constant(labels.first().map(|label| (*label).to_owned()), own),
            "enum_last" => constant(labels.last().map(|label| (*label).to_owned()), own),
            _ => constant(Some(array(&labels)), SqlType::Array(Box::new(own))),
        })
    }

    /// The place of a bound of `enum_range`; `None` for null.
    fn bound(&self, value: &Expr, of: &Arc<EnumType>, span: Span) -> Result<Option<i64>> {
        match &value.kind {
            ExprKind::Null => return Ok(None),
            ExprKind::Text(text) => {
                if let Some(place) = of.place(text) {
                    return Ok(Some(place));
                }
                let message = of.invalid(text);
                let error = self.error(span, ErrorKind::Type, &*message);
                return Err(error.in_postgres("22P02", message));
            }
            ExprKind::Cast { operand, .. }
                if matches!(operand.kind, ExprKind::Text(_) | ExprKind::Null) =>
            {
                return self.bound(operand, of, span);
            }
            _ => {}
        }
        let advice = "write SELECT x FROM unnest(enum_range(NULL::type)) AS x WHERE x >= bound";
        Err(self.outside(span, "a bound of `enum_range` that is no constant", advice))
    }

    fn no_enum(&self, name: &str, values: &[Expr], span: Span) -> crate::error::Error {
        let is_unknown = |value: &Expr| value.sql_type == SqlType::Unknown;
        if !values.is_empty() && values.iter().all(is_unknown) {
            let message = "could not determine polymorphic type because input has type unknown";
            return self.error(span, ErrorKind::Type, message).in_postgres("42804", message);
        }
        let types: Vec<String> = values.iter().map(|value| value.sql_type.base().name()).collect();
        let message = format!("function {name}({}) does not exist", types.join(", "));
        self.error(span, ErrorKind::Name, &*message).in_postgres("42883", message)
    }
}

/// A value that is written as a text; null without one.
fn constant(text: Option<String>, sql_type: SqlType) -> Expr {
    let Some(text) = text else { return Expr::new(ExprKind::Null, sql_type) };
    let operand = Box::new(Expr::new(ExprKind::Text(text), SqlType::Text));
    Expr::new(ExprKind::Cast { operand, kind: CastKind::Explicit }, sql_type)
}

/// The text of an array.
fn array(labels: &[&str]) -> String {
    let quoted = labels
        .iter()
        .map(|label| format!("\"{}\"", label.replace('\\', "\\\\").replace('"', "\\\"")));
    format!("{{{}}}", quoted.collect::<Vec<_>>().join(","))
}
