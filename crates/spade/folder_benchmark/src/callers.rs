//! Calls of procedures by name, with arguments that an embedding program supplies.

use crate::code::Code;
use crate::linked::{AnyCaller, CallInput, LinkedCode, open_plans};
use fabric::Env;
use interpreter::{CallError, Retries, Settings};
use procedure::node::Workload;
use procedure_runtime::{Argument, Counts, OpenError, ProcedureId, Results};
use txn::{Abort, Database, Lane};

/// The procedures of a workload, opened for one thread: by shipped or linked generated code if it
/// fits, otherwise by the interpreter.
pub struct Callers {
    caller: Box<dyn AnyCaller>,
    is_generated: bool,
}

impl Callers {
    /// Opens the procedures of the workload `name` for a database that has its tables. Ignores
    /// generated code for other procedures, tables or plans.
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

    /// Opens the procedures with the interpreter only.
    ///
    /// # Errors
    ///
    /// See [`Self::open`].
    pub fn of_plans<E: Env>(
        database: &Database<E>,
        workload: &Workload,
        settings: Settings,
    ) -> Result<Self, OpenError> {
        let caller = open_plans(database, workload, settings)?;
        Ok(Self { caller, is_generated: false })
    }

    /// Whether generated code executes calls.
    pub fn is_generated(&self) -> bool {
        self.is_generated
    }

    /// Counts of calls so far.
    pub fn counts(&self) -> Counts {
        self.caller.counts()
    }

    pub fn find(&self, name: &str) -> Option<ProcedureId> {
        self.caller.find(name)
    }

    /// Sets the retry policy of the following calls.
    pub fn set_retries(&mut self, retries: Retries) {
        self.caller.set_retries(retries);
    }

    /// The reasons of aborted attempts of the last call.
    pub fn aborts(&self) -> &[Abort] {
        self.caller.aborts()
    }

    /// Executes a procedure as one transaction, and retries it after conflicts.
    ///
    /// # Errors
    ///
    /// See [`CallError`]. Except for [`CallError::Unknown`], the call had no effect.
    pub async fn call<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        procedure: ProcedureId,
        arguments: &[Argument<'_>],
    ) -> Result<&Results, CallError> {
        match self.caller.make(lane, procedure, CallInput::Arguments(arguments)).await {
            Ok(()) => Ok(self.caller.results()),
            Err(error) => Err(*error),
        }
    }
}
