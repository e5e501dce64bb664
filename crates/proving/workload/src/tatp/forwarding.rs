//! The two transactions that start and stop forwarding calls.
//!
//! Decision: docs/decisions/0188-tatps-forwardings-are-read-by-key.md

use super::input::Input;
use super::keys;
use super::population::TYPES;
use super::reads::end_of_reading;
use super::schema::{call_forwarding, subscriber};
use super::terminal::Terminal;
use super::updates::by_number;
use crate::attempts::result_of;
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use fabric::Env;
use txn::{Lane, TxnError};

/// Forwards the calls of one special facility of the subscriber with a number, from a start time
/// on. By the specification's rules it fails without the facility, or if calls are already
/// forwarded from that time on.
///
/// It reads all of the subscriber's facilities, since the specification's transaction does so.
pub async fn insert_call_forwarding<E: Env>(
    lane: &mut Lane<E>,
    terminal: &mut Terminal,
    input: &Input,
) -> Result<TransactionResult, WorkloadError> {
    let mut transaction = lane.begin(terminal.config.isolation).await?;
    let row = by_number(&mut transaction, terminal, input).await?;
    let s_id = transaction.row(row).int(subscriber::S_ID) as i32;
    let Terminal { tables, reads, found, .. } = terminal;
    reads.clear();
    reads.extend((1..=TYPES).map(|kind| (tables.special_facility, keys::typed(s_id, kind))));
    transaction.read_many(reads, found).await?;
    if found[input.sort as usize - 1].is_none() {
        return end_of_reading(transaction, false).await;
    }
    let key = keys::call_forwarding(s_id, input.sort, input.starts);
    let row = match transaction.insert(tables.call_forwarding, &key).await {
        Ok(row) => row,
        Err(TxnError::DuplicateKey { .. }) => return end_of_reading(transaction, false).await,
        Err(error) => return Err(error.into()),
    };
    let mut record = transaction.update(row);
    record.set_int(call_forwarding::END_TIME, i64::from(input.ends));
    record.set_bytes(call_forwarding::NUMBERX, &input.destination);
    Ok(result_of(transaction.commit().await))
}

/// Stops forwarding calls from a start time on. By the specification's rules it fails if they were
/// not forwarded.
pub async fn delete_call_forwarding<E: Env>(
    lane: &mut Lane<E>,
    terminal: &mut Terminal,
    input: &Input,
) -> Result<TransactionResult, WorkloadError> {
    let mut transaction = lane.begin(terminal.config.isolation).await?;
    let row = by_number(&mut transaction, terminal, input).await?;
    let s_id = transaction.row(row).int(subscriber::S_ID) as i32;
    let key = keys::call_forwarding(s_id, input.sort, input.starts);
    match transaction.read(terminal.tables.call_forwarding, &key).await? {
        None => end_of_reading(transaction, false).await,
        Some(row) => {
            transaction.delete(row);
            Ok(result_of(transaction.commit().await))
        }
    }
}
