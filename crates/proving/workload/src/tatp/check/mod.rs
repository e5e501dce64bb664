//! Checks that a database of TATP is consistent and has every committed transaction.
//!
//! All tables are read in one snapshot; then each subscriber is looked up by its number.

mod found;
mod numbers;
mod rates;
mod rows;
mod updates;

use super::config::TatpConfig;
use super::journal::Journal;
use super::tables::Tables;
use super::witness;
use crate::attempts::{insist, result_of};
use crate::catch_up::catch_up;
use crate::driver::{CheckResult, RunTotals, TransactionResult};
use crate::error::WorkloadError;
use crate::recording::Recordings;
use fabric::Env;
use found::Found;
use std::fmt::Display;
use txn::{Isolation, Lane};

/// Runs every check. `journal` has the last updates, `totals` all transactions since the load.
pub async fn check<E: Env>(
    lane: &mut Lane<E>,
    tables: &Tables,
    config: &TatpConfig,
    totals: &RunTotals,
    journal: &Journal,
    recordings: &Recordings,
) -> Result<Vec<CheckResult>, WorkloadError> {
    catch_up(lane).await?;
    let found = gather(lane, tables, config, recordings).await?;
    let mut results = vec![rates::check(config, totals)];
    results.extend(rows::check(config, &found, totals));
    results.push(numbers::check(lane, tables, config, &found).await?);
    results.extend(updates::check(config, &found, &journal.last_updates()));
    Ok(results)
}

/// Reads everything in one snapshot. If the snapshot grows too old during the scan, a new one is
/// taken.
async fn gather<E: Env>(
    lane: &mut Lane<E>,
    tables: &Tables,
    config: &TatpConfig,
    recordings: &Recordings,
) -> Result<Found, WorkloadError> {
    let mut found = Found::new(config);
    let mut session = config.recorded.then(|| recordings.open());
    let read = async |lane: &mut Lane<E>| {
        found = Found::new(config);
        let begin_ns = lane.env().now_ns();
        if let Some(session) = &mut session {
            session.begin(begin_ns);
        }
        let attempt = read_all(lane, tables, &mut found).await;
        let end_ns = lane.env().now_ns();
        if let Some(session) = &mut session {
            found.registers(|register, value| {
                session.read_value(register, witness::held(value));
            });
            session.end(end_ns, &attempt);
        }
        attempt
    };
    insist(lane, read).await?;
    Ok(found)
}

async fn read_all<E: Env>(
    lane: &mut Lane<E>,
    tables: &Tables,
    found: &mut Found,
) -> Result<TransactionResult, WorkloadError> {
    let mut transaction = lane.begin(Isolation::Snapshot).await?;
    transaction.for_each(tables.subscriber, &mut |row| found.add_subscriber(&row)).await?;
    transaction.for_each(tables.access_info, &mut |row| found.add_access(&row)).await?;
    transaction.for_each(tables.special_facility, &mut |row| found.add_facility(&row)).await?;
    transaction.for_each(tables.call_forwarding, &mut |row| found.add_forwarding(&row)).await?;
    Ok(result_of(transaction.commit().await))
}

/// A check that holds unless `wrong` describes a defect.
fn unless(name: &'static str, wrong: Option<impl Display>, looked_at: String) -> CheckResult {
    match wrong {
        None => CheckResult::holds(name, looked_at),
        Some(wrong) => CheckResult::fails(name, wrong.to_string()),
    }
}
