//! Procedures by name, with arguments that a program binds.

use crate::code::{Code, Shipped};
use crate::linked::{AnyCaller, Given, LinkedCode};
use execute::{CallError, Retries, Settings};
use fabric::Env;
use procedure::node::Workload;
use runtime::{Argument, Caller, Counts, NoCode, OpenError, ProcedureId, Results};
use txn::{Abort, Database, Lane};

/// The procedures of a workload in the hands of one thread: generated code where some fits that is shipped or linked, else the executor of plans.
pub enum Callers {
    /// Generated code.
    SmallBank(Caller<generated::smallbank::Tables>),
    /// Generated code.
    Tatp(Caller<generated::tatp::Tables>),
    /// Generated code.
    Tpcc(Caller<generated::tpcc::Tables>),
    /// Generated code.
    Ycsb(Caller<generated::ycsb::Tables>),
    /// Generated code of a workload of one's own.
    Linked(Linked),
    /// The executor.
    Plans(Caller<NoCode>),
}

/// Calls of code that the program links.
pub struct Linked(Box<dyn AnyCaller>);

impl Callers {
    /// Makes the procedures of the workload called `name` ready for a database, which has its tables, by shipped code or by some of
    /// `linked`. Code that was generated for other procedures or tables is left aside.
    ///
    /// # Errors
    ///
    /// A table or index is missing.
    pub fn open<E: Env>(
        name: &str,
        database: &Database<E>,
        workload: &Workload,
        settings: Settings,
        linked: &[LinkedCode],
    ) -> Result<Self, OpenError> {
        let opened = match Code::find(name, workload.fingerprint(), linked) {
            Ok(Code::Generated(Shipped::SmallBank)) => {
                Caller::open(database, workload, settings).map(Self::SmallBank)
            }
            Ok(Code::Generated(Shipped::Tatp)) => {
                Caller::open(database, workload, settings).map(Self::Tatp)
            }
            Ok(Code::Generated(Shipped::Tpcc)) => {
                Caller::open(database, workload, settings).map(Self::Tpcc)
            }
            Ok(Code::Generated(Shipped::Ycsb)) => {
                Caller::open(database, workload, settings).map(Self::Ycsb)
            }
            Ok(Code::Linked(code)) => {
                code.open(database, workload, settings).map(|caller| Self::Linked(Linked(caller)))
            }
            Ok(Code::Plans) | Err(_) => Self::of_plans(database, workload, settings),
        };
        match opened {
            Err(OpenError::OtherWorkload | OpenError::Bind(_)) => {
                Self::of_plans(database, workload, settings)
            }
            opened => opened,
        }
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

    /// How calls went so far.
    pub fn counts(&self) -> Counts {
        match self {
            Self::SmallBank(caller) => caller.counts(),
            Self::Tatp(caller) => caller.counts(),
            Self::Tpcc(caller) => caller.counts(),
            Self::Ycsb(caller) => caller.counts(),
            Self::Linked(caller) => caller.0.counts(),
            Self::Plans(caller) => caller.counts(),
        }
    }

    /// The procedure called `name`.
    pub fn find(&self, name: &str) -> Option<ProcedureId> {
        match self {
            Self::SmallBank(caller) => caller.find(name),
            Self::Tatp(caller) => caller.find(name),
            Self::Tpcc(caller) => caller.find(name),
            Self::Ycsb(caller) => caller.find(name),
            Self::Linked(caller) => caller.0.find(name),
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
            Self::Linked(caller) => caller.0.set_retries(retries),
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
            Self::Linked(caller) => caller.0.aborts(),
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
            Self::Linked(caller) => {
                let given = Given::Arguments(arguments);
                match caller.0.make(lane, procedure, given).await {
                    Ok(()) => Ok(caller.0.results()),
                    Err(error) => Err(*error),
                }
            }
            Self::Plans(caller) => caller.call(lane, procedure, arguments).await,
        }
    }
}
