//! Inserts, and what a transaction remembers of the places it will write to. Everything stays local
//! until commit.

use crate::abort::{Abort, TxnError};
use crate::access::{Absence, RowId, State};
use crate::catalog::{IndexId, Primary, Secondary, TableId};
use crate::lane::LaneInner;
use crate::transaction::Transaction;
use fabric::{Env, Mutant, Span};
use index::hash::HashTable;
use index::tree::{LeafCache, Tree};
use layout::row::KEY;
use layout::{GlobalPtr, Key, VersionWord, leaf};

/// Most rows that one transaction may write.
pub const WRITES_MAX: usize = 1 << 16;

/// Whose structure a bucket or leaf belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Owner {
    /// A table's primary key.
    Table(u32),
    /// A secondary index.
    Index(u32),
}

/// A bucket in which a key was looked for and not found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BucketSeen {
    /// Whose bucket.
    pub owner: Owner,
    /// The bucket.
    pub bucket: GlobalPtr,
    /// Its insert word, read before its slots.
    pub insert: u64,
    /// The last block of its chain.
    pub block: GlobalPtr,
    /// Slots of that block.
    pub block_slots: u32,
    /// Tags of that block.
    pub tags: u64,
}

/// A bucket that the transaction inserts into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BucketInsert {
    /// The bucket.
    pub bucket: GlobalPtr,
    /// What its insert word must hold.
    pub insert: u64,
    /// Its block that is filled at the moment, in the lane's list.
    pub block: u32,
    /// Whose bucket.
    pub owner: Owner,
}

/// A block of a bucket's chain that the transaction puts entries into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InsertBlock {
    /// The bucket whose chain it is in.
    pub bucket: GlobalPtr,
    /// The block.
    pub block: GlobalPtr,
    /// Its slots.
    pub slots: u32,
    /// Its tags once all entries are in.
    pub tags: u64,
    /// For a new block: the block whose link will lead to it.
    pub linked_from: GlobalPtr,
    /// Whose block.
    pub owner: Owner,
}

/// An entry that the transaction adds to a secondary hash index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryInsert {
    /// The index.
    pub index: u32,
    /// The entry's key.
    pub key: Key,
    /// The access whose row it leads to.
    pub access: u32,
    /// Block and slot that it goes to.
    pub place: u32,
}

/// An entry that the transaction adds to a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafInsert {
    /// Whose leaf.
    pub owner: Owner,
    /// The leaf, by position in the lane's list of leaves seen.
    pub seen: u32,
    /// The entry's key, in the arena.
    pub key: Span,
    /// The access whose row it leads to.
    pub access: u32,
}

/// A leaf that the transaction has read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafSeen {
    /// Whose leaf.
    pub owner: Owner,
    /// The leaf.
    pub leaf: GlobalPtr,
    /// Its words in the arena.
    pub span: Span,
    /// Its insert word.
    pub insert: VersionWord,
    /// It was not read but kept from the lane's own last write: nobody goes by it without its lock.
    pub is_kept: bool,
    /// Where the last key that was looked for stands or would stand; the next is often beside it.
    pub near: u32,
}

/// A leaf that stands for the absence of keys. Its insert word may have been read later than its entries,
/// so the rewrite counter, which was read with them, has to be the same, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafWitness {
    /// The leaf.
    pub leaf: GlobalPtr,
    /// Its insert word.
    pub insert: u64,
    /// Its rewrite counter.
    pub version: u64,
}

impl<E: Env> Transaction<'_, E> {
    /// Adds a row with this key; fill its columns with [`Transaction::update`]. Until then numbers are
    /// zero and texts empty.
    #[inline]
    pub async fn insert(&mut self, table: TableId, key: &Key) -> Result<RowId, TxnError> {
        let mut row = RowId::default();
        self.insert_each(&[(table, *key)], &mut |inserted| row = inserted).await?;
        Ok(row)
    }

    /// Adds independent rows together: one round trip to see that their keys are free. Where one is refused, `rows` ends with that
    /// row, and those before it were added.
    #[inline]
    pub async fn insert_many(
        &mut self,
        inserts: &[(TableId, Key)],
        rows: &mut Vec<RowId>,
    ) -> Result<(), TxnError> {
        rows.clear();
        self.insert_each(inserts, &mut |row| rows.push(row)).await
    }

    async fn insert_each(
        &mut self,
        inserts: &[(TableId, Key)],
        visit: &mut impl FnMut(RowId),
    ) -> Result<(), TxnError> {
        let lane = self.lane().begin_statement()?;
        let inserted = lane.insert_each(inserts, visit).await;
        lane.end_statement(inserted)
    }
}

impl<E: Env> LaneInner<E> {
    async fn insert_each(
        &mut self,
        inserts: &[(TableId, Key)],
        visit: &mut impl FnMut(RowId),
    ) -> Result<(), TxnError> {
        let mut accesses = std::mem::take(&mut self.scratch.inserting);
        accesses.clear();
        self.settle_kept(inserts)?;
        let located =
            self.locate_many(inserts, (&[], true), &mut |access, _| accesses.push(access)).await;
        let mut result = located;
        for &access in &accesses {
            if result.is_ok() {
                result = self.insert_access(access);
                visit(self.row_id(access));
            }
        }
        self.scratch.inserting = accesses;
        result
    }

    /// Turns an absent access into an inserted one.
    pub(crate) fn insert_access(&mut self, access: u32) -> Result<(), TxnError> {
        let entry = self.accesses[access as usize];
        match (entry.state, entry.absence) {
            (State::Read | State::Updated | State::Inserted, _) => {
                let table = self.info(entry.table).schema.name().to_owned();
                return Err(TxnError::DuplicateKey { table });
            }
            // Deleted by this very transaction: the row comes back as an update.
            (State::Deleted, Absence::None) => {
                self.refill(access);
                self.accesses[access as usize].state = State::Updated;
                return Ok(());
            }
            (State::Deleted, _) => {
                self.refill(access);
                self.accesses[access as usize].state = State::Inserted;
                return Ok(());
            }
            (State::Absent, Absence::Later) => return Err(Abort::InsertConflict.into()),
            (State::Absent, _) => {}
        }
        if self.written.len() == WRITES_MAX {
            return Err(TxnError::TooLarge(
                "it writes more than 65,536 rows; use several transactions",
            ));
        }
        self.refill(access);
        if self.accesses[access as usize].is_new() {
            self.reserve_place(access)?;
        }
        if entry.absence == Absence::Kept {
            self.witness_leaf(entry.place as usize);
        }
        self.accesses[access as usize].state = State::Inserted;
        self.written.push(access);
        Ok(())
    }

    /// Gives the access a fresh image with its key and a zeroed payload.
    fn refill(&mut self, access: u32) {
        let entry = self.accesses[access as usize];
        let row = self.info(entry.table).row;
        let batch = self.batch();
        let fresh = batch.reserve(row.words());
        batch.words_mut(fresh).fill(0);
        for word in 0..row.key_words {
            let value = batch.word(entry.key_at + word);
            batch.set_word(fresh.at + KEY + word, value);
        }
        self.accesses[access as usize].fresh = fresh;
    }

    /// Serializable: what was concluded from this leaf has to hold until the commit.
    pub(crate) fn witness_leaf(&mut self, seen: usize) {
        if !self.serializable {
            return;
        }
        let LeafSeen { leaf, span, insert, .. } = self.leaves_seen[seen];
        let version = self.batch().word(span.at + leaf::VERSION);
        self.leaf_witnesses.push(LeafWitness { leaf, insert: insert.word(), version });
    }

    /// Notes where the new row's entry goes: its bucket or its leaf.
    fn reserve_place(&mut self, access: u32) -> Result<(), TxnError> {
        let entry = self.accesses[access as usize];
        match &self.info(entry.table).primary {
            Primary::Hash(_) => {
                let seen = self.buckets_seen[entry.place as usize];
                let is_locked = VersionWord::from_word(seen.insert).is_locked();
                if is_locked && !self.env.mutant(Mutant::WriteStealBucketLock) {
                    return Err(Abort::InsertConflict.into());
                }
                self.accesses[access as usize].place = self.bucket_insert(&seen)?;
            }
            Primary::Tree(_) => {
                let row = self.info(entry.table).row;
                let key = Span { at: entry.fresh.at + KEY, words: row.key_words };
                self.add_leaf_insert(Owner::Table(entry.table), entry.place, key, access)?;
            }
        }
        Ok(())
    }

    /// Notes that an entry goes into a leaf that was seen.
    pub(crate) fn add_leaf_insert(
        &mut self,
        owner: Owner,
        seen: u32,
        key: Span,
        access: u32,
    ) -> Result<(), TxnError> {
        let is_locked = self.leaves_seen[seen as usize].insert.is_locked();
        if is_locked && !self.env.mutant(Mutant::WriteStealLeafLock) {
            return Err(Abort::InsertConflict.into());
        }
        self.leaf_inserts.push(LeafInsert { owner, seen, key, access });
        Ok(())
    }

    /// The transaction's note of a bucket it inserts into. Two keys may have been looked for at different
    /// times: one swap proves both absent only if the insert word was the same.
    pub(crate) fn bucket_insert(&mut self, seen: &BucketSeen) -> Result<u32, TxnError> {
        let known = self.bucket_inserts.iter().position(|other| other.bucket == seen.bucket);
        if let Some(known) = known {
            let is_same = self.bucket_inserts[known].insert == seen.insert;
            if !is_same && !self.env.mutant(Mutant::WriteMixBucketReadings) {
                return Err(Abort::InsertConflict.into());
            }
            return Ok(known as u32);
        }
        let block = InsertBlock {
            bucket: seen.bucket,
            block: seen.block,
            slots: seen.block_slots,
            tags: seen.tags,
            linked_from: GlobalPtr::NULL,
            owner: seen.owner,
        };
        self.insert_blocks.push(block);
        self.bucket_inserts.push(BucketInsert {
            bucket: seen.bucket,
            insert: seen.insert,
            block: self.insert_blocks.len() as u32 - 1,
            owner: seen.owner,
        });
        Ok(self.bucket_inserts.len() as u32 - 1)
    }

    /// The hash table of a table or index.
    pub(crate) fn hash_table(&self, owner: Owner) -> &HashTable {
        match owner {
            Owner::Table(table) => match &self.info(table).primary {
                Primary::Hash(hash) => hash,
                Primary::Tree(_) => unreachable!("the caller knows that the table is hashed"),
            },
            Owner::Index(index) => match &self.index_info(index).storage {
                Secondary::Hash(hash) => hash,
                Secondary::Tree(_) => unreachable!("the caller knows that the index is hashed"),
            },
        }
    }

    /// The tree of a table or index.
    #[inline]
    pub(crate) fn tree(&self, owner: Owner) -> Tree {
        match owner {
            Owner::Table(table) => match &self.info(table).primary {
                Primary::Tree(tree) => *tree,
                Primary::Hash(_) => unreachable!("the caller knows that the table is a tree"),
            },
            Owner::Index(index) => match &self.index_info(index).storage {
                Secondary::Tree(tree) => *tree,
                Secondary::Hash(_) => unreachable!("the caller knows that the index is a tree"),
            },
        }
    }

    /// The leaves that this lane remembers of a tree.
    #[inline]
    pub(crate) fn leaf_cache(&mut self, owner: Owner) -> &mut LeafCache {
        match owner {
            Owner::Table(table) => &mut self.lane_table(table).leaves,
            Owner::Index(index) => {
                let index = self.indexes[index as usize].as_mut();
                &mut index.expect("indexes are opened with their table").leaves
            }
        }
    }

    /// The index with this number, if it may be read.
    pub(crate) fn readable_index(
        &self,
        index: IndexId,
    ) -> Result<std::sync::Arc<crate::catalog::IndexInfo>, TxnError> {
        let info = self.catalog.index_info(index).filter(|info| info.is_readable).cloned();
        info.ok_or_else(|| {
            crate::catalog::CatalogError::NoIndex(format!("number {}", index.0)).into()
        })
    }
}
