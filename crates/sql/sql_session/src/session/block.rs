//! The transaction of a session.

use super::cursors::Cursor;
use super::replay::{Log, Savepoint};
use crate::catalog::{Change, Version};
use crate::command::{Characteristics, IsolationLevel};
use crate::locks::HeldLocks;
use fabric::Env;
use interpreter::Cursors;
use std::collections::BTreeMap;
use std::sync::Arc;
use txn::{Isolation, OwnedTransaction, Parked};

/// The event that ends a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlockKind {
    /// `COMMIT` or `ROLLBACK`.
    Explicit,
    /// The end of a simple query, or Sync.
    Implicit,
}

/// A transaction of several statements.
pub(crate) struct Block<E: Env> {
    pub kind: BlockKind,
    pub has_failed: bool,
    pub isolation: IsolationLevel,
    pub is_read_only: bool,
    /// The engine's transaction, from the first statement that accesses rows on.
    pub engine: Option<OwnedTransaction<E>>,
    /// Number of transactions of the engine so far.
    pub engine_number: u64,
    /// The same while it is parked; then `engine` is `None`.
    pub parked: Option<Parked<E>>,
    /// The isolation level that the engine's transaction has.
    pub engine_isolation: Isolation,
    /// Whether the engine's transaction has an old catalog, and has changed nothing.
    pub wants_new_engine: bool,
    /// Whether a statement has accessed rows.
    pub has_begun: bool,
    /// Whether a statement has changed rows in the engine's transaction.
    pub has_written: bool,
    /// Whether a statement has changed rows of storage that others know, too.
    pub has_written_shared: bool,
    /// The version of the catalog that its statements see, from the first one on.
    pub version: Option<Arc<Version>>,
    /// Its changes of the catalog.
    pub change: Option<Change>,
    pub locks: HeldLocks,
    /// The time of the table locks when the engine's transaction began.
    pub began_at: u64,
    /// The time of the row locks when the engine's transaction began.
    pub snapshot_time: Option<u64>,
    /// When its first statement ran, in microseconds since 2000-01-01.
    pub began_us: Option<i64>,
    pub log: Log,
    pub cursors: BTreeMap<String, Cursor>,
    /// The cursors that routines have left open.
    pub routine_cursors: Cursors,
    pub savepoints: Vec<Savepoint>,
    /// Number of statements that were to change rows.
    pub writes: u64,
    /// Whether a conflict has ended the engine's transaction.
    pub is_doomed: bool,
    /// When it began, on the clock of the environment, if `transaction_timeout` needs it.
    pub timer_ns: Option<u64>,
}

impl<E: Env> Block<E> {
    pub fn new(kind: BlockKind, isolation: IsolationLevel, is_read_only: bool) -> Self {
        Self {
            kind,
            has_failed: false,
            isolation,
            is_read_only,
            engine: None,
            engine_number: 0,
            parked: None,
            engine_isolation: isolation.of_engine(),
            wants_new_engine: false,
            has_begun: false,
            has_written: false,
            has_written_shared: false,
            version: None,
            change: None,
            locks: HeldLocks::default(),
            began_at: 0,
            snapshot_time: None,
            began_us: None,
            log: Log::default(),
            cursors: BTreeMap::new(),
            routine_cursors: Cursors::default(),
            savepoints: Vec::new(),
            writes: 0,
            is_doomed: false,
            timer_ns: None,
        }
    }

    /// Whether the block has created this table of the engine: nobody else knows it.
    pub fn has_created(&self, physical: &String) -> bool {
        self.change.as_ref().is_some_and(|change| change.created.contains(physical))
    }

    /// Keeps the cursors that a statement leaves open. Their rows are not compared when statements
    /// are repeated, so that the block cannot be.
    pub fn keep_cursors(&mut self, cursors: Cursors) {
        if !cursors.is_empty() {
            self.log.lose();
        }
        self.routine_cursors = cursors;
    }

    /// Whether each of its statements takes a snapshot of its own.
    pub fn renews(&self) -> bool {
        self.isolation.hides_conflicts() && self.engine_isolation == Isolation::Snapshot
    }

    /// Whether the isolation level promises to keep the snapshot of the engine's transaction.
    pub fn keeps_snapshot(&self) -> bool {
        self.has_begun && !self.isolation.hides_conflicts()
    }

    /// Whether the engine's transaction may be committed before the block's end: nobody else sees
    /// the rows that it has changed, and the block does not keep its snapshot.
    pub fn may_divide(&self) -> bool {
        let is_own = self.change.is_some() && !self.has_written_shared;
        is_own && !self.keeps_snapshot() && !self.log.is_repeated()
    }

    /// Whether a change of the catalog must go on with the engine's transaction: it has changed
    /// rows, or the isolation level promises to keep its snapshot.
    pub fn keeps_transaction(&self) -> bool {
        self.has_written || self.keeps_snapshot()
    }

    pub fn apply(&mut self, characteristics: Characteristics) {
        self.isolation = characteristics.isolation.unwrap_or(self.isolation);
        self.engine_isolation = self.isolation.of_engine();
        self.is_read_only = characteristics.is_read_only.unwrap_or(self.is_read_only);
    }
}
