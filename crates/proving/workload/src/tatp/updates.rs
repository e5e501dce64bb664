//! The two transactions that change subscribers.

use super::input::Input;
use super::journal::Update;
use super::reads::end_of_reading;
use super::schema::{special_facility, subscriber};
use super::terminal::Terminal;
use super::{keys, witness};
use crate::attempts::result_of;
use crate::driver::TransactionResult;
use crate::error::WorkloadError;
use crate::recording::version;
use fabric::Env;
use txn::{Lane, RowId, Transaction};

/// Sets BIT_1 of a subscriber and DATA_A of one of the subscriber's special facilities, or neither:
/// without the facility the transaction has failed by the specification's rules. Both rows are read
/// in one round trip.
pub async fn update_subscriber_data<E: Env>(
    lane: &mut Lane<E>,
    terminal: &mut Terminal,
    input: &Input,
) -> Result<TransactionResult, WorkloadError> {
    let Input { s_id, sort, bit, data, .. } = *input;
    let mut transaction = lane.begin(terminal.config.isolation).await?;
    let Terminal { tables, found, .. } = terminal;
    let reads = [
        (tables.subscriber, keys::subscriber(s_id)),
        (tables.special_facility, keys::typed(s_id, sort)),
    ];
    transaction.read_many(&reads, found).await?;
    let (subscriber, facility) = (found[0], found[1]);
    let subscriber = subscriber.ok_or(WorkloadError::MissingRow { table: "subscriber" })?;
    let bit_1 = || transaction.row(subscriber).int(subscriber::BIT_1);
    terminal.saw(|| witness::bit_1(s_id), bit_1);
    let Some(facility) = facility else {
        return end_of_reading(transaction, false).await;
    };
    let data_a = || transaction.row(facility).int(special_facility::DATA_A);
    terminal.saw(|| witness::data_a(s_id, sort), data_a);
    transaction.update(subscriber).set_int(subscriber::BIT_1, i64::from(bit));
    transaction.update(facility).set_int(special_facility::DATA_A, i64::from(data));
    let writes =
        [(witness::bit_1(s_id), i64::from(bit)), (witness::data_a(s_id, sort), i64::from(data))];
    terminal.will_write(&transaction, writes);
    commit(transaction, terminal, Update::data(s_id, sort, bit, data)).await
}

/// Sets VLR_LOCATION of the subscriber with a number.
pub async fn update_location<E: Env>(
    lane: &mut Lane<E>,
    terminal: &mut Terminal,
    input: &Input,
) -> Result<TransactionResult, WorkloadError> {
    let mut transaction = lane.begin(terminal.config.isolation).await?;
    let row = by_number(&mut transaction, terminal, input).await?;
    let record = transaction.row(row);
    let s_id = record.int(subscriber::S_ID) as i32;
    terminal.saw(|| witness::location(s_id), || record.int(subscriber::VLR_LOCATION));
    let location = i64::from(input.location);
    transaction.update(row).set_int(subscriber::VLR_LOCATION, location);
    terminal.will_write(&transaction, [(witness::location(s_id), location)]);
    commit(transaction, terminal, Update::location(s_id, input.location)).await
}

/// The subscriber with the input's number, through the index.
pub async fn by_number<E: Env>(
    transaction: &mut Transaction<'_, E>,
    terminal: &mut Terminal,
    input: &Input,
) -> Result<RowId, WorkloadError> {
    let Terminal { tables, rows, .. } = terminal;
    transaction.lookup(tables.subscriber_number, &keys::number(&input.number), rows).await?;
    match rows[..] {
        [row] => Ok(row),
        [] => Err(WorkloadError::MissingRow { table: "subscriber" }),
        _ => Err(WorkloadError::Inconsistent("two subscribers have one number".to_owned())),
    }
}

/// Commits an update, and records it for the checks.
async fn commit<E: Env>(
    transaction: Transaction<'_, E>,
    terminal: &mut Terminal,
    update: Update,
) -> Result<TransactionResult, WorkloadError> {
    terminal.page.begin(Update { number: version(&transaction), ..update });
    let result = result_of(transaction.commit().await);
    terminal.page.end(result);
    Ok(result)
}
