//! The place of `cluster` in programs that are built without it: types without values, so that the
//! code that branches on them stays the same.
//!
//! Decision: docs/decisions/0300-a-program-that-embeds-the-library-compiles-no-network.md

use crate::error::TransactionError;
use fabric::DynEnv;
use fabric::remote::{AnyTransport, Engine};
use layout::{RecordMut, RecordRef, Schema};
use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;
use txn::{Database, Isolation, Outcome, RowId, TableId, UniqueViolation};

/// How long a database that leaves a cluster waits; it never does.
pub(crate) const LEAVE_NS: u64 = 0;

/// The membership of a cluster.
pub(crate) enum Place {}

impl Place {
    pub fn trouble(&self) -> Option<&str> {
        match *self {}
    }

    pub fn has_replicas(&self) -> bool {
        match *self {}
    }

    pub fn trouble_after_unreachable(&self) -> Option<&str> {
        match *self {}
    }
}

/// Memory servers that a network reaches.
pub(crate) enum Remote {}

impl Remote {
    pub fn place(&self) -> &Place {
        match *self {}
    }
}

pub(crate) fn close_seats(remote: &Arc<Remote>) {
    match **remote {}
}

pub(crate) fn rest_seat(remote: &Arc<Remote>) {
    match **remote {}
}

/// The connections of a thread.
pub(crate) struct BorrowedSeat {
    pub database: Database<DynEnv>,
    pub engine: Engine<AnyTransport>,
}

impl BorrowedSeat {
    pub fn take(remote: &Arc<Remote>) -> Result<Self, String> {
        match **remote {}
    }
}

/// A running transaction over a network.
pub(crate) struct RemoteTransaction<'session> {
    never: Infallible,
    session: PhantomData<&'session ()>,
}

impl<'session> RemoteTransaction<'session> {
    pub fn begin(
        remote: &Arc<Remote>,
        _isolation: Isolation,
        _violation: &'session mut Option<UniqueViolation>,
    ) -> Result<Self, TransactionError> {
        match **remote {}
    }

    pub fn statement(&mut self) -> (&Engine<AnyTransport>, txn::Transaction<'_, DynEnv>) {
        match self.never {}
    }

    pub fn run<R>(
        &mut self,
        _statement: impl FnOnce(&Engine<AnyTransport>, txn::Transaction<'_, DynEnv>) -> R,
    ) -> R {
        match self.never {}
    }

    pub fn row(&self, _row: RowId) -> RecordRef<'_> {
        match self.never {}
    }

    pub fn schema(&self, _table: TableId) -> Option<&Schema> {
        match self.never {}
    }

    pub fn update(&mut self, _row: RowId) -> RecordMut<'_> {
        match self.never {}
    }

    pub fn commit(self) -> Outcome {
        match self.never {}
    }
}
