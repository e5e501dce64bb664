//! Tells a simulated world what transactions write and read, for its shadow history.

use crate::lane::LaneInner;
use crate::read::access::{AccessId, State};
use fabric::{Env, Note};
use layout::VersionWord;

impl<E: Env> LaneInner<E> {
    /// Notes the rows of the write set. Called once per commit, when it can no longer abort.
    #[inline(always)]
    pub(crate) fn note_writes(&self, timestamp: VersionWord) {
        for &id in &self.writes.rows {
            self.env.note(|| {
                let access = self.txn.accesses[id];
                let key = self.txn.key(id, self.open.info(access.table).row.key_words);
                let is_deleted = access.state == State::Deleted;
                Note::Writes {
                    table: access.table.0,
                    key: self.txn.batch.words(key),
                    version: if is_deleted { timestamp.deleted() } else { timestamp },
                }
            });
        }
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
