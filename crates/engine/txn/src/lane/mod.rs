//! A lane: one timestamp slot and everything a transaction needs, kept from one to the next.
//!
//! To read it: the handle that sessions have, here; [`inner`] (the lane itself), [`identity`] (slot
//! and numbers), [`open`] (what it keeps of tables and indexes), [`running`] (what the running
//! transaction has read), [`leaves`] (what it may learn of trees beforehand).
//!
//! Decision: docs/decisions/0191-a-terminal-draws-its-next-transaction-before-it-runs.md

pub(crate) mod batch;
pub(crate) mod by_server;
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

/// Why no lane was given.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaneError {
    /// All timestamp slots are in use.
    #[error("all {0} lanes are in use; end a session, or open the database with more lanes")]
    Exhausted(u32),
    /// The oracle cannot be reached.
    #[error("the timestamp oracle cannot be reached")]
    Unreachable,
}

/// A lane runs one transaction at a time. It goes back to its database when it is dropped.
pub struct Lane<E: Env> {
    env: E,
    /// Gone for good once a future was dropped whose work goes on: it then goes home on its own.
    pub(crate) inner: Option<Box<LaneInner<E>>>,
}

impl<E: Env> Lane<E> {
    pub(crate) fn new(inner: Box<LaneInner<E>>) -> Self {
        Self { env: inner.env.clone(), inner: Some(inner) }
    }

    /// The engine; `None` for a lane whose inner part is gone.
    pub(crate) fn operations(&self) -> Option<&'static Operations<E>> {
        Some(self.inner.as_ref()?.operations)
    }

    pub(crate) fn inner(&mut self) -> &mut LaneInner<E> {
        self.inner.as_mut().expect("a lane that is not at home has its inner part")
    }

    /// Starts a transaction: takes a snapshot.
    #[inline]
    pub async fn begin(&mut self, isolation: Isolation) -> Result<Transaction<'_, E>, Abort> {
        let Some(inner) = self.inner.as_mut() else { return Err(Abort::Unreachable) };
        (inner.operations.begin)(inner).await?;
        Ok(Transaction::new(&mut self.inner, isolation))
    }

    /// A hint that the next transaction will read these rows: where memory is reached through the
    /// processor's caches, they are on their way while the snapshot is taken.
    #[inline]
    pub fn prefetch(&self, reads: &[(TableId, Key)]) {
        if E::IMMEDIATE
            && let Some(inner) = &self.inner
        {
            (inner.operations.prefetch)(inner, reads);
        }
    }

    /// As [`Self::prefetch`], that the next transaction will look for this key in an index: a hint
    /// if the index is a hash table.
    #[inline]
    pub fn prefetch_lookup(&self, index: IndexId, key: &Key) {
        if E::IMMEDIATE
            && let Some(inner) = &self.inner
        {
            (inner.operations.prefetch_lookup)(inner, index, key);
        }
    }

    /// The world this lane lives in.
    pub fn env(&self) -> &E {
        &self.env
    }

    /// What the lane has done; `None` if the future of a commit was dropped, which goes on without
    /// the lane.
    pub fn statistics(&self) -> Option<&LaneStatistics> {
        Some(&self.inner.as_ref()?.statistics)
    }

    /// The snapshot that was taken last; `None` as for [`Lane::statistics`]. [`Snapshot::lag`]
    /// tells how stale it is.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        Some(&self.inner.as_ref()?.snapshot)
    }

    /// The version that the lane's last commit gave to its rows; `None` as for
    /// [`Lane::statistics`].
    pub fn last_commit(&self) -> Option<VersionWord> {
        let inner = self.inner.as_ref()?;
        Some(inner.identity.committed)
    }

    /// What the last [`Abort::UniqueViolation`] of this lane was about.
    pub fn last_unique_violation(&self) -> Option<&UniqueViolation> {
        self.inner.as_ref()?.txn.last_unique_violation.as_deref()
    }

    /// Withdraws the announcement of the last snapshot: nobody waits for a lane at rest. A lane
    /// that will begin again soon need not; one that is kept aside should. Dropping a lane does it,
    /// too.
    pub async fn rest(&mut self) -> Result<(), Abort> {
        let Some(inner) = self.inner.as_mut() else { return Err(Abort::Unreachable) };
        (inner.operations.rest)(inner).await
    }

    /// Collects what can be collected, without waiting for enough of it to pile up. It holds locks
    /// as it goes, so like a commit it goes on to its end.
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
