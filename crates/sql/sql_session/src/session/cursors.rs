//! Cursors: rows of a query that a client fetches in parts. The query runs when the cursor is
//! declared, and its rows wait in the memory of the process.

use super::transaction::done;
use super::{Prepared, SqlSession};
use crate::error::SqlError;
use crate::host::Host;
use crate::outcome::{Outcome, RowSet};

/// A cursor of a transaction.
pub(crate) struct Cursor {
    /// The query, for the columns of its rows.
    pub prepared: Prepared,
    rows: RowSet,
    /// Rows that were fetched.
    at: usize,
}

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
        let prepared = Prepared::new(text, &[], &self.version(), &self.constants);
        let prepared = prepared.map_err(|mut error| {
            error.position = error.position.map(|position| position + shift);
            error
        })?;
        let Outcome::Rows { rows, .. } = self.run_query(&prepared, &[]).await? else {
            return Err(SqlError::new("42601", "a cursor needs a query that returns rows"));
        };
        if let Some(block) = &mut self.block {
            block.cursors.insert(name.to_owned(), Cursor { prepared, rows, at: 0 });
        }
        Ok(done("DECLARE CURSOR"))
    }

    /// The cursor with this name.
    pub(super) fn find_cursor(&self, name: &str) -> Result<&Cursor, SqlError> {
        let found = self.block.as_ref().and_then(|block| block.cursors.get(name));
        found.ok_or_else(|| no_cursor(name))
    }

    pub(super) fn fetch(&mut self, name: &str, count: Option<usize>) -> Result<Outcome, SqlError> {
        let found = self.block.as_mut().and_then(|block| block.cursors.get_mut(name));
        let cursor = found.ok_or_else(|| no_cursor(name))?;
        let left = cursor.rows.len() - cursor.at;
        let count = count.unwrap_or(left).min(left);
        let mut rows = RowSet::new(cursor.rows.width());
        for at in cursor.at..cursor.at + count {
            rows.push(cursor.rows.row(at).iter().cloned());
        }
        cursor.at += count;
        Ok(Outcome::Rows { rows, tag: format!("FETCH {count}") })
    }

    pub(super) fn close_cursor(&mut self, name: Option<&str>) -> Result<Outcome, SqlError> {
        let Some(name) = name else {
            if let Some(block) = &mut self.block {
                block.cursors.clear();
            }
            return Ok(done("CLOSE CURSOR ALL"));
        };
        let removed = self.block.as_mut().and_then(|block| block.cursors.remove(name));
        removed.map(|_| done("CLOSE CURSOR")).ok_or_else(|| no_cursor(name))
    }
}

fn no_cursor(name: &str) -> SqlError {
    SqlError::new("34000", format!("cursor \"{name}\" does not exist"))
}
