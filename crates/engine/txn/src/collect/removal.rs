//! Removal of entries that no snapshot needs: entries of tombstones from buckets and leaves, and
//! index entries whose key no version has any more. Each removal locks the bucket or leaf, and
//! raises its collected-up-to word.
//!
//! Decisions:
//! - docs/decisions/0060-collection-also-looks-at-the-rows-lock.md
//! - docs/decisions/0169-a-free-header-says-nothing-about-its-row.md

use crate::abort::TxnError;
use crate::catalog::{IndexId, Primary};
use crate::collect::{Doubt, Garbage, Retired};
use crate::lane::LaneInner;
use crate::recovery::LockedWord;
use crate::step::CollectStep;
use crate::write::Owner;
use fabric::{Batch, Env, FabricError, Mutant, Span, Swap};
use index::tree::{LeafLock, LeafRead, LeafView, LockResult};
use layout::bucket;
use layout::row::{ChainWord, HEADER, LINK, VERSION};
use layout::{GlobalPtr, Key, RegionId, VersionWord, region};

/// The slot of a key in a bucket's chain.
struct UsedSlot {
    block: GlobalPtr,
    index: u32,
    /// Number of slots of the block.
    slots: u32,
    tags: u64,
    /// The bucket's collected-up-to word.
    collected: u64,
    /// The first word of the slot: in an index, the address of the entry's row.
    leads_to: u64,
}

/// The swap that locks a tombstone, and a reading of the row's chain word.
#[derive(Clone, Copy)]
pub(crate) struct TombstoneLock {
    swap: Swap,
    chain: Span,
}

/// The result of an attempt to remove an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Removal {
    Done,
    /// Another commit holds a lock: try again in another round.
    Busy,
    /// The row of an index entry is missing, but may be on its way: try again later.
    Doubted(Doubt),
    /// The entry is no longer garbage, or does not exist.
    Gone,
}

/// Posts the lock of a tombstone. Its chain word changes only under this lock, except that
/// collection may clear it before.
pub(crate) fn post_tombstone_lock(
    batch: &mut Batch,
    row: GlobalPtr,
    successor: VersionWord,
    timestamp: VersionWord,
) -> TombstoneLock {
    let swap = batch.compare_and_swap(row, successor.word(), timestamp.locked_by_upkeep().word());
    TombstoneLock { swap, chain: batch.read(row.add_words(u64::from(LINK)), 1) }
}

impl<E: Env> LaneInner<E> {
    pub(crate) async fn remove_slot(
        &mut self,
        owner: Owner,
        hash: &index::hash::HashTable,
        key: &Key,
        retired: &Retired,
    ) -> Result<Removal, FabricError> {
        let Some(directory) = self.open.directory(owner) else { return Ok(Removal::Gone) };
        let place = hash.locate(directory, key.words());
        let timestamp = self.identity.upkeep_timestamp();
        let Some(insert) = self.lock_word(place.bucket, timestamp).await? else {
            return Ok(Removal::Busy);
        };
        self.env.reach(CollectStep::EntryLocked).await;
        let found = self.find_used_slot(hash, place.bucket, key).await?;
        let (mut removal, mut buffer) = (Removal::Gone, GlobalPtr::NULL);
        if found.is_none() && self.has_key_moved(owner, hash, &place).await? {
            removal = Removal::Busy;
        }
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.clear_verbs();
        let is_garbage = |slot: &UsedSlot| !self.is_of_another_row(owner, retired, slot.leads_to);
        if let Some(UsedSlot { block, slots, index, tags, collected, .. }) =
            found.filter(is_garbage)
        {
            let slot = block.add_words(u64::from(hash.layout.slot(index)));
            self.scratch.batch = Some(batch);
            let inlined = hash.rows.then_some(slot);
            let seen = (inlined, insert);
            (removal, buffer) = self.lock_garbage(owner, key, retired, seen, timestamp).await?;
            batch = self.scratch.batch.take().unwrap_or_default();
            batch.clear_verbs();
            if removal == Removal::Done {
                self.env.reach(CollectStep::TombstoneLocked).await;
                // Lanes have different horizons, but the word must never fall.
                let falls = self.env.mutant(Mutant::CollectLowerBucketStamp);
                let least = if falls { 0 } else { collected };
                let stamp = self.removal_stamp(owner).await?.max(least);
                if !self.env.mutant(Mutant::CollectSkipBucketStamp) {
                    let word = place.bucket.add_words(u64::from(bucket::COLLECTED));
                    batch.write_word(word, stamp);
                }
                if block.region() != place.bucket.region() {
                    // Writes to two servers are not ordered: the word must be raised before the
                    // slot is emptied.
                    batch.fence();
                }
                let tags = bucket::with_tag(slots, tags, index, 0);
                batch.write_word(block.add_words(u64::from(bucket::TAGS)), tags);
                self.empty_slot(&mut batch, owner, retired, slot, hash);
                if block.region() != place.bucket.region()
                    && !self.env.mutant(Mutant::CollectUnfencedBlock)
                {
                    // Nor are these: an insert that finds the bucket unlocked may use the slot.
                    batch.fence();
                }
            }
        }
        // An insert word never returns to an earlier value once something has changed.
        let unlocked = if removal == Removal::Done { timestamp.word() } else { insert };
        batch.write_word(place.bucket, unlocked);
        self.scratch.batch = Some(self.env.execute(batch).await?);
        if removal == Removal::Done {
            self.free_tombstone(owner, retired, buffer);
        }
        self.env.reach(CollectStep::EntryRemoved).await;
        Ok(removal)
    }

    /// Whether a split has moved the key out of its bucket since the lane read the directory. If
    /// so, reads the directory again, for another round.
    async fn has_key_moved(
        &mut self,
        owner: Owner,
        hash: &index::hash::HashTable,
        place: &index::hash::Place,
    ) -> Result<bool, FabricError> {
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.clear_verbs();
        let identity = batch.read(place.bucket.add_words(u64::from(bucket::IDENTITY)), 1);
        let batch = self.env.execute(batch).await?;
        let identity = batch.words(identity)[0];
        self.scratch.batch = Some(batch);
        if hash.is_current(place, identity) {
            return Ok(false);
        }
        if let Ok(newer) = index::hash::read_directory(&self.env, hash).await {
            self.open.set_directory(owner, newer);
        }
        Ok(true)
    }

    /// Clears a slot and marks the row outside the bucket.
    fn empty_slot(
        &self,
        batch: &mut Batch,
        owner: Owner,
        retired: &Retired,
        slot: GlobalPtr,
        hash: &index::hash::HashTable,
    ) {
        if hash.rows {
            batch.write_word(slot.add_words(u64::from(VERSION)), 0);
            batch.write_word(slot.add_words(u64::from(LINK)), 0);
            batch.write_word(slot.add_words(u64::from(HEADER)), 0);
            return;
        }
        let zeros = batch.reserve(hash.layout.slot_words);
        batch.words_mut(zeros).fill(0);
        batch.write(slot, zeros);
        self.mark_tombstone_row(batch, owner, retired);
    }

    /// Locks an insert word; returns its previous value, or `None` if another commit holds the
    /// lock.
    async fn lock_word(
        &mut self,
        word: GlobalPtr,
        owner: VersionWord,
    ) -> Result<Option<u64>, FabricError> {
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.reset();
        let held = batch.read(word, 1);
        let mut batch = self.env.execute(batch).await?;
        let held = batch.words(held)[0];
        if VersionWord::from_word(held).is_locked() {
            self.note_stray(LockedWord::Structure(word), held);
            self.scratch.batch = Some(batch);
            return Ok(None);
        }
        batch.clear_verbs();
        let swap = batch.compare_and_swap(word, held, owner.locked_by_upkeep().word());
        let batch = self.env.execute(batch).await?;
        let swapped = batch.swapped(swap) || self.env.mutant(Mutant::CollectUnlockedBucket);
        self.scratch.batch = Some(batch);
        Ok(swapped.then_some(held))
    }

    /// The block, slot and tags of a key, in a bucket that this lane has locked.
    async fn find_used_slot(
        &mut self,
        hash: &index::hash::HashTable,
        bucket: GlobalPtr,
        key: &Key,
    ) -> Result<Option<UsedSlot>, FabricError> {
        let (mut block, mut slots) = (bucket, hash.layout.slots);
        let mut collected = 0;
        while !block.is_null() {
            let mut batch = self.scratch.batch.take().unwrap_or_default();
            batch.clear_verbs();
            let span = batch.read(block, hash.layout.slot(slots));
            let batch = self.env.execute(batch).await?;
            let words = batch.words(span);
            let tags = words[bucket::TAGS as usize];
            let holds = |n: &u32| {
                let at = (hash.layout.slot(*n) + hash.layout.key_at) as usize;
                bucket::tag_of(slots, tags, *n) != 0 && words[at..].starts_with(key.words())
            };
            let index = (0..slots).find(holds);
            let link = GlobalPtr::from_word(words[bucket::LINK as usize]);
            collected = collected.max(words[bucket::COLLECTED as usize]);
            let leads_to = index.map_or(0, |index| words[hash.layout.slot(index) as usize]);
            self.scratch.batch = Some(batch);
            if let Some(index) = index {
                return Ok(Some(UsedSlot { block, slots, index, tags, collected, leads_to }));
            }
            (block, slots) = (link, hash.layout.overflow_slots);
        }
        Ok(None)
    }

    /// Decides whether an entry is still garbage, with its bucket or leaf locked. The tombstone of
    /// a table's row is locked for good; its version buffer, if it has one, is returned, too. An
    /// index entry is garbage if the newest version of its row has another key: a commit that gives
    /// a row a key takes the lock that this lane holds, even if the entry exists already. `insert`
    /// is the insert word from before the lock.
    async fn lock_garbage(
        &mut self,
        owner: Owner,
        key: &Key,
        retired: &Retired,
        (slot, insert): (Option<GlobalPtr>, u64),
        timestamp: VersionWord,
    ) -> Result<(Removal, GlobalPtr), FabricError> {
        if let Owner::Index(index) = owner {
            let decided = self.decide_entry(index, key, retired, insert).await;
            return Ok((decided.unwrap_or(Removal::Busy), GlobalPtr::NULL));
        }
        let row = slot.unwrap_or(retired.row);
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.clear_verbs();
        let lock = post_tombstone_lock(&mut batch, row, retired.successor, timestamp);
        let batch = self.env.execute(batch).await?;
        let (removal, buffer) = self.decide_tombstone(&batch, lock);
        self.note_stray(LockedWord::Row(row), batch.found(lock.swap));
        self.scratch.batch = Some(batch);
        if !buffer.is_null() {
            self.empty_buffer(retired.table, buffer).await?;
        }
        Ok((removal, buffer))
    }

    /// The result of the swap on a tombstone's header, and the version buffer of a tombstone that
    /// is removed.
    pub(crate) fn decide_tombstone(
        &self,
        batch: &Batch,
        lock: TombstoneLock,
    ) -> (Removal, GlobalPtr) {
        let found = VersionWord::from_word(batch.found(lock.swap));
        let removal = match batch.swapped(lock.swap) {
            true => Removal::Done,
            false if self.env.mutant(Mutant::CollectTrustTombstone) => Removal::Done,
            false if found.is_locked() && found != VersionWord::MOVED => Removal::Busy,
            false => Removal::Gone,
        };
        let chain = ChainWord::from_word(batch.word(lock.chain.at));
        let is_freed =
            removal == Removal::Done && !self.env.mutant(Mutant::CollectForgetTombstoneBuffer);
        (removal, if is_freed { chain.buffer() } else { GlobalPtr::NULL })
    }

    /// The stamp for the collected-up-to word of a bucket or leaf from which an entry is removed.
    /// An index entry may lead to a row that another lane has collected with a later horizon. A
    /// reader that needs this row must abort here too, so an index gets the first region's stamp if
    /// that is later.
    async fn removal_stamp(&self, owner: Owner) -> Result<u64, FabricError> {
        let own = self.garbage.horizon.stamp();
        if matches!(owner, Owner::Table(_)) {
            return Ok(own);
        }
        let mut batch = Batch::new();
        let word = batch.read(region::collected(RegionId(self.shared.servers[0].0)), 1);
        let batch = self.env.execute(batch).await?;
        Ok(own.max(batch.words(word)[0]))
    }

    /// Whether an index entry leads to another row than the retired one: that row was collected
    /// together with its entry, and its key has a new row and a new entry.
    fn is_of_another_row(&self, owner: Owner, retired: &Retired, leads_to: u64) -> bool {
        let is_inlined =
            matches!(&self.open.info(retired.table).primary, Primary::Hash(hash) if hash.rows);
        let expected = if is_inlined { GlobalPtr::NULL } else { retired.row };
        matches!(owner, Owner::Index(_))
            && leads_to != expected.word()
            && !self.env.mutant(Mutant::CollectTrustEntryKey)
    }

    async fn decide_entry(
        &mut self,
        index: IndexId,
        key: &Key,
        retired: &Retired,
        insert: u64,
    ) -> Result<Removal, TxnError> {
        let info = self.open.index_info(index).clone();
        let primary = self.primary_key(&info, key.words());
        // Before the row is read: a commit that ends in between has written it.
        let is_missing_for_good = self.is_missing_for_good(insert, retired.doubt).await?;
        let newest = self.read_newest(retired.table, &primary, retired.row).await?;
        // Without a version there is no row, whatever its key: it was collected, or is about to be
        // written there.
        let is_there = |image: &Span| {
            let version = VersionWord::from_word(self.txn.batch.word(image.at + VERSION));
            !version.is_none() || self.env.mutant(Mutant::CollectTrustKey)
        };
        let Some(image) = newest.filter(is_there) else {
            return Ok(match is_missing_for_good {
                true => Removal::Done,
                false => Removal::Doubted(self.doubt(insert, retired.doubt).await?),
            });
        };
        let version = VersionWord::from_word(self.txn.batch.word(image.at + VERSION));
        let header = VersionWord::from_word(self.txn.batch.word(image.at + HEADER));
        let is_under_way = header != version && header != VersionWord::MOVED;
        if is_under_way || version == VersionWord::TORN {
            // A commit may be installing a new version on the row's server: the lock of the entry,
            // on another server, is not ordered with that.
            return Ok(Removal::Busy);
        }
        if !self.garbage.horizon.covers(version)
            && !self.env.mutant(Mutant::CollectTrustNewestVersion)
        {
            // The row may have had the key again after this entry was retired, and running
            // snapshots may need it.
            return Ok(Removal::Busy);
        }
        let has_key = !version.is_deleted() && self.entry_key(&info, image) == *key;
        Ok(if has_key { Removal::Gone } else { Removal::Done })
    }

    /// Marks the row of a removed tombstone as moved.
    pub(crate) fn mark_tombstone_row(&self, batch: &mut Batch, owner: Owner, retired: &Retired) {
        let Owner::Table(table) = owner else { return };
        let words = self.open.info(table).row.words();
        if !self.env.mutant(Mutant::CollectRowUnmarked) {
            let image = retired.row.add_words(u64::from(VERSION));
            if self.env.is_coherent() {
                batch.write_word(image, 0);
            } else {
                // An image of zeros belongs to no row. If only the version were cleared, the
                // checksum would not fit, and readers that follow an index entry to the collected
                // row would retry for ever.
                let zeros = batch.reserve(words - VERSION);
                batch.words_mut(zeros).fill(0);
                batch.write(image, zeros);
            }
            batch.write_word(retired.row, VersionWord::MOVED.word());
        }
    }

    /// Frees the row of a removed tombstone, unless it was inlined, and its version buffer. Its
    /// mark must have been written: another lane may use the memory at once.
    pub(crate) fn free_tombstone(&mut self, owner: Owner, retired: &Retired, buffer: GlobalPtr) {
        let Owner::Table(table) = owner else { return };
        if !buffer.is_null() {
            self.free_buffer(table, buffer);
        }
        let info = self.open.info(table);
        if matches!(&info.primary, Primary::Hash(hash) if hash.rows) {
            return;
        }
        let words = info.row.words();
        if let Some(lane_table) = self.open.tables[table.position()].as_mut() {
            lane_table.pool.free(&self.env, retired.row, words);
        }
    }

    /// The result of locking a leaf from which entries are to be removed.
    pub(crate) fn leaf_lock_result(&self, batch: &Batch, lock: &LeafLock) -> LockResult {
        match index::tree::lock_result(batch, lock) {
            LockResult::Missed if self.env.mutant(Mutant::CollectUnlockedLeaf) => LockResult::Held,
            LockResult::Outdated if self.env.mutant(Mutant::CollectTrustFirstLeaf) => {
                LockResult::Held
            }
            result => result,
        }
    }

    /// Removes the entry with `key` from its leaf; an emptied leaf absorbs its right neighbour.
    pub(crate) async fn remove_leaf_entry(
        &mut self,
        owner: Owner,
        key: &Key,
        retired: &Retired,
    ) -> Result<Removal, FabricError> {
        let tree = self.open.tree(owner);
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.reset();
        let env = self.env.clone();
        let found =
            index::tree::find_leaf(&env, batch, &tree, self.open.leaf_cache(owner), key.words())
                .await;
        let Ok((mut batch, leaf)) = found else { return Ok(Removal::Busy) };
        let view = LeafView::new(tree.layout, batch.words(leaf.span));
        let Ok(position) = view.search(key.words()) else {
            self.scratch.batch = Some(batch);
            return Ok(Removal::Gone);
        };
        let (leads_to, count) = (view.value(position)[0], view.count());
        if leaf.insert.is_locked() {
            self.note_stray(LockedWord::Structure(leaf.ptr), leaf.insert.word());
            self.scratch.batch = Some(batch);
            return Ok(Removal::Busy);
        }
        if self.is_of_another_row(owner, retired, leads_to) {
            self.scratch.batch = Some(batch);
            return Ok(Removal::Gone);
        }
        self.open.evict_leaf(owner, leaf.ptr);
        let timestamp = self.identity.upkeep_timestamp();
        batch.clear_verbs();
        let lock = index::tree::post_lock(&mut batch, &tree, &leaf, timestamp);
        batch = self.env.execute(batch).await?;
        let result = self.leaf_lock_result(&batch, &lock);
        if result == LockResult::Outdated {
            // The entries were read before the insert word: another round reads them again.
            batch.clear_verbs();
            batch.write_word(leaf.ptr, timestamp.word());
            batch = self.env.execute(batch).await?;
        }
        self.scratch.batch = Some(batch);
        if result != LockResult::Held {
            return Ok(Removal::Busy);
        }
        self.env.reach(CollectStep::EntryLocked).await;
        let seen = (None, leaf.insert.word());
        let (removal, buffer) = self.lock_garbage(owner, key, retired, seen, timestamp).await?;
        let unstamped = self.env.mutant(Mutant::CollectSkipLeafStamp);
        let stamp = if unstamped { 0 } else { self.removal_stamp(owner).await? };
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.clear_verbs();
        if removal == Removal::Done {
            self.env.reach(CollectStep::TombstoneLocked).await;
            index::tree::write_leaf_without(&mut batch, &tree, &leaf, &[position], stamp);
            self.mark_tombstone_row(&mut batch, owner, retired);
            batch.write_word(leaf.ptr, timestamp.word());
        } else {
            batch.write_word(leaf.ptr, leaf.insert.word());
        }
        self.scratch.batch = Some(self.env.execute(batch).await?);
        self.env.reach(CollectStep::EntryRemoved).await;
        if removal == Removal::Done {
            self.free_tombstone(owner, retired, buffer);
        }
        if removal == Removal::Done && count == 1 {
            self.absorb_neighbour(owner, key).await;
        }
        Ok(removal)
    }

    /// Makes an empty leaf absorb its right neighbour; the neighbour's memory waits for a horizon.
    pub(crate) async fn absorb_neighbour(&mut self, owner: Owner, key: &Key) {
        let tree = self.open.tree(owner);
        let timestamp = self.identity.upkeep_timestamp();
        let batch = Batch::new();
        let env = self.env.clone();
        let found =
            index::tree::find_leaf(&env, batch, &tree, self.open.leaf_cache(owner), key.words())
                .await;
        let Ok((batch, leaf)) = found else { return };
        let leaf: LeafRead = leaf;
        self.open.evict_leaf(owner, leaf.ptr);
        let cache = self.open.leaf_cache(owner);
        let absorbed = index::tree::absorb_right(&env, batch, &tree, cache, leaf, timestamp).await;
        if let Ok((_, Some(absorbed))) = absorbed {
            let table = self.open.table_of(owner);
            let what = Garbage::Leaf(owner, absorbed.dead);
            let row = absorbed.dead;
            self.open.evict_leaf(owner, row);
            self.garbage.retired.push_back(Retired::new(table, row, timestamp, what));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::Garbage;
    use crate::local::{OpenConfig, open};
    use crate::{Isolation, TableSpec};
    use fabric::{Fabric, run_now};
    use layout::row::KEY;
    use layout::{
        Column, ColumnType, IndexDesign, IndexKind, KeyBuilder, PhysicalDesign, Schema, Storage,
    };

    fn table() -> TableSpec {
        let columns =
            vec![Column::new("id", ColumnType::Int8), Column::new("value", ColumnType::Int8)];
        let index = IndexDesign {
            name: "by_value".to_owned(),
            columns: vec![1],
            unique: false,
            kind: IndexKind::Hash,
            node_bytes: 256,
            size_hint: 16,
            hashed_columns: None,
        };
        let design = PhysicalDesign { storage: Storage::Tree, ..PhysicalDesign::default() };
        let schema = Schema::new("t", columns, &[0]).expect("a valid schema");
        TableSpec { schema, design, indexes: vec![index] }
    }

    /// An entry that leads to memory with its row's key, but without a version: the row was
    /// collected, or is about to be written there.
    #[test]
    fn an_entry_without_a_row_version_is_removed_only_without_doubt() {
        for servers in [1, 2] {
            let config = OpenConfig { servers, server_bytes: 64 << 20, ..OpenConfig::default() };
            let database = open(&config).expect("memory");
            let table = run_now(database.create_table(table())).expect("created");
            let index = database.index("t", "by_value").expect("created");
            let (mut lane, mut other) = (
                run_now(database.lane()).expect("a lane"),
                run_now(database.lane()).expect("a lane"),
            );
            let (id, value) = (KeyBuilder::new().int8(7).key(), 5);
            let key = KeyBuilder::new().int8(value).int8(7).key();
            let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("begins");
            assert_eq!(run_now(txn.read(table, &id)), Ok(None));
            run_now(txn.abort());
            let lane = lane.inner();
            let words = lane.open.info(table).row.words();
            let pool = &mut lane.open.table_mut(table).pool;
            let row = run_now(pool.allocate(&lane.env, words)).expect("there is room");
            let mut batch = Batch::new();
            batch.write_word(row.add_words(u64::from(KEY)), id.words()[0]);
            run_now(lane.env.execute(batch)).expect("reachable");
            let what = Garbage::Entry(index, key);
            let mut retired = Retired::new(table, row, VersionWord::NONE, what);
            let mut decide = |retired: &Retired, insert| {
                lane.txn.batch.reset();
                run_now(lane.decide_entry(index, &key, retired, insert)).expect("reachable")
            };
            let first = decide(&retired, 9);
            if servers == 1 {
                // A commit writes the row before it unlocks the entry.
                assert_eq!(first, Removal::Done);
                continue;
            }
            let Removal::Doubted(doubt) = first else { panic!("{first:?}") };
            retired.doubt = Some(doubt);
            // The insert word has changed: a commit may have given the row the key since.
            let Removal::Doubted(newer) = decide(&retired, 10) else { panic!("it is in doubt") };
            assert_ne!(newer, doubt);
            // A transaction that began before may be about to write the row.
            let running = run_now(other.begin(Isolation::Snapshot)).expect("begins");
            retired.doubt = Some(newer);
            let Removal::Doubted(after) = decide(&retired, 11) else { panic!("it is in doubt") };
            retired.doubt = Some(after);
            assert_eq!(decide(&retired, 11), Removal::Doubted(after), "it still runs");
            run_now(running.abort());
            run_now(other.rest()).expect("reachable");
            assert_eq!(decide(&retired, 11), Removal::Done);
        }
    }
}
