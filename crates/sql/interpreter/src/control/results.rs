//! Adds rows and values to the result of the call.

use super::{Interpreter, stopped};
use crate::error::Result;
use crate::program::{Conversion, Expression};
use crate::run::ALL;
use fabric::Env;
use sql::procedure::Returns;
use sql_value::Value;

impl<E: Env> Interpreter<'_, '_, E> {
    pub(super) async fn give_back(&mut self, value: Option<&Expression>) -> Result<()> {
        match (&self.program.returns, value) {
            (_, Some(value)) => {
                let value = self.evaluate(value).await?;
                self.check_locks_now().await?;
                self.add_value(value);
                Ok(())
            }
            (Returns::Value(_) | Returns::Row(_), None) => {
                self.check_locks_now().await?;
                self.add_outputs();
                Ok(())
            }
            (Returns::Nothing | Returns::Rows(_), None) => self.check_locks_now().await,
        }
    }

    /// Adds a row of the output parameters to the result.
    pub(super) fn add_outputs(&mut self) {
        let Self { frame, program, result, .. } = self;
        let outputs = program.outputs.iter().map(|&variable| frame.variables[variable].clone());
        result.list().extend(outputs);
        result.end_row(None);
    }

    /// Adds a row, or a value as the only column of one, to the result.
    pub(super) fn add_value(&mut self, value: Value) {
        match value {
            Value::Row(row) if self.program.returns_rows() => self.result.push_row(&row, None),
            Value::Null if self.program.returns_rows() => {
                (0..self.program.width).for_each(|_| self.result.push(Value::Null));
                self.result.end_row(None);
            }
            value => {
                self.result.push(value);
                self.result.end_row(None);
            }
        }
    }

    /// Adds the rows of a statement, with their columns cast, to the result.
    pub(super) async fn add_rows(
        &mut self,
        number: usize,
        conversions: &[Conversion],
        wanted: usize,
    ) -> Result<()> {
        let ended = self.execute(number, wanted).await;
        if ended.is_err() && !self.frame.is_protected() {
            return ended;
        }
        // A handler of an error sees the rows that were found before it.
        let mut rows = std::mem::take(self.rows);
        for at in 0..rows.len().min(wanted) {
            let row = rows.row_mut(at);
            for conversion in conversions {
                let value = match conversion {
                    Conversion::Same(column) => std::mem::replace(&mut row[*column], Value::Null),
                    Conversion::Formula(formula) | Conversion::Record(formula, _) => {
                        formula.evaluate(&self.view(row)).map_err(stopped)?
                    }
                };
                self.result.push(value);
            }
            self.result.end_row(None);
        }
        *self.rows = rows;
        ended
    }

    /// Returns the rows of the last statement of a body in `sql`, or its first row.
    pub(super) async fn deliver(
        &mut self,
        number: usize,
        conversions: &[Conversion],
    ) -> Result<()> {
        match self.program.returns {
            Returns::Nothing => self.execute(number, ALL).await,
            Returns::Rows(_) => self.add_rows(number, conversions, ALL).await,
            Returns::Value(_) | Returns::Row(_) => {
                if self.program.statements[number].writes {
                    self.add_rows(number, conversions, ALL).await?;
                    self.result.keep(0, 1);
                } else {
                    self.add_rows(number, conversions, 1).await?;
                }
                if self.result.is_empty() {
                    (0..self.program.width).for_each(|_| self.result.push(Value::Null));
                    self.result.end_row(None);
                }
                Ok(())
            }
        }
    }
}
