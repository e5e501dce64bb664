//! One operation, as a transaction of its own.
//!
//! Decision: docs/decisions/0281-storing-old-versions-beside-rows-is-decided-like-storage.md

use crate::subject::{self, FIELD, Table, alias, key};
use fabric::Env;
use layout::{KeyBuilder, RecordRef};
use spade_format::measurement::Operation;
use txn::{Isolation, Lane, RowId, Scan, ScanSource, Transaction};
use workload::attempts::result_of;
use workload::{TransactionResult, WorkloadError};

/// An operation on certain rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    pub operation: Operation,
    /// Whether rows are found through the secondary index.
    pub by_index: bool,
    /// The keys of the rows; for a scan, the first and the last key.
    pub keys: Vec<i64>,
    /// Maximum number of rows of a scan.
    pub limit: u32,
}

/// Makes one attempt. Appends the columns of the rows read to `answer`.
///
/// # Errors
/// The attempt failed; [`workload::Attempts`] says whether a retry helps.
pub async fn attempt<E: Env>(
    lane: &mut Lane<E>,
    table: Table,
    task: &Task,
    answer: &mut Vec<u8>,
) -> Result<TransactionResult, WorkloadError> {
    answer.clear();
    let mut transaction = lane.begin(Isolation::Snapshot).await?;
    match task.operation {
        Operation::Lookup => {
            for row in find(&mut transaction, table, task).await? {
                take(transaction.row(row), answer);
            }
        }
        Operation::Scan => {
            let mut rows = Vec::new();
            let scan = range(&transaction, table, task)?;
            transaction.scan(&scan, &mut rows).await?;
            rows.into_iter().for_each(|row| take(transaction.row(row), answer));
        }
        Operation::Update => {
            for row in find(&mut transaction, table, task).await? {
                let field = transaction.row(row).int(FIELD);
                transaction.update(row).set_int(FIELD, field.wrapping_add(1));
            }
        }
        Operation::Insert => {
            let keys: Vec<_> = task.keys.iter().map(|&row| (table.id, key(row))).collect();
            let mut rows = Vec::with_capacity(keys.len());
            transaction.insert_many(&keys, &mut rows).await?;
            for (&row, &number) in rows.iter().zip(&task.keys) {
                subject::fill(&mut transaction.update(row), number, table.index.is_some());
            }
        }
        Operation::Delete => {
            for row in find(&mut transaction, table, task).await? {
                transaction.delete(row);
            }
        }
    }
    Ok(result_of(transaction.commit().await))
}

/// Finds the rows of a task; all must exist.
async fn find<E: Env>(
    transaction: &mut Transaction<'_, E>,
    table: Table,
    task: &Task,
) -> Result<Vec<RowId>, WorkloadError> {
    let missing = WorkloadError::MissingRow { table: "of the measurement" };
    let mut rows = Vec::with_capacity(task.keys.len());
    match table.index.filter(|_| task.by_index) {
        Some(index) => {
            let mut found = Vec::new();
            for &row in &task.keys {
                transaction.lookup(index, &key(alias(row)), &mut found).await?;
                rows.append(&mut found);
            }
        }
        None => {
            let keys: Vec<_> = task.keys.iter().map(|&row| (table.id, key(row))).collect();
            let mut found = Vec::with_capacity(keys.len());
            transaction.read_many(&keys, &mut found).await?;
            rows.extend(found.into_iter().flatten());
        }
    }
    if rows.len() == task.keys.len() { Ok(rows) } else { Err(missing) }
}

/// Returns the scan from the first to the last key, limited to the task's number of rows.
///
/// # Errors
/// The table was dropped since it was opened.
fn range<E: Env>(
    transaction: &Transaction<'_, E>,
    table: Table,
    task: &Task,
) -> Result<Scan, WorkloadError> {
    let (reverse, limit) = (false, task.limit as usize);
    let &[first, last] = task.keys.as_slice() else { unreachable!("a scan has two bounds") };
    let gone = WorkloadError::NoTable("of the measurement");
    let schema = transaction.schema(table.id).ok_or(gone)?;
    let (source, words, low, high) = match table.index.filter(|_| task.by_index) {
        Some(index) => {
            let words = schema.index_key_words(&[subject::ALIAS]);
            (ScanSource::Index(index), words, alias(first), alias(last))
        }
        None => (ScanSource::Table(table.id), schema.key_words(), first, last),
    };
    let low = KeyBuilder::new().int8(low).prefix_low(words);
    let high = KeyBuilder::new().int8(high).prefix_high(words);
    Ok(Scan { source, low, high, reverse, limit })
}

/// Copies a row's columns, as a caller that uses them would.
fn take(row: RecordRef<'_>, answer: &mut Vec<u8>) {
    for column in FIELD..row.schema().columns().len() {
        answer.extend_from_slice(&row.int(column).to_le_bytes());
    }
}
