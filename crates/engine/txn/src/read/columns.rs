//! Reads of some columns: they fetch each row of a table up to the last of these columns.
//!
//! This applies only to buckets with a single row, and only where memory is coherent: a bucket with
//! several rows is fetched as a whole, and a checksum covers the whole row.
//!
//! Decision: docs/decisions/0055-a-read-may-fetch-only-some-columns.md

use super::Wanted;
use crate::abort::TxnError;
use crate::catalog::{TableId, TableInfo};
use crate::database::Database;
use crate::lane::LaneInner;
use crate::read::access::{Absence, Access, AccessId, RowId, State};
use fabric::{Env, Mutant};
use layout::Key;

/// Columns of a table that a read needs; made by [`Database::columns`] and valid while the table
/// exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Columns {
    table: TableId,
    /// Words of a row, counted from its header.
    words: u32,
}

/// A number of words that means the whole row.
pub(crate) const WHOLE: u32 = u32::MAX;

impl<E: Env> Database<E> {
    /// For reads that need only these columns of a table, by position; `None` if the table does not
    /// exist.
    pub fn columns(&self, table: TableId, columns: &[usize]) -> Option<Columns> {
        let catalog = self.shared.cached_catalog();
        let info = catalog.info(table)?;
        Some(Columns { table, words: words_with(info, columns) })
    }
}

fn words_with(info: &TableInfo, columns: &[usize]) -> u32 {
    if info.row.checksummed {
        return WHOLE;
    }
    let ranges = info.schema.payload_ranges(columns);
    let bytes = ranges.into_iter().map(|(_, end)| end).max().unwrap_or(0);
    info.row.payload() + bytes.div_ceil(8)
}

impl<E: Env> LaneInner<E> {
    /// [`Transaction::read_columns`](crate::Transaction::read_columns).
    #[inline]
    pub(crate) async fn read_columns(
        &mut self,
        reads: &[(TableId, Key)],
        columns: &[Columns],
        found: &mut Vec<Option<RowId>>,
    ) -> Result<(), TxnError> {
        found.clear();
        self.begin_statement()?;
        self.txn.read_count += reads.len() as u32;
        let transaction = self.txn.number;
        let mut visit = |access, state| {
            let is_there = !matches!(state, State::Absent | State::Deleted);
            found.push(is_there.then(|| RowId::new(access, transaction)));
        };
        let located = self.locate_many(reads, Wanted::Rows(columns), &mut visit).await;
        self.end_statement(located)
    }
}

/// The number of words needed of the table's rows.
#[inline]
pub(super) fn words_of(columns: &[Columns], table: TableId) -> u32 {
    let of_table = columns.iter().find(|columns| columns.table == table);
    of_table.map_or(WHOLE, |columns| columns.words)
}

impl<E: Env> LaneInner<E> {
    /// Whether the transaction has read at least `words` words of a row.
    #[inline]
    pub(super) fn has_words(&self, access: AccessId, words: u32) -> bool {
        let Access { state, absence, image, table, .. } = self.txn.accesses[access];
        // A kept leaf proves nothing to a read.
        let is_known = state != State::Absent
            || !matches!(absence, Absence::Kept | Absence::Unknown)
            || absence == Absence::Kept && self.env.mutant(Mutant::ReadTrustKeptAbsence);
        is_known
            && (state != State::Read || image.words >= words.min(self.open.info(table).row.words()))
    }
}
