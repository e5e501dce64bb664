//! The three read-only transactions. Each reads all its rows in one round trip.
//!
//! A transaction that finds nothing has failed by the specification's rules. It commits like any
//! other, so that serializable validation covers the absence that it has read.

use super::input::Input;
use super::population::START_TIMES;
use super::schema::{call_forwarding, special_facility, subscriber};
use super::terminal::Terminal;
use super::{keys, witness};
use crate::attempts::result_of;
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use layout::RecordRef;
use std::hint::black_box;
use txn::{Lane, Transaction};

/// Ends a read-only transaction; `found` says whether the user gets a result.
pub async fn end_of_reading<E: Env>(
    transaction: Transaction<'_, E>,
    has_succeeded: bool,
) -> Result<TransactionResult, WorkloadError> {
    Ok(match result_of(transaction.commit().await) {
        TransactionResult::Committed if !has_succeeded => TransactionResult::RolledBack,
        result => result,
    })
}

/// Reads all columns of a subscriber.
pub async fn get_subscriber_data<E: Env>(
    lane: &mut Lane<E>,
    terminal: &mut Terminal,
    input: &Input,
) -> Result<TransactionResult, WorkloadError> {
    let mut transaction = lane.begin(terminal.config.isolation).await?;
    let key = keys::subscriber(input.s_id);
    let row = transaction.read(terminal.tables.subscriber, &key).await?;
    let row = row.ok_or(WorkloadError::MissingRow { table: "subscriber" })?;
    let record = transaction.row(row);
    deliver(&record, &mut terminal.result);
    terminal.saw(|| witness::location(input.s_id), || record.int(subscriber::VLR_LOCATION));
    terminal.saw(|| witness::bit_1(input.s_id), || record.int(subscriber::BIT_1));
    end_of_reading(transaction, true).await
}

/// Words of the longest result: all columns of a subscriber.
pub const RESULT_WORDS: usize = 16;

/// Copies a row for a caller that may read any of its columns: in one copy, since the schema alone
/// determines the position of each.
#[inline]
fn deliver(record: &RecordRef<'_>, result: &mut [u64; RESULT_WORDS]) {
    let (key, payload) = (record.key(), record.payload());
    let (keys, rest) = result.split_at_mut(key.len());
    keys.copy_from_slice(key);
    rest[..payload.len()].copy_from_slice(payload);
    black_box(result);
}

/// Reads where the calls of a facility are forwarded to at a time: SF.IS_ACTIVE = 1, START_TIME <=
/// the input's start, and the input's end < END_TIME. A facility has at most one forwarding from
/// each of three times, so those that begin early enough are read by their keys together with the
/// facility.
pub async fn get_new_destination<E: Env>(
    lane: &mut Lane<E>,
    terminal: &mut Terminal,
    input: &Input,
) -> Result<TransactionResult, WorkloadError> {
    let Input { s_id, sort, starts, ends, .. } = *input;
    let mut transaction = lane.begin(terminal.config.isolation).await?;
    let Terminal { tables, reads, found, .. } = terminal;
    reads.clear();
    reads.push((tables.special_facility, keys::typed(s_id, sort)));
    for start in START_TIMES.into_iter().take_while(|&start| start <= starts) {
        reads.push((tables.call_forwarding, keys::call_forwarding(s_id, sort, start)));
    }
    transaction.read_many(reads, found).await?;
    let is_active =
        found[0].is_some_and(|row| transaction.row(row).int(special_facility::IS_ACTIVE) == 1);
    let mut destinations = 0;
    for row in found[1..].iter().flatten().filter(|_| is_active) {
        let record = transaction.row(*row);
        if i64::from(ends) < record.int(call_forwarding::END_TIME) {
            black_box(record.bytes(call_forwarding::NUMBERX));
            destinations += 1;
        }
    }
    end_of_reading(transaction, destinations > 0).await
}

/// Reads the row of one type of access.
pub async fn get_access_data<E: Env>(
    lane: &mut Lane<E>,
    terminal: &mut Terminal,
    input: &Input,
) -> Result<TransactionResult, WorkloadError> {
    let mut transaction = lane.begin(terminal.config.isolation).await?;
    let key = keys::typed(input.s_id, input.sort);
    let row = transaction.read(terminal.tables.access_info, &key).await?;
    if let Some(row) = row {
        deliver(&transaction.row(row), &mut terminal.result);
    }
    end_of_reading(transaction, row.is_some()).await
}
