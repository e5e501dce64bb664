//! Results as messages.

use super::Connection;
use super::stream::OUTPUT_BYTES_MAX;
use crate::error::{Result, fatal, sqlstate};
use crate::message::backend::{self, Column};
use crate::message::writer::Writer;
use crate::session::{OpenQuery, ROWS_AT_A_TIME, RowSet, Session};
use crate::value::Format;
use crate::value::encode::encode;
use sql_value::style::enter;
use std::ops::Range;

impl<S: Session> Connection<S> {
    /// Appends rows; sends them when there are enough. Without formats, all columns are text.
    pub(super) fn send_rows(
        &mut self,
        rows: &RowSet,
        range: Range<usize>,
        columns: &[Column],
        formats: &[Format],
    ) -> Result<()> {
        let _entered = enter(self.session.style());
        for at in range {
            let output = &mut self.stream.output;
            let start = output.len();
            if let Err(failure) = append_row(rows.row(at), columns, formats, output) {
                output.truncate(start);
                return Err(failure);
            }
            if output.len() >= OUTPUT_BYTES_MAX && !self.stream.flush() {
                // The session is not informed: its statement has ended already.
                return Err(fatal(sqlstate::PROTOCOL_VIOLATION, "connection to client lost"));
            }
        }
        Ok(())
    }

    /// Sends all rows in text format, with their description.
    pub(super) fn send_text_rows(&mut self, rows: &RowSet, columns: &[Column]) -> Result<()> {
        backend::row_description(&mut self.stream.output, columns, |_| Format::Text.code());
        self.send_rows(rows, 0..rows.len(), columns, &[])
    }

    /// Sends the rows of a query that goes on, up to `most`; the first ones are known. Returns
    /// their number, and the query if it has more rows.
    pub(super) fn send_open(
        &mut self,
        (mut rows, query): (RowSet, OpenQuery),
        most: usize,
        columns: &[Column],
        formats: &[Format],
    ) -> Result<(usize, Option<OpenQuery>)> {
        let mut count = 0;
        loop {
            count += rows.len();
            if let Err(failure) = self.send_rows(&rows, 0..rows.len(), columns, formats) {
                self.session.close_query(query);
                return Err(failure);
            }
            if count >= most {
                return Ok((count, Some(query)));
            }
            let fetched = self.session.fetch(query, ROWS_AT_A_TIME.min(most - count))?;
            rows = fetched.rows;
            if fetched.has_ended {
                count += rows.len();
                self.send_rows(&rows, 0..rows.len(), columns, formats)?;
                return Ok((count, None));
            }
        }
    }
}

#[inline]
fn append_row(
    row: &[sql_value::Value],
    columns: &[Column],
    formats: &[Format],
    output: &mut Vec<u8>,
) -> Result<()> {
    let mut writer = Writer::begin(output, b'D');
    writer.count(row.len());
    let mut failure = None;
    for (at, (value, column)) in row.iter().zip(columns).enumerate() {
        let format = formats.get(at).copied().unwrap_or(Format::Text);
        writer.value(|buffer| match encode(value, column, format, buffer) {
            Ok(is_value) => is_value,
            Err(error) => {
                failure = Some(error);
                false
            }
        });
    }
    writer.end();
    failure.map_or(Ok(()), Err)
}
