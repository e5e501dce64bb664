//! Evaluation. Constants and variables are borrowed where they are stored, so that comparing text
//! copies nothing.
//!
//! Decision: docs/decisions/0174-evaluation-of-an-expression-does-not-wait.md

use super::{Moment, Node, Pair, Wanted};
use crate::error::{Error, sqlstate};
use crate::like;
use crate::order::{equal, order};
use crate::scope::{Scope, Stop};
use crate::value::Value;
use crate::{timestamp, zone};
use compact_str::CompactString;
use sql::expression::{BinaryOperator, Test};
use std::borrow::Cow;
use std::cmp::Ordering;

/// The result of evaluating a node. The error is boxed so that numbers and booleans are returned in
/// registers.
pub(super) type Outcome<T> = Result<T, Box<Stop>>;

/// Whether a comparison operator holds for operands of this order.
#[inline]
pub(super) fn holds(operator: BinaryOperator, order: Ordering) -> bool {
    match operator {
        BinaryOperator::Equal | BinaryOperator::NotDistinct => order.is_eq(),
        BinaryOperator::NotEqual | BinaryOperator::Distinct => order.is_ne(),
        BinaryOperator::Less => order.is_lt(),
        BinaryOperator::LessOrEqual => order.is_le(),
        BinaryOperator::Greater => order.is_gt(),
        BinaryOperator::GreaterOrEqual => order.is_ge(),
        _ => false,
    }
}

impl Node {
    #[inline(never)]
    pub(super) fn evaluate_any<S: Scope + ?Sized>(&self, scope: &S) -> Outcome<Value> {
        Ok(match self {
            Self::Constant(value) => value.clone(),
            Self::Fail(error) => return Err(error.clone().into()),
            Self::Variable(variable) => scope.variable(*variable).clone(),
            Self::Field { variable, field } => field_of(scope.variable(*variable), *field).clone(),
            Self::Column(column) => scope.column(*column)?,
            Self::Element => scope.element().clone(),
            Self::Aggregate(aggregate) => scope.aggregate(*aggregate).clone(),
            Self::Moment(moment) => moment_in(scope, *moment),
            Self::Sequence { function, arguments } => {
                let arguments = arguments.iter().map(|argument| argument.evaluate(scope));
                scope.sequence(*function, &arguments.collect::<Outcome<Vec<_>>>()?)?
            }
            Self::Integer { .. } | Self::Numeric { .. } | Self::Case { .. } => {
                return self.evaluate(scope);
            }
            Self::Unary { apply, operand } => {
                let operand = operand.look(scope)?;
                if operand.is_null() { Value::Null } else { apply(&operand)? }
            }
            Self::Binary { apply, operands } => {
                let (left, right) = both(operands, scope)?;
                if left.is_null() || right.is_null() { Value::Null } else { apply(&left, &right)? }
            }
            Self::Strict { apply, arguments } => {
                let values = all(arguments, scope)?;
                if values.iter().any(Value::is_null) { Value::Null } else { apply(&values)? }
            }
            Self::Lenient { apply, arguments } => apply(&all(arguments, scope)?)?,
            Self::Coalesce(nodes) => first_value(nodes, scope)?,
            Self::Extreme { operands, greatest } => extreme(all(operands, scope)?, *greatest),
            Self::NullIf(operands) => null_if(operands, scope)?,
            Self::Convert { conversion, operand } => conversion.apply(operand.evaluate(scope)?)?,
            Self::Subscript(operands) => element(operands, scope)?.into_owned(),
            Self::Array(nodes) => Value::Array(all(nodes, scope)?.into()),
            Self::Row(nodes) => Value::Row(all(nodes, scope)?.into()),
            Self::SubPlan { plan, wanted } => sub_plan(scope, *plan, wanted)?,
            _ => self.truth_any(scope)?.into(),
        })
    }

    /// Returns the value, borrowed if it is stored somewhere.
    #[inline]
    pub(super) fn look<'v, S: Scope + ?Sized>(&'v self, scope: &'v S) -> Outcome<Cow<'v, Value>> {
        Ok(match self {
            Self::Constant(value) => Cow::Borrowed(value),
            Self::Variable(variable) => Cow::Borrowed(scope.variable(*variable)),
            Self::Field { variable, field } => {
                Cow::Borrowed(field_of(scope.variable(*variable), *field))
            }
            Self::Column(column) => Cow::Owned(scope.column(*column)?),
            Self::Element => Cow::Borrowed(scope.element()),
            Self::Aggregate(aggregate) => Cow::Borrowed(scope.aggregate(*aggregate)),
            Self::Subscript(operands) => return element(operands, scope),
            _ => Cow::Owned(self.evaluate(scope)?),
        })
    }

    /// Evaluates a boolean expression: true, false or null.
    #[inline(never)]
    pub(super) fn truth_any<S: Scope + ?Sized>(&self, scope: &S) -> Outcome<Option<bool>> {
        Ok(match self {
            Self::Compare { operator, operands } => {
                let (left, right) = both(operands, scope)?;
                compared(*operator, &left, &right)
            }
            Self::Distinct { negated, operands } => {
                let (left, right) = both(operands, scope)?;
                Some(order(&left, &right).is_ne() != *negated)
            }
            Self::CompareIntegers { .. }
            | Self::CompareNumerics { .. }
            | Self::And(_)
            | Self::Not(_)
            | Self::Variable(_) => return self.truth(scope),
            Self::Or(operands) => match operands[0].truth(scope)? {
                Some(true) => Some(true),
                left => match operands[1].truth(scope)? {
                    Some(false) => left,
                    Some(true) => Some(true),
                    None => None,
                },
            },
            Self::Is { test, negated, of_row, operand } => {
                let value = operand.look(scope)?;
                Some(is(&value, *test, *negated, *of_row))
            }
            Self::Between { operands, negated } => between(operands, scope)?.map(|t| t != *negated),
            Self::InList { operand, eager, lazy, negated } => {
                let found = in_list(operand, eager, lazy, scope)?;
                found.map(|found| found != *negated)
            }
            Self::AnyElement { operator, operands, all } => {
                any_element(*operator, operands, *all, scope)?
            }
            Self::Like { operands, negated, width: 0, simple: Some(pattern), .. } => {
                let text = operands[0].look(scope)?;
                text.as_text().map(|text| pattern.matches(text) != *negated)
            }
            Self::Like { operands, ignores_case, negated, width, .. } => {
                let matched = like(operands, *ignores_case, *width, scope)?;
                matched.map(|matched| matched != *negated)
            }
            // `evaluate` computes all other nodes; it calls this function for the nodes matched
            // above.
            other => other.look(scope)?.as_bool(),
        })
    }
}

#[inline]
fn both<'v, S: Scope + ?Sized>(
    operands: &'v Pair,
    scope: &'v S,
) -> Outcome<(Cow<'v, Value>, Cow<'v, Value>)> {
    Ok((operands[0].look(scope)?, operands[1].look(scope)?))
}

fn all<S: Scope + ?Sized>(nodes: &[Node], scope: &S) -> Outcome<Vec<Value>> {
    nodes.iter().map(|node| node.evaluate(scope)).collect()
}

fn field_of(row: &Value, field: usize) -> &Value {
    match row {
        Value::Row(values) => values.get(field).unwrap_or(&Value::Null),
        _ => &Value::Null,
    }
}

#[inline]
fn compared(operator: BinaryOperator, left: &Value, right: &Value) -> Option<bool> {
    if left.is_null() || right.is_null() {
        return None;
    }
    Some(holds(operator, order(left, right)))
}

fn either(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

/// Evaluates all of `eager`, and `lazy` one by one until the value is found.
fn in_list<S: Scope + ?Sized>(
    operand: &Node,
    eager: &[Node],
    lazy: &[Node],
    scope: &S,
) -> Outcome<Option<bool>> {
    let value = operand.look(scope)?;
    let elements = eager.iter().map(|node| node.look(scope)).collect::<Outcome<Vec<_>>>()?;
    let found = among(&value, elements.into_iter().map(Ok))?;
    if found == Some(true) {
        return Ok(found);
    }
    Ok(either(found, among(&value, lazy.iter().map(|node| node.look(scope)))?))
}

/// Whether the value is among the others; stops evaluating at the first match.
fn among<'v>(
    value: &Value,
    others: impl Iterator<Item = Outcome<Cow<'v, Value>>>,
) -> Outcome<Option<bool>> {
    let mut found = Some(false);
    for other in others {
        match equal(value, &*other?) {
            Some(true) => return Ok(Some(true)),
            Some(false) => {}
            None => found = None,
        }
    }
    Ok(found)
}

/// The local time of the session; the clock is far from the end of time.
fn local(now: i64) -> i64 {
    zone::to_local(now).unwrap_or(now)
}

fn moment_in<S: Scope + ?Sized>(scope: &S, moment: Moment) -> Value {
    match moment {
        Moment::Transaction => Value::Timestamp(scope.now()),
        Moment::Clock => Value::Timestamp(scope.clock()),
        Moment::Local => Value::Timestamp(local(scope.now())),
        Moment::TimeOfDay => Value::Timestamp(local(scope.now()).rem_euclid(timestamp::DAY)),
        Moment::Today => Value::Date(timestamp::to_date(local(scope.now()))),
        Moment::Random => Value::Float(scope.random()),
    }
}

fn first_value<S: Scope + ?Sized>(nodes: &[Node], scope: &S) -> Outcome<Value> {
    for node in nodes {
        let value = node.evaluate(scope)?;
        if !value.is_null() {
            return Ok(value);
        }
    }
    Ok(Value::Null)
}

/// Returns the first of the greatest or least values that are not null.
fn extreme(values: Vec<Value>, greatest: bool) -> Value {
    let better = if greatest { Ordering::Greater } else { Ordering::Less };
    let values = values.into_iter().filter(|value| !value.is_null());
    values
        .reduce(|best, value| if order(&value, &best) == better { value } else { best })
        .unwrap_or(Value::Null)
}

fn null_if<S: Scope + ?Sized>(operands: &Pair, scope: &S) -> Outcome<Value> {
    let (left, right) = both(operands, scope)?;
    Ok(if equal(&left, &right) == Some(true) { Value::Null } else { left.into_owned() })
}

/// A row is null if all of its columns are null, and not null if no column is null.
fn is(value: &Value, test: Test, negated: bool, of_row: bool) -> bool {
    if let (Test::Null, true, Value::Row(values)) = (test, of_row, value) {
        return values.iter().all(|value| value.is_null() != negated);
    }
    let holds = match test {
        Test::Null => value.is_null(),
        Test::True => *value == Value::Bool(true),
        Test::False => *value == Value::Bool(false),
    };
    holds != negated
}

/// `value >= low AND value <= high`; `high` is not evaluated if the first comparison is false.
fn between<S: Scope + ?Sized>(operands: &[Node; 3], scope: &S) -> Outcome<Option<bool>> {
    let [value, low, high] = operands;
    let value = value.look(scope)?;
    let above = compared(BinaryOperator::GreaterOrEqual, &value, &*low.look(scope)?);
    if above == Some(false) {
        return Ok(above);
    }
    let below = compared(BinaryOperator::LessOrEqual, &value, &*high.look(scope)?);
    Ok(match below {
        Some(true) => above,
        below => below,
    })
}

fn any_element<S: Scope + ?Sized>(
    operator: BinaryOperator,
    operands: &Pair,
    all: bool,
    scope: &S,
) -> Outcome<Option<bool>> {
    let (value, array) = both(operands, scope)?;
    let Value::Array(elements) = &*array else {
        return Ok(None);
    };
    let mut result = Some(all);
    for element in elements.iter() {
        let one = compared(operator, &value, element);
        result = if all {
            either(result.map(|t| !t), one.map(|t| !t)).map(|t| !t)
        } else {
            either(result, one)
        };
    }
    Ok(result)
}

fn like<S: Scope + ?Sized>(
    operands: &Pair,
    ignores_case: bool,
    width: u32,
    scope: &S,
) -> Outcome<Option<bool>> {
    let (text, pattern) = both(operands, scope)?;
    let (Value::Text(text), Value::Text(pattern)) = (&*text, &*pattern) else {
        return Ok(None);
    };
    if width == 0 {
        return Ok(Some(like::matches(text, pattern, ignores_case)?));
    }
    let filled: CompactString = crate::text::filled(text, width);
    Ok(Some(like::matches(&filled, pattern, ignores_case)?))
}

/// Returns an element by its position, borrowed if the array is a variable.
fn element<'v, S: Scope + ?Sized>(operands: &'v Pair, scope: &'v S) -> Outcome<Cow<'v, Value>> {
    if let Node::Variable(variable) = operands[0] {
        return Ok(Cow::Borrowed(element_in(scope.variable(variable), &operands[1], scope)?));
    }
    let array = operands[0].look(scope)?;
    Ok(Cow::Owned(element_in(&array, &operands[1], scope)?.clone()))
}

/// Returns an element by its position; null if it is out of bounds. If the array is null, the
/// position is not evaluated.
#[inline]
pub(super) fn element_in<'v, S: Scope + ?Sized>(
    array: &'v Value,
    index: &Node,
    scope: &S,
) -> Outcome<&'v Value> {
    let Value::Array(elements) = array else {
        return Ok(&Value::Null);
    };
    // Positions count from one: zero and negative positions wrap to an index beyond the array.
    let place = index.int(scope)?.map_or(usize::MAX, |index| (index as usize).wrapping_sub(1));
    Ok(elements.get(place).unwrap_or(&Value::Null))
}

/// Evaluates an expression over the rows of a sub plan, if the caller has executed the plan.
fn sub_plan<S: Scope + ?Sized>(scope: &S, plan: usize, wanted: &Wanted) -> Outcome<Value> {
    let rows = scope.sub_plan(plan).ok_or_else(|| Box::new(Stop::Needs(plan)))?;
    Ok(match wanted {
        Wanted::Scalar if rows.len() > 1 => {
            let message = "more than one row returned by a subquery used as an expression";
            return Err(Error::new(sqlstate::CARDINALITY_VIOLATION, message).into());
        }
        Wanted::Scalar => rows.first().cloned().unwrap_or(Value::Null),
        Wanted::Exists { negated } => Value::Bool(rows.is_empty() == *negated),
        Wanted::Array => Value::Array(rows.into()),
        Wanted::In { operand, negated } => {
            let value = operand.look(scope)?;
            let found = among(&value, rows.iter().map(Cow::Borrowed).map(Ok))?;
            found.map(|found| found != *negated).into()
        }
    })
}
