//! Labels of enumerated types at the borders of a session: clients send and receive texts, and
//! statements have places.
//!
//! A prepared statement may be older than a label, so that the labels are those of the catalog at
//! the time of the execution.

use super::SqlSession;
use super::prepared::Prepared;
use crate::catalog::Version;
use crate::error::SqlError;
use crate::host::Host;
use crate::outcome::{Outcome, RowSet};
use sql::{SqlType, Types};
use sql_value::{Value, input};
use std::borrow::Cow;

/// Whether values of a type have labels.
pub(super) fn has_labels(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Enum(_) => true,
        SqlType::Array(element) => has_labels(element),
        SqlType::Record(fields) => fields.iter().any(|field| has_labels(&field.sql_type)),
        _ => false,
    }
}

/// Replaces places by labels.
fn label(value: &mut Value, sql_type: &SqlType, types: &Types) {
    match (&mut *value, sql_type) {
        (Value::Int(place), SqlType::Enum(of)) => {
            let of = types.numbered(of.oid).unwrap_or(of);
            *value = Value::text(of.label(*place).unwrap_or_default());
        }
        (Value::Array(values), SqlType::Array(element)) if has_labels(element) => {
            let mut labelled = values.to_vec();
            labelled.iter_mut().for_each(|value| label(value, element, types));
            *value = Value::Array(labelled.into());
        }
        (Value::Row(values), SqlType::Record(fields)) if has_labels(sql_type) => {
            let mut labelled = values.to_vec();
            for (value, field) in labelled.iter_mut().zip(fields) {
                label(value, &field.sql_type, types);
            }
            *value = Value::Row(labelled.into());
        }
        _ => {}
    }
}

/// The rows of a query with labels.
pub(super) fn labelled<'t>(
    rows: &mut RowSet,
    columns: impl Iterator<Item = &'t SqlType>,
    version: &Version,
) {
    for (at, sql_type) in columns.enumerate().filter(|(_, sql_type)| has_labels(sql_type)) {
        rows.column_mut(at).for_each(|value| label(value, sql_type, &version.catalog.types));
    }
}

/// The value with places, of a text or an array of texts.
fn place(value: &Value, sql_type: &SqlType, types: &Types) -> Result<Value, SqlError> {
    Ok(match (value, sql_type) {
        (Value::Text(text), SqlType::Enum(of)) => {
            let of = SqlType::Enum(types.numbered(of.oid).unwrap_or(of).clone());
            input::read(text, &of).map_err(|error| *error)?
        }
        (Value::Array(values), SqlType::Array(element)) => {
            let placed = values.iter().map(|value| place(value, element, types));
            Value::Array(placed.collect::<Result<_, _>>()?)
        }
        (value, _) => value.clone(),
    })
}

impl<H: Host> SqlSession<H> {
    /// The parameters of a client with places in the place of labels.
    ///
    /// # Errors
    /// A text is no label.
    pub(super) fn placed<'p>(
        &self,
        prepared: &Prepared,
        parameters: &'p [Value],
    ) -> Result<Cow<'p, [Value]>, SqlError> {
        let wanted = prepared.parameters();
        if !wanted.iter().any(has_labels) {
            return Ok(Cow::Borrowed(parameters));
        }
        let version = self.version();
        let placed = parameters
            .iter()
            .zip(wanted)
            .map(|(value, sql_type)| place(value, sql_type, &version.catalog.types));
        placed.collect::<Result<_, _>>().map(Cow::Owned)
    }

    /// The rows of a statement with labels.
    pub(super) fn with_labels(&self, prepared: &Prepared, mut outcome: Outcome) -> Outcome {
        let columns = prepared.columns().unwrap_or_default();
        if columns.iter().any(|column| has_labels(&column.sql_type))
            && let Outcome::Rows { rows, .. } | Outcome::Part { rows, .. } = &mut outcome
        {
            labelled(rows, columns.iter().map(|column| &column.sql_type), &self.version());
        }
        outcome
    }
}
