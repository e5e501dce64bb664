//! Literals.

use super::Resolver;
use crate::error::Result;
use crate::expression::{Expr, ExprKind};
use crate::types::{Numeric, SqlType};
use sqlparser::ast::{Value, ValueWithSpan};
use sqlparser::tokenizer::Span;

impl Resolver<'_> {
    pub(super) fn literal(&mut self, value: &ValueWithSpan) -> Result<Expr> {
        let span = value.span;
        match &value.value {
            Value::Number(digits, false) => self.number(digits, span),
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => {
                Ok(Expr::new(ExprKind::Text(text.clone()), SqlType::Unknown))
            }
            Value::DollarQuotedString(quoted) => {
                Ok(Expr::new(ExprKind::Text(quoted.value.clone()), SqlType::Unknown))
            }
            Value::Boolean(truth) => Ok(Expr::boolean(ExprKind::Bool(*truth))),
            Value::Null => Ok(Expr::new(ExprKind::Null, SqlType::Unknown)),
            Value::Placeholder(text) => self.positional(text, span),
            _ => Err(self.outside(
                span,
                "this kind of constant",
                "write a number or text between single quotes",
            )),
        }
    }

    /// `integer` if it fits, else `bigint`, else `numeric` [PostgreSQL 15, 4.1.2.6].
    pub(super) fn number(&self, digits: &str, span: Span) -> Result<Expr> {
        if let Ok(number) = digits.parse::<i64>() {
            let sql_type =
                if i32::try_from(number).is_ok() { SqlType::Int4 } else { SqlType::Int8 };
            return Ok(Expr::new(ExprKind::Integer(number), sql_type));
        }
        let Some(scale) = scale_of(digits) else {
            let advice = "write a number with fewer digits";
            return Err(self.outside(span, "a number with this many digits", advice));
        };
        let sql_type = SqlType::Numeric(Numeric::Exact { scale });
        Ok(Expr::new(ExprKind::Number(digits.to_owned()), sql_type))
    }
}

/// The number of decimal places of a number as written: 2 for `1.50`, 4 for `1.5e-3`.
fn scale_of(digits: &str) -> Option<u8> {
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let exponent: i32 = exponent.parse().ok().filter(|exponent: &i32| exponent.abs() < 200)?;
    let fraction = mantissa.split_once('.').map_or("", |(_, fraction)| fraction);
    let fraction = i32::try_from(fraction.len()).ok()?;
    u8::try_from((fraction - exponent).max(0)).ok().filter(|scale| *scale < 100)
}

#[cfg(test)]
mod tests {
    use super::scale_of;

    #[test]
    fn digits_behind_the_point_are_counted() {
        assert_eq!(scale_of("1.50"), Some(2));
        assert_eq!(scale_of("1.5e-3"), Some(4));
        assert_eq!(scale_of("1.5e3"), Some(0));
        assert_eq!(scale_of(".5"), Some(1));
        assert_eq!(scale_of("1e999999999999"), None);
    }
}
