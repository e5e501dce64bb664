//! Tells a simulated world what transactions write and read, for its shadow history.

use crate::catalog::TableId;
use crate::lane::LaneInner;
use crate::read::access::{AccessId, RowId, State};
use crate::read::scan::Scan;
use crate::write::Owner;
use fabric::{Env, Note, Source};
use layout::{KEY_WORDS_MAX, Key, VersionWord};

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

    /// Notes the rows that a scan has found: those of the whole range, or if it `is_full`, those up
    /// to the last one.
    #[inline(always)]
    pub(crate) fn note_scan(&self, owner: Owner, scan: &Scan, is_full: bool, rows: &[RowId]) {
        if !self.env.takes_notes() {
            return;
        }
        let (mut low, mut high) = (scan.low, scan.high);
        if is_full {
            let Some(&last) = rows.last() else { return };
            let reached = if scan.reverse { &mut low } else { &mut high };
            *reached = self.key_in(owner, last);
        }
        self.note_search(owner, &low, &high, rows);
    }

    /// The key of a row in a table or index.
    #[cold]
    fn key_in(&self, owner: Owner, row: RowId) -> Key {
        let id = self.txn.access(row);
        let access = self.txn.accesses[id];
        match owner {
            Owner::Table(table) => {
                let key = self.txn.key(id, self.open.info(table).row.key_words);
                Key::from_words(self.txn.batch.words(key))
            }
            Owner::Index(index) => self.entry_key(self.open.index_info(index), access.current()),
        }
    }

    /// Notes the rows of a table that a visit has shown. A visit ignores the write set.
    #[inline(always)]
    pub(crate) fn note_visit(&self, table: TableId) {
        let covers = |version: VersionWord| self.snapshot.covers(version.timestamp());
        let words = self.open.info(table).row.key_words as usize;
        let (low, high) = ([0; KEY_WORDS_MAX], [u64::MAX; KEY_WORDS_MAX]);
        let (source, low, high) = (Source::Table(table.0), &low[..words], &high[..words]);
        let shown = &self.scratch.shown;
        let found = |add: &mut dyn FnMut(u32, &[u64])| {
            shown.iter().for_each(|key| add(table.0, key.words()));
        };
        self.env.note(|| Note::Searches { source, low, high, found: &found, covers: &covers });
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
