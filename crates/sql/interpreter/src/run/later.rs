//! Batches inserts: if no other statement of a procedure uses the table, its rows are inserted at
//! the end of the procedure, or when [`ROWS_MAX`] rows wait, in one round trip instead of one each.
//!
//! The result is the same. Waiting rows are inserted before the procedure ends or fails, so that
//! their errors come first.
//!
//! Decision: docs/decisions/0261-the-executor-adds-rows-together-that-nothing-else-reads.md

use super::Run;
use super::change::duplicate;
use super::keyed::write_columns;
use crate::bind::BoundTable;
use crate::error::Result;
use crate::frame::{Frame, Later};
use crate::plan::Insert;
use fabric::Env;
use txn::{Transaction, TxnError};

/// Maximum number of waiting rows.
const ROWS_MAX: usize = 64;

impl<E: Env> Run<'_, '_, E> {
    /// Queues the insert of a statement, see [`crate::plan::Way::AddsLater`].
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

/// Inserts the waiting rows.
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

/// Writes the columns of the inserted rows, up to the first row that could not be inserted.
fn write_added<E: Env>(
    txn: &mut Transaction<'_, E>,
    tables: &[BoundTable],
    later: &Later,
    added: std::result::Result<(), TxnError>,
) -> Result<()> {
    // The engine stops at a duplicate key, so the refused row is the last one in the list.
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
