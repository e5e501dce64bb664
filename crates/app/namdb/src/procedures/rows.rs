//! Result rows.
//!
//! Decision: docs/decisions/0223-result-rows-are-copied-once-and-addressed-by-place.md

use super::argument::Decimal;
use super::error::Misuse;
use super::signature::Signature;
use procedure_runtime::{Cell, Results};
use sql::SqlType;
use sql_value::{Value, output};
use std::borrow::Cow;

/// Selects a parameter or a column.
/// [`Call::bind`](super::Call::bind) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At<'n> {
    /// By position, from 0.
    Position(usize),
    /// By its name.
    Name(&'n str),
}

impl From<usize> for At<'_> {
    fn from(position: usize) -> Self {
        Self::Position(position)
    }
}

impl<'n> From<&'n str> for At<'n> {
    fn from(name: &'n str) -> Self {
        Self::Name(name)
    }
}

/// The rows of a call, valid until it is executed again. Rows are numbered from 0; null reads as
/// `None`.
/// [`Rows::len`] has an example.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'c> {
    pub(super) signature: &'c Signature,
    pub(super) results: &'c Results,
    /// Positions of all values in `results`, row by row.
    pub(super) places: &'c [usize],
}

impl<'c> Rows<'c> {
    /// Number of rows.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// # let mut call = session.call("get_subscriber_data")?;
    /// let rows = call.bind(0, 7)?.execute()?;
    /// for row in 0..rows.len() {
    ///     println!("{:?} at {:?}", rows.text(row, "sub_nbr")?, rows.int(row, "vlr_location")?);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.results.rows()
    }

    /// Whether the call returned no rows.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// # let mut call = session.call("get_subscriber_data")?;
    /// assert!(call.rows().is_empty(), "it was not executed");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Columns of the rows.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// # let mut call = session.call("get_subscriber_data")?;
    /// let names: Vec<_> = call.rows().columns().iter().map(|column| &column.name).collect();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn columns(&self) -> &'c [sql::Field] {
        &self.signature.columns
    }

    /// Reads a `smallint`, `integer` or `bigint`; days of a `date`; microseconds since 2000-01-01
    /// UTC of a `timestamp`.
    /// [`Rows::len`] has an example.
    ///
    /// # Errors
    /// If row or column is out of range, or the column has another type.
    pub fn int<'n>(&self, row: usize, column: impl Into<At<'n>>) -> Result<Option<i64>, Misuse> {
        let (cell, of) = self.cell(row, column.into())?;
        match cell {
            Cell::Null => Ok(None),
            Cell::Int(number) if of.sql_type != SqlType::Bool => Ok(Some(number)),
            _ => Err(wrong(of, "a whole number")),
        }
    }

    /// Reads a `boolean`.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// # let mut call = session.call("get_subscriber_data")?;
    /// let rows = call.bind(0, 7)?.execute()?;
    /// println!("{:?}", rows.bool(0, 0)?); // Of a column of type `boolean`.
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Rows::int`].
    pub fn bool<'n>(&self, row: usize, column: impl Into<At<'n>>) -> Result<Option<bool>, Misuse> {
        let (cell, of) = self.cell(row, column.into())?;
        match cell {
            Cell::Null => Ok(None),
            Cell::Int(number) if of.sql_type == SqlType::Bool => Ok(Some(number != 0)),
            _ => Err(wrong(of, "a truth value")),
        }
    }

    /// Reads a `double precision`, or the nearest one to an integer or a `numeric`.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// # let mut call = session.call("get_subscriber_data")?;
    /// let rows = call.bind(0, 7)?.execute()?;
    /// println!("{:?}", rows.float(0, 0)?); // Of a column of type `double precision`.
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Rows::int`].
    pub fn float<'n>(&self, row: usize, column: impl Into<At<'n>>) -> Result<Option<f64>, Misuse> {
        let (cell, of) = self.cell(row, column.into())?;
        match cell {
            Cell::Null => Ok(None),
            Cell::Float(number) => Ok(Some(number)),
            Cell::Int(number) if of.sql_type.is_integer() => Ok(Some(number as f64)),
            Cell::Decimal(units, scale) => Ok(Some(units as f64 / 10_f64.powi(i32::from(scale)))),
            _ => Err(wrong(of, "a float")),
        }
    }

    /// Reads a `numeric` of at most 18 digits, or an integer.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tpcc", &Options::default())?;
    /// # let mut call = database.session()?.call("new_order")?;
    /// let price = call.execute()?.decimal(0, "item_price")?;
    /// println!("{} cents", price.map_or(0, |price| price.units));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Rows::int`].
    pub fn decimal<'n>(
        &self,
        row: usize,
        column: impl Into<At<'n>>,
    ) -> Result<Option<Decimal>, Misuse> {
        let (cell, of) = self.cell(row, column.into())?;
        match cell {
            Cell::Null => Ok(None),
            Cell::Decimal(units, scale) => Ok(Some(Decimal { units, scale })),
            Cell::Int(units) if of.sql_type.is_integer() => Ok(Some(Decimal { units, scale: 0 })),
            _ => Err(wrong(of, "a decimal")),
        }
    }

    /// Reads any value as PostgreSQL prints it.
    /// [`Rows::len`] has an example.
    ///
    /// # Errors
    /// If row or column is out of range, or the text is not valid UTF-8. The plan executor fails a
    /// call that reads such bytes with SQLSTATE 22021; generated code does not check them, so this
    /// method does.
    pub fn text<'n>(
        &self,
        row: usize,
        column: impl Into<At<'n>>,
    ) -> Result<Option<Cow<'c, str>>, Misuse> {
        let (cell, of) = self.cell(row, column.into())?;
        let utf8 = |text: &'c [u8]| {
            std::str::from_utf8(text).map_err(|_| Misuse::NoText { column: of.name.clone() })
        };
        let value = match cell {
            Cell::Null => return Ok(None),
            Cell::Text(text) if !matches!(of.sql_type, SqlType::Char(Some(_))) => {
                return Ok(Some(Cow::Borrowed(utf8(text)?)));
            }
            Cell::Text(text) => Value::text(utf8(text)?),
            Cell::Float(number) => Value::Float(number),
            Cell::Decimal(units, scale) => {
                Value::Numeric(sql_value::Decimal { units: units.into(), scale })
            }
            Cell::Int(number) => match of.sql_type {
                SqlType::Bool => Value::Bool(number != 0),
                SqlType::Date => Value::Date(number as i32),
                SqlType::Timestamp(_) | SqlType::TimestampTz(_) => Value::Timestamp(number),
                _ => Value::Int(number),
            },
        };
        Ok(Some(Cow::Owned(output::text(&value, &of.sql_type).to_string())))
    }

    /// Whether a value is null.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tpcc", &Options::default())?;
    /// # let mut call = database.session()?.call("new_order")?;
    /// let rows = call.execute()?;
    /// assert!(rows.is_null(0, "total_amount")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If row or column is out of range.
    pub fn is_null<'n>(&self, row: usize, column: impl Into<At<'n>>) -> Result<bool, Misuse> {
        Ok(self.cell(row, column.into())?.0 == Cell::Null)
    }

    fn cell(&self, row: usize, column: At<'_>) -> Result<(Cell<'c>, &'c sql::Field), Misuse> {
        let column = match column {
            At::Position(position) => position,
            At::Name(name) => self.signature.column(name)?,
        };
        let (rows, columns) = (self.len(), self.signature.columns.len());
        let of = self.signature.columns.get(column).filter(|_| row < rows);
        let of = of.ok_or(Misuse::NoValue { row, column, rows, columns })?;
        Ok((self.results.cell(self.places[row * columns + column]), of))
    }
}

fn wrong(of: &sql::Field, wanted: &'static str) -> Misuse {
    Misuse::WrongColumn { column: of.name.clone(), sql_type: of.sql_type.name(), wanted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::Field;

    #[test]
    fn bytes_that_are_no_text_are_told_and_not_replaced() {
        let types = [("name", SqlType::Varchar(Some(8))), ("code", SqlType::Char(Some(4)))];
        let column = |(name, sql_type): (&str, SqlType)| Field { name: name.to_owned(), sql_type };
        let columns = types.map(column).to_vec();
        let signature = Signature { name: "of".to_owned(), parameters: Vec::new(), columns };
        let mut results = Results::default();
        for [name, code] in [[&b"Gr\xc3\xbcn"[..], b"ab"], [b"Gr\xfcn", b"\xff"]] {
            results.row();
            results.text(name);
            results.text(code);
        }
        let mut places = Vec::new();
        results.places(&mut places);
        let rows = Rows { signature: &signature, results: &results, places: &places };
        assert_eq!(rows.text(0, 0), Ok(Some("Gr\u{fc}n".into())));
        assert_eq!(rows.text(0, 1), Ok(Some("ab  ".into())));
        for (at, name) in ["name", "code"].into_iter().enumerate() {
            let column = name.to_owned();
            assert_eq!(rows.text(1, at), Err(Misuse::NoText { column }));
        }
    }
}
