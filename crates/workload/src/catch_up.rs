//! Makes sure that a check sees what the run has committed.
//!
//! A snapshot is consistent, but where vectors are frozen it may be older than the last commits on other
//! compute servers. It always covers the lane's own commits, and with them everything published before.

use crate::attempts::{Attempts, result_of};
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use layout::Key;
use txn::{Isolation, Lane, TableId};

/// Commits a row unchanged, so that the lane's next snapshot covers all that is committed now.
pub async fn catch_up<E: Env>(
    lane: &mut Lane<E>,
    (table, key): (TableId, &Key),
    name: &'static str,
) -> Result<(), WorkloadError> {
    let mut attempts = Attempts::new();
    loop {
        let attempt = touch(lane, (table, key), name).await;
        match attempts.judge(lane.env(), attempt).await? {
            None => {}
            Some(TransactionResult::Aborted(reason)) => return Err(reason.into()),
            Some(TransactionResult::Unknown) => return Err(WorkloadError::Unknown("a check")),
            Some(_) => return Ok(()),
        }
    }
}

async fn touch<E: Env>(
    lane: &mut Lane<E>,
    (table, key): (TableId, &Key),
    name: &'static str,
) -> Result<TransactionResult, WorkloadError> {
    let mut txn = lane.begin(Isolation::Snapshot).await?;
    let row = txn.read(table, key).await?;
    txn.update(row.ok_or(WorkloadError::MissingRow { table: name })?);
    Ok(result_of(txn.commit().await))
}
