//! Rows that are added together: where nothing else in a procedure looks at their table, in the end or when there are many of
//! them. That is one round trip instead of one for each.
//!
//! Nobody sees the difference. Whatever the procedure ends with, they are added before that is told, so that an error of theirs
//! is the one that comes first.

use super::Run;
use super::change::duplicate;
use super::keyed::write_columns;
use crate::bind::BoundTable;
use crate::error::Result;
use crate::frame::{Frame, Later};
use crate::plan::Insert;
use fabric::Env;
use txn::{Transaction, TxnError};

/// Most rows that wait.
const ROWS_MAX: usize = 64;

impl<E: Env> Run<'_, '_, E> {
    /// Has the row of a statement added later, see [`crate::plan::Way::AddsLater`].
    #[inline]
    pub(super) async fn add_later(&mut self, insert: &Insert) -> Result<()> {
        let mut values = std::mem::take(&mut self.frame.later.values);
        let begin = values.len();
        let made = self.new_row(insert, &mut values);
        if made.is_err() {
            values.truncate(begin);
        }
        self.frame.processed = 1;
        let later = &mut self.frame.later;
        later.values = values;
        later.keys.push((self.tables[insert.table].id, made?));
        later.tables.push(insert.table);
        match later.keys.len() < ROWS_MAX {
            true => Ok(()),
            false => Box::pin(add_waiting(self.txn, self.tables, self.frame)).await,
        }
    }
}

/// Adds the rows that wait.
pub(crate) async fn add_waiting<E: Env>(
    txn: &mut Transaction<'_, E>,
    tables: &[BoundTable],
    frame: &mut Frame,
) -> Result<()> {
    let Later { keys, rows, .. } = &mut frame.later;
    let added = txn.insert_many(keys, rows).await;
    let written = write_added(txn, tables, &frame.later, added);
    frame.later.clear();
    written
}

/// Fills the rows that were added, up to the first that could not be.
fn write_added<E: Env>(
    txn: &mut Transaction<'_, E>,
    tables: &[BoundTable],
    later: &Later,
    added: std::result::Result<(), TxnError>,
) -> Result<()> {
    // The row that was there already is the last that was come to.
    let refused = match (added, later.rows.len().checked_sub(1)) {
        (Ok(()), _) => None,
        (Err(TxnError::DuplicateKey { .. }), Some(last)) => Some(last),
        (Err(error), _) => return Err(error.into()),
    };
    let mut rest = &later.values[..];
    for (at, (&id, &table)) in later.rows.iter().zip(&later.tables).enumerate() {
        let table = &tables[table];
        let (values, behind) = rest.split_at(table.columns.len());
        if refused == Some(at) {
            return Err(duplicate(table, &table.key_name, table.schema.key(), values));
        }
        write_columns(txn, table, id, values)?;
        rest = behind;
    }
    Ok(())
}
