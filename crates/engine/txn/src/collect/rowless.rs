//! Index entries that outlive their row.
//!
//! An entry is garbage of the lane whose update took the key from its row. If another lane deletes
//! the row and collects it while the first one rests, the entry leads nowhere, and its unique key
//! would stay taken. A commit that wants the key therefore removes the entry and aborts, so that
//! the next attempt finds the key free.
//!
//! Decision: docs/decisions/0304-a-commit-removes-an-entry-without-a-row.md

use super::{Garbage, Retired};
use crate::abort::{Abort, TxnError};
use crate::catalog::{IndexId, IndexInfo};
use crate::database::Oracle;
use crate::lane::LaneInner;
use crate::write::secondary::Entry;
use fabric::{Env, FabricError, Mutant, Span};
use layout::oracle::NEWEST;
use layout::row::{HEADER, VERSION};
use layout::{GlobalPtr, Key, VersionWord};

/// An index entry at which a commit found no row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rowless {
    index: IndexId,
    key: Key,
    /// The address in the entry: null for inlined rows.
    row: GlobalPtr,
}

/// A rowless entry whose row may be on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspect {
    entry: Rowless,
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

    /// Notes an entry without a row for the abort of the commit that found it.
    pub(crate) fn note_rowless(&mut self, index: IndexId, key: Key, row: GlobalPtr) {
        self.garbage.rowless = Some(Rowless { index, key, row });
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

    /// Removes the entry that the aborted commit found without a row, unless a commit may still be
    /// installing the row.
    #[cold]
    pub(crate) async fn remove_rowless(&mut self, entry: Rowless) {
        let removed = match self.is_row_gone(entry).await {
            Ok(true) => self.collect_rowless(entry).await,
            // Another attempt finds the entry again.
            Ok(false) | Err(_) => Ok(()),
        };
        match removed {
            Ok(()) => self.identity.finish_number(),
            // Locks may be held with a number that no commit may publish past.
            Err(_) => self.identity.poison(),
        }
    }

    async fn collect_rowless(&mut self, entry: Rowless) -> Result<(), FabricError> {
        let Rowless { index, key, row } = entry;
        let info = self.open.index_info(index).clone();
        let primary = self.primary_key(&info, key.words());
        let table = self.open.row_part_of(info.table, primary.words());
        let what = Garbage::Entry(index, key);
        let retired = Retired { table, row, successor: VersionWord::NONE, what };
        self.collect_entry(&retired, index, &key).await
    }

    /// Whether the row was collected. On one memory server, a commit writes a row before it unlocks
    /// the entry. On several, the entry may arrive first: the row was collected if it is missing
    /// after all commits have ended that ran when it was missed.
    async fn is_row_gone(&mut self, entry: Rowless) -> Result<bool, Abort> {
        if self.shared.servers.len() == 1 || self.env.mutant(Mutant::CollectTrustMissingRow) {
            return Ok(true);
        }
        let known = self.garbage.suspect.filter(|suspect| suspect.entry.is(&entry));
        let stamp = match known {
            Some(suspect) => suspect.stamp,
            None => self.stamp_from_now().await?,
        };
        let is_gone = self.are_others_past(stamp).await?;
        self.garbage.suspect = (!is_gone).then_some(Suspect { entry, stamp });
        Ok(is_gone)
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

impl Rowless {
    fn is(&self, other: &Self) -> bool {
        (self.index, self.row) == (other.index, other.row) && self.key == other.key
    }
}
