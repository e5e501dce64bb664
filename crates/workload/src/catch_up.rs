//! Makes sure that a check sees what the run has committed.
//!
//! A snapshot is consistent, but where vectors are frozen it may be older than the last commits on other
//! compute servers. The snapshot behind an abandoned transaction is newer than that transaction's, and the
//! newest there was when it began had all that was frozen: one that is newer still was frozen since. No
//! row is touched for it: one that a dead compute server has locked would be in the way.

use crate::attempts::insist;
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use txn::{Isolation, Lane};

/// Abandons a transaction, so that the lane's next snapshot covers all that is committed now.
pub async fn catch_up<E: Env>(lane: &mut Lane<E>) -> Result<(), WorkloadError> {
    let abandon = async |lane: &mut Lane<E>| {
        let _abandoned = lane.begin(Isolation::Snapshot).await?;
        Ok(TransactionResult::RolledBack)
    };
    insist(lane, abandon).await.map(drop)
}
