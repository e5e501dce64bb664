//! Type conversions by PostgreSQL's rules [PostgreSQL 15, chapter 10].

use crate::expression::{CastKind, Expr, ExprKind};
use crate::types::{Numeric, SqlType};

/// The context of a conversion; each context allows all conversions of the one before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Context {
    /// An operand or argument.
    Implicit,
    /// A value of a column.
    Assignment,
    /// A value of a variable: types without a cast are converted through text.
    Variable,
    /// `CAST`
    Explicit,
}

/// Converts `expr` to `target`; `None` if `context` does not allow it. The error is about a literal
/// that is not valid for the type.
pub(crate) fn coerce(
    expr: Expr,
    target: &SqlType,
    context: Context,
) -> Result<Option<Expr>, String> {
    if expr.sql_type == SqlType::Unknown {
        return coerce_literal(expr, target, context).map(Some);
    }
    if is_same(&expr.sql_type, target) {
        return Ok(Some(expr));
    }
    let Some(kind) = cast_kind(&expr.sql_type, target, context) else {
        return Ok(None);
    };
    let sql_type = cast_type(&expr.sql_type, target);
    Ok(Some(Expr::new(ExprKind::Cast { operand: Box::new(expr), kind }, sql_type)))
}

/// Whether values of `from` are values of `target` without conversion.
fn is_same(from: &SqlType, target: &SqlType) -> bool {
    match (from, target) {
        (SqlType::Numeric(_), SqlType::Numeric(Numeric::Open | Numeric::Exact { .. }))
        | (SqlType::Text | SqlType::Varchar(_), SqlType::Text | SqlType::Varchar(None))
        | (SqlType::Char(_), SqlType::Char(None))
        | (SqlType::Time(_), SqlType::Time(None))
        | (SqlType::Timestamp(_), SqlType::Timestamp(None))
        | (SqlType::TimestampTz(_), SqlType::TimestampTz(None)) => true,
        (SqlType::Array(from), SqlType::Array(target)) => is_same(from, target),
        (SqlType::Record(from), SqlType::Record(target)) => {
            from.len() == target.len()
                && from.iter().zip(target).all(|(from, target)| from.sql_type == target.sql_type)
        }
        (from, target) => from == target,
    }
}

/// The type after a conversion; a known number of decimal places stays known.
fn cast_type(from: &SqlType, target: &SqlType) -> SqlType {
    match target {
        SqlType::Numeric(Numeric::Open) if from.is_integer() => {
            SqlType::Numeric(Numeric::Exact { scale: 0 })
        }
        target => target.clone(),
    }
}

fn coerce_literal(expr: Expr, target: &SqlType, context: Context) -> Result<Expr, String> {
    let target = if *target == SqlType::Unknown { &SqlType::Text } else { target };
    match expr.kind {
        ExprKind::Null => Ok(Expr::new(ExprKind::Null, target.clone())),
        ExprKind::Text(text) => {
            check_literal(&text, target)?;
            let literal = Expr::new(ExprKind::Text(text), SqlType::Text);
            if matches!(target, SqlType::Text | SqlType::Varchar(None)) {
                return Ok(Expr { sql_type: target.clone(), ..literal });
            }
            let kind = if context == Context::Explicit {
                CastKind::Explicit
            } else {
                CastKind::Assignment
            };
            Ok(Expr::new(ExprKind::Cast { operand: Box::new(literal), kind }, target.clone()))
        }
        kind => Ok(Expr::new(kind, target.clone())),
    }
}

/// Refuses invalid literals, as PostgreSQL does when it parses the statement. Literals of dates,
/// times and intervals are checked only at run time, because their syntax has too many variants.
fn check_literal(text: &str, target: &SqlType) -> Result<(), String> {
    let trimmed = text.trim();
    let reads = match target {
        SqlType::Int2 => trimmed.parse::<i16>().is_ok(),
        SqlType::Int4 => trimmed.parse::<i32>().is_ok(),
        SqlType::Int8 => trimmed.parse::<i64>().is_ok(),
        SqlType::Float4 | SqlType::Float8 => trimmed.parse::<f64>().is_ok(),
        SqlType::Numeric(_) => is_decimal(trimmed),
        SqlType::Bool => is_truth(&trimmed.to_lowercase()),
        SqlType::Enum(of) => of.place(text).is_some(),
        SqlType::Void | SqlType::Record(_) => false,
        _ => true,
    };
    if reads { Ok(()) } else { Err(format!("'{text}' cannot be read as {target}")) }
}

fn is_decimal(text: &str) -> bool {
    text.parse::<f64>().is_ok() && text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c))
        || text.eq_ignore_ascii_case("nan")
}

fn is_truth(text: &str) -> bool {
    let prefixes = ["true", "false", "yes", "no"];
    let is_prefix = |word: &&str| !text.is_empty() && word.starts_with(text);
    prefixes.iter().any(is_prefix) || ["on", "of", "off", "0", "1"].contains(&text)
}

/// The kind of cast from `from` to `target`, or `None` if `context` does not allow it.
fn cast_kind(from: &SqlType, target: &SqlType, context: Context) -> Option<CastKind> {
    if let (SqlType::Array(from), SqlType::Array(target)) = (from, target) {
        return cast_kind(from, target, context);
    }
    if let (SqlType::Array(_), true) = (from, target.is_text()) {
        let kind = match context {
            Context::Implicit => return None,
            Context::Assignment => CastKind::Assignment,
            Context::Explicit => CastKind::Explicit,
            Context::Variable => CastKind::ThroughText,
        };
        return Some(kind);
    }
    if let (true, SqlType::Array(_)) = (from.is_text(), target) {
        return match context {
            Context::Explicit => Some(CastKind::Explicit),
            Context::Variable => Some(CastKind::ThroughText),
            _ => None,
        };
    }
    let structured =
        |t: &SqlType| matches!(t, SqlType::Array(_) | SqlType::Record(_) | SqlType::Void);
    if structured(from) || structured(target) {
        return None;
    }
    let needed = if converts_implicitly(from, target) {
        Context::Implicit
    } else if converts_on_assignment(from, target) {
        Context::Assignment
    } else if converts_explicitly(from, target) {
        Context::Explicit
    } else if context == Context::Variable {
        return Some(CastKind::ThroughText);
    } else {
        return None;
    };
    match context {
        Context::Variable if needed == Context::Explicit => Some(CastKind::ThroughText),
        Context::Variable => Some(CastKind::Assignment),
        context if context < needed => None,
        Context::Implicit => Some(CastKind::Implicit),
        Context::Assignment => Some(CastKind::Assignment),
        Context::Explicit => Some(CastKind::Explicit),
    }
}

/// Rank of a number type: each converts implicitly to types of a higher rank.
fn number_rank(sql_type: &SqlType) -> Option<u8> {
    Some(match sql_type {
        SqlType::Int2 => 0,
        SqlType::Int4 => 1,
        SqlType::Int8 => 2,
        SqlType::Numeric(_) => 3,
        SqlType::Float4 => 4,
        SqlType::Float8 => 5,
        _ => return None,
    })
}

/// Rank of a date or time type: each converts implicitly to types of a higher rank.
fn time_rank(sql_type: &SqlType) -> Option<u8> {
    Some(match sql_type {
        SqlType::Date => 0,
        SqlType::Timestamp(_) => 1,
        SqlType::TimestampTz(_) => 2,
        _ => return None,
    })
}

/// Whether operands of type `from` convert implicitly to `target`. Lengths and precisions do not
/// matter.
pub(crate) fn converts_implicitly(from: &SqlType, target: &SqlType) -> bool {
    if let (SqlType::Array(from), SqlType::Array(target)) = (from, target) {
        return from.base() == target.base();
    }
    let rises = |rank: fn(&SqlType) -> Option<u8>| match (rank(from), rank(target)) {
        (Some(from), Some(target)) => from <= target,
        _ => false,
    };
    *from == SqlType::Unknown
        || from.base() == target.base()
        || rises(number_rank)
        || rises(time_rank)
        || from.is_text() && target.is_text()
        || matches!((from, target), (SqlType::Time(_), SqlType::Interval))
}

fn converts_on_assignment(from: &SqlType, target: &SqlType) -> bool {
    let falls = number_rank(from).is_some() && number_rank(target).is_some()
        || time_rank(from).is_some() && time_rank(target).is_some();
    let is_time_of = |from: &SqlType| {
        matches!(from, SqlType::Timestamp(_) | SqlType::TimestampTz(_) | SqlType::Interval)
    };
    falls
        || target.is_text()
        || from.is_json() && target.is_json()
        || is_time_of(from) && matches!(target, SqlType::Time(_))
}

fn converts_explicitly(from: &SqlType, target: &SqlType) -> bool {
    matches!((from, target), (SqlType::Int4, SqlType::Bool) | (SqlType::Bool, SqlType::Int4))
        || from.is_text()
        || *from == SqlType::Jsonb && (target.is_number() || *target == SqlType::Bool)
}

/// The type to which all of `types` convert, or `None` [PostgreSQL 15, 10.5]; text if all are
/// untyped literals.
pub(crate) fn common_type(types: &[SqlType]) -> Option<SqlType> {
    let mut known = types.iter().filter(|sql_type| **sql_type != SqlType::Unknown);
    let Some(first) = known.next() else {
        return Some(SqlType::Text);
    };
    known.try_fold(first.clone(), |common, other| widen(&common, other))
}

fn widen(common: &SqlType, other: &SqlType) -> Option<SqlType> {
    if common == other {
        return Some(common.clone());
    }
    let (base, other_base) = (common.base(), other.base());
    if base == other_base {
        return Some(base);
    }
    if converts_implicitly(&other_base, &base) {
        return Some(base);
    }
    converts_implicitly(&base, &other_base).then_some(other_base)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONEY: SqlType = SqlType::Numeric(Numeric::Declared { precision: 12, scale: 2 });

    #[test]
    fn common_types_are_those_of_postgresql() {
        let common = |types: &[SqlType]| common_type(types).map(|sql_type| sql_type.name());
        assert_eq!(common(&[SqlType::Int4, MONEY]).as_deref(), Some("numeric"));
        assert_eq!(common(&[MONEY, SqlType::Unknown, MONEY]).as_deref(), Some("numeric(12,2)"));
        assert_eq!(common(&[SqlType::Int2, SqlType::Float8]).as_deref(), Some("double precision"));
        assert_eq!(
            common(&[SqlType::Varchar(Some(3)), SqlType::Text]).as_deref(),
            Some("character varying")
        );
        assert_eq!(
            common(&[SqlType::Date, SqlType::TimestampTz(None)]).as_deref(),
            Some("timestamp with time zone")
        );
        assert_eq!(common(&[SqlType::Unknown]).as_deref(), Some("text"));
        assert_eq!(common(&[SqlType::Int4, SqlType::Text]), None);
    }

    #[test]
    fn what_a_context_refuses_is_refused() {
        let cast = |from: &SqlType, target: &SqlType, context| {
            let expr = Expr::new(ExprKind::Variable(0), from.clone());
            coerce(expr, target, context).expect("no literal").is_some()
        };
        assert!(!cast(&MONEY, &SqlType::Int4, Context::Implicit));
        assert!(cast(&MONEY, &SqlType::Int4, Context::Assignment));
        assert!(!cast(&SqlType::Text, &SqlType::Int4, Context::Assignment));
        assert!(cast(&SqlType::Text, &SqlType::Int4, Context::Variable));
        assert!(!cast(&SqlType::Bool, &SqlType::Int4, Context::Assignment));
        assert!(cast(&SqlType::Bool, &SqlType::Int4, Context::Explicit));
        assert!(!cast(&SqlType::Bool, &SqlType::Date, Context::Explicit));
    }

    #[test]
    fn literals_are_read_at_once() {
        let literal = |text: &str| Expr::new(ExprKind::Text(text.to_owned()), SqlType::Unknown);
        assert!(coerce(literal(" 12 "), &SqlType::Int4, Context::Implicit).is_ok());
        assert!(coerce(literal("12x"), &SqlType::Int4, Context::Implicit).is_err());
        assert!(coerce(literal("maybe"), &SqlType::Bool, Context::Implicit).is_err());
        assert!(
            coerce(literal("1e3"), &SqlType::Numeric(Numeric::Open), Context::Implicit).is_ok()
        );
    }
}
