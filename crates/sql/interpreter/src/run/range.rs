//! Executes scans of ranges, in steps.

use super::scan::{Around, needs_copy};
use super::state::{After, FoundRows, RangeState, State};
use super::{ALL, NodeContext, Run, left};
use crate::error::Result;
use crate::key::{self, End};
use crate::plan::{Node, Range, Scan};
use crate::rows::Rows;
use fabric::Env;
use layout::Key;
use sql_value::Value;
use txn::{RowId, ScanSource, ScanSteps};

/// Minimum number of rows that a limited scan reads at a time if a filter may drop some.
const CHUNK_ROWS: usize = 16;

impl<E: Env> Run<'_, '_, E> {
    /// Returns the smallest and the largest key of a range; `None` if the range is empty.
    pub(super) async fn bounds(
        &mut self,
        table: usize,
        range: &Range,
        around: Around<'_>,
    ) -> Result<Option<(Key, Key)>> {
        let Some(prefix) = self.key_of(table, &range.columns, &range.equal, around).await? else {
            return Ok(None);
        };
        let mut ends = [Value::Null, Value::Null];
        for (end, bound) in ends.iter_mut().zip([&range.low, &range.high]) {
            if let Some(bound) = bound {
                *end = self.key_value(&bound.value, around).await?;
                if end.is_null() {
                    return Ok(None);
                }
            }
        }
        let bound = |at: usize, bound: &Option<crate::plan::Bound>| {
            let is_included = bound.as_ref().map(|bound| bound.is_included);
            is_included.map(|is_included| (at, is_included))
        };
        let end = |(at, is_included): (usize, bool)| End { value: &ends[at], is_included };
        let pair = (bound(0, &range.low).map(end), bound(1, &range.high).map(end));
        let table = &self.tables[table];
        let next = range.columns.get(range.equal.len());
        let next = next.map(|&at| &table.columns[at]);
        Ok(key::range(prefix, range.words, next, pair))
    }

    pub(super) fn whole_range(
        &self,
        table: usize,
        range: &Range,
        (low, high): (Key, Key),
    ) -> txn::Scan {
        let source = match range.index {
            Some(index) => ScanSource::Index(index),
            None => ScanSource::Table(self.tables[table].id),
        };
        txn::Scan { source, low, high, reverse: range.is_backward, limit: ALL }
    }

    /// Delivers as many rows of a range as are needed, reading few others.
    pub(super) async fn scan_in_steps(
        &mut self,
        scan: &Scan,
        range: &Range,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        let (most, enough) = under.ends(rows);
        if matches!(state, State::New) {
            let begun = self.begin_range(scan, range, under).await?;
            *state = begun.map_or(State::Done, |begun| State::Range(Box::new(begun)));
        }
        let State::Range(reading) = state else { return Ok(false) };
        let needs_copy = needs_copy(scan, node);
        loop {
            self.hold_again(scan, range, under, reading).await?;
            while reading.found.at < reading.found.ids.len() && rows.len() < enough {
                self.check_interrupt()?;
                let id = reading.found.ids[reading.found.at];
                reading.found.at += 1;
                match needs_copy && !self.is_at_hand(scan, node, id) {
                    true => self.deliver_row(scan, node, id, under.outer, rows).await?,
                    false => self.deliver_record(scan, node, id, under.outer, rows)?,
                }
            }
            let is_used = reading.found.at == reading.found.ids.len();
            if rows.len() >= most || is_used && !reading.has_more {
                *state = State::Done;
                return Ok(false);
            }
            if rows.len() >= enough {
                if self.frame.only_looks {
                    reading.after = self.position(scan.table, range, reading);
                }
                return Ok(true);
            }
            let needed = left(enough, rows.len());
            let bounds = match scan.filter.is_none() && !range.sorts_ties {
                true => (needed, left(most, rows.len())),
                false => (needed.max(reading.chunk), ALL),
            };
            self.step(scan.table, range, reading, bounds).await?;
        }
    }

    /// Reads the next rows of a range.
    async fn step(
        &mut self,
        table: usize,
        range: &Range,
        reading: &mut RangeState,
        bounds: (usize, usize),
    ) -> Result<()> {
        if range.sorts_ties && !reading.found.ids.is_empty() {
            let after = self.after_ties(table, range, reading);
            reading.before = self.furthest(range, last_ties(&reading.found, after)).or(after.entry);
        }
        reading.chunk = reading.chunk.saturating_mul(2);
        let RangeState { steps, found, has_more, .. } = reading;
        *has_more = self.txn.scan_step(steps, bounds, &mut found.ids).await?;
        found.at = 0;
        match range.sorts_ties {
            true => self.settle_step(table, range, reading).await,
            false => Ok(()),
        }
    }

    /// The position behind the delivered rows; `None` if no row is held behind them.
    fn position(&self, table: usize, range: &Range, reading: &RangeState) -> Option<After> {
        let is_used = reading.found.at == reading.found.ids.len() && reading.open.is_empty();
        if is_used {
            return None;
        }
        if range.sorts_ties {
            return Some(self.after_ties(table, range, reading));
        }
        let last = reading.found.ids[reading.found.at - 1];
        Some(After { entry: Some(self.entry_of(range, last)), skipped: 0 })
    }

    /// The state of a range before its first step; `None` if the range is empty.
    async fn begin_range(
        &mut self,
        scan: &Scan,
        range: &Range,
        under: NodeContext<'_>,
    ) -> Result<Option<RangeState>> {
        let around = Around { outer: under.outer, element: &Value::Null };
        let bounds = self.bounds(scan.table, range, around).await?;
        Ok(bounds.map(|bounds| RangeState {
            steps: ScanSteps::new(self.whole_range(scan.table, range, bounds)),
            has_more: true,
            found: FoundRows { ids: Vec::new(), at: 0 },
            chunk: CHUNK_ROWS,
            after: None,
            open: Vec::new(),
            before: None,
            skipped: 0,
        }))
    }

    /// Finds the rows of the last step again if the transaction has forgotten them.
    async fn hold_again(
        &mut self,
        scan: &Scan,
        range: &Range,
        under: NodeContext<'_>,
        reading: &mut RangeState,
    ) -> Result<()> {
        let next = reading.found.ids.get(reading.found.at).or(reading.open.first());
        let (Some(after), true) = (reading.after, next.is_some_and(|next| !self.txn.holds(*next)))
        else {
            return Ok(());
        };
        let around = Around { outer: under.outer, element: &Value::Null };
        reading.found = FoundRows { ids: Vec::new(), at: 0 };
        reading.open.clear();
        (reading.before, reading.skipped) = (after.entry, after.skipped);
        let bounds = self.bounds(scan.table, range, around).await?;
        let rest = match (after.entry, range.is_backward) {
            (None, _) => bounds,
            (Some(entry), false) => bounds.and_then(|(_, high)| Some((entry.successor()?, high))),
            (Some(entry), true) => bounds.and_then(|(low, _)| Some((low, entry.predecessor()?))),
        };
        reading.has_more = rest.is_some();
        if let Some(rest) = rest {
            reading.steps = ScanSteps::new(self.whole_range(scan.table, range, rest));
        }
        Ok(())
    }

    /// Returns the position of a row in the order of a range.
    pub(super) fn entry_of(&self, range: &Range, id: RowId) -> Key {
        let record = self.txn.row(id);
        if range.index.is_none() {
            return Key::from_words(record.key());
        }
        record.index_key(&range.stored)
    }
}

/// The delivered rows with the last one's ties.
fn last_ties(found: &FoundRows, after: After) -> &[RowId] {
    &found.ids[found.at - after.skipped..found.at]
}
