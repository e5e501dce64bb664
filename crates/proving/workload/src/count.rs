//! Counts rows.

use crate::attempts::insist;
use crate::catch_up::catch_up;
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use txn::{Database, Isolation, Lane};

/// The number of committed rows of each of these tables.
pub async fn rows<E: Env>(
    database: &Database<E>,
    lane: &mut Lane<E>,
    tables: &[&'static str],
) -> Result<Vec<u64>, WorkloadError> {
    catch_up(lane).await?;
    let mut counts = Vec::with_capacity(tables.len());
    for &name in tables {
        let table = database.table(name).ok_or(WorkloadError::NoTable(name))?;
        let mut rows = 0;
        // One snapshot per table, because versions that an old snapshot can see are not collected.
        let look = async |lane: &mut Lane<E>| {
            rows = 0;
            let mut transaction = lane.begin(Isolation::Snapshot).await?;
            transaction.for_each(table, &mut |_| rows += 1).await?;
            Ok(TransactionResult::RolledBack)
        };
        insist(lane, look).await?;
        counts.push(rows);
    }
    Ok(counts)
}
