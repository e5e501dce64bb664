//! The fast path: integers, decimals and booleans are passed unwrapped instead of as [`Value`], and
//! operands that are columns, variables or constants need no call.

use super::Node;
use super::evaluate::{Outcome, element_in, holds};
use crate::conversion::Conversion;
use crate::error::Error;
use crate::integer;
use crate::numeric;
use crate::scope::Scope;
use crate::value::{Decimal, Value};
use sql::expression::BinaryOperator;

impl Node {
    /// Evaluates any expression.
    #[inline]
    pub(super) fn evaluate<S: Scope + ?Sized>(&self, scope: &S) -> Outcome<Value> {
        match self {
            Self::Column(column) => Ok(scope.column(*column)?),
            Self::Variable(variable) => Ok(scope.variable(*variable).clone()),
            Self::Constant(value) => Ok(value.clone()),
            Self::Integer { .. } | Self::Convert { conversion: Conversion::IntToInt(_), .. } => {
                Ok(self.int_of_operator(scope)?.into())
            }
            Self::Numeric { .. }
            | Self::Convert {
                conversion: Conversion::FitNumeric { .. } | Conversion::IntToNumeric,
                ..
            } => Ok(self.numeric_of_operator(scope)?.into()),
            Self::Subscript(operands) => match operands[0] {
                Self::Variable(array) => {
                    Ok(element_in(scope.variable(array), &operands[1], scope)?.clone())
                }
                _ => self.evaluate_any(scope),
            },
            Self::CompareIntegers { .. } | Self::CompareNumerics { .. } | Self::And(_) => {
                Ok(self.truth(scope)?.into())
            }
            Self::Case { branches, otherwise } => {
                chosen(branches, otherwise, scope)?.evaluate(scope)
            }
            _ => self.evaluate_any(scope),
        }
    }

    /// Evaluates an integer expression.
    #[inline(always)]
    pub(super) fn int<S: Scope + ?Sized>(&self, scope: &S) -> Outcome<Option<i64>> {
        match self {
            Self::Column(column) => Ok(scope.int_column(*column)),
            Self::Variable(variable) => Ok(scope.variable(*variable).as_int()),
            Self::Constant(value) => Ok(value.as_int()),
            _ => self.int_of_operator(scope),
        }
    }

    #[inline(never)]
    fn int_of_operator<S: Scope + ?Sized>(&self, scope: &S) -> Outcome<Option<i64>> {
        match self {
            Self::Integer { operator, width, operands } => {
                let left = operands[0].int(scope)?;
                let right = operands[1].int(scope)?;
                let (Some(left), Some(right)) = (left, right) else {
                    return Ok(None);
                };
                let result = match operator {
                    BinaryOperator::Add => integer::add(*width, left, right)?,
                    BinaryOperator::Subtract => integer::subtract(*width, left, right)?,
                    BinaryOperator::Multiply => integer::multiply(*width, left, right)?,
                    BinaryOperator::Divide => integer::divide(*width, left, right)?,
                    BinaryOperator::Modulo => integer::modulo(left, right)?,
                    BinaryOperator::BitAnd => left & right,
                    BinaryOperator::BitOr => left | right,
                    BinaryOperator::BitXor => left ^ right,
                    BinaryOperator::ShiftLeft => integer::shift_left(*width, left, right),
                    BinaryOperator::ShiftRight => integer::shift_right(*width, left, right),
                    _ => return Err(Error::internal("integers have no such operator").into()),
                };
                Ok(Some(result))
            }
            Self::Convert { conversion: Conversion::IntToInt(width), operand } => {
                match operand.int(scope)? {
                    Some(number) => Ok(Some(width.fit(number)?)),
                    None => Ok(None),
                }
            }
            Self::Subscript(operands) => match operands[0] {
                Self::Variable(array) => {
                    Ok(element_in(scope.variable(array), &operands[1], scope)?.as_int())
                }
                _ => Ok(self.evaluate_any(scope)?.as_int()),
            },
            Self::Case { branches, otherwise } => chosen(branches, otherwise, scope)?.int(scope),
            _ => Ok(self.evaluate_any(scope)?.as_int()),
        }
    }

    /// Evaluates a decimal expression.
    #[inline(always)]
    pub(super) fn numeric<S: Scope + ?Sized>(&self, scope: &S) -> Outcome<Option<Decimal>> {
        match self {
            Self::Column(column) => Ok(scope.numeric_column(*column)),
            Self::Variable(variable) => Ok(scope.variable(*variable).as_numeric()),
            Self::Constant(value) => Ok(value.as_numeric()),
            _ => self.numeric_of_operator(scope),
        }
    }

    #[inline(never)]
    fn numeric_of_operator<S: Scope + ?Sized>(&self, scope: &S) -> Outcome<Option<Decimal>> {
        match self {
            Self::Numeric { apply, operands } => {
                let left = operands[0].numeric(scope)?;
                let right = operands[1].numeric(scope)?;
                let (Some(left), Some(right)) = (left, right) else {
                    return Ok(None);
                };
                Ok(Some(apply(left, right)?))
            }
            Self::Convert { conversion: Conversion::FitNumeric { precision, scale }, operand } => {
                match operand.numeric(scope)? {
                    Some(number) => Ok(Some(numeric::fit(number, *precision, *scale)?)),
                    None => Ok(None),
                }
            }
            Self::Convert { conversion: Conversion::IntToNumeric, operand } => {
                Ok(operand.int(scope)?.map(Decimal::from_int))
            }
            Self::Case { branches, otherwise } => {
                chosen(branches, otherwise, scope)?.numeric(scope)
            }
            _ => Ok(self.evaluate_any(scope)?.as_numeric()),
        }
    }

    /// Evaluates a boolean expression: true, false or null.
    #[inline]
    pub(super) fn truth<S: Scope + ?Sized>(&self, scope: &S) -> Outcome<Option<bool>> {
        match self {
            Self::CompareIntegers { operator, operands } => {
                let left = operands[0].int(scope)?;
                let right = operands[1].int(scope)?;
                let (Some(left), Some(right)) = (left, right) else {
                    return Ok(None);
                };
                Ok(Some(holds(*operator, left.cmp(&right))))
            }
            Self::CompareNumerics { operator, operands } => {
                let left = operands[0].numeric(scope)?;
                let right = operands[1].numeric(scope)?;
                let (Some(left), Some(right)) = (left, right) else {
                    return Ok(None);
                };
                Ok(Some(holds(*operator, numeric::order(left, right))))
            }
            Self::And(operands) => {
                let left = operands[0].truth(scope)?;
                if left == Some(false) {
                    return Ok(left);
                }
                Ok(match operands[1].truth(scope)? {
                    Some(true) => left,
                    right => right,
                })
            }
            Self::Variable(variable) => Ok(scope.variable(*variable).as_bool()),
            Self::Not(operand) => Ok(operand.truth(scope)?.map(|truth| !truth)),
            _ => self.truth_any(scope),
        }
    }
}

/// Returns the result of the first branch of a `CASE` whose condition holds.
#[inline]
fn chosen<'n, S: Scope + ?Sized>(
    branches: &'n [(Node, Node)],
    otherwise: &'n Node,
    scope: &S,
) -> Outcome<&'n Node> {
    for (condition, value) in branches {
        if condition.truth(scope)? == Some(true) {
            return Ok(value);
        }
    }
    Ok(otherwise)
}
