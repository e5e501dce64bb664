//! Routines that run while a statement runs: each has a frame of its own.
//!
//! Decision: docs/decisions/0373-calls-over-rows-run-in-the-interpreter.md

use super::state::{HeldRows, State};
use super::{NodeContext, Run};
use crate::argument;
use crate::control::Interpreter;
use crate::effects::Effects;
use crate::error::{Failure, Result};
use crate::frame::HeldCallees;
use crate::memory::bytes_from;
use crate::plan::{Node, RoutineCall, Term};
use crate::program::Program;
use crate::rows::Rows;
use crate::single::Callees;
use fabric::Env;
use sql::procedure::Returns;
use sql_value::{Error, Value};
use std::sync::Arc;

/// The stack that a call takes beside the nodes of its statement, in nodes.
const CALL_HEIGHT: usize = 3;

impl<E: Env> Run<'_, '_, E> {
    pub(super) async fn routine(
        &mut self,
        call: &RoutineCall,
        node: &Node,
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        self.forget(node);
        if matches!(state, State::New) {
            let known = self.frame.called.iter().find(|(number, _)| *number == node.number);
            let held = match known.filter(|_| call.is_kept) {
                Some((_, held)) => held.clone(),
                None => {
                    let mut arguments = Vec::with_capacity(call.arguments.len());
                    for argument in &call.arguments {
                        arguments.push(self.free_value(argument, under.outer).await?);
                    }
                    Arc::new(self.rows_of_call(call, &arguments).await?)
                }
            };
            if call.is_kept {
                self.frame.called.push((node.number, held.clone()));
            }
            *state = State::Called(held, 0);
        }
        self.deliver_held((node, call.filter.as_ref()), state, under, rows).await
    }

    /// Delivers rows of [`State::Called`].
    pub(super) async fn deliver_held(
        &mut self,
        filtered: (&Node, Option<&Term>),
        state: &mut State,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<bool> {
        let State::Called(held, at) = state else { return Ok(false) };
        let (most, enough) = under.ends(rows);
        while *at < held.rows.len() && rows.len() < enough {
            let row = held.rows.row(*at);
            *at += 1;
            self.deliver(filtered, [row, &[]], None, under.outer, rows).await?;
        }
        Ok(*at < held.rows.len() && rows.len() < most)
    }

    async fn rows_of_call(&mut self, call: &RoutineCall, arguments: &[Value]) -> Result<HeldRows> {
        self.check_interrupt()?;
        let Some(HeldCallees(callees)) = self.frame.callees.clone() else {
            return Err(Error::internal("a call without routines").into());
        };
        let routine = callees.routine(&call.routine).map_err(Failure::Sql)?;
        let program = &routine.program;
        if self.frame.height + self.statement.height + CALL_HEIGHT > self.frame.height_max {
            return Err(too_deep());
        }
        if routine.effects().writes() {
            if !call.is_volatile {
                return Err(changes_rows(&call.routine));
            }
            self.check_reads(&call.routine, routine.effects(), &*callees)?;
        }
        let mut held = HeldRows::default();
        held.rows.reset(program.width.max(1));
        if program.is_strict && arguments.iter().any(Value::is_null) {
            if !matches!(program.returns, Returns::Rows(_)) {
                held.rows.push_row(&vec![Value::Null; program.width.max(1)], None);
            }
            return Ok(held);
        }
        self.run_routine(program, arguments, &mut held.rows).await?;
        if matches!(program.returns, Returns::Nothing) {
            held.rows.push_row(&[Value::text("")], None);
        }
        let bytes = bytes_from(&held.rows, 0);
        self.frame.memory.reserve(&mut held.memory, bytes, "Function Scan")?;
        Ok(held)
    }

    /// Refuses a call that changes a table which the statement reads: in PostgreSQL the statement
    /// sees the rows from before it.
    fn check_reads(&self, routine: &str, effects: &Effects, callees: &dyn Callees) -> Result<()> {
        let mut read = self.statement.reads.iter().copied().find(|&table| effects.changes(table));
        for stable in &self.statement.stable {
            let others = callees.routine(stable).map_err(Failure::Sql)?.effects();
            read = read.or(others.reads().find(|&table| effects.changes(table)));
        }
        let Some(table) = read else { return Ok(()) };
        let table = &self.tables[table].name;
        let message = format!(
            "a statement that reads the table \"{table}\" and calls \"{routine}\", which changes it, is not supported"
        );
        let hint = "Loop over the rows in a function, and call the other function in the loop.";
        Err(Error::new("0A000", message).hint(hint).into())
    }

    /// Runs a routine in a frame of its own.
    async fn run_routine(
        &mut self,
        program: &Program,
        arguments: &[Value],
        result: &mut Rows,
    ) -> Result<()> {
        let mut frame =
            self.frame.begin_call(self.statement.height + CALL_HEIGHT, program.variables.len());
        let assigned = argument::assign(program, arguments, frame.began_us, &mut frame.variables);
        let ran = match assigned {
            Err(error) => Err(Failure::Sql(error)),
            Ok(()) => {
                if let Some(found) = program.found {
                    frame.variables[found] = Value::Bool(false);
                }
                let (txn, tables) = (&mut *self.txn, self.tables);
                let (frame, rows) = (&mut frame, &mut Rows::default());
                Interpreter { txn, tables, program, frame, result, rows }.run().await
            }
        };
        self.frame.end_call(frame);
        ran
    }
}

#[cold]
fn too_deep() -> Failure {
    let hint = "Functions call each other too deep, perhaps without an end; write a loop.";
    Error::new("54001", "stack depth limit exceeded").hint(hint).into()
}

#[cold]
fn changes_rows(routine: &str) -> Failure {
    let message = "a change of rows is not allowed in a non-volatile function";
    let hint = format!("Declare the function \"{routine}\" VOLATILE.");
    Error::new("0A000", message).hint(hint).into()
}
