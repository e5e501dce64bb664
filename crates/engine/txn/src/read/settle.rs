//! Processes the results of reads: a row's version, a reason to search further, or the proof that
//! the key is absent.

use super::{Pending, Step, same_words};
use crate::abort::{Abort, TxnError};
use crate::catalog::Primary;
use crate::lane::LaneInner;
use crate::read::access::{AccessId, KeyPlace};
use crate::write::{BlockRoom, BucketSeen, LeafSeen, LeafSeenId, Owner};
use fabric::{Env, Mutant, SlotRead, Span};
use index::hash::HashTable;
use index::tree::LeafView;
use layout::row::{Cover, KEY, LINK, VERSION};
use layout::{GlobalPtr, VersionWord, bucket};

impl<E: Env> LaneInner<E> {
    /// Processes the first result: settles the access or posts the read of its row. Returns whether
    /// the leaf must be found by a call to the memory server.
    #[inline]
    pub(super) fn advance(&mut self, pending: &mut Pending) -> Result<bool, TxnError> {
        match pending.step {
            Step::Bucket(bucket) => self.advance_bucket(pending, bucket)?,
            Step::Leaf(posted) => match self.accept_posted(pending.access, posted) {
                Some(seen) => self.advance_leaf(pending, seen)?,
                None => return Ok(true),
            },
            Step::Seen(seen) => self.advance_leaf(pending, seen)?,
            _ => {}
        }
        Ok(false)
    }

    /// Finds the leaf by a call, then advances.
    #[cold]
    pub(super) async fn find_and_advance(&mut self, pending: &mut Pending) -> Result<(), TxnError> {
        let table = self.txn.accesses[pending.access].table;
        let key = self.txn.key(pending.access, self.open.info(table).row.key_words);
        let seen = self.find_leaf(Owner::Table(table), key).await?;
        self.advance_leaf(pending, seen)
    }

    #[inline(always)]
    pub(super) fn advance_bucket(
        &mut self,
        pending: &mut Pending,
        bucket: GlobalPtr,
    ) -> Result<(), TxnError> {
        let table = self.txn.accesses[pending.access].table;
        let info = self.open.info(table);
        let Primary::Hash(hash) = &info.primary else {
            unreachable!("buckets belong to hash tables")
        };
        let (rows, slot) = (hash.rows, hash.layout.slot(0));
        let batch = &*self.txn.batch;
        let at = pending.span.at;
        let found = batch.word(at + SlotRead::INDEX);
        let slot_at = at + SlotRead::SLOT;
        if found == SlotRead::MISSING {
            let link = batch.word(at + bucket::LINK);
            let identity = batch.word(at + bucket::IDENTITY);
            let trusts = self.env.mutant(Mutant::ReadTrustDirectory);
            if link != 0 || !(trusts || self.is_current(hash, pending.access, bucket, identity)) {
                pending.step = Step::Chain;
                return Ok(());
            }
            pending.step = Step::Settled;
            return self.settle_missing(pending.access, bucket, at);
        }
        debug_assert!(slot == bucket::SLOTS);
        if rows {
            let words = pending.span.words - SlotRead::SLOT;
            let row = bucket.add_words(u64::from(hash.layout.slot(found as u32)));
            pending.span = Span { at: slot_at, words };
            let is_settled = self.finish_row(pending.access, row, pending.span);
            pending.step = if is_settled { Step::Settled } else { Step::Old(row) };
            return Ok(());
        }
        let row = GlobalPtr::from_word(batch.word(slot_at));
        if row.is_null() {
            // A split or collection is emptying the slot at this moment.
            pending.step = Step::Chain;
            return Ok(());
        }
        let words = info.row.words();
        self.env.prefetch(row, words);
        pending.span = self.txn.batch.read_row(row, words, Cover::AllButLink);
        pending.step = Step::Row(row);
        Ok(())
    }

    /// Whether the access's key still belongs to the bucket that was read, which has this identity.
    fn is_current(
        &self,
        hash: &HashTable,
        access: AccessId,
        bucket: GlobalPtr,
        identity: u64,
    ) -> bool {
        let table = self.txn.accesses[access].table;
        let key = self.txn.batch.words(self.txn.key(access, hash.layout.key_words));
        let place = hash.locate(&self.open.table(table).directory, key);
        // The directory may have been refreshed since the lookup was posted.
        place.bucket == bucket && hash.is_current(&place, identity)
    }

    /// Settles an access whose key is not in the bucket.
    #[inline]
    pub(crate) fn settle_missing(
        &mut self,
        access: AccessId,
        bucket: GlobalPtr,
        at: u32,
    ) -> Result<(), TxnError> {
        let batch = &*self.txn.batch;
        let insert = batch.word(at + bucket::INSERT);
        let collected = batch.word(at + bucket::COLLECTED);
        let tags = batch.word(at + bucket::TAGS);
        self.check_collected(collected)?;
        let table = self.txn.accesses[access].table;
        let Primary::Hash(hash) = &self.open.info(table).primary else {
            unreachable!("it is a hash table")
        };
        let slots = hash.layout.slots;
        let owner = Owner::Table(table);
        let room = BlockRoom { block: bucket, slots, tags };
        let seen = BucketSeen { owner, bucket, insert, room, last: bucket };
        self.note_bucket(access, seen);
        Ok(())
    }

    /// Aborts if absence proves nothing, because the snapshot is older than the collection at this
    /// place.
    #[inline]
    pub(crate) fn check_collected(&self, collected: u64) -> Result<(), TxnError> {
        if collected > self.snapshot.stamp && !self.env.mutant(Mutant::ReadSkipCollected) {
            return Err(Abort::SnapshotTooOld.into());
        }
        Ok(())
    }

    /// Adds the bucket that proves a key absent.
    pub(crate) fn note_bucket(&mut self, access: AccessId, seen: BucketSeen) {
        if !self.env.mutant(Mutant::ReadAbsenceUnwitnessed) {
            self.witness_word(seen.bucket, seen.insert);
        }
        let seen = self.txn.buckets_seen.add(seen);
        self.note_read(access, None);
        self.txn.accept_no_entry(access, KeyPlace::BucketSeen(seen));
    }

    fn advance_leaf(&mut self, pending: &mut Pending, seen: LeafSeenId) -> Result<(), TxnError> {
        let access = self.txn.accesses[pending.access];
        let owner = Owner::Table(access.table);
        let words = self.open.info(access.table).row.key_words;
        let key = Span { at: access.key_at, words };
        let tree = self.open.tree(owner);
        let batch = &*self.txn.batch;
        let LeafSeen { span, near, .. } = self.txn.leaves_seen[seen];
        let view = LeafView::new(tree.layout, batch.words(span));
        let found = view.search_near(near, batch.words(key));
        self.txn.leaves_seen[seen].near = found.map_or_else(|gap| gap, |index| index + 1);
        match found {
            Ok(index) => {
                let row = GlobalPtr::from_word(view.value(index)[0]);
                let words = self.open.info(access.table).row.words();
                self.env.prefetch(row, words);
                pending.span = self.txn.batch.read_row(row, words, Cover::AllButLink);
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

    /// Settles an access whose key has no entry in the leaf.
    pub(crate) fn settle_no_entry(
        &mut self,
        access: AccessId,
        seen: LeafSeenId,
        collected: u64,
    ) -> Result<(), TxnError> {
        self.check_collected(collected)?;
        if !self.env.mutant(Mutant::ReadGapUnwitnessed) {
            self.witness_leaf(seen);
        }
        self.note_read(access, None);
        self.txn.accept_no_entry(access, KeyPlace::LeafSeen(seen));
        Ok(())
    }

    /// Settles an access with the row read, if the snapshot covers the version in place.
    #[inline(always)]
    #[must_use]
    pub(crate) fn finish_row(&mut self, access: AccessId, row: GlobalPtr, image: Span) -> bool {
        let batch = &*self.txn.batch;
        let version = VersionWord::from_word(batch.word(image.at + VERSION));
        let entry = self.txn.accesses[access];
        let words = self.open.info(entry.table).row.key_words;
        let own = batch.words(Span { at: entry.key_at, words });
        let is_ours = same_words(batch.words(Span { at: image.at + KEY, words }), own);
        let in_place = is_ours && !version.is_none() && version != VersionWord::TORN;
        if !(in_place && self.snapshot.covers(version)) {
            return false;
        }
        if self.txn.serializable && !self.env.mutant(Mutant::ReadRowUnwitnessed) {
            self.witnesses.add_word(row, version.word());
        }
        self.note_read(access, Some(version));
        self.txn.accept(access, row, image, version, false);
        true
    }
}

const _: () = assert!(LINK == VERSION + 1 && KEY == LINK + 1);
