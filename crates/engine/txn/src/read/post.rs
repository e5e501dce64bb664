//! Posts the first verb of a read: of a row with a known address, of a bucket, or of a leaf.

use super::columns::WHOLE;
use super::{Pending, Step};
use crate::abort::TxnError;
use crate::catalog::{IndexId, Primary, Secondary, TableId};
use crate::lane::LaneInner;
use crate::read::access::{Access, AccessId};
use crate::write::Owner;
use fabric::{Env, SlotGeometry, Span};
use index::hash::{Directory, HashTable};
use layout::row::Cover;
use layout::{GlobalPtr, Key};

/// Maximal number of rows in one transaction's access set, those that it writes included.
pub const ACCESSES_MAX: usize = 1 << 22;

/// Maximal number of words of rows that a transaction may hold (512 MiB); the batch's own limit is
/// far larger.
pub const ARENA_WORDS_MAX: usize = 64 << 20;

/// Maximal number of reads of a transaction that are worth a prefetch: with more, their cache
/// misses overlap anyway.
const PREFETCHES_MAX: usize = 4;

/// Hashes a table and a key, so that one map serves all tables. Only the upper half is well mixed:
/// each of its bits depends on all bits of the key.
#[inline]
pub(crate) fn access_hash(table: TableId, key: &[u64]) -> u64 {
    key.iter().fold(u64::from(table.0) + 1, |sum, &word| {
        (sum.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

/// The bucket of a key according to the lane's directory, and the geometry for a read of `words`
/// words of the row.
#[inline(always)]
fn bucket_of(
    hash: &HashTable,
    directory: &Directory,
    key: &[u64],
    words: u32,
) -> (GlobalPtr, SlotGeometry) {
    let place = hash.locate(directory, key);
    let mut geometry = SlotGeometry::bucket(&hash.layout, hash.rows, place.tag_hash);
    if hash.rows && geometry.slots == 1 {
        geometry.slot_words = u32::from(geometry.slot_words).min(words) as u16;
    }
    (place.bucket, geometry)
}

/// Like [`bucket_of`]; also prefetches the bucket.
#[inline(always)]
fn prefetch_bucket<E: Env>(
    env: &E,
    hash: &HashTable,
    directory: &Directory,
    key: &[u64],
    words: u32,
) -> (GlobalPtr, SlotGeometry) {
    let (bucket, geometry) = bucket_of(hash, directory, key, words);
    env.prefetch(bucket, geometry.first_words());
    (bucket, geometry)
}

/// The lookup of a row that is read alone.
pub(super) struct LoneLookup {
    pub access: AccessId,
    /// The read of the row; `None` if the transaction already has the row.
    pub pending: Option<Pending>,
}

impl<E: Env> LaneInner<E> {
    /// The access of a key. Posts the first verb of its lookup unless the transaction has `words`
    /// words of the row. The table is open.
    #[inline]
    pub(crate) fn post_lookup(
        &mut self,
        table: TableId,
        key: &Key,
        words: u32,
        pending: &mut Vec<Pending>,
    ) -> Result<AccessId, TxnError> {
        match self.txn.known_access(table, key.words()) {
            Ok(access) => {
                self.complete(access, words, pending);
                Ok(access)
            }
            Err(vacancy) => {
                let key = self.txn.batch.put(key.words());
                let access = self.txn.add_access(table, vacancy, key.at)?;
                self.post_first(access, key, words, pending);
                Ok(access)
            }
        }
    }

    /// Like [`Self::post_lookup`], for a row that is read alone: it posts nothing else, and does
    /// not prefetch, because the verb executes at once. Returns the read as well, unless the
    /// transaction has the row.
    #[inline(always)]
    pub(super) fn post_lone_lookup(
        &mut self,
        table: TableId,
        key: &Key,
    ) -> Result<LoneLookup, TxnError> {
        let (access, key) = match self.txn.known_access(table, key.words()) {
            Ok(access) if self.has_words(access, WHOLE) => {
                self.guard_known(access);
                return Ok(LoneLookup { access, pending: None });
            }
            Ok(access) => {
                let Access { key_at, .. } = self.txn.accesses[access];
                (access, Span { at: key_at, words: key.words().len() as u32 })
            }
            Err(vacancy) => {
                let key = self.txn.batch.put(key.words());
                (self.txn.add_access(table, vacancy, key.at)?, key)
            }
        };
        let pending = match &self.open.info(table).primary {
            Primary::Hash(hash) => {
                let directory = &self.open.table(table).directory;
                let batch = &mut *self.txn.batch;
                let (bucket, geometry) = bucket_of(hash, directory, batch.words(key), WHOLE);
                let span = batch.find_slot(bucket, geometry, key);
                Pending { access, step: Step::Bucket(bucket), span }
            }
            Primary::Tree(tree) => {
                let tree = *tree;
                let step = self.post_leaf(Owner::Table(table), &tree, key, &[]);
                Pending { access, step, span: Span::default() }
            }
        };
        Ok(LoneLookup { access, pending: Some(pending) })
    }

    /// Like [`Self::post_lookup`], with the key in the arena.
    #[inline]
    pub(crate) fn post_key(
        &mut self,
        table: TableId,
        key: Span,
        pending: &mut Vec<Pending>,
    ) -> Result<AccessId, TxnError> {
        match self.txn.access_of(table, key) {
            Ok(access) => {
                self.complete(access, WHOLE, pending);
                Ok(access)
            }
            Err(vacancy) => {
                let access = self.txn.add_access(table, vacancy, key.at)?;
                self.post_first(access, key, WHOLE, pending);
                Ok(access)
            }
        }
    }

    /// Posts the lookup of a row again if an earlier read fetched fewer words than are needed now.
    #[inline(always)]
    fn complete(&mut self, access: AccessId, words: u32, pending: &mut Vec<Pending>) {
        if !self.has_words(access, words) {
            let Access { table, key_at, .. } = self.txn.accesses[access];
            let key = Span { at: key_at, words: self.open.info(table).row.key_words };
            self.post_first(access, key, words, pending);
            return;
        }
        self.guard_known(access);
    }

    /// A guarded read has found a row that the transaction has.
    #[inline(always)]
    fn guard_known(&mut self, access: AccessId) {
        if self.txn.guards {
            self.witness_known(access);
        }
    }

    /// Posts the read of a row with a known address; its key is in the arena.
    #[inline]
    pub(crate) fn post_row(
        &mut self,
        table: TableId,
        key: Span,
        row: GlobalPtr,
        pending: &mut Vec<Pending>,
    ) -> Result<AccessId, TxnError> {
        let access = match self.txn.access_of(table, key) {
            Ok(access) if self.has_words(access, WHOLE) => {
                self.guard_known(access);
                return Ok(access);
            }
            Ok(access) => access,
            Err(vacancy) => self.txn.add_access(table, vacancy, key.at)?,
        };
        let words = self.open.info(table).row.words();
        self.env.prefetch(row, words);
        let span = self.txn.batch.read_row(row, words, Cover::AllButLink);
        pending.push(Pending { access, step: Step::Row(row), span });
        Ok(access)
    }

    /// Prefetches the buckets of these rows if the lane knows their addresses.
    pub(crate) fn prefetch(&self, reads: &[(TableId, Key)]) {
        if reads.len() > PREFETCHES_MAX {
            return;
        }
        for (table, key) in reads {
            if !self.open.is_open(*table) {
                continue;
            }
            if !key.may_have_bytes(self.open.info(*table).schema.key_bytes()) {
                continue;
            }
            let table = self.open.part_of(*table, key.words());
            let (info, lane_table) = (self.open.info(table), &self.open.tables[table.position()]);
            if let Primary::Hash(hash) = &info.primary
                && let Some(lane_table) = lane_table
            {
                prefetch_bucket(&self.env, hash, &lane_table.directory, key.words(), WHOLE);
            }
        }
    }

    /// Prefetches the bucket of this key in a hash index if the lane knows its address.
    pub(crate) fn prefetch_lookup(&self, index: IndexId, key: &Key) {
        let Some(info) = self.open.catalog.index_info(index) else { return };
        if !key.may_have_bytes(info.column_bytes) {
            return;
        }
        let index = self.open.index_part_of(index, info, key.words());
        let Some(info) = self.open.catalog.index_info(index) else { return };
        let Some(Some(open)) = self.open.indexes.get(index.position()) else { return };
        if let Secondary::Hash(hash) = &info.storage {
            let bucket = hash.locate(&open.directory, key.words()).bucket;
            self.env.prefetch(bucket, hash.layout.words());
        }
    }

    /// Posts the first verb of a lookup: the read of a bucket or leaf.
    fn post_first(&mut self, access: AccessId, key: Span, words: u32, pending: &mut Vec<Pending>) {
        let table = self.txn.accesses[access].table;
        match &self.open.info(table).primary {
            Primary::Hash(hash) => {
                let batch = &mut *self.txn.batch;
                let directory = &self.open.table(table).directory;
                let (bucket, geometry) =
                    prefetch_bucket(&self.env, hash, directory, batch.words(key), words);
                let span = batch.find_slot(bucket, geometry, key);
                pending.push(Pending { access, step: Step::Bucket(bucket), span });
            }
            Primary::Tree(tree) => {
                let tree = *tree;
                let step = self.post_leaf(Owner::Table(table), &tree, key, pending);
                pending.push(Pending { access, step, span: Span::default() });
            }
        }
    }
}
