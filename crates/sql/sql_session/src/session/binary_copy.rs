//! `COPY` in the binary format: the server encodes and decodes the values, the session has the
//! rows.

use super::SqlSession;
use super::copying::{Copying, no_copy};
use crate::error::SqlError;
use crate::host::Host;
use crate::outcome::RowSet;
use sql::SqlType;
use sql::expression::CastKind;
use sql_value::style::within;
use sql_value::{Conversion, Value, input, output};

impl<H: Host> SqlSession<H> {
    /// The types of the copy in progress.
    pub fn copy_types(&self) -> Vec<SqlType> {
        match &self.copying {
            Some(Copying::In(copy)) => copy.types().to_vec(),
            Some(Copying::Out(copy)) => copy.types().to_vec(),
            None => Vec::new(),
        }
    }

    /// The next rows after [`Outcome::CopyOut`](crate::Outcome::CopyOut), instead of
    /// [`SqlSession::copy_out`]; `None` if there are no more. The copy has then ended.
    ///
    /// # Errors
    /// No such copy is in progress, or its query fails.
    pub async fn copied_rows(&mut self) -> Result<Option<RowSet>, SqlError> {
        let mut out = match self.copying.take() {
            Some(Copying::Out(out)) => out,
            other => {
                self.copying = other;
                return Err(no_copy());
            }
        };
        if !self.refill(&mut out).await? {
            return Ok(None);
        }
        let none = RowSet::new(out.types().len());
        out.count += out.rows.len() as u64;
        let mut rows = std::mem::replace(&mut out.rows, none);
        self.label_rows(&mut rows, out.types().iter(), &self.version())?;
        out.at = 0;
        self.copying = Some(Copying::Out(out));
        Ok(Some(rows))
    }

    /// A row of the client after [`Outcome::CopyIn`](crate::Outcome::CopyIn), instead of
    /// [`SqlSession::copy_data`].
    ///
    /// # Errors
    /// As [`SqlSession::copy_data`].
    pub async fn copy_row(&mut self, values: Vec<Value>) -> Result<(), SqlError> {
        let style = self.settings.style();
        within(style, self.copy_row_now(values)).await
    }

    async fn copy_row_now(&mut self, values: Vec<Value>) -> Result<(), SqlError> {
        let Some(Copying::In(mut copy)) = self.copying.take() else { return Err(no_copy()) };
        let taken = match assigned(values, copy.types()) {
            Ok(values) => self.take_row(&mut copy, values).await,
            Err(error) => Err(error),
        };
        match taken {
            Ok(()) => {
                self.copying = Some(Copying::In(copy));
                Ok(())
            }
            Err(error) => Err(self.stop_copy(&copy, error).await),
        }
    }
}

/// The values as columns of these types store them: with their lengths and scales.
fn assigned(values: Vec<Value>, types: &[SqlType]) -> Result<Vec<Value>, SqlError> {
    if values.len() != types.len() {
        let message = format!("row field count is {}, expected {}", values.len(), types.len());
        return Err(SqlError::new("22P04", message));
    }
    let assign = |(value, sql_type): (Value, &SqlType)| {
        let is_limited = sql_type.digits().is_some()
            || matches!(
                sql_type,
                SqlType::Varchar(Some(_))
                    | SqlType::Char(Some(_))
                    | SqlType::Numeric(_)
                    | SqlType::Enum(_)
                    | SqlType::Array(_)
            );
        if value.is_null() || !is_limited {
            return Ok(value);
        }
        let text = match &value {
            Value::Text(_) => output::text(&value, &SqlType::Text),
            value => output::text(value, sql_type),
        };
        of_text(&text, sql_type)
    };
    values.into_iter().zip(types).map(assign).collect()
}

/// The value of a text, as a column of this type stores it. The row checks the lengths of texts.
pub(super) fn of_text(text: &str, sql_type: &SqlType) -> Result<Value, SqlError> {
    let read = match sql_type {
        SqlType::Numeric(_) | SqlType::Array(_) => {
            let conversion = Conversion::between(&SqlType::Unknown, sql_type, CastKind::Assignment);
            conversion.apply(Value::text(text))
        }
        _ => input::read(text, sql_type),
    };
    read.map_err(|error| SqlError::from(*error))
}
