//! Index entries that outlive their row.
//!
//! An entry is garbage of the lane whose update took the key from its row. If another lane deletes
//! the row and collects it while the first one rests, the entry leads nowhere, and its unique key
//! would stay taken. A commit that wants the key therefore removes the entry and aborts, so that
//! the next attempt finds the key free.
//!
//! On several memory servers a row may be missing because its write has not arrived, although its
//! entry has: a commit gives a deleted row its old key again. To remove the entry then needs a
//! proof that there is no such commit: a [`Doubt`] that has passed.
//!
//! Decision: docs/decisions/0304-a-commit-removes-an-entry-without-a-row.md

use super::removal::Removal;
use super::{Garbage, Retired};
use crate::abort::{Abort, TxnError};
use crate::catalog::{IndexId, IndexInfo};
use crate::database::Oracle;
use crate::lane::LaneInner;
use crate::write::secondary::Entry;
use fabric::{Env, Mutant, Span};
use layout::oracle::NEWEST;
use layout::row::{HEADER, VERSION};
use layout::{GlobalPtr, Key, VersionWord};

/// The state in which the row of an entry was missed, with the entry locked.
///
/// Every commit that gives the row the key changes the insert word of the entry's bucket or leaf.
/// If the word is the same later, all such commits had begun before the row was missed. If all
/// other lanes have passed the stamp too, these commits have ended, and have written the row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Doubt {
    /// The insert word before the lock.
    insert: u64,
    /// Every transaction that announces this stamp or a later one began after the row was missed.
    stamp: u64,
}

impl<E: Env> LaneInner<E> {
    /// Whether the words read at an entry's row show that there is none: they have another key, or
    /// the collector's mark.
    pub(crate) fn is_rowless(&self, newest: Option<Span>) -> bool {
        newest.is_none_or(|image| {
            let header = VersionWord::from_word(self.txn.batch.word(image.at + HEADER));
            let version = VersionWord::from_word(self.txn.batch.word(image.at + VERSION));
            header == VersionWord::MOVED && version.is_none()
        })
    }

    /// Notes an entry without a row for the abort of the commit that found it. `row` is the address
    /// in the entry: null for inlined rows.
    pub(crate) fn note_rowless(&mut self, index: IndexId, key: Key, row: GlobalPtr) {
        let info = self.open.index_info(index);
        let (table, primary) = (info.table, self.primary_key(info, key.words()));
        let table = self.open.row_part_of(table, primary.words());
        let what = Garbage::Entry(index, key);
        self.garbage.rowless = Some(Retired::new(table, row, VersionWord::NONE, what));
    }

    /// Notes that the entry with the key that a commit gives to its row leads to another address,
    /// if there is no row.
    #[cold]
    pub(crate) async fn check_standing_entry(
        &mut self,
        entry: &Entry,
        info: &IndexInfo,
        row: GlobalPtr,
    ) -> Result<(), TxnError> {
        let primary = self.primary_key(info, entry.key.words());
        let table = self.open.row_part_of(info.table, primary.words());
        let newest = self.read_newest(table, &primary, row).await?;
        if self.is_rowless(newest) {
            self.note_rowless(entry.index, entry.key, row);
        }
        Ok(())
    }

    /// Removes the entry that the aborted commit found without a row, unless there is doubt. A
    /// later commit that finds the entry decides again.
    #[cold]
    pub(crate) async fn remove_rowless(&mut self, found: Retired) {
        let Garbage::Entry(index, key) = found.what else { unreachable!("it is an entry") };
        let is_it = |suspect: &Retired| {
            suspect.row == found.row
                && matches!(suspect.what, Garbage::Entry(of, other) if of == index && other == key)
        };
        let found = self.garbage.suspect.take().filter(is_it).unwrap_or(found);
        match self.remove_entry(&found, index, &key).await {
            Ok(Removal::Done) => self.statistics.entries_collected += 1,
            Ok(Removal::Gone) => {}
            Ok(Removal::Busy) => self.garbage.suspect = Some(found),
            Ok(Removal::Doubted(doubt)) => {
                self.garbage.suspect = Some(Retired { doubt: Some(doubt), ..found });
            }
            // Locks may be held with a number that no commit may publish past.
            Err(_) if self.env.is_undone() => {}
            Err(_) => return self.identity.poison(),
        }
        self.identity.finish_number();
    }

    /// Whether a row that is missing from now on was collected. On one memory server a commit
    /// writes the row before it unlocks the entry, so there is no doubt.
    pub(super) async fn is_missing_for_good(
        &mut self,
        insert: u64,
        doubt: Option<Doubt>,
    ) -> Result<bool, Abort> {
        if self.shared.servers.len() == 1 || self.env.mutant(Mutant::CollectTrustMissingRow) {
            return Ok(true);
        }
        let forgets = || self.env.mutant(Mutant::CollectForgetInsertWord);
        match doubt.filter(|doubt| doubt.insert == insert || forgets()) {
            Some(doubt) => {
                // The batch has the leaf.
                let kept = self.scratch.batch.take();
                let are_past = self.are_others_past(doubt.stamp).await;
                self.scratch.batch = kept;
                are_past
            }
            None => Ok(false),
        }
    }

    /// The doubt about a row that is missing. An earlier one lasts as long as its insert word.
    pub(super) async fn doubt(
        &mut self,
        insert: u64,
        earlier: Option<Doubt>,
    ) -> Result<Doubt, Abort> {
        if let Some(earlier) = earlier.filter(|earlier| earlier.insert == insert) {
            return Ok(earlier);
        }
        let kept = self.scratch.batch.take();
        let stamp = self.stamp_from_now().await;
        self.scratch.batch = kept;
        Ok(Doubt { insert, stamp: stamp? })
    }

    /// A stamp that no running transaction has announced.
    async fn stamp_from_now(&mut self) -> Result<u64, Abort> {
        if self.shared.config.oracle == Oracle::DoubleCollect {
            return self.tick().await;
        }
        let newest = self.shared.oracle.add_words(u64::from(NEWEST));
        let mut batch = self.scratch.batch.take().unwrap_or_default();
        batch.reset();
        let newest = batch.read(newest, 1);
        let batch = self.env.execute(batch).await.map_err(|_| Abort::Unreachable)?;
        let stamp = batch.word(newest.at) + 1;
        self.scratch.batch = Some(batch);
        Ok(stamp)
    }
}
