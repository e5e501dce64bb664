//! Groups and aggregates.

use super::state::{Group, GroupState, State};
use super::{BATCH_ROWS, GROWTH, NodeContext, Run, stopped};
use crate::error::Result;
use crate::memory::bytes_of;
use crate::plan::{Aggregate, Node};
use crate::rows::Rows;
use crate::scope::{NOTHING, Outer, Source};
use fabric::Env;
use sql_value::{Accumulator, AggregateCall, GroupKey, Stop, Value, order};

/// Bytes of a group's place in the hash table, about.
const PLACE_BYTES: usize = 64;

impl<E: Env> Run<'_, '_, E> {
    pub(super) async fn aggregate(
        &mut self,
        aggregate: &Aggregate,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        let is_single = aggregate.keys.outputs.is_empty();
        if matches!(state, State::New) {
            let mut groups = GroupState::default();
            if is_single {
                let mut group = new_group(aggregate, None);
                self.add_all(aggregate, node, (&mut groups, &mut group), under).await?;
                groups.groups.push(group);
            } else if !aggregate.is_sorted {
                self.hash_groups(aggregate, node, &mut groups, under).await?;
            }
            self.meter_memory(node, || groups.memory.bytes);
            *state = State::Groups(Box::new(groups));
        }
        let State::Groups(groups) = state else { return Ok(false) };
        if aggregate.is_sorted && !is_single {
            return self.sorted_groups(aggregate, node, groups, under, rows).await;
        }
        let (most, enough) = under.ends(rows);
        while rows.len() < enough {
            let Some(group) = groups.groups.pop() else { break };
            self.deliver_group(aggregate, node, group, under.outer, rows).await?;
        }
        let has_more = !groups.groups.is_empty() && rows.len() < most;
        if !has_more {
            *state = State::Done;
        }
        Ok(has_more)
    }

    /// Adds all rows of the input to one group.
    async fn add_all(
        &mut self,
        aggregate: &Aggregate,
        node: &Node,
        (state, group): (&mut GroupState, &mut Group),
        under: NodeContext<'_>,
    ) -> Result<()> {
        let input = &aggregate.input;
        let mut rows = self.frame.scratch.input(input.width);
        let asked = under.batches(BATCH_ROWS);
        loop {
            self.forget_rows(under);
            rows.reset(input.width);
            let has_more = self.pull(input, &mut state.input, asked, &mut rows).await?;
            if group.first.is_none() && !rows.is_empty() {
                group.first = Some(rows.row(0).to_vec());
            }
            for row in rows.iter() {
                match aggregate.is_plain {
                    true => self.add_now(aggregate, row, group, under.outer)?,
                    false => self.add_row(aggregate, node, (row, under.outer), group).await?,
                }
                self.reserve_values(aggregate, row, state)?;
            }
            if !has_more {
                self.frame.scratch.give_back(rows);
                return Ok(());
            }
        }
    }

    /// Adds the rows of the input to their groups; the groups are then in the order of their keys.
    async fn hash_groups(
        &mut self,
        aggregate: &Aggregate,
        node: &Node,
        state: &mut GroupState,
        under: NodeContext<'_>,
    ) -> Result<()> {
        let input = &aggregate.input;
        let mut rows = self.frame.scratch.input(input.width);
        let asked = under.batches(BATCH_ROWS);
        loop {
            self.forget_rows(under);
            rows.reset(input.width);
            let has_more = self.pull(input, &mut state.input, asked, &mut rows).await?;
            for row in rows.iter() {
                self.check_interrupt()?;
                let key = self.list_values(&aggregate.keys, [row, &[]], under.outer).await?;
                let place = self.place_of(aggregate, key, row, state)?;
                let group = &mut state.groups[place];
                self.add_row(aggregate, node, (row, under.outer), group).await?;
                self.reserve_values(aggregate, row, state)?;
            }
            if !has_more {
                break;
            }
        }
        self.frame.scratch.give_back(rows);
        let mut keys: Vec<(GroupKey, usize)> = state.places.drain().collect();
        keys.sort_by(|one, other| other.0.cmp(&one.0));
        let mut groups: Vec<Option<Group>> = state.groups.drain(..).map(Some).collect();
        state.groups = keys.into_iter().filter_map(|(_, place)| groups[place].take()).collect();
        Ok(())
    }

    /// The place of a key's group, which may be new.
    fn place_of(
        &self,
        aggregate: &Aggregate,
        key: Vec<Value>,
        row: &[Value],
        state: &mut GroupState,
    ) -> Result<usize> {
        let key = GroupKey(key);
        if let Some(place) = state.places.get(&key) {
            return Ok(*place);
        }
        let place = state.groups.len();
        let accumulators = aggregate.calls.len() * size_of::<Accumulator>();
        let bytes = bytes_of(&key.0) + bytes_of(row) + accumulators + PLACE_BYTES;
        self.frame.memory.reserve(&mut state.memory, bytes, "HashAggregate")?;
        state.places.insert(key, place);
        state.groups.push(new_group(aggregate, Some(row)));
        Ok(place)
    }

    /// Delivers the groups of an input that is sorted by their keys.
    async fn sorted_groups(
        &mut self,
        aggregate: &Aggregate,
        node: &Node,
        state: &mut GroupState,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        let (most, enough) = under.ends(rows);
        let mut size = under.first_rows();
        while rows.len() < enough {
            if state.at == state.rows.len() {
                if state.has_ended {
                    if let Some(group) = state.groups.pop() {
                        self.deliver_group(aggregate, node, group, under.outer, rows).await?;
                    }
                    return Ok(false);
                }
                self.forget_rows(under);
                state.rows.reset(aggregate.input.width);
                state.at = 0;
                let GroupState { input, rows: found, .. } = state;
                let asked = under.batches(size);
                let has_more = self.pull(&aggregate.input, input, asked, found).await?;
                state.has_ended = !has_more;
                size = (size * GROWTH).min(BATCH_ROWS);
                continue;
            }
            self.check_interrupt()?;
            let row = state.rows.row(state.at);
            let key = self.list_values(&aggregate.keys, [row, &[]], under.outer).await?;
            let is_same = order::order_all(&state.key, &key).is_eq();
            if !is_same && let Some(group) = state.groups.pop() {
                self.deliver_group(aggregate, node, group, under.outer, rows).await?;
                continue;
            }
            if state.groups.is_empty() {
                state.key = key;
                state.groups.push(new_group(aggregate, Some(row)));
            }
            self.add_row(aggregate, node, (row, under.outer), &mut state.groups[0]).await?;
            state.at += 1;
        }
        Ok(rows.len() < most)
    }

    /// Adds a row to a group.
    async fn add_row(
        &mut self,
        aggregate: &Aggregate,
        node: &Node,
        (row, outer): (&[Value], Option<&Outer<'_>>),
        group: &mut Group,
    ) -> Result<()> {
        self.check_interrupt()?;
        self.forget(node);
        for (call, accumulator) in aggregate.calls.iter().zip(&mut group.accumulators) {
            loop {
                let view = self.view([Source::Values(row), NOTHING], outer);
                match call.add(accumulator, &view) {
                    Ok(()) => break,
                    Err(Stop::Error(error)) => return Err(error.into()),
                    Err(Stop::Needs(plan)) => {
                        self.execute_sub_plan(plan, [row, &[]], outer).await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// As [`Self::add_row`], without sub plans.
    fn add_now(
        &self,
        aggregate: &Aggregate,
        row: &[Value],
        group: &mut Group,
        outer: Option<&Outer<'_>>,
    ) -> Result<()> {
        self.check_interrupt()?;
        let view = self.view([Source::Values(row), NOTHING], outer);
        for (call, accumulator) in aggregate.calls.iter().zip(&mut group.accumulators) {
            call.add(accumulator, &view).map_err(stopped)?;
        }
        Ok(())
    }

    /// Reserves memory for the values of a row that aggregates hold.
    #[inline]
    fn reserve_values(
        &self,
        aggregate: &Aggregate,
        row: &[Value],
        state: &mut GroupState,
    ) -> Result<()> {
        let holds = |call: &&AggregateCall| call.distinct || call.aggregate.takes_nulls();
        match aggregate.calls.iter().filter(holds).count() {
            0 => Ok(()),
            count => {
                let bytes = bytes_of(row) * count;
                self.frame.memory.reserve(&mut state.memory, bytes, "Aggregate")
            }
        }
    }

    /// Delivers the result of a group if it passes the filter.
    async fn deliver_group(
        &mut self,
        aggregate: &Aggregate,
        node: &Node,
        group: Group,
        outer: Option<&Outer<'_>>,
        rows: &mut Rows,
    ) -> Result<()> {
        let mut results = std::mem::take(&mut self.frame.aggregates);
        results.clear();
        for accumulator in group.accumulators {
            results.push(accumulator.finish()?);
        }
        self.frame.aggregates = results;
        // Without rows, the columns are null.
        let first = group.first.unwrap_or_else(|| vec![Value::Null; aggregate.input.width]);
        let filtered = (node, aggregate.filter.as_ref());
        self.deliver(filtered, [&first, &[]], None, outer, rows).await
    }
}

fn new_group(aggregate: &Aggregate, first: Option<&[Value]>) -> Group {
    let accumulators = aggregate.calls.iter().map(AggregateCall::start).collect();
    Group { first: first.map(<[Value]>::to_vec), accumulators }
}
