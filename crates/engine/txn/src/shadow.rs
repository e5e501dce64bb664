//! Tells a simulated world what transactions write and read, for its shadow history.

use crate::lane::LaneInner;
use crate::read::access::{AccessId, RowId, State};
use crate::write::Owner;
use fabric::{Env, Note, Source};
use layout::{Key, VersionWord};

impl<E: Env> LaneInner<E> {
    /// Notes the rows of the write set. Called once per commit, when it can no longer abort.
    #[inline(always)]
    pub(crate) fn note_writes(&self, timestamp: VersionWord) {
        for &id in &self.writes.rows {
            let entries = |add: &mut dyn FnMut(u32, &[u64])| self.entries_of(id, add);
            self.env.note(|| {
                let access = self.txn.accesses[id];
                let key = self.txn.key(id, self.open.info(access.table).row.key_words);
                let is_deleted = access.state == State::Deleted;
                Note::Writes {
                    table: access.table.0,
                    key: self.txn.batch.words(key),
                    version: if is_deleted { timestamp.deleted() } else { timestamp },
                    entries: &entries,
                }
            });
        }
    }

    /// The entries of a row of the write set, with the parts of the indexes that have them.
    #[cold]
    fn entries_of(&self, id: AccessId, add: &mut dyn FnMut(u32, &[u64])) {
        let access = self.txn.accesses[id];
        if access.state == State::Deleted {
            return;
        }
        for &index in &self.open.info(access.table).indexes {
            let info = self.open.index_info(index);
            let key = self.entry_key(info, access.fresh);
            add(self.open.entry_part_of(index, info, key.words()).0, key.words());
        }
    }

    /// Notes the rows that a search has found, unless it has a row of the write set.
    #[inline(always)]
    pub(crate) fn note_search(&self, owner: Owner, low: &Key, high: &Key, rows: &[RowId]) {
        if !self.writes.rows.is_empty() {
            return;
        }
        let covers = |version: VersionWord| self.snapshot.covers(version.timestamp());
        let found = |add: &mut dyn FnMut(u32, &[u64])| {
            for row in rows {
                let id = self.txn.access(*row);
                let table = self.txn.accesses[id].table;
                let key = self.txn.key(id, self.open.info(table).row.key_words);
                add(table.0, self.txn.batch.words(key));
            }
        };
        let source = match owner {
            Owner::Table(table) => Source::Table(table.0),
            Owner::Index(index) => Source::Index(index.0),
        };
        let (low, high) = (low.words(), high.words());
        self.env.note(|| Note::Searches { source, low, high, found: &found, covers: &covers });
    }

    /// Notes what the snapshot of the transaction has of a row.
    #[inline(always)]
    pub(crate) fn note_read(&self, access: AccessId, found: Option<VersionWord>) {
        let covers = |version: VersionWord| self.snapshot.covers(version.timestamp());
        self.env.note(|| {
            let entry = self.txn.accesses[access];
            let key = self.txn.key(access, self.open.info(entry.table).row.key_words);
            let key = self.txn.batch.words(key);
            Note::Reads { table: entry.table.0, key, found, covers: &covers }
        });
    }
}
