//! The final read of all lists, and the judge's verdict on the recorded histories.

use super::{Append, transaction};
use crate::catch_up::catch_up;
use crate::driver::CheckResult;
use crate::error::WorkloadError;
use fabric::Env;
use txn::{Lane, TableId};

/// Reads all lists once more, and runs the judge.
pub(super) async fn check<E: Env>(
    workload: &Append,
    lane: &mut Lane<E>,
    table: TableId,
) -> Result<Vec<CheckResult>, WorkloadError> {
    catch_up(lane).await?;
    let mut session = workload.recordings.open();
    transaction::read_all(lane, table, &mut session).await?;
    Ok(workload.verdicts())
}
