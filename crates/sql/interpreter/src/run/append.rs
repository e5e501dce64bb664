//! Executes nodes with many inputs.

use super::state::MergeInput;
use super::{GROWTH, NodeContext, Run, State};
use crate::error::Result;
use crate::plan::{Node, SortKey};
use crate::rows::Rows;
use fabric::Env;
use sql_value::order;
use std::cmp::Ordering;

impl<E: Env> Run<'_, '_, E> {
    pub(super) async fn append(
        &mut self,
        inputs: &[Node],
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        if matches!(state, State::New) {
            *state = State::Append(0, Box::default());
        }
        let State::Append(at, of_input) = state else { return Ok(false) };
        let (begin, (most, enough)) = (rows.len(), under.ends(rows));
        while rows.len() < enough
            && let Some(input) = inputs.get(*at)
        {
            let mut found = self.frame.scratch.input(input.width);
            let asked = under.rest(rows.len() - begin);
            let has_more = self.pull(input, of_input, asked, &mut found).await?;
            self.deliver_all((node, None), found, (under.outer, most), rows).await?;
            if !has_more {
                *at += 1;
                **of_input = State::New;
            }
        }
        Ok(*at < inputs.len() && rows.len() < most)
    }

    /// Merges inputs that are sorted.
    pub(super) async fn merge_append(
        &mut self,
        keys: &[SortKey],
        inputs: &[Node],
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        if matches!(state, State::New) {
            *state = State::Merge(inputs.iter().map(|_| MergeInput::default()).collect());
        }
        let State::Merge(merged) = state else { return Ok(false) };
        let (most, enough) = under.ends(rows);
        let mut size = under.first_rows();
        while rows.len() < enough {
            for (input, merged) in inputs.iter().zip(&mut *merged) {
                while merged.at == merged.rows.len() && !merged.has_ended {
                    self.refill(keys, (input, merged), under.batches(size)).await?;
                    size = (size * GROWTH).min(super::BATCH_ROWS);
                }
            }
            let has_row = |input: &&mut MergeInput| input.at < input.rows.len();
            let first = merged
                .iter_mut()
                .filter(has_row)
                .min_by(|one, other| compare(keys, (&one.keys, one.at), (&other.keys, other.at)));
            let Some(first) = first else { return Ok(false) };
            let (row, id) = (first.rows.row(first.at), first.rows.id(first.at));
            self.deliver((node, None), [row, &[]], id, under.outer, rows).await?;
            first.at += 1;
        }
        Ok(rows.len() < most)
    }

    async fn refill(
        &mut self,
        keys: &[SortKey],
        (input, merged): (&Node, &mut MergeInput),
        asked: NodeContext<'_>,
    ) -> Result<()> {
        merged.rows.reset(input.width);
        merged.keys.reset(keys.len());
        merged.at = 0;
        let has_more = self.pull(input, &mut merged.state, asked, &mut merged.rows).await?;
        merged.has_ended = !has_more;
        self.add_keys(keys, (&merged.rows, 0), asked.outer, &mut merged.keys).await
    }
}

/// The order of two rows by their sort keys.
pub(super) fn compare(
    keys: &[SortKey],
    (one, at): (&Rows, usize),
    (other, other_at): (&Rows, usize),
) -> Ordering {
    let pairs = keys.iter().zip(one.row(at).iter().zip(other.row(other_at)));
    let mut orders = pairs
        .map(|(key, (one, other))| order::sort_order(one, other, key.descending, key.nulls_first));
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}
