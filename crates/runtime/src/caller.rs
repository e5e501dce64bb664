//! Calls of a workload's procedures by name: by generated code where there is some, and by the executor of plans where that
//! deviates.

use crate::argument::Argument;
use crate::bind::BindError;
use crate::call::{Call, Scratch};
use crate::results::Results;
use crate::stop::{Raised, Stop};
use execute::{Attempts, CallError, Procedures, Retries, Settings};
use fabric::Env;
use procedure::node::Workload;
use sql::{Field, SqlType};
use txn::{Abort, Database, Isolation, Lane, Outcome, TxnError};
use value::output::text;
use value::{Decimal, Error, Value};

/// The generated code of a workload, bound to the tables of a database.
#[allow(async_fn_in_trait, reason = "lanes stay with their threads, and so do futures over them")]
pub trait Generated: Copy {
    /// The name of the workload that the code was generated for.
    const WORKLOAD: &'static str;
    /// The procedures that there is code for.
    const PROCEDURES: &'static [&'static str];
    /// Of the workload that the code was generated for, see [`Workload::fingerprint`].
    const FINGERPRINT: u32;

    /// Finds the tables.
    ///
    /// # Errors
    ///
    /// A table is missing, or is not as it was when the code was generated.
    fn find<E: Env>(database: &Database<E>) -> Result<Self, BindError>;

    /// Carries out the procedure with this position in [`Generated::PROCEDURES`].
    ///
    /// # Errors
    ///
    /// Why it ended early.
    async fn run<E: Env>(
        self,
        call: &mut Call<'_, '_, E>,
        procedure: usize,
        arguments: &[Argument<'_>],
    ) -> Result<(), Stop>;

    /// Asks for what a call of the procedure will look for first.
    ///
    /// # Errors
    ///
    /// The code takes no such arguments; whoever makes the call is told so, too.
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

/// No generated code: the executor carries out all calls.
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

/// Why procedures cannot be called on a database.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Generated code does not fit.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The executor does not find what it needs.
    #[error(transparent)]
    Execute(#[from] execute::OpenError),
    /// Its procedures, tables or plans have changed since.
    #[error(
        "the code was generated for other procedures, tables or plans than these; generate it again with \
         `namdb spade generate` and build what links it, or leave all calls to the executor of plans"
    )]
    OtherWorkload,
}

/// A procedure of a [`Caller`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcedureId {
    plans: execute::ProcedureId,
    generated: Option<usize>,
    /// How its calls are kept apart, see [`Procedures::isolation`].
    isolation: Isolation,
}

/// How calls went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Calls that generated code carried out.
    pub generated: u64,
    /// Calls that it left to the executor, which began anew.
    pub deviated: u64,
    /// Calls of procedures that there is no code for.
    pub executed: u64,
    /// Attempts beyond the first of each call.
    pub retries: u64,
}

/// Calls one after another. A lane's thread has one of its own.
pub struct Caller<G> {
    generated: G,
    plans: Procedures,
    scratch: Scratch,
    results: Results,
    counts: Counts,
    aborts: Vec<Abort>,
}

impl Caller<NoCode> {
    /// Makes the procedures of a workload that there is no generated code for ready for a database, which has its tables.
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

/// How an attempt of generated code ended without committing.
enum Ended {
    /// Others were faster.
    Aborted(Abort),
    /// The executor takes over.
    Deviates,
    /// For good.
    Failed(Box<CallError>),
}

impl<G: Generated> Caller<G> {
    /// Makes the procedures of a workload ready for a database, which has its tables.
    ///
    /// # Errors
    ///
    /// A table or index is missing, or is not as it was when the code was generated.
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

    /// Sets how often and how long calls are tried again from now on.
    pub fn set_retries(&mut self, retries: Retries) {
        self.plans.set_retries(retries);
    }

    /// The procedure called `name`.
    pub fn find(&self, name: &str) -> Option<ProcedureId> {
        let generated = G::PROCEDURES.iter().position(|known| *known == name);
        let plans = self.plans.find(name)?;
        Some(ProcedureId { plans, generated, isolation: self.plans.isolation(plans) })
    }

    /// The columns of the rows that a procedure gives.
    pub fn fields(&self, procedure: ProcedureId) -> Vec<Field> {
        self.plans.fields(procedure.plans)
    }

    /// Why attempts of the last call were aborted.
    pub fn aborts(&self) -> &[Abort] {
        &self.aborts
    }

    /// The rows of the last call, if it has committed; else they mean nothing.
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// How calls went so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// A hint that the lane's next call will be this one, while another is still to be made: where memory is reached through
    /// the processor's caches, the rows that its arguments name are on their way then.
    #[inline]
    pub fn prefetch<E: Env>(
        &self,
        lane: &Lane<E>,
        procedure: ProcedureId,
        arguments: &[Argument<'_>],
    ) {
        if let Some(generated) = procedure.generated {
            // What does not fit is told of where the call is made.
            let _ = self.generated.prefetch(lane, generated, arguments);
        }
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
        arguments: &[Argument<'_>],
    ) -> Result<&Results, CallError> {
        match self.make(lane, procedure, arguments).await {
            Ok(()) => Ok(&self.results),
            Err(error) => Err(*error),
        }
    }

    /// As [`Caller::call`]; the rows are [`Caller::results`]. The error is boxed, so that how a call has ended travels in registers:
    /// pieces of a larger result that are moved on while they are being written cost a call of one row a twelfth of its time.
    ///
    /// # Errors
    ///
    /// As there.
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

    /// As [`Caller::make`], by the executor.
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn make_by_plans<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        procedure: ProcedureId,
        arguments: &[Value],
    ) -> Result<(), Box<CallError>> {
        self.counts.executed += 1;
        self.answer(lane, procedure, arguments).await
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
            // The executor finds the row that is in the way, and tells of it in PostgreSQL's words.
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
        self.answer(lane, procedure, &values).await
    }

    async fn answer<E: Env>(
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

/// An argument as a value of a parameter's type.
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
        SqlType::Timestamp | SqlType::TimestampTz => Value::Timestamp(number),
        _ => Value::Int(number),
    }
}

/// A value of the executor behind the others. What results have no kind of is written as text.
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
