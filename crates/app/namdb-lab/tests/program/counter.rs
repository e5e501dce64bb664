//! Rows that tests count up.

use namdb::{Isolation, RecordTable, Retry, Session, TransactionError, record};

record! {
    pub struct Counter in "counter" {
        key { number: i64 }
        value: i64,
    }
    index by_value(value);
}

/// Counts one row up, in a transaction of its own.
pub fn count_up(
    session: &mut Session,
    table: RecordTable<Counter>,
    number: i64,
) -> Result<(), TransactionError> {
    session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
        let value = txn.get(table, number)?.map_or(0, |counter| counter.value) + 1;
        txn.upsert(table, &Counter { number, value }).map(drop)
    })
}
