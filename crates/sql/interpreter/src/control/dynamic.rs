//! `EXECUTE`: statements whose texts are computed.
//!
//! The session plans them, and keeps their plans. They run as other statements of the call, with
//! the values behind `USING` as their variables.
//!
//! Decision: docs/decisions/0365-texts-of-execute-are-planned-by-the-session.md

use super::{Interpreter, cursors, no_row, stopped};
use crate::error::{Failure, Result, plain};
use crate::frame::HeldPlanner;
use crate::memory::Reservation;
use crate::program::{Dynamic, DynamicInto};
use crate::rows::Rows;
use crate::run::{ALL, Run};
use crate::single::DynamicStatement;
use fabric::Env;
use sql::{Field, SqlType};
use sql_value::{Error, Value};
use std::sync::Arc;

impl<E: Env> Interpreter<'_, '_, E> {
    /// `EXECUTE`
    pub(super) async fn execute_text(
        &mut self,
        dynamic: &Dynamic,
        into: Option<&DynamicInto>,
    ) -> Result<()> {
        let planned = self.run_text(dynamic, into.map(|into| &into.types[..]), None).await?;
        let Some(into) = into else { return Ok(()) };
        if planned.columns.is_empty() {
            return Err(plain("42601", "INTO used with a command that cannot return data"));
        }
        let count = self.rows.len();
        if into.into.is_strict && count == 0 {
            return Err(no_row());
        }
        if into.into.is_strict && count > 1 {
            return Err(plain("P0003", "query returned more than one row"));
        }
        if count == 0 {
            return self.store_nothing(&into.into);
        }
        let mut row = self.converted(&planned, self.rows.row(0))?;
        self.store_row(&into.into, &mut row)
    }

    /// Starts a loop over the rows of `EXECUTE`.
    pub(super) async fn start_text(
        &mut self,
        dynamic: &Dynamic,
        types: &[SqlType],
    ) -> Result<(Rows, Reservation)> {
        // As in other loops, `ROW_COUNT` keeps its value.
        let processed = self.frame.processed;
        let mut memory = Reservation::default();
        let held = Some((&mut memory, "loop"));
        let planned = self.run_text(dynamic, Some(types), held).await?;
        self.frame.processed = processed;
        if planned.columns.is_empty() {
            return Err(plain("42P11", "cannot open a statement without rows as cursor"));
        }
        Ok((self.converted_rows(&planned, types.len())?, memory))
    }

    /// `RETURN QUERY EXECUTE`
    pub(super) async fn return_text(&mut self, dynamic: &Dynamic, types: &[SqlType]) -> Result<()> {
        let planned = self.run_text(dynamic, Some(types), None).await?;
        let rows = self.converted_rows(&planned, types.len())?;
        for row in rows.iter() {
            self.result.push_row(row, None);
        }
        self.set_found(!rows.is_empty());
        self.frame.processed = rows.len() as u64;
        Ok(())
    }

    /// Finds the rows of a cursor with a computed text, which are then in `rows`; returns how many
    /// are counted so far, and their columns.
    pub(super) async fn rows_of_text(
        &mut self,
        dynamic: &Dynamic,
        memory: &mut Reservation,
    ) -> Result<Vec<Field>> {
        let held = Some((memory, cursors::NODE));
        let planned = self.run_text(dynamic, None, held).await?;
        if planned.columns.is_empty() {
            return Err(plain("42P11", "cannot open a statement without rows as cursor"));
        }
        Ok(planned.columns.clone())
    }

    /// Runs a statement with a computed text; its rows are then in `rows`. If the routine keeps
    /// them, they count in this memory, as those of a node with this name: returns also the number
    /// that is counted so far.
    async fn run_text(
        &mut self,
        dynamic: &Dynamic,
        wanted: Option<&[SqlType]>,
        held: Option<(&mut Reservation, &str)>,
    ) -> Result<Arc<DynamicStatement>> {
        let Value::Text(text) = self.evaluate(&dynamic.text).await? else {
            return Err(plain("22004", "query string argument of EXECUTE is null"));
        };
        let mut values = Vec::with_capacity(dynamic.values.len());
        for value in &dynamic.values {
            values.push(self.evaluate(value).await?);
        }
        let Some(HeldPlanner(planner)) = &self.frame.planner else {
            return Err(Error::internal("EXECUTE without a planner").into());
        };
        let planned = planner.plan(&text, &dynamic.types, wanted, dynamic.is_result);
        let planned = planned.map_err(Failure::Sql)?;
        let own = std::mem::replace(&mut self.frame.variables, values);
        let processed = self.frame.processed;
        let Self { txn, tables, frame, rows, .. } = self;
        let statement = &planned.statement.statement;
        let mut run = Run { txn, tables, frame, statement };
        let ended = match held {
            None => run.statement(ALL, rows).await,
            Some((memory, node)) => run.held_statement(rows, memory, node).await,
        };
        self.frame.variables = own;
        ended.inspect_err(|_| self.frame.processed = processed)?;
        Ok(planned)
    }

    /// A row with its columns cast for the targets.
    fn converted(&self, planned: &DynamicStatement, row: &[Value]) -> Result<Vec<Value>> {
        let view = self.view(row);
        let cast = planned.casts.iter().map(|cast| cast.evaluate(&view).map_err(stopped));
        cast.collect()
    }

    fn converted_rows(&mut self, planned: &DynamicStatement, width: usize) -> Result<Rows> {
        let rows = std::mem::take(self.rows);
        let mut converted = Rows::new(width);
        for row in rows.iter() {
            converted.push_row(&self.converted(planned, row)?, None);
        }
        *self.rows = rows;
        Ok(converted)
    }
}
