//! Calls of procedures.

use crate::argument;
use crate::attempts::{Attempts, Retries};
use crate::bind::{BoundTable, bind};
use crate::compile::compile;
use crate::control::{Machine, Notice};
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
use std::collections::BTreeMap;
use txn::{Abort, Database, Isolation, Lane};
use value::{Error, Value};

/// How procedures are carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How calls are kept apart. Procedures that change tables which refer to others, or are referred to,
    /// are serializable whatever is said here.
    pub isolation: Isolation,
    /// What the world's clock was at 2000-01-01 UTC, in microseconds, so that `now()` says what time it is.
    pub epoch_us: i64,
}

impl Default for Settings {
    /// Snapshots, and a clock that begins in the year 2000.
    fn default() -> Self {
        Self { isolation: Isolation::Snapshot, epoch_us: 0 }
    }
}

/// A procedure of [`Procedures`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ProcedureId(usize);

/// What a call has given back.
#[derive(Default, Debug)]
pub struct Outcome {
    /// The rows; one of one column if the procedure returns a value, and none if it returns nothing.
    pub rows: Rows,
    /// What it has raised, exceptions apart.
    pub notices: Vec<Notice>,
    /// Attempts beyond the first.
    pub retries: u32,
}

/// The procedures of a workload over the tables of a database, for calls one after another.
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
    /// Makes the procedures of a workload ready for a database, which has its tables.
    ///
    /// # Errors
    ///
    /// A table or index is missing, or stored so that a statement cannot go through it.
    pub fn open<E: Env>(
        database: &Database<E>,
        workload: &Workload,
        settings: Settings,
    ) -> Result<Self, OpenError> {
        let mut tables = bind(database, &workload.catalog)?;
        let mut programs = Vec::with_capacity(workload.procedures.len());
        for procedure in &workload.procedures {
            programs.push(compile(procedure, &mut tables)?);
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

    /// The procedure called `name`.
    pub fn find(&self, name: &str) -> Option<ProcedureId> {
        self.names.get(name).copied()
    }

    /// The columns of the rows that a procedure gives back.
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

    /// The types of what a procedure is given.
    pub fn inputs(&self, procedure: ProcedureId) -> impl Iterator<Item = &SqlType> {
        let program = &self.programs[procedure.0];
        let inputs = program.parameters.iter().filter(|p| p.mode != ParameterMode::Out);
        inputs.map(|parameter| &program.variables[parameter.variable].sql_type)
    }

    /// What the last call gave back: its rows count only if it committed, its retries always.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Why attempts of the last call were aborted.
    pub fn aborts(&self) -> &[Abort] {
        &self.aborts
    }

    /// How calls are carried out.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// How calls of a procedure are kept apart: as the settings say, and serializable if it changes a table that refers to another
    /// or is referred to.
    pub fn isolation(&self, procedure: ProcedureId) -> Isolation {
        isolation(&self.programs[procedure.0], self.settings)
    }

    /// How often and how long calls are tried again.
    pub fn retries(&self) -> Retries {
        self.retries
    }

    /// Sets how often and how long calls are tried again from now on.
    pub fn set_retries(&mut self, retries: Retries) {
        self.retries = retries;
    }

    /// What time it is, in microseconds since 2000-01-01 UTC.
    pub fn now_us<E: Env>(&self, env: &E) -> i64 {
        microseconds(env) - self.settings.epoch_us
    }

    /// A hint that this call comes after the next one: the rows that its arguments name are asked for, where memory is
    /// reached through the processor's caches.
    pub fn prefetch<E: Env>(&self, lane: &Lane<E>, procedure: ProcedureId, arguments: &[Value]) {
        self.programs[procedure.0].prefetch(&self.tables, lane, arguments);
    }

    /// Carries out a procedure as one transaction, again and again while it meets others.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. Unless that is [`CallError::Unknown`], nothing has taken effect.
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
        let (answer, notices) = (&mut outcome.rows, &mut outcome.notices);
        let mut machine = Machine { txn: &mut txn, tables, program, frame, answer, notices, rows };
        match machine.run().await {
            Ok(()) => Ok(txn.commit().await),
            Err(failure) => {
                txn.abort().await;
                Err(failure)
            }
        }
    }
}

/// How calls of a procedure are kept apart.
fn isolation(program: &Program, settings: Settings) -> Isolation {
    if program.is_guarded { Isolation::Serializable } else { settings.isolation }
}

/// Whether a procedure changes a table whose rows refer to others, or are referred to.
fn changes_references(procedure: &procedure::Procedure, tables: &[BoundTable]) -> bool {
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

/// What is said of a call that was given up.
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
