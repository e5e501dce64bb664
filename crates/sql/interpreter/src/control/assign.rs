//! Assigns values to variables, fields of records and elements of arrays.

use super::{Interpreter, stopped};
use crate::error::{Failure, Result, plain};
use crate::program::{Conversion, Into, Target};
use fabric::Env;
use sql_value::{Error, Value};
use std::sync::Arc;

/// Maximum number of elements to which an assignment extends an array.
const ELEMENTS_MAX: usize = 1 << 24;

impl<E: Env> Interpreter<'_, '_, E> {
    /// Assigns the columns of a row, taking its values.
    #[inline]
    pub(super) fn store_row(&mut self, into: &Into, row: &mut [Value]) -> Result<()> {
        for (target, conversion) in &into.targets {
            let value = match conversion {
                Conversion::Same(column) => std::mem::replace(&mut row[*column], Value::Null),
                Conversion::Formula(formula) | Conversion::Record(formula, _) => {
                    formula.evaluate(&self.view(row)).map_err(stopped)?
                }
            };
            self.store_now(target, value)?;
        }
        Ok(())
    }

    /// As [`Self::store_row`], for a row of one column.
    #[inline]
    pub(super) fn store_only(&mut self, into: &Into, value: Value) -> Result<()> {
        match into.targets[..] {
            [(Target::Variable(variable), Conversion::Same(_))] => {
                self.store_variable(variable, value)
            }
            _ => self.store_row(into, &mut [value]),
        }
    }

    /// Assigns nulls if there is no row. A record still gets the columns of the row.
    pub(super) fn store_nothing(&mut self, into: &Into) -> Result<()> {
        for (target, conversion) in &into.targets {
            let value = match conversion {
                Conversion::Record(_, width) => Value::Row(vec![Value::Null; *width].into()),
                Conversion::Same(_) | Conversion::Formula(_) => Value::Null,
            };
            self.store_now(target, value)?;
        }
        Ok(())
    }

    pub(super) async fn store(&mut self, target: &Target, value: Value) -> Result<()> {
        let Target::Element { variable, index } = target else {
            return self.store_now(target, value);
        };
        let index = match self.evaluate(index).await? {
            Value::Int(index) => index,
            _ => {
                let message = "array subscript in assignment must not be null";
                return Err(plain("22004", message));
            }
        };
        let is_empty = match &self.frame.variables[*variable] {
            Value::Array(elements) => elements.is_empty(),
            _ => true,
        };
        // PostgreSQL would start an empty array at this subscript; our arrays start at 1.
        let most = if is_empty { 1 } else { ELEMENTS_MAX };
        let Some(place) = usize::try_from(index - 1).ok().filter(|&at| at < most) else {
            return Err(plain("2202E", format!("array subscript {index} is out of range here")));
        };
        let held = std::mem::replace(&mut self.frame.variables[*variable], Value::Null);
        let mut elements = match held {
            Value::Array(elements) => elements,
            _ => Arc::new([]),
        };
        if place < elements.len() {
            Arc::make_mut(&mut elements)[place] = value;
        } else {
            let mut grown = elements.to_vec();
            grown.resize(place, Value::Null);
            grown.push(value);
            elements = grown.into();
        }
        self.frame.variables[*variable] = Value::Array(elements);
        Ok(())
    }

    #[inline]
    pub(super) fn store_now(&mut self, target: &Target, value: Value) -> Result<()> {
        match target {
            Target::Variable(variable) => self.store_variable(*variable, value),
            Target::Field { variable, field } => self.store_field(*variable, *field, value),
            Target::Element { .. } => {
                Err(Error::internal("INTO has an array element as its target").into())
            }
        }
    }

    #[inline]
    pub(super) fn store_variable(&mut self, variable: usize, value: Value) -> Result<()> {
        if value.is_null() && self.program.variables[variable].is_not_null {
            return Err(refused_null(&self.program.variables[variable].name));
        }
        self.frame.variables[variable].put(value);
        Ok(())
    }

    fn store_field(&mut self, variable: usize, field: usize, value: Value) -> Result<()> {
        let known = &self.program.variables[variable];
        let sql::SqlType::Record(fields) = &known.sql_type else {
            return Err(Error::internal("a field of a value that is not a record").into());
        };
        let held = &mut self.frame.variables[variable];
        if !matches!(held, Value::Row(_)) {
            *held = Value::Row(vec![Value::Null; fields.len()].into());
        }
        if let Value::Row(row) = held {
            Arc::make_mut(row)[field] = value;
        }
        Ok(())
    }
}

#[cold]
fn refused_null(variable: &str) -> Failure {
    let message =
        format!("null value cannot be assigned to variable \"{variable}\" declared NOT NULL");
    plain("22004", message)
}
