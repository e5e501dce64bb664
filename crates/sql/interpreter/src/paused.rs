//! Queries whose rows are taken in parts.
//!
//! Between two parts the query is a value: other statements of its transaction may run, as long as
//! they change nothing.
//!
//! Decision: docs/decisions/0342-nodes-are-pulled-and-pause.md

use crate::frame::Frame;
use crate::memory::{Memory, Reservation};
use crate::plan::Execution;
use crate::rows::Rows;
use crate::run::{HeldRows, Run, State};
use crate::single::{Runner, SingleStatement, StatementError, Tables};
use fabric::Env;
use sql_value::Value;
use std::sync::Arc;
use txn::Transaction;

/// A query that has paused.
#[derive(Default, Debug)]
pub struct Paused {
    state: State,
    variables: Vec<Value>,
    results: Vec<Option<Vec<Value>>>,
    shared: Vec<Option<Arc<Rows>>>,
    called: Vec<(usize, Arc<HeldRows>)>,
    work_tables: Vec<(usize, Arc<HeldRows>)>,
    memory_of_plans: Vec<Reservation>,
    memory: Memory,
    only_looks: bool,
    /// Number of rows so far.
    count: u64,
}

impl Paused {
    /// Number of rows that were taken.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Exchanges the state of the running statement with that of this one.
    fn swap(&mut self, frame: &mut Frame) {
        use std::mem::swap;
        swap(&mut self.variables, &mut frame.variables);
        swap(&mut self.results, &mut frame.results);
        swap(&mut self.shared, &mut frame.shared);
        swap(&mut self.called, &mut frame.called);
        swap(&mut self.work_tables, &mut frame.work_tables);
        swap(&mut self.memory_of_plans, &mut frame.memory_of_plans);
        swap(&mut self.memory, &mut frame.memory);
        swap(&mut self.only_looks, &mut frame.only_looks);
        swap(&mut self.count, &mut frame.processed);
    }
}

impl SingleStatement {
    /// Whether its rows can be taken in parts: it only reads, and not just one row.
    fn can_pause(&self) -> bool {
        !self.writes() && self.statement.execution == Execution::General
    }
}

impl Runner {
    /// Limits the memory that a statement may hold, in bytes.
    pub fn set_work_memory(&mut self, bytes: usize) {
        self.frame.memory.set_limit(bytes);
    }

    /// As [`Runner::run`], for a query of many rows: it may pause after about `batch` of them.
    ///
    /// # Errors
    ///
    /// As [`Runner::run`].
    pub async fn start<E: Env>(
        &mut self,
        transaction: &mut Transaction<'_, E>,
        tables: &Tables,
        statement: &SingleStatement,
        (parameters, only_looks): (&[Value], bool),
        batch: usize,
        rows: &mut Rows,
    ) -> Result<Option<Paused>, StatementError> {
        if !statement.can_pause() {
            self.run(transaction, tables, statement, parameters, only_looks, rows).await?;
            return Ok(None);
        }
        let mut run = self.run_of(transaction, tables, statement, (parameters, only_looks));
        let mut state = State::New;
        let has_more = run.go_on(&mut state, batch, rows).await?;
        Ok(has_more.then(|| {
            let memory = self.frame.memory.clone();
            let mut paused = Paused { state, memory, ..Paused::default() };
            paused.only_looks = only_looks;
            paused.swap(&mut self.frame);
            paused
        }))
    }

    /// Replaces `rows` by about `batch` more rows of a query that has paused, in the transaction in
    /// which it began. `None` if it has ended.
    ///
    /// # Errors
    ///
    /// As [`Runner::run`].
    pub async fn go_on<E: Env>(
        &mut self,
        transaction: &mut Transaction<'_, E>,
        tables: &Tables,
        statement: &SingleStatement,
        mut paused: Paused,
        batch: usize,
        rows: &mut Rows,
    ) -> Result<Option<Paused>, StatementError> {
        paused.swap(&mut self.frame);
        let frame = &mut self.frame;
        let mut run =
            Run { txn: transaction, tables: &tables.bound, frame, statement: &statement.statement };
        let went_on = run.go_on(&mut paused.state, batch, rows).await;
        paused.swap(&mut self.frame);
        Ok(went_on?.then_some(paused))
    }

    /// The number of rows of the statement that has just run, or that of the changed ones.
    pub fn processed(&self) -> u64 {
        self.frame.processed
    }

    /// Measures the nodes of the statements from now on.
    pub fn start_meters(&mut self) {
        self.frame.meters = Some(Vec::new());
    }

    /// The measurements, by the numbers of the nodes in the order of
    /// [`procedure::Node::walk`]: those of the statement, then those of each sub plan.
    pub fn take_meters(&mut self) -> Vec<crate::run::Meter> {
        self.frame.meters.take().unwrap_or_default()
    }
}
