//! `row_number() OVER (PARTITION BY ... ORDER BY ...)`, as a column of a result.

use crate::aggregate::by_keys;
use crate::evaluate::{Context, Scope, unsupported};
use crate::functions;
use crate::select::{Output, Row, is_same};
use sql_session::SqlError;
use sql_value::Value;
use sqlparser::ast::{self, Expr};

/// The window of a column.
pub struct Window<'q> {
    /// Its position in the result.
    at: usize,
    partition: &'q [Expr],
    order: &'q [ast::OrderByExpr],
    /// The values of both lists for each row of the result.
    keys: Vec<(Row, Row)>,
}

/// Whether a column is a window function.
pub fn is_window(expression: &Expr) -> bool {
    matches!(expression, Expr::Function(function) if function.over.is_some())
}

/// The windows of a result's columns.
pub fn windows<'q>(outputs: &[(String, Output<'q>)]) -> Result<Vec<Window<'q>>, SqlError> {
    let mut windows = Vec::new();
    for (at, (_, output)) in outputs.iter().enumerate() {
        let Output::Expression(Expr::Function(function)) = output else { continue };
        let Some(over) = &function.over else { continue };
        let ast::WindowType::WindowSpec(spec) = over else {
            return Err(unsupported("named windows"));
        };
        if functions::name(function) != "row_number" || spec.window_frame.is_some() {
            return Err(unsupported("window functions other than row_number()"));
        }
        let (partition, order) = (&spec.partition_by[..], &spec.order_by[..]);
        windows.push(Window { at, partition, order, keys: Vec::new() });
    }
    Ok(windows)
}

impl Window<'_> {
    /// Notes the keys of the next row of the result.
    pub fn note(&mut self, scope: &Scope<'_>, context: &Context<'_>) -> Result<(), SqlError> {
        let partition = self.partition.iter().map(|key| context.value(key, scope));
        let order = self.order.iter().map(|by| context.value(&by.expr, scope));
        self.keys.push((partition.collect::<Result<_, _>>()?, order.collect::<Result<_, _>>()?));
        Ok(())
    }

    /// Numbers the rows of each partition.
    pub fn fill<'r>(&self, rows: impl Iterator<Item = &'r mut Row>) {
        let mut rows: Vec<&mut Row> = rows.collect();
        let mut sorted: Vec<usize> = (0..rows.len()).collect();
        sorted
            .sort_by(|&left, &right| by_keys(&self.keys[left].1, &self.keys[right].1, self.order));
        let mut numbers: Vec<(&Row, i64)> = Vec::new();
        for at in sorted {
            let partition = &self.keys[at].0;
            let known = numbers.iter_mut().find(|(other, _)| is_same(partition, other));
            let number = match known {
                Some((_, number)) => {
                    *number += 1;
                    *number
                }
                None => {
                    numbers.push((partition, 1));
                    1
                }
            };
            rows[at][self.at] = Value::Int(number);
        }
    }
}
