//! Inserts, and the buckets and leaves in which a transaction did not find a key. Everything is
//! local until the commit.
//!
//! Read the inserts here first, then [`write_set`] (what a commit locks and installs),
//! [`secondary`] and [`unique`] (index entries), [`kept`] (leaves that the lane has written last),
//! [`copies`], [`value_pool`], [`savepoint`].

pub(crate) mod copies;
pub(crate) mod kept;
pub(crate) mod reserve;
pub(crate) mod savepoint;
pub(crate) mod secondary;
pub(crate) mod unique;
pub(crate) mod value_pool;
pub(crate) mod write_set;

use crate::abort::{Abort, TxnError};
use crate::catalog::{IndexId, Primary, TableId};
use crate::commit::witness::LeafWitness;
use crate::lane::LaneInner;
use crate::lane::ids::Id;
use crate::read::Wanted;
use crate::read::access::{Absence, AccessId, KeyPlace, RowId, State};
use crate::recovery::LockedWord;
use crate::write::write_set::LeafInsert;
use fabric::{Env, Mutant, Span};
use layout::row::KEY;
use layout::{GlobalPtr, Key, VersionWord, bucket};

/// The table or index of a bucket or leaf.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Owner {
    /// A table's primary key.
    Table(TableId),
    /// A secondary index.
    Index(IndexId),
}

/// A bucket that was searched for an absent key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BucketSeen {
    pub owner: Owner,
    pub bucket: GlobalPtr,
    /// Its insert word, read before its slots.
    pub insert: u64,
    pub room: BlockRoom,
    /// The last block of its chain, which will link to a new block.
    pub last: GlobalPtr,
}

/// The block of a bucket's chain that receives an insert: the first with an empty slot, or the
/// last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BlockRoom {
    pub block: GlobalPtr,
    pub slots: u32,
    pub tags: u64,
}

impl BlockRoom {
    /// The state before the first block of a chain.
    pub const FULL: Self = Self { block: GlobalPtr::NULL, slots: 0, tags: 0 };

    /// Keeps this block if it has an empty slot; otherwise takes the chain's next block.
    pub fn or_next(self, next: Self) -> Self {
        let is_full = bucket::empty_slot(self.slots, self.tags).is_none();
        if is_full { next } else { self }
    }
}

pub(crate) type BucketSeenId = Id<BucketSeen>;

/// A leaf that the transaction has read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LeafSeen {
    pub owner: Owner,
    pub leaf: GlobalPtr,
    /// Its words in the arena.
    pub span: Span,
    /// Its insert word.
    pub insert: VersionWord,
    /// A kept leaf, which was not read: its content is valid only if the commit locks it.
    pub is_kept: bool,
    /// Position at which the next search begins: the next key is often beside the last one.
    pub near: u32,
}

pub(crate) type LeafSeenId = Id<LeafSeen>;

impl<E: Env> LaneInner<E> {
    /// [`Transaction::insert`](crate::Transaction::insert).
    #[inline]
    pub(crate) async fn insert(&mut self, table: TableId, key: &Key) -> Result<RowId, TxnError> {
        let mut row = RowId::default();
        self.insert_statement(&[(table, *key)], &mut |inserted| row = inserted).await?;
        Ok(row)
    }

    /// [`Transaction::insert_many`](crate::Transaction::insert_many).
    #[inline]
    pub(crate) async fn insert_many(
        &mut self,
        inserts: &[(TableId, Key)],
        rows: &mut Vec<RowId>,
    ) -> Result<(), TxnError> {
        rows.clear();
        self.insert_statement(inserts, &mut |row| rows.push(row)).await
    }

    async fn insert_statement(
        &mut self,
        inserts: &[(TableId, Key)],
        visit: &mut impl FnMut(RowId),
    ) -> Result<(), TxnError> {
        self.begin_statement()?;
        let inserted = self.insert_each(inserts, visit).await;
        self.end_statement(inserted)
    }

    async fn insert_each(
        &mut self,
        inserts: &[(TableId, Key)],
        visit: &mut impl FnMut(RowId),
    ) -> Result<(), TxnError> {
        let mut accesses = std::mem::take(&mut self.scratch.inserting);
        accesses.clear();
        self.settle_kept(inserts)?;
        let mut note = |access, _| accesses.push(access);
        let mut result = self.locate_many(inserts, Wanted::ForInsert, &mut note).await;
        for &access in &accesses {
            if result.is_ok() {
                result = self.insert_access(access);
                visit(self.txn.row_id(access));
            }
        }
        self.scratch.inserting = accesses;
        result
    }

    /// Turns an absent access into an inserted one.
    pub(crate) fn insert_access(&mut self, access: AccessId) -> Result<(), TxnError> {
        let entry = self.txn.accesses[access];
        match (entry.state, entry.absence) {
            (State::Read | State::Updated | State::Inserted, _) => {
                let table = self.open.info(entry.table).schema.name().to_owned();
                return Err(TxnError::DuplicateKey { table });
            }
            // This transaction has deleted the row: the insert becomes an update.
            (State::Deleted, Absence::None) => {
                self.txn.undo.note(access, &entry);
                self.refill(access);
                self.txn.accesses[access].state = State::Updated;
                return Ok(());
            }
            (State::Deleted, _) => {
                self.txn.undo.note(access, &entry);
                self.refill(access);
                self.txn.accesses[access].state = State::Inserted;
                return Ok(());
            }
            (State::Absent, Absence::Later) => return Err(Abort::InsertConflict.into()),
            (State::Absent, _) => {}
        }
        self.txn.undo.note(access, &entry);
        self.refill(access);
        if self.txn.accesses[access].is_new() {
            self.reserve_place(access)?;
        }
        if entry.absence == Absence::Kept {
            self.witness_leaf(entry.place.leaf_seen());
        }
        self.txn.accesses[access].state = State::Inserted;
        self.writes.rows.push(access);
        Ok(())
    }

    /// Gives the access a new image with its key and a zeroed payload.
    fn refill(&mut self, access: AccessId) {
        let entry = self.txn.accesses[access];
        let row = self.open.info(entry.table).row;
        let batch = &mut *self.txn.batch;
        let fresh = batch.reserve(row.words());
        batch.words_mut(fresh).fill(0);
        for word in 0..row.key_words {
            let value = batch.word(entry.key_at + word);
            batch.set_word(fresh.at + KEY + word, value);
        }
        self.txn.accesses[access].fresh = fresh;
    }

    /// Serializable only: the content of this leaf must hold until the commit.
    pub(crate) fn witness_leaf(&mut self, seen: LeafSeenId) {
        if !self.txn.serializable {
            return;
        }
        let LeafSeen { leaf, insert, .. } = self.txn.leaves_seen[seen];
        let version = self.txn.leaf_version(seen);
        self.witnesses.add_leaf(LeafWitness { leaf, insert: insert.word(), version });
    }

    /// Serializable only: this word must not change until the commit.
    #[inline]
    pub(crate) fn witness_word(&mut self, word: GlobalPtr, value: u64) {
        if self.txn.serializable {
            self.witnesses.add_word(word, value);
        }
    }

    /// Adds the bucket or leaf of a new row's entry to the write set.
    fn reserve_place(&mut self, access: AccessId) -> Result<(), TxnError> {
        let entry = self.txn.accesses[access];
        match &self.open.info(entry.table).primary {
            Primary::Hash(_) => {
                let seen = self.txn.buckets_seen[entry.place.bucket_seen()];
                let is_locked = VersionWord::from_word(seen.insert).is_locked();
                if is_locked && !self.env.mutant(Mutant::WriteStealBucketLock) {
                    self.note_stray(LockedWord::Structure(seen.bucket), seen.insert);
                    return Err(Abort::InsertConflict.into());
                }
                let insert = self.writes.bucket_insert(&self.env, &seen)?;
                self.txn.accesses[access].place = KeyPlace::BucketInsert(insert);
                Ok(())
            }
            Primary::Tree(_) => {
                let row = self.open.info(entry.table).row;
                let key = Span { at: entry.fresh.at + KEY, words: row.key_words };
                let (owner, seen) = (Owner::Table(entry.table), entry.place.leaf_seen());
                self.add_leaf_insert(LeafInsert { owner, seen, key, access })
            }
        }
    }

    /// Adds an entry for a leaf that was read.
    pub(crate) fn add_leaf_insert(&mut self, insert: LeafInsert) -> Result<(), TxnError> {
        let added = self.writes.add_leaf_insert(&self.env, &self.txn.leaves_seen, insert);
        added.inspect_err(|_| self.note_stray_leaf(insert.seen))
    }

    /// Notes the lock of a leaf, if it is stray.
    #[cold]
    pub(crate) fn note_stray_leaf(&mut self, seen: LeafSeenId) {
        let LeafSeen { leaf, insert, .. } = self.txn.leaves_seen[seen];
        self.note_stray(LockedWord::Structure(leaf), insert.word());
    }
}
