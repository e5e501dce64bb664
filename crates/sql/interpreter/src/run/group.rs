//! Sorting, grouping and aggregates.

use super::{ALL, NodeContext, Run, is_true, push_all, stopped};
use crate::error::{Failure, Result, plain};
use crate::plan::{Aggregate, Node, Output, Outputs, SortKey};
use crate::rows::Rows;
use crate::scope::{NOTHING, Outer, Source};
use fabric::Env;
use sql::SqlType;
use sql::expression::Aggregate as Kind;
use sql_value::{AggregateCall, Decimal, Value, float, numeric, order};
use std::cmp::Ordering;

impl<E: Env> Run<'_, '_, E> {
    pub(super) async fn sort(
        &mut self,
        keys: &[SortKey],
        input: &Node,
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        let found = self.rows_of(input, NodeContext { wanted: ALL, ..under }).await?;
        let sorted = self.sorted(keys, found, under.outer).await?;
        self.deliver_all((node, None), sorted, under, rows).await
    }

    /// Sorts the rows by the keys; the sort is stable.
    pub(super) async fn sorted(
        &mut self,
        keys: &[SortKey],
        rows: Rows,
        outer: Option<&Outer<'_>>,
    ) -> Result<Rows> {
        let mut values = Rows::new(keys.len());
        for row in rows.iter() {
            self.check_interrupt()?;
            for key in keys {
                values.push(match &key.value {
                    Output::Column(column) => row[*column].clone(),
                    Output::Term(term) => self.value(&term.formula, [row, &[]], outer).await?,
                    Output::Inner(_) | Output::Unused => Value::Null,
                });
            }
            values.end_row(None);
        }
        let compare = |&one: &usize, &other: &usize| {
            let pairs = keys.iter().zip(values.row(one).iter().zip(values.row(other)));
            let orders = pairs.map(|(key, (one, other))| {
                order::sort_order(one, other, key.descending, key.nulls_first)
            });
            orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        let mut places: Vec<usize> = (0..rows.len()).collect();
        places.sort_by(compare);
        Ok(rows.reordered(&places))
    }

    pub(super) async fn aggregate(
        &mut self,
        aggregate: &Aggregate,
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        let input = &aggregate.input;
        let found = self.rows_of(input, NodeContext { wanted: ALL, ..under }).await?;
        let most = rows.len().saturating_add(under.wanted);
        if aggregate.is_plain && most > rows.len() {
            self.plain_aggregate(aggregate, &found, node, under.outer, rows)?;
            self.frame.scratch.give_back(found);
            return Ok(());
        }
        let mut places = Vec::with_capacity(found.len());
        for at in 0..found.len() {
            self.check_interrupt()?;
            let key = self.list_values(&aggregate.keys, [found.row(at), &[]], under.outer).await?;
            places.push((key, at));
        }
        if !aggregate.is_sorted {
            places.sort_by(|one, other| order::order_all(&one.0, &other.0));
        }
        let nulls = vec![Value::Null; input.width];
        let same = |one: &(Vec<Value>, usize), other: &(Vec<Value>, usize)| {
            order::order_all(&one.0, &other.0).is_eq()
        };
        let groups: Vec<&[(Vec<Value>, usize)]> = match aggregate.keys.outputs.is_empty() {
            // Without keys there is a group even if there are no rows.
            true => vec![&places],
            false => places.chunk_by(same).collect(),
        };
        for group in groups {
            if rows.len() >= most {
                break;
            }
            let mut results = Vec::with_capacity(aggregate.calls.len());
            for call in &aggregate.calls {
                results.push(self.aggregated(call, &found, group, (node, under.outer)).await?);
            }
            self.frame.aggregates = results;
            let first = group.first().map_or(&nulls[..], |(_, at)| found.row(*at));
            let filtered = (node, aggregate.filter.as_ref());
            self.deliver(filtered, [first, &[]], None, under.outer, rows).await?;
        }
        Ok(())
    }

    /// Computes an aggregate without keys and sub plans.
    fn plain_aggregate(
        &mut self,
        aggregate: &Aggregate,
        found: &Rows,
        node: &Node,
        outer: Option<&Outer<'_>>,
        rows: &mut Rows,
    ) -> Result<()> {
        let mut results = std::mem::take(&mut self.frame.aggregates);
        results.clear();
        for call in &aggregate.calls {
            let mut values = Vec::with_capacity(found.len());
            for row in found.iter() {
                let view = self.view([Source::Values(row), NOTHING], outer);
                if let Some(filter) = &call.filter
                    && !filter.condition(&view).map_err(stopped)?
                {
                    continue;
                }
                values.push(match &call.argument {
                    Some(argument) => argument.evaluate(&view).map_err(stopped)?,
                    None => Value::Bool(true),
                });
            }
            results.push(combine_all(call, values)?);
        }
        self.frame.aggregates = results;
        let nulls;
        let first = match found.is_empty() {
            false => found.row(0),
            true => {
                nulls = vec![Value::Null; aggregate.input.width];
                &nulls[..]
            }
        };
        let view = self.view([Source::Values(first), NOTHING], outer);
        if let Some(filter) = &aggregate.filter
            && !is_true(filter, &view)?
        {
            return Ok(());
        }
        match &node.outputs {
            Outputs::List(list) => push_all(list, &view, rows)?,
            Outputs::Same => first.iter().for_each(|value| rows.push(value.clone())),
        }
        rows.end_row(None);
        Ok(())
    }

    /// Evaluates an aggregate over the rows of a group.
    async fn aggregated(
        &mut self,
        call: &AggregateCall,
        rows: &Rows,
        group: &[(Vec<Value>, usize)],
        (node, outer): (&Node, Option<&Outer<'_>>),
    ) -> Result<Value> {
        let mut values = Vec::with_capacity(group.len());
        for (_, at) in group {
            self.check_interrupt()?;
            self.forget(node);
            let sources: [&[Value]; 2] = [rows.row(*at), &[]];
            if let Some(filter) = &call.filter
                && self.value(filter, sources, outer).await? != Value::Bool(true)
            {
                continue;
            }
            values.push(match &call.argument {
                Some(argument) => self.value(argument, sources, outer).await?,
                None => Value::Bool(true),
            });
        }
        combine_all(call, values)
    }
}

/// Evaluates an aggregate over these values, or over the distinct ones.
fn combine_all(call: &AggregateCall, mut values: Vec<Value>) -> Result<Value> {
    if call.distinct {
        values.sort_by(order::order);
        values.dedup_by(|one, other| order::order(one, other).is_eq());
    }
    combine(call, values)
}

/// Evaluates an aggregate over these values. Only `array_agg` includes nulls.
fn combine(call: &AggregateCall, mut values: Vec<Value>) -> Result<Value> {
    if call.aggregate == Kind::ArrayAgg {
        return Ok(if values.is_empty() { Value::Null } else { Value::Array(values.into()) });
    }
    values.retain(|value| !value.is_null());
    let count = values.len() as i64;
    if call.aggregate == Kind::Count {
        return Ok(Value::Int(count));
    }
    if values.is_empty() {
        return Ok(Value::Null);
    }
    Ok(match call.aggregate {
        Kind::Min => values.into_iter().min_by(order::order).unwrap_or(Value::Null),
        Kind::Max => values.into_iter().max_by(order::order).unwrap_or(Value::Null),
        Kind::BoolAnd => Value::Bool(values.iter().all(|value| *value == Value::Bool(true))),
        Kind::BoolOr => Value::Bool(values.contains(&Value::Bool(true))),
        Kind::Sum => sum(&values, &call.argument_type)?,
        Kind::Avg => match sum(&values, &SqlType::Int8)? {
            Value::Numeric(sum) => Value::Numeric(numeric::divide(sum, Decimal::from_int(count))?),
            Value::Float(sum) => Value::Float(float::divide(sum, count as f64)?),
            other => other,
        },
        Kind::Count | Kind::ArrayAgg => unreachable!("handled before"),
    })
}

/// The sum of `smallint` and `integer` is a `bigint`, that of `bigint` a `numeric`.
fn sum(values: &[Value], argument: &SqlType) -> Result<Value> {
    let is_small = matches!(argument, SqlType::Int2 | SqlType::Int4);
    let mut sum = match values.first() {
        Some(Value::Int(_)) if is_small => Value::Int(0),
        Some(Value::Float(_)) => Value::Float(0.0),
        _ => Value::Numeric(Decimal::from_int(0)),
    };
    for value in values {
        sum = match (&sum, value) {
            (Value::Int(sum), Value::Int(value)) => Value::Int(
                sum.checked_add(*value).ok_or_else(|| plain("22003", "bigint out of range"))?,
            ),
            (Value::Float(sum), Value::Float(value)) => Value::Float(float::add(*sum, *value)?),
            (Value::Numeric(sum), Value::Numeric(value)) => {
                Value::Numeric(numeric::add(*sum, *value)?)
            }
            (Value::Numeric(sum), Value::Int(value)) => {
                Value::Numeric(numeric::add(*sum, Decimal::from_int(*value))?)
            }
            _ => {
                return Err(Failure::from(sql_value::Error::internal(
                    "a sum of a value that is not a number",
                )));
            }
        };
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(aggregate: Kind, argument_type: SqlType) -> AggregateCall {
        AggregateCall { aggregate, argument: None, argument_type, distinct: false, filter: None }
    }

    #[test]
    fn aggregates_have_the_types_that_postgresql_gives_them() {
        let ints = || vec![Value::Int(1), Value::Null, Value::Int(4)];
        let result = |kind, of, values| combine(&call(kind, of), values).expect("no overflow");
        let decimal = |units, scale| Value::Numeric(Decimal { units, scale });
        assert_eq!(result(Kind::Sum, SqlType::Int4, ints()), Value::Int(5));
        assert_eq!(result(Kind::Sum, SqlType::Int8, ints()), decimal(5, 0));
        assert_eq!(result(Kind::Count, SqlType::Int8, ints()), Value::Int(2));
        assert_eq!(
            result(Kind::Avg, SqlType::Int4, ints()),
            decimal(25_000_000_000_000_000, 16),
            "a quotient of PostgreSQL has at least 16 significant digits"
        );
        assert_eq!(result(Kind::Max, SqlType::Int4, ints()), Value::Int(4));
        assert_eq!(result(Kind::Sum, SqlType::Int4, vec![Value::Null]), Value::Null);
        assert_eq!(result(Kind::ArrayAgg, SqlType::Int4, ints()), Value::Array(ints().into()));
        let full = vec![Value::Int(i64::MAX), Value::Int(1)];
        assert!(combine(&call(Kind::Sum, SqlType::Int4), full).is_err());
    }
}
