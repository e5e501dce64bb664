//! Parked transactions: a transaction without a lane, between two of its statements.
//!
//! All that a transaction has before its commit is in the memory of its compute server: snapshot,
//! rows read and changed, witnesses. It has no lock, no number and no entry of a journal, so
//! nobody who recovers this compute server needs to know it. Only its announcement is remote:
//! a [`Pin`] replaces that of its lane.
//!
//! A lane of the same database resumes it. The pin stays until the transaction ends, and the lane
//! announces nothing. A transaction that takes newer snapshots pins only its catalog, and the lane
//! announces each snapshot. State that belongs to lanes stays with them: directories and leaf
//! caches, which are hints, and garbage.
//!
//! Decision: docs/decisions/0357-a-transaction-can-be-parked.md

use crate::abort::Abort;
use crate::catalog::{Catalog, TableId};
use crate::collect::GarbageQueue;
use crate::commit::witness::Witnesses;
use crate::database::Shared;
use crate::lane::{Lane, LaneInner, RunningTransaction};
use crate::owned::OwnedTransaction;
use crate::snapshot::Snapshot;
use crate::snapshot::pins::Pin;
use crate::snapshot::shared_slot::Bounds;
use crate::transaction::Transaction;
use crate::write::Owner;
use crate::write::write_set::WriteSet;
use fabric::{Env, Mutant};
use std::sync::Arc;

/// A transaction without a lane. Dropping it rolls it back.
///
/// Old versions that it may need are kept for the maximal duration of a transaction, like those of
/// a running one. Later statements may find them missing: [`Abort::SnapshotTooOld`].
pub struct Parked<E: Env> {
    state: Box<State<E>>,
}

/// A parked transaction.
struct State<E: Env> {
    shared: Arc<Shared<E>>,
    snapshot: Snapshot,
    txn: RunningTransaction,
    writes: WriteSet,
    witnesses: Witnesses,
    catalog: Arc<Catalog>,
    /// `None` only with a planted bug.
    pin: Option<Pin<E>>,
}

/// The state that a lane has in addition while it runs a resumed transaction.
pub(crate) struct Resumed<E: Env> {
    pin: Option<Pin<E>>,
    /// The lane's own number of its last transaction.
    number: u32,
    /// The lane's own last snapshot.
    snapshot: Snapshot,
    /// The lane's garbage, if it may be of tables that the transaction's catalog lacks.
    garbage: Option<GarbageQueue>,
}

impl<E: Env> LaneInner<E> {
    /// The bounds of the lane's pin, if it runs a resumed transaction.
    pub(crate) fn pinned(&self) -> Option<Bounds> {
        Some(self.resumed.as_ref()?.pin.as_ref()?.bounds)
    }

    /// The resumed transaction has ended.
    #[inline]
    pub(crate) fn end_resumed(&mut self) {
        if let Some(resumed) = self.resumed.take() {
            self.end_one(*resumed);
        }
    }

    #[cold]
    fn end_one(&mut self, mut resumed: Resumed<E>) {
        self.txn.number = resumed.number;
        // Snapshots of a lane only become newer.
        if resumed.snapshot.stamp > self.snapshot.stamp {
            std::mem::swap(&mut self.snapshot, &mut resumed.snapshot);
        }
        if let Some(mut own) = resumed.garbage {
            own.retired.append(&mut self.garbage.retired);
            own.displaced.append(&mut self.garbage.displaced);
            own.rowless = self.garbage.rowless.take().or(own.rowless);
            self.garbage.retired = own.retired;
            self.garbage.displaced = own.displaced;
            self.garbage.suspect = self.garbage.suspect.take().or(own.suspect);
            self.garbage.rowless = own.rowless;
        }
    }

    /// Parks the running transaction; the lane is at rest then. After an error the lane still runs
    /// it.
    pub(crate) async fn park(&mut self) -> Result<Parked<E>, Abort> {
        if let Some(abort) = self.txn.doomed_by {
            return Err(abort);
        }
        let pin = match self.pin_to_keep() {
            Some(pin) => Some(pin),
            None if self.env.mutant(Mutant::ParkUnpinned) => None,
            None => Some(self.pin().await?),
        };
        // The pin replaces the announcement, also if withdrawing the latter fails: then others wait
        // for the lane at most for E.
        let number = self.resumed.as_ref().map_or(self.txn.number, |resumed| resumed.number);
        let state = State {
            shared: self.shared.clone(),
            snapshot: self.snapshot.clone(),
            txn: std::mem::replace(&mut self.txn, RunningTransaction::new(number)),
            writes: std::mem::take(&mut self.writes),
            witnesses: std::mem::take(&mut self.witnesses),
            catalog: self.open.catalog.clone(),
            pin,
        };
        let mut parked = Parked { state: Box::new(state) };
        self.txn.last_unique_violation = parked.state.txn.last_unique_violation.take();
        parked.state.txn.shrink();
        self.identity.is_unfinished = false;
        let _ = self.rest().await;
        Ok(parked)
    }

    /// The pin of a resumed transaction. One that has taken a newer snapshot since has announced
    /// it, and needs another pin.
    fn pin_to_keep(&mut self) -> Option<Pin<E>> {
        let is_newer = self.identity.is_announced;
        self.resumed.as_mut().filter(|_| !is_newer).and_then(|resumed| resumed.pin.take())
    }

    async fn pin(&mut self) -> Result<Pin<E>, Abort> {
        let _holder = self.shared.begin_work(&self.env).map_err(|_| Abort::Unreachable)?;
        // One that takes a newer snapshot for its next statement needs no old versions, only its
        // tables.
        let stamp = if self.txn.will_renew { u64::MAX } else { self.snapshot.stamp.max(1) };
        let bounds = Bounds { stamp, epoch: self.open.catalog.epoch };
        match self.identity.shared_slot.clone() {
            None => Pin::by_keeper(&self.env, &self.shared, bounds).await,
            Some(slot) => {
                let number = self.identity.number;
                // The lane's announcement is the pin now.
                self.identity.is_announced = false;
                Ok(Pin::by_slot(&self.env, &self.shared, &slot, number, bounds))
            }
        }
    }

    /// Goes on with a parked transaction. After an error `parked` still has it, unless the caller
    /// has dropped this future.
    pub(crate) async fn resume(&mut self, parked: &mut Option<Parked<E>>) -> Result<(), Abort> {
        if self.identity.is_unusable() && !self.identity.revive() {
            return Err(Abort::Unreachable);
        }
        if self.needs_new_slot() {
            self.take_new_slot().await?;
        }
        self.rest().await?;
        self.reset();
        let Some(of) = parked.take() else { return Err(Abort::User) };
        assert!(Arc::ptr_eq(&of.state.shared, &self.shared), "it is of this database");
        self.swap_in(*of.state);
        if let Err(abort) = self.open_accessed().await {
            *parked = Some(self.park().await?);
            return Err(abort);
        }
        Ok(())
    }

    fn swap_in(&mut self, state: State<E>) {
        let State { snapshot, txn, writes, witnesses, catalog, pin, .. } = state;
        let own = std::mem::replace(&mut self.txn, txn);
        self.txn.last_unique_violation = own.last_unique_violation;
        let (snapshot, number) = (std::mem::replace(&mut self.snapshot, snapshot), own.number);
        (self.writes, self.witnesses) = (writes, witnesses);
        let mut garbage = None;
        if catalog.epoch > self.open.catalog.epoch {
            self.adopt_catalog(catalog);
        } else if !Arc::ptr_eq(&catalog, &self.open.catalog) {
            // A transaction keeps its catalog. Its lane's next one finds the newer one again.
            self.open.catalog = catalog;
            let horizon = self.garbage.horizon.clone();
            let to_round = self.garbage.commits_to_round;
            let own = std::mem::replace(
                &mut self.garbage,
                GarbageQueue { horizon, commits_to_round: to_round, ..Default::default() },
            );
            garbage = Some(own);
        }
        self.identity.is_unfinished = true;
        self.resumed = Some(Box::new(Resumed { pin, number, snapshot, garbage }));
    }

    /// Opens the tables that the transaction has accessed.
    async fn open_accessed(&mut self) -> Result<(), Abort> {
        let mut tables: Vec<TableId> = Vec::new();
        let mut last = None;
        let table_of = |owner: Owner| match owner {
            Owner::Table(table) => Some(table),
            Owner::Index(index) => self.open.catalog.index_info(index).map(|info| info.table),
        };
        let accessed = self.txn.accesses.iter().map(|access| Some(access.table));
        let buckets = self.txn.buckets_seen.iter().map(|seen| table_of(seen.owner));
        let leaves = self.txn.leaves_seen.iter().map(|seen| table_of(seen.owner));
        for table in accessed.chain(buckets).chain(leaves).flatten() {
            if last != Some(table) && !tables.contains(&table) {
                tables.push(table);
            }
            last = Some(table);
        }
        for table in tables {
            let opened = self.open_table(table).await;
            opened.map_err(|error| error.abort().unwrap_or(Abort::CatalogChanged))?;
        }
        Ok(())
    }
}

impl<'lane, E: Env> Transaction<'lane, E> {
    /// Parks the transaction: it has no lane until [`Lane::resume`]. Its rows keep their ids.
    ///
    /// # Errors
    ///
    /// If a statement has failed, or its snapshot cannot be announced without a lane. The
    /// transaction is then rolled back; [`OwnedTransaction::park`] keeps it.
    pub async fn park(self) -> Result<Parked<E>, Abort> {
        let Self { owned } = self;
        let lane = owned.as_mut().expect("a running transaction has its lane");
        (lane.operations.park)(lane).await
    }
}

impl<E: Env> Lane<E> {
    /// Goes on with a transaction that was parked, perhaps on another lane of the database.
    ///
    /// # Errors
    ///
    /// If the lane cannot run it. The transaction is returned, if it can go on elsewhere.
    pub async fn resume(
        &mut self,
        parked: Parked<E>,
    ) -> Result<Transaction<'_, E>, (Option<Parked<E>>, Abort)> {
        let mut parked = Some(parked);
        let Some(inner) = self.inner.as_mut() else { return Err((parked, Abort::Unreachable)) };
        let resumed = (inner.operations.resume)(inner, &mut parked).await;
        match resumed {
            Ok(()) => Ok(Transaction::running(&mut self.inner)),
            Err(abort) => Err((parked, abort)),
        }
    }

    /// As [`Lane::resume`], for a transaction that owns its lane.
    ///
    /// # Errors
    ///
    /// As [`Lane::resume`]; the lane is returned, too.
    pub async fn resume_owned(
        mut self,
        parked: Parked<E>,
    ) -> Result<OwnedTransaction<E>, (Self, Option<Parked<E>>, Abort)> {
        match self.resume(parked).await.map(drop) {
            Ok(()) => Ok(OwnedTransaction::of(self)),
            Err((parked, abort)) => Err((self, parked, abort)),
        }
    }
}

impl<E: Env> OwnedTransaction<E> {
    /// As [`Transaction::park`]; returns the lane, too.
    ///
    /// # Errors
    ///
    /// As [`Transaction::park`]; the transaction goes on then, if no statement has failed.
    pub async fn park(mut self) -> Result<(Lane<E>, Parked<E>), (Self, Abort)> {
        match self.statement().park().await {
            Ok(parked) => Ok((self.into_lane(), parked)),
            Err(abort) => Err((self, abort)),
        }
    }
}
