//! Executes statements.
//!
//! A node is pulled by the node above: it adds rows until there are enough before a pause, or as
//! many as are ever needed. It remembers its place in a [`State`]; the rest is straight-line code.
//! Statements that find one row by its key allocate nothing; other nodes allocate one future per
//! pull, and their state.
//!
//! ```text
//! state            where nodes have paused
//! keyed            statements that access one row by its key
//! scan             scans of tables; range: of indexes; visit: of rows that are not kept
//! ties             the order of rows whose keys do not tell it
//! single           nodes with one input or none
//! call             routines that run while a statement runs
//! recursive        WITH RECURSIVE
//! append           nodes with many inputs
//! set_operation    INTERSECT and EXCEPT
//! join             joins: loops; keyed_join if the inner rows are found by key; equal_join
//! sort, group      sorting and aggregates, which hold rows
//! window           window functions; window_frame: the rows that they see
//! meter            what EXPLAIN ANALYZE shows
//! change           insert, update, delete; upsert: ON CONFLICT DO UPDATE
//! batched_inserts  inserts of several statements in one round trip
//! check            constraints; referential: rows that reference changed ones
//! ```

mod append;
mod batched_inserts;
mod call;
mod change;
mod check;
mod equal_join;
mod group;
mod join;
mod keyed;
mod keyed_join;
mod locking;
mod meter;
mod range;
mod recursive;
mod referential;
mod scan;
mod set_operation;
mod single;
mod sort;
mod state;
mod ties;
mod upsert;
mod visit;
mod window;
mod window_frame;

pub(crate) use batched_inserts::add_waiting;
pub(crate) use change::draw_hidden_key;
pub(crate) use keyed::{key_in, scan_by_key};
pub(crate) use locking::check_locked_late;
pub use meter::Meter;
pub(crate) use state::{HeldRows, State};

use crate::bind::BoundTable;
use crate::error::{Failure, Result};
use crate::frame::Frame;
use crate::memory::{Reservation, bytes_from, bytes_of};
use crate::plan::{Execution, List, Node, Operator, Output, Outputs, Statement, Term};
use crate::rows::Rows;
use crate::scope::{NOTHING, Outer, Source, View};
use fabric::Env;
use sql_value::{Formula, Scope, Stop, Value};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use txn::Transaction;

/// No limit on the number of rows.
pub(crate) const ALL: usize = usize::MAX;

/// Number of rows that a node hands on at a time if nobody needs fewer.
pub(crate) const BATCH_ROWS: usize = 1024;
/// Number of rows that a node hands on first if few may suffice, and the factor of its growth.
const FIRST_ROWS: usize = 8;
const GROWTH: usize = 4;
/// A query that may forget the rows that it has read does so when they take more bytes.
const HELD_BYTES: usize = 8 << 20;

/// The future of a pull: whether more rows may follow.
type NodeFuture<'r> = Pin<Box<dyn Future<Output = Result<bool>> + 'r>>;

/// The rows that the node above pulls.
#[derive(Clone, Copy)]
pub(crate) struct NodeContext<'v> {
    /// The enclosing rows.
    pub outer: Option<&'v Outer<'v>>,
    /// Maximum number of rows that are ever needed. After as many, the node has ended.
    pub wanted: usize,
    /// Number of rows that are enough before a pause.
    pub batch: usize,
}

impl<'v> NodeContext<'v> {
    /// All rows at once.
    pub fn all(outer: Option<&'v Outer<'v>>) -> Self {
        Self { outer, wanted: ALL, batch: ALL }
    }

    /// At most this many rows, at once.
    pub fn most(outer: Option<&'v Outer<'v>>, wanted: usize) -> Self {
        Self { outer, wanted, batch: wanted }
    }

    /// Rows in batches of about this many, for a node that does not know how many it needs.
    pub fn batches(self, batch: usize) -> Self {
        Self { wanted: ALL, batch, ..self }
    }

    /// The rows that are needed after this many were added.
    pub fn rest(self, added: usize) -> Self {
        Self { wanted: left(self.wanted, added), ..self }
    }

    /// The numbers of rows that a list has when there are as many as are ever needed, and when
    /// there are enough before a pause.
    pub fn ends(&self, rows: &Rows) -> (usize, usize) {
        let most = rows.len().saturating_add(self.wanted);
        (most, most.min(rows.len().saturating_add(self.batch)))
    }

    /// Number of rows of an input to read first, if an unknown number of them is needed.
    pub fn first_rows(&self) -> usize {
        self.wanted.min(self.batch).clamp(FIRST_ROWS, BATCH_ROWS)
    }
}

/// A statement that is executed in a transaction.
pub(crate) struct Run<'r, 'l, E: Env> {
    pub txn: &'r mut Transaction<'l, E>,
    pub tables: &'r [BoundTable],
    pub frame: &'r mut Frame,
    pub statement: &'r Statement,
}

impl<E: Env> Run<'_, '_, E> {
    /// Executes the statement; adds at most `wanted` rows to `rows`.
    #[inline]
    pub async fn statement(&mut self, wanted: usize, rows: &mut Rows) -> Result<()> {
        let statement = self.statement;
        self.frame.begin_statement(statement);
        rows.reset(statement.root.width);
        match (statement.execution, &statement.root.operator) {
            _ if self.frame.meters.is_some() => {}
            (Execution::Keyed, _) => {
                if let Some(keyed) = scan_by_key(&statement.root) {
                    return self.keyed(keyed, wanted, rows).await;
                }
            }
            (Execution::Adds, Operator::Insert(insert)) => return self.add(insert, rows).await,
            (Execution::AddsLater, Operator::Insert(insert)) => {
                return self.add_later(insert).await;
            }
            _ => {}
        }
        let under = NodeContext { outer: None, wanted, batch: ALL };
        self.pull(&statement.root, &mut State::New, under, rows).await?;
        let changes = matches!(
            &statement.root.operator,
            Operator::Insert(_) | Operator::Update(_) | Operator::Delete(_)
        );
        if !changes {
            self.frame.processed = rows.len() as u64;
        }
        Ok(())
    }

    /// As [`Self::statement`], for all rows, which a routine keeps: they count in `memory`, batch
    /// by batch. The rows of one that changes rows count when they are all there.
    pub async fn held_statement(
        &mut self,
        rows: &mut Rows,
        memory: &mut Reservation,
        node: &str,
    ) -> Result<()> {
        let statement = self.statement;
        if statement.writes || statement.execution != Execution::General {
            self.statement(ALL, rows).await?;
            return self.frame.memory.reserve(memory, bytes_from(rows, 0), node);
        }
        self.frame.begin_statement(statement);
        rows.reset(statement.root.width);
        let under = NodeContext::all(None).batches(BATCH_ROWS);
        let (mut state, mut counted) = (State::New, 0);
        while self.pull(&statement.root, &mut state, under, rows).await? {
            self.frame.memory.reserve(memory, bytes_from(rows, counted), node)?;
            counted = rows.len();
        }
        self.frame.memory.reserve(memory, bytes_from(rows, counted), node)?;
        self.frame.processed = rows.len() as u64;
        Ok(())
    }

    /// Goes on with a statement that only reads: adds about `batch` rows. Returns whether more may
    /// follow.
    pub async fn go_on(
        &mut self,
        state: &mut State,
        batch: usize,
        rows: &mut Rows,
    ) -> Result<bool> {
        let statement = self.statement;
        rows.reset(statement.root.width);
        let under = NodeContext { outer: None, wanted: ALL, batch };
        self.forget_rows(under);
        let has_more = self.pull(&statement.root, state, under, rows).await?;
        self.frame.processed += rows.len() as u64;
        Ok(has_more)
    }

    /// Goes on with the execution of a node; adds its next rows to `rows`.
    pub fn pull<'s>(
        &'s mut self,
        node: &'s Node,
        state: &'s mut State,
        under: NodeContext<'s>,
        rows: &'s mut Rows,
    ) -> NodeFuture<'s> {
        match self.frame.meters {
            None => self.pull_node(node, state, under, rows),
            Some(_) => self.pull_measured(node, state, under, rows),
        }
    }

    fn pull_node<'s>(
        &'s mut self,
        node: &'s Node,
        state: &'s mut State,
        under: NodeContext<'s>,
        rows: &'s mut Rows,
    ) -> NodeFuture<'s> {
        // Each arm boxes a future of its own size.
        match &node.operator {
            Operator::Scan(scan) => Box::pin(self.scan(scan, node, state, under, rows)),
            Operator::Join(join) => Box::pin(self.join(join, node, state, under, rows)),
            Operator::Sort { keys, input } => {
                Box::pin(self.sort(keys, input, node, state, under, rows))
            }
            Operator::Limit { limit, offset, input } => {
                let bounds = (limit.as_ref(), offset.as_ref());
                Box::pin(self.limit(bounds, input, node, state, under, rows))
            }
            Operator::Aggregate(aggregate) => {
                Box::pin(self.aggregate(aggregate, node, state, under, rows))
            }
            Operator::Unique { input } => Box::pin(self.unique(input, node, state, under, rows)),
            Operator::Project { condition, filter, input } => {
                let filtered = (condition.as_ref(), filter.as_ref());
                Box::pin(self.project(filtered, input.as_deref(), node, state, under, rows))
            }
            Operator::Values { rows: lists, filter } => {
                Box::pin(self.values(lists, filter.as_ref(), node, state, under, rows))
            }
            Operator::Unnest { arrays, filter } => {
                Box::pin(self.unnest(arrays, filter.as_ref(), node, state, under, rows))
            }
            Operator::Series { bounds, filter } => {
                Box::pin(self.series(bounds, filter.as_ref(), node, state, under, rows))
            }
            Operator::Call(call) => Box::pin(self.routine(call, node, state, under, rows)),
            Operator::Recursive(recursion) => {
                Box::pin(self.recursive(recursion, node, state, under, rows))
            }
            Operator::WorkTable { number, filter } => {
                Box::pin(self.work_table((*number, filter.as_ref()), node, state, under, rows))
            }
            Operator::Append { inputs } => Box::pin(self.append(inputs, node, state, under, rows)),
            Operator::MergeAppend { keys, inputs } => {
                Box::pin(self.merge_append(keys, inputs, node, state, under, rows))
            }
            Operator::SetOperation(operation) => {
                Box::pin(self.set_operation(operation, node, state, under, rows))
            }
            Operator::Window(window) => Box::pin(self.window(window, node, state, under, rows)),
            Operator::Shared { plan, filter } => {
                Box::pin(self.shared(*plan, filter.as_ref(), node, state, under, rows))
            }
            Operator::Lock { mode, if_locked, keeps_ids, input } => {
                let how = (*mode, *if_locked, *keeps_ids);
                Box::pin(self.lock(input, how, node, state, under, rows))
            }
            Operator::Insert(insert) => {
                Box::pin(ended(state, self.insert(insert, node, under, rows)))
            }
            Operator::Update(update) => {
                Box::pin(ended(state, self.update(update, node, under, rows)))
            }
            Operator::Delete(delete) => {
                Box::pin(ended(state, self.delete(delete, node, under, rows)))
            }
        }
    }

    /// Executes a node and returns its rows, as many as are needed.
    pub async fn rows_of(&mut self, node: &Node, under: NodeContext<'_>) -> Result<Rows> {
        let mut rows = self.frame.scratch.input(node.width);
        let under = NodeContext { batch: ALL, ..under };
        self.pull(node, &mut State::New, under, &mut rows).await?;
        Ok(rows)
    }

    /// Forgets the rows that the transaction has read if they take much memory. Inside of a loop or
    /// a sub plan others may still need them.
    pub fn forget_rows(&mut self, under: NodeContext<'_>) {
        if self.frame.only_looks && under.outer.is_none() && self.txn.forget_rows(HELD_BYTES) {
            self.frame.looked_up = None;
        }
    }

    /// Returns the scope of expressions over these rows.
    #[inline]
    pub fn view<'v>(
        &'v self,
        sources: [Source<'v>; 2],
        outer: Option<&'v Outer<'v>>,
    ) -> View<'v, E> {
        View { frame: self.frame, env: self.txn.env(), sources, outer, element: &Value::Null }
    }

    /// Evaluates an expression over intermediate rows; executes the sub plans that it uses.
    pub async fn value(
        &mut self,
        formula: &Formula,
        sources: [&[Value]; 2],
        outer: Option<&Outer<'_>>,
    ) -> Result<Value> {
        loop {
            let view = self.view(sources.map(Source::Values), outer);
            match formula.evaluate(&view) {
                Ok(value) => return Ok(value),
                Err(Stop::Error(error)) => return Err(error.into()),
                Err(Stop::Needs(plan)) => self.execute_sub_plan(plan, sources, outer).await?,
            }
        }
    }

    /// Evaluates an expression over no row.
    #[inline]
    pub async fn free_value(&mut self, term: &Term, outer: Option<&Outer<'_>>) -> Result<Value> {
        match term.uses_sub_plans {
            false => evaluate(term, &self.view([NOTHING; 2], outer)),
            true => Box::pin(self.value(&term.formula, [&[], &[]], outer)).await,
        }
    }

    /// Whether a condition over intermediate rows holds.
    pub async fn holds(
        &mut self,
        filter: Option<&Term>,
        sources: [&[Value]; 2],
        outer: Option<&Outer<'_>>,
    ) -> Result<bool> {
        match filter {
            None => Ok(true),
            Some(term) if term.uses_sub_plans => {
                Ok(self.value(&term.formula, sources, outer).await? == Value::Bool(true))
            }
            Some(term) => is_true(term, &self.view(sources.map(Source::Values), outer)),
        }
    }

    /// Delivers a node's outputs for an intermediate row that passes the filter.
    pub async fn deliver(
        &mut self,
        (node, filter): (&Node, Option<&Term>),
        sources: [&[Value]; 2],
        id: Option<txn::RowId>,
        outer: Option<&Outer<'_>>,
        rows: &mut Rows,
    ) -> Result<()> {
        self.check_interrupt()?;
        self.forget(node);
        if !self.holds(filter, sources, outer).await? {
            return Ok(());
        }
        let list = match &node.outputs {
            Outputs::Same => {
                rows.push_row(sources[0], id);
                return Ok(());
            }
            Outputs::List(list) => list,
        };
        if list.uses_sub_plans {
            for output in &list.outputs {
                let value = match output {
                    Output::Term(term) => self.value(&term.formula, sources, outer).await?,
                    other => {
                        evaluate_output(other, &self.view(sources.map(Source::Values), outer))?
                    }
                };
                rows.push(value);
            }
        } else {
            push_all(list, &self.view(sources.map(Source::Values), outer), rows)?;
        }
        rows.end_row(id);
        Ok(())
    }

    /// Fails if the statement should end.
    #[inline]
    pub fn check_interrupt(&self) -> Result<()> {
        self.frame.watch.check(self.txn.env())
    }

    /// Forgets the results of correlated sub plans, which belong to an earlier row.
    #[inline]
    pub fn forget(&mut self, node: &Node) {
        for &plan in &node.correlated {
            self.frame.results[plan] = None;
        }
    }

    /// Executes a sub plan for a row.
    async fn execute_sub_plan(
        &mut self,
        plan: usize,
        sources: [&[Value]; 2],
        outer: Option<&Outer<'_>>,
    ) -> Result<()> {
        let statement = self.statement;
        let Some(sub_plan) = statement.plans.get(plan) else {
            return Err(sql_value::Error::internal("a sub plan does not exist").into());
        };
        let outer = Outer { sources, next: outer };
        let mut under = NodeContext::most(Some(&outer), sub_plan.wanted);
        under.batch = under.batch.min(BATCH_ROWS);
        // The plan may have groups of its own.
        let aggregates = std::mem::take(&mut self.frame.aggregates);
        let mut rows = Rows::new(sub_plan.root.width);
        let (mut state, mut first) = (State::New, Vec::new());
        let mut memory = Reservation::default();
        loop {
            let has_more = self.pull(&sub_plan.root, &mut state, under, &mut rows).await?;
            first.extend(rows.iter().map(|row| row.first().cloned().unwrap_or(Value::Null)));
            if !has_more {
                break;
            }
            under = under.rest(rows.len());
            let bytes = bytes_of(&first[first.len() - rows.len()..]);
            self.frame.memory.reserve(&mut memory, bytes, "SubPlan")?;
            rows.reset(sub_plan.root.width);
        }
        self.frame.aggregates = aggregates;
        self.frame.results[plan] = Some(first);
        self.frame.memory_of_plans[plan] = memory;
        Ok(())
    }

    /// Returns the rows of a plan that several nodes read; executes it at the first use.
    async fn shared_rows(&mut self, plan: usize, outer: Option<&Outer<'_>>) -> Result<Arc<Rows>> {
        if let Some(rows) = &self.frame.shared[plan] {
            return Ok(rows.clone());
        }
        let statement = self.statement;
        let root = &statement.plans[plan].root;
        let mut held = HeldRows::default();
        held.rows.reset(root.width);
        self.hold(root, (NodeContext::all(outer), "CTE"), &mut held).await?;
        let rows = Arc::new(held.rows);
        self.frame.shared[plan] = Some(rows.clone());
        self.frame.memory_of_plans[plan] = held.memory;
        Ok(rows)
    }
}

/// The number of rows that are left to `end`.
fn left(end: usize, rows: usize) -> usize {
    if end == ALL { ALL } else { end - rows.min(end) }
}

/// A change adds all its rows at once.
async fn ended(state: &mut State, changed: impl Future<Output = Result<()>>) -> Result<bool> {
    changed.await?;
    *state = State::Done;
    Ok(false)
}

/// Evaluates an expression without sub plans.
#[inline]
pub(crate) fn evaluate(term: &Term, scope: &impl Scope) -> Result<Value> {
    term.formula.evaluate(scope).map_err(stopped)
}

/// Evaluates a condition without sub plans.
#[inline]
pub(crate) fn is_true(term: &Term, scope: &impl Scope) -> Result<bool> {
    term.formula.condition(scope).map_err(stopped)
}

#[cold]
fn stopped(stop: Stop) -> Failure {
    match stop {
        Stop::Error(error) => error.into(),
        Stop::Needs(_) => sql_value::Error::internal("an unexpected sub plan").into(),
    }
}

/// Evaluates an output without sub plans.
#[inline]
pub(crate) fn evaluate_output<E: Env>(output: &Output, view: &View<'_, E>) -> Result<Value> {
    match output {
        Output::Column(column) => Ok(view.source_column(0, *column)?),
        Output::Inner(column) => Ok(view.source_column(1, *column)?),
        Output::Unused => Ok(Value::Null),
        Output::Term(term) => evaluate(term, view),
    }
}

/// Appends the outputs of a list without sub plans to the current row.
#[inline]
pub(crate) fn push_all<E: Env>(list: &List, view: &View<'_, E>, rows: &mut Rows) -> Result<()> {
    append_all(list, view, rows.list())
}

/// As [`push_all`], appending to a list of values.
#[inline]
pub(crate) fn append_all<E: Env>(
    list: &List,
    view: &View<'_, E>,
    values: &mut Vec<Value>,
) -> Result<()> {
    values.reserve(list.outputs.len());
    for output in &list.outputs {
        match output {
            Output::Column(column) => view.source_column(0, *column)?.append_to(values),
            Output::Inner(column) => view.source_column(1, *column)?.append_to(values),
            Output::Unused => values.push(Value::Null),
            Output::Term(term) => term.formula.append(view, values).map_err(stopped)?,
        }
    }
    Ok(())
}
