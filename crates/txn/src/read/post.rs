//! Posts what a read asks for first: a row whose address is known, a bucket, or a leaf.

use super::columns::WHOLE;
use super::{Pending, Step, same_words};
use crate::abort::TxnError;
use crate::access::{Access, Vacancy};
use crate::catalog::{Primary, Secondary, TableId};
use crate::lane::LaneInner;
use crate::write::Owner;
use fabric::{Env, SlotGeometry, Span};
use index::hash::{Directory, HashTable};
use layout::row::Cover;
use layout::{GlobalPtr, Key};

/// Most rows in one transaction's access set.
pub const ACCESSES_MAX: usize = 1 << 20;

/// Most words of rows that a transaction may hold (512 MiB); the batch's own limit is far beyond it.
pub const ARENA_WORDS_MAX: usize = 64 << 20;

/// Most reads of a transaction that are worth a prefetch: the misses of more overlap with each other.
const PREFETCHES_MAX: usize = 4;

/// Mixes the table into a key's hash, so that one map serves all tables. Only the upper half is well mixed: each
/// of its bits depends on all bits of the key.
#[inline]
pub(crate) fn access_hash(table: u32, key: &[u64]) -> u64 {
    key.iter().fold(u64::from(table) + 1, |sum, &word| {
        (sum.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

/// The bucket of a key, as far as the lane knows, and the shape it is looked at in if so many words of its row are
/// wanted.
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

/// As [`bucket_of`], and prefetches the bucket.
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

impl<E: Env> LaneInner<E> {
    /// The access of a key; posts the first verb of its lookup unless so many words of its row are there. The table
    /// is open.
    #[inline]
    pub(crate) fn post_lookup(
        &mut self,
        table: u32,
        key: &Key,
        words: u32,
        pending: &mut Vec<Pending>,
    ) -> Result<u32, TxnError> {
        match self.known_access(table, key.words()) {
            Ok(access) => {
                self.complete(access, words, pending);
                Ok(access)
            }
            Err(vacancy) => {
                let key = self.batch().put(key.words());
                let access = self.add_access(table, vacancy, key.at)?;
                self.post_first(access, key, words, pending);
                Ok(access)
            }
        }
    }

    /// As [`Self::post_lookup`], of a row that is read alone: nothing else is posted, and nothing is asked for ahead, since
    /// the verb follows at once. Answers the read as well, unless the row is there.
    #[inline(always)]
    pub(super) fn post_lone_lookup(
        &mut self,
        table: u32,
        key: &Key,
    ) -> Result<(u32, Option<Pending>), TxnError> {
        let (access, key) = match self.known_access(table, key.words()) {
            Ok(access) if self.has_words(access, WHOLE) => return Ok((access, None)),
            Ok(access) => {
                let Access { key_at, .. } = self.accesses[access as usize];
                (access, Span { at: key_at, words: key.words().len() as u32 })
            }
            Err(vacancy) => {
                let key = self.batch().put(key.words());
                (self.add_access(table, vacancy, key.at)?, key)
            }
        };
        let Self { catalog, tables, batch, .. } = self;
        let info = catalog.tables[table as usize].as_ref().expect("the table is open");
        let pending = match &info.primary {
            Primary::Hash(hash) => {
                let open = tables[table as usize].as_ref().expect("the table is open");
                let batch = batch.as_mut().expect("between round trips the batch is here");
                let (bucket, geometry) = bucket_of(hash, &open.directory, batch.words(key), WHOLE);
                let span = batch.find_slot(bucket, geometry, key);
                Pending { access, step: Step::Bucket(bucket), span }
            }
            Primary::Tree(tree) => {
                let tree = *tree;
                let step = self.post_leaf(Owner::Table(table), &tree, key, &[]);
                Pending { access, step, span: Span::default() }
            }
        };
        Ok((access, Some(pending)))
    }

    /// As [`Self::post_lookup`], with the key in the arena.
    #[inline]
    pub(crate) fn post_key(
        &mut self,
        table: u32,
        key: Span,
        pending: &mut Vec<Pending>,
    ) -> Result<u32, TxnError> {
        match self.access_of(table, key) {
            Ok(access) => {
                self.complete(access, WHOLE, pending);
                Ok(access)
            }
            Err(vacancy) => {
                let access = self.add_access(table, vacancy, key.at)?;
                self.post_first(access, key, WHOLE, pending);
                Ok(access)
            }
        }
    }

    /// Posts the lookup of a row again if less of it has come than is wanted now.
    #[inline(always)]
    fn complete(&mut self, access: u32, words: u32, pending: &mut Vec<Pending>) {
        if !self.has_words(access, words) {
            let Access { table, key_at, .. } = self.accesses[access as usize];
            let key = Span { at: key_at, words: self.info(table).row.key_words };
            self.post_first(access, key, words, pending);
        }
    }

    /// Posts the read of a row whose address is known, its key in the arena.
    #[inline]
    pub(crate) fn post_row(
        &mut self,
        table: u32,
        key: Span,
        row: GlobalPtr,
        pending: &mut Vec<Pending>,
    ) -> Result<u32, TxnError> {
        let access = match self.access_of(table, key) {
            Ok(access) if self.has_words(access, WHOLE) => return Ok(access),
            Ok(access) => access,
            Err(vacancy) => self.add_access(table, vacancy, key.at)?,
        };
        let words = self.info(table).row.words();
        self.env.prefetch(row, words);
        let span = self.batch().read_row(row, words, Cover::AllButLink);
        pending.push(Pending { access, step: Step::Row(row), span });
        Ok(access)
    }

    /// The access of the row with this key, or the place in the map for a new one.
    #[inline(always)]
    fn access_of(&self, table: u32, key: Span) -> Result<u32, Vacancy> {
        let words = self.batch.as_ref().expect("the batch is here").words(key);
        self.known_access(table, words)
    }

    /// Prefetches the buckets of these rows, as far as the lane knows where they are.
    pub(crate) fn prefetch(&self, reads: &[(TableId, Key)]) {
        if reads.len() > PREFETCHES_MAX {
            return;
        }
        for (table, key) in reads {
            if !self.is_open(table.0) {
                continue;
            }
            if !key.may_have_bytes(self.info(table.0).schema.key_bytes()) {
                continue;
            }
            let table = self.part_of(table.0, key.words());
            let (info, lane_table) = (self.info(table), &self.tables[table as usize]);
            if let Primary::Hash(hash) = &info.primary
                && let Some(lane_table) = lane_table
            {
                prefetch_bucket(&self.env, hash, &lane_table.directory, key.words(), WHOLE);
            }
        }
    }

    /// Prefetches the bucket of this key in an index, as far as the lane knows where it is.
    pub(crate) fn prefetch_lookup(&self, index: u32, key: &Key) {
        let Some(Some(info)) = self.catalog.indexes.get(index as usize) else { return };
        if !key.may_have_bytes(info.column_bytes) {
            return;
        }
        let index = self.index_part_of(index, info, key.words());
        let Some(Some(info)) = self.catalog.indexes.get(index as usize) else { return };
        let Some(Some(open)) = self.indexes.get(index as usize) else { return };
        if let Secondary::Hash(hash) = &info.storage {
            let bucket = hash.locate(&open.directory, key.words()).bucket;
            self.env.prefetch(bucket, hash.layout.words());
        }
    }

    /// Posts the first verb of a lookup: the read of a bucket or leaf.
    fn post_first(&mut self, access: u32, key: Span, words: u32, pending: &mut Vec<Pending>) {
        let table = self.accesses[access as usize].table;
        let Self { catalog, tables, batch, .. } = self;
        let info = catalog.tables[table as usize].as_ref().expect("the table is open");
        match &info.primary {
            Primary::Hash(hash) => {
                let lane_table = tables[table as usize].as_ref().expect("the table is open");
                let batch = batch.as_mut().expect("between round trips the batch is here");
                let directory = &lane_table.directory;
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

    /// The access that already holds this row, or the place in the map for a new one.
    #[inline(always)]
    pub(crate) fn known_access(&self, table: u32, key: &[u64]) -> Result<u32, Vacancy> {
        let batch = self.batch.as_ref().expect("between round trips the batch is here");
        self.map.find(access_hash(table, key), |access| {
            let other = &self.accesses[access as usize];
            let words = Span { at: other.key_at, words: key.len() as u32 };
            other.table == table && same_words(batch.words(words), key)
        })
    }

    /// A new access; what it holds is settled later.
    #[inline(always)]
    pub(crate) fn add_access(
        &mut self,
        table: u32,
        vacancy: Vacancy,
        key_at: u32,
    ) -> Result<u32, TxnError> {
        let access = self.accesses.len() as u32;
        if self.batch().arena_words() > ARENA_WORDS_MAX {
            return Err(TxnError::TooLarge(
                "it holds more than 512 MiB of rows; use for_each or several transactions",
            ));
        }
        if self.accesses.len() == ACCESSES_MAX {
            return Err(TxnError::TooLarge(
                "it touches more than 1,048,576 rows; use for_each or several transactions",
            ));
        }
        self.accesses.push(Access::absent(table, key_at));
        self.map.insert(vacancy, access);
        Ok(access)
    }
}
