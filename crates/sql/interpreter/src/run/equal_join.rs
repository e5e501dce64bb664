//! Joins by equal values: the inner rows are held, sorted by key, and searched for each outer row.

use super::join::JoinContext;
use super::state::{HeldRows, InnerState, JoinState, JoinTable};
use super::{NodeContext, Run};
use crate::error::Result;
use crate::memory::bytes_of;
use crate::plan::List;
use crate::rows::Rows;
use fabric::Env;
use sql_value::Value;
use std::ops::Range;

impl<E: Env> Run<'_, '_, E> {
    pub(super) async fn equal_join(
        &mut self,
        context: JoinContext<'_>,
        (outer_list, inner_list): &(List, List),
        joining: &mut JoinState,
        rows: &mut Rows,
    ) -> Result<bool> {
        let mut table = match joining.table.take() {
            Some(table) => table,
            None => {
                // Without outer rows PostgreSQL does not execute the inner input either.
                if !self.next_outer(context, joining).await? && !context.keeps_inner() {
                    return Ok(false);
                }
                let table = self.join_table(context, inner_list).await?;
                self.meter_memory(context.node, || table.memory.bytes);
                Box::new(table)
            }
        };
        while rows.len() < context.enough {
            if !self.next_outer(context, joining).await? {
                let has_more = self.unpaired(context, &mut table, rows).await?;
                joining.table = Some(table);
                return Ok(has_more);
            }
            self.search(context, (outer_list, joining), &mut table, rows).await?;
        }
        joining.table = Some(table);
        Ok(true)
    }

    /// Goes on with the matches of an outer row.
    async fn search(
        &mut self,
        context: JoinContext<'_>,
        (outer_list, joining): (&List, &mut JoinState),
        table: &mut JoinTable,
        rows: &mut Rows,
    ) -> Result<()> {
        let outer = (joining.rows.row(joining.at), joining.rows.id(joining.at));
        let mut inner = match joining.inner.take() {
            Some(inner) => inner,
            None => {
                self.check_interrupt()?;
                let sources = [outer.0, &[]];
                let key = self.list_values(outer_list, sources, context.under.outer).await?;
                InnerState { places: matches(table, &key), ..InnerState::default() }
            }
        };
        while let Some(place) = inner.places.next() {
            let partner = table.keys[place].1;
            let id = outer.1.or(table.rows.id(partner));
            let pair = [outer.0, table.rows.row(partner)];
            if self.pair_up(context, pair, id, rows).await? {
                inner.has_partner = true;
                table.is_paired[partner] = true;
                if context.is_decided_by_one() {
                    inner.places = 0..0;
                }
            }
            if rows.len() >= context.enough && !inner.places.is_empty() {
                joining.inner = Some(inner);
                return Ok(());
            }
        }
        self.pair_with_none(context, outer, inner.has_partner, rows).await?;
        joining.at += 1;
        Ok(())
    }

    /// Delivers inner rows without a partner.
    async fn unpaired(
        &mut self,
        context: JoinContext<'_>,
        table: &mut JoinTable,
        rows: &mut Rows,
    ) -> Result<bool> {
        let JoinContext { join, node, under, enough, .. } = context;
        if !context.keeps_inner() {
            return Ok(false);
        }
        let nulls = vec![Value::Null; join.outer.width];
        while table.unpaired < table.rows.len() && rows.len() < enough {
            let at = table.unpaired;
            table.unpaired += 1;
            if !table.is_paired[at] {
                let (pair, id) = ([&nulls[..], table.rows.row(at)], table.rows.id(at));
                self.deliver((node, join.filter.as_ref()), pair, id, under.outer, rows).await?;
            }
        }
        Ok(table.unpaired < table.rows.len())
    }

    /// Collects the inner rows.
    async fn join_table(
        &mut self,
        context: JoinContext<'_>,
        inner_list: &List,
    ) -> Result<JoinTable> {
        let JoinContext { join, under, .. } = context;
        let mut held = HeldRows::default();
        held.rows.reset(join.inner.width);
        let all = NodeContext::all(under.outer);
        self.hold(&join.inner, (all, "Hash"), &mut held).await?;
        let HeldRows { rows, mut memory, .. } = held;
        let mut keys: Vec<(Vec<Value>, usize)> = Vec::with_capacity(rows.len());
        let mut bytes = 0;
        for at in 0..rows.len() {
            self.check_interrupt()?;
            let key = self.list_values(inner_list, [&[], rows.row(at)], under.outer).await?;
            if !key.iter().any(Value::is_null) {
                bytes += bytes_of(&key) + size_of::<(Vec<Value>, usize)>();
                keys.push((key, at));
            }
        }
        self.frame.memory.reserve(&mut memory, bytes, "Hash")?;
        keys.sort_by(|one, other| sql_value::order::order_all(&one.0, &other.0));
        let is_paired = vec![false; rows.len()];
        Ok(JoinTable { rows, keys, is_paired, unpaired: 0, memory })
    }
}

/// The places of the inner rows with this key.
fn matches(table: &JoinTable, key: &[Value]) -> Range<usize> {
    if key.iter().any(Value::is_null) {
        return 0..0;
    }
    let order = |other: &Vec<Value>| sql_value::order::order_all(other, key);
    let from = table.keys.partition_point(|(other, _)| order(other).is_lt());
    let to = table.keys.partition_point(|(other, _)| order(other).is_le());
    from..to
}
