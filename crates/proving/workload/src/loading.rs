//! Loading a table in parts: the division of rows into parts and transactions.

use crate::attempts::{insist, result_of};
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use layout::{Key, RecordMut};
use std::ops::Range;
use txn::{Isolation, Lane, RowId, TableId};

/// The rows of part `part` of `parts`: consecutive ones, as many as any other part has or one less.
pub fn share(rows: u64, part: u64, parts: u64) -> Range<u64> {
    assert!(part < parts, "parts are counted from 0");
    let begin = |part: u64| (u128::from(rows) * u128::from(part) / u128::from(parts)) as u64;
    begin(part)..begin(part + 1)
}

/// Cuts a range into chunks of `size`, the last one shorter.
pub fn chunks(range: Range<u64>, size: u64) -> impl Iterator<Item = Range<u64>> {
    let end = range.end;
    range.step_by(size as usize).map(move |first| first..(first + size).min(end))
}

/// Inserts rows in one transaction and one round trip, and fills each by its position in `keys`.
pub async fn insert<E: Env>(
    lane: &mut Lane<E>,
    keys: &[(TableId, Key)],
    fill: &mut dyn FnMut(usize, &mut RecordMut<'_>),
) -> Result<(), WorkloadError> {
    let mut rows = Vec::with_capacity(keys.len());
    match insist(lane, async |lane| attempt(lane, keys, &mut rows, fill).await).await? {
        TransactionResult::Committed => Ok(()),
        _ => Err(WorkloadError::Unknown("a transaction of the load")),
    }
}

/// A table whose rows are numbered from 0.
pub struct Numbered {
    pub table: TableId,
    pub rows: u64,
    /// Number of rows inserted per transaction.
    pub batch: u64,
}

impl Numbered {
    /// Loads part `part` of `parts`. Keys and contents follow from the rows' numbers.
    pub async fn load_part<E: Env>(
        &self,
        lane: &mut Lane<E>,
        (part, parts): (u64, u64),
        progress: &dyn Fn(u64),
        key: impl Fn(u64) -> Key,
        fill: impl Fn(u64, &mut RecordMut<'_>),
    ) -> Result<(), WorkloadError> {
        for chunk in chunks(share(self.rows, part, parts), self.batch) {
            let keys: Vec<_> = chunk.clone().map(|row| (self.table, key(row))).collect();
            insert(lane, &keys, &mut |index, row| fill(chunk.start + index as u64, row)).await?;
            progress(chunk.end - chunk.start);
        }
        Ok(())
    }
}

async fn attempt<E: Env>(
    lane: &mut Lane<E>,
    keys: &[(TableId, Key)],
    rows: &mut Vec<RowId>,
    fill: &mut dyn FnMut(usize, &mut RecordMut<'_>),
) -> Result<TransactionResult, WorkloadError> {
    let mut transaction = lane.begin(Isolation::Snapshot).await?;
    transaction.insert_many(keys, rows).await?;
    for (index, &row) in rows.iter().enumerate() {
        fill(index, &mut transaction.update(row));
    }
    Ok(result_of(transaction.commit().await))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_chunks_cover_every_row_once() {
        for (rows, parts) in [(0, 3), (1, 3), (10, 3), (100, 7), (5, 5)] {
            let all: Vec<u64> = (0..parts)
                .flat_map(|part| chunks(share(rows, part, parts), 4))
                .flat_map(|chunk| {
                    assert!((1..=4).contains(&(chunk.end - chunk.start)));
                    chunk
                })
                .collect();
            assert_eq!(all, (0..rows).collect::<Vec<_>>());
        }
    }
}
