//! Posts what a read asks for first: a row whose address is known, a bucket, or a leaf.

use super::{Pending, Step, same_words};
use crate::abort::TxnError;
use crate::access::Access;
use crate::catalog::{Primary, TableId};
use crate::lane::LaneInner;
use crate::write::Owner;
use fabric::{Env, SlotGeometry, Span};
use layout::row::Cover;
use layout::{GlobalPtr, Key};

/// Most rows in one transaction's access set.
pub const ACCESSES_MAX: usize = 1 << 20;

/// Most words of rows that a transaction may hold (512 MiB); the batch's own limit is far beyond it.
pub const ARENA_WORDS_MAX: usize = 64 << 20;

/// Most reads of a transaction that are worth a prefetch: the misses of more overlap with each other.
const PREFETCHES_MAX: usize = 4;

/// Mixes the table into a key's hash, so that one map serves all tables.
#[inline]
pub(crate) fn access_hash(table: u32, key: &[u64]) -> u64 {
    let mixed = key.iter().fold(u64::from(table) + 1, |sum, &word| {
        (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    });
    mixed ^ mixed >> 32
}

impl<E: Env> LaneInner<E> {
    /// The access of a key; if it is new, posts the first verb of its lookup. The table is open.
    #[inline]
    pub(crate) fn post_lookup(
        &mut self,
        table: u32,
        key: &Key,
        pending: &mut Vec<Pending>,
    ) -> Result<u32, TxnError> {
        let map_hash = access_hash(table, key.words());
        if let Some(access) = self.known_access(table, key.words(), map_hash) {
            return Ok(access);
        }
        let span = self.batch().put(key.words());
        self.post_new_lookup(table, span, map_hash, pending)
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
            Ok(access) => Ok(access),
            Err(map_hash) => self.post_new_lookup(table, key, map_hash, pending),
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
        let map_hash = match self.access_of(table, key) {
            Ok(access) => return Ok(access),
            Err(map_hash) => map_hash,
        };
        let access = self.add_access(table, map_hash, key.at)?;
        let words = self.info(table).row.words();
        self.env.expect(row, words);
        let span = self.batch().read_row(row, words, Cover::AllButLink);
        pending.push(Pending { access, step: Step::Row(row), span });
        Ok(access)
    }

    /// The access of the row with this key, or what its place in the map is found by.
    #[inline(always)]
    fn access_of(&self, table: u32, key: Span) -> Result<u32, u64> {
        let words = self.batch.as_ref().expect("the batch is here").words(key);
        let map_hash = access_hash(table, words);
        self.known_access(table, words, map_hash).ok_or(map_hash)
    }

    /// Asks for the buckets of these rows, as far as the lane knows where they are.
    pub(crate) fn prefetch(&self, reads: &[(TableId, Key)]) {
        if reads.len() > PREFETCHES_MAX {
            return;
        }
        for (table, key) in reads {
            if !self.is_open(table.0) {
                continue;
            }
            let (info, lane_table) = (self.info(table.0), &self.tables[table.0 as usize]);
            if let Primary::Hash(hash) = &info.primary
                && let Some(lane_table) = lane_table
                && key.words().len() == info.row.key_words as usize
            {
                let place = hash.locate(&lane_table.directory, key.words());
                let geometry = SlotGeometry::bucket(&hash.layout, hash.rows, place.tag_hash);
                self.env.expect(place.bucket, geometry.first_words());
            }
        }
    }

    fn post_new_lookup(
        &mut self,
        table: u32,
        key: Span,
        map_hash: u64,
        pending: &mut Vec<Pending>,
    ) -> Result<u32, TxnError> {
        let access = self.add_access(table, map_hash, key.at)?;
        let Self { catalog, tables, batch, .. } = self;
        let info = catalog.tables[table as usize].as_ref().expect("the table is open");
        match &info.primary {
            Primary::Hash(hash) => {
                let lane_table = tables[table as usize].as_ref().expect("the table is open");
                let batch = batch.as_mut().expect("between round trips the batch is here");
                let place = hash.locate(&lane_table.directory, batch.words(key));
                let geometry = SlotGeometry::bucket(&hash.layout, hash.rows, place.tag_hash);
                self.env.expect(place.bucket, geometry.first_words());
                let span = batch.find_slot(place.bucket, geometry, key);
                pending.push(Pending { access, step: Step::Bucket(place.bucket), span });
            }
            Primary::Tree(tree) => {
                let tree = *tree;
                let step = self.post_leaf(Owner::Table(table), &tree, key, pending);
                pending.push(Pending { access, step, span: Span::default() });
            }
        }
        Ok(access)
    }

    /// The access that already holds this row.
    #[inline(always)]
    pub(crate) fn known_access(&self, table: u32, key: &[u64], hash: u64) -> Option<u32> {
        let batch = self.batch.as_ref()?;
        self.map.find(hash, |access| {
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
        hash: u64,
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
        self.accesses.push(Access::absent(table, key_at, hash));
        self.map.insert(hash, access);
        Ok(access)
    }
}
