//! `INTERSECT` and `EXCEPT`: counts the rows of the right input, then passes on rows of the left
//! one.

use super::state::State;
use super::{BATCH_ROWS, NodeContext, Run};
use crate::error::Result;
use crate::memory::{Reservation, bytes_of};
use crate::plan::{Node, SetOperation};
use crate::rows::Rows;
use fabric::Env;
use sql_value::GroupKey;
use std::collections::HashMap;

/// Bytes of a row's place in the table, about.
const PLACE_BYTES: usize = 64;

/// The rows of the right input.
#[derive(Default, Debug)]
pub(crate) struct SetState {
    /// The left input.
    input: State,
    /// How often each row may still be met. Rows that are delivered once are 0 afterwards.
    counts: HashMap<GroupKey, usize>,
    memory: Reservation,
}

impl<E: Env> Run<'_, '_, E> {
    pub(super) async fn set_operation(
        &mut self,
        operation: &SetOperation,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        if matches!(state, State::New) {
            let mut set = SetState::default();
            self.count_rows(&operation.right, &mut set, under).await?;
            self.meter_memory(node, || set.memory.bytes);
            *state = State::Set(Box::new(set));
        }
        let State::Set(set) = state else { return Ok(false) };
        let (begin, (most, enough)) = (rows.len(), under.ends(rows));
        let left = &operation.left;
        loop {
            let mut found = self.frame.scratch.input(left.width);
            let asked = under.batches(under.rest(rows.len() - begin).batch.min(BATCH_ROWS));
            let has_more = self.pull(left, &mut set.input, asked, &mut found).await?;
            for at in 0..found.len() {
                self.check_interrupt()?;
                if rows.len() >= most {
                    return Ok(false);
                }
                let row = found.row(at);
                if !self.is_kept(operation, row, set)? {
                    continue;
                }
                self.deliver((node, None), [row, &[]], None, under.outer, rows).await?;
            }
            self.frame.scratch.give_back(found);
            if !has_more || rows.len() >= enough {
                return Ok(has_more && rows.len() < most);
            }
        }
    }

    async fn count_rows(
        &mut self,
        right: &Node,
        set: &mut SetState,
        under: NodeContext<'_>,
    ) -> Result<()> {
        let (mut of_input, mut found) = (State::New, self.frame.scratch.input(right.width));
        loop {
            self.forget_rows(under);
            found.reset(right.width);
            let has_more =
                self.pull(right, &mut of_input, under.batches(BATCH_ROWS), &mut found).await?;
            for row in found.iter() {
                self.check_interrupt()?;
                *self.place_in_set(row, set)? += 1;
            }
            if !has_more {
                self.frame.scratch.give_back(found);
                return Ok(());
            }
        }
    }

    fn place_in_set<'s>(
        &self,
        row: &[sql_value::Value],
        set: &'s mut SetState,
    ) -> Result<&'s mut usize> {
        let key = GroupKey(row.to_vec());
        if !set.counts.contains_key(&key) {
            let bytes = bytes_of(row) + PLACE_BYTES;
            self.frame.memory.reserve(&mut set.memory, bytes, "HashSetOp")?;
        }
        Ok(set.counts.entry(key).or_insert(0))
    }

    /// Whether a row of the left input belongs to the result.
    fn is_kept(
        &self,
        operation: &SetOperation,
        row: &[sql_value::Value],
        set: &mut SetState,
    ) -> Result<bool> {
        let key = GroupKey(row.to_vec());
        let count = set.counts.get_mut(&key);
        Ok(match (operation.is_except, operation.all, count) {
            // Each row of the right input takes one away.
            (true, true, Some(count)) if *count > 0 => {
                *count -= 1;
                false
            }
            (true, true, _) => true,
            (true, false, Some(_)) => false,
            (true, false, None) => {
                // It is delivered once.
                self.place_in_set(row, set)?;
                true
            }
            (false, _, None) => false,
            (false, all, Some(count)) => {
                let is_kept = *count > 0;
                *count = if all { count.saturating_sub(1) } else { 0 };
                is_kept
            }
        })
    }
}
