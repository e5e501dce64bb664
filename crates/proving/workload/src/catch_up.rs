//! Ensures that a check sees all commits of the run.
//!
//! A snapshot is consistent, but with frozen vectors it may be older than the last commits on other
//! compute servers. The snapshot after an abandoned transaction is newer than that transaction's;
//! the newest snapshot at the beginning of that transaction covered everything frozen by then, so a
//! newer one was frozen since. The abandoned transaction touches no row, because a dead compute
//! server may have locked it.

use crate::attempts::insist;
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use txn::{Isolation, Lane};

/// Abandons a transaction, so that the lane's next snapshot covers everything committed before this
/// call.
pub async fn catch_up<E: Env>(lane: &mut Lane<E>) -> Result<(), WorkloadError> {
    let abandon = async |lane: &mut Lane<E>| {
        let _abandoned = lane.begin(Isolation::Snapshot).await?;
        Ok(TransactionResult::RolledBack)
    };
    insist(lane, abandon).await.map(drop)
}
