//! Batch 2 before batch 1: what the commit will write is known before it
//! locks, so that the lane's journal has it when the first lock is held.
//!
//! Version buffers are taken earlier for that, and returned if the commit aborts. A chain word that
//! has changed under the lock changes batch 2, and the journal is written again with the round trip
//! that this costs anyway.
//!
//! Decision: docs/decisions/0311-a-commit-writes-its-batch-2-to-a-journal-with-its-locks.md

use crate::abort::Abort;
use crate::lane::LaneInner;
use crate::recovery::{LaneJournal, begin_entry};
use fabric::{Batch, Env, Mutant, append_writes};
use layout::VersionWord;
use layout::journal::{ENTRY_HEAD, EntryHead, close_entry};
use layout::row::{ChainWord, LINK};

impl<E: Env> LaneInner<E> {
    /// Whether batch 2 is put together before batch 1: for the journal, and where batches may be
    /// lost, for the decision about an unknown outcome.
    #[inline(always)]
    pub(crate) fn sets_installs_aside(&self) -> bool {
        !E::IMMEDIATE || self.journal.is_some()
    }

    /// Puts batch 2 together, sets it aside, and describes it in the journal's entry.
    pub(super) async fn set_installs_aside(&mut self, timestamp: VersionWord) -> Result<(), Abort> {
        for index in 0..self.writes.rows.len() {
            let number = self.writes.rows[index];
            let access = &self.txn.accesses[number];
            if access.is_new() || access.has_new_buffer {
                continue;
            }
            let chain = ChainWord::from_word(self.txn.batch.word(access.image.at + LINK));
            if chain.buffer().is_null() {
                self.give_buffer(number).await?;
            }
        }
        let mut batch = self.txn.batch.take();
        batch.clear_verbs();
        self.post_installs(&mut batch, timestamp);
        let id = self.journal.as_deref_mut().map_or(0, LaneJournal::next_id);
        let journal = self.journal.as_deref();
        let unmarked = self.env.mutant(Mutant::CommitSkipMark);
        let mark = |region| journal.filter(|_| !unmarked).map(|journal| (journal.mark(region), id));
        let has_ends = self.env.has_replicas();
        let end_mark =
            |region| journal.filter(|_| has_ends).map(|journal| (journal.end_mark(region), id));
        batch.set_aside(&mut self.scratch.installs, mark, end_mark);
        self.describe(&batch, timestamp, id);
        self.txn.batch.put_back(batch);
        let Some(journal) = self.journal.as_deref_mut() else { return Ok(()) };
        let room = journal.make_room(&self.env, &self.shared, &self.scratch.entry).await;
        room.map_err(Abort::from)
    }

    /// Makes the entry: the words that the commit locks, and batch 2 with its marks, which are a
    /// part of every copy.
    fn describe(&mut self, batch: &Batch, number: VersionWord, id: u64) {
        let mut entry = std::mem::take(&mut self.scratch.entry);
        begin_entry(&mut entry);
        let Self { txn, writes, .. } = &*self;
        let accesses = writes.rows.iter().map(|&number| &txn.accesses[number]);
        let existing = accesses.filter(|access| !access.is_new() && !access.row.is_null());
        entry.extend(existing.flat_map(|row| [row.row.word(), row.version.word()]));
        let rows = (entry.len() - ENTRY_HEAD) / 2;
        let buckets = writes.bucket_inserts.iter();
        entry.extend(buckets.flat_map(|insert| [insert.bucket.word(), insert.insert]));
        let leaves = writes.locks.leaves.iter().map(|lock| &txn.leaves_seen[lock.seen]);
        entry.extend(leaves.flat_map(|seen| [seen.leaf.word(), seen.insert.word()]));
        let structures = (entry.len() - ENTRY_HEAD) / 2 - rows;
        append_writes(batch, self.scratch.installs.verbs(), &mut entry);
        close_entry(&mut entry, EntryHead { number, id, rows, structures });
        self.scratch.entry = entry;
    }

    /// Posts the write of the journal's entry, if the lane has a journal.
    pub(super) fn post_journal(&self, batch: &mut Batch) {
        if let Some(journal) = self.journal.as_deref() {
            journal.post(batch, &self.scratch.entry);
        }
    }
}
