//! The garbage of a lane's commits, which waits for a horizon.
//!
//! Decision: docs/decisions/0040-freeing-a-long-value-takes-no-verb.md

use super::{Doubt, Horizon};
use crate::catalog::{IndexId, TableId};
use crate::collect::displaced::DisplacedBuffer;
use crate::lane::LaneInner;
use crate::read::access::{Access, State};
use crate::write::Owner;
use fabric::{Env, Span};
use layout::row::KEY;
use layout::{GlobalPtr, Key, OutOfLine, VersionWord};
use std::collections::VecDeque;

/// The garbage of a lane's earlier transactions, with its horizon.
#[derive(Default)]
pub(crate) struct GarbageQueue {
    pub horizon: Horizon,
    pub retired: VecDeque<Retired>,
    /// Version buffers that wait for a horizon.
    pub displaced: VecDeque<DisplacedBuffer>,
    /// Every commit collects garbage until the lane has made this many, because memory was short.
    pub short_until: u64,
    /// The number of commits that write before the one that upkeep follows.
    pub commits_to_round: u64,
    /// The entry at which the running commit found no row.
    pub rowless: Option<Retired>,
    /// The one that the last commit had to leave.
    pub suspect: Option<Retired>,
}

impl GarbageQueue {
    /// Number of waiting pieces of garbage.
    pub fn len(&self) -> usize {
        self.retired.len() + self.displaced.len()
    }

    pub fn is_empty(&self) -> bool {
        self.retired.is_empty() && self.displaced.is_empty()
    }
}

/// Garbage that waits for a horizon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retired {
    pub(crate) table: TableId,
    pub(crate) row: GlobalPtr,
    /// The version that makes it garbage, once every transaction sees that version.
    pub(crate) successor: VersionWord,
    pub(crate) what: Garbage,
    /// The row of the index entry was missed, and may be on its way.
    pub(crate) doubt: Option<Doubt>,
}

impl Retired {
    /// Garbage that no later look has doubted.
    pub(crate) fn new(
        table: TableId,
        row: GlobalPtr,
        successor: VersionWord,
        what: Garbage,
    ) -> Self {
        Self { table, row, successor, what, doubt: None }
    }

    /// The index of an index entry or of an index leaf.
    pub(crate) fn index(&self) -> Option<IndexId> {
        match self.what {
            Garbage::Entry(index, _) | Garbage::Leaf(Owner::Index(index), _) => Some(index),
            _ => None,
        }
    }

    /// A long value that version `successor` of its row no longer has.
    pub(crate) fn value(access: &Access, successor: VersionWord, value: OutOfLine) -> Self {
        Self::new(access.table, access.row, successor, Garbage::Value(value))
    }
}

/// The kind of garbage.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Garbage {
    /// A tombstone: a row and its entry.
    Tombstone(Key),
    /// An entry of a secondary index whose key no version has any more.
    Entry(IndexId, Key),
    /// A leaf that its left neighbour has absorbed.
    Leaf(Owner, GlobalPtr),
    /// A long value to which the row no longer refers.
    Value(OutOfLine),
}

impl<E: Env> LaneInner<E> {
    /// Enqueues the garbage of the commit.
    #[inline]
    pub(crate) fn enqueue_garbage(&mut self, timestamp: VersionWord) {
        for index in 0..self.writes.rows.len() {
            let entry = self.txn.accesses[self.writes.rows[index]];
            let is_deleted = entry.state == State::Deleted;
            let successor = if is_deleted { timestamp.deleted() } else { timestamp };
            let (table, row) = (entry.table, entry.row);
            debug_assert!(!row.is_null(), "an installed row has an address");
            self.statistics.buffers_given += u64::from(entry.has_new_buffer);
            let keeps = self.open.info(table).design.keeps_versions && !is_deleted;
            if !(entry.buffer.is_null() || keeps) {
                let (version, buffer) = (successor, entry.buffer);
                self.garbage.displaced.push_back(DisplacedBuffer { row, version, buffer, table });
            }
            if is_deleted || self.open.info(table).has_attachments {
                self.enqueue_attachments(&entry, successor);
            }
        }
    }

    /// Enqueues garbage other than version buffers.
    fn enqueue_attachments(&mut self, entry: &Access, successor: VersionWord) {
        let (table, row) = (entry.table, entry.row);
        if !self.open.info(table).indexes.is_empty() {
            self.enqueue_index_entries(entry, successor);
        }
        if self.open.info(table).has_long_columns {
            self.enqueue_values(entry, successor);
        }
        if entry.state == State::Deleted {
            // Do not read the key at `key_at`: that may be in a leaf's image, whose entries have
            // moved since.
            let key =
                Span { at: entry.current().at + KEY, words: self.open.info(table).row.key_words };
            let key = Key::from_words(self.txn.batch.words(key));
            let what = Garbage::Tombstone(key);
            self.garbage.retired.push_back(Retired::new(table, row, successor, what));
        }
    }

    /// Enqueues the index entries that the newest version no longer has.
    fn enqueue_index_entries(&mut self, entry: &Access, successor: VersionWord) {
        let old_span = match (entry.state, entry.is_new()) {
            (State::Deleted, true) => entry.fresh,
            (State::Inserted, _) | (_, true) => return,
            _ => entry.image,
        };
        for position in 0..self.open.info(entry.table).indexes.len() {
            let index = self.open.info(entry.table).indexes[position];
            if entry.state == State::Updated && self.keeps_key(index, entry) {
                continue;
            }
            let index_info = self.open.index_info(index).clone();
            let old = self.entry_key(&index_info, old_span);
            if entry.state == State::Updated && self.entry_key(&index_info, entry.fresh) == old {
                continue;
            }
            let index = self.open.entry_part_of(index, &index_info, old.words());
            let (table, row, what) = (entry.table, entry.row, Garbage::Entry(index, old));
            self.garbage.retired.push_back(Retired::new(table, row, successor, what));
        }
    }
}
