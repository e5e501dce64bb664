//! Secondary indexes: their entries are part of the transaction that changes the rows [ZB17 §5.2].
//!
//! Entries have no version. A commit adds an entry with the first version of a row that has its
//! key, and the entry stays until no snapshot needs it; a reader that follows it checks the row.
//!
//! Decision: docs/decisions/0256-an-index-stores-only-the-primary-key-columns-that-its-own.md

use crate::abort::{Abort, TxnError};
use crate::catalog::{IndexId, IndexInfo, Primary, Secondary, TableId};
use crate::lane::LaneInner;
use crate::read::access::{Absence, Access, AccessId, State};
use crate::read::same_words;
use crate::read::scan::KeyedRow;
use crate::recovery::LockedWord;
use crate::write::unique::UniqueViolation;
use crate::write::write_set::{EntryInsert, LeafInsert, UniqueKey};
use crate::write::{BlockRoom, BucketSeen, LeafSeenId, Owner};
use fabric::{Env, Mutant, SlotGeometry, SlotRead, Span};
use index::tree::LeafView;
use layout::record::copy_key_bytes;
use layout::row::{Cover, HEADER, KEY, VERSION};
use layout::{GlobalPtr, Key, KeyBuilder, RecordRef, VersionWord, bucket};

/// Maximal number of blocks to follow in an index bucket's chain.
pub(crate) const CHAIN_BLOCKS_MAX: u32 = 10_000;

/// Maximal number of lookups of a row's newest version while its table grows.
const LOOKUP_COUNT_MAX: u32 = 1000;

/// Number of entries from which on they are prepared in the order of their keys.
const ENTRIES_UNSORTED_MAX: usize = 64;

/// An entry that the write set needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) index: IndexId,
    pub(crate) access: AccessId,
    pub(crate) key: Key,
}

impl<E: Env> LaneInner<E> {
    /// The columns of a row whose words are in `span`.
    pub(crate) fn record(&self, table: TableId, span: Span) -> RecordRef<'_> {
        let info = self.open.info(table);
        let words = self.txn.batch.words(span);
        let payload = info.row.payload() as usize;
        let end = payload + info.row.payload_words as usize;
        RecordRef::new(&info.schema, &words[KEY as usize..payload], &words[payload..end])
    }

    /// The key of a row's entry: the indexed columns, then those primary key columns that are not
    /// among them.
    pub(crate) fn entry_key(&self, index: &IndexInfo, span: Span) -> Key {
        let record = self.record(index.table, span);
        let columns = index.key_columns.iter();
        columns.fold(KeyBuilder::new(), |key, &column| record.append_to_key(key, column)).key()
    }

    /// Whether an update left the bytes of all indexed columns unchanged.
    #[inline]
    pub(crate) fn keeps_key(&self, index: IndexId, entry: &Access) -> bool {
        let shape = self.open.info(entry.table).row;
        let payload = |span: Span| {
            let words = Span { at: span.at + shape.payload(), words: shape.payload_words };
            self.txn.batch.words(words)
        };
        let (old, new) = (payload(entry.image), payload(entry.fresh));
        self.open.index_info(index).payload_ranges.iter().all(|&(from, to)| {
            let (first, last) = ((from / 8) as usize, to.div_ceil(8) as usize);
            let differs = |n: usize| (old[n] ^ new[n]) & byte_mask(n, from, to) != 0;
            !(first..last).any(differs)
        })
    }

    /// The primary key in an entry's key.
    pub(crate) fn primary_key(&self, index: &IndexInfo, entry: &[u64]) -> Key {
        let ranges = index.primary_ranges.iter();
        let copy = |key, &(at, bytes): &(u32, u32)| copy_key_bytes(key, entry, at, bytes);
        ranges.fold(KeyBuilder::new(), copy).key()
    }

    /// The row address in an index entry: null for inlined rows, because they move when the table
    /// grows.
    pub(crate) fn index_row(&self, access: AccessId) -> GlobalPtr {
        let access = &self.txn.accesses[access];
        match &self.open.info(access.table).primary {
            Primary::Hash(hash) if hash.rows => GlobalPtr::NULL,
            _ => access.row,
        }
    }

    /// Determines the entries that the accesses in `indexed` need, reads the leaves and buckets for
    /// them, and checks unique keys.
    pub(crate) async fn prepare_index_entries(&mut self) -> Result<(), TxnError> {
        let mut entries = std::mem::take(&mut self.writes.entries);
        entries.clear();
        for number in 0..self.writes.indexed.len() {
            let access = self.writes.indexed[number];
            let entry = self.txn.accesses[access];
            for position in 0..self.open.info(entry.table).indexes.len() {
                let index = self.open.info(entry.table).indexes[position];
                let existed = entry.state == State::Updated && entry.absence == Absence::None;
                let must_stand = existed && self.txn.filling != Some(index);
                let is_lost = must_stand && self.env.mutant(Mutant::CommitSkipEntry);
                if is_lost || (must_stand && self.keeps_key(index, &entry)) {
                    continue;
                }
                let index_info = self.open.index_info(index).clone();
                let key = self.entry_key(&index_info, entry.fresh);
                if must_stand && self.entry_key(&index_info, entry.image) == key {
                    continue;
                }
                let index = self.open.entry_part_of(index, &index_info, key.words());
                entries.push(Entry { index, access, key });
            }
        }
        // In order, each leaf is read once.
        if entries.len() > ENTRIES_UNSORTED_MAX {
            entries.sort_unstable_by_key(|entry| (entry.index, entry.key));
        }
        let mut result = self.check_unique_in_write_set(&entries);
        for entry in &entries {
            if result.is_ok() {
                self.check_arena()?;
                result = self.prepare_entry(entry).await;
            }
        }
        self.writes.entries = entries;
        result
    }

    /// Checks that no two rows of the write set get the same unique key. Neither has an entry yet,
    /// so a search of the index would not find them.
    fn check_unique_in_write_set(&mut self, entries: &[Entry]) -> Result<(), TxnError> {
        if entries.len() < 2 {
            return Ok(());
        }
        let mut keys = std::mem::take(&mut self.writes.unique_keys);
        keys.clear();
        for entry in entries {
            let info = self.open.index_info(entry.index);
            if info.design.unique && !self.has_null(entry, info) {
                let key = column_range(&entry.key, info).0;
                keys.push(UniqueKey { index: entry.index, key });
            }
        }
        keys.sort_unstable();
        let twice = keys.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        self.writes.unique_keys = keys;
        let Some(UniqueKey { index, key }) = twice else { return Ok(()) };
        let info = self.open.index_info(index).clone();
        Err(self.record_violation(&info, &key))
    }

    async fn prepare_entry(&mut self, entry: &Entry) -> Result<(), TxnError> {
        let info = self.open.index_info(entry.index).clone();
        match &info.storage {
            Secondary::Tree(_) => self.prepare_tree_entry(entry, &info).await,
            Secondary::Hash(_) => self.prepare_hash_entry(entry, &info).await,
        }
    }

    async fn prepare_tree_entry(
        &mut self,
        entry: &Entry,
        info: &IndexInfo,
    ) -> Result<(), TxnError> {
        let owner = Owner::Index(entry.index);
        let seen = self.leaf_for(owner, &entry.key).await?;
        let tree = self.open.tree(owner);
        if info.design.unique && !self.has_null(entry, info) {
            self.check_unique_in_leaves(entry, info).await?;
        }
        let batch = &*self.txn.batch;
        let view = LeafView::new(tree.layout, batch.words(self.txn.leaves_seen[seen].span));
        let stands = view.search(entry.key.words());
        match stands {
            Ok(position) if view.value(position)[0] == self.index_row(entry.access).word() => {
                self.lock_bare_leaf(seen)
            }
            // The entry leads to an earlier row with the same key at another address: both entries
            // cannot exist.
            Ok(position) => {
                let row = GlobalPtr::from_word(view.value(position)[0]);
                self.check_standing_entry(entry, info, row).await?;
                Err(Abort::InsertConflict.into())
            }
            Err(_) => {
                let key = self.txn.batch.put(entry.key.words());
                self.add_leaf_insert(LeafInsert { owner, seen, key, access: entry.access })
            }
        }
    }

    /// Locks a leaf without an insert. A commit that gives a row a key locks the leaf even if the
    /// entry exists already: the lock guards a unique key until the row is installed, and an
    /// existing entry against collection.
    fn lock_bare_leaf(&mut self, seen: LeafSeenId) -> Result<(), TxnError> {
        if self.txn.leaves_seen[seen].insert.is_locked() {
            self.note_stray_leaf(seen);
            return Err(Abort::InsertConflict.into());
        }
        self.writes.add_bare_leaf(&self.env, seen);
        Ok(())
    }

    /// Whether an indexed column of the row is null: nulls are unknown, so no two of them are
    /// equal.
    fn has_null(&self, entry: &Entry, info: &IndexInfo) -> bool {
        let record = self.record(info.table, self.txn.accesses[entry.access].fresh);
        info.design.columns.iter().any(|&column| record.is_null(column))
    }

    /// Checks that every other entry with the same columns leads to a row that is deleted or now
    /// has other columns.
    async fn check_unique_in_leaves(
        &mut self,
        entry: &Entry,
        info: &IndexInfo,
    ) -> Result<(), TxnError> {
        let (low, high) = column_range(&entry.key, info);
        let owner = Owner::Index(entry.index);
        let mut from = low;
        loop {
            let seen = self.leaf_for(owner, &from).await?;
            let tree = self.open.tree(owner);
            let batch = &*self.txn.batch;
            let view = LeafView::new(tree.layout, batch.words(self.txn.leaves_seen[seen].span));
            let first = view.lower_bound(low.words());
            let others: Vec<KeyedRow> = (first..view.count())
                .map(|n| KeyedRow::of(&view, n))
                .take_while(|other| other.key <= high)
                .filter(|other| other.key != entry.key)
                .collect();
            let next = view.high_key().filter(|next| *next <= high);
            for KeyedRow { key, row } in others {
                self.check_other_row(entry.index, info, KeyedRow { key, row }).await?;
            }
            // If the keys of this value are in several leaves, lock all of them, including the
            // last: another commit that has split a leaf with all of them locks only the part of
            // its own entry.
            let are_several = next.is_some() || from != low;
            if are_several && !self.env.mutant(Mutant::CommitSkipOtherLeaves) {
                self.lock_bare_leaf(seen)?;
            }
            let Some(next) = next else { return Ok(()) };
            from = next;
        }
    }

    /// Checks the newest version of a row whose entry has the same columns.
    async fn check_other_row(
        &mut self,
        index: IndexId,
        info: &IndexInfo,
        other: KeyedRow,
    ) -> Result<(), TxnError> {
        let (entry, row) = (&other.key, other.row);
        if self.env.mutant(Mutant::CommitSkipUniqueCheck) {
            return Ok(());
        }
        let primary = self.primary_key(info, entry.words());
        let table = self.open.row_part_of(info.table, primary.words());
        if let Ok(own) = self.txn.known_access(table, primary.words()) {
            let own = self.txn.accesses[own];
            if own.is_written() {
                let gone =
                    own.state == State::Deleted || self.entry_key(info, own.current()) != *entry;
                return if gone { Ok(()) } else { Err(self.record_violation(info, entry)) };
            }
        }
        let image = self.read_newest(table, &primary, row).await?;
        // Either the row was collected, or a commit is installing it on another server, whose
        // writes are not ordered with those of this server.
        if self.is_rowless(image) {
            self.note_rowless(index, *entry, row);
        }
        let Some(image) = image else {
            let is_taken = self.env.mutant(Mutant::CommitTakeMissingKey);
            return if is_taken { Ok(()) } else { Err(Abort::WriteConflict.into()) };
        };
        let batch = &*self.txn.batch;
        let header = VersionWord::from_word(batch.word(image.at + HEADER));
        let version = VersionWord::from_word(batch.word(image.at + VERSION));
        // If header and version differ, a commit is installing the row.
        let is_under_way = header != version && !self.env.mutant(Mutant::CommitTrustHalfInstalled);
        if header.is_locked() || version == VersionWord::TORN || is_under_way {
            self.note_stray(LockedWord::Row(row), header.word());
            return Err(Abort::WriteConflict.into());
        }
        // A version after the snapshot may be installed and not yet published: the commit that
        // gives up the key may become visible after ours, and a snapshot in between would see both
        // rows with the key.
        let takes = self.env.mutant(Mutant::CommitTakeKeyFromUnpublished);
        if version.is_none() || (!self.snapshot.covers(version) && !takes) {
            return Err(Abort::WriteConflict.into());
        }
        if version.is_deleted() || self.entry_key(info, image) != *entry {
            return Ok(());
        }
        Err(self.record_violation(info, entry))
    }

    /// Records the details of a violation for the caller.
    #[cold]
    fn record_violation(&mut self, info: &IndexInfo, entry: &Key) -> TxnError {
        let violation = UniqueViolation::new(&self.open.info(info.table).schema, info, entry);
        self.txn.last_unique_violation = Some(Box::new(violation));
        Abort::UniqueViolation.into()
    }

    /// The newest version of the row with this key, whether or not the snapshot covers it.
    pub(crate) async fn read_newest(
        &mut self,
        table: TableId,
        key: &Key,
        row: GlobalPtr,
    ) -> Result<Option<Span>, TxnError> {
        let info = self.open.info(table).clone();
        let span = self.txn.batch.put(key.words());
        self.txn.batch.clear_verbs();
        let image = match &info.primary {
            Primary::Hash(hash) if hash.rows => match self.find_newest(table, hash, span).await? {
                Some(image) => image,
                None => return Ok(None),
            },
            _ => {
                let image = self.txn.batch.read_row(row, info.row.words(), Cover::AllButLink);
                self.execute().await?;
                image
            }
        };
        let batch = &mut *self.txn.batch;
        let same = batch.words(Span { at: image.at + KEY, words: span.words }) == batch.words(span);
        Ok(same.then_some(image))
    }

    /// The slot of a bucket with the key in `span`; repeats the lookup while the table grows.
    async fn find_newest(
        &mut self,
        table: TableId,
        hash: &index::hash::HashTable,
        key: Span,
    ) -> Result<Option<Span>, TxnError> {
        let mut redirected = None;
        for _ in 0..LOOKUP_COUNT_MAX {
            let words = self.txn.batch.words(key);
            let open = self.open.table(table);
            let place = redirected.take().unwrap_or_else(|| hash.locate(&open.directory, words));
            let mut block = place.bucket;
            let mut geometry = SlotGeometry::bucket(&hash.layout, true, place.tag_hash);
            while !block.is_null() {
                self.txn.batch.clear_verbs();
                let found = self.txn.batch.find_slot(block, geometry, key);
                self.execute().await?;
                let batch = &mut *self.txn.batch;
                if batch.word(found.at + SlotRead::INDEX) != SlotRead::MISSING {
                    let slot =
                        Span { at: found.at + SlotRead::SLOT, words: hash.layout.slot_words };
                    if !VersionWord::from_word(batch.word(slot.at + VERSION)).is_none() {
                        return Ok(Some(slot));
                    }
                    // A split has moved the row, or it was collected: the bucket's header shows
                    // which.
                    break;
                }
                block = GlobalPtr::from_word(batch.word(found.at + bucket::LINK));
                geometry = SlotGeometry::overflow(&hash.layout, true, place.tag_hash);
            }
            self.txn.batch.clear_verbs();
            let identity = place.bucket.add_words(u64::from(bucket::IDENTITY));
            let identity = self.txn.batch.read(identity, 1);
            self.execute().await?;
            let identity = self.txn.batch.word(identity.at);
            if block.is_null() && hash.is_current(&place, identity) {
                return Ok(None);
            }
            self.env.yield_now().await;
            let directory = index::hash::read_directory(&self.env, hash).await?;
            redirected = hash.redirected(&directory, &place, identity);
            self.open.table_mut(table).directory = directory;
        }
        Err(Abort::Contended.into())
    }

    /// Reads the bucket of an entry in a hash index: the entry exists, or it gets a free slot.
    async fn prepare_hash_entry(
        &mut self,
        entry: &Entry,
        info: &IndexInfo,
    ) -> Result<(), TxnError> {
        let mut found = Vec::new();
        let seen = self.read_entries(entry.index, info, &entry.key, &mut found).await?;
        if info.design.unique && !self.has_null(entry, info) {
            for other in found.iter().filter(|other| other.key != entry.key) {
                self.check_other_row(entry.index, info, *other).await?;
            }
        }
        let row = self.index_row(entry.access);
        let stands = found.iter().find(|other| other.key == entry.key);
        if let Some(&KeyedRow { row: other, .. }) = stands
            && !found.contains(&KeyedRow { key: entry.key, row })
        {
            self.check_standing_entry(entry, info, other).await?;
            return Err(Abort::InsertConflict.into());
        }
        if VersionWord::from_word(seen.insert).is_locked() {
            self.note_stray(LockedWord::Structure(seen.bucket), seen.insert);
            return Err(Abort::InsertConflict.into());
        }
        let insert = self.writes.bucket_insert(&self.env, &seen)?;
        if stands.is_none() {
            let Secondary::Hash(hash) = &info.storage else { unreachable!("a hash index") };
            let tag_hash = hash.locator.hash(entry.key.words()).1;
            let slot = self.take_slot(insert, tag_hash).await?;
            let Entry { index, key, access } = *entry;
            self.writes.entry_inserts.push(EntryInsert { index, key, access, slot });
        }
        Ok(())
    }

    /// All entries of a hash index with the same columns as `key`, and the state of their bucket.
    /// The insert word is read before the slots, in a round trip of its own where memory is not
    /// coherent.
    pub(crate) async fn read_entries(
        &mut self,
        index: IndexId,
        info: &IndexInfo,
        key: &Key,
        found: &mut Vec<KeyedRow>,
    ) -> Result<BucketSeen, TxnError> {
        let Secondary::Hash(hash) = &info.storage else {
            unreachable!("the caller has a hash index")
        };
        let mut redirected = None;
        loop {
            found.clear();
            let lane_index = self.open.index(index);
            let located = || hash.locate(&lane_index.directory, key.words());
            let place = redirected.take().unwrap_or_else(located);
            let mut identity = 0;
            self.txn.batch.clear_verbs();
            let insert = self.txn.batch.read(place.bucket, 1);
            self.execute().await?;
            let insert = self.txn.batch.words(insert)[0];
            let (mut block, mut slots) = (place.bucket, hash.layout.slots);
            let (mut is_current, mut room) = (true, BlockRoom::FULL);
            for _ in 0..CHAIN_BLOCKS_MAX {
                self.txn.batch.clear_verbs();
                let span = self.txn.batch.read(block, hash.layout.slot(slots));
                self.txn.batch.fence();
                let again = self.txn.batch.read(block, bucket::SLOTS);
                self.execute().await?;
                let batch = &*self.txn.batch;
                let (words, header) = (batch.words(span), batch.words(again));
                if block == place.bucket {
                    identity = header[bucket::IDENTITY as usize];
                    is_current = hash.is_current(&place, identity);
                    self.check_collected(header[bucket::COLLECTED as usize])?;
                }
                let tags = words[bucket::TAGS as usize];
                room = room.or_next(BlockRoom { block, slots, tags });
                let tag = bucket::tag(slots, place.tag_hash);
                for n in (0..slots).filter(|&n| bucket::tag_of(slots, tags, n) == tag) {
                    let slot = &words[hash.layout.slot(n) as usize..];
                    let slot = &slot[..hash.layout.slot_words as usize];
                    if same_columns(&slot[1..], key.words(), info) {
                        let other = Key::from_words(&slot[1..]);
                        found.push(KeyedRow { key: other, row: GlobalPtr::from_word(slot[0]) });
                    }
                }
                let link = GlobalPtr::from_word(header[bucket::LINK as usize]);
                if !is_current {
                    break;
                }
                if link.is_null() {
                    let (owner, bucket) = (Owner::Index(index), place.bucket);
                    let seen = BucketSeen { owner, bucket, insert, room, last: block };
                    is_current = block == bucket || self.is_chain_complete(hash, &place).await?;
                    if is_current {
                        return Ok(seen);
                    }
                    break;
                }
                (block, slots) = (link, hash.layout.overflow_slots);
            }
            if is_current {
                return Err(Abort::Contended.into());
            }
            let directory = index::hash::read_directory(&self.env, hash).await?;
            redirected = hash.redirected(&directory, &place, identity);
            self.open.index_mut(index).directory = directory;
        }
    }
}

/// The bits of word `n` that belong to bytes `from..to` of a payload.
#[inline]
fn byte_mask(n: usize, from: u32, to: u32) -> u64 {
    let start = n as u32 * 8;
    let low = from.saturating_sub(start) * 8;
    let high = (to - start).min(8) * 8;
    (u64::MAX >> (64 - high)) & (u64::MAX << low)
}

/// The smallest and the largest entry key with the same indexed columns.
pub(crate) fn column_range(key: &Key, info: &IndexInfo) -> (Key, Key) {
    let prefix = copy_key_bytes(KeyBuilder::new(), key.words(), 0, info.column_bytes);
    (prefix.prefix_low(info.key_words), prefix.prefix_high(info.key_words))
}

/// Whether two entry keys agree in the indexed columns, which come first.
#[inline]
fn same_columns(one: &[u64], other: &[u64], info: &IndexInfo) -> bool {
    let (whole, rest) = ((info.column_bytes / 8) as usize, info.column_bytes % 8);
    same_words(&one[..whole], &other[..whole])
        && (rest == 0 || (one[whole] ^ other[whole]) >> (64 - 8 * rest) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_the_bits_of_those_bytes_that_are_in_its_word() {
        assert_eq!(byte_mask(0, 0, 8), u64::MAX);
        assert_eq!(byte_mask(0, 2, 6), 0x0000_ffff_ffff_0000);
        assert_eq!([byte_mask(0, 6, 11), byte_mask(1, 6, 11)], [0xffff << 48, 0x00ff_ffff]);
        assert_eq!([byte_mask(1, 10, 24), byte_mask(2, 10, 24)], [u64::MAX << 16, u64::MAX]);
        assert_eq!(byte_mask(3, 29, 31), 0x00ff_ff00_0000_0000);
    }
}
