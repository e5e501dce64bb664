//! Rows in the order of an index whose keys have digests.
//!
//! Digests have the order of their values up to the bytes before the hash. Rows whose keys are
//! equal up to there are tied: they are read together and sorted by their values. A value that is
//! not longer than those bytes has no ties, so most scans sort nothing.
//!
//! Decision: docs/decisions/0359-keys-have-digests-of-long-values.md

use super::Run;
use super::state::{After, FoundRows, RangeState};
use crate::bind::BoundTable;
use crate::error::Result;
use crate::plan::Range;
use fabric::Env;
use layout::Key;
use layout::key::read_unsigned;
use sql_value::Value;
use sql_value::order::order_all;
use std::cmp::Ordering;
use txn::RowId;

/// Bytes of the length behind a digest in a key.
const LENGTH_BYTES: u32 = 2;

impl<E: Env> Run<'_, '_, E> {
    /// Sorts the rows of a range that are tied. If there may be more rows, those tied with the last
    /// one go to `open`.
    pub(super) async fn settle(
        &mut self,
        table: usize,
        range: &Range,
        ids: &mut Vec<RowId>,
        open: Option<&mut Vec<RowId>>,
    ) -> Result<()> {
        let entries: Vec<Key> = ids.iter().map(|&id| self.entry_of(range, id)).collect();
        let bound = &self.tables[table];
        let mut ends: Vec<usize> = (1..ids.len())
            .filter(|&at| !are_tied(bound, range, &entries[at - 1], &entries[at]))
            .collect();
        match open {
            Some(open) => *open = ids.split_off(ends.last().copied().unwrap_or(0)),
            None => ends.push(ids.len()),
        }
        let mut begin = 0;
        for end in ends {
            if end - begin > 1 {
                self.sort_tied(table, range, &mut ids[begin..end]).await?;
            }
            begin = end;
        }
        Ok(())
    }

    /// Sorts rows by the values of the index's columns behind the equal ones; equal rows keep their
    /// order.
    async fn sort_tied(&mut self, table: usize, range: &Range, ids: &mut [RowId]) -> Result<()> {
        let columns = &range.columns[range.equal.len()..];
        let mut rows = Vec::with_capacity(ids.len());
        for &id in ids.iter() {
            self.check_interrupt()?;
            let row = self.copy_of(table, id).await?;
            let values: Vec<Value> = columns.iter().map(|&at| row[at].clone()).collect();
            rows.push((values, id));
        }
        rows.sort_by(|(one, _), (other, _)| turned(order_all(one, other), range.is_backward));
        for (place, (_, id)) in ids.iter_mut().zip(rows) {
            *place = id;
        }
        Ok(())
    }

    /// Sorts the rows of a step, and keeps those back that may be tied with the next step's.
    pub(super) async fn settle_step(
        &mut self,
        table: usize,
        range: &Range,
        reading: &mut RangeState,
    ) -> Result<()> {
        let mut ids = std::mem::take(&mut reading.open);
        ids.append(&mut reading.found.ids);
        let mut open = Vec::new();
        self.settle(table, range, &mut ids, reading.has_more.then_some(&mut open)).await?;
        reading.open = open;
        let at = if ids.is_empty() { 0 } else { std::mem::take(&mut reading.skipped) };
        reading.found = FoundRows { ids, at };
        Ok(())
    }

    /// The position behind the rows that were delivered: the entry before the last row's ties, and
    /// how many of these were delivered.
    pub(super) fn after_ties(&self, table: usize, range: &Range, reading: &RangeState) -> After {
        let FoundRows { ids, at } = &reading.found;
        let first = |from: usize| {
            let last = self.entry_of(range, ids[from]);
            let is_tied = |id: &RowId| {
                let entry = self.entry_of(range, *id);
                are_tied(&self.tables[table], range, &entry, &last)
            };
            from - ids[..from].iter().rev().take_while(|id| is_tied(id)).count()
        };
        let Some(last) = at.checked_sub(1) else {
            return After { entry: reading.before, skipped: reading.skipped };
        };
        let begin = first(last);
        let entry = match begin.checked_sub(1) {
            Some(before) => self.furthest(range, &ids[first(before)..begin]),
            None => reading.before,
        };
        After { entry, skipped: at - begin }
    }

    /// The entry of these rows that a scan comes to last.
    pub(super) fn furthest(&self, range: &Range, ids: &[RowId]) -> Option<Key> {
        let entries = ids.iter().map(|&id| self.entry_of(range, id));
        entries.max_by(|one, other| turned(one.cmp(other), range.is_backward))
    }
}

fn turned(order: Ordering, is_backward: bool) -> Ordering {
    if is_backward { order.reverse() } else { order }
}

/// Whether the order of two rows with these entries of an index is unknown.
fn are_tied(table: &BoundTable, range: &Range, one: &Key, other: &Key) -> bool {
    let (bytes, of_other) = (tie_bytes(table, range, one), tie_bytes(table, range, other));
    bytes.is_some() && bytes == of_other && {
        let bytes = bytes.unwrap_or_default();
        let (words, rest) = (bytes as usize / 8, bytes % 8);
        let last = |key: &Key| match rest {
            0 => 0,
            rest => read_unsigned(key.words(), bytes - rest, rest),
        };
        one.words()[..words] == other.words()[..words] && last(one) == last(other)
    }
}

/// The leading bytes of an entry that order it; `None` if all do.
fn tie_bytes(table: &BoundTable, range: &Range, entry: &Key) -> Option<u32> {
    let mut at = 0;
    for (place, (&column, &stored)) in range.columns.iter().zip(&range.stored).enumerate() {
        let end = at + table.schema.key_part_bytes(stored);
        let column = &table.columns[column];
        if let Some(digests) = column.digests.filter(|_| place >= range.equal.len()) {
            let is_null = column.nullable && read_unsigned(entry.words(), at, 1) == 1;
            let length = read_unsigned(entry.words(), end - LENGTH_BYTES, LENGTH_BYTES);
            if !is_null && length > u64::from(digests.ordered_bytes()) {
                return Some(at + u32::from(column.nullable) + digests.ordered_bytes());
            }
        }
        at = end;
    }
    None
}
