//! Aggregate functions: one accumulator for each group and aggregate.

use crate::error::{Error, Result};
use crate::formula::AggregateCall;
use crate::order::{order, order_floats};
use crate::scope::{Scope, Stop};
use crate::value::{Decimal, Interval, Value};
use crate::{float, interval, numeric, real};
use sql::expression::Aggregate;
use sql::types::SqlType;
use std::cmp::Ordering;

/// The state of an aggregate over the values added so far.
#[derive(Clone, Debug)]
pub struct Accumulator {
    state: State,
    /// The values of a `DISTINCT` aggregate: `finish` sorts them, drops duplicates and adds them,
    /// as PostgreSQL does.
    distinct: Option<Vec<Value>>,
}

#[derive(Clone, Debug)]
enum State {
    /// Number of rows (`count(*)`), or of values that are not null.
    Count(i64),
    /// Sum of `smallint` or `integer` values; the result is a `bigint`.
    SumInt(Option<i64>),
    /// Sum of `bigint` values; the result is a `numeric`.
    SumBigint(Option<i128>),
    SumNumeric(Option<Decimal>),
    SumFloat(Option<f64>),
    /// Sum of `real` values, rounded after each.
    SumReal(Option<f64>),
    SumInterval(Option<Interval>),
    /// Sum and count.
    AvgInt(i128, i64),
    AvgNumeric(Decimal, i64),
    AvgFloat(f64, i64),
    AvgInterval(Interval, i64),
    /// The best value so far: the greatest for `Greater`, the least for `Less`.
    Extreme(Value, Ordering),
    /// `bool_and` or `bool_or`.
    Truth(Option<bool>, bool),
    Array(Option<Vec<Value>>),
    /// The values of an aggregate of JSON.
    Json(Aggregate, Option<Vec<Value>>),
}

impl AggregateCall {
    pub fn start(&self) -> Accumulator {
        let distinct = self.distinct.then(Vec::new);
        Accumulator { state: State::of(self.aggregate, &self.argument_type), distinct }
    }

    /// Adds the current row of `scope` if it passes the filter.
    ///
    /// # Errors
    /// Those of [`crate::Formula::evaluate`] for argument and filter, and 22003 if a sum is out of
    /// range.
    pub fn add<S: Scope + ?Sized>(
        &self,
        accumulator: &mut Accumulator,
        scope: &S,
    ) -> std::result::Result<(), Stop> {
        if let Some(filter) = &self.filter
            && !filter.condition(scope)?
        {
            return Ok(());
        }
        let value = match &self.argument {
            Some(argument) => argument.evaluate(scope)?,
            None => Value::Bool(true),
        };
        Ok(accumulator.add(value)?)
    }
}

impl Accumulator {
    /// Adds a value.
    ///
    /// # Errors
    /// 22003 if a sum is out of range, 22008 if it is an interval.
    pub fn add(&mut self, value: Value) -> Result<()> {
        match &mut self.distinct {
            Some(values) => {
                values.push(value);
                Ok(())
            }
            None => self.state.add(value),
        }
    }

    /// Returns the aggregate's result.
    ///
    /// # Errors
    /// Those of [`Accumulator::add`].
    pub fn finish(mut self) -> Result<Value> {
        if let Some(mut values) = self.distinct.take() {
            values.sort_by(order);
            values.dedup_by(|right, left| order(left, right).is_eq());
            values.into_iter().try_for_each(|value| self.state.add(value))?;
        }
        self.state.finish()
    }
}

impl State {
    fn of(aggregate: Aggregate, argument: &SqlType) -> Self {
        let zero = Decimal::from_int(0);
        match (aggregate, argument) {
            (Aggregate::Count, _) => Self::Count(0),
            (Aggregate::Sum, SqlType::Int2 | SqlType::Int4) => Self::SumInt(None),
            (Aggregate::Sum, SqlType::Int8) => Self::SumBigint(None),
            (Aggregate::Sum, SqlType::Float4) => Self::SumReal(None),
            (Aggregate::Sum, SqlType::Float8) => Self::SumFloat(None),
            (Aggregate::Sum, SqlType::Interval) => Self::SumInterval(None),
            (Aggregate::Sum, _) => Self::SumNumeric(None),
            (Aggregate::Avg, argument) if argument.is_integer() => Self::AvgInt(0, 0),
            (Aggregate::Avg, SqlType::Float8) => Self::AvgFloat(0.0, 0),
            (Aggregate::Avg, SqlType::Interval) => Self::AvgInterval(Interval::default(), 0),
            (Aggregate::Avg, _) => Self::AvgNumeric(zero, 0),
            (Aggregate::Min, _) => Self::Extreme(Value::Null, Ordering::Less),
            (Aggregate::Max, _) => Self::Extreme(Value::Null, Ordering::Greater),
            (Aggregate::BoolAnd, _) => Self::Truth(None, true),
            (Aggregate::BoolOr, _) => Self::Truth(None, false),
            (Aggregate::ArrayAgg, _) => Self::Array(None),
            (json, _) => Self::Json(json, None),
        }
    }

    fn add(&mut self, value: Value) -> Result<()> {
        if let Self::Array(values) | Self::Json(_, values) = self {
            values.get_or_insert_default().push(value);
            return Ok(());
        }
        if value.is_null() {
            return Ok(());
        }
        match (self, value) {
            (Self::Count(count), _) => *count += 1,
            (Self::SumInt(sum), Value::Int(number)) => {
                let next = sum.unwrap_or(0).checked_add(number);
                *sum = Some(next.ok_or_else(|| Error::out_of_range("bigint"))?);
            }
            (Self::SumBigint(sum), Value::Int(number)) => {
                *sum = Some(sum.unwrap_or(0) + i128::from(number));
            }
            (Self::SumNumeric(sum), Value::Numeric(number)) => {
                *sum = Some(match *sum {
                    Some(sum) => numeric::add(sum, number)?,
                    None => number,
                });
            }
            (Self::SumFloat(sum), Value::Float(number)) => {
                *sum = Some(match *sum {
                    Some(sum) => float::add(sum, number)?,
                    None => number,
                });
            }
            (Self::SumReal(sum), Value::Float(number)) => {
                *sum = Some(match *sum {
                    Some(sum) => real::computed(float::add, sum, number)?,
                    None => number,
                });
            }
            (Self::SumInterval(sum), Value::Interval(span)) => {
                *sum = Some(interval::add(sum.unwrap_or_default(), span)?);
            }
            (Self::AvgInt(sum, count), Value::Int(number)) => {
                (*sum, *count) = (*sum + i128::from(number), *count + 1);
            }
            (Self::AvgNumeric(sum, count), Value::Numeric(number)) => {
                (*sum, *count) = (numeric::add(*sum, number)?, *count + 1);
            }
            (Self::AvgFloat(sum, count), Value::Float(number)) => {
                (*sum, *count) = (float::add(*sum, number)?, *count + 1);
            }
            (Self::AvgInterval(sum, count), Value::Interval(span)) => {
                (*sum, *count) = (interval::add(*sum, span)?, *count + 1);
            }
            (Self::Extreme(best, wanted), value) => {
                // Of equal values keep the later one: its number of digits after the decimal point
                // may differ.
                let keeps = !best.is_null() && extreme_order(&value, best) == wanted.reverse();
                if !keeps {
                    *best = value;
                }
            }
            (Self::Truth(so_far, all), Value::Bool(truth)) => {
                *so_far = Some(match *so_far {
                    Some(before) if *all => before && truth,
                    Some(before) => before || truth,
                    None => truth,
                });
            }
            _ => return Err(Error::internal("an aggregate got a value of another type")),
        }
        Ok(())
    }

    fn finish(self) -> Result<Value> {
        Ok(match self {
            Self::Count(count) => Value::Int(count),
            Self::SumInt(sum) => sum.into(),
            Self::SumBigint(sum) => sum.map(|sum| Decimal::new(sum, 0)).into(),
            Self::SumNumeric(sum) => sum.into(),
            Self::SumFloat(sum) | Self::SumReal(sum) => sum.into(),
            Self::SumInterval(sum) => sum.map_or(Value::Null, Value::Interval),
            Self::AvgInt(sum, count) => mean(Decimal::new(sum, 0), count)?,
            Self::AvgNumeric(sum, count) => mean(sum, count)?,
            Self::AvgFloat(_, 0) | Self::AvgInterval(_, 0) => Value::Null,
            Self::AvgFloat(sum, count) => Value::Float(sum / count as f64),
            Self::AvgInterval(sum, count) => Value::Interval(interval::divide(sum, count as f64)?),
            Self::Extreme(best, _) => best,
            Self::Truth(truth, _) => truth.into(),
            Self::Json(_, None) => Value::Null,
            Self::Json(aggregate, Some(values)) => {
                crate::formula::json::aggregated(aggregate, &values)?
            }
            Self::Array(values) => values.map_or(Value::Null, |values| Value::Array(values.into())),
        })
    }
}

fn mean(sum: Decimal, count: i64) -> Result<Value> {
    if count == 0 {
        return Ok(Value::Null);
    }
    Ok(Value::Numeric(numeric::divide(sum, Decimal::from_int(count))?))
}

fn extreme_order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Float(left), Value::Float(right)) => order_floats(*left, *right),
        (left, right) => order(left, right),
    }
}
