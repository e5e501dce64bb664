//! The interpreter of a procedure's steps: `assign` stores values in variables, `loops` advances
//! loops, `collect` runs those that only append to arrays, `cursors` opens and moves cursors,
//! `results` adds rows to the result of the call, `raise` executes `RAISE`, `protected` goes on at
//! the handlers of errors, and `dynamic` runs statements with computed texts.
//!
//! Decision: docs/decisions/0184-a-procedure-is-a-list-of-steps-with-jumps-and-a-plan-node.md

mod assign;
mod collect;
mod cursors;
mod dynamic;
mod loops;
mod protected;
mod raise;
mod results;

pub use cursors::{CursorMove, Cursors, RoutineCursor};
pub(crate) use protected::{Begin, Blocks, Caller};
pub use raise::Notice;

use crate::bind::BoundTable;
use crate::error::{Failure, Result, plain};
use crate::frame::Frame;
use crate::memory::Reservation;
use crate::program::{Conversion, Expression, Into, Program, Step, Target};
use crate::rows::Rows;
use crate::run::{ALL, Run, add_waiting};
use crate::scope::{NOTHING, Source, View};
use fabric::Env;
use loops::Loop;
use sql_value::{Error, Stop, Value};
use txn::Transaction;

/// A running call.
pub(crate) struct Interpreter<'m, 'l, E: Env> {
    pub txn: &'m mut Transaction<'l, E>,
    pub tables: &'m [BoundTable],
    pub program: &'m Program,
    pub frame: &'m mut Frame,
    /// The result of the call.
    pub result: &'m mut Rows,
    /// Rows of the current statement.
    pub rows: &'m mut Rows,
}

impl<E: Env> Interpreter<'_, '_, E> {
    pub async fn run(&mut self) -> Result<()> {
        self.frame.undo = None;
        if self.program.rolls_back && self.frame.may_roll_back {
            self.keep_begin();
        }
        let ended = self.take_all_steps().await;
        if matches!(ended, Err(Failure::Txn(_) | Failure::Again)) {
            // The call is undone. The next one may be of the same transaction.
            self.frame.pending_inserts.clear();
            return ended;
        }
        if self.frame.pending_inserts.keys.is_empty() {
            return ended;
        }
        add_waiting(self.txn, self.tables, self.frame).await?;
        ended
    }

    /// Takes the steps from the first one on; behind an error, from its handlers on.
    async fn take_all_steps(&mut self) -> Result<()> {
        self.frame.callers.clear();
        self.frame.blocks.clear();
        let mut loops: Vec<Loop> = Vec::new();
        loops.resize_with(self.program.loops, || Loop::Idle);
        let mut from = 0;
        loop {
            let ended = self.take_steps(from, &mut loops).await;
            match ended {
                Err(failure) if self.frame.is_protected() => from = self.catch(failure)?,
                ended => {
                    loops.iter().for_each(|one| self.close_loop(one));
                    return ended;
                }
            }
        }
    }

    async fn take_steps(&mut self, from: usize, loops: &mut [Loop]) -> Result<()> {
        let program = self.program;
        let mut at = from;
        while let Some(step) = program.steps.get(at) {
            at += 1;
            self.frame.watch.check(self.txn.env())?;
            match step {
                Step::Assign { target: Target::Variable(variable), value } => {
                    let value = match value {
                        Expression::Formula(formula) => {
                            formula.evaluate(&self.view(&[])).map_err(stopped)?
                        }
                        expression => self.evaluate(expression).await?,
                    };
                    self.store_variable(*variable, value)?;
                }
                Step::Assign { target, value } => {
                    let value = self.evaluate(value).await?;
                    self.store(target, value).await?;
                }
                Step::Declare { variable, value } => {
                    let value = match value {
                        Some(value) => self.evaluate(value).await?,
                        None => Value::Null,
                    };
                    self.store_variable(*variable, value)?;
                }
                Step::Statement {
                    number,
                    into: Some(Into { is_strict, direct: Some(to), .. }),
                } => {
                    self.fetch(*number, *is_strict, to).await?;
                }
                Step::Statement { number, into } => {
                    let wanted = self.wanted(*number, into.as_ref());
                    self.execute(*number, wanted).await?;
                    self.take_rows(*number, into.as_ref())?;
                }
                Step::Jump(label) => at = program.labels[*label],
                Step::Unless(condition, label) => {
                    let holds = match condition {
                        Expression::Formula(formula) => formula.condition(&self.view(&[])),
                        expression => Ok(self.evaluate(expression).await? == Value::Bool(true)),
                    };
                    if !holds.map_err(stopped)? {
                        at = program.labels[*label];
                    }
                }
                Step::Start { place, over } => loops[*place] = self.start(over).await?,
                Step::Next { .. } | Step::NextRow { .. } => {
                    if let Some(end) = self.step_of_loop(step, loops)? {
                        at = program.labels[end];
                    }
                }
                Step::End(place) => self.end(&mut loops[*place]),
                Step::Return(value) => return self.give_back(value.as_ref()).await,
                Step::ReturnNext(None) => self.add_outputs(),
                Step::Enter => self.enter(),
                Step::Leave => self.leave(),
                Step::Catch { .. } | Step::EndHandler => {
                    if let Some(label) = self.step_of_handlers(step)? {
                        at = program.labels[label];
                    }
                }
                Step::ReadAhead => self.read_ahead().await?,
                rare => Box::pin(self.rare_step(rare)).await?,
            }
        }
        Ok(())
    }

    /// Executes a statement that reads its row directly into variables.
    #[inline]
    async fn fetch(
        &mut self,
        number: usize,
        is_strict: bool,
        targets: &[(usize, usize)],
    ) -> Result<()> {
        let statement = &self.program.statements[number];
        let Self { txn, tables, frame, .. } = self;
        let processed = frame.processed;
        let is_there = Run { txn, tables, frame, statement }.keyed_into(targets).await;
        let is_there = is_there.inspect_err(|_| self.frame.processed = processed)?;
        self.set_found(is_there);
        if is_strict && !is_there {
            return Err(no_row());
        }
        Ok(())
    }

    /// Executes a step that runs once per call, or for which a heap-allocated future matters
    /// little.
    async fn rare_step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::ReturnNext(Some(value)) => {
                let value = self.evaluate(value).await?;
                self.add_value(value);
            }
            Step::ReturnQuery { number, conversions } => {
                self.add_rows(*number, conversions, ALL).await?;
                self.set_found(self.frame.processed > 0);
            }
            Step::Deliver { number, conversions } => self.deliver(*number, conversions).await?,
            Step::Execute(dynamic, into) => self.execute_text(dynamic, into.as_ref()).await?,
            Step::Cursor(step) => self.cursor_step(step).await?,
            Step::Collect { number, into, arrays } => self.collect(*number, into, arrays).await?,
            Step::ReturnText(dynamic, types) => self.return_text(dynamic, types).await?,
            Step::Raise(raise) => self.raise(raise).await?,
            Step::Protect { handlers, .. } => self.protect(*handlers).await?,
            Step::Unprotect => self.unprotect().await?,
            Step::Diagnose(parts) => self.diagnose(parts).await?,
            Step::RollBack => self.roll_back()?,
            Step::RaiseAgain => return Err(self.raise_again()),
            Step::Uncaught => return Err(self.uncaught()),
            Step::RowCount(targets) => self.row_count(targets).await?,
            Step::NoCase => return Err(no_case()),
            Step::NoReturn => {
                let message = "control reached end of function without RETURN";
                return Err(plain("2F005", message));
            }
            _ => unreachable!("`take_steps` executes all other steps"),
        }
        Ok(())
    }

    #[inline]
    async fn evaluate(&mut self, expression: &Expression) -> Result<Value> {
        match expression {
            Expression::Formula(formula) => formula.evaluate(&self.view(&[])).map_err(stopped),
            // Boxed: expressions are evaluated often, and the future of this function should stay
            // small.
            Expression::Statement(number) => Box::pin(self.evaluate_statement(*number)).await,
        }
    }

    async fn evaluate_statement(&mut self, number: usize) -> Result<Value> {
        self.execute(number, 1).await?;
        let row = if self.rows.is_empty() { &[] } else { self.rows.row(0) };
        Ok(row.first().cloned().unwrap_or(Value::Null))
    }

    /// Returns the scope of expressions over a row, or over none.
    #[inline]
    pub(crate) fn view<'v>(&'v self, row: &'v [Value]) -> View<'v, E> {
        View {
            frame: self.frame,
            env: self.txn.env(),
            sources: [Source::Values(row), NOTHING],
            outer: None,
            element: &Value::Null,
        }
    }

    /// Executes a statement; its rows are then in `rows`.
    #[inline]
    async fn execute(&mut self, number: usize, wanted: usize) -> Result<()> {
        let statement = &self.program.statements[number];
        let Self { txn, tables, frame, rows, .. } = self;
        let processed = frame.processed;
        let ended = Run { txn, tables, frame, statement }.statement(wanted, rows).await;
        // A statement with an error does not count.
        ended.inspect_err(|_| self.frame.processed = processed)
    }

    /// As [`Self::execute`], for all rows, which the routine keeps: they count as those of a node
    /// with this name. Returns the number of rows that are counted so far.
    async fn execute_held(
        &mut self,
        number: usize,
        memory: &mut Reservation,
        node: &str,
    ) -> Result<()> {
        let statement = &self.program.statements[number];
        let Self { txn, tables, frame, rows, .. } = self;
        let processed = frame.processed;
        let ended = Run { txn, tables, frame, statement }.held_statement(rows, memory, node).await;
        ended.inspect_err(|_| self.frame.processed = processed)
    }

    /// Returns how many rows of a statement are needed.
    #[inline]
    fn wanted(&self, number: usize, into: Option<&Into>) -> usize {
        match into {
            // A statement that changes rows changes all of them, however many are needed.
            Some(into) if !self.program.statements[number].writes => {
                1 + usize::from(into.is_strict)
            }
            _ => ALL,
        }
    }

    /// Assigns the row of an executed statement, and sets `FOUND`.
    #[inline]
    fn take_rows(&mut self, number: usize, into: Option<&Into>) -> Result<()> {
        let writes = self.program.statements[number].writes;
        let Some(into) = into else {
            self.set_found(self.frame.processed > 0);
            return Ok(());
        };
        let count = self.rows.len();
        if into.is_strict && count == 0 {
            self.set_found(false);
            return Err(no_row());
        }
        if (into.is_strict || writes) && count > 1 {
            self.set_found(true);
            let error = Error::new("P0003", "query returned more than one row");
            let hint = "Make sure the query returns a single row, or use LIMIT 1.";
            return Err(error.hint(hint).into());
        }
        if !writes {
            self.frame.processed = u64::from(count > 0);
        }
        let mut rows = std::mem::take(self.rows);
        let stored = match count {
            0 => self.store_nothing(into),
            _ => self.store_row(into, rows.row_mut(0)),
        };
        *self.rows = rows;
        stored?;
        self.set_found(count > 0);
        Ok(())
    }

    #[inline]
    fn set_found(&mut self, found: bool) {
        if let Some(variable) = self.program.found {
            match &mut self.frame.variables[variable] {
                Value::Bool(known) => *known = found,
                other => *other = Value::Bool(found),
            }
        }
    }

    /// Begins the body of a called routine.
    fn enter(&mut self) {
        let found = self.program.found.map(|found| self.frame.variables[found].clone());
        let found = found == Some(Value::Bool(true));
        let frame = &mut *self.frame;
        let (processed, base) = (frame.processed, frame.blocks.base);
        frame.callers.push(Caller { found, processed, base });
        (frame.processed, frame.blocks.base) = (0, frame.blocks.depth());
        self.set_found(false);
    }

    /// Continues with the routine that has called.
    fn leave(&mut self) {
        if let Some(Caller { found, processed, base }) = self.frame.callers.pop() {
            self.set_found(found);
            (self.frame.processed, self.frame.blocks.base) = (processed, base);
        }
    }

    async fn row_count(&mut self, targets: &[(Target, Conversion)]) -> Result<()> {
        let count = Value::Int(self.frame.processed as i64);
        for (target, conversion) in targets {
            let value = match conversion {
                Conversion::Same(_) => count.clone(),
                Conversion::Formula(formula) | Conversion::Record(formula, _) => {
                    formula.evaluate(&self.view(std::slice::from_ref(&count))).map_err(stopped)?
                }
            };
            self.store(target, value).await?;
        }
        Ok(())
    }
}

#[cold]
fn no_row() -> Failure {
    plain("P0002", "query returned no rows")
}

#[cold]
fn no_case() -> Failure {
    Error::new("20000", "case not found").hint("CASE statement is missing ELSE part.").into()
}

#[cold]
fn stopped(stop: Stop) -> Failure {
    match stop {
        Stop::Error(error) => error.into(),
        Stop::Needs(_) => Error::internal("an unexpected sub plan").into(),
    }
}
