//! Savepoints: a transaction rolls back what it has changed since one of them.
//!
//! All changes of a transaction are local until its commit. From the first savepoint on, it keeps
//! the state that each row had before a change, and copies a row's image before it changes an image
//! that a savepoint needs. A rollback restores these states, the last one first, and truncates the
//! write set. The read set stays: a serializable transaction still validates it. Guards of single
//! reads go, see [`crate::snapshot::renewal`].
//!
//! A savepoint that is released keeps nothing: the states that only it needs are forgotten, and
//! changes overwrite again the images that only it has kept.
//!
//! Decision: docs/decisions/0319-a-savepoint-keeps-the-rows-before-their-changes.md

use crate::abort::Abort;
use crate::commit::witness::WitnessMark;
use crate::lane::LaneInner;
use crate::read::access::{Access, AccessId};
use crate::transaction::Transaction;
use fabric::Env;
use layout::StageMark;

/// A point of a transaction, see [`Transaction::savepoint`].
#[derive(Clone, Copy, Debug)]
pub struct Savepoint {
    transaction: u64,
    /// Number of savepoints that were there before it.
    depth: usize,
    changes: usize,
    rows: usize,
    bucket_inserts: usize,
    insert_blocks: usize,
    leaf_inserts: usize,
    stage: StageMark,
    witnesses: WitnessMark,
}

/// The changes that a transaction can undo.
#[derive(Debug)]
pub(crate) struct UndoLog {
    /// Distinguishes the savepoints of one transaction from those of others.
    transaction: u64,
    /// For each savepoint, the outermost first: the limits that applied before it.
    outer: Vec<Frozen>,
    /// Changes do not overwrite images before this position of the arena. No image of a change is
    /// at position 0.
    pub frozen_words: u32,
    /// Number of changes of the lane so far.
    pub noted: u64,
    /// The accesses before this position may have been changed.
    pub accesses_needed: u32,
    /// The accesses before their changes, in order.
    pub changes: Vec<(AccessId, Access)>,
}

/// The limits of what changes do not overwrite.
#[derive(Clone, Copy, Debug)]
struct Frozen {
    /// As [`UndoLog::frozen_words`].
    words: u32,
    /// Number of staged values.
    values: usize,
}

impl UndoLog {
    /// The state before the first transaction, whose number follows `number`.
    pub fn new(number: u32) -> Self {
        let transaction = u64::from(number) << 32;
        Self {
            transaction,
            outer: Vec::new(),
            frozen_words: 1,
            noted: 0,
            accesses_needed: 0,
            changes: Vec::new(),
        }
    }

    #[inline]
    pub fn reset(&mut self) {
        self.transaction += 1;
        self.accesses_needed = 0;
        if !self.outer.is_empty() {
            self.outer.clear();
            self.frozen_words = 1;
            self.changes.clear();
        }
    }

    /// The arena has been emptied.
    pub fn forget_arena(&mut self) {
        debug_assert!(self.changes.is_empty(), "rows that were changed are not forgotten");
        self.accesses_needed = 0;
        self.truncate_arena(1);
    }

    /// The words of the arena from `words` on are free: no image of a change is there.
    pub fn truncate_arena(&mut self, words: u32) {
        self.move_limits(|limit| limit.min(words.max(1)));
    }

    /// The arena's words have moved, in the same order.
    pub fn move_limits(&mut self, moved: impl Fn(u32) -> u32) {
        self.frozen_words = moved(self.frozen_words).max(1);
        for outer in &mut self.outer {
            outer.words = moved(outer.words).max(1);
        }
    }

    /// An access is about to change.
    #[inline]
    pub fn note(&mut self, number: AccessId, access: &Access) {
        self.noted += 1;
        self.accesses_needed = self.accesses_needed.max(number.position() + 1);
        if !self.outer.is_empty() {
            self.changes.push((number, *access));
        }
    }
}

impl<E: Env> Transaction<'_, E> {
    /// A point to which [`Transaction::roll_back_to`] can return. A savepoint costs nothing but the
    /// memory for what is changed after it.
    pub fn savepoint(&mut self) -> Savepoint {
        self.lane().savepoint()
    }

    /// Undoes all changes since a savepoint, which stays. Ids of rows that were inserted since are
    /// those of absent rows. Later savepoints are no longer valid.
    ///
    /// # Errors
    ///
    /// If a conflict, or a memory server that does not answer, has ended the transaction.
    ///
    /// # Panics
    ///
    /// If the savepoint is of another transaction, or has ended.
    pub fn roll_back_to(&mut self, savepoint: &Savepoint) -> Result<(), Abort> {
        self.lane().roll_back_to(savepoint)
    }

    /// Ends a savepoint, and later ones; the changes stay. Without it, a savepoint lasts until the
    /// transaction ends, and rows that change again and again are copied each time.
    /// Does nothing if a savepoint before it was released or rolled back to.
    ///
    /// # Panics
    ///
    /// If the savepoint is of another transaction.
    pub fn release(&mut self, savepoint: &Savepoint) {
        self.lane().release_savepoint(savepoint);
    }
}

impl<E: Env> LaneInner<E> {
    fn savepoint(&mut self) -> Savepoint {
        let undo = &mut self.txn.undo;
        undo.outer.push(Frozen { words: undo.frozen_words, values: self.txn.stage.frozen() });
        self.freeze_changes();
        let undo = &self.txn.undo;
        Savepoint {
            transaction: undo.transaction,
            depth: undo.outer.len() - 1,
            changes: undo.changes.len(),
            rows: self.writes.rows.len(),
            bucket_inserts: self.writes.bucket_inserts.len(),
            insert_blocks: self.writes.insert_blocks.len(),
            leaf_inserts: self.writes.leaf_inserts.len(),
            stage: self.txn.stage.mark(),
            witnesses: self.witnesses.mark(),
        }
    }

    /// From now on, changes overwrite neither images nor staged values that are there.
    fn freeze_changes(&mut self) {
        self.txn.stage.freeze();
        if self.txn.doomed_by.is_none() {
            self.txn.undo.frozen_words = (self.txn.batch.arena_words() as u32).max(1);
        }
    }

    fn roll_back_to(&mut self, savepoint: &Savepoint) -> Result<(), Abort> {
        if let Some(abort) = self.txn.doomed_by {
            return Err(abort);
        }
        let undo = &mut self.txn.undo;
        assert_eq!(undo.transaction, savepoint.transaction, "a savepoint of this transaction");
        assert!(undo.outer.len() > savepoint.depth, "the savepoint has not ended");
        undo.outer.truncate(savepoint.depth + 1);
        while undo.changes.len() > savepoint.changes
            && let Some((number, before)) = undo.changes.pop()
        {
            self.txn.accesses[number] = before;
        }
        self.writes.rows.truncate(savepoint.rows);
        self.writes.bucket_inserts.truncate(savepoint.bucket_inserts);
        self.writes.insert_blocks.truncate(savepoint.insert_blocks);
        self.writes.leaf_inserts.truncate(savepoint.leaf_inserts);
        self.txn.stage.roll_back(savepoint.stage);
        // Rows that were guarded for undone changes may change.
        self.witnesses.truncate(savepoint.witnesses);
        self.freeze_changes();
        // Undone changes are not held any more.
        self.txn.compacted_bytes = 0;
        Ok(())
    }

    fn release_savepoint(&mut self, savepoint: &Savepoint) {
        let undo = &mut self.txn.undo;
        assert_eq!(undo.transaction, savepoint.transaction, "a savepoint of this transaction");
        let Some(&Frozen { words, values }) = undo.outer.get(savepoint.depth) else { return };
        undo.outer.truncate(savepoint.depth);
        if undo.outer.is_empty() {
            undo.changes.clear();
        } else {
            // The savepoint before it has the state of an access from its first change since then.
            let first = savepoint.changes.min(undo.changes.len());
            let mut kept = first;
            for at in first..undo.changes.len() {
                if undo.changes[at].1.fresh.at < words {
                    undo.changes.swap(kept, at);
                    kept += 1;
                }
            }
            undo.changes.truncate(kept);
        }
        undo.frozen_words = words;
        self.txn.stage.thaw(values);
    }
}
