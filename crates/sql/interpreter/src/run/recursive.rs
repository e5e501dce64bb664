//! `WITH RECURSIVE`: the step runs again and again, each time over the rows that it has added last.
//!
//! Decision: docs/decisions/0374-a-recursive-query-pulls-one-step-at-a-time.md

use super::state::{HeldRows, State};
use super::{NodeContext, Run};
use crate::error::Result;
use crate::memory::{Reservation, bytes_from, bytes_of};
use crate::plan::{Node, Recursion, Term};
use crate::rows::Rows;
use fabric::Env;
use sql_value::{Error, GroupKey};
use std::collections::HashSet;
use std::sync::Arc;

/// Bytes of a row's place in the set of all rows, about.
const PLACE_BYTES: usize = 48;

/// The state of a recursion.
#[derive(Default, Debug)]
pub(crate) struct RecursiveState {
    /// The rows of the last step, and the next one to deliver.
    last: Arc<HeldRows>,
    at: usize,
    /// All rows so far, if duplicates are dropped.
    seen: HashSet<GroupKey>,
    memory: Reservation,
}

impl<E: Env> Run<'_, '_, E> {
    pub(super) async fn recursive(
        &mut self,
        recursion: &Recursion,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        self.forget(node);
        if matches!(state, State::New) {
            let mut begun = Box::<RecursiveState>::default();
            let first = self.step_rows(&recursion.first, under).await?;
            begun.last = self.new_rows(recursion, first, &mut begun)?;
            *state = State::Recursive(begun);
        }
        let State::Recursive(running) = state else { return Ok(false) };
        let (most, enough) = under.ends(rows);
        let filtered = (node, recursion.filter.as_ref());
        loop {
            while running.at < running.last.rows.len() && rows.len() < enough {
                let last = running.last.clone();
                let row = last.rows.row(running.at);
                running.at += 1;
                self.deliver(filtered, [row, &[]], None, under.outer, rows).await?;
            }
            if running.last.rows.is_empty() || rows.len() >= most {
                return Ok(false);
            }
            if rows.len() >= enough {
                return Ok(true);
            }
            self.check_interrupt()?;
            self.frame.work_tables.push((recursion.number, running.last.clone()));
            let found = self.step_rows(&recursion.step, under).await?;
            self.frame.work_tables.pop();
            running.last = self.new_rows(recursion, found, running)?;
            running.at = 0;
        }
    }

    /// All rows of an input.
    async fn step_rows(&mut self, input: &Node, under: NodeContext<'_>) -> Result<HeldRows> {
        let mut held = HeldRows::default();
        held.rows.reset(input.width);
        self.hold(input, (under, "Recursive Union"), &mut held).await?;
        Ok(held)
    }

    /// The rows that are not known yet, unless duplicates are kept.
    fn new_rows(
        &self,
        recursion: &Recursion,
        found: HeldRows,
        state: &mut RecursiveState,
    ) -> Result<Arc<HeldRows>> {
        if recursion.keeps_all {
            return Ok(Arc::new(found));
        }
        let mut new = HeldRows::default();
        new.rows.reset(recursion.first.width);
        for row in found.rows.iter() {
            if state.seen.insert(GroupKey(row.to_vec())) {
                let bytes = bytes_of(row) + PLACE_BYTES;
                self.frame.memory.reserve(&mut state.memory, bytes, "Recursive Union")?;
                new.rows.push_row(row, None);
            }
        }
        let bytes = bytes_from(&new.rows, 0);
        self.frame.memory.reserve(&mut new.memory, bytes, "Recursive Union")?;
        Ok(Arc::new(new))
    }

    /// The rows that the last step of a recursion has added.
    pub(super) async fn work_table(
        &mut self,
        (number, filter): (usize, Option<&Term>),
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        self.forget(node);
        if matches!(state, State::New) {
            let found = self.frame.work_tables.iter().rfind(|(of, _)| *of == number);
            let Some((_, last)) = found else {
                return Err(Error::internal("a step without its recursion").into());
            };
            *state = State::Called(last.clone(), 0);
        }
        self.deliver_held((node, filter), state, under, rows).await
    }
}
