//! The extended protocol: statements are prepared, bound to parameters as portals, and executed.

use super::copy::Origin;
use super::{Connection, Mode, Next};
use crate::error::{Result, error, sqlstate};
use crate::message::backend::{self, Column};
use crate::message::frontend::{Bind, Target};
use crate::session::{
    OpenQuery, Outcome, Prepared, ROWS_AT_A_TIME, RowSet, Session, TransactionStatus,
};
use crate::value::decode::decode;
use crate::value::{Format, formats};
use sql_value::Value;
use sql_value::style::enter;
use std::sync::Arc;

/// Statements and portals of a connection at most: more are a leak of the client.
const NAMES_MAX: usize = 65_536;

/// A prepared statement.
pub(super) struct Statement<P> {
    prepared: P,
    /// Its text, for the log.
    text: Box<str>,
    /// OIDs of the parameters.
    parameters: Vec<u32>,
    /// The columns of its rows; `None` without rows.
    columns: Option<Vec<Column>>,
}

/// A statement with its parameters.
pub(super) struct Portal<P> {
    statement: Arc<Statement<P>>,
    parameters: Vec<Value>,
    formats: Vec<Format>,
    state: State,
}

enum State {
    New,
    /// Rows that are still to be sent, from `next` on.
    Suspended {
        rows: RowSet,
        next: usize,
    },
    /// A query that goes on.
    Open(OpenQuery),
    Ended,
}

impl<S: Session> Connection<S> {
    pub(super) fn parse(&mut self, name: &str, query: &str, types: &[u32]) -> Result<()> {
        if !name.is_empty() && self.statements.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(error(sqlstate::DUPLICATE_STATEMENT, message));
        }
        check_room(self.statements.len(), "prepared statements")?;
        let prepared = self.session.prepare(query, types)?;
        let (parameters, columns) = (prepared.parameters(), prepared.columns());
        let statement = Statement { prepared, text: query.into(), parameters, columns };
        self.statements.insert(name.to_owned(), Arc::new(statement));
        backend::parse_complete(&mut self.stream.output);
        Ok(())
    }

    pub(super) fn bind(&mut self, bind: &Bind<'_>) -> Result<()> {
        let statement = self.statement(bind.statement)?.clone();
        if !bind.portal.is_empty() && self.portals.contains_key(bind.portal) {
            let message = format!("cursor \"{}\" already exists", bind.portal);
            return Err(error(sqlstate::DUPLICATE_CURSOR, message));
        }
        check_room(self.portals.len(), "portals")?;
        let (given, needed) = (bind.parameters.len(), statement.parameters.len());
        if given != needed {
            let message = format!(
                "bind message supplies {given} parameters, but prepared statement \"{}\" requires \
                 {needed}",
                bind.statement
            );
            return Err(error(sqlstate::PROTOCOL_VIOLATION, message));
        }
        let parameter_formats = formats(&bind.parameter_formats, given, "parameter")?;
        let mut parameters = Vec::with_capacity(given);
        let entered = enter(self.session.style());
        for (at, (bytes, oid)) in bind.parameters.iter().zip(&statement.parameters).enumerate() {
            let format = parameter_formats.get(at).copied().unwrap_or(Format::Text);
            parameters.push(decode(*bytes, *oid, format)?);
        }
        drop(entered);
        let width = statement.columns.as_ref().map_or(0, Vec::len);
        let formats = match width {
            // Formats for rows that a statement does not have are ignored, as in PostgreSQL.
            0 => Vec::new(),
            width => formats(&bind.result_formats, width, "result")?,
        };
        let portal = Portal { statement, parameters, formats, state: State::New };
        match self.portals.get_mut(bind.portal) {
            // The unnamed portal is bound again and again: its name is not allocated each time.
            Some(previous) => {
                if let State::Open(query) = std::mem::replace(previous, portal).state {
                    self.session.close_query(query);
                }
            }
            None => _ = self.portals.insert(bind.portal.to_owned(), portal),
        }
        backend::bind_complete(&mut self.stream.output);
        Ok(())
    }

    pub(super) fn describe(&mut self, target: Target<'_>) -> Result<()> {
        match target {
            Target::Statement(name) => {
                let statement = self.statement(name)?.clone();
                let output = &mut self.stream.output;
                backend::parameter_description(output, &statement.parameters);
                describe_rows(output, statement.columns.as_deref(), &[]);
            }
            Target::Portal(name) if !self.portals.contains_key(name) => {
                // A cursor that `DECLARE` has made is a portal, too.
                let fetch = format!("FETCH FORWARD 0 FROM \"{}\"", name.replace('"', "\"\""));
                let cursor = self.session.prepare(&fetch, &[]).map_err(|_| no_portal(name))?;
                let columns = cursor.columns().ok_or_else(|| no_portal(name))?;
                describe_rows(&mut self.stream.output, Some(&columns), &[]);
            }
            Target::Portal(name) => {
                let portal = &self.portals[name];
                let columns = portal.statement.columns.as_deref();
                describe_rows(&mut self.stream.output, columns, &portal.formats);
            }
        }
        Ok(())
    }

    /// Runs a portal. `is_last` if Sync is the next message.
    pub(super) fn execute(&mut self, name: &str, rows_max: i32, is_last: bool) -> Result<()> {
        self.forget_cancel();
        let mut portal = self.portals.remove(name).ok_or_else(|| no_portal(name))?;
        let watch = self.watch();
        let result = self.run_portal(&mut portal, rows_max, is_last);
        Self::log_slow(watch, "execute", &portal.statement.text);
        if result.is_ok() {
            self.portals.insert(name.to_owned(), portal);
        }
        result
    }

    fn run_portal(
        &mut self,
        portal: &mut Portal<S::Prepared>,
        rows_max: i32,
        is_last: bool,
    ) -> Result<()> {
        let (rows, next) = match std::mem::replace(&mut portal.state, State::Ended) {
            State::Suspended { rows, next } => (rows, next),
            State::Open(query) => {
                self.session.execute_again();
                let most = if rows_max <= 0 { usize::MAX } else { rows_max as usize };
                let fetched = self.session.fetch(query, most.min(ROWS_AT_A_TIME))?;
                if !fetched.has_ended {
                    return self.run_open(portal, (fetched.rows, query), most);
                }
                let rows = fetched.rows;
                self.send_portal_rows(portal, &rows, 0, rows.len())?;
                let tag = format!("SELECT {}", rows.len());
                backend::command_complete(&mut self.stream.output, &tag);
                return Ok(());
            }
            State::Ended => return self.run_again(portal),
            State::New => {
                if !is_last && !self.is_implicit && self.session.status() == TransactionStatus::Idle
                {
                    self.session.begin_implicit();
                    self.is_implicit = true;
                }
                self.shared.counters.count_statement();
                let statement = &portal.statement;
                let most = if rows_max <= 0 { usize::MAX } else { rows_max as usize };
                let first = most.min(ROWS_AT_A_TIME);
                let parameters = &portal.parameters;
                let outcome = self.session.open(&statement.prepared, parameters, first)?;
                self.send_notices();
                if let Outcome::Part { rows, open } = outcome {
                    return self.run_open(portal, (rows, open), most);
                }
                match self.start_result(outcome)? {
                    Some((rows, tag)) => {
                        let is_whole = rows_max <= 0 || rows.len() <= rows_max as usize;
                        if is_whole {
                            self.send_portal_rows(portal, &rows, 0, rows.len())?;
                            backend::command_complete(&mut self.stream.output, &tag);
                            return Ok(());
                        }
                        (rows, 0)
                    }
                    None => return Ok(()),
                }
            }
        };
        let end = match rows_max {
            ..=0 => rows.len(),
            rows_max => rows.len().min(next + rows_max as usize),
        };
        self.send_portal_rows(portal, &rows, next, end)?;
        if end < rows.len() {
            backend::portal_suspended(&mut self.stream.output);
            portal.state = State::Suspended { rows, next: end };
        } else {
            // The tag counts the rows of the last part.
            let tag = format!("SELECT {}", end - next);
            backend::command_complete(&mut self.stream.output, &tag);
        }
        Ok(())
    }

    /// Sends the next rows of a query that goes on.
    fn run_open(
        &mut self,
        portal: &mut Portal<S::Prepared>,
        first: (RowSet, OpenQuery),
        most: usize,
    ) -> Result<()> {
        let statement = portal.statement.clone();
        let columns = statement.columns.as_deref().unwrap_or_default();
        let (count, open) = self.send_open(first, most, columns, &portal.formats)?;
        let output = &mut self.stream.output;
        match open {
            Some(query) => {
                portal.state = State::Open(query);
                backend::portal_suspended(output);
            }
            // The tag counts the rows of the last part.
            None => backend::command_complete(output, &format!("SELECT {count}")),
        }
        Ok(())
    }

    /// Sends the result of a statement without rows; returns rows and tag otherwise.
    fn start_result(&mut self, outcome: Outcome) -> Result<Option<(RowSet, String)>> {
        let output = &mut self.stream.output;
        match outcome {
            Outcome::Rows { rows, tag } => return Ok(Some((rows, tag))),
            Outcome::Part { .. } => return Err(error("XX000", "a query goes on unasked")),
            Outcome::Empty => backend::empty_query_response(output),
            Outcome::Done { tag } => backend::command_complete(output, &tag),
            Outcome::CopyIn(format) => {
                backend::copy_response(output, b'G', format.is_binary, format.columns);
                self.begin_copy(&format, Origin::Execute);
            }
            Outcome::CopyOut(format) => self.send_copy(&format)?,
        }
        Ok(None)
    }

    fn send_portal_rows(
        &mut self,
        portal: &Portal<S::Prepared>,
        rows: &RowSet,
        from: usize,
        end: usize,
    ) -> Result<()> {
        let columns = portal.statement.columns.as_deref().unwrap_or_default();
        self.send_rows(rows, from..end, columns, &portal.formats)
    }

    /// A portal that has ended has no more rows; a change is not made twice.
    fn run_again(&mut self, portal: &Portal<S::Prepared>) -> Result<()> {
        if portal.statement.columns.is_none() {
            return Err(error("55000", "portal cannot be run: it has ended"));
        }
        backend::command_complete(&mut self.stream.output, "SELECT 0");
        Ok(())
    }

    pub(super) fn close(&mut self, target: Target<'_>) {
        // To close what does not exist is no error.
        match target {
            Target::Statement(name) => _ = self.statements.remove(name),
            Target::Portal(name) => {
                if let Some(Portal { state: State::Open(query), .. }) = self.portals.remove(name) {
                    self.session.close_query(query);
                }
            }
        }
        backend::close_complete(&mut self.stream.output);
    }

    pub(super) fn sync(&mut self) -> Next {
        self.mode = Mode::Ready;
        let has_failed = std::mem::take(&mut self.has_failed);
        if (std::mem::take(&mut self.is_implicit) || has_failed)
            && let Err(failure) = self.session.end_implicit(has_failed)
        {
            self.send_error(&failure);
        }
        if self.session.status() == TransactionStatus::Idle {
            // A portal ends with its transaction.
            self.session.close_queries();
            self.portals.retain(|_, portal| !matches!(portal.state, State::Open(_)));
        }
        self.ready();
        Next::Message
    }

    fn statement(&self, name: &str) -> Result<&Arc<Statement<S::Prepared>>> {
        self.statements.get(name).ok_or_else(|| {
            let message = match name {
                "" => "unnamed prepared statement does not exist".to_owned(),
                name => format!("prepared statement \"{name}\" does not exist"),
            };
            error(sqlstate::INVALID_STATEMENT_NAME, message)
        })
    }
}

fn check_room(count: usize, names: &str) -> Result<()> {
    if count < NAMES_MAX {
        return Ok(());
    }
    Err(error(sqlstate::PROGRAM_LIMIT, format!("a connection has at most {NAMES_MAX} {names}")))
}

fn no_portal(name: &str) -> sql_session::SqlError {
    error(sqlstate::INVALID_CURSOR_NAME, format!("portal \"{name}\" does not exist"))
}

/// Sends the description of rows. Without formats, a statement was described: they are text.
fn describe_rows(output: &mut Vec<u8>, columns: Option<&[Column]>, formats: &[Format]) {
    match columns {
        None => backend::no_data(output),
        Some(columns) => backend::row_description(output, columns, |index| {
            formats.get(index).map_or(0, |format| format.code())
        }),
    }
}
