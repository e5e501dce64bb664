//! Point reads: from keys to the versions that the snapshot covers.
//!
//! Independent reads go together: one round trip for all buckets and leaves, one more for rows that stand
//! outside. What is not as usual (old versions, overflow blocks, old directories) is settled one by one
//! in [`crate::old_version`].

use crate::abort::{Abort, TxnError};
use crate::access::{Absence, Access, RowId, State};
use crate::catalog::{Primary, TableId};
use crate::lane::LaneInner;
use crate::transaction::Transaction;
use crate::write::{BucketSeen, LeafSeen, Owner};
use fabric::{Batch, Env, SlotGeometry, SlotRead, Span};
use index::hash::HashTable;
use index::tree::{LeafView, PostedLeaf, Tree};
use layout::row::{Cover, KEY, LINK, VERSION};
use layout::{GlobalPtr, Key, VersionWord, bucket};

/// Most rows in one transaction's access set.
pub const ACCESSES_MAX: usize = 1 << 20;

/// Most words of rows that a transaction may hold (512 MiB); the batch's own limit is far beyond it.
pub const ARENA_WORDS_MAX: usize = 64 << 20;

/// Leaves seen last among which one is looked for. One that is not found is read again, so that a scan of many
/// leaves does not look through all of them for each.
const LEAVES_SEARCHED_MAX: usize = 64;

/// A read on its way.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    access: u32,
    step: Step,
    /// Where the result of the last verb stands.
    span: Span,
}

/// What a read waits for.
#[derive(Clone, Copy, Debug)]
enum Step {
    Bucket(GlobalPtr),
    Leaf(Option<PostedLeaf>),
    /// A leaf that the transaction has read before.
    Seen(u32),
    Row(GlobalPtr),
    /// The bucket has an overflow chain, or the directory was old.
    Chain,
    /// The version in place is not the snapshot's.
    Old(GlobalPtr),
    Settled,
}

impl<E: Env> Transaction<'_, E> {
    /// Reads one row: one round trip where rows stand in their buckets and the version is current.
    #[inline]
    pub async fn read(&mut self, table: TableId, key: &Key) -> Result<Option<RowId>, TxnError> {
        let mut found = std::mem::take(&mut self.lane().scratch.found);
        let result = self.read_many(&[(table, *key)], &mut found).await;
        let row = found.first().copied().flatten();
        self.lane().scratch.found = found;
        result.map(|()| row)
    }

    /// Reads independent rows together; `found` gets one entry per read.
    #[inline]
    pub async fn read_many(
        &mut self,
        reads: &[(TableId, Key)],
        found: &mut Vec<Option<RowId>>,
    ) -> Result<(), TxnError> {
        found.clear();
        let lane = self.lane();
        lane.read_count += reads.len() as u32;
        let transaction = lane.transaction;
        let mut visit = |access, state| {
            let is_there = !matches!(state, State::Absent | State::Deleted);
            found.push(is_there.then(|| RowId::new(access, transaction)));
        };
        lane.locate_many(reads, &mut visit).await
    }
}

/// Mixes the table into a key's hash, so that one map serves all tables.
#[inline]
pub(crate) fn access_hash(table: u32, key: &[u64]) -> u64 {
    let mixed = key.iter().fold(u64::from(table) + 1, |sum, &word| {
        (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    });
    mixed ^ mixed >> 32
}

/// Whether two keys are the same; they have a few words, for which a call is too much.
#[inline]
pub(crate) fn same_words(one: &[u64], other: &[u64]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one == other)
}

impl<E: Env> LaneInner<E> {
    /// Finds or reads every key's row; `visit` gets the access of each, in order.
    #[inline]
    pub(crate) async fn locate_many(
        &mut self,
        keys: &[(TableId, Key)],
        visit: &mut impl FnMut(u32, State),
    ) -> Result<(), TxnError> {
        let mut order = std::mem::take(&mut self.scratch.spans);
        let mut pending = std::mem::take(&mut self.scratch.pending);
        order.clear();
        pending.clear();
        let result = self.locate_all(keys, &mut order, &mut pending).await;
        if result.is_ok() {
            for place in &order {
                visit(place.at, self.accesses[place.at as usize].state);
            }
        }
        self.scratch.spans = order;
        self.scratch.pending = pending;
        result
    }

    #[inline]
    async fn locate_all(
        &mut self,
        keys: &[(TableId, Key)],
        order: &mut Vec<Span>,
        pending: &mut Vec<Pending>,
    ) -> Result<(), TxnError> {
        self.batch().clear_verbs();
        let mut open = None;
        let mut key_words = 0;
        for (table, key) in keys {
            if open != Some(table) {
                if !self.is_open(table.0) {
                    self.open_table(table.0).await?;
                }
                open = Some(table);
                key_words = self.info(table.0).row.key_words;
            }
            if key.words().len() != key_words as usize {
                return Err(self.info(table.0).wrong_key(key).into());
            }
            let access = self.post_lookup(table.0, key, pending)?;
            order.push(Span { at: access, words: 0 });
        }
        self.settle_pending(pending).await
    }

    /// Carries out what was posted and settles every access of the list.
    #[inline]
    pub(crate) async fn settle_pending(&mut self, pending: &mut [Pending]) -> Result<(), TxnError> {
        if pending.is_empty() {
            return Ok(());
        }
        if !self.batch().is_empty() {
            self.execute().await?;
        }
        self.batch().clear_verbs();
        for place in pending.iter_mut() {
            if !matches!(place.step, Step::Row(_)) && self.advance(place)? {
                Box::pin(self.find_and_advance(place)).await?;
            }
        }
        if !self.batch().is_empty() {
            self.execute().await?;
        }
        for place in pending.iter() {
            match place.step {
                Step::Row(row) if self.finish_row(place.access, row, place.span) => {}
                Step::Row(row) | Step::Old(row) => {
                    Box::pin(self.settle_old(place.access, row, place.span)).await?;
                }
                Step::Chain => Box::pin(self.settle_bucket(place.access)).await?,
                _ => {}
            }
        }
        Ok(())
    }

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

    /// Posts the read of the leaf that covers `key`, unless this transaction has read it or is about to.
    #[inline]
    fn post_leaf(&mut self, owner: Owner, tree: &Tree, key: Span, pending: &[Pending]) -> Step {
        let mut batch = self.batch.take().unwrap_or_default();
        if let Some(seen) = self.seen_leaf_in(&batch, owner, tree, batch.words(key)) {
            self.batch = Some(batch);
            return Step::Seen(seen as u32);
        }
        let cached = self.leaf_cache(owner).find(batch.words(key));
        let posted = cached.map(|place| {
            let same = |other: &Pending| match other.step {
                Step::Leaf(Some(posted)) if posted.ptr == place.ptr => Some(posted),
                _ => None,
            };
            let known = pending.iter().rev().find_map(same);
            known.unwrap_or_else(|| {
                self.env.expect(place.ptr, tree.layout.words());
                index::tree::post_leaf_at(&mut batch, tree, place)
            })
        });
        self.batch = Some(batch);
        Step::Leaf(posted)
    }

    /// The leaf of this transaction that covers `key`, if it has read one.
    #[inline]
    pub(crate) fn seen_leaf(&self, owner: Owner, key: &[u64]) -> Option<usize> {
        let batch = self.batch.as_ref()?;
        self.seen_leaf_in(batch, owner, &self.tree(owner), key)
    }

    #[inline(always)]
    pub(crate) fn seen_leaf_in(
        &self,
        batch: &Batch,
        owner: Owner,
        tree: &Tree,
        key: &[u64],
    ) -> Option<usize> {
        let covers = |seen: &LeafSeen| {
            seen.owner == owner && LeafView::new(tree.layout, batch.words(seen.span)).covers(key)
        };
        let first = self.leaves_seen.len().saturating_sub(LEAVES_SEARCHED_MAX);
        let found = self.leaves_seen[first..].iter().rposition(covers);
        found.map(|position| first + position)
    }

    /// Looks at the first result and settles the access or posts the read of its row. Answers whether the
    /// leaf has to be found by asking.
    #[inline]
    fn advance(&mut self, pending: &mut Pending) -> Result<bool, TxnError> {
        match pending.step {
            Step::Bucket(bucket) => self.advance_bucket(pending, bucket)?,
            Step::Leaf(posted) => match self.accept_posted(pending.access, posted) {
                Some(seen) => self.advance_leaf(pending, seen)?,
                None => return Ok(true),
            },
            Step::Seen(seen) => self.advance_leaf(pending, seen as usize)?,
            _ => {}
        }
        Ok(false)
    }

    /// The slow way to a leaf.
    #[cold]
    async fn find_and_advance(&mut self, pending: &mut Pending) -> Result<(), TxnError> {
        let entry = self.accesses[pending.access as usize];
        let key = Span { at: entry.key_at, words: self.info(entry.table).row.key_words };
        let seen = self.find_leaf(Owner::Table(entry.table), key).await?;
        self.advance_leaf(pending, seen)
    }

    #[inline(always)]
    fn advance_bucket(&mut self, pending: &mut Pending, bucket: GlobalPtr) -> Result<(), TxnError> {
        let table = self.accesses[pending.access as usize].table;
        let info = self.info(table);
        let Primary::Hash(hash) = &info.primary else {
            unreachable!("buckets belong to hash tables")
        };
        let (rows, slot) = (hash.rows, hash.layout.slot(0));
        let batch = self.batch.as_ref().expect("the batch came back");
        let at = pending.span.at;
        let found = batch.word(at + SlotRead::INDEX);
        let slot_at = at + SlotRead::SLOT;
        if found == SlotRead::MISSING {
            let link = batch.word(at + bucket::LINK);
            let identity = batch.word(at + bucket::IDENTITY);
            let trusts = self.env.mutant("read::trust_directory");
            if link != 0 || !(trusts || self.is_current(hash, pending.access, bucket, identity)) {
                pending.step = Step::Chain;
                return Ok(());
            }
            pending.step = Step::Settled;
            return self.settle_missing(pending.access, bucket, at);
        }
        debug_assert!(slot == bucket::SLOTS);
        if rows {
            let words = hash.layout.slot_words;
            let row = bucket.add_words(u64::from(hash.layout.slot(found as u32)));
            pending.span = Span { at: slot_at, words };
            let is_settled = self.finish_row(pending.access, row, pending.span);
            pending.step = if is_settled { Step::Settled } else { Step::Old(row) };
            return Ok(());
        }
        let row = GlobalPtr::from_word(batch.word(slot_at));
        if row.is_null() {
            // A split or the collector empties the slot at this moment.
            pending.step = Step::Chain;
            return Ok(());
        }
        let words = info.row.words();
        self.env.expect(row, words);
        pending.span = self.batch().read_row(row, words, Cover::AllButLink);
        pending.step = Step::Row(row);
        Ok(())
    }

    /// Whether the bucket that was read, with this identity, is still where the access's key belongs.
    fn is_current(&self, hash: &HashTable, access: u32, bucket: GlobalPtr, identity: u64) -> bool {
        let Access { table, key_at, .. } = self.accesses[access as usize];
        let key = Span { at: key_at, words: hash.layout.key_words };
        let key = self.batch.as_ref().expect("the batch came back").words(key);
        let open = self.tables[table as usize].as_ref().expect("the table is open");
        let place = hash.locate(&open.directory, key);
        // The directory may have been renewed since the lookup was posted.
        place.bucket == bucket && hash.is_current(&place, identity)
    }

    /// Nothing in the bucket has this key.
    #[inline]
    pub(crate) fn settle_missing(
        &mut self,
        access: u32,
        bucket: GlobalPtr,
        at: u32,
    ) -> Result<(), TxnError> {
        let batch = self.batch.as_ref().expect("the batch came back");
        let insert = batch.word(at + bucket::INSERT);
        let collected = batch.word(at + bucket::COLLECTED);
        let tags = batch.word(at + bucket::TAGS);
        self.check_collected(collected)?;
        let table = self.accesses[access as usize].table;
        let Primary::Hash(hash) = &self.info(table).primary else {
            unreachable!("it is a hash table")
        };
        let slots = hash.layout.slots;
        let owner = Owner::Table(table);
        let seen = BucketSeen { owner, bucket, insert, block: bucket, block_slots: slots, tags };
        self.note_bucket(access, seen);
        Ok(())
    }

    /// What is missing proves nothing to a snapshot that is older than what was collected here.
    #[inline]
    pub(crate) fn check_collected(&self, collected: u64) -> Result<(), TxnError> {
        if collected > self.snapshot.stamp && !self.env.mutant("read::skip_collected") {
            return Err(Abort::SnapshotTooOld.into());
        }
        Ok(())
    }

    /// Remembers what proves that a key is absent.
    pub(crate) fn note_bucket(&mut self, access: u32, seen: BucketSeen) {
        self.accesses[access as usize].place = self.buckets_seen.len() as u32;
        self.accesses[access as usize].absence = Absence::NoEntry;
        if self.serializable && !self.env.mutant("read::absence_unwitnessed") {
            self.witnesses.push((seen.bucket, seen.insert));
        }
        self.buckets_seen.push(seen);
    }

    fn advance_leaf(&mut self, pending: &mut Pending, seen: usize) -> Result<(), TxnError> {
        let access = self.accesses[pending.access as usize];
        let owner = Owner::Table(access.table);
        let words = self.info(access.table).row.key_words;
        let key = Span { at: access.key_at, words };
        let tree = self.tree(owner);
        let batch = self.batch.as_ref().expect("the batch came back");
        let LeafSeen { span, near, .. } = self.leaves_seen[seen];
        let view = LeafView::new(tree.layout, batch.words(span));
        let found = view.search_near(near, batch.words(key));
        self.leaves_seen[seen].near = found.map_or_else(|gap| gap, |index| index + 1);
        match found {
            Ok(index) => {
                let row = GlobalPtr::from_word(view.value(index)[0]);
                let words = self.info(access.table).row.words();
                self.env.expect(row, words);
                pending.span = self.batch().read_row(row, words, Cover::AllButLink);
                pending.step = Step::Row(row);
            }
            Err(_) => {
                pending.step = Step::Settled;
                let collected = view.collected();
                self.settle_no_entry(pending.access, seen, collected)?;
            }
        }
        Ok(())
    }

    /// No entry of the leaf has this key.
    pub(crate) fn settle_no_entry(
        &mut self,
        access: u32,
        seen: usize,
        collected: u64,
    ) -> Result<(), TxnError> {
        self.check_collected(collected)?;
        if !self.env.mutant("read::gap_unwitnessed") {
            self.witness_leaf(seen);
        }
        let access = &mut self.accesses[access as usize];
        access.place = seen as u32;
        access.absence = Absence::NoEntry;
        Ok(())
    }

    /// The leaf that was hoped to cover the access's key, if it does.
    #[inline]
    fn accept_posted(&mut self, access: u32, posted: Option<PostedLeaf>) -> Option<usize> {
        let entry = self.accesses[access as usize];
        let owner = Owner::Table(entry.table);
        let key = Span { at: entry.key_at, words: self.info(entry.table).row.key_words };
        let tree = self.tree(owner);
        let batch = self.batch.as_ref().expect("the batch came back");
        let read = index::tree::accept_leaf(batch, &tree, posted?, batch.words(key))?;
        // Leaves of a round trip are mostly noted in the order of the arena, so that earlier ones need no look. One
        // that is noted twice does no harm: both notes are of the same words.
        let last = self.leaves_seen.iter().rposition(|seen| seen.span.at <= read.span.at);
        let known = last.filter(|&last| self.leaves_seen[last].span == read.span);
        Some(known.unwrap_or_else(|| self.note_leaf(owner, &read)))
    }

    /// Asks the memory server for the leaf: the cache was empty or wrong. The verbs that are posted but
    /// not yet executed stay posted.
    #[cold]
    pub(crate) async fn find_leaf(&mut self, owner: Owner, key: Span) -> Result<usize, TxnError> {
        let tree = self.tree(owner);
        let words = Key::from_words(self.batch().words(key));
        let own = Batch::new();
        let env = self.env.clone();
        let cache = self.leaf_cache(owner);
        let (own, read) = index::tree::find_leaf(&env, own, &tree, cache, words.words()).await?;
        let span = {
            let words = own.words(read.span);
            self.batch.as_mut().expect("the batch is here").put(words)
        };
        self.leaves_seen.push(LeafSeen {
            owner,
            leaf: read.ptr,
            span,
            insert: read.insert,
            near: 0,
        });
        Ok(self.leaves_seen.len() - 1)
    }

    /// Settles an access whose row was read, if the version in place is the snapshot's.
    #[inline(always)]
    #[must_use]
    pub(crate) fn finish_row(&mut self, access: u32, row: GlobalPtr, image: Span) -> bool {
        let batch = self.batch.as_ref().expect("the batch came back");
        let version = VersionWord::from_word(batch.word(image.at + VERSION));
        let entry = self.accesses[access as usize];
        let words = self.info(entry.table).row.key_words;
        let own = batch.words(Span { at: entry.key_at, words });
        let is_ours = same_words(batch.words(Span { at: image.at + KEY, words }), own);
        let in_place = is_ours && !version.is_none() && version != VersionWord::TORN;
        if !(in_place && self.snapshot.covers(version)) {
            return false;
        }
        if self.serializable && !self.env.mutant("read::row_unwitnessed") {
            self.witnesses.push((row, version.word()));
        }
        self.accept(access, row, image, version, false);
        true
    }

    /// The snapshot's version of the row stands in `image`.
    #[inline]
    pub(crate) fn accept(
        &mut self,
        access: u32,
        row: GlobalPtr,
        image: Span,
        version: VersionWord,
        is_old: bool,
    ) {
        let access = &mut self.accesses[access as usize];
        access.row = row;
        access.image = image;
        access.version = version;
        access.is_old = is_old;
        if version.is_deleted() {
            access.state = State::Absent;
            access.absence = Absence::Tombstone;
        } else {
            access.state = State::Read;
            access.absence = Absence::None;
            access.key_at = image.at + KEY;
        }
    }
}

const _: () = assert!(LINK == VERSION + 1 && KEY == LINK + 1);
