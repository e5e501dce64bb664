//! What a commit has superseded, and waits for a horizon.
//!
//! Decision: docs/decisions/0040-freeing-a-long-value-takes-no-verb.md

use crate::access::{Access, State};
use crate::displaced::DisplacedBuffer;
use crate::lane::LaneInner;
use crate::write::Owner;
use fabric::{Env, Span};
use layout::row::KEY;
use layout::{GlobalPtr, Key, OutOfLine, VersionWord};

/// Garbage that waits for a horizon.
#[derive(Clone, Copy, Debug)]
pub struct Retired {
    pub(crate) table: u32,
    pub(crate) row: GlobalPtr,
    /// The version whose visibility makes it garbage.
    pub(crate) successor: VersionWord,
    pub(crate) what: Garbage,
}

impl Retired {
    /// The table it belongs to, by position in the catalog.
    pub(crate) fn table(&self) -> usize {
        self.table as usize
    }

    /// The index that it was part of, if it was part of one.
    pub(crate) fn index(&self) -> Option<u32> {
        match self.what {
            Garbage::Entry(index, _) | Garbage::Leaf(Owner::Index(index), _) => Some(index),
            _ => None,
        }
    }

    /// A value out of line that `successor` of its row does not have any more.
    pub(crate) fn value(access: &Access, successor: VersionWord, value: OutOfLine) -> Self {
        Self { table: access.table, row: access.row, successor, what: Garbage::Value(value) }
    }
}

/// What is garbage.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Garbage {
    /// The row itself, which is a tombstone, and its entry.
    Tombstone(Key),
    /// An entry of a secondary index that no version has any more.
    Entry(u32, Key),
    /// A leaf that its neighbour has absorbed.
    Leaf(Owner, u64),
    /// A value out of line that the row does not refer to any more.
    Value(OutOfLine),
}

impl<E: Env> LaneInner<E> {
    /// Lists what the commit has superseded.
    #[inline]
    pub(crate) fn retire_write_set(&mut self, timestamp: VersionWord) {
        for index in 0..self.written.len() {
            let entry = self.accesses[self.written[index] as usize];
            let is_deleted = entry.state == State::Deleted;
            let successor = if is_deleted { timestamp.deleted() } else { timestamp };
            let (table, row) = (entry.table, entry.row);
            let keeps = self.info(table).design.keeps_versions && !is_deleted;
            if !(entry.buffer.is_null() || keeps) {
                let (version, buffer) = (successor, entry.buffer);
                self.displaced.push_back(DisplacedBuffer { row, version, buffer, table });
            }
            if is_deleted || self.info(table).has_attachments {
                self.retire_more(&entry, successor);
            }
        }
    }

    /// Lists what there is beside a version buffer.
    fn retire_more(&mut self, entry: &Access, successor: VersionWord) {
        let (table, row) = (entry.table, entry.row);
        if !self.info(table).indexes.is_empty() {
            self.retire_entries(entry, successor);
        }
        if self.info(table).has_long_columns {
            self.retire_values(entry, successor);
        }
        if entry.state == State::Deleted {
            // Not from where the key was found: that may be a leaf's image, whose entries have moved since.
            let key = Span { at: entry.current().at + KEY, words: self.info(table).row.key_words };
            let key = Key::from_words(self.batch().words(key));
            let what = Garbage::Tombstone(key);
            self.retired.push_back(Retired { table, row, successor, what });
        }
    }

    /// Lists the index entries that the newest version does not have any more.
    fn retire_entries(&mut self, entry: &Access, successor: VersionWord) {
        let old_span = match (entry.state, entry.is_new()) {
            (State::Deleted, true) => entry.fresh,
            (State::Inserted, _) | (_, true) => return,
            _ => entry.image,
        };
        for position in 0..self.info(entry.table).indexes.len() {
            let index = self.info(entry.table).indexes[position];
            if entry.state == State::Updated && self.keeps_key(index, entry) {
                continue;
            }
            let index_info = self.index_info(index).clone();
            let old = self.entry_key(&index_info, old_span);
            if entry.state == State::Updated && self.entry_key(&index_info, entry.fresh) == old {
                continue;
            }
            let index = self.entry_part_of(index, &index_info, old.words());
            let (table, row, what) = (entry.table, entry.row, Garbage::Entry(index, old));
            self.retired.push_back(Retired { table, row, successor, what });
        }
    }
}
