//! A running transaction that owns its lane.
//!
//! A [`Transaction`] borrows its lane. Code that keeps lane and transaction in one value, such as a
//! session whose lane belongs to a thread's connections, cannot have such a borrow; it keeps an
//! [`OwnedTransaction`], and borrows the transaction statement by statement.

use crate::abort::{Abort, Outcome};
use crate::catalog::TableId;
use crate::lane::{Lane, LaneInner};
use crate::read::access::RowId;
use crate::transaction::{Isolation, Transaction};
use fabric::Env;
use layout::{RecordMut, RecordRef, Schema, VersionWord};

/// A running transaction, and its lane. Dropping it rolls back, and the lane goes home.
pub struct OwnedTransaction<E: Env> {
    lane: Lane<E>,
}

impl<E: Env> Lane<E> {
    /// As [`Lane::begin`]. If no transaction begins, the lane is returned with the reason.
    pub async fn begin_owned(
        mut self,
        isolation: Isolation,
    ) -> Result<OwnedTransaction<E>, (Self, Abort)> {
        match self.begin(isolation).await.map(drop) {
            Ok(()) => Ok(OwnedTransaction { lane: self }),
            Err(abort) => Err((self, abort)),
        }
    }
}

impl<E: Env> OwnedTransaction<E> {
    /// The transaction that the lane runs already.
    pub(crate) fn of(lane: Lane<E>) -> Self {
        Self { lane }
    }

    /// The lane of a transaction that was parked.
    pub(crate) fn into_lane(self) -> Lane<E> {
        self.lane
    }

    /// The transaction, for a statement. When this borrow ends, the transaction goes on.
    #[inline]
    pub fn statement(&mut self) -> Transaction<'_, E> {
        Transaction::running(&mut self.lane.inner)
    }

    /// As [`Transaction::row`].
    #[inline]
    pub fn row(&self, row: RowId) -> RecordRef<'_> {
        self.inner().row(row)
    }

    /// As [`Transaction::schema`].
    pub fn schema(&self, table: TableId) -> Option<&Schema> {
        self.inner().schema(table)
    }

    /// As [`Transaction::update`].
    #[inline]
    pub fn update(&mut self, row: RowId) -> RecordMut<'_> {
        self.lane.inner().update(row)
    }

    /// As [`Transaction::commit_and_rest`].
    pub async fn commit_and_rest(mut self) -> (Lane<E>, Outcome) {
        let outcome = self.statement().commit_and_rest().await;
        (self.lane, outcome)
    }

    /// As [`Transaction::commit_with_version`].
    pub async fn commit_with_version(mut self) -> (Lane<E>, Outcome, Option<VersionWord>) {
        let (outcome, version) = self.statement().commit_with_version().await;
        (self.lane, outcome, version)
    }

    /// As [`Transaction::abort_and_rest`].
    pub async fn abort_and_rest(mut self) -> Lane<E> {
        self.statement().abort_and_rest().await;
        self.lane
    }

    fn inner(&self) -> &LaneInner<E> {
        self.lane.inner.as_ref().expect("a transaction that has not committed has its lane")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::{OpenConfig, open};
    use crate::{DatabaseConfig, TableSpec};
    use fabric::run_now;
    use layout::{Column, ColumnType, KeyBuilder};

    #[test]
    fn statements_of_an_owned_transaction_are_one_transaction() {
        let config = OpenConfig {
            servers: 1,
            server_bytes: 16 << 20,
            seed: 1,
            database: DatabaseConfig::default(),
        };
        let database = open(&config).expect("16 MiB can be had");
        let columns = vec![Column::new("id", ColumnType::Int8), Column::new("n", ColumnType::Int8)];
        let schema = Schema::new("counter", columns, &[0]).expect("the columns are fine");
        let spec = TableSpec { schema, design: Default::default(), indexes: Vec::new() };
        let table = run_now(database.create_table(spec)).expect("the table is new");
        let key = KeyBuilder::new().int8(7).key();
        let mut lane = run_now(database.lane()).expect("a slot is free");
        for is_kept in [true, false] {
            let Ok(mut txn) = run_now(lane.begin_owned(Isolation::Serializable)) else {
                panic!("it begins")
            };
            let found = run_now(txn.statement().read(table, &key)).expect("it reads");
            let row = match found {
                None => run_now(txn.statement().insert(table, &key)).expect("the key is new"),
                Some(row) => row,
            };
            let next = txn.row(row).int(1) + 1;
            txn.update(row).set_int(1, next);
            assert_eq!(txn.row(row).int(1), next);
            lane = match is_kept {
                true => {
                    let (lane, outcome) = run_now(txn.commit_and_rest());
                    assert_eq!((outcome, next), (Outcome::Committed, 1));
                    lane
                }
                false => run_now(txn.abort_and_rest()),
            };
        }
        let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("it begins");
        let row = run_now(txn.read(table, &key)).expect("it reads").expect("it was committed");
        assert_eq!(txn.row(row).int(1), 1, "the second one was rolled back");
    }
}
