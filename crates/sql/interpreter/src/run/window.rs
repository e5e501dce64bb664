//! Window functions. A node holds the rows of one partition at a time.

use super::state::State;
use super::window_frame::{FrameEdge, Frames, Peers, RangeKeys, Unit};
use super::{BATCH_ROWS, NodeContext, Run, stopped};
use crate::error::{Result, plain};
use crate::memory::{Reservation, bytes_of};
use crate::plan::{Node, Output, Window, WindowBound, WindowCall, WindowUnit};
use crate::rows::Rows;
use crate::scope::{NOTHING, Outer, Source};
use fabric::Env;
use sql::window::WindowFunction;
use sql_value::order::order;
use sql_value::{Accumulator, Decimal, Interval, Value};
use std::ops::Range;

/// The partition that is being delivered.
#[derive(Default, Debug)]
pub(crate) struct WindowState {
    input: State,
    /// The bounds of the frames of each call.
    edges: Vec<[FrameEdge; 2]>,
    /// The last rows of the input, and the next one.
    ahead: Rows,
    ahead_at: usize,
    has_ended: bool,
    /// The rows of the partition, with the values of the calls, and the next one.
    rows: Rows,
    at: usize,
    memory: Reservation,
}

impl<E: Env> Run<'_, '_, E> {
    pub(super) async fn window(
        &mut self,
        window: &Window,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        if matches!(state, State::New) {
            let mut edges = Vec::with_capacity(window.calls.len());
            for call in &window.calls {
                let start = self.edge(&call.start, "starting", under.outer).await?;
                edges.push([start, self.edge(&call.end, "ending", under.outer).await?]);
            }
            *state = State::Window(Box::new(WindowState { edges, ..WindowState::default() }));
        }
        let State::Window(own) = state else { return Ok(false) };
        let (most, enough) = under.ends(rows);
        while rows.len() < enough {
            if own.at == own.rows.len() && !self.next_partition(window, node, own, under).await? {
                *state = State::Done;
                return Ok(false);
            }
            let row = own.rows.row(own.at);
            self.deliver((node, None), [row, &[]], None, under.outer, rows).await?;
            own.at += 1;
        }
        Ok(rows.len() < most)
    }

    /// A bound, whose distance is evaluated once.
    async fn edge(
        &mut self,
        bound: &WindowBound,
        name: &str,
        outer: Option<&Outer<'_>>,
    ) -> Result<FrameEdge> {
        let (distance, is_before) = match bound {
            WindowBound::Unbounded => return Ok(FrameEdge::Unbounded),
            WindowBound::CurrentRow => return Ok(FrameEdge::CurrentRow),
            WindowBound::Preceding(distance) => (distance, true),
            WindowBound::Following(distance) => (distance, false),
        };
        let value = self.free_value(distance, outer).await?;
        if value.is_null() {
            return Err(plain("22004", format!("frame {name} offset must not be null")));
        }
        let count = match &value {
            Value::Int(count) => usize::try_from(*count).ok(),
            // The distance of a range of another type.
            other => (!is_negative(other)).then_some(0),
        };
        let Some(count) = count else {
            return Err(plain("22013", format!("frame {name} offset must not be negative")));
        };
        Ok(if is_before { FrameEdge::Preceding(count) } else { FrameEdge::Following(count) })
    }

    /// Collects the rows of the next partition and computes the calls; returns whether there is
    /// one.
    async fn next_partition(
        &mut self,
        window: &Window,
        node: &Node,
        state: &mut WindowState,
        under: NodeContext<'_>,
    ) -> Result<bool> {
        let width = window.input.width;
        state.memory = Reservation::default();
        let mut found = Rows::new(width);
        loop {
            if state.ahead_at == state.ahead.len() {
                if state.has_ended {
                    break;
                }
                self.forget_rows(under);
                state.ahead.reset(width);
                state.ahead_at = 0;
                let asked = under.batches(BATCH_ROWS);
                let pulled = self.pull(&window.input, &mut state.input, asked, &mut state.ahead);
                state.has_ended = !pulled.await?;
                continue;
            }
            self.check_interrupt()?;
            let row = state.ahead.row(state.ahead_at);
            let is_same = |column: &usize| order(&found.row(0)[*column], &row[*column]).is_eq();
            if !found.is_empty() && !window.partition.iter().all(is_same) {
                break;
            }
            // Once more with the values of the calls.
            let bytes = 2 * (bytes_of(row) + window.calls.len() * size_of::<Value>());
            self.frame.memory.reserve(&mut state.memory, bytes, "WindowAgg")?;
            found.push_row(row, None);
            state.ahead_at += 1;
        }
        self.meter_memory(node, || state.memory.bytes);
        if found.is_empty() {
            return Ok(false);
        }
        self.compute(window, &found, state, under.outer).await?;
        Ok(true)
    }

    /// Computes the calls over a partition.
    async fn compute(
        &mut self,
        window: &Window,
        found: &Rows,
        state: &mut WindowState,
        outer: Option<&Outer<'_>>,
    ) -> Result<()> {
        let peers = Peers::of(found.iter(), &window.order);
        let mut columns = Vec::with_capacity(window.calls.len());
        for (call, [start, end]) in window.calls.iter().zip(&state.edges) {
            let unit = self.unit(window, call, found, outer).await?;
            let frames = Frames { peers: &peers, unit, start: *start, end: *end };
            let memory = &mut state.memory;
            columns.push(self.call(call, found, &frames, (outer, memory)).await?.into_iter());
        }
        state.rows.reset(found.width() + columns.len());
        state.at = 0;
        for row in found.iter() {
            row.iter().for_each(|value| state.rows.push(value.clone()));
            for column in &mut columns {
                state.rows.push(column.next().unwrap_or(Value::Null));
            }
            state.rows.end_row(None);
        }
        Ok(())
    }

    async fn unit(
        &mut self,
        window: &Window,
        call: &WindowCall,
        found: &Rows,
        outer: Option<&Outer<'_>>,
    ) -> Result<Unit> {
        let range = match &call.unit {
            WindowUnit::Rows => return Ok(Unit::Rows),
            WindowUnit::Groups => return Ok(Unit::Groups),
            WindowUnit::Range(None) => return Ok(Unit::Range(None)),
            WindowUnit::Range(Some(range)) => range,
        };
        let mut bounds = [None, None];
        for (values, output) in bounds.iter_mut().zip([&range.start, &range.end]) {
            if let Some(output) = output {
                *values = Some(self.column_of(output, found, outer).await?);
            }
        }
        let [starts, ends] = bounds;
        let keys = self.column_of(&range.key, found, outer).await?;
        let (places, descending) = (RangeKeys::places(&keys), window.descending);
        Ok(Unit::Range(Some(RangeKeys { keys, starts, ends, descending, places })))
    }

    /// The values of an expression over all rows.
    async fn column_of(
        &mut self,
        output: &Output,
        found: &Rows,
        outer: Option<&Outer<'_>>,
    ) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(found.len());
        for row in found.iter() {
            values.push(self.output_value(output, row, outer).await?);
        }
        Ok(values)
    }

    /// The values of a call, one for each row.
    async fn call(
        &mut self,
        call: &WindowCall,
        found: &Rows,
        frames: &Frames<'_>,
        (outer, memory): (Option<&Outer<'_>>, &mut Reservation),
    ) -> Result<Vec<Value>> {
        let (peers, count) = (frames.peers, found.len());
        let each = |value: &dyn Fn(usize) -> Value| Ok((0..count).map(value).collect());
        match call.function {
            WindowFunction::RowNumber => each(&|row| whole(row + 1)),
            WindowFunction::Rank => each(&|row| whole(peers.around(row).start + 1)),
            WindowFunction::DenseRank => each(&|row| whole(peers.group(row) + 1)),
            WindowFunction::PercentRank => each(&|row| {
                let others = (count - 1).max(1);
                Value::Float(peers.around(row).start as f64 / others as f64)
            }),
            WindowFunction::CumeDist => {
                each(&|row| Value::Float(peers.around(row).end as f64 / count as f64))
            }
            WindowFunction::Ntile => {
                let buckets = self.first_argument(call, found.row(0), outer).await?;
                ntile(&buckets, count)
            }
            WindowFunction::Lag => self.shifted(call, found, true, outer).await,
            WindowFunction::Lead => self.shifted(call, found, false, outer).await,
            WindowFunction::FirstValue | WindowFunction::LastValue | WindowFunction::NthValue => {
                self.values_of_frames(call, found, frames, outer).await
            }
            WindowFunction::Aggregate(_) => self.aggregates(call, found, frames, (outer, memory)),
        }
    }

    async fn first_argument(
        &mut self,
        call: &WindowCall,
        row: &[Value],
        outer: Option<&Outer<'_>>,
    ) -> Result<Value> {
        match call.arguments.first() {
            Some(argument) => self.output_value(argument, row, outer).await,
            None => Ok(Value::Null),
        }
    }

    /// `lag` and `lead`: the value of the row at a distance, or else the default.
    async fn shifted(
        &mut self,
        call: &WindowCall,
        found: &Rows,
        is_before: bool,
        outer: Option<&Outer<'_>>,
    ) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(found.len());
        for at in 0..found.len() {
            self.check_interrupt()?;
            let distance = match call.arguments.get(1) {
                None => 1,
                Some(distance) => match self.output_value(distance, found.row(at), outer).await? {
                    Value::Int(distance) => distance,
                    _ => {
                        values.push(Value::Null);
                        continue;
                    }
                },
            };
            let distance = if is_before { -distance } else { distance };
            let other = (at as i64).checked_add(distance).and_then(|at| usize::try_from(at).ok());
            values.push(match (other.filter(|&other| other < found.len()), &call.arguments[..]) {
                (Some(other), _) => self.first_argument(call, found.row(other), outer).await?,
                (None, [_, _, default]) => self.output_value(default, found.row(at), outer).await?,
                (None, _) => Value::Null,
            });
        }
        Ok(values)
    }

    /// `first_value`, `last_value` and `nth_value`.
    async fn values_of_frames(
        &mut self,
        call: &WindowCall,
        found: &Rows,
        frames: &Frames<'_>,
        outer: Option<&Outer<'_>>,
    ) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(found.len());
        for at in 0..found.len() {
            self.check_interrupt()?;
            let frame = frames.of(at);
            let place = match call.function {
                WindowFunction::FirstValue => Some(frame.start),
                WindowFunction::LastValue => frame.end.checked_sub(1),
                _ => match self.output_value(&call.arguments[1], found.row(at), outer).await? {
                    Value::Int(nth) if nth > 0 => Some(frame.start + nth as usize - 1),
                    Value::Int(_) => {
                        let message = "argument of nth_value must be greater than zero";
                        return Err(plain("22016", message));
                    }
                    _ => None,
                },
            };
            values.push(match place.filter(|place| frame.contains(place)) {
                Some(place) => self.first_argument(call, found.row(place), outer).await?,
                None => Value::Null,
            });
        }
        Ok(values)
    }

    /// An aggregate over each row's frame. Rows are added to the last frame's as long as the start
    /// stays.
    fn aggregates(
        &self,
        call: &WindowCall,
        found: &Rows,
        frames: &Frames<'_>,
        (outer, memory): (Option<&Outer<'_>>, &mut Reservation),
    ) -> Result<Vec<Value>> {
        let Some(aggregate) = &call.aggregate else { return Ok(Vec::new()) };
        let mut values: Vec<Value> = Vec::with_capacity(found.len());
        let mut last: Option<(Accumulator, Range<usize>)> = None;
        for at in 0..found.len() {
            let frame = frames.of(at);
            if let Some((_, known)) = &last
                && *known == frame
            {
                values.push(values[at - 1].clone());
                continue;
            }
            let (mut accumulator, from) = match last.take() {
                Some((known, range)) if range.start == frame.start && range.end <= frame.end => {
                    (known, range.end)
                }
                _ => (aggregate.start(), frame.start),
            };
            for row in from..frame.end {
                self.check_interrupt()?;
                let view = self.view([Source::Values(found.row(row)), NOTHING], outer);
                aggregate.add(&mut accumulator, &view).map_err(stopped)?;
            }
            let value = accumulator.clone().finish()?;
            let bytes = bytes_of(std::slice::from_ref(&value));
            self.frame.memory.reserve(memory, bytes, "WindowAgg")?;
            values.push(value);
            last = Some((accumulator, frame));
        }
        Ok(values)
    }
}

fn whole(number: usize) -> Value {
    Value::Int(number as i64)
}

fn is_negative(value: &Value) -> bool {
    let zero = match value {
        Value::Numeric(_) => Value::Numeric(Decimal::from_int(0)),
        Value::Interval(_) => Value::Interval(Interval::default()),
        _ => Value::Float(0.0),
    };
    order(value, &zero).is_lt()
}

/// The number of each row's bucket; the first ones have a row more if the rows cannot be divided.
fn ntile(buckets: &Value, count: usize) -> Result<Vec<Value>> {
    let buckets = match buckets {
        Value::Int(buckets) if *buckets > 0 => *buckets as usize,
        Value::Int(_) => {
            return Err(plain("22014", "argument of ntile must be greater than zero"));
        }
        _ => return Ok(vec![Value::Null; count]),
    };
    let (size, larger) = (count / buckets, count % buckets);
    let of_larger = larger * (size + 1);
    let bucket = |row: usize| match row < of_larger {
        true => row / (size + 1),
        false => larger + (row - of_larger) / size.max(1),
    };
    Ok((0..count).map(|row| whole(bucket(row) + 1)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_differ_by_at_most_one_row() {
        let numbers = |buckets: i64, count| -> Vec<i64> {
            let values = ntile(&Value::Int(buckets), count).expect("a positive number");
            values.iter().filter_map(Value::as_int).collect()
        };
        assert_eq!(numbers(3, 8), [1, 1, 1, 2, 2, 2, 3, 3]);
        assert_eq!(numbers(5, 3), [1, 2, 3]);
        assert_eq!(numbers(1, 2), [1, 1]);
        assert!(ntile(&Value::Int(0), 1).is_err());
        assert_eq!(ntile(&Value::Null, 1).expect("null is allowed"), [Value::Null]);
    }
}
