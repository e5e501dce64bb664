//! Query: one or more statements as text, with results in text format.

use super::copy::Origin;
use super::{Connection, Next};
use crate::error::{Result, SqlError};
use crate::message::backend;
use crate::session::{CopyFormat, Outcome, Prepared, ROWS_AT_A_TIME, Session, StatementText};
use crate::value::Format;
use std::collections::VecDeque;

/// A statement of a query that is still to be run.
pub(super) struct Waiting {
    pub text: String,
    /// Characters of the query in front of it, for error positions.
    pub characters_before: u32,
    pub semicolon: Option<u32>,
}

/// Whether a statement has ended.
enum Ran {
    Whole,
    /// It waits for the client's rows.
    Copies(CopyFormat),
}

/// Where a statement is in its query: its semicolon, and the characters in front of it.
fn place(statement: &StatementText<'_>) -> (Option<u32>, u32) {
    (statement.semicolon, statement.characters_before)
}

impl<S: Session> Connection<S> {
    pub(super) fn query(&mut self, text: &str) -> Next {
        self.forget_cancel();
        self.statements.remove("");
        self.portals.remove("");
        let statements = match S::statements(text) {
            Ok(statements) => statements,
            Err(failure) => return self.fail_query(failure),
        };
        match statements.as_slice() {
            [] => backend::empty_query_response(&mut self.stream.output),
            // Most queries: no copy of the text.
            [statement] => match self.run(statement.text, place(statement)) {
                Ok(Ran::Whole) => {}
                Ok(Ran::Copies(format)) => return self.await_copy(&format, VecDeque::new()),
                Err(failure) => return self.fail_query(failure),
            },
            statements => {
                self.session.begin_implicit();
                self.is_implicit = true;
                let waiting = statements.iter().map(|statement| Waiting {
                    text: statement.text.to_owned(),
                    characters_before: statement.characters_before,
                    semicolon: statement.semicolon,
                });
                return self.go_on(waiting.collect());
            }
        }
        self.end_query(false)
    }

    /// Runs the rest of a query.
    pub(super) fn go_on(&mut self, mut waiting: VecDeque<Waiting>) -> Next {
        while let Some(statement) = waiting.pop_front() {
            let place = (statement.semicolon, statement.characters_before);
            match self.run(&statement.text, place) {
                Ok(Ran::Whole) => {}
                Ok(Ran::Copies(format)) => return self.await_copy(&format, waiting),
                Err(failure) => return self.fail_query(failure),
            }
        }
        self.end_query(false)
    }

    /// Reports the error that ends a query.
    pub(super) fn fail_query(&mut self, failure: SqlError) -> Next {
        self.send_notices();
        self.send_error(&failure);
        match failure.severity {
            crate::error::Severity::Fatal => Next::End,
            _ => self.end_query(true),
        }
    }

    fn await_copy(&mut self, format: &CopyFormat, waiting: VecDeque<Waiting>) -> Next {
        self.begin_copy(format, Origin::Query(waiting));
        Next::Message
    }

    fn end_query(&mut self, has_failed: bool) -> Next {
        if std::mem::take(&mut self.is_implicit)
            && let Err(failure) = self.session.end_implicit(has_failed)
        {
            self.send_error(&failure);
        }
        self.ready();
        Next::Message
    }

    fn run(&mut self, text: &str, place: (Option<u32>, u32)) -> Result<Ran> {
        let watch = self.watch();
        let ran = self.run_statement(text);
        Self::log_slow(watch, "statement", text);
        ran.map_err(|failure| StatementText::placed(place.0, place.1, failure))
    }

    fn run_statement(&mut self, text: &str) -> Result<Ran> {
        self.shared.counters.count_statement();
        let prepared = self.session.prepare(text, &[])?;
        let outcome = self.session.open(&prepared, &[], ROWS_AT_A_TIME)?;
        self.send_notices();
        let output = &mut self.stream.output;
        match outcome {
            Outcome::Empty => backend::empty_query_response(output),
            Outcome::Done { tag } => backend::command_complete(output, &tag),
            Outcome::Rows { rows, tag } => {
                self.send_text_rows(&rows, &prepared.columns().unwrap_or_default())?;
                backend::command_complete(&mut self.stream.output, &tag);
            }
            Outcome::Part { rows, open } => {
                let columns = prepared.columns().unwrap_or_default();
                backend::row_description(output, &columns, |_| Format::Text.code());
                let (count, _) = self.send_open((rows, open), usize::MAX, &columns, &[])?;
                backend::command_complete(&mut self.stream.output, &format!("SELECT {count}"));
            }
            Outcome::CopyIn(format) => {
                backend::copy_response(output, b'G', format.is_binary, format.columns);
                return Ok(Ran::Copies(format));
            }
            Outcome::CopyOut(format) => self.send_copy(&format)?,
        }
        Ok(Ran::Whole)
    }
}
