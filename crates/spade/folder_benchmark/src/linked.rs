//! Generated code, shipped or linked, and the interpreter behind one type.
//!
//! For each workload and world there is one function, which hides the generic types, so that the
//! code is compiled only once, in the crate that names it. A call through it is indirect; where
//! verbs take time, its future is boxed.
//!
//! Decision: docs/decisions/0275-a-users-generated-code-is-linked-by-the-users-program.md

use fabric::{DynEnv, Env, LocalEnv, run_now};
use interpreter::{CallError, Retries, Settings};
use procedure::node::Workload;
use procedure_runtime::{Argument, Caller, Generated, NoCode, OpenError, ProcedureId, Results};
use sql_value::Value;
use std::any::{Any, TypeId};
use std::marker::PhantomData;
use std::pin::Pin;
use txn::{Abort, Database, Lane};

/// The generated code of a workload, for the local and the remote world.
#[derive(Clone, Debug)]
pub struct LinkedCode {
    workload: &'static str,
    fingerprint: u32,
    procedures: &'static [&'static str],
    worlds: [Open; 2],
}

/// Opens the code for a database; `None` if the database is of another world.
type Open = fn(&dyn Any, &Workload, Settings) -> Option<Result<Box<dyn AnyCaller>, OpenError>>;

impl LinkedCode {
    /// The code for local databases and for clusters.
    pub fn of<G: Generated + 'static>() -> Self {
        let (workload, fingerprint) = (G::WORKLOAD, G::FINGERPRINT);
        Self {
            workload,
            fingerprint,
            procedures: G::PROCEDURES,
            worlds: [open::<G, LocalEnv>, open::<G, DynEnv>],
        }
    }

    /// The workload for which it was generated.
    pub fn workload(&self) -> &'static str {
        self.workload
    }

    /// The fingerprint of that workload, see [`Workload::fingerprint`].
    pub fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    /// The procedures with generated code.
    pub(crate) fn procedures(&self) -> &'static [&'static str] {
        self.procedures
    }

    pub(crate) fn open<E: Env>(
        &self,
        database: &Database<E>,
        workload: &Workload,
        settings: Settings,
    ) -> Result<Box<dyn AnyCaller>, OpenError> {
        let mut opened = self.worlds.iter().filter_map(|open| open(database, workload, settings));
        opened.next().expect(ALL_WORLDS)
    }
}

impl PartialEq for LinkedCode {
    fn eq(&self, other: &Self) -> bool {
        (self.workload, self.fingerprint) == (other.workload, other.fingerprint)
    }
}

impl Eq for LinkedCode {}

/// Opens the interpreter for a database.
pub(crate) fn open_plans<E: Env>(
    database: &Database<E>,
    workload: &Workload,
    settings: Settings,
) -> Result<Box<dyn AnyCaller>, OpenError> {
    let mut opened =
        plan_worlds().into_iter().filter_map(|open| open(database, workload, settings));
    opened.next().expect(ALL_WORLDS)
}

/// Compiled in this crate; inlining would compile it again in the caller's crate.
#[inline(never)]
fn plan_worlds() -> [Open; 2] {
    [plans::<LocalEnv>, plans::<DynEnv>]
}

fn plans<E: Env>(
    database: &dyn Any,
    workload: &Workload,
    settings: Settings,
) -> Option<Result<Box<dyn AnyCaller>, OpenError>> {
    let database = database.downcast_ref::<Database<E>>()?;
    let caller = Caller::of_plans(database, workload, settings);
    Some(caller.map(|caller| -> Box<dyn AnyCaller> {
        Box::new(InWorld::<NoCode, E>(caller, PhantomData))
    }))
}

fn open<G: Generated + 'static, E: Env>(
    database: &dyn Any,
    workload: &Workload,
    settings: Settings,
) -> Option<Result<Box<dyn AnyCaller>, OpenError>> {
    let database = database.downcast_ref::<Database<E>>()?;
    let caller = Caller::<G>::open(database, workload, settings);
    Some(
        caller
            .map(|caller| -> Box<dyn AnyCaller> { Box::new(InWorld::<G, E>(caller, PhantomData)) }),
    )
}

/// Arguments of a call.
#[derive(Clone, Copy)]
pub(crate) enum CallInput<'a> {
    /// Arguments that generated code accepts.
    Arguments(&'a [Argument<'a>]),
    /// Values for the interpreter only.
    Values(&'a [Value]),
}

type Calling<'a> = Pin<Box<dyn Future<Output = Result<(), Box<CallError>>> + 'a>>;

/// A [`Caller`] of any code. Its lanes must be of the world for which it was opened.
pub(crate) trait AnyCaller {
    /// See [`Caller::find`].
    fn find(&self, procedure: &str) -> Option<ProcedureId>;
    /// See [`Caller::set_retries`].
    fn set_retries(&mut self, retries: Retries);
    /// See [`Caller::aborts`].
    fn aborts(&self) -> &[Abort];
    /// See [`Caller::counts`].
    fn counts(&self) -> procedure_runtime::Counts;
    /// See [`Caller::prefetch`].
    fn prefetch(&self, lane: &dyn Any, procedure: ProcedureId, given: CallInput<'_>);
    /// See [`Caller::make`].
    fn call<'a>(
        &'a mut self,
        lane: &'a mut dyn Any,
        procedure: ProcedureId,
        given: CallInput<'a>,
    ) -> Calling<'a>;
    /// The same where futures are always ready.
    fn call_now(
        &mut self,
        lane: &mut dyn Any,
        procedure: ProcedureId,
        given: CallInput<'_>,
    ) -> Result<(), Box<CallError>>;
    /// See [`Caller::results`].
    fn results(&self) -> &Results;
}

impl dyn AnyCaller {
    pub async fn make<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        procedure: ProcedureId,
        given: CallInput<'_>,
    ) -> Result<(), Box<CallError>> {
        match TypeId::of::<E>() == TypeId::of::<LocalEnv>() {
            true => self.call_now(lane, procedure, given),
            false => self.call(lane, procedure, given).await,
        }
    }
}

/// A caller for lanes of one world.
struct InWorld<G, E>(Caller<G>, PhantomData<fn(E)>);

/// Why a database belongs to one of the worlds.
const ALL_WORLDS: &str = "the engine is compiled for these worlds alone";
/// Why lanes have the right type.
const ONE_WORLD: &str = "calls are made on lanes of the database that was opened";

impl<G: Generated + 'static, E: Env> AnyCaller for InWorld<G, E> {
    fn find(&self, procedure: &str) -> Option<ProcedureId> {
        self.0.find(procedure)
    }

    fn set_retries(&mut self, retries: Retries) {
        self.0.set_retries(retries);
    }

    fn aborts(&self) -> &[Abort] {
        self.0.aborts()
    }

    fn counts(&self) -> procedure_runtime::Counts {
        self.0.counts()
    }

    fn prefetch(&self, lane: &dyn Any, procedure: ProcedureId, given: CallInput<'_>) {
        let lane = lane.downcast_ref::<Lane<E>>().expect(ONE_WORLD);
        match given {
            CallInput::Arguments(arguments) => self.0.prefetch(lane, procedure, arguments),
            CallInput::Values(values) => self.0.prefetch_by_plans(lane, procedure, values),
        }
    }

    fn call<'a>(
        &'a mut self,
        lane: &'a mut dyn Any,
        procedure: ProcedureId,
        given: CallInput<'a>,
    ) -> Calling<'a> {
        let lane = lane.downcast_mut::<Lane<E>>().expect(ONE_WORLD);
        Box::pin(call(&mut self.0, lane, procedure, given))
    }

    fn call_now(
        &mut self,
        lane: &mut dyn Any,
        procedure: ProcedureId,
        given: CallInput<'_>,
    ) -> Result<(), Box<CallError>> {
        let lane = lane.downcast_mut::<Lane<E>>().expect(ONE_WORLD);
        run_now(call(&mut self.0, lane, procedure, given))
    }

    fn results(&self) -> &Results {
        self.0.results()
    }
}

async fn call<G: Generated, E: Env>(
    caller: &mut Caller<G>,
    lane: &mut Lane<E>,
    procedure: ProcedureId,
    given: CallInput<'_>,
) -> Result<(), Box<CallError>> {
    match given {
        CallInput::Arguments(arguments) => caller.make(lane, procedure, arguments).await,
        CallInput::Values(values) => caller.make_by_plans(lane, procedure, values).await,
    }
}
