//! Expressions with special syntax: `CAST`, `LIKE`, `EXTRACT`, `SUBSTRING ... FROM`, `TRIM`,
//! `POSITION`.

use super::Resolver;
use super::coerce::Context;
use super::scope::Scope;
use crate::error::{ErrorKind, Result};
use crate::expression::{Expr, ExprKind};
use crate::function::Function;
use crate::source::Source;
use crate::token::{Cursor, tokenize};
use crate::type_name::parse_type;
use crate::types::{Numeric, SqlType};
use sqlparser::ast::{self, CastKind, CeilFloorKind, DateTimeField, TrimWhereField};
use sqlparser::tokenizer::Span;

impl Resolver<'_> {
    pub(super) fn special(
        &mut self,
        scope: &Scope<'_>,
        node: &ast::Expr,
        span: Span,
    ) -> Result<Expr> {
        use ast::Expr as Node;
        match node {
            Node::Cast { kind, expr, data_type, format } => {
                let is_ours =
                    matches!(kind, CastKind::Cast | CastKind::DoubleColon) && format.is_none();
                self.refuse_foreign(!is_ours, span, "such conversion")?;
                let value = self.expr(scope, expr)?;
                self.cast(value, data_type, span)
            }
            Node::TypedString(typed) => {
                self.refuse_foreign(typed.uses_odbc_syntax, span, "such constant")?;
                let value = self.literal(&typed.value)?;
                self.cast(value, &typed.data_type, span)
            }
            Node::AtTimeZone { timestamp, time_zone } if self.names.is_session => {
                self.call_named(scope, "timezone", &[time_zone, timestamp], span)
            }
            Node::Interval(interval) => self.interval(interval, span),
            Node::Like { negated, any, expr, pattern, escape_char } => {
                let plain = !any && escape_char.is_none();
                self.like(scope, (expr, pattern), *negated, false, plain, span)
            }
            Node::ILike { negated, any, expr, pattern, escape_char } => {
                let plain = !any && escape_char.is_none();
                self.like(scope, (expr, pattern), *negated, true, plain, span)
            }
            Node::Extract { field, expr, .. } => self.extract(scope, field, expr, span),
            Node::Ceil { expr, field } => self.rounding(scope, "ceil", expr, field, span),
            Node::Floor { expr, field } => self.rounding(scope, "floor", expr, field, span),
            Node::Position { expr, r#in } => self.call_named(scope, "strpos", &[r#in, expr], span),
            Node::Substring { expr, substring_from, substring_for, .. } => {
                let one = ast::Expr::value(ast::Value::Number("1".to_owned(), false));
                let from = substring_from.as_deref().unwrap_or(&one);
                let mut arguments = vec![&**expr, from];
                arguments.extend(substring_for.as_deref());
                self.call_named(scope, "substr", &arguments, span)
            }
            Node::Trim { trim_where, trim_what, expr, trim_characters } => {
                let name = match trim_where {
                    None | Some(TrimWhereField::Both) => "btrim",
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                };
                let mut arguments = vec![&**expr];
                arguments.extend(trim_what.as_deref());
                arguments.extend(trim_characters.iter().flatten());
                self.call_named(scope, name, &arguments, span)
            }
            other => Err(self.refused_node(other, span)),
        }
    }

    fn refused_node(&self, node: &ast::Expr, span: Span) -> crate::error::Error {
        use ast::Expr as Node;
        let (what, advice) = match node {
            Node::IsUnknown(_) | Node::IsNotUnknown(_) => ("IS UNKNOWN", "write IS NULL"),
            Node::SimilarTo { .. } => ("SIMILAR TO", "write LIKE"),
            Node::AtTimeZone { .. } => ("AT TIME ZONE", "keep times in UTC"),
            Node::Overlay { .. } => ("OVERLAY", "build the text with substr and ||"),
            Node::Collate { .. } => ("COLLATE", "leave it out; texts are compared by their bytes"),
            Node::GroupingSets(_) | Node::Cube(_) | Node::Rollup(_) => {
                ("GROUPING SETS", "write one query for each grouping")
            }
            Node::Named { .. } | Node::Struct { .. } => {
                ("this kind of row", "write its values as columns")
            }
            Node::IsJson { .. } | Node::JsonAccess { .. } => ("JSON", "use columns"),
            _ => {
                let sentence = format!("PostgreSQL has no expression `{}`", shortened(node));
                return self.error(span, ErrorKind::Syntax, sentence);
            }
        };
        self.outside(span, what, advice)
    }

    fn cast(&mut self, value: Expr, data_type: &ast::DataType, span: Span) -> Result<Expr> {
        let target = self.data_type(data_type, span)?;
        if matches!(target, SqlType::Void | SqlType::Record(_)) {
            return Err(self.type_error(span, format!("no value can be converted to {target}")));
        }
        let empty_array = matches!(&value.kind, ExprKind::Array(values) if values.is_empty());
        if empty_array && matches!(target, SqlType::Array(_)) {
            return Ok(Expr { sql_type: target, ..value });
        }
        let converted = self.convert(value, &target, Context::Explicit, span)?;
        // Conversions between text types may change only the type; an explicit cast always shows
        // the requested type.
        let is_other = converted.sql_type.base() != target.base();
        Ok(if is_other { converted.relabelled(target) } else { converted })
    }

    /// A type that the query parser has parsed, checked by the rules of [`parse_type`].
    pub(super) fn data_type(&self, data_type: &ast::DataType, span: Span) -> Result<SqlType> {
        let text = data_type.to_string();
        if self.names.has_own_plans && text.eq_ignore_ascii_case("refcursor") {
            return Ok(SqlType::Text);
        }
        let source = Source::new(self.source.name(), &text)
            .with_path(self.source.path().clone())
            .with_types(self.source.types());
        let parsed = tokenize(&source, 0, &text).and_then(|tokens| {
            let mut cursor = Cursor::new(&source, tokens, text.len());
            let sql_type = parse_type(&mut cursor)?;
            if cursor.is_at_end() {
                Ok(sql_type)
            } else {
                Err(cursor.expected("the end of the type"))
            }
        });
        parsed.map_err(|error| self.error(span, error.kind, error.sentence).advise(error.advice))
    }

    fn interval(&mut self, interval: &ast::Interval, span: Span) -> Result<Expr> {
        let plain = interval.leading_field.is_none() && interval.last_field.is_none();
        let advice = "write INTERVAL '3 days', with the unit between the quotes";
        self.refuse(!plain, span, "a unit after an interval", advice)?;
        match &*interval.value {
            ast::Expr::Value(value) => {
                let value = self.literal(value)?;
                self.convert(value, &SqlType::Interval, Context::Explicit, span)
            }
            _ => {
                Err(self.error(span, ErrorKind::Syntax, "INTERVAL must be followed by a constant"))
            }
        }
    }

    fn like(
        &mut self,
        scope: &Scope<'_>,
        (operand, pattern): (&ast::Expr, &ast::Expr),
        negated: bool,
        ignores_case: bool,
        plain: bool,
        span: Span,
    ) -> Result<Expr> {
        self.refuse(!plain, span, "ESCAPE", "escape with a backslash, which needs no clause")?;
        let operand = self.expr(scope, operand)?;
        let operand = match operand.sql_type {
            // `char(n)` is matched with its trailing blanks.
            SqlType::Char(_) => operand,
            _ => self.convert(operand, &SqlType::Text, Context::Implicit, span)?,
        };
        let pattern = self.expr(scope, pattern)?;
        let pattern = self.convert(pattern, &SqlType::Text, Context::Implicit, span)?;
        let (operand, pattern) = (Box::new(operand), Box::new(pattern));
        Ok(Expr::boolean(ExprKind::Like { operand, pattern, ignores_case, negated }))
    }

    fn extract(
        &mut self,
        scope: &Scope<'_>,
        field: &DateTimeField,
        node: &ast::Expr,
        span: Span,
    ) -> Result<Expr> {
        let name = field.to_string().to_lowercase();
        let scale = match &*name {
            "year" | "month" | "day" | "hour" | "minute" | "dow" | "doy" | "quarter" | "isodow" => {
                0
            }
            "timezone" | "timezone_hour" | "timezone_minute" if self.names.is_session => 0,
            "second" | "epoch" => 6,
            _ => {
                let advice = "write YEAR, QUARTER, MONTH, DAY, HOUR, MINUTE, SECOND, DOW, ISODOW, DOY or EPOCH";
                return Err(self.outside(span, &format!("the field `{name}`"), advice));
            }
        };
        let value = self.expr(scope, node)?;
        let has_fields = matches!(value.sql_type, SqlType::Interval | SqlType::Time(_));
        if !value.sql_type.is_time() && !has_fields {
            let sentence = format!("{} has no date or time fields", value.sql_type);
            return Err(self.type_error(span, sentence));
        }
        let scale = if value.sql_type == SqlType::Date { 0 } else { scale };
        let field = Expr::new(ExprKind::Text(name), SqlType::Text);
        let kind =
            ExprKind::Function { function: Function::Extract, arguments: vec![field, value] };
        Ok(Expr::new(kind, SqlType::Numeric(Numeric::Exact { scale })))
    }

    fn rounding(
        &mut self,
        scope: &Scope<'_>,
        name: &str,
        node: &ast::Expr,
        field: &CeilFloorKind,
        span: Span,
    ) -> Result<Expr> {
        let plain = matches!(field, CeilFloorKind::DateTimeField(DateTimeField::NoDateTime));
        self.refuse_foreign(!plain, span, "rounding to a unit")?;
        self.call_named(scope, name, &[node], span)
    }
}

fn shortened(node: &ast::Expr) -> String {
    node.to_string().chars().take(40).collect()
}
