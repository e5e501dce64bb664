//! A transaction: the handle of the code that runs it.
//!
//! Decisions:
//! - docs/decisions/0020-a-commit-has-three-outcomes.md
//! - docs/decisions/0262-a-statement-that-does-not-finish-ends-its-transaction.md

use crate::abort::{Abort, Outcome};
use crate::catalog::{IndexId, TableId};
use crate::lane::LaneInner;
use crate::read::access::{Access, AccessId, RowId, State};
use crate::snapshot::Snapshot;
use fabric::{Env, Span};
use layout::row::{ChainWord, KEY, LINK};
use layout::{RecordMut, RecordRef, Schema, VersionWord};

/// The reason why a row cannot be changed: its old version would be incomplete.
const READ_IN_PART: &str = "only some columns of the row were read; read all of it to change it";

/// Isolation level of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Isolation {
    /// Snapshot isolation: no dirty, fuzzy or skewed reads, no lost updates; write skew is
    /// possible.
    Snapshot,
    /// Serializable, among the transactions that run at this level.
    Serializable,
}

impl Isolation {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Serializable => "serializable",
        }
    }
}

/// A running transaction. It borrows its lane. Dropping it rolls back, unless a commit has begun,
/// which goes on without it.
///
/// A statement that ends with an abort ([`TxnError::abort`](crate::TxnError::abort)) ends the
/// transaction: later statements and the commit return the same abort. Where verbs take time, a
/// statement whose future is dropped ends the transaction with [`Abort::Unreachable`]. After any
/// other error the transaction goes on.
pub struct Transaction<'lane, E: Env> {
    /// The lane's owned part; `None` while a commit runs that a dropped future must not stop.
    pub(crate) owned: &'lane mut Option<Box<LaneInner<E>>>,
}

impl<'lane, E: Env> Transaction<'lane, E> {
    pub(crate) fn new(owned: &'lane mut Option<Box<LaneInner<E>>>, isolation: Isolation) -> Self {
        let inner = owned.as_mut().expect("a lane that begins has its owned part");
        inner.txn.serializable = isolation == Isolation::Serializable;
        Self { owned }
    }

    /// The transaction that the lane runs already.
    pub(crate) fn running(owned: &'lane mut Option<Box<LaneInner<E>>>) -> Self {
        debug_assert!(owned.is_some(), "a transaction that has not committed has its lane");
        Self { owned }
    }

    #[inline]
    pub(crate) fn lane(&mut self) -> &mut LaneInner<E> {
        self.owned.as_mut().expect("a transaction that has not committed has its lane")
    }

    #[inline]
    pub(crate) fn lane_ref(&self) -> &LaneInner<E> {
        self.owned.as_ref().expect("a transaction that has not committed has its lane")
    }

    pub fn env(&self) -> &E {
        &self.lane_ref().env
    }

    pub fn snapshot(&self) -> &Snapshot {
        &self.lane_ref().snapshot
    }

    /// Makes the transaction see the tables that were created since its snapshot, as far as this
    /// compute server knows them; [`Database::refresh`](crate::Database::refresh) makes it know
    /// all. Rows that others have written into them since are later than the snapshot.
    pub fn see_new_tables(&mut self) {
        self.lane().add_new_tables();
    }

    /// The columns of a table, if it exists.
    pub fn schema(&self, table: TableId) -> Option<&Schema> {
        self.lane_ref().schema(table)
    }

    /// The table of a row.
    ///
    /// # Panics
    ///
    /// If `row` is of another transaction.
    #[inline]
    pub fn table(&self, row: RowId) -> TableId {
        self.lane_ref().table(row)
    }

    /// The words of a row's primary key.
    ///
    /// # Panics
    ///
    /// If `row` is of another transaction.
    #[inline]
    pub fn key_words(&self, row: RowId) -> &[u64] {
        let lane = self.lane_ref();
        let access = lane.txn.access(row);
        let words = lane.open.info(lane.txn.accesses[access].table).row.key_words;
        lane.txn.batch.words(lane.txn.key(access, words))
    }

    /// Whether the transaction still holds a row whose id it has returned, see
    /// [`Self::forget_rows`].
    #[inline]
    pub fn holds(&self, row: RowId) -> bool {
        row.is_of(self.lane_ref().txn.number)
    }

    /// Forgets the rows that it has read if they take more than `bytes`, so that a long query needs
    /// bounded memory; their ids are no longer valid. Returns whether it has. A transaction that
    /// has changed something, or that validates its reads, forgets nothing.
    pub fn forget_rows(&mut self, bytes: usize) -> bool {
        let lane = self.lane();
        let words = lane.txn.batch.arena_words();
        let is_kept = lane.txn.serializable || lane.txn.doomed_by.is_some();
        if words * 8 <= bytes || is_kept || !lane.writes.is_empty() {
            return false;
        }
        lane.txn.forget_rows();
        true
    }

    /// A row's columns, including the transaction's own changes.
    ///
    /// # Panics
    ///
    /// If `row` is of another transaction, or a later statement has ended with
    /// [`Abort::Unreachable`].
    #[inline(always)]
    pub fn row(&self, row: RowId) -> RecordRef<'_> {
        self.lane_ref().row(row)
    }

    /// A row's columns, mutable. The commit detects conflicts.
    ///
    /// # Panics
    ///
    /// If `row` is of another transaction, if this one has deleted it or has read only some of its
    /// columns, or as [`Transaction::row`].
    #[inline(always)]
    pub fn update(&mut self, row: RowId) -> RecordMut<'_> {
        self.lane().update(row)
    }

    /// Deletes a row.
    ///
    /// # Panics
    ///
    /// If `row` is of another transaction, or this one has read only some of its columns.
    #[inline]
    pub fn delete(&mut self, row: RowId) {
        self.lane().delete(row);
    }

    /// Like [`Transaction::commit`]; also puts the lane to rest, as
    /// [`Lane::rest`](crate::Lane::rest) does. Meant for lanes that may then be idle.
    pub async fn commit_and_rest(self) -> Outcome {
        let Self { owned } = self;
        let outcome = Transaction { owned: &mut *owned }.commit().await;
        rest(owned).await;
        outcome
    }

    /// Like [`Transaction::commit_and_rest`]; returns also the version of the rows that it has
    /// written, if it has committed some.
    pub async fn commit_with_version(self) -> (Outcome, Option<VersionWord>) {
        let has_written = self.has_written();
        let Self { owned } = self;
        let outcome = Transaction { owned: &mut *owned }.commit().await;
        rest(owned).await;
        let committed = owned.as_ref().map(|inner| inner.identity.committed);
        (outcome, committed.filter(|_| has_written && outcome == Outcome::Committed))
    }

    /// Whether its commit would change rows.
    pub fn has_written(&self) -> bool {
        !self.lane_ref().writes.is_empty()
    }

    /// Like [`Transaction::abort`]; also puts the lane to rest.
    pub async fn abort_and_rest(self) {
        let Self { owned } = self;
        Transaction { owned: &mut *owned }.abort().await;
        rest(owned).await;
    }

    /// Rolls back.
    pub async fn abort(mut self) {
        self.lane().statistics.aborts[Abort::User.index()] += 1;
    }

    /// Adds entries of one index for rows that were read, and commits. The commit locks the rows
    /// and installs them unchanged, so that a concurrent change shows as a conflict.
    pub(crate) async fn add_index_entries(
        mut self,
        index: IndexId,
        rows: impl Iterator<Item = &RowId>,
    ) -> Result<Outcome, Abort> {
        let lane = self.lane();
        for row in rows {
            let access = lane.txn.access(*row);
            lane.make_fresh(access);
        }
        lane.txn.filling = Some(index);
        Ok(self.commit().await)
    }

    /// Commits: all writes take effect, or none, or the outcome is unknown.
    #[inline]
    pub async fn commit(self) -> Outcome {
        let operations = self.lane_ref().operations;
        (operations.commit)(self.owned).await
    }
}

/// Puts a lane to rest, unless it is poisoned. If the lane cannot withdraw its announcement, others
/// wait for it at most for E.
async fn rest<E: Env>(owned: &mut Option<Box<LaneInner<E>>>) {
    if let Some(inner) = owned.as_mut().filter(|inner| !inner.identity.is_poisoned) {
        let _ = (inner.operations.rest)(inner).await;
    }
}

impl<E: Env> LaneInner<E> {
    /// See [`Transaction::schema`].
    pub(crate) fn schema(&self, table: TableId) -> Option<&Schema> {
        self.open.catalog.info(table).map(|info| &*info.schema)
    }

    /// See [`Transaction::table`].
    #[inline]
    pub(crate) fn table(&self, row: RowId) -> TableId {
        self.txn.accesses[self.txn.access(row)].table
    }

    /// See [`Transaction::row`].
    #[inline(always)]
    pub(crate) fn row(&self, row: RowId) -> RecordRef<'_> {
        let access = &self.txn.accesses[self.txn.access(row)];
        debug_assert!(access.state != State::Absent);
        let info = self.open.info(access.table);
        let words = self.txn.batch.words(access.current());
        let payload = info.row.payload() as usize;
        let end = words.len().min(payload + info.row.payload_words as usize);
        RecordRef::new(&info.schema, &words[KEY as usize..payload], &words[payload..end])
    }

    /// See [`Transaction::update`].
    #[inline(always)]
    pub(crate) fn update(&mut self, row: RowId) -> RecordMut<'_> {
        let access = self.txn.access(row);
        let payload = self.make_fresh(access);
        let Self { open, txn, .. } = self;
        let info = open.info(txn.accesses[access].table);
        RecordMut::new(&info.schema, txn.batch.words_mut(payload)).with_stage(&mut txn.stage)
    }

    /// Makes a copy of an access's row that the transaction may change; returns the payload's
    /// words.
    #[inline(always)]
    pub(crate) fn make_fresh(&mut self, number: AccessId) -> Span {
        let access = self.txn.accesses[number];
        assert!(
            access.state != State::Deleted,
            "the transaction has deleted this row; insert its key again to bring it back"
        );
        debug_assert!(access.state != State::Absent);
        let shape = self.open.info(access.table).row;
        let mut fresh = access.fresh;
        if fresh.at < self.txn.undo.frozen_words {
            self.txn.undo.note(number, &access);
            if fresh.words == 0 {
                assert!(access.image.words == shape.words(), "{READ_IN_PART}");
                self.prefetch_version_slot(number);
            }
            fresh = self.txn.batch.duplicate(access.current());
            let access = &mut self.txn.accesses[number];
            access.fresh = fresh;
            if access.state == State::Read {
                access.state = State::Updated;
                self.writes.rows.push(number);
            }
        }
        Span { at: fresh.at + shape.payload(), words: shape.payload_words }
    }

    #[inline]
    pub(crate) fn delete(&mut self, row: RowId) {
        let number = self.txn.access(row);
        let words = self.open.info(self.txn.accesses[number].table).row.words();
        let access = &mut self.txn.accesses[number];
        self.txn.undo.note(number, access);
        match access.state {
            State::Read => {
                assert!(access.image.words == words, "{READ_IN_PART}");
                access.state = State::Deleted;
                self.writes.rows.push(number);
                self.prefetch_version_slot(number);
            }
            State::Updated => access.state = State::Deleted,
            // A row that one transaction inserts and deletes leaves a tombstone.
            State::Inserted => access.state = State::Deleted,
            State::Absent | State::Deleted => {}
        }
    }

    /// Prefetches the slot of the version buffer that receives the displaced version: the commit
    /// writes all of it, and waits for every cache line that misses.
    #[inline]
    fn prefetch_version_slot(&self, number: AccessId) {
        let Access { table, image, is_old, .. } = self.txn.accesses[number];
        // An old version has its successor in this word, and cannot be changed.
        if !E::IMMEDIATE || is_old {
            return;
        }
        let chain = ChainWord::from_word(self.txn.batch.word(image.at + LINK));
        if !chain.buffer().is_null() {
            let shape = self.open.info(table).buffer;
            let slot = chain.buffer().add_words(u64::from(shape.slot(chain.next())));
            self.env.prefetch(slot, shape.row.words());
        }
    }
}
