//! Calls of procedures.

use crate::argument;
use crate::attempts::{Attempts, Retries};
use crate::bind::{BoundTable, bind};
use crate::compile::compile;
use crate::control::{Interpreter, Notice};
use crate::error::{CallError, Failure, OpenError};
use crate::frame::Frame;
use crate::program::Program;
use crate::rows::Rows;
use crate::run::draw_hidden_key;
use crate::scope::microseconds;
use fabric::Env;
use procedure::node::{Operator, Workload};
use sql::procedure::{ParameterMode, Returns};
use sql::{Field, SqlType};
use sql_value::{Error, Value};
use std::collections::BTreeMap;
use txn::{Abort, Database, Isolation, Lane};

/// How procedures are executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Isolation level of the calls. Procedures that change tables with foreign keys, or tables
    /// that foreign keys reference, are always serializable.
    pub isolation: Isolation,
    /// Reading of the environment's clock at 2000-01-01 UTC, in microseconds; `now()` needs it.
    pub epoch_us: i64,
}

impl Default for Settings {
    /// Snapshot isolation, and a clock that starts at 2000-01-01.
    fn default() -> Self {
        Self { isolation: Isolation::Snapshot, epoch_us: 0 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ProcedureId(usize);

/// The result of a call.
#[derive(Default, Debug)]
pub struct Outcome {
    /// The rows: one row of one column if the procedure returns a value, no rows if it returns
    /// nothing.
    pub rows: Rows,
    /// The messages raised, except exceptions.
    pub notices: Vec<Notice>,
    pub retries: u32,
}

/// The procedures of a workload, bound to the tables of a database; calls run one after another.
pub struct Procedures {
    tables: Vec<BoundTable>,
    programs: Vec<Program>,
    names: BTreeMap<String, ProcedureId>,
    settings: Settings,
    retries: Retries,
    frame: Frame,
    rows: Rows,
    outcome: Outcome,
    aborts: Vec<Abort>,
}

impl Procedures {
    /// Compiles the procedures of a workload for a database, which must have its tables.
    ///
    /// # Errors
    ///
    /// A table or index is missing, or its physical design does not support a statement.
    pub fn open<E: Env>(
        database: &Database<E>,
        workload: &Workload,
        settings: Settings,
    ) -> Result<Self, OpenError> {
        let mut tables = bind(database, &workload.catalog)?;
        let mut programs = Vec::with_capacity(workload.procedures.len());
        for procedure in &workload.procedures {
            let (program, whole) = compile(procedure, &tables)?;
            whole.into_iter().for_each(|table| tables[table].is_read_whole = true);
            programs.push(program);
        }
        for (program, procedure) in programs.iter_mut().zip(&workload.procedures) {
            program.is_guarded = changes_references(procedure, &tables);
        }
        let names = programs.iter().enumerate();
        let names = names.map(|(at, program)| (program.name.clone(), ProcedureId(at))).collect();
        let frame = Frame {
            hidden_key: draw_hidden_key(database.env()),
            clock_us: -settings.epoch_us,
            ..Frame::default()
        };
        let (rows, outcome) = (Rows::default(), Outcome::default());
        let aborts = Vec::new();
        let retries = Retries::default();
        Ok(Self { tables, programs, names, settings, retries, frame, rows, outcome, aborts })
    }

    pub fn find(&self, name: &str) -> Option<ProcedureId> {
        self.names.get(name).copied()
    }

    /// Returns the columns of a procedure's result.
    pub fn fields(&self, procedure: ProcedureId) -> Vec<Field> {
        let program = &self.programs[procedure.0];
        match &program.returns {
            Returns::Nothing => Vec::new(),
            Returns::Value(sql_type) => {
                vec![Field { name: program.name.clone(), sql_type: sql_type.clone() }]
            }
            Returns::Row(fields) | Returns::Rows(fields) => fields.clone(),
        }
    }

    /// Returns the types of a procedure's input parameters.
    pub fn inputs(&self, procedure: ProcedureId) -> impl Iterator<Item = &SqlType> {
        let program = &self.programs[procedure.0];
        let inputs = program.parameters.iter().filter(|p| p.mode != ParameterMode::Out);
        inputs.map(|parameter| &program.variables[parameter.variable].sql_type)
    }

    /// The outcome of the last call. Its rows are valid only if the call committed, its retries
    /// always.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The abort reasons of the last call's attempts.
    pub fn aborts(&self) -> &[Abort] {
        &self.aborts
    }

    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Returns the isolation level of a procedure's calls: that of the settings, or serializable if
    /// it changes a table with foreign keys or a table that foreign keys reference.
    pub fn isolation(&self, procedure: ProcedureId) -> Isolation {
        isolation(&self.programs[procedure.0], self.settings)
    }

    /// Returns the bounds of retries.
    pub fn retries(&self) -> Retries {
        self.retries
    }

    /// Sets the bounds of retries of further calls.
    pub fn set_retries(&mut self, retries: Retries) {
        self.retries = retries;
    }

    /// Returns the current time in microseconds since 2000-01-01 UTC.
    pub fn now_us<E: Env>(&self, env: &E) -> i64 {
        microseconds(env) - self.settings.epoch_us
    }

    /// Hints that this call will come after the next one: prefetches the rows whose keys follow
    /// from its arguments, if memory is reached through the processor's caches.
    pub fn prefetch<E: Env>(&self, lane: &Lane<E>, procedure: ProcedureId, arguments: &[Value]) {
        self.programs[procedure.0].prefetch(&self.tables, lane, arguments);
    }

    /// Executes a procedure as one transaction, and retries it after conflicts.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. Unless the error is [`CallError::Unknown`], nothing has taken effect.
    pub async fn call<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        procedure: ProcedureId,
        arguments: &[Value],
    ) -> Result<&Outcome, CallError> {
        let mut attempts = Attempts::new(lane.env(), self.retries);
        self.aborts.clear();
        self.outcome.retries = 0;
        loop {
            let reason = match self.attempt(lane, procedure, arguments).await {
                Ok(txn::Outcome::Committed) => return Ok(&self.outcome),
                Ok(txn::Outcome::Unknown) => return Err(CallError::Unknown),
                Ok(txn::Outcome::Aborted(reason)) => reason,
                Err(Failure::Sql(error)) => return Err(CallError::Sql(error)),
                Err(Failure::Again) => return Err(CallError::Aborted(Abort::Contended)),
                Err(Failure::Txn(error)) => match error.abort() {
                    Some(reason) => reason,
                    None => return Err(CallError::Engine(*error)),
                },
            };
            self.aborts.push(reason);
            if !attempts.again(lane.env(), reason).await {
                return Err(given_up(lane, reason));
            }
            self.outcome.retries = attempts.retries;
        }
    }

    async fn attempt<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        procedure: ProcedureId,
        arguments: &[Value],
    ) -> Result<txn::Outcome, Failure> {
        let Self { tables, programs, settings, frame, rows, outcome, .. } = self;
        let program = &programs[procedure.0];
        outcome.rows.reset(program.width);
        outcome.notices.clear();
        let now_us = microseconds(lane.env()) - settings.epoch_us;
        frame.begin(program.variables.len(), now_us);
        argument::assign(program, arguments, now_us, &mut frame.variables)?;
        if let Some(found) = program.found {
            frame.variables[found] = Value::Bool(false);
        }
        if program.is_strict && arguments.iter().any(Value::is_null) {
            if !matches!(program.returns, Returns::Rows(_) | Returns::Nothing) {
                outcome.rows.push_row(&vec![Value::Null; program.width], None);
            }
            return Ok(txn::Outcome::Committed);
        }
        let isolation = isolation(program, *settings);
        frame.only_looks = !program.writes && isolation == Isolation::Snapshot;
        let begun = lane.begin(isolation).await;
        let mut txn = begun.map_err(|abort| Failure::from(txn::TxnError::from(abort)))?;
        let result = &mut outcome.rows;
        frame.notices.clear();
        let mut machine = Interpreter { txn: &mut txn, tables, program, frame, result, rows };
        let ran = machine.run().await;
        outcome.notices.append(&mut frame.notices);
        match ran {
            Ok(()) => Ok(txn.commit().await),
            Err(failure) => {
                txn.abort().await;
                Err(failure)
            }
        }
    }
}

fn isolation(program: &Program, settings: Settings) -> Isolation {
    if program.is_guarded { Isolation::Serializable } else { settings.isolation }
}

/// Whether a procedure changes a table with foreign keys, or one that foreign keys reference.
pub(crate) fn changes_references(procedure: &procedure::Procedure, tables: &[BoundTable]) -> bool {
    let mut found = false;
    for statement in &procedure.statements {
        let plans = statement.sub_plans.iter().map(|plan| &plan.root);
        for root in plans.chain([&statement.root]) {
            root.walk(&mut |node| {
                let changed = match &node.operator {
                    Operator::Insert(insert) => &tables[insert.table],
                    Operator::Update(update) => &tables[update.table],
                    Operator::Delete(delete) => &tables[delete.table],
                    _ => return,
                };
                found |= !changed.references.is_empty() || !changed.referrers.is_empty();
            });
        }
    }
    found
}

/// Returns the error of a call that is not retried again.
fn given_up<E: Env>(lane: &Lane<E>, reason: Abort) -> CallError {
    match lane.last_unique_violation().filter(|_| reason == Abort::UniqueViolation) {
        Some(violation) => {
            let index = &violation.index;
            let message = format!("duplicate key value violates unique constraint \"{index}\"");
            CallError::Sql(Error::new("23505", message))
        }
        None => CallError::Aborted(reason),
    }
}
