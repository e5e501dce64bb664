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
use sql::{EnumType, SqlType, Types};
use sql_value::conversion::unseen_label;
use sql_value::{Value, input};
use std::borrow::Cow;
use std::sync::Arc;

/// Whether values of a type have labels.
pub(super) fn has_labels(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Enum(_) => true,
        SqlType::Array(element) => has_labels(element),
        SqlType::Record(fields) => fields.iter().any(|field| has_labels(&field.sql_type)),
        _ => false,
    }
}

/// Where labels of places are looked up.
struct Labels<'v> {
    /// The types that the statement sees.
    seen: &'v Types,
    /// The committed version: a block keeps its own, but its rows may have labels that others have
    /// added since.
    newest: &'v dyn Fn() -> Arc<Version>,
}

impl Labels<'_> {
    fn of(&self, place: i64, of: &EnumType) -> Result<Value, SqlError> {
        let seen = self.seen.numbered(of.oid).map_or(of, |seen| seen);
        if let Some(label) = seen.label(place) {
            return Ok(Value::text(label));
        }
        let newest = (self.newest)();
        let newer = newest.catalog.types.numbered(of.oid).and_then(|newest| newest.label(place));
        newer.map(Value::text).ok_or_else(|| (*unseen_label(of)).into())
    }

    /// Replaces places by labels.
    ///
    /// # Errors
    /// 40001 if no version has the label yet.
    fn put(&self, value: &mut Value, sql_type: &SqlType) -> Result<(), SqlError> {
        match (&mut *value, sql_type) {
            (Value::Int(place), SqlType::Enum(of)) => *value = self.of(*place, of)?,
            (Value::Array(values), SqlType::Array(element)) if has_labels(element) => {
                let mut labelled = values.to_vec();
                labelled.iter_mut().try_for_each(|value| self.put(value, element))?;
                *value = Value::Array(labelled.into());
            }
            (Value::Row(values), SqlType::Record(fields)) if has_labels(sql_type) => {
                let mut labelled = values.to_vec();
                for (value, field) in labelled.iter_mut().zip(fields) {
                    self.put(value, &field.sql_type)?;
                }
                *value = Value::Row(labelled.into());
            }
            _ => {}
        }
        Ok(())
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

    /// The rows of a query that sees `version`, with labels.
    ///
    /// # Errors
    /// 40001 if this server does not see a label yet.
    pub(super) fn label_rows<'t>(
        &self,
        rows: &mut RowSet,
        columns: impl Iterator<Item = &'t SqlType>,
        version: &Version,
    ) -> Result<(), SqlError> {
        let newest = || self.database.version();
        let labels = Labels { seen: &version.catalog.types, newest: &newest };
        for (at, sql_type) in columns.enumerate().filter(|(_, sql_type)| has_labels(sql_type)) {
            rows.column_mut(at).try_for_each(|value| labels.put(value, sql_type))?;
        }
        Ok(())
    }

    /// The rows of a statement with labels.
    ///
    /// # Errors
    /// As [`Self::label_rows`].
    pub(super) fn with_labels(
        &self,
        prepared: &Prepared,
        mut outcome: Outcome,
    ) -> Result<Outcome, SqlError> {
        let columns = prepared.columns().unwrap_or_default();
        if columns.iter().any(|column| has_labels(&column.sql_type))
            && let Outcome::Rows { rows, .. } | Outcome::Part { rows, .. } = &mut outcome
        {
            let types = columns.iter().map(|column| &column.sql_type);
            self.label_rows(rows, types, &self.version())?;
        }
        Ok(outcome)
    }
}
