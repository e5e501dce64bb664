//! Calls a workload's procedures by name: with generated code if a procedure has any, and with the
//! executor of plans if the generated code deviates.
//!
//! Decision: docs/decisions/0258-results-travel-in-registers-and-values-are-built-where-they.md

use crate::argument::Argument;
use crate::bind::BindError;
use crate::call::{Call, Scratch};
use crate::results::Results;
use crate::stop::{Raised, Stop};
use fabric::Env;
use interpreter::{Attempts, CallError, Procedures, Retries, Settings};
use procedure::node::Workload;
use sql::{Field, SqlType};
use sql_value::output::text;
use sql_value::{Decimal, Error, Value};
use txn::{Abort, Database, Isolation, Lane, Outcome, TxnError};

/// The generated code of a workload, bound to the tables of a database.
#[allow(async_fn_in_trait, reason = "lanes stay with their threads, and so do futures over them")]
pub trait Generated: Copy {
    /// The name of the workload for which the code was generated.
    const WORKLOAD: &'static str;
    /// The procedures for which code was generated.
    const PROCEDURES: &'static [&'static str];
    /// Fingerprint of the workload for which the code was generated, see [`Workload::fingerprint`].
    const FINGERPRINT: u32;

    /// Finds the tables.
    ///
    /// # Errors
    ///
    /// A table is missing, or has changed since the code was generated.
    fn find<E: Env>(database: &Database<E>) -> Result<Self, BindError>;

    /// Executes the procedure at this position in [`Generated::PROCEDURES`].
    ///
    /// # Errors
    ///
    /// Why it stopped.
    async fn run<E: Env>(
        self,
        call: &mut Call<'_, '_, E>,
        procedure: usize,
        arguments: &[Argument<'_>],
    ) -> Result<(), Stop>;

    /// Prefetches the rows that a call of the procedure reads first.
    ///
    /// # Errors
    ///
    /// The arguments have wrong types; the call itself reports it, too.
    #[inline]
    fn prefetch<E: Env>(
        &self,
        _lane: &Lane<E>,
        _procedure: usize,
        _arguments: &[Argument<'_>],
    ) -> Result<(), Stop> {
        Ok(())
    }
}

/// No generated code: the executor executes all calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoCode;

impl Generated for NoCode {
    const WORKLOAD: &'static str = "";
    const PROCEDURES: &'static [&'static str] = &[];
    const FINGERPRINT: u32 = 0;

    fn find<E: Env>(_database: &Database<E>) -> Result<Self, BindError> {
        Ok(Self)
    }

    async fn run<E: Env>(
        self,
        _call: &mut Call<'_, '_, E>,
        _procedure: usize,
        _arguments: &[Argument<'_>],
    ) -> Result<(), Stop> {
        Err(Stop::Deviates)
    }
}

/// Why a workload cannot be opened on a database.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The generated code does not fit the database.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The executor does not find a table or index.
    #[error(transparent)]
    Execute(#[from] interpreter::OpenError),
    /// The workload's procedures, tables or plans have changed since the code was generated.
    #[error(
        "the code was generated for other procedures, tables or plans than these; generate it again with \
         `namdb spade generate` and build what links it, or leave all calls to the executor of plans"
    )]
    OtherWorkload,
}

/// A procedure of a [`Caller`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcedureId {
    plans: interpreter::ProcedureId,
    generated: Option<usize>,
    /// Isolation level of its calls, see [`Procedures::isolation`].
    isolation: Isolation,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Calls executed by generated code.
    pub generated: u64,
    /// Calls in which generated code deviated, so that the executor started them again.
    pub deviated: u64,
    /// Calls of procedures without generated code.
    pub executed: u64,
    /// Retries, summed over all calls.
    pub retries: u64,
}

/// Executes calls one after another. Each lane's thread has its own caller.
pub struct Caller<G> {
    generated: G,
    plans: Procedures,
    scratch: Scratch,
    results: Results,
    counts: Counts,
    aborts: Vec<Abort>,
}

impl Caller<NoCode> {
    /// Opens a workload without generated code on a database, which must have its tables.
    ///
    /// # Errors
    ///
    /// A table or index is missing.
    pub fn of_plans<E: Env>(
        database: &Database<E>,
        workload: &Workload,
        settings: Settings,
    ) -> Result<Self, OpenError> {
        Ok(Self::new(NoCode, Procedures::open(database, workload, settings)?))
    }
}

/// Why generated code did not commit an attempt.
enum Ended {
    /// The transaction aborted, and may be retried.
    Aborted(Abort),
    /// The executor takes over.
    Deviates,
    /// The call failed for good.
    Failed(Box<CallError>),
}

impl<G: Generated> Caller<G> {
    /// Opens a workload on a database, which must have its tables.
    ///
    /// # Errors
    ///
    /// A table or index is missing, or has changed since the code was generated.
    pub fn open<E: Env>(
        database: &Database<E>,
        workload: &Workload,
        settings: Settings,
    ) -> Result<Self, OpenError> {
        if workload.fingerprint() != G::FINGERPRINT {
            return Err(OpenError::OtherWorkload);
        }
        Ok(Self::new(G::find(database)?, Procedures::open(database, workload, settings)?))
    }

    fn new(generated: G, plans: Procedures) -> Self {
        let (scratch, results, counts, aborts) = Default::default();
        Self { generated, plans, scratch, results, counts, aborts }
    }

    /// Sets the bounds of retries of further calls.
    pub fn set_retries(&mut self, retries: Retries) {
        self.plans.set_retries(retries);
    }

    pub fn find(&self, name: &str) -> Option<ProcedureId> {
        let generated = G::PROCEDURES.iter().position(|known| *known == name);
        let plans = self.plans.find(name)?;
        Some(ProcedureId { plans, generated, isolation: self.plans.isolation(plans) })
    }

    /// Returns the columns of a procedure's result.
    pub fn fields(&self, procedure: ProcedureId) -> Vec<Field> {
        self.plans.fields(procedure.plans)
    }

    /// The abort reasons of the last call's failed attempts.
    pub fn aborts(&self) -> &[Abort] {
        &self.aborts
    }

    /// The rows of the last call; meaningless unless it has committed.
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// Returns the counts of all calls so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Hints that this call will come after the next one: prefetches the rows whose keys follow
    /// from its arguments, if memory is reached through the processor's caches.
    #[inline]
    pub fn prefetch<E: Env>(
        &self,
        lane: &Lane<E>,
        procedure: ProcedureId,
        arguments: &[Argument<'_>],
    ) {
        if let Some(generated) = procedure.generated {
            // The call itself reports wrong arguments.
            let _ = self.generated.prefetch(lane, generated, arguments);
        }
    }

    /// As [`Caller::prefetch`], for a call that the executor will execute.
    pub fn prefetch_by_plans<E: Env>(
        &self,
        lane: &Lane<E>,
        procedure: ProcedureId,
        arguments: &[Value],
    ) {
        self.plans.prefetch(lane, procedure.plans, arguments);
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
        arguments: &[Argument<'_>],
    ) -> Result<&Results, CallError> {
        match self.make(lane, procedure, arguments).await {
            Ok(()) => Ok(&self.results),
            Err(error) => Err(*error),
        }
    }

    /// As [`Caller::call`]; the rows are in [`Caller::results`]. The error is boxed, so that the
    /// result is returned in registers: moving a larger result while it is still being written
    /// costs a call of one row a twelfth of its time.
    ///
    /// # Errors
    ///
    /// Those of [`Caller::call`].
    pub async fn make<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        procedure: ProcedureId,
        arguments: &[Argument<'_>],
    ) -> Result<(), Box<CallError>> {
        let mut attempts = Attempts::new(lane.env(), self.plans.retries());
        self.aborts.clear();
        let Some(generated) = procedure.generated else {
            self.counts.executed += 1;
            return self.execute(lane, procedure, arguments).await;
        };
        loop {
            match self.attempt(lane, (generated, procedure.isolation), arguments).await {
                Ok(()) => {
                    self.counts.generated += 1;
                    return Ok(());
                }
                Err(Ended::Deviates) => {
                    self.counts.deviated += 1;
                    return self.execute(lane, procedure, arguments).await;
                }
                Err(Ended::Failed(error)) => {
                    self.counts.generated += 1;
                    return Err(error);
                }
                Err(Ended::Aborted(reason)) => {
                    self.aborts.push(reason);
                    if !attempts.again(lane.env(), reason).await {
                        return Err(Box::new(CallError::Aborted(reason)));
                    }
                    self.counts.retries += 1;
                }
            }
        }
    }

    /// As [`Caller::make`], always with the executor.
    ///
    /// # Errors
    ///
    /// Those of [`Caller::make`].
    pub async fn make_by_plans<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        procedure: ProcedureId,
        arguments: &[Value],
    ) -> Result<(), Box<CallError>> {
        self.aborts.clear();
        self.counts.executed += 1;
        self.execute_by_plans(lane, procedure, arguments).await
    }

    async fn attempt<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        (procedure, isolation): (usize, Isolation),
        arguments: &[Argument<'_>],
    ) -> Result<(), Ended> {
        let Self { generated, plans, scratch, results, .. } = self;
        results.clear();
        let Settings { epoch_us, .. } = plans.settings();
        let begun = lane.begin(isolation).await;
        let mut txn = begun.map_err(Ended::Aborted)?;
        let mut call = Call::new(&mut txn, scratch, results, epoch_us);
        if let Err(stop) = generated.run(&mut call, procedure, arguments).await {
            txn.abort().await;
            return Err(ended(stop));
        }
        match txn.commit().await {
            Outcome::Committed => Ok(()),
            // The executor finds the conflicting row and reports it as PostgreSQL does.
            Outcome::Aborted(Abort::UniqueViolation) => Err(Ended::Deviates),
            Outcome::Aborted(reason) => Err(Ended::Aborted(reason)),
            Outcome::Unknown => Err(Ended::Failed(Box::new(CallError::Unknown))),
        }
    }

    async fn execute<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        procedure: ProcedureId,
        arguments: &[Argument<'_>],
    ) -> Result<(), Box<CallError>> {
        let values: Vec<Value> = self
            .plans
            .inputs(procedure.plans)
            .zip(arguments)
            .map(|(of, argument)| value(argument, of))
            .collect();
        self.execute_by_plans(lane, procedure, &values).await
    }

    async fn execute_by_plans<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        procedure: ProcedureId,
        arguments: &[Value],
    ) -> Result<(), Box<CallError>> {
        let Self { plans, results, counts, aborts, .. } = self;
        let fields = plans.fields(procedure.plans);
        let called = plans.call(lane, procedure.plans, arguments).await.map(|_| ());
        // A call that commits in the end was aborted before as well.
        aborts.extend(plans.aborts());
        counts.retries += u64::from(plans.outcome().retries);
        called.map_err(Box::new)?;
        results.clear();
        for row in plans.outcome().rows.iter() {
            results.row();
            for (value, field) in row.iter().zip(&fields) {
                put(results, value, &field.sql_type);
            }
        }
        Ok(())
    }
}

fn ended(stop: Stop) -> Ended {
    let error = match stop {
        Stop::Deviates => return Ended::Deviates,
        Stop::Engine(error) => match *error {
            TxnError::Abort(reason) => return Ended::Aborted(reason),
            error => CallError::Engine(error),
        },
        Stop::Raised(raised) => {
            let Raised { sqlstate, message, detail } = *raised;
            let mut error = Error::new(sqlstate, message);
            error.detail = detail;
            CallError::Sql(error)
        }
    };
    Ended::Failed(Box::new(error))
}

/// Converts an argument to a value of a parameter's type.
fn value(argument: &Argument<'_>, of: &SqlType) -> Value {
    let element = match of {
        SqlType::Array(element) => element,
        other => other,
    };
    match *argument {
        Argument::Null => Value::Null,
        Argument::Int(number) => whole(number, of),
        Argument::Decimal(units, scale) => Value::Numeric(Decimal { units: units.into(), scale }),
        Argument::Bool(flag) => Value::Bool(flag),
        Argument::Float(number) => Value::Float(number),
        Argument::Text(text) => Value::text(&String::from_utf8_lossy(text)),
        Argument::Ints(numbers) => {
            Value::Array(numbers.iter().map(|&number| whole(number, element)).collect())
        }
        Argument::Bools(flags) => {
            Value::Array(flags.iter().map(|&flag| Value::Bool(flag)).collect())
        }
        Argument::Texts(texts) => Value::Array(
            texts.iter().map(|text| Value::text(&String::from_utf8_lossy(text))).collect(),
        ),
    }
}

fn whole(number: i64, of: &SqlType) -> Value {
    match of {
        SqlType::Date => i32::try_from(number).map_or(Value::Int(number), Value::Date),
        SqlType::Timestamp(_) | SqlType::TimestampTz(_) => Value::Timestamp(number),
        _ => Value::Int(number),
    }
}

/// Appends a value from the executor. Types that results do not have are written as text.
fn put(results: &mut Results, value: &Value, of: &SqlType) {
    match value {
        Value::Null => results.null(),
        Value::Bool(flag) => results.int(i64::from(*flag)),
        Value::Int(number) | Value::Timestamp(number) => results.int(*number),
        Value::Date(days) => results.int(i64::from(*days)),
        Value::Numeric(decimal) => match i64::try_from(decimal.units) {
            Ok(units) => results.decimal(units, decimal.scale),
            Err(_) => results.text(text(value, of).as_bytes()),
        },
        Value::Float(number) => results.float(*number),
        Value::Text(text) => results.text(text.as_bytes()),
        other => results.text(text(other, of).as_bytes()),
    }
}
