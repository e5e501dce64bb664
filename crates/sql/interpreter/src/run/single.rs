//! Executes nodes with one input or none.
//!
//! Decision: docs/decisions/0203-a-statement-about-one-row-by-key-is-plain-code-around.md

use super::locking::Locking;
use super::state::LimitState;
use super::{ALL, BATCH_ROWS, GROWTH, NodeContext, Run, State, evaluate_output};
use crate::error::{Result, plain};
use crate::plan::{List, Node, Outputs, Term};
use crate::row_lock::RowLockMode;
use crate::rows::Rows;
use crate::scope::Outer;
use fabric::Env;
use sql::query::IfLocked;
use sql_value::Value;

/// Factor by which more rows are looked at, if too many of the first ones are locked.
const SKIPPED_GROWTH: usize = 4;

impl<E: Env> Run<'_, '_, E> {
    /// Delivers the outputs of a node for the input rows that pass the filter, until there are
    /// `most`.
    pub(super) async fn deliver_all(
        &mut self,
        (node, filter): (&Node, Option<&Term>),
        input: Rows,
        (outer, most): (Option<&Outer<'_>>, usize),
        rows: &mut Rows,
    ) -> Result<()> {
        if filter.is_none() && matches!(node.outputs, Outputs::Same) {
            let mut input = input;
            input.keep(0, super::left(most, rows.len()));
            rows.append(&mut input);
            self.frame.scratch.give_back(input);
            return Ok(());
        }
        for at in 0..input.len() {
            if rows.len() >= most {
                break;
            }
            let id = input.id(at);
            self.deliver((node, filter), [input.row(at), &[]], id, outer, rows).await?;
        }
        self.frame.scratch.give_back(input);
        Ok(())
    }

    /// Passes on the rows of an input that pass the filter.
    async fn pass_on(
        &mut self,
        (node, filter): (&Node, Option<&Term>),
        (input, state): (&Node, &mut State),
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        let (begin, (most, enough)) = (rows.len(), under.ends(rows));
        let mut size = under.first_rows();
        loop {
            let asked = match filter {
                Some(_) => under.batches(size),
                None => under.rest(rows.len() - begin),
            };
            size = (size * GROWTH).min(BATCH_ROWS);
            if filter.is_none() && matches!(node.outputs, Outputs::Same) {
                return self.pull(input, state, asked, rows).await;
            }
            let mut found = self.frame.scratch.input(input.width);
            let has_more = self.pull(input, state, asked, &mut found).await?;
            self.deliver_all((node, filter), found, (under.outer, most), rows).await?;
            if rows.len() >= most {
                return Ok(false);
            }
            if !has_more || rows.len() >= enough {
                return Ok(has_more);
            }
        }
    }

    pub(super) async fn limit(
        &mut self,
        bounds: (Option<&Term>, Option<&Term>),
        input: &Node,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        self.forget(node);
        if matches!(state, State::New) {
            let (limit, offset) = bounds;
            let skipped = self.count_of(offset, under.outer, ("2201X", "OFFSET")).await?;
            let left = self.count_of(limit, under.outer, ("2201W", "LIMIT")).await?;
            let (skipped, left) = (skipped.unwrap_or(0), left.unwrap_or(ALL));
            let of_limit = LimitState { input: State::New, skipped, left };
            *state = State::Limit(Box::new(of_limit));
        }
        let State::Limit(of_limit) = state else { return Ok(false) };
        let LimitState { input: state, skipped, left } = &mut **of_limit;
        let (most, enough) = under.ends(rows);
        while *skipped > 0 && *left > 0 {
            let mut dropped = self.frame.scratch.input(input.width);
            // The input has not ended after the rows that are skipped.
            let wanted = skipped.saturating_add(*left);
            let asked = NodeContext { outer: under.outer, wanted, batch: BATCH_ROWS.min(*skipped) };
            let has_more = self.pull(input, state, asked, &mut dropped).await?;
            let count = dropped.len().min(*skipped);
            *skipped -= count;
            dropped.keep(count, *left);
            *left = super::left(*left, dropped.len());
            self.deliver_all((node, None), dropped, (under.outer, most), rows).await?;
            if !has_more {
                *left = 0;
            }
        }
        let wanted = super::left(most, rows.len()).min(*left);
        if wanted == 0 || rows.len() >= enough {
            return Ok(wanted > 0);
        }
        let begin = rows.len();
        let asked = NodeContext { wanted, ..under };
        let has_more = self.pass_on((node, None), (input, state), asked, rows).await?;
        *left = super::left(*left, rows.len() - begin);
        Ok(has_more && *left > 0)
    }

    /// Evaluates a number of rows; `None` if it is absent or null.
    async fn count_of(
        &mut self,
        term: Option<&Term>,
        outer: Option<&Outer<'_>>,
        (sqlstate, clause): (&'static str, &str),
    ) -> Result<Option<usize>> {
        let Some(term) = term else { return Ok(None) };
        match self.free_value(term, outer).await? {
            Value::Int(count) if count < 0 => {
                Err(plain(sqlstate, format!("{clause} must not be negative")))
            }
            Value::Int(count) => Ok(Some(usize::try_from(count).unwrap_or(ALL))),
            _ => Ok(None),
        }
    }

    pub(super) async fn project(
        &mut self,
        (condition, filter): (Option<&Term>, Option<&Term>),
        input: Option<&Node>,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        self.forget(node);
        if matches!(state, State::New) {
            if under.wanted == 0 || !self.holds(condition, [&[], &[]], under.outer).await? {
                *state = State::Done;
                return Ok(false);
            }
            *state = State::Input(Box::default());
        }
        let State::Input(of_input) = state else { return Ok(false) };
        match input {
            Some(input) => self.pass_on((node, filter), (input, of_input), under, rows).await,
            None => {
                *state = State::Done;
                self.deliver((node, filter), [&[], &[]], None, under.outer, rows).await?;
                Ok(false)
            }
        }
    }

    pub(super) async fn values(
        &mut self,
        lists: &[List],
        filter: Option<&Term>,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        let (most, enough) = under.ends(rows);
        let mut at = if let State::Position(at) = state { *at } else { 0 };
        while rows.len() < enough
            && let Some(list) = lists.get(at)
        {
            let row = self.list_values(list, [&[], &[]], under.outer).await?;
            self.deliver((node, filter), [&row, &[]], None, under.outer, rows).await?;
            at += 1;
        }
        *state = State::Position(at);
        Ok(at < lists.len() && rows.len() < most)
    }

    /// Evaluates a list over intermediate rows.
    pub(super) async fn list_values(
        &mut self,
        list: &List,
        sources: [&[Value]; 2],
        outer: Option<&Outer<'_>>,
    ) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(list.outputs.len());
        for output in &list.outputs {
            let value = match output {
                crate::plan::Output::Term(term) if term.uses_sub_plans => {
                    self.value(&term.formula, sources, outer).await?
                }
                output => {
                    let view = self.view(sources.map(crate::scope::Source::Values), outer);
                    evaluate_output(output, &view)?
                }
            };
            values.push(value);
        }
        Ok(values)
    }

    pub(super) async fn unnest(
        &mut self,
        arrays: &[Term],
        filter: Option<&Term>,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        self.forget(node);
        if matches!(state, State::New) {
            let mut columns = Vec::with_capacity(arrays.len());
            for array in arrays {
                columns.push(match self.free_value(array, under.outer).await? {
                    Value::Array(elements) => Some(elements),
                    _ => None,
                });
            }
            *state = State::Unnest(columns, 0);
        }
        let State::Unnest(columns, at) = state else { return Ok(false) };
        let (most, enough) = under.ends(rows);
        let longest = columns.iter().flatten().map(|column| column.len()).max().unwrap_or(0);
        let mut row = vec![Value::Null; columns.len()];
        while *at < longest && rows.len() < enough {
            for (value, column) in row.iter_mut().zip(&*columns) {
                let element = column.as_ref().and_then(|column| column.get(*at));
                *value = element.cloned().unwrap_or(Value::Null);
            }
            *at += 1;
            self.deliver((node, filter), [&row, &[]], None, under.outer, rows).await?;
        }
        Ok(*at < longest && rows.len() < most)
    }

    pub(super) async fn series(
        &mut self,
        bounds: &[Term],
        filter: Option<&Term>,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        self.forget(node);
        if matches!(state, State::New) {
            let mut values = Vec::with_capacity(bounds.len());
            for bound in bounds {
                values.push(self.free_value(bound, under.outer).await?);
            }
            *state = Series::new(&values)?.map_or(State::Done, State::Series);
        }
        let State::Series(series) = state else { return Ok(false) };
        let (most, enough) = under.ends(rows);
        while rows.len() < enough {
            let Some(number) = series.next() else { return Ok(false) };
            self.deliver((node, filter), [&[number], &[]], None, under.outer, rows).await?;
        }
        Ok(rows.len() < most)
    }

    pub(super) async fn shared(
        &mut self,
        plan: usize,
        filter: Option<&Term>,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        let shared = self.shared_rows(plan, under.outer).await?;
        let (most, enough) = under.ends(rows);
        let mut at = if let State::Position(at) = state { *at } else { 0 };
        while at < shared.len() && rows.len() < enough {
            self.deliver((node, filter), [shared.row(at), &[]], None, under.outer, rows).await?;
            at += 1;
        }
        *state = State::Position(at);
        Ok(at < shared.len() && rows.len() < most)
    }

    /// Locks the rows. Those that others may not lock are also written unchanged, and the others
    /// guarded, so that the commit fails if somebody has changed one of them without a lock.
    pub(super) async fn lock(
        &mut self,
        input: &Node,
        (mode, if_locked, keeps_ids): (RowLockMode, IfLocked, bool),
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        // A row is not read again after it was locked: all are found first.
        let mut found = match if_locked {
            IfLocked::Skip => self.rows_not_locked(input, mode, under).await?,
            _ => {
                let found = self.rows_of(input, under).await?;
                self.lock_all(&found, (mode, if_locked)).await?;
                found
            }
        };
        for at in 0..found.len() {
            match found.id(at) {
                Some(id) if mode.is_exclusive() => _ = self.txn.update(id),
                Some(id) if mode == RowLockMode::KeyShare => self.txn.guard_key(id),
                Some(id) => self.txn.guard_row(id),
                None => {}
            }
        }
        if !keeps_ids {
            found.forget_ids();
        }
        *state = State::Done;
        let (most, _) = under.ends(rows);
        self.deliver_all((node, None), found, (under.outer, most), rows).await?;
        Ok(false)
    }

    /// Finds and locks the rows that nobody else has locked, as many as are wanted.
    async fn rows_not_locked(
        &mut self,
        input: &Node,
        mode: RowLockMode,
        under: NodeContext<'_>,
    ) -> Result<Rows> {
        let mut asked = under.wanted;
        loop {
            let all = NodeContext { wanted: asked, ..under };
            let found = self.rows_of(input, all).await?;
            let (mut locks, mut free) = (Locking::default(), Vec::new());
            for at in 0..found.len() {
                let Some(id) = found.id(at) else { continue };
                let is_wanted = free.len() < under.wanted;
                if is_wanted && self.lock_row(id, (mode, IfLocked::Skip), &mut locks)? {
                    free.push(at);
                }
            }
            self.end_locking(locks).await?;
            if free.len() >= under.wanted || found.len() < asked {
                return Ok(found.reordered(&free));
            }
            asked = asked.saturating_mul(SKIPPED_GROWTH);
        }
    }

    pub(super) async fn unique(
        &mut self,
        input: &Node,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        if matches!(state, State::New) {
            *state = State::Unique(Box::default());
        }
        let State::Unique(unique) = state else { return Ok(false) };
        let (most, enough) = under.ends(rows);
        let mut size = under.first_rows();
        loop {
            let mut found = self.frame.scratch.input(input.width);
            let asked = under.batches(size);
            let has_more = self.pull(input, &mut unique.input, asked, &mut found).await?;
            for at in 0..found.len() {
                if rows.len() >= most {
                    return Ok(false);
                }
                let row = found.row(at);
                let is_equal = |last: &Vec<Value>| sql_value::order::order_all(last, row).is_eq();
                if unique.last.as_ref().is_some_and(is_equal) {
                    continue;
                }
                unique.last = Some(row.to_vec());
                self.deliver((node, None), [row, &[]], found.id(at), under.outer, rows).await?;
            }
            self.frame.scratch.give_back(found);
            if !has_more || rows.len() >= enough {
                return Ok(has_more && rows.len() < most);
            }
            size = (size * GROWTH).min(BATCH_ROWS);
        }
    }
}

/// The numbers of a series that are left.
#[derive(Debug)]
pub(crate) struct Series {
    next: Option<i64>,
    last: i64,
    step: i64,
}

impl Series {
    /// `None` if a bound is null: the series is empty.
    fn new(bounds: &[Value]) -> Result<Option<Self>> {
        let mut numbers = [1; 3];
        for (number, bound) in numbers.iter_mut().zip(bounds) {
            let Value::Int(bound) = bound else { return Ok(None) };
            *number = *bound;
        }
        let [first, last, step] = numbers;
        match step {
            0 => Err(plain("22023", "step size cannot equal zero")),
            step => Ok(Some(Self { next: Some(first), last, step })),
        }
    }

    fn next(&mut self) -> Option<Value> {
        let number = self.next?;
        let is_over = if self.step > 0 { number > self.last } else { number < self.last };
        self.next = number.checked_add(self.step).filter(|_| !is_over);
        (!is_over).then_some(Value::Int(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(bounds: &[i64]) -> Vec<Value> {
        let bounds: Vec<Value> = bounds.iter().map(|bound| Value::Int(*bound)).collect();
        let mut series = Series::new(&bounds).expect("a step that leads on").expect("no nulls");
        std::iter::from_fn(|| series.next()).collect()
    }

    #[test]
    fn series_go_up_and_down_and_may_be_empty() {
        let whole = |numbers: &[i64]| numbers.iter().map(|n| Value::Int(*n)).collect::<Vec<_>>();
        assert_eq!(numbers(&[1, 3]), whole(&[1, 2, 3]));
        assert_eq!(numbers(&[5, 1, -2]), whole(&[5, 3, 1]));
        assert_eq!(numbers(&[2, 1]), whole(&[]));
        assert_eq!(numbers(&[i64::MAX - 1, i64::MAX]), whole(&[i64::MAX - 1, i64::MAX]));
        assert!(Series::new(&[Value::Int(1), Value::Int(2), Value::Int(0)]).is_err());
    }
}
