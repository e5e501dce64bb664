//! Checks that the table has every record and every update, and that no record is torn.

use super::config::YcsbConfig;
use super::record;
use super::tally::Writes;
use crate::catch_up::catch_up;
use crate::driver::CheckResult;
use crate::error::WorkloadError;
use fabric::Env;
use std::ops::RangeInclusive;
use txn::{Isolation, Lane, TableId};

const ROWS: &str = "every loaded or inserted record exists";
const COUNTERS: &str = "the counters add up to the committed updates";
const FIELDS: &str = "every field was written by one update";

/// The result of one pass over the table.
#[derive(Debug, Default)]
struct Found {
    rows: u64,
    counters: u64,
    fields: u64,
    damaged: Option<(i64, u32)>,
}

/// Reads the whole table in one snapshot.
pub(super) async fn check<E: Env>(
    lane: &mut Lane<E>,
    table: TableId,
    config: &YcsbConfig,
    writes: &Writes,
) -> Result<Vec<CheckResult>, WorkloadError> {
    catch_up(lane).await?;
    let mut found = Found::default();
    let mut transaction = lane.begin(Isolation::Snapshot).await?;
    let visit = &mut |record: layout::RecordRef<'_>| {
        found.rows += 1;
        found.counters += record.int(record::COUNTER) as u64;
        found.fields += u64::from(config.field_count());
        if found.damaged.is_none() {
            let damaged = record::damaged_field(&record, config);
            found.damaged = damaged.map(|field| (record.int(record::KEY), field));
        }
    };
    transaction.for_each(table, visit).await?;
    transaction.abort().await;
    Ok(judge(&found, config.records, writes))
}

fn judge(found: &Found, loaded: u64, writes: &Writes) -> Vec<CheckResult> {
    let rows = loaded + writes.inserts.start()..=loaded + writes.inserts.end();
    let fields = match found.damaged {
        None => CheckResult::holds(FIELDS, format!("{} fields", found.fields)),
        Some((key, field)) => {
            CheckResult::fails(FIELDS, format!("field {field} of record {key} is not"))
        }
    };
    vec![expect(ROWS, found.rows, &rows), expect(COUNTERS, found.counters, &writes.updates), fields]
}

fn expect(name: &'static str, found: u64, expected: &RangeInclusive<u64>) -> CheckResult {
    if expected.contains(&found) {
        return CheckResult::holds(name, found.to_string());
    }
    let (low, high) = expected.clone().into_inner();
    let expected = if low == high { low.to_string() } else { format!("{low} to {high}") };
    CheckResult::fails(name, format!("{found} instead of {expected}"))
}
