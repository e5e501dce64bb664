//! Casts values to the types of the key columns with which they are compared.
//!
//! PostgreSQL compares an index column of one type with a value of another; our keys have one type.
//! A value that does not fit the column must find no rows, or all rows on one side, and must never
//! raise an error.
//!
//! Decision: docs/decisions/0177-key-values-have-the-columns-type-and-never-fail.md

use sql::expression::{CastKind, Expr, ExprKind};
use sql::types::Numeric;
use sql::{SqlType, typing};

/// How the value is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    Equal,
    Low,
    High,
}

/// A value of the column's type.
pub struct Key {
    pub value: Expr,
    /// Whether the comparison is exact. Otherwise a bound may be slightly too wide, and must be
    /// inclusive.
    pub is_exact: bool,
}

/// Returns `value` cast to the type of `column`, or `None` if the index cannot search for it.
pub fn key(value: Expr, column: &SqlType, purpose: Use) -> Option<Key> {
    let exact = |value| Some(Key { value, is_exact: true });
    match (&value.sql_type, column) {
        (SqlType::Text | SqlType::Varchar(_), SqlType::Text | SqlType::Varchar(_))
        | (SqlType::Char(_), SqlType::Char(_)) => exact(value),
        // Precisions round values when they are stored, and no value that is compared.
        (from, to)
            if from.base() == to.base() && (to.digits().is_some() || from.digits().is_some()) =>
        {
            exact(value)
        }
        (from, to) if from == to => exact(value),
        (
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8,
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8,
        ) => integer(value, column, purpose),
        (SqlType::Numeric(_), SqlType::Numeric(Numeric::Declared { precision, scale })) => {
            decimal(value, column, purpose, (*precision, *scale))
        }
        (SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Numeric(_), SqlType::Float8)
        | (SqlType::Date, SqlType::Timestamp(_)) => exact(cast(value, column)),
        _ => None,
    }
}

fn cast(value: Expr, column: &SqlType) -> Expr {
    let kind = ExprKind::Cast { operand: Box::new(value), kind: CastKind::Implicit };
    Expr { kind, sql_type: column.clone() }
}

fn integer(value: Expr, column: &SqlType, purpose: Use) -> Option<Key> {
    let (least, greatest) = bounds(column)?;
    if let ExprKind::Integer(number) = value.kind
        && (least..=greatest).contains(&number)
    {
        let value = Expr { kind: ExprKind::Integer(number), sql_type: column.clone() };
        return Some(Key { value, is_exact: true });
    }
    if bounds(&value.sql_type)?.1 <= greatest {
        return Some(Key { value: cast(value, column), is_exact: true });
    }
    let is_exact = purpose == Use::Equal;
    let value = clamped(value, column, purpose, &least.to_string(), &greatest.to_string())?;
    Some(Key { value, is_exact })
}

fn bounds(sql_type: &SqlType) -> Option<(i64, i64)> {
    Some(match sql_type {
        SqlType::Int2 => (i16::MIN.into(), i16::MAX.into()),
        SqlType::Int4 => (i32::MIN.into(), i32::MAX.into()),
        SqlType::Int8 => (i64::MIN, i64::MAX),
        _ => return None,
    })
}

/// Rounds to the column's scale; the filter rejects rows that match only because of the rounding.
fn decimal(
    value: Expr,
    column: &SqlType,
    purpose: Use,
    (precision, scale): (u8, u8),
) -> Option<Key> {
    let whole = "9".repeat(usize::from(precision.checked_sub(scale)?));
    let greatest =
        format!("{}.{}", if whole.is_empty() { "0" } else { &whole }, "9".repeat(scale.into()));
    let greatest = greatest.trim_end_matches('.');
    let value = clamped(value, column, purpose, &format!("-{greatest}"), greatest)?;
    Some(Key { value, is_exact: false })
}

/// Returns the value if it is between `least` and `greatest`. Otherwise returns null if no row can
/// match, or the bound that is nearest.
fn clamped(
    value: Expr,
    column: &SqlType,
    purpose: Use,
    least: &str,
    greatest: &str,
) -> Option<Expr> {
    let name = column.name();
    let inside = format!("CAST($1 AS {name})");
    let form = match purpose {
        Use::Equal => format!("CASE WHEN $1 >= {least} AND $1 <= {greatest} THEN {inside} END"),
        Use::Low => format!(
            "CASE WHEN $1 > {greatest} THEN NULL WHEN $1 < {least} THEN CAST({least} AS {name}) ELSE {inside} END"
        ),
        Use::High => format!(
            "CASE WHEN $1 < {least} THEN NULL WHEN $1 > {greatest} THEN CAST({greatest} AS {name}) ELSE {inside} END"
        ),
    };
    typing::apply(&form, vec![value]).ok().filter(|value| value.sql_type == *column)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(sql_type: SqlType) -> Expr {
        Expr { kind: ExprKind::Variable(0), sql_type }
    }

    #[test]
    fn values_that_fit_are_taken_as_they_are() {
        let wide = key(variable(SqlType::Int2), &SqlType::Int8, Use::Low).expect("it fits");
        assert!(wide.is_exact && matches!(wide.value.kind, ExprKind::Cast { .. }));
        let three = Expr { kind: ExprKind::Integer(3), sql_type: SqlType::Int4 };
        let narrow = key(three, &SqlType::Int2, Use::Equal).expect("it fits");
        assert_eq!(narrow.value, Expr { kind: ExprKind::Integer(3), sql_type: SqlType::Int2 });
        let text = key(variable(SqlType::Text), &SqlType::Varchar(Some(3)), Use::Equal);
        assert_eq!(text.expect("texts are alike").value, variable(SqlType::Text));
    }

    #[test]
    fn values_that_may_not_fit_are_clamped() {
        for purpose in [Use::Equal, Use::Low, Use::High] {
            let narrow =
                key(variable(SqlType::Int8), &SqlType::Int4, purpose).expect("it is clamped");
            assert_eq!(
                (narrow.value.sql_type, narrow.is_exact),
                (SqlType::Int4, purpose == Use::Equal)
            );
            let price = SqlType::Numeric(Numeric::Declared { precision: 4, scale: 2 });
            let open = variable(SqlType::Numeric(Numeric::Open));
            let rounded = key(open, &price, purpose).expect("it is clamped");
            assert_eq!((rounded.value.sql_type, rounded.is_exact), (price, false));
        }
        let all_fraction = SqlType::Numeric(Numeric::Declared { precision: 4, scale: 4 });
        assert!(
            key(variable(SqlType::Numeric(Numeric::Open)), &all_fraction, Use::Equal).is_some()
        );
    }

    #[test]
    fn other_types_are_left_to_the_filter() {
        assert!(key(variable(SqlType::Timestamp(None)), &SqlType::Date, Use::Low).is_none());
        assert!(key(variable(SqlType::Text), &SqlType::Char(Some(3)), Use::Equal).is_none());
    }
}
