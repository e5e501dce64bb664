//! The changes of a churn transaction.

use super::{ChurnConfig, GROUP, TAG, Terminal, key};
use crate::attempts::result_of;
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use txn::Lane;

/// The change of one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    row: u32,
    group: i64,
    tag: i64,
    fate: Fate,
}

/// The change, depending on whether the row exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// Inserts the row, or moves it.
    Comes,
    /// Inserts the row, or deletes it.
    Turns,
    /// Deletes the row, if it exists.
    Goes,
}

/// Draws the changes of a transaction, each of another row.
pub(super) fn draw(config: &ChurnConfig, terminal: &mut Terminal) {
    let Terminal { random, drawn, next_row, changes, .. } = terminal;
    let is_ebb = config.tide > 0 && (*drawn / u64::from(config.tide)) % 2 == 1;
    *drawn += 1;
    changes.clear();
    for _ in 0..=random.below(u64::from(config.operations)) {
        let row = match config.tide {
            0 => random.below(u64::from(config.rows)) as u32,
            _ => {
                *next_row = (*next_row + 1) % config.rows;
                *next_row
            }
        };
        let group = random.below(u64::from(config.groups)) as i64;
        // One row in two competes for tags.
        let tag = match random.below(2 * u64::from(config.tags) + 1) {
            tag if tag < u64::from(config.tags) => tag as i64,
            _ => -1 - i64::from(row),
        };
        let fate = match random.percent(config.delete_percent) {
            _ if is_ebb => Fate::Goes,
            true if config.tide == 0 => Fate::Turns,
            _ => Fate::Comes,
        };
        if changes.iter().all(|other| other.row != row) {
            changes.push(Change { row, group, tag, fate });
        }
    }
}

/// Applies the drawn changes. Two rows with one tag end the transaction without effect.
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
            Some(row) if change.fate != Fate::Comes => {
                transaction.delete(row);
                continue;
            }
            Some(row) => row,
            None if change.fate == Fate::Goes => continue,
            None => transaction.insert(table, &key(change.row)).await?,
        };
        let mut record = transaction.update(row);
        record.set_int(GROUP, change.group);
        record.set_int(TAG, change.tag);
    }
    Ok(result_of(transaction.commit().await))
}
