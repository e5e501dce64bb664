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
use crate::frame::{Frame, PendingInserts};
use crate::plan::Insert;
use fabric::Env;
use txn::{Transaction, TxnError};

/// Maximum number of waiting rows.
const ROWS_MAX: usize = 64;

impl<E: Env> Run<'_, '_, E> {
    /// Queues the insert of a statement, see [`crate::plan::Execution::AddsLater`].
    #[inline]
    pub(super) async fn add_later(&mut self, insert: &Insert) -> Result<()> {
        let mut values = std::mem::take(&mut self.frame.pending_inserts.values);
        let begin = values.len();
        let table = &self.tables[insert.table];
        let mut made = self.new_row(insert, &mut values);
        if let Ok(key) = &made
            && let Err(failure) = self.lock_new_key(table, key).await
        {
            made = Err(failure);
        }
        if made.is_err() {
            values.truncate(begin);
        }
        self.frame.processed = 1;
        let pending = &mut self.frame.pending_inserts;
        pending.values = values;
        pending.keys.push((table.id, made?));
        pending.tables.push(insert.table);
        match pending.keys.len() < ROWS_MAX {
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
    let PendingInserts { keys, rows, .. } = &mut frame.pending_inserts;
    let added = txn.insert_many(keys, rows).await;
    let written = write_added(txn, tables, &frame.pending_inserts, added);
    frame.pending_inserts.clear();
    written
}

/// Writes the columns of the inserted rows, up to the first row that could not be inserted.
fn write_added<E: Env>(
    txn: &mut Transaction<'_, E>,
    tables: &[BoundTable],
    pending: &PendingInserts,
    added: std::result::Result<(), TxnError>,
) -> Result<()> {
    // The engine stops at a duplicate key, so the refused row is the last one in the list.
    let refused = match (added, pending.rows.len().checked_sub(1)) {
        (Ok(()), _) => None,
        (Err(TxnError::DuplicateKey { .. }), Some(last)) => Some(last),
        (Err(error), _) => return Err(error.into()),
    };
    let mut rest = &pending.values[..];
    for (at, (&id, &table)) in pending.rows.iter().zip(&pending.tables).enumerate() {
        let table = &tables[table];
        let (values, behind) = rest.split_at(table.columns.len());
        if refused == Some(at) {
            return Err(duplicate(table, &table.key_name, &table.key_columns, values));
        }
        write_columns(txn, table, id, values)?;
        rest = behind;
    }
    Ok(())
}
