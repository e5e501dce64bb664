//! Collection of version buffers: it detaches buffers that no snapshot needs from their rows and
//! frees them.
//!
//! A row gets its buffer with an update and keeps it while transactions may need the displaced
//! versions. Once a horizon covers the row's version, and the row has not changed since, collection
//! returns the buffer to the pool.
//!
//! Decisions:
//! - docs/decisions/0010-the-chain-word-packs-pointer-and-ring-position.md
//! - docs/decisions/0012-a-ring-slot-is-freed-by-the-horizon-or-by-the-version-mover.md
//! - docs/decisions/0013-a-row-gets-its-version-buffer-with-its-first-update.md
//! - docs/decisions/0150-what-a-swap-proves-is-not-read-again.md

use crate::catalog::TableId;
use crate::collect::Horizon;
use crate::lane::LaneInner;
use crate::recovery::LockedWord;
use crate::step::CollectStep;
use fabric::{Batch, Env, FabricError, Mutant, Note};
use layout::row::{LINK, OVERFLOW_HEAD};
use layout::{GlobalPtr, VersionWord};
use memory::MoveRequest;
use std::collections::VecDeque;

/// Maximal number of buffers detached with one batch: all cache lines of the rows fit in the
/// first-level cache.
const DETACHED_PER_BATCH: usize = u128::BITS as usize;
/// Maximal number of batches in one round.
const BATCHES_PER_ROUND: usize = 8;

/// A buffer that waits for a horizon to cover its row's version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DisplacedBuffer {
    pub row: GlobalPtr,
    /// The version that the commit gave to the row.
    pub version: VersionWord,
    pub buffer: GlobalPtr,
    pub table: TableId,
}

/// Number of the oldest buffers that the horizon covers, at most as many as fit in one batch.
fn covered_count(displaced: &VecDeque<DisplacedBuffer>, horizon: &Horizon) -> usize {
    let oldest = displaced.iter().take(DETACHED_PER_BATCH);
    oldest.take_while(|waiting| horizon.covers(waiting.version)).count()
}

/// Entries, by number, that a batch leaves out. If a batch is lost and repeated, a swap that finds
/// its own lock has succeeded the first time, so no two swaps of a batch may be on one row.
#[derive(Clone, Copy, Default)]
struct LeftOut {
    /// This lane has changed the row again since: that commit enqueued the buffer.
    superseded: u128,
    /// They wait for another batch.
    waiting: u128,
}

impl LeftOut {
    fn of(displaced: &VecDeque<DisplacedBuffer>, count: usize) -> Self {
        let mut rows: Vec<(GlobalPtr, usize)> =
            (0..count).map(|number| (displaced[number].row, number)).collect();
        rows.sort_unstable();
        let mut left_out = Self::default();
        for of_row in rows.chunk_by(|one, other| one.0 == other.0) {
            let mut newest = of_row[0].1;
            for &(_, number) in &of_row[1..] {
                let (one, other) = (displaced[newest].version, displaced[number].version);
                if one.slot() != other.slot() {
                    left_out.waiting |= 1 << number;
                } else if one.counter() < other.counter() {
                    left_out.superseded |= 1 << newest;
                    newest = number;
                } else {
                    left_out.superseded |= 1 << number;
                }
            }
        }
        left_out
    }

    fn has(self, number: usize) -> bool {
        (self.superseded | self.waiting) & 1 << number != 0
    }
}

impl<E: Env> LaneInner<E> {
    /// Detaches and frees the buffers that the horizon covers, oldest first. Returns whether it has
    /// processed all of them.
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

    /// Locks each row that has not changed since, clears its chain word, and unlocks it.
    async fn detach_oldest(&mut self, count: usize) -> Result<(), FabricError> {
        let locked = self.identity.upkeep_timestamp().locked_by_upkeep().word();
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.reset();
        // Where verbs complete at once, no batch is lost; others may have to undo one nevertheless.
        let is_kept = E::IMMEDIATE && self.journal.is_none();
        let left_out = match is_kept || self.env.mutant(Mutant::CollectLockRowTwice) {
            true => LeftOut::default(),
            false => LeftOut::of(&self.garbage.displaced, count),
        };
        for (number, waiting) in self.garbage.displaced.iter().take(count).enumerate() {
            if left_out.has(number) {
                continue;
            }
            self.env.prefetch(waiting.row, 1);
            self.env.prefetch(waiting.buffer, 1);
            batch.compare_and_swap(waiting.row, waiting.version.word(), locked);
            // The row's chain may have an overflow list although its version is unchanged: a commit
            // that moved a version there may have aborted.
            batch.read(waiting.buffer.add_words(u64::from(OVERFLOW_HEAD)), 1);
        }
        let batch = self.env.execute(batch).await?;
        self.env.reach(CollectStep::BuffersLocked).await;
        let mut batch = self.read_far_heads(batch, count, left_out).await?;
        let (mut detached, mut busy, mut far_heads) = (0u128, left_out.waiting, false);
        let posted = (0..count).filter(|&number| !left_out.has(number));
        for (place, number) in (0..).zip(posted) {
            let waiting = self.garbage.displaced[number];
            let found = VersionWord::from_word(batch.word(2 * place));
            if found != waiting.version && !self.env.mutant(Mutant::CollectDetachChanged) {
                // The commit that holds the lock may abort and leave the row as it was.
                if found.is_locked() && found != VersionWord::MOVED {
                    self.note_stray(LockedWord::Row(waiting.row), found.word());
                    busy |= 1 << number;
                }
                continue;
            }
            if batch.word(2 * place + 1) != 0 {
                self.empty_overflow(waiting.table, waiting.buffer).await;
                // Buffers in the pool must have empty lists, even if the mover could not free the
                // entries.
                batch.write_word(waiting.buffer.add_words(u64::from(OVERFLOW_HEAD)), 0);
                far_heads |= waiting.row.region() != waiting.buffer.region();
            }
            detached |= 1 << number;
        }
        if far_heads {
            // If others carry the batch out again, an unlocked row proves that this is done.
            batch.fence();
        }
        self.post_detached(&mut batch, detached);
        if !batch.is_empty() {
            batch = self.env.execute(batch).await?;
        }
        // Only now: another lane may use a freed buffer at once.
        for number in 0..count {
            let Some(waiting) = self.garbage.displaced.pop_front() else { break };
            if detached & 1 << number != 0 {
                self.free_buffer(waiting.table, waiting.buffer);
                self.statistics.buffers_collected += 1;
            } else if busy & 1 << number != 0 {
                self.garbage.displaced.push_back(waiting);
            }
        }
        self.env.reach(CollectStep::BuffersDetached).await;
        self.scratch.batch = Some(batch);
        Ok(())
    }

    /// Clears the chain words of locked rows, and unlocks them.
    fn post_detached(&self, batch: &mut Batch, detached: u128) {
        let displaced = self.garbage.displaced.iter().take(DETACHED_PER_BATCH).enumerate();
        for (_, waiting) in displaced.filter(|(number, _)| detached & 1 << number != 0) {
            batch.write_word(waiting.row.add_words(u64::from(LINK)), 0);
            batch.write_word(waiting.row, waiting.version.word());
        }
    }

    /// Reads the heads of overflow lists again that are on other servers than their rows, since a
    /// split has moved those: such a head may have been read before the row was locked.
    async fn read_far_heads(
        &self,
        mut batch: Batch,
        count: usize,
        left_out: LeftOut,
    ) -> Result<Batch, FabricError> {
        batch.clear_verbs();
        let mut heads = Vec::new();
        if E::IMMEDIATE {
            return Ok(batch);
        }
        let posted = (0..count).filter(|&number| !left_out.has(number));
        for (place, number) in (0..).zip(posted) {
            let DisplacedBuffer { row, buffer, .. } = self.garbage.displaced[number];
            if row.region() != buffer.region() {
                let head = batch.read(buffer.add_words(u64::from(OVERFLOW_HEAD)), 1);
                heads.push((2 * place + 1, head));
            }
        }
        if heads.is_empty() {
            return Ok(batch);
        }
        batch = self.env.execute(batch).await?;
        for (at, head) in heads {
            let head = batch.word(head.at);
            batch.set_word(at, head);
        }
        batch.clear_verbs();
        Ok(batch)
    }

    /// Empties the overflow list of a tombstone's buffer, which still waits in the queue: its row
    /// was locked, or has moved since, when it was to be detached. The horizon covers the deletion,
    /// and this lane holds the tombstone's lock.
    #[cold]
    pub(crate) async fn empty_buffer(
        &mut self,
        table: TableId,
        buffer: GlobalPtr,
    ) -> Result<(), FabricError> {
        self.empty_overflow(table, buffer).await;
        let mut batch = Batch::new();
        batch.write_word(buffer.add_words(u64::from(OVERFLOW_HEAD)), 0);
        self.env.execute(batch).await.map(drop)
    }

    /// Returns a version buffer to the pool of its server, or to the reserve.
    #[inline]
    pub(crate) fn free_buffer(&mut self, table: TableId, buffer: GlobalPtr) {
        let info = self.open.info(table);
        let (label, words) = (info.label, info.buffer.words());
        let server = buffer.region().server();
        if self.shared.reserved.give_back((label, server), buffer) {
            self.env.note(|| Note::Frees { at: buffer, words });
        } else {
            self.open.table_mut(table).buffers_on(server).free(&self.env, buffer, words);
        }
    }

    /// Calls the mover to drop the whole overflow list, which the horizon covers. A failure only
    /// leaks its entries.
    #[cold]
    async fn empty_overflow(&mut self, table: TableId, buffer: GlobalPtr) {
        let info = self.open.info(table);
        let request = MoveRequest {
            buffer,
            layout: info.buffer,
            slot: 0,
            label: info.label,
            horizon: self.garbage.horizon.counters().to_vec(),
        };
        let _ = memory::mover::drop_overflow(&self.env, &request).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout::{RegionId, SlotId};

    /// A queue of buffers, each with its row, and the slot and the counter of its version.
    fn queue(waiting: &[(u64, u16, u64)]) -> VecDeque<DisplacedBuffer> {
        let pointer = |offset| GlobalPtr::new(RegionId(0), offset);
        let of = |(number, &(row, slot, counter)): (usize, &(u64, u16, u64))| DisplacedBuffer {
            row: pointer(4096 + 64 * row),
            version: VersionWord::new(SlotId(slot), counter),
            buffer: pointer((1 << 20) + 64 * number as u64),
            table: TableId(0),
        };
        waiting.iter().enumerate().map(of).collect()
    }

    /// The numbers of the buffers whose swaps are posted, and of those that wait.
    fn posted_and_waiting(waiting: &[(u64, u16, u64)]) -> (Vec<usize>, Vec<usize>) {
        let queue = queue(waiting);
        let left_out = LeftOut::of(&queue, queue.len());
        assert_eq!(left_out.superseded & left_out.waiting, 0);
        let numbers = |is_one: &dyn Fn(usize) -> bool| -> Vec<usize> {
            (0..queue.len()).filter(|&number| is_one(number)).collect()
        };
        let waits = |number: usize| left_out.waiting & 1 << number != 0;
        (numbers(&|number| !left_out.has(number)), numbers(&waits))
    }

    #[test]
    fn of_a_lane_the_newest_version_of_a_row_is_posted() {
        let of_one_row =
            |counters: [u64; 3]| posted_and_waiting(&counters.map(|counter| (0, 1, counter)));
        assert_eq!(of_one_row([1, 2, 3]), (vec![2], vec![]));
        assert_eq!(of_one_row([3, 2, 1]), (vec![0], vec![]));
        assert_eq!(of_one_row([1, 3, 2]), (vec![1], vec![]));
        assert_eq!(of_one_row([2, 1, 3]), (vec![2], vec![]));
    }

    #[test]
    fn another_slots_version_of_a_row_waits() {
        assert_eq!(posted_and_waiting(&[(0, 1, 9), (0, 2, 1)]), (vec![0], vec![1]));
        let several = [(0, 1, 1), (0, 2, 5), (0, 1, 2), (0, 2, 6)];
        assert_eq!(posted_and_waiting(&several), (vec![2], vec![1, 3]));
    }

    #[test]
    fn no_two_swaps_of_a_batch_are_on_one_row() {
        let mut several = Vec::new();
        for number in 0..DETACHED_PER_BATCH as u64 {
            several.push((number * 7 % 5, (number * 3 % 2) as u16, 1 + number * 11 % 13));
        }
        let (posted, _) = posted_and_waiting(&several);
        let mut rows: Vec<u64> = posted.into_iter().map(|number| several[number].0).collect();
        rows.sort_unstable();
        assert_eq!(rows, [0, 1, 2, 3, 4], "each row once");
        let (posted, waiting) = posted_and_waiting(&[(0, 1, 1), (1, 1, 2), (0, 1, 3), (1, 1, 4)]);
        assert_eq!((posted, waiting), (vec![2, 3], vec![]));
        let of_first = LeftOut::of(&queue(&[(0, 1, 1), (1, 1, 2), (0, 1, 3)]), 2);
        assert_eq!(
            (of_first.superseded, of_first.waiting),
            (0, 0),
            "the third is not of the batch"
        );
    }
}
