//! Reads of a row whose version in place the snapshot does not cover, or that is not at its usual
//! place.
//!
//! Decisions:
//! - docs/decisions/0008-old-versions-have-the-shape-of-rows-and-are-read.md
//! - docs/decisions/0009-an-old-version-stores-its-successor.md

use crate::abort::{Abort, TxnError};
use crate::catalog::Primary;
use crate::lane::LaneInner;
use crate::read::access::AccessId;
use crate::write::{BlockRoom, BucketSeen, Owner};
use fabric::{Env, Mutant, SlotGeometry, SlotRead, Span};
use index::tree::LeafView;
use layout::row::{ChainWord, Cover, HEADER, KEY, LINK, OVERFLOW_HEAD, VERSION};
use layout::{GlobalPtr, VersionWord, bucket, region};
use memory::mover::OVERFLOW_COUNT_MAX;

/// If a slot leads this many times to a row that is not there, the row counts as not installed.
const MOVED_COUNT_MAX: u32 = 16;

/// The result of a search for a version at an address.
enum Search {
    /// The access is settled: with a version, or as absent.
    Settled,
    /// The row is no longer at this address.
    Moved,
    /// A writer has been at the address all the time, or its memory serves something else, whose
    /// words never fit a row's checksum.
    Torn,
}

/// Maximal number of attempts to find a row's version, and of blocks to follow in a chain.
const RETRY_COUNT_MAX: u32 = 1000;
/// Maximal number of torn images of a row whose address may be out of date.
const TORN_COUNT_MAX: u32 = 16;

impl<E: Env> LaneInner<E> {
    /// Finds the newest version that the snapshot covers: in place, in the version buffer, or in
    /// the overflow list; otherwise reads everything again, a bounded number of times. A lock does
    /// not hide a row.
    pub(crate) async fn settle_old(
        &mut self,
        access: AccessId,
        row: GlobalPtr,
        image: Span,
    ) -> Result<(), TxnError> {
        // The address may come from a secondary index entry that has outlived its row.
        let before = match self.search_versions(access, row, image, TORN_COUNT_MAX).await? {
            Search::Settled => return Ok(()),
            Search::Moved => row,
            Search::Torn => GlobalPtr::NULL,
        };
        let table = self.txn.accesses[access].table;
        match self.open.info(table).primary {
            Primary::Hash(_) => self.settle_bucket(access).await,
            Primary::Tree(_) => self.settle_by_leaf(access, before).await,
        }
    }

    /// Searches a row of a tree that is no longer at its address, which came from a secondary index
    /// entry that outlived the row, or from a leaf that was read earlier. Reads the leaf again.
    /// `before` is an address where the row is known not to be.
    async fn settle_by_leaf(
        &mut self,
        access: AccessId,
        mut before: GlobalPtr,
    ) -> Result<(), TxnError> {
        let entry = self.txn.accesses[access];
        let owner = Owner::Table(entry.table);
        let shape = self.open.info(entry.table).row;
        let key = Span { at: entry.key_at, words: shape.key_words };
        let tree = self.open.tree(owner);
        for _ in 0..MOVED_COUNT_MAX {
            let seen = self.find_leaf(owner, key).await?;
            let batch = &*self.txn.batch;
            let view = LeafView::new(tree.layout, batch.words(self.txn.leaves_seen[seen].span));
            let Ok(position) = view.search(batch.words(key)) else {
                let collected = view.collected();
                return self.settle_no_entry(access, seen, collected);
            };
            let row = GlobalPtr::from_word(view.value(position)[0]);
            if row == before {
                break;
            }
            before = row;
            self.txn.batch.clear_verbs();
            let image = self.txn.batch.read_row(row, shape.words(), Cover::AllButLink);
            self.execute().await?;
            if let Search::Settled = self.finish_or_settle(access, row, image).await? {
                return Ok(());
            }
        }
        self.settle_unfinished(access, before).await
    }

    async fn search_versions(
        &mut self,
        access: AccessId,
        row: GlobalPtr,
        image: Span,
        torn_max: u32,
    ) -> Result<Search, TxnError> {
        self.statistics.old_version_reads += 1;
        let table = self.txn.accesses[access].table;
        let words = self.open.info(table).row.words();
        let (mut image, mut torn_count) = (image, 0);
        for round in 0..RETRY_COUNT_MAX {
            let version = VersionWord::from_word(self.txn.batch.word(image.at + VERSION));
            torn_count += u32::from(version == VersionWord::TORN);
            if torn_count > torn_max {
                return Ok(Search::Torn);
            }
            let chain = ChainWord::from_word(self.txn.batch.word(image.at + LINK));
            let is_ours = self.has_key(access, image);
            if version != VersionWord::TORN && (!is_ours || !is_settled(version)) {
                // A split has moved the row to another bucket; or slot or memory were reused,
                // during these reads or since the entry was made that led here.
                return Ok(Search::Moved);
            }
            if is_ours && is_settled(version) && self.snapshot.covers(version) {
                self.witness_word(row, version.word());
                self.note_read(access, Some(version));
                self.txn.accept(access, row, image, version, false);
                return Ok(Search::Settled);
            }
            if is_ours
                && !chain.buffer().is_null()
                && let Some(old) = self.search_buffer(access, chain.buffer()).await?
            {
                let version = VersionWord::from_word(self.txn.batch.word(old.at + VERSION));
                if !self.env.mutant(Mutant::ReadOldUnwitnessed) {
                    self.witness_word(row, VersionWord::NONE.locked().word());
                }
                self.note_read(access, Some(version));
                self.txn.accept(access, row, old, version, true);
                return Ok(Search::Settled);
            }
            // Read the row again, and last of all the collected-up-to word.
            self.txn.batch.clear_verbs();
            let again = self.txn.batch.read_row(row, words, Cover::AllButLink);
            if !self.env.mutant(Mutant::ReadCollectedWithRow) {
                self.execute().await?;
                self.txn.batch.clear_verbs();
            }
            let collected = self.txn.batch.read(region::collected(row.region()), 1);
            self.execute().await?;
            let batch = &*self.txn.batch;
            let same = |word: u32| batch.word(again.at + word) == batch.word(image.at + word);
            let is_same = same(VERSION) && same(LINK);
            let stands_still = version != VersionWord::TORN
                && (is_same || self.env.mutant(Mutant::ReadTrustFirstReading));
            if stands_still {
                self.check_collected(self.txn.batch.word(collected.at))?;
                self.settle_later(access, row);
                return Ok(Search::Settled);
            }
            image = again;
            if round > 2 {
                self.env.yield_now().await;
            }
        }
        Err(Abort::Contended.into())
    }

    /// Settles a row that is later than the snapshot. Its writer commits before this transaction,
    /// which does not see it, so this transaction cannot validate any more.
    fn settle_later(&mut self, access: AccessId, row: GlobalPtr) {
        self.witness_word(row, VersionWord::NONE.locked().word());
        self.note_read(access, None);
        self.txn.accept_later(access, row);
    }

    fn has_key(&self, access: AccessId, image: Span) -> bool {
        let words = self.open.info(self.txn.accesses[access].table).row.key_words;
        self.txn.has_key(access, image, words)
    }

    /// Reads all slots of a version buffer in one round trip, then the overflow list entry by
    /// entry.
    async fn search_buffer(
        &mut self,
        access: AccessId,
        buffer: GlobalPtr,
    ) -> Result<Option<Span>, TxnError> {
        let shape = self.open.info(self.txn.accesses[access].table).buffer;
        let words = shape.row.words();
        let batch = &mut *self.txn.batch;
        batch.clear_verbs();
        let first = self.env.mutant(Mutant::ReadOverflowHeadFirst);
        let head_first = first.then(|| batch.read(buffer.add_words(u64::from(OVERFLOW_HEAD)), 1));
        let mut slots = [Span::default(); layout::row::BUFFER_SLOTS_MAX as usize];
        for index in 0..shape.slots {
            let slot = buffer.add_words(u64::from(shape.slot(index)));
            slots[index as usize] = batch.read_row(slot, words, Cover::All);
        }
        self.execute().await?;
        for index in 0..shape.slots {
            let slot = slots[index as usize];
            let at = buffer.add_words(u64::from(shape.slot(index)));
            if self.fits(access, slot) && self.is_still_at(access, at, slot).await? {
                return Ok(Some(slot));
            }
        }
        if self.env.mutant(Mutant::ReadSkipOverflow) {
            return Ok(None);
        }
        let mut entry = match head_first {
            Some(head) => GlobalPtr::from_word(self.txn.batch.words(head)[0]),
            None => self.overflow_head(buffer).await?,
        };
        for _ in 0..2 * OVERFLOW_COUNT_MAX {
            if entry.is_null() {
                break;
            }
            self.txn.batch.clear_verbs();
            let image = self.txn.batch.read_row(entry, words, Cover::All);
            self.execute().await?;
            if self.fits(access, image) && self.is_still_at(access, entry, image).await? {
                return Ok(Some(image));
            }
            if !self.has_key(access, image) {
                break;
            }
            entry = GlobalPtr::from_word(self.txn.batch.word(image.at + HEADER));
        }
        Ok(None)
    }

    /// Whether memory still has the old version that was read from it. Without checksums a read is
    /// taken for whole if the version word is the same before and after it. But the rows that one
    /// transaction has written have the same version: if the memory was freed and used again
    /// meanwhile, the image may be half of one row and half of another. Then the key has changed.
    async fn is_still_at(
        &mut self,
        access: AccessId,
        at: GlobalPtr,
        image: Span,
    ) -> Result<bool, TxnError> {
        if !self.env.is_coherent() || self.env.mutant(Mutant::ReadTrustVersionAlone) {
            return Ok(true);
        }
        let key_words = self.open.info(self.txn.accesses[access].table).row.key_words;
        let words = KEY - VERSION + key_words;
        self.txn.batch.clear_verbs();
        let again = self.txn.batch.read(at.add_words(u64::from(VERSION)), words);
        self.execute().await?;
        let first = Span { at: image.at + VERSION, words };
        Ok(self.txn.batch.words(again) == self.txn.batch.words(first))
    }

    /// The head of a buffer's overflow list. It is read after the slots: a version leaves its slot
    /// only after it is in the list.
    async fn overflow_head(&mut self, buffer: GlobalPtr) -> Result<GlobalPtr, TxnError> {
        self.txn.batch.clear_verbs();
        let head = self.txn.batch.read(buffer.add_words(u64::from(OVERFLOW_HEAD)), 1);
        self.execute().await?;
        Ok(GlobalPtr::from_word(self.txn.batch.words(head)[0]))
    }

    /// An old version belongs to the snapshot if the snapshot covers it and not its successor. Key
    /// and version together are unique, so it may come from any row's buffer.
    fn fits(&self, access: AccessId, image: Span) -> bool {
        let batch = &*self.txn.batch;
        let version = VersionWord::from_word(batch.word(image.at + VERSION));
        let successor = VersionWord::from_word(batch.word(image.at + LINK));
        let unchecked = self.env.mutant(Mutant::ReadSuccessorUnchecked);
        is_settled(version)
            && (self.has_key(access, image) || self.env.mutant(Mutant::ReadOldOfAnyRow))
            && self.snapshot.covers(version)
            && (unchecked || !self.snapshot.covers(successor))
    }

    /// Follows a bucket's overflow chain, with a new directory if the cached one was outdated.
    pub(crate) async fn settle_bucket(&mut self, access: AccessId) -> Result<(), TxnError> {
        let entry = self.txn.accesses[access];
        let info = self.open.info(entry.table).clone();
        let Primary::Hash(hash) = &info.primary else {
            unreachable!("buckets belong to hash tables")
        };
        let key = Span { at: entry.key_at, words: info.row.key_words };
        let mut moved_count = 0;
        let mut redirected = None;
        for _ in 0..RETRY_COUNT_MAX {
            let directory = &self.open.table(entry.table).directory;
            let words = self.txn.batch.words(key);
            let place = redirected.take().unwrap_or_else(|| hash.locate(directory, words));
            let mut outdated = None;
            let mut seen = None;
            let mut geometry = SlotGeometry::bucket(&hash.layout, hash.rows, place.tag_hash);
            let mut block = place.bucket;
            let mut room = BlockRoom::FULL;
            loop {
                self.txn.batch.clear_verbs();
                let span = self.txn.batch.find_slot(block, geometry, key);
                self.execute().await?;
                let word = |n: u32| self.txn.batch.word(span.at + n);
                if word(SlotRead::INDEX) != SlotRead::MISSING {
                    if let Search::Settled =
                        self.settle_slot(access, block, &geometry, span).await?
                    {
                        return Ok(());
                    }
                    // If a split did not finish, the key is in the old bucket too: the bucket's
                    // identity shows where the key belongs now.
                    outdated = self.outdated_identity(hash, &place).await?;
                    moved_count += u32::from(outdated.is_none());
                    if moved_count == MOVED_COUNT_MAX {
                        return self.settle_unfinished(access, block).await;
                    }
                    break;
                }
                if seen.is_none() {
                    if !hash.is_current(&place, word(bucket::IDENTITY)) {
                        outdated = Some(word(bucket::IDENTITY));
                        break;
                    }
                    seen = Some(word(bucket::INSERT));
                    self.check_collected(word(bucket::COLLECTED))?;
                }
                let (tags, link) = (word(bucket::TAGS), GlobalPtr::from_word(word(bucket::LINK)));
                room = room.or_next(BlockRoom { block, slots: u32::from(geometry.slots), tags });
                if link.is_null() {
                    if block != place.bucket && !self.is_chain_complete(hash, &place).await? {
                        break;
                    }
                    let insert = seen.expect("the first block was read");
                    let (owner, bucket) = (Owner::Table(entry.table), place.bucket);
                    let seen = BucketSeen { owner, bucket, insert, room, last: block };
                    self.note_bucket(access, seen);
                    return Ok(());
                }
                block = link;
                geometry = SlotGeometry::overflow(&hash.layout, hash.rows, place.tag_hash);
            }
            self.env.yield_now().await;
            let directory = index::hash::read_directory(&self.env, hash).await?;
            redirected =
                outdated.and_then(|identity| hash.redirected(&directory, &place, identity));
            self.open.table_mut(entry.table).directory = directory;
        }
        Err(Abort::Contended.into())
    }

    /// The identity word of a bucket, if the key of `place` no longer belongs to the bucket.
    pub(crate) async fn outdated_identity(
        &mut self,
        hash: &index::hash::HashTable,
        place: &index::hash::Place,
    ) -> Result<Option<u64>, TxnError> {
        self.txn.batch.clear_verbs();
        let identity = self.txn.batch.read(place.bucket.add_words(u64::from(bucket::IDENTITY)), 1);
        self.execute().await?;
        let identity = self.txn.batch.words(identity)[0];
        Ok((!hash.is_current(place, identity)).then_some(identity))
    }

    /// Settles a slot that leads to a row that never appears: the commit that installs it is still
    /// running, or its compute server died. It has not published, so the row is later than the
    /// snapshot.
    async fn settle_unfinished(
        &mut self,
        access: AccessId,
        block: GlobalPtr,
    ) -> Result<(), TxnError> {
        self.txn.batch.clear_verbs();
        let collected = self.txn.batch.read(region::collected(block.region()), 1);
        self.execute().await?;
        let collected = self.txn.batch.words(collected)[0];
        self.check_collected(collected)?;
        self.settle_later(access, block);
        Ok(())
    }

    /// Reads a bucket's header again after its whole chain was read. Returns whether no split has
    /// taken slots from the later blocks since the first block was read. Aborts if collection may
    /// have done so.
    pub(crate) async fn is_chain_complete(
        &mut self,
        hash: &index::hash::HashTable,
        place: &index::hash::Place,
    ) -> Result<bool, TxnError> {
        if self.env.mutant(Mutant::ReadTrustChain) {
            return Ok(true);
        }
        self.txn.batch.clear_verbs();
        let header = self.txn.batch.read(place.bucket, bucket::SLOTS);
        self.execute().await?;
        let word = |n: u32| self.txn.batch.word(header.at + n);
        self.check_collected(word(bucket::COLLECTED))?;
        Ok(hash.is_current(place, word(bucket::IDENTITY)))
    }

    /// Settles an access whose key was found in a block of the chain.
    async fn settle_slot(
        &mut self,
        access: AccessId,
        block: GlobalPtr,
        geometry: &SlotGeometry,
        span: Span,
    ) -> Result<Search, TxnError> {
        let index = self.txn.batch.word(span.at + SlotRead::INDEX) as u32;
        let slot = Span { at: span.at + SlotRead::SLOT, words: u32::from(geometry.slot_words) };
        if geometry.rows {
            let row = block.add_words(u64::from(geometry.slot(index)));
            return self.finish_or_settle(access, row, slot).await;
        }
        let row = GlobalPtr::from_word(self.txn.batch.word(slot.at));
        if row.is_null() {
            return Ok(Search::Moved);
        }
        let words = self.open.info(self.txn.accesses[access].table).row.words();
        self.txn.batch.clear_verbs();
        let image = self.txn.batch.read_row(row, words, Cover::AllButLink);
        self.execute().await?;
        self.finish_or_settle(access, row, image).await
    }

    async fn finish_or_settle(
        &mut self,
        access: AccessId,
        row: GlobalPtr,
        image: Span,
    ) -> Result<Search, TxnError> {
        if self.finish_row(access, row, image) {
            return Ok(Search::Settled);
        }
        self.search_versions(access, row, image, RETRY_COUNT_MAX).await
    }
}

/// Whether a version word is a version, not a hole, a moved row or a write in progress.
fn is_settled(version: VersionWord) -> bool {
    !version.is_none() && version != VersionWord::TORN && version != VersionWord::MOVED
}
