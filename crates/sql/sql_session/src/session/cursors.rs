//! Cursors: rows of a query that a client fetches in parts. The query begins when the cursor is
//! declared, and goes on when rows are fetched.

use super::open::{OpenQuery, ROWS_AT_A_TIME};
use super::transaction::done;
use super::{Prepared, SqlSession};
use crate::error::SqlError;
use crate::host::Host;
use crate::outcome::{Outcome, RowSet};

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
        if self.block.as_ref().is_some_and(|block| block.cursors.contains_key(name)) {
            return Err(SqlError::new("42P03", format!("cursor \"{name}\" already exists")));
        }
        let prepared = Prepared::inside(text, &self.version(), &self.identity);
        let prepared = prepared.map_err(|mut error| {
            error.position = error.position.map(|position| position + shift);
            error
        })?;
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

    pub(super) async fn fetch_cursor(
        &mut self,
        name: &str,
        count: Option<usize>,
    ) -> Result<Outcome, SqlError> {
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
            return Ok(done("CLOSE CURSOR ALL"));
        };
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
