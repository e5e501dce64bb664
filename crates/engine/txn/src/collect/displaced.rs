//! Version buffers that nobody needs any more: detached from their rows and given back.
//!
//! A row gets its buffer with an update and keeps it while transactions may need what was
//! displaced. Once a horizon covers the row's version, and the row has not changed since, the
//! buffer goes back to the pool.
//!
//! Decisions:
//! - docs/decisions/0010-the-chain-word-packs-pointer-and-ring-position.md
//! - docs/decisions/0012-a-ring-slot-is-freed-by-the-horizon-or-by-the-version-mover.md
//! - docs/decisions/0013-a-row-gets-its-version-buffer-with-its-first-update.md
//! - docs/decisions/0150-what-a-swap-proves-is-not-read-again.md

use crate::catalog::TableId;
use crate::collect::Horizon;
use crate::lane::LaneInner;
use crate::step::CollectStep;
use fabric::{Env, FabricError, Mutant};
use layout::row::{LINK, OVERFLOW_HEAD};
use layout::{GlobalPtr, VersionWord};
use memory::MoveRequest;
use std::collections::VecDeque;

/// Most buffers detached with one batch: the rows' lines all fit the first cache.
const DETACHED_PER_BATCH: usize = 128;
/// Most batches in one round.
const BATCHES_PER_ROUND: usize = 8;

/// A buffer that waits for a horizon to cover its row's version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DisplacedBuffer {
    /// The row.
    pub row: GlobalPtr,
    /// The version that the commit gave to the row.
    pub version: VersionWord,
    /// The buffer.
    pub buffer: GlobalPtr,
    /// The table.
    pub table: TableId,
}

/// How many of the oldest buffers a horizon covers, up to what goes into one batch.
fn covered_count(displaced: &VecDeque<DisplacedBuffer>, horizon: &Horizon) -> usize {
    let oldest = displaced.iter().take(DETACHED_PER_BATCH);
    oldest.take_while(|waiting| horizon.covers(waiting.version)).count()
}

impl<E: Env> LaneInner<E> {
    /// Gives back the buffers that the horizon covers, oldest first. Answers whether none of them
    /// is left.
    pub(crate) async fn detach_buffers(&mut self) -> Result<bool, FabricError> {
        for _ in 0..BATCHES_PER_ROUND {
            let count = match self.env.mutant(Mutant::CollectBuffersBeforeHorizon) {
                true => self.garbage.displaced.len().min(DETACHED_PER_BATCH),
                false => covered_count(&self.garbage.displaced, &self.garbage.horizon),
            };
            if count == 0 {
                return Ok(true);
            }
            self.detach_oldest(count).await?;
            if count < DETACHED_PER_BATCH {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Locks each row that has not changed since, clears its chain, unlocks.
    async fn detach_oldest(&mut self, count: usize) -> Result<(), FabricError> {
        let locked = self.identity.upkeep_timestamp().locked().word();
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.reset();
        for waiting in self.garbage.displaced.iter().take(count) {
            self.env.prefetch(waiting.row, 1);
            self.env.prefetch(waiting.buffer, 1);
            batch.compare_and_swap(waiting.row, waiting.version.word(), locked);
            // A commit that moved a version out of it may have aborted, and the row is as it was.
            batch.read(waiting.buffer.add_words(u64::from(OVERFLOW_HEAD)), 1);
        }
        let mut batch = self.env.execute(batch).await?;
        self.env.reach(CollectStep::BuffersLocked).await;
        batch.clear_verbs();
        for number in 0..count as u32 {
            let Some(waiting) = self.garbage.displaced.pop_front() else { break };
            let found = VersionWord::from_word(batch.word(2 * number));
            if found != waiting.version && !self.env.mutant(Mutant::CollectDetachChanged) {
                // The commit that holds the lock may abort and leave the row as it was.
                if found.is_locked() && found != VersionWord::MOVED {
                    self.garbage.displaced.push_back(waiting);
                }
                continue;
            }
            if batch.word(2 * number + 1) != 0 {
                self.empty_overflow(&waiting).await;
                // Buffers in the pool have empty lists, whatever became of this one's entries.
                batch.write_word(waiting.buffer.add_words(u64::from(OVERFLOW_HEAD)), 0);
            }
            batch.write_word(waiting.row.add_words(u64::from(LINK)), 0);
            batch.write_word(waiting.row, waiting.version.word());
            self.free_buffer(waiting.table, waiting.buffer);
            self.statistics.buffers_collected += 1;
        }
        if !batch.is_empty() {
            batch = self.env.execute(batch).await?;
        }
        self.env.reach(CollectStep::BuffersDetached).await;
        self.scratch.batch = Some(batch);
        Ok(())
    }

    /// Gives a version buffer back to the pool of its server.
    #[inline]
    pub(crate) fn free_buffer(&mut self, table: TableId, buffer: GlobalPtr) {
        let info = self.open.info(table);
        let (label, words) = (info.label, info.buffer.words());
        let server = self.env.node_of(buffer.region());
        if !self.shared.reserved.give_back((label, server), buffer) {
            self.open.table_mut(table).buffers_on(server).free(buffer, words);
        }
    }

    /// Has the mover drop the whole overflow list: all of it is older than the horizon. Failing
    /// only leaves the entries where they are.
    #[cold]
    async fn empty_overflow(&mut self, waiting: &DisplacedBuffer) {
        let info = self.open.info(waiting.table);
        let request = MoveRequest {
            buffer: waiting.buffer,
            layout: info.buffer,
            slot: 0,
            label: info.label,
            horizon: self.garbage.horizon.counters().to_vec(),
        };
        let _ = memory::mover::drop_overflow(&self.env, &request).await;
    }
}
