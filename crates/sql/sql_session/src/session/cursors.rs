//! Cursors: rows of a query that a client fetches in parts. The query begins when the cursor is
//! declared, and goes on when rows are fetched. Those that routines have opened hold their rows.

use super::open::{OpenQuery, ROWS_AT_A_TIME};
use super::transaction::done;
use super::{Block, Prepared, SqlSession};
use crate::error::SqlError;
use crate::host::Host;
use crate::outcome::{Outcome, RowSet};
use interpreter::{CursorMove, RoutineCursor};
use sql::cursors::MovementKind;

/// A cursor of a transaction.
pub(crate) struct Cursor {
    /// The query, for the columns of its rows.
    pub prepared: Prepared,
    /// Rows that wait, and the next one.
    rows: RowSet,
    at: usize,
    /// The query, if it has more rows.
    open: Option<OpenQuery>,
}

/// Number of rows that a cursor finds when it is declared.
const FIRST_ROWS: usize = 16;

impl<H: Host> SqlSession<H> {
    pub(super) async fn declare(
        &mut self,
        name: &str,
        text: &str,
        shift: u32,
    ) -> Result<Outcome, SqlError> {
        self.require_block("DECLARE CURSOR")?;
        let is_taken = |block: &Block<H::Env>| block.cursors.contains_key(name);
        if self.block.as_ref().is_some_and(is_taken) || self.routine_cursor(name).is_some() {
            return Err(SqlError::new("42P03", format!("cursor \"{name}\" already exists")));
        }
        let prepared = Prepared::inside(text, &self.version(), &self.identity);
        let prepared = prepared.map_err(|mut error| {
            error.position = error.position.map(|position| position + shift);
            error
        })?;
        if prepared.has_changes() {
            let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
            let hint = "Run the statement, and declare a cursor for its rows in a table.";
            return Err(SqlError::unsupported(message).hint(hint));
        }
        let (rows, open) = self.open_query(&prepared, FIRST_ROWS).await?;
        if let Some(block) = &mut self.block {
            block.cursors.insert(name.to_owned(), Cursor { prepared, rows, at: 0, open });
        }
        Ok(done("DECLARE CURSOR"))
    }

    /// The cursor with this name.
    pub(super) fn find_cursor(&self, name: &str) -> Result<&Cursor, SqlError> {
        let found = self.block.as_ref().and_then(|block| block.cursors.get(name));
        found.ok_or_else(|| no_cursor(name))
    }

    /// The cursor with this name, if a routine has opened it.
    pub(super) fn routine_cursor(&self, name: &str) -> Option<&RoutineCursor> {
        self.block.as_ref().and_then(|block| block.routine_cursors.get(name))
    }

    /// Fetches rows from a cursor that a routine has opened, if there is one.
    fn fetch_of_routine(
        &mut self,
        name: &str,
        count: Option<usize>,
    ) -> Result<Option<Outcome>, SqlError> {
        let block = self.block.as_mut();
        let Some(cursor) = block.and_then(|block| block.routine_cursors.get_mut(name)) else {
            return Ok(None);
        };
        let count = count.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
        let step = CursorMove { kind: MovementKind::Forward, count };
        let met = cursor.go(step).map_err(|error| SqlError::from(*error))?;
        let types: Vec<_> = cursor.fields().iter().map(|field| field.sql_type.clone()).collect();
        let mut rows = RowSet::new(types.len());
        met.into_iter().for_each(|at| rows.push(cursor.row(at)));
        self.label_rows(&mut rows, types.iter(), &self.version())?;
        let tag = format!("FETCH {}", rows.len());
        Ok(Some(Outcome::Rows { rows, tag }))
    }

    pub(super) async fn fetch_cursor(
        &mut self,
        name: &str,
        count: Option<usize>,
    ) -> Result<Outcome, SqlError> {
        if let Some(fetched) = self.fetch_of_routine(name, count)? {
            return Ok(fetched);
        }
        let found = self.block.as_mut().and_then(|block| block.cursors.get_mut(name));
        let cursor = found.ok_or_else(|| no_cursor(name))?;
        let count = count.unwrap_or(usize::MAX);
        let end = cursor.rows.len().min(cursor.at.saturating_add(count));
        let mut rows = RowSet::new(cursor.rows.width());
        for at in cursor.at..end {
            rows.push(cursor.rows.row(at).iter().cloned());
        }
        cursor.at = end;
        let mut open = cursor.open;
        while let Some(query) = open.filter(|_| rows.len() < count) {
            let missing = (count - rows.len()).min(ROWS_AT_A_TIME);
            let fetched = self.fetch_now(query, missing).await?;
            fetched.rows.iter().for_each(|row| rows.push(row.iter().cloned()));
            open = open.filter(|_| !fetched.has_ended);
        }
        let found = self.block.as_mut().and_then(|block| block.cursors.get_mut(name));
        if let Some(cursor) = found {
            cursor.open = open;
        }
        let tag = format!("FETCH {}", rows.len());
        Ok(Outcome::Rows { rows, tag })
    }

    pub(super) async fn close_cursor(&mut self, name: Option<&str>) -> Result<Outcome, SqlError> {
        let Some(name) = name else {
            let block = self.block.as_mut();
            let cursors = block.map(|block| std::mem::take(&mut block.cursors)).unwrap_or_default();
            for query in cursors.into_values().filter_map(|cursor| cursor.open) {
                self.close_query(query).await;
            }
            if let Some(block) = &mut self.block {
                block.routine_cursors.close_all();
            }
            return Ok(done("CLOSE CURSOR ALL"));
        };
        if self.block.as_mut().is_some_and(|block| block.routine_cursors.close(name)) {
            return Ok(done("CLOSE CURSOR"));
        }
        let removed = self.block.as_mut().and_then(|block| block.cursors.remove(name));
        let cursor = removed.ok_or_else(|| no_cursor(name))?;
        if let Some(query) = cursor.open {
            self.close_query(query).await;
        }
        Ok(done("CLOSE CURSOR"))
    }
}

fn no_cursor(name: &str) -> SqlError {
    SqlError::new("34000", format!("cursor \"{name}\" does not exist"))
}
