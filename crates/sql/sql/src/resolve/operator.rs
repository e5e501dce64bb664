//! Operators: operand and result types.

use super::Resolver;
use super::coerce::{Context, common_type, converts_implicitly};
use crate::error::{Error, Result};
use crate::expression::{BinaryOperator, Expr, ExprKind, UnaryOperator};
use crate::function::Function;
use crate::types::{Numeric, SqlType};
use sqlparser::tokenizer::Span;

impl Resolver<'_> {
    pub(super) fn binary(
        &self,
        operator: BinaryOperator,
        left: Expr,
        right: Expr,
        span: Span,
    ) -> Result<Expr> {
        match operator {
            BinaryOperator::And | BinaryOperator::Or => {
                let (left, right) = (self.truth(left, span)?, self.truth(right, span)?);
                Ok(pair(operator, left, right, SqlType::Bool))
            }
            BinaryOperator::Concatenate => self.concatenate(left, right, span),
            operator if operator.is_comparison() => self.comparison(operator, left, right, span),
            BinaryOperator::BitAnd
            | BinaryOperator::BitOr
            | BinaryOperator::BitXor
            | BinaryOperator::ShiftLeft
            | BinaryOperator::ShiftRight => self.bits(operator, left, right, span),
            BinaryOperator::Get
            | BinaryOperator::GetText
            | BinaryOperator::GetPath
            | BinaryOperator::GetPathText
            | BinaryOperator::Contains
            | BinaryOperator::Contained
            | BinaryOperator::Overlaps
            | BinaryOperator::HasKey
            | BinaryOperator::HasAny
            | BinaryOperator::HasAll
            | BinaryOperator::DeletePath => self.json_operator(operator, left, right, span),
            BinaryOperator::Subtract if left.sql_type == SqlType::Jsonb => {
                self.json_operator(operator, left, right, span)
            }
            operator => self.arithmetic(operator, left, right, span),
        }
    }

    pub(super) fn no_operator(
        &self,
        operator: BinaryOperator,
        left: &SqlType,
        right: &SqlType,
        span: Span,
    ) -> Error {
        let sentence = format!("the operator {left} {} {right} does not exist", operator.sign());
        let (left, right) = (left.base(), right.base());
        let message = format!("operator does not exist: {left} {} {right}", operator.sign());
        let error = self.type_error(span, sentence).in_postgres("42883", message);
        error.advise("convert one side with CAST")
    }

    /// Compares both sides in their common type.
    pub(super) fn comparison(
        &self,
        operator: BinaryOperator,
        left: Expr,
        right: Expr,
        span: Span,
    ) -> Result<Expr> {
        let is_row = |expr: &Expr| matches!(expr.sql_type, SqlType::Record(_));
        self.refuse(
            is_row(&left) && is_row(&right),
            span,
            "a comparison of rows",
            "compare their columns one by one",
        )?;
        let Some(common) = comparison_type(&left.sql_type, &right.sql_type) else {
            return Err(self.no_operator(operator, &left.sql_type, &right.sql_type, span));
        };
        let left = self.convert(left, &common, Context::Implicit, span)?;
        let right = self.convert(right, &common, Context::Implicit, span)?;
        Ok(pair(operator, left, right, SqlType::Bool))
    }

    fn arithmetic(
        &self,
        operator: BinaryOperator,
        left: Expr,
        right: Expr,
        span: Span,
    ) -> Result<Expr> {
        if left.sql_type.is_time() || right.sql_type.is_time() {
            return self.time_arithmetic(operator, left, right, span);
        }
        let is_time = |one: &Expr| matches!(one.sql_type, SqlType::Time(_));
        if is_time(&left) || is_time(&right) {
            return self.time_of_day_arithmetic(operator, left, right, span);
        }
        if left.sql_type == SqlType::Interval || right.sql_type == SqlType::Interval {
            return self.interval_arithmetic(operator, left, right, span);
        }
        let refused = self.no_operator(operator, &left.sql_type, &right.sql_type, span);
        if left.sql_type == SqlType::Unknown && right.sql_type == SqlType::Unknown {
            return Err(refused.advise("give one side a type with CAST"));
        }
        let Some(common) = operand_type(&left.sql_type, &right.sql_type) else {
            return Err(refused);
        };
        let no_float_remainder = operator == BinaryOperator::Modulo && common.is_float();
        if !common.is_number() || no_float_remainder {
            return Err(refused);
        }
        let left = self.convert(left, &common, Context::Implicit, span)?;
        let right = self.convert(right, &common, Context::Implicit, span)?;
        let sql_type = match common {
            SqlType::Numeric(_) => {
                SqlType::Numeric(scale_after(operator, &left.sql_type, &right.sql_type))
            }
            common => common,
        };
        Ok(pair(operator, left, right, sql_type))
    }

    /// Arithmetic with dates, times and intervals [PostgreSQL 15, table 9.31].
    fn time_arithmetic(
        &self,
        operator: BinaryOperator,
        left: Expr,
        right: Expr,
        span: Span,
    ) -> Result<Expr> {
        let adds = operator == BinaryOperator::Add;
        if !adds && operator != BinaryOperator::Subtract {
            return Err(self.no_operator(operator, &left.sql_type, &right.sql_type, span));
        }
        let both = |left: &SqlType, right: &SqlType, result: SqlType| {
            Some((left.clone(), right.clone(), result))
        };
        let day = |date: &SqlType| {
            if *date == SqlType::Date { SqlType::Timestamp(None) } else { date.base() }
        };
        let plan = match (&left.sql_type, &right.sql_type) {
            (SqlType::Date, SqlType::Int2 | SqlType::Int4) => {
                both(&SqlType::Date, &SqlType::Int4, SqlType::Date)
            }
            (SqlType::Int2 | SqlType::Int4, SqlType::Date) if adds => {
                both(&SqlType::Int4, &SqlType::Date, SqlType::Date)
            }
            (SqlType::Date, SqlType::Date | SqlType::Unknown) if !adds => {
                both(&SqlType::Date, &SqlType::Date, SqlType::Int4)
            }
            (time, SqlType::Unknown) if !adds => {
                both(&time.base(), &time.base(), SqlType::Interval)
            }
            // PostgreSQL takes a time of day as an interval, too.
            (time, SqlType::Interval | SqlType::Time(_)) if time.is_time() => {
                both(&day(time), &SqlType::Interval, day(time))
            }
            (SqlType::Timestamp(_) | SqlType::TimestampTz(_), SqlType::Unknown) => {
                both(&left.sql_type.base(), &SqlType::Interval, left.sql_type.base())
            }
            (SqlType::Interval | SqlType::Time(_), time) if adds && time.is_time() => {
                both(&SqlType::Interval, &day(time), day(time))
            }
            (left, right) if left.is_time() && right.is_time() && !adds => {
                common_type(&[left.clone(), right.clone()])
                    .and_then(|common| both(&common, &common, SqlType::Interval))
            }
            _ => None,
        };
        let Some((left_type, right_type, result)) = plan else {
            return Err(self.no_operator(operator, &left.sql_type, &right.sql_type, span));
        };
        let left = self.convert(left, &left_type, Context::Implicit, span)?;
        let right = self.convert(right, &right_type, Context::Implicit, span)?;
        Ok(pair(operator, left, right, result))
    }

    /// Arithmetic with times of day, which stay within a day.
    fn time_of_day_arithmetic(
        &self,
        operator: BinaryOperator,
        left: Expr,
        right: Expr,
        span: Span,
    ) -> Result<Expr> {
        use BinaryOperator as Operator;
        let time = SqlType::Time(None);
        let (left_type, right_type, result) = match (operator, &left.sql_type, &right.sql_type) {
            (Operator::Add | Operator::Subtract, SqlType::Time(_), SqlType::Interval) => {
                (time.clone(), SqlType::Interval, time)
            }
            (Operator::Add, SqlType::Interval, SqlType::Time(_)) => {
                (SqlType::Interval, time.clone(), time)
            }
            (Operator::Subtract, SqlType::Time(_) | SqlType::Unknown, SqlType::Time(_))
            | (Operator::Subtract, SqlType::Time(_), SqlType::Unknown) => {
                (time.clone(), time, SqlType::Interval)
            }
            (Operator::Multiply | Operator::Divide, SqlType::Time(_), number)
                if number.is_number() =>
            {
                (SqlType::Interval, SqlType::Float8, SqlType::Interval)
            }
            (Operator::Multiply, number, SqlType::Time(_)) if number.is_number() => {
                (SqlType::Float8, SqlType::Interval, SqlType::Interval)
            }
            (Operator::Add, SqlType::Time(_), SqlType::Time(_)) => {
                let refused = self.no_operator(operator, &left.sql_type, &right.sql_type, span);
                let message = format!("operator is not unique: {time} + {time}");
                return Err(refused.in_postgres("42725", message));
            }
            _ => return Err(self.no_operator(operator, &left.sql_type, &right.sql_type, span)),
        };
        let left = self.convert(left, &left_type, Context::Implicit, span)?;
        let right = self.convert(right, &right_type, Context::Implicit, span)?;
        Ok(pair(operator, left, right, result))
    }

    fn interval_arithmetic(
        &self,
        operator: BinaryOperator,
        left: Expr,
        right: Expr,
        span: Span,
    ) -> Result<Expr> {
        use BinaryOperator as Operator;
        let refused = self.no_operator(operator, &left.sql_type, &right.sql_type, span);
        let interval = |expr: &Expr| matches!(expr.sql_type, SqlType::Interval | SqlType::Unknown);
        let (left_type, right_type) = match operator {
            Operator::Add | Operator::Subtract if interval(&left) && interval(&right) => {
                (SqlType::Interval, SqlType::Interval)
            }
            Operator::Multiply if right.sql_type.is_number() => {
                (SqlType::Interval, SqlType::Float8)
            }
            Operator::Divide if right.sql_type.is_number() => (SqlType::Interval, SqlType::Float8),
            Operator::Multiply if left.sql_type.is_number() => (SqlType::Float8, SqlType::Interval),
            _ => return Err(refused),
        };
        let left = self.convert(left, &left_type, Context::Implicit, span)?;
        let right = self.convert(right, &right_type, Context::Implicit, span)?;
        Ok(pair(operator, left, right, SqlType::Interval))
    }

    fn bits(&self, operator: BinaryOperator, left: Expr, right: Expr, span: Span) -> Result<Expr> {
        let refused = self.no_operator(operator, &left.sql_type, &right.sql_type, span);
        let shifts = matches!(operator, BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight);
        let (left_type, right_type) = if shifts {
            (left.sql_type.clone(), SqlType::Int4)
        } else {
            let common = common_type(&[left.sql_type.clone(), right.sql_type.clone()]);
            let common = common.unwrap_or(SqlType::Unknown);
            (common.clone(), common)
        };
        if !left_type.is_integer() || !converts_implicitly(&right.sql_type, &right_type) {
            return Err(refused);
        }
        let left = self.convert(left, &left_type, Context::Implicit, span)?;
        let right = self.convert(right, &right_type, Context::Implicit, span)?;
        Ok(pair(operator, left, right, left_type))
    }

    /// Concatenates texts, a text and another value, or arrays.
    fn concatenate(&self, left: Expr, right: Expr, span: Span) -> Result<Expr> {
        let refused =
            self.no_operator(BinaryOperator::Concatenate, &left.sql_type, &right.sql_type, span);
        let call = |function, arguments: Vec<Expr>, sql_type| {
            Ok(Expr::new(ExprKind::Function { function, arguments }, sql_type))
        };
        match (left.sql_type.clone(), right.sql_type.clone()) {
            (array @ SqlType::Array(_), SqlType::Array(_) | SqlType::Unknown) => {
                let right = self.convert(right, &array, Context::Implicit, span)?;
                call(Function::ArrayConcat, vec![left, right], array)
            }
            (SqlType::Array(element), _) => {
                let array = left.sql_type.clone();
                let right = self.convert(right, &element, Context::Implicit, span)?;
                call(Function::ArrayAppend, vec![left, right], array)
            }
            (SqlType::Unknown, array @ SqlType::Array(_)) => {
                let left = self.convert(left, &array, Context::Implicit, span)?;
                call(Function::ArrayConcat, vec![left, right], array)
            }
            (_, SqlType::Array(element)) => {
                let array = right.sql_type.clone();
                let left = self.convert(left, &element, Context::Implicit, span)?;
                call(Function::ArrayPrepend, vec![left, right], array)
            }
            (SqlType::Jsonb, SqlType::Jsonb | SqlType::Unknown)
            | (SqlType::Unknown, SqlType::Jsonb) => {
                self.json_operator(BinaryOperator::Concatenate, left, right, span)
            }
            (SqlType::Bytes, SqlType::Bytes | SqlType::Unknown)
            | (SqlType::Unknown, SqlType::Bytes) => {
                let left = self.convert(left, &SqlType::Bytes, Context::Implicit, span)?;
                let right = self.convert(right, &SqlType::Bytes, Context::Implicit, span)?;
                Ok(pair(BinaryOperator::Concatenate, left, right, SqlType::Bytes))
            }
            (left_type, right_type) => {
                let is_text = |t: &SqlType| t.is_text() || *t == SqlType::Unknown;
                if !is_text(&left_type) && !is_text(&right_type) {
                    return Err(refused);
                }
                let left = self.convert(left, &SqlType::Text, Context::Assignment, span)?;
                let right = self.convert(right, &SqlType::Text, Context::Assignment, span)?;
                Ok(pair(BinaryOperator::Concatenate, left, right, SqlType::Text))
            }
        }
    }

    pub(super) fn negate(&self, operand: Expr, span: Span) -> Result<Expr> {
        let sql_type = match operand.sql_type.clone() {
            SqlType::Numeric(numeric) => {
                let exact = numeric.scale().map(|scale| Numeric::Exact { scale });
                SqlType::Numeric(exact.unwrap_or(Numeric::Open))
            }
            sql_type if sql_type.is_number() || sql_type == SqlType::Interval => sql_type,
            other => {
                let sentence = format!("the operator - {other} does not exist");
                return Err(self.type_error(span, sentence).advise("convert it with CAST"));
            }
        };
        let operator = UnaryOperator::Negate;
        Ok(Expr::new(ExprKind::Unary { operator, operand: Box::new(operand) }, sql_type))
    }
}

pub(super) fn pair(operator: BinaryOperator, left: Expr, right: Expr, sql_type: SqlType) -> Expr {
    let kind = ExprKind::Binary { operator, left: Box::new(left), right: Box::new(right) };
    Expr::new(kind, sql_type)
}

/// The type to which an operator converts both operands. `real` with another number is computed in
/// `double precision`, the preferred type.
fn operand_type(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    let common = common_type(&[left.base(), right.base()])?;
    let is_mixed = |one: &SqlType| !matches!(one, SqlType::Unknown | SqlType::Float4);
    if common == SqlType::Float4 && (is_mixed(left) || is_mixed(right)) {
        return Some(SqlType::Float8);
    }
    Some(common)
}

/// The type in which two values are compared: `char` and `text` as text; `char` and any other type
/// as `char`, which ignores trailing blanks.
pub(super) fn comparison_type(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    let common = operand_type(left, right)?;
    let either = |t: &SqlType| left.base() == *t || right.base() == *t;
    let comparable = !matches!(common, SqlType::Void | SqlType::Record(_) | SqlType::Json);
    if !common.is_text() {
        return comparable.then_some(common);
    }
    let char_type = SqlType::Char(None);
    Some(if either(&char_type) && !either(&SqlType::Text) { char_type } else { SqlType::Text })
}

/// The number of decimal places of a result [PostgreSQL 15, `numeric.c`]; in a division it depends
/// on the values.
fn scale_after(operator: BinaryOperator, left: &SqlType, right: &SqlType) -> Numeric {
    let (SqlType::Numeric(left), SqlType::Numeric(right)) = (left, right) else {
        return Numeric::Open;
    };
    let (Some(left), Some(right)) = (left.scale(), right.scale()) else {
        return Numeric::Open;
    };
    match operator {
        BinaryOperator::Add | BinaryOperator::Subtract | BinaryOperator::Modulo => {
            Numeric::Exact { scale: left.max(right) }
        }
        BinaryOperator::Multiply => Numeric::Exact { scale: left.saturating_add(right) },
        _ => Numeric::Open,
    }
}
