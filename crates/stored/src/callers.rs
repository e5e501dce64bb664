//! Procedures by name, with arguments that a program binds.

use crate::code::Shipped;
use execute::{CallError, Retries, Settings};
use fabric::Env;
use procedure::node::Workload;
use runtime::{Argument, Caller, Generated, NoCode, OpenError, ProcedureId, Results};
use txn::{Abort, Database, Lane};

/// The procedures of a workload in the hands of one thread: generated code where the shipped code fits, else the executor of plans.
pub enum Callers {
    /// Generated code.
    SmallBank(Caller<generated::smallbank::Tables>),
    /// Generated code.
    Tatp(Caller<generated::tatp::Tables>),
    /// Generated code.
    Tpcc(Caller<generated::tpcc::Tables>),
    /// Generated code.
    Ycsb(Caller<generated::ycsb::Tables>),
    /// The executor.
    Plans(Caller<NoCode>),
}

impl Callers {
    /// Makes the procedures of the workload called `name` ready for a database, which has its tables. Code that was generated for other
    /// procedures or tables is left aside.
    ///
    /// # Errors
    ///
    /// A table or index is missing.
    pub fn open<E: Env>(
        name: &str,
        database: &Database<E>,
        workload: &Workload,
        settings: Settings,
    ) -> Result<Self, OpenError> {
        let fitting = match Shipped::find(name) {
            Some(Shipped::SmallBank) => fitting(database, workload, settings)?.map(Self::SmallBank),
            Some(Shipped::Tatp) => fitting(database, workload, settings)?.map(Self::Tatp),
            Some(Shipped::Tpcc) => fitting(database, workload, settings)?.map(Self::Tpcc),
            Some(Shipped::Ycsb) => fitting(database, workload, settings)?.map(Self::Ycsb),
            None => None,
        };
        fitting.map_or_else(|| Self::of_plans(database, workload, settings), Ok)
    }

    /// The same by the executor of plans alone.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn of_plans<E: Env>(
        database: &Database<E>,
        workload: &Workload,
        settings: Settings,
    ) -> Result<Self, OpenError> {
        Caller::of_plans(database, workload, settings).map(Self::Plans)
    }

    /// Whether there is generated code.
    pub fn is_generated(&self) -> bool {
        !matches!(self, Self::Plans(_))
    }

    /// The procedure called `name`.
    pub fn find(&self, name: &str) -> Option<ProcedureId> {
        match self {
            Self::SmallBank(caller) => caller.find(name),
            Self::Tatp(caller) => caller.find(name),
            Self::Tpcc(caller) => caller.find(name),
            Self::Ycsb(caller) => caller.find(name),
            Self::Plans(caller) => caller.find(name),
        }
    }

    /// Sets how often and how long calls are tried again from now on.
    pub fn set_retries(&mut self, retries: Retries) {
        match self {
            Self::SmallBank(caller) => caller.set_retries(retries),
            Self::Tatp(caller) => caller.set_retries(retries),
            Self::Tpcc(caller) => caller.set_retries(retries),
            Self::Ycsb(caller) => caller.set_retries(retries),
            Self::Plans(caller) => caller.set_retries(retries),
        }
    }

    /// Why attempts of the last call were aborted.
    pub fn aborts(&self) -> &[Abort] {
        match self {
            Self::SmallBank(caller) => caller.aborts(),
            Self::Tatp(caller) => caller.aborts(),
            Self::Tpcc(caller) => caller.aborts(),
            Self::Ycsb(caller) => caller.aborts(),
            Self::Plans(caller) => caller.aborts(),
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
        match self {
            Self::SmallBank(caller) => caller.call(lane, procedure, arguments).await,
            Self::Tatp(caller) => caller.call(lane, procedure, arguments).await,
            Self::Tpcc(caller) => caller.call(lane, procedure, arguments).await,
            Self::Ycsb(caller) => caller.call(lane, procedure, arguments).await,
            Self::Plans(caller) => caller.call(lane, procedure, arguments).await,
        }
    }
}

/// Generated code, if it is of this workload and of these tables.
fn fitting<E: Env, G: Generated>(
    database: &Database<E>,
    workload: &Workload,
    settings: Settings,
) -> Result<Option<Caller<G>>, OpenError> {
    match Caller::open(database, workload, settings) {
        Ok(caller) => Ok(Some(caller)),
        Err(OpenError::OtherWorkload | OpenError::Bind(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
