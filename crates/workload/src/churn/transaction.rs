//! What a transaction of the churn changes.

use super::{ChurnConfig, GROUP, TAG, Terminal, key};
use crate::attempts::result_of;
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use txn::Lane;

/// What becomes of one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    row: u32,
    group: i64,
    tag: i64,
    /// If it is there it goes, and does not just move.
    deletes: bool,
}

/// Draws the changes of a transaction, each of another row.
pub(super) fn draw(config: &ChurnConfig, terminal: &mut Terminal) {
    let Terminal { random, changes, .. } = terminal;
    changes.clear();
    for _ in 0..=random.below(u64::from(config.operations)) {
        let row = random.below(u64::from(config.rows)) as u32;
        let group = random.below(u64::from(config.groups)) as i64;
        // One row in two takes part in the fight for tags.
        let tag = match random.below(2 * u64::from(config.tags) + 1) {
            tag if tag < u64::from(config.tags) => tag as i64,
            _ => -1 - i64::from(row),
        };
        let deletes = random.percent(config.delete_percent);
        if changes.iter().all(|other| other.row != row) {
            changes.push(Change { row, group, tag, deletes });
        }
    }
}

/// Does what was drawn. Two rows with one tag end it without effect.
pub(super) async fn change<E: Env>(
    lane: &mut Lane<E>,
    config: &ChurnConfig,
    terminal: &Terminal,
) -> Result<TransactionResult, WorkloadError> {
    let table = terminal.places.table;
    let mut transaction = lane.begin(config.isolation).await?;
    let reads: Vec<_> = terminal.changes.iter().map(|change| (table, key(change.row))).collect();
    let mut rows = Vec::new();
    transaction.read_many(&reads, &mut rows).await?;
    for (change, row) in terminal.changes.iter().zip(rows) {
        let row = match row {
            Some(row) if change.deletes => {
                transaction.delete(row);
                continue;
            }
            Some(row) => row,
            None => transaction.insert(table, &key(change.row)).await?,
        };
        let mut record = transaction.update(row);
        record.set_int(GROUP, change.group);
        record.set_int(TAG, change.tag);
    }
    Ok(result_of(transaction.commit().await))
}
