//! Checks that subscribers and their numbers correspond one to one, in the table and in the index.

use super::found::Found;
use super::unless;
use crate::attempts::{insist, result_of};
use crate::driver::{CheckResult, TransactionResult};
use crate::error::WorkloadError;
use crate::loading::chunks;
use crate::tatp::config::TatpConfig;
use crate::tatp::keys;
use crate::tatp::schema::subscriber;
use crate::tatp::tables::Tables;
use fabric::Env;
use txn::{Isolation, Lane};

const NAME: &str = "each number leads to its subscriber alone, and each subscriber has its number";
/// Number of lookups per transaction.
const CHUNK: u64 = 1000;

pub async fn check<E: Env>(
    lane: &mut Lane<E>,
    tables: &Tables,
    config: &TatpConfig,
    found: &Found,
) -> Result<CheckResult, WorkloadError> {
    let misnumbered = found.subscribers().find(|(_, seen)| seen.is_there && !seen.has_number);
    let mut wrong = misnumbered.map(|(s_id, _)| format!("subscriber {s_id} has another number"));
    for chunk in chunks(1..u64::from(config.subscribers) + 1, CHUNK) {
        if wrong.is_some() {
            break;
        }
        let look =
            async |lane: &mut Lane<E>| look_for(lane, tables, chunk.clone(), &mut wrong).await;
        insist(lane, look).await?;
    }
    Ok(unless(NAME, wrong, format!("{} numbers", config.subscribers)))
}

/// Looks up some subscribers by their numbers.
async fn look_for<E: Env>(
    lane: &mut Lane<E>,
    tables: &Tables,
    subscribers: std::ops::Range<u64>,
    wrong: &mut Option<String>,
) -> Result<TransactionResult, WorkloadError> {
    let mut transaction = lane.begin(Isolation::Snapshot).await?;
    let mut rows = Vec::new();
    for s_id in subscribers.map(|s_id| s_id as i32) {
        let key = keys::number(&keys::number_of(s_id));
        transaction.lookup(tables.subscriber_number, &key, &mut rows).await?;
        let led = rows.iter().map(|&row| transaction.row(row).int(subscriber::S_ID));
        let led: Vec<i64> = led.collect();
        if led != [i64::from(s_id)] {
            wrong.get_or_insert(format!("the number of {s_id} leads to {led:?}"));
        }
    }
    Ok(result_of(transaction.commit().await))
}
