//! Loops that only append the columns of their rows to arrays. An array does not grow in place, so
//! that each turn of such a loop would copy all rows before it.

use super::Interpreter;
use crate::error::Result;
use crate::memory::Reservation;
use crate::program::Into;
use fabric::Env;
use sql_value::Value;

/// The name of the rows in errors of memory.
const NODE: &str = "WITH";

impl<E: Env> Interpreter<'_, '_, E> {
    /// Runs such a loop; `arrays` are the arrays with the variables whose values they get.
    pub(super) async fn collect(
        &mut self,
        number: usize,
        into: &Into,
        arrays: &[(usize, usize)],
    ) -> Result<()> {
        let processed = self.frame.processed;
        let mut memory = Reservation::default();
        self.execute_held(number, &mut memory, NODE).await?;
        self.frame.processed = processed;
        self.frame.collected.insert(number, memory);
        let mut columns: Vec<Vec<Value>> = Vec::with_capacity(arrays.len());
        for (array, _) in arrays {
            columns.push(match &self.frame.variables[*array] {
                Value::Array(values) => values.to_vec(),
                _ => Vec::new(),
            });
        }
        let mut rows = std::mem::take(self.rows);
        let appended = self.append_rows(&mut rows, into, arrays, &mut columns);
        let is_entered = !rows.is_empty();
        *self.rows = rows;
        // A handler of an error sees the rows before it. Without one, an array may be null.
        for ((array, _), values) in arrays.iter().zip(columns) {
            if !values.is_empty() {
                self.store_variable(*array, Value::Array(values.into()))?;
            }
        }
        appended?;
        self.set_found(is_entered);
        Ok(())
    }

    fn append_rows(
        &mut self,
        rows: &mut crate::rows::Rows,
        into: &Into,
        arrays: &[(usize, usize)],
        columns: &mut [Vec<Value>],
    ) -> Result<()> {
        if rows.is_empty() {
            return self.store_nothing(into);
        }
        for at in 0..rows.len() {
            self.frame.watch.check(self.txn.env())?;
            self.store_row(into, rows.row_mut(at))?;
            for ((_, value), column) in arrays.iter().zip(&mut *columns) {
                column.push(self.frame.variables[*value].clone());
            }
        }
        Ok(())
    }
}
