//! Procedures by name, with arguments that a program binds.

use crate::code::Code;
use crate::linked::{AnyCaller, Given, LinkedCode, open_plans};
use fabric::Env;
use interpreter::{CallError, Retries, Settings};
use procedure::node::Workload;
use procedure_runtime::{Argument, Counts, OpenError, ProcedureId, Results};
use txn::{Abort, Database, Lane};

/// The procedures of a workload in the hands of one thread: generated code where some fits that is shipped or linked,
/// else the executor of plans.
pub struct Callers {
    caller: Box<dyn AnyCaller>,
    is_generated: bool,
}

impl Callers {
    /// Makes the procedures of the workload called `name` ready for a database, which has its tables, by shipped code or
    /// by some of `linked`. Code that was generated for other procedures or tables is left aside.
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
        let code = Code::find(name, workload.fingerprint(), linked).unwrap_or(Code::Plans);
        let Some(code) = code.linked() else {
            return Self::of_plans(database, workload, settings);
        };
        match code.open(database, workload, settings) {
            Ok(caller) => Ok(Self { caller, is_generated: true }),
            Err(OpenError::OtherWorkload | OpenError::Bind(_)) => {
                Self::of_plans(database, workload, settings)
            }
            Err(error) => Err(error),
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
        let caller = open_plans(database, workload, settings)?;
        Ok(Self { caller, is_generated: false })
    }

    /// Whether there is generated code.
    pub fn is_generated(&self) -> bool {
        self.is_generated
    }

    /// How calls went so far.
    pub fn counts(&self) -> Counts {
        self.caller.counts()
    }

    /// The procedure called `name`.
    pub fn find(&self, name: &str) -> Option<ProcedureId> {
        self.caller.find(name)
    }

    /// Sets how often and how long calls are tried again from now on.
    pub fn set_retries(&mut self, retries: Retries) {
        self.caller.set_retries(retries);
    }

    /// Why attempts of the last call were aborted.
    pub fn aborts(&self) -> &[Abort] {
        self.caller.aborts()
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
        match self.caller.make(lane, procedure, Given::Arguments(arguments)).await {
            Ok(()) => Ok(self.caller.results()),
            Err(error) => Err(*error),
        }
    }
}
