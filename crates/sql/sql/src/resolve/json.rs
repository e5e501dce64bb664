//! Operators and functions of `json` and `jsonb`, and operators that arrays share with them.

use super::Resolver;
use super::coerce::Context;
use super::scope::Scope;
use crate::error::{Error, ErrorKind, Result};
use crate::expression::{Aggregate, BinaryOperator, ColumnRef, Expr, ExprKind};
use crate::function::Function;
use crate::json_function::JsonFunction;
use crate::query::{FromKind, field};
use crate::types::{Field, SqlType};
use sqlparser::ast;
use sqlparser::tokenizer::Span;

fn texts() -> SqlType {
    SqlType::Array(Box::new(SqlType::Text))
}

impl Resolver<'_> {
    /// The types of both operands and of the result of an operator of JSON or of arrays.
    pub(super) fn json_operator(
        &self,
        operator: BinaryOperator,
        left: Expr,
        right: Expr,
        span: Span,
    ) -> Result<Expr> {
        use BinaryOperator as Op;
        let refused = self.no_operator(operator, &left.sql_type, &right.sql_type, span);
        let (own, other) = (left.sql_type.base(), right.sql_type.base());
        let whole = matches!(other, SqlType::Int2 | SqlType::Int4);
        let key = if whole { SqlType::Int4 } else { SqlType::Text };
        let is_binary = own == SqlType::Jsonb;
        let (left_type, right_type, result) = match operator {
            Op::Get if own.is_json() => (own.clone(), key, own),
            Op::GetText if own.is_json() => (own, key, SqlType::Text),
            Op::GetPath if own.is_json() => (own.clone(), texts(), own),
            Op::GetPathText if own.is_json() => (own, texts(), SqlType::Text),
            Op::HasKey if is_binary => (own, SqlType::Text, SqlType::Bool),
            Op::HasAny | Op::HasAll if is_binary => (own, texts(), SqlType::Bool),
            Op::DeletePath if is_binary => (own.clone(), texts(), own),
            Op::Subtract if is_binary && matches!(other, SqlType::Array(_)) => {
                (own.clone(), texts(), own)
            }
            Op::Subtract if is_binary => (own.clone(), key, own),
            Op::Concatenate => (SqlType::Jsonb, SqlType::Jsonb, SqlType::Jsonb),
            Op::Contains | Op::Contained | Op::Overlaps => {
                let known = if own == SqlType::Unknown { other } else { own };
                let is_array = matches!(known, SqlType::Array(_));
                if !is_array && (known != SqlType::Jsonb || operator == Op::Overlaps) {
                    return Err(refused);
                }
                (known.clone(), known, SqlType::Bool)
            }
            _ => return Err(refused),
        };
        let convert = |expr: Expr, target: &SqlType| {
            let fits = super::coerce::converts_implicitly(&expr.sql_type, target);
            let refused = || self.no_operator(operator, &left.sql_type, &right.sql_type, span);
            if !fits {
                return Err(refused());
            }
            self.convert(expr, target, Context::Implicit, span)
        };
        let (first, second) =
            (convert(left.clone(), &left_type)?, convert(right.clone(), &right_type)?);
        Ok(super::operator::pair(operator, first, second, result))
    }

    /// Resolves a call that does not return rows; `None` if the function is not one of JSON.
    pub(super) fn json_call(
        &self,
        name: &str,
        values: Vec<Expr>,
        span: Span,
    ) -> Option<Result<Expr>> {
        let (function, is_binary) = JsonFunction::named(name)?;
        if function.returns_rows() {
            let what = format!("`{name}` outside of FROM");
            return Some(Err(self.outside(span, &what, "write SELECT ... FROM name(value)")));
        }
        Some(self.json_function(name, (function, is_binary), values, span))
    }

    fn json_function(
        &self,
        name: &str,
        (function, is_binary): (JsonFunction, bool),
        mut values: Vec<Expr>,
        span: Span,
    ) -> Result<Expr> {
        use JsonFunction as Json;
        let own = if is_binary { SqlType::Jsonb } else { SqlType::Json };
        let (takes, result) = match function {
            Json::To => {
                if name == "row_to_json" && !is_record(&values) {
                    return Err(self.no_such_function(name, &values, span));
                }
                (vec![None], own)
            }
            Json::BuildObject | Json::BuildArray => (vec![None; values.len()], own),
            Json::Typeof | Json::Pretty => (vec![Some(own)], SqlType::Text),
            Json::Length => (vec![Some(own)], SqlType::Int4),
            Json::StripNulls => (vec![Some(own.clone())], own),
            Json::Set => {
                if values.len() == 3 {
                    values.push(Expr::boolean(ExprKind::Bool(true)));
                }
                let given = [own.clone(), texts(), own.clone(), SqlType::Bool];
                (given.map(Some).to_vec(), own)
            }
            Json::ExtractPath | Json::ExtractPathText if !values.is_empty() => {
                let steps = values.split_off(1);
                let step = |step| self.convert(step, &SqlType::Text, Context::Implicit, span);
                let steps = steps.into_iter().map(step).collect::<Result<_>>()?;
                values.push(Expr::new(ExprKind::Array(steps), texts()));
                let is_text = function == Json::ExtractPathText;
                let result = if is_text { SqlType::Text } else { own.clone() };
                (vec![Some(own), Some(texts())], result)
            }
            _ => return Err(self.no_such_function(name, &values, span)),
        };
        if takes.len() != values.len() {
            return Err(self.no_such_function(name, &values, span));
        }
        let arguments = self.json_arguments(name, values, &takes, span)?;
        let function = Function::Json { function, is_binary };
        Ok(Expr::new(ExprKind::Function { function, arguments }, result))
    }

    /// Converts arguments; those without a type keep their own.
    fn json_arguments(
        &self,
        name: &str,
        values: Vec<Expr>,
        takes: &[Option<SqlType>],
        span: Span,
    ) -> Result<Vec<Expr>> {
        let refused = self.no_such_function(name, &values, span);
        let convert = |(value, target): (Expr, &Option<SqlType>)| match target {
            Some(target) => {
                if !super::coerce::converts_implicitly(&value.sql_type, target) {
                    return Err(refused.clone());
                }
                self.convert(value, target, Context::Implicit, span)
            }
            None if value.sql_type == SqlType::Unknown && name.starts_with("to_") => {
                let sentence = "the type of this value is unknown";
                let error = self.type_error(span, sentence).in_postgres(
                    "42804",
                    "could not determine polymorphic type because input has type unknown"
                        .to_owned(),
                );
                Err(error.advise("write CAST(... AS text), or another type"))
            }
            None if value.sql_type == SqlType::Unknown => {
                self.convert(value, &SqlType::Text, Context::Implicit, span)
            }
            None => Ok(value),
        };
        let converted = values.into_iter().zip(takes).map(convert).collect::<Result<Vec<_>>>()?;
        if name.ends_with("build_object") {
            let mut keys = converted.iter().step_by(2).map(|key| &key.sql_type);
            if keys
                .any(|key| key.is_json() || matches!(key, SqlType::Array(_) | SqlType::Record(_)))
            {
                let message = "key value must be scalar, not array, composite, or json";
                return Err(self
                    .type_error(span, message)
                    .in_postgres("22023", message.to_owned()));
            }
        }
        Ok(converted)
    }

    pub(super) fn no_such_function(&self, name: &str, values: &[Expr], span: Span) -> Error {
        let types: Vec<String> = values.iter().map(|value| value.sql_type.base().name()).collect();
        let message = format!("function {name}({}) does not exist", types.join(", "));
        self.type_error(span, message.clone()).in_postgres("42883", message)
    }

    /// A function of JSON in `FROM`: arrays of SQL are its columns.
    pub(super) fn json_rows(
        &self,
        name: &str,
        single: &str,
        values: &[Expr],
        span: Span,
    ) -> Option<Result<(FromKind, Vec<Field>)>> {
        let (function, is_binary) =
            JsonFunction::named(name).filter(|(function, _)| function.returns_rows())?;
        let own = if is_binary { SqlType::Jsonb } else { SqlType::Json };
        let call = |function: JsonFunction, element: &SqlType| {
            let array = SqlType::Array(Box::new(element.clone()));
            let takes = [Some(own.clone())];
            if values.len() != 1 {
                return Err(self.no_such_function(name, values, span));
            }
            let arguments = self.json_arguments(name, values.to_vec(), &takes, span)?;
            let function = Function::Json { function, is_binary };
            Ok(Expr::new(ExprKind::Function { function, arguments }, array))
        };
        let value = match function {
            JsonFunction::Elements | JsonFunction::Values => own.clone(),
            _ => SqlType::Text,
        };
        let is_each = matches!(function, JsonFunction::Values | JsonFunction::ValuesText);
        let columns = match function {
            _ if is_each => vec![field("key", SqlType::Text), field("value", value.clone())],
            JsonFunction::Keys => vec![field(single, value.clone())],
            _ => vec![field("value", value.clone())],
        };
        let arrays = || {
            let values = call(function, &value)?;
            match is_each {
                true => Ok(vec![call(JsonFunction::Keys, &SqlType::Text)?, values]),
                false => Ok(vec![values]),
            }
        };
        Some(arrays().map(|arrays: Vec<Expr>| (FromKind::Unnest(arrays), columns)))
    }

    /// An argument that may be the name of a source, which means its row.
    pub(super) fn row_or_expr(&mut self, scope: &Scope<'_>, node: &ast::Expr) -> Result<Expr> {
        if let ast::Expr::Identifier(ident) = node {
            let name = super::ident_name(ident);
            let is_column = !matches!(scope.find(&name), super::scope::Found::Nothing);
            if let Some(source) = scope.source(&name).filter(|_| !is_column) {
                let fields = scope.sources[source].columns.clone();
                let value = |(column, field): (usize, &Field)| {
                    let column = ColumnRef { level: 0, source, column };
                    Expr::new(ExprKind::Column(column), field.sql_type.clone())
                };
                let values = fields.iter().enumerate().map(value).collect();
                return Ok(Expr::new(ExprKind::Row(values), SqlType::Record(fields)));
            }
        }
        self.expr(scope, node)
    }

    /// The argument of an aggregate of JSON: its values as JSON.
    pub(super) fn json_aggregate(
        &self,
        aggregate: Aggregate,
        argument: Option<Expr>,
        span: Span,
    ) -> Result<(Aggregate, Option<Expr>)> {
        let is_binary = aggregate == Aggregate::JsonbAgg;
        let argument = match (aggregate, argument) {
            (Aggregate::JsonbAgg | Aggregate::JsonAgg, Some(argument)) => argument,
            (aggregate, argument) => return Ok((aggregate, argument)),
        };
        let is_structured = matches!(argument.sql_type, SqlType::Array(_) | SqlType::Record(_));
        let aggregate = match aggregate {
            Aggregate::JsonAgg if is_structured => Aggregate::JsonAggLines,
            other => other,
        };
        Ok((aggregate, Some(self.as_json(argument, is_binary, span)?)))
    }

    /// A value as JSON. A null is no value; the aggregate makes a JSON null of it.
    fn as_json(&self, value: Expr, is_binary: bool, span: Span) -> Result<Expr> {
        let name = if is_binary { "to_jsonb" } else { "to_json" };
        let value = match value.sql_type {
            SqlType::Unknown => self.convert(value, &SqlType::Text, Context::Implicit, span)?,
            _ => value,
        };
        self.json_function(name, (JsonFunction::To, is_binary), vec![value], span)
    }

    /// The row of key and value that an aggregate of objects takes.
    pub(super) fn json_pair(
        &self,
        aggregate: Aggregate,
        key: Expr,
        value: Expr,
        span: Span,
    ) -> Result<Expr> {
        let is_binary = aggregate == Aggregate::JsonbObjectAgg;
        let key = self.convert(key, &SqlType::Text, Context::Assignment, span)?;
        let value = self.as_json(value, is_binary, span)?;
        let fields = vec![field("key", SqlType::Text), field("value", value.sql_type.clone())];
        Ok(Expr::new(ExprKind::Row(vec![key, value]), SqlType::Record(fields)))
    }

    /// Refuses values that cannot be compared.
    pub(super) fn check_comparable(&self, expr: &Expr, is_order: bool, span: Span) -> Result<()> {
        let of = |sql_type: &SqlType| match sql_type {
            SqlType::Array(element) => **element == SqlType::Json,
            other => *other == SqlType::Json,
        };
        if !of(&expr.sql_type) {
            return Ok(());
        }
        let (what, sql_type) = (if is_order { "ordering" } else { "equality" }, &expr.sql_type);
        let message = format!("could not identify an {what} operator for type {sql_type}");
        let error = self.error(span, ErrorKind::Type, message.clone());
        Err(error.in_postgres("42883", message).advise("convert it to jsonb"))
    }
}

fn is_record(values: &[Expr]) -> bool {
    matches!(values, [Expr { sql_type: SqlType::Record(_), .. }])
}
