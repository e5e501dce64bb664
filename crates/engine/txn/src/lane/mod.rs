//! A lane: one timestamp slot and all other state of transactions that is kept from one to the
//! next.
//!
//! Read the handle of sessions here first, then [`inner`] (the lane itself), [`identity`] (slot and
//! numbers), [`open`] (its state of tables and indexes), [`running`] (the read set of the running
//! transaction), [`compaction`] (freeing what no longer counts), [`leaves`] (warming its leaf
//! caches).
//!
//! Decision: docs/decisions/0191-a-terminal-draws-its-next-transaction-before-it-runs.md

pub(crate) mod batch;
pub(crate) mod by_server;
pub(crate) mod compaction;
pub(crate) mod ids;

mod identity;
mod inner;
mod leaves;
mod open;
mod running;

pub(crate) use identity::{COUNTER_LIMIT, LaneIdentity};
pub(crate) use inner::LaneInner;
pub use leaves::KnownLeaves;
pub(crate) use open::{LeavesOf, OpenCatalog};
pub(crate) use running::RunningTransaction;

use crate::abort::Abort;
use crate::catalog::{IndexId, TableId};
use crate::operations::Operations;
use crate::snapshot::Snapshot;
use crate::statistics::LaneStatistics;
use crate::transaction::{Isolation, Transaction};
use crate::write::unique::UniqueViolation;
use fabric::Env;
use layout::{Key, VersionWord};

/// Reasons why no lane is available.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaneError {
    /// All timestamp slots are in use.
    #[error("all {0} lanes are in use; end a session, or open the database with more lanes")]
    Exhausted(u32),
    /// The memory server of the oracle does not answer.
    #[error("the timestamp oracle cannot be reached")]
    Unreachable,
    /// There is no room for the lane's journal.
    #[error("{0}")]
    NoJournal(memory::AllocateError),
}

/// A lane runs one transaction at a time. Dropping it returns it to its database's pool.
pub struct Lane<E: Env> {
    env: E,
    /// `None` for good if the caller dropped a future whose work goes on: that work returns the
    /// lane to the pool.
    pub(crate) inner: Option<Box<LaneInner<E>>>,
}

impl<E: Env> Lane<E> {
    pub(crate) fn new(inner: Box<LaneInner<E>>) -> Self {
        Self { env: inner.env.clone(), inner: Some(inner) }
    }

    /// The engine's operations; `None` if the owned part is gone.
    pub(crate) fn operations(&self) -> Option<&'static Operations<E>> {
        Some(self.inner.as_ref()?.operations)
    }

    pub(crate) fn inner(&mut self) -> &mut LaneInner<E> {
        self.inner.as_mut().expect("a lane outside the pool has its owned part")
    }

    /// Starts a transaction: takes a snapshot.
    #[inline]
    pub async fn begin(&mut self, isolation: Isolation) -> Result<Transaction<'_, E>, Abort> {
        let Some(inner) = self.inner.as_mut() else { return Err(Abort::Unreachable) };
        (inner.operations.begin)(inner).await?;
        Ok(Transaction::new(&mut self.inner, isolation))
    }

    /// Hints that the next transaction will read these rows: where memory is reached through the
    /// processor's caches, the rows arrive while the lane takes the snapshot.
    #[inline]
    pub fn prefetch(&self, reads: &[(TableId, Key)]) {
        if E::IMMEDIATE
            && let Some(inner) = &self.inner
        {
            (inner.operations.prefetch)(inner, reads);
        }
    }

    /// Like [`Self::prefetch`], for a lookup of this key in an index. Only a hash index is
    /// prefetched.
    #[inline]
    pub fn prefetch_lookup(&self, index: IndexId, key: &Key) {
        if E::IMMEDIATE
            && let Some(inner) = &self.inner
        {
            (inner.operations.prefetch_lookup)(inner, index, key);
        }
    }

    pub fn env(&self) -> &E {
        &self.env
    }

    /// The lane's statistics; `None` if the future of a commit was dropped, because that commit
    /// goes on without this handle.
    pub fn statistics(&self) -> Option<&LaneStatistics> {
        Some(&self.inner.as_ref()?.statistics)
    }

    /// The last snapshot; `None` as for [`Lane::statistics`]. [`Snapshot::lag`] returns how stale
    /// it is.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        Some(&self.inner.as_ref()?.snapshot)
    }

    /// The version that the lane's last commit gave to its rows; `None` as for
    /// [`Lane::statistics`].
    pub fn last_commit(&self) -> Option<VersionWord> {
        let inner = self.inner.as_ref()?;
        Some(inner.identity.committed)
    }

    /// The details of the lane's last [`Abort::UniqueViolation`].
    pub fn last_unique_violation(&self) -> Option<&UniqueViolation> {
        self.inner.as_ref()?.txn.last_unique_violation.as_deref()
    }

    /// Withdraws the announcement of the last snapshot, so that collection and catalog changes do
    /// not wait for this lane. Call it on a lane that will be idle; a lane that begins again soon
    /// need not. Dropping the lane does the same.
    pub async fn rest(&mut self) -> Result<(), Abort> {
        let Some(inner) = self.inner.as_mut() else { return Err(Abort::Unreachable) };
        (inner.operations.rest)(inner).await
    }

    /// Collects all garbage that is collectable now, without waiting for a full batch of it.
    /// Collection holds locks, so like a commit it runs to its end even if the caller drops the
    /// future.
    pub async fn collect_garbage(&mut self) -> Result<(), Abort> {
        let Some(inner) = self.inner.as_ref() else { return Err(Abort::Unreachable) };
        (inner.operations.collect_garbage)(&mut self.inner).await
    }
}

impl<E: Env> Drop for Lane<E> {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            (inner.operations.take_back)(inner);
        }
    }
}
