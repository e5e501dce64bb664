//! The transaction of a session.

use super::cursors::Cursor;
use super::replay::{Log, Savepoint};
use crate::catalog::{Change, Version};
use crate::command::{Characteristics, IsolationLevel};
use crate::locks::HeldLocks;
use fabric::Env;
use std::collections::BTreeMap;
use std::sync::Arc;
use txn::{Isolation, OwnedTransaction};

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
    /// The isolation level that the engine's transaction has.
    pub engine_isolation: Isolation,
    /// Whether a statement has accessed rows.
    pub has_begun: bool,
    /// Whether a statement has changed rows.
    pub has_written: bool,
    /// The version of the catalog that its statements see, from the first one on.
    pub version: Option<Arc<Version>>,
    /// Its changes of the catalog.
    pub change: Option<Change>,
    pub locks: HeldLocks,
    /// When its first statement ran, in microseconds since 2000-01-01.
    pub began_us: Option<i64>,
    pub log: Log,
    pub cursors: BTreeMap<String, Cursor>,
    pub savepoints: Vec<Savepoint>,
    /// Number of statements that were to change rows.
    pub writes: u64,
    /// Whether a conflict has ended the engine's transaction.
    pub is_doomed: bool,
}

impl<E: Env> Block<E> {
    pub fn new(kind: BlockKind, isolation: IsolationLevel, is_read_only: bool) -> Self {
        Self {
            kind,
            has_failed: false,
            isolation,
            is_read_only,
            engine: None,
            engine_isolation: isolation.of_engine(),
            has_begun: false,
            has_written: false,
            version: None,
            change: None,
            locks: HeldLocks::default(),
            began_us: None,
            log: Log::default(),
            cursors: BTreeMap::new(),
            savepoints: Vec::new(),
            writes: 0,
            is_doomed: false,
        }
    }

    pub fn apply(&mut self, characteristics: Characteristics) {
        self.isolation = characteristics.isolation.unwrap_or(self.isolation);
        self.engine_isolation = self.isolation.of_engine();
        self.is_read_only = characteristics.is_read_only.unwrap_or(self.is_read_only);
    }
}
