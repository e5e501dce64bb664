//! A running transaction whose memory servers a network reaches.

use super::{BorrowedSeat, Fault, Remote, SLOT_WAIT_MS_MAX};
use crate::error::TransactionError;
use fabric::DynEnv;
use fabric::remote::{AnyTransport, Engine};
use layout::{RecordMut, RecordRef, Schema};
use std::sync::Arc;
use txn::{
    Abort, Isolation, LaneError, Outcome, OwnedTransaction, RowId, TableId, UniqueViolation,
};

/// A transaction, and the connections that it runs over. Dropping it rolls back.
pub(crate) struct RemoteTransaction<'session> {
    /// `None` once it has ended.
    running: Option<OwnedTransaction<DynEnv>>,
    seat: BorrowedSeat,
    /// Where the session finds what a unique index has refused.
    violation: &'session mut Option<UniqueViolation>,
}

const RUNS: &str = "a transaction ends by being consumed";

impl<'session> RemoteTransaction<'session> {
    /// Begins on a seat of this thread.
    pub fn begin(
        remote: &Arc<Remote>,
        isolation: Isolation,
        violation: &'session mut Option<UniqueViolation>,
    ) -> Result<Self, TransactionError> {
        let unreachable = |fault: Fault| match remote.place() {
            place if place.has_replicas() => {
                TransactionError::Aborted { reason: Abort::Unreachable, attempts: 1 }
            }
            place => match place.trouble_after_unreachable() {
                Some(trouble) => TransactionError::ClusterLost(trouble.to_owned()),
                None => TransactionError::Connection(fault.to_string()),
            },
        };
        let mut seat = BorrowedSeat::take(remote).map_err(unreachable)?;
        let lane = seat.lane().map_err(|error| match error {
            LaneError::Unreachable => unreachable(error.into()),
            error => TransactionError::from(error).in_cluster(SLOT_WAIT_MS_MAX),
        })?;
        match seat.engine.block_on(lane.begin_owned(isolation)) {
            Ok(running) => Ok(Self { running: Some(running), seat, violation }),
            Err((lane, reason)) => {
                seat.give_back(lane);
                Err(TransactionError::Aborted { reason, attempts: 1 })
            }
        }
    }

    /// The engine that drives its verbs, and the transaction, for a statement.
    #[inline]
    pub fn statement(&mut self) -> (&Engine<AnyTransport>, txn::Transaction<'_, DynEnv>) {
        (&self.seat.engine, self.running.as_mut().expect(RUNS).statement())
    }

    /// Runs a statement. Out of line, so that the local path beside its caller stays small.
    #[inline(never)]
    pub fn run<R>(
        &mut self,
        statement: impl FnOnce(&Engine<AnyTransport>, txn::Transaction<'_, DynEnv>) -> R,
    ) -> R {
        let (engine, transaction) = self.statement();
        statement(engine, transaction)
    }

    pub fn row(&self, row: RowId) -> RecordRef<'_> {
        self.running().row(row)
    }

    pub fn schema(&self, table: TableId) -> Option<&Schema> {
        self.running().schema(table)
    }

    pub fn update(&mut self, row: RowId) -> RecordMut<'_> {
        self.running.as_mut().expect(RUNS).update(row)
    }

    pub fn commit(mut self) -> Outcome {
        let running = self.running.take().expect(RUNS);
        let (lane, outcome) = self.seat.engine.block_on(running.commit_and_rest());
        *self.violation = lane.last_unique_violation().cloned();
        // A promotion waits for all decisions, and the tasks that make them run only while this
        // thread is here.
        if self.seat.remote.place().has_replicas() {
            let database = &self.seat.database;
            self.seat.engine.block_on(database.wait_for_decisions());
        }
        // A lane whose last transaction nobody has decided takes no other.
        if outcome != Outcome::Unknown {
            self.seat.keep(lane);
        }
        outcome
    }

    fn running(&self) -> &OwnedTransaction<DynEnv> {
        self.running.as_ref().expect(RUNS)
    }
}

impl Drop for RemoteTransaction<'_> {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            let lane = self.seat.engine.block_on(running.abort_and_rest());
            self.seat.keep(lane);
        }
    }
}
