//! Executes scans of ranges, in steps.

use super::scan::{Around, needs_copy};
use super::state::{FoundRows, RangeState, State};
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
                match needs_copy {
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
                if !is_used && self.frame.only_looks {
                    let last = reading.found.ids[reading.found.at - 1];
                    reading.after = Some(self.entry_of(range, last));
                }
                return Ok(true);
            }
            let needed = left(enough, rows.len());
            let bounds = match scan.filter {
                None => (needed, left(most, rows.len())),
                Some(_) => (needed.max(reading.chunk), ALL),
            };
            reading.chunk = reading.chunk.saturating_mul(2);
            let RangeState { steps, found, has_more, .. } = &mut **reading;
            *has_more = self.txn.scan_step(steps, bounds, &mut found.ids).await?;
            found.at = 0;
        }
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
        let next = reading.found.ids.get(reading.found.at);
        let (Some(after), true) = (reading.after, next.is_some_and(|next| !self.txn.holds(*next)))
        else {
            return Ok(());
        };
        let around = Around { outer: under.outer, element: &Value::Null };
        reading.found.ids.clear();
        reading.found.at = 0;
        let bounds = self.bounds(scan.table, range, around).await?;
        let rest = match range.is_backward {
            false => bounds.and_then(|(_, high)| Some((after.successor()?, high))),
            true => bounds.and_then(|(low, _)| Some((low, after.predecessor()?))),
        };
        reading.has_more = rest.is_some();
        if let Some(rest) = rest {
            reading.steps = ScanSteps::new(self.whole_range(scan.table, range, rest));
        }
        Ok(())
    }

    /// Returns the position of a row in the order of a range.
    fn entry_of(&self, range: &Range, id: RowId) -> Key {
        let record = self.txn.row(id);
        if range.index.is_none() {
            return Key::from_words(record.key());
        }
        record.index_key(&range.columns)
    }
}
