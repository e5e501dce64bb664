//! Sorting. A sort holds the rows of its input; below a limit it drops those that cannot be among
//! the first ones.

use super::append::compare;
use super::state::HeldRows;
use super::{ALL, BATCH_ROWS, NodeContext, Run, State};
use crate::error::Result;
use crate::memory::{Reservation, bytes_from};
use crate::plan::{Node, Output, SortKey};
use crate::rows::Rows;
use crate::scope::Outer;
use fabric::Env;
use sql_value::Value;

/// A sort below a limit drops rows when it has this many times as many as are needed.
const SURPLUS: usize = 4;

impl<E: Env> Run<'_, '_, E> {
    pub(super) async fn sort(
        &mut self,
        keys: &[SortKey],
        input: &Node,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        if matches!(state, State::New) {
            let mut held = HeldRows::default();
            self.sorted(keys, input, under, &mut held).await?;
            self.meter_memory(node, || bytes_from(&held.rows, 0));
            *state = State::Held(Box::new(held));
        }
        let State::Held(held) = state else { return Ok(false) };
        let (most, enough) = under.ends(rows);
        if held.at == 0 && held.rows.len() <= enough - rows.len() {
            let sorted = std::mem::take(&mut held.rows);
            *state = State::Done;
            self.deliver_all((node, None), sorted, (under.outer, most), rows).await?;
            return Ok(false);
        }
        while held.at < held.rows.len() && rows.len() < enough {
            let (row, id) = (held.rows.row(held.at), held.rows.id(held.at));
            self.deliver((node, None), [row, &[]], id, under.outer, rows).await?;
            held.at += 1;
        }
        let has_more = held.at < held.rows.len() && rows.len() < most;
        if !has_more {
            *state = State::Done;
        }
        Ok(has_more)
    }

    /// Collects the rows of an input, sorted by the keys; the sort is stable.
    async fn sorted(
        &mut self,
        keys: &[SortKey],
        input: &Node,
        under: NodeContext<'_>,
        held: &mut HeldRows,
    ) -> Result<()> {
        let wanted = under.wanted;
        let surplus = wanted.saturating_mul(SURPLUS).max(BATCH_ROWS / 2);
        let (mut of_input, mut values) = (State::New, Rows::new(keys.len()));
        held.rows = self.frame.scratch.input(input.width);
        loop {
            self.forget_rows(under);
            let begin = held.rows.len();
            let asked = under.batches(BATCH_ROWS);
            let has_more = self.pull(input, &mut of_input, asked, &mut held.rows).await?;
            self.add_keys(keys, (&held.rows, begin), under.outer, &mut values).await?;
            if has_more && (wanted == ALL || held.rows.len() <= surplus) {
                let bytes = bytes_from(&held.rows, begin) + bytes_from(&values, begin);
                self.frame.memory.reserve(&mut held.memory, bytes, "Sort")?;
                continue;
            }
            let mut places: Vec<usize> = (0..held.rows.len()).collect();
            places.sort_by(|&one, &other| compare(keys, (&values, one), (&values, other)));
            places.truncate(wanted);
            held.rows = std::mem::take(&mut held.rows).reordered(&places);
            if !has_more {
                return Ok(());
            }
            values = values.reordered(&places);
            held.memory = Reservation::default();
            let bytes = bytes_from(&held.rows, 0) + bytes_from(&values, 0);
            self.frame.memory.reserve(&mut held.memory, bytes, "Sort")?;
        }
    }

    /// Adds the sort keys of rows, from this one on.
    pub(super) async fn add_keys(
        &mut self,
        keys: &[SortKey],
        (rows, from): (&Rows, usize),
        outer: Option<&Outer<'_>>,
        values: &mut Rows,
    ) -> Result<()> {
        for at in from..rows.len() {
            self.check_interrupt()?;
            let row = rows.row(at);
            for key in keys {
                values.push(self.output_value(&key.value, row, outer).await?);
            }
            values.end_row(None);
        }
        Ok(())
    }

    /// An expression over one row.
    pub(super) async fn output_value(
        &mut self,
        output: &Output,
        row: &[Value],
        outer: Option<&Outer<'_>>,
    ) -> Result<Value> {
        Ok(match output {
            Output::Column(column) => row[*column].clone(),
            Output::Term(term) => self.value(&term.formula, [row, &[]], outer).await?,
            Output::Inner(_) | Output::Unused => Value::Null,
        })
    }

    /// Collects the rows of a node.
    pub(super) async fn hold(
        &mut self,
        input: &Node,
        (under, name): (NodeContext<'_>, &str),
        held: &mut HeldRows,
    ) -> Result<()> {
        let mut state = State::New;
        loop {
            self.forget_rows(under);
            let begin = held.rows.len();
            let asked = under.batches(BATCH_ROWS);
            let has_more = self.pull(input, &mut state, asked, &mut held.rows).await?;
            if !has_more {
                return Ok(());
            }
            let bytes = bytes_from(&held.rows, begin);
            self.frame.memory.reserve(&mut held.memory, bytes, name)?;
        }
    }
}
