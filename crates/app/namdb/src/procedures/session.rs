//! The procedure calls of one thread.
//!
//! Decision: docs/decisions/0224-a-session-in-this-process-borrows-a-lane-per-call.md

use super::call::Call;
use super::database::Database;
use super::error::{CallFailure, Misuse, OpenFailure};
use super::open::World;
use crate::cluster::Seat;
use crate::database::Db;
use fabric::{Env, run_now};
use folder_benchmark::shipping::{Shipped, Shipper};
use folder_benchmark::{Callers, Stored};
use interpreter::{CallError, Retries};
use procedure_runtime::{Argument, Counts, ProcedureId, Results};
use std::cell::RefCell;
use std::rc::Rc;
use txn::{Abort, Lane};
use workload::Workload;

/// Executes calls one after another. A session stays on its thread; each thread opens its own.
/// [`Call::execute`] has an example.
#[derive(Clone)]
pub struct Session {
    pub(super) database: Database,
    pub(super) inner: Rc<RefCell<Inner>>,
}

/// State that the session's calls share.
pub(super) struct Inner {
    callers: Callers,
    /// Sends calls to the owners of their rows; `None` if the workload ships none.
    shipper: Option<Shipper>,
    home: Home,
}

/// Identifies a procedure to the executors.
#[derive(Clone, Copy)]
pub(super) struct Procedure {
    /// Position in the folder.
    at: usize,
    id: ProcedureId,
}

/// Where the session's transactions run.
enum Home {
    /// On a lane borrowed for each call.
    Local(Db),
    /// Over this thread's connections.
    Remote(Box<Seat>),
}

/// The result of a call.
pub(super) struct Ended {
    /// Number of retries.
    pub retries: u32,
    /// Why the call did not commit; `None` if it did.
    pub failure: Option<CallFailure>,
}

impl Session {
    pub(super) fn open(database: Database) -> Result<Self, OpenFailure> {
        let home = match &database.shared.world {
            World::Local(db) => Home::Local(db.clone()),
            World::Remote(remote) => {
                Home::Remote(Box::new(Seat::open(remote).map_err(OpenFailure::Session)?))
            }
        };
        let callers = match &home {
            Home::Local(db) => callers(&database, &db.handle())?,
            Home::Remote(remote) => callers(&database, &remote.database)?,
        };
        let shipper = database.shared.owners.clone().map(Shipper::new);
        let inner = Inner { callers, shipper, home };
        Ok(Self { database, inner: Rc::new(RefCell::new(inner)) })
    }

    /// The database that the session belongs to.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// assert!(session.database().procedures().count() > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Whether generated code executes its calls. The plan executor then runs only calls that the
    /// code leaves to it.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// assert!(session.is_generated(), "the code of shipped workloads is built in");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_generated(&self) -> bool {
        self.inner.borrow().callers.is_generated()
    }

    /// Number of calls by the way they were executed so far, without calls that were shipped to the
    /// owners of their rows.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// println!("{} calls by generated code", session.counts().generated);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn counts(&self) -> Counts {
        self.inner.borrow().callers.counts()
    }

    /// Prepares a call of the procedure with this name. It can be executed any number of times.
    /// [`Call::execute`] has an example.
    ///
    /// # Errors
    /// If the workload has no procedure with this name.
    pub fn call(&self, procedure: &str) -> Result<Call, Misuse> {
        let (at, signature) = self.database.find(procedure)?;
        let id = self.inner.borrow().callers.find(procedure);
        let id = id.expect("the callers have all procedures of the folder");
        Ok(Call::new(self.clone(), signature, Procedure { at, id }))
    }
}

fn callers<E: Env>(
    database: &Database,
    handle: &txn::Database<E>,
) -> Result<Callers, procedure_runtime::OpenError> {
    let (stored, settings) = (&database.shared.stored, database.settings(handle.env().now_ns()));
    let name = <Stored as Workload<E>>::name(stored);
    match database.shared.plans_only {
        true => Callers::of_plans(handle, stored.ready(), settings),
        false => Callers::open(name, handle, stored.ready(), settings, &database.shared.code),
    }
}

impl Inner {
    /// Executes a call and copies its result rows.
    pub fn call(
        &mut self,
        procedure: Procedure,
        arguments: &[Argument<'_>],
        retries: Retries,
        results: &mut Results,
    ) -> Ended {
        let Self { callers, shipper, home } = self;
        if let Some(shipper) = shipper
            && let Some(owner) = shipper.owner(procedure.at, arguments)
        {
            let what = (procedure.at, retries);
            let shipped = match home {
                Home::Local(db) => {
                    let env = db.handle();
                    run_now(shipper.ship(env.env(), owner, what, arguments, results))
                }
                Home::Remote(remote) => {
                    let env = remote.engine.endpoint();
                    remote.engine.block_on(shipper.ship(&env, owner, what, arguments, results))
                }
            };
            if let Some(Shipped { failure, aborts }) = shipped {
                return ended(failure, &aborts, results);
            }
        }
        let procedure = procedure.id;
        callers.set_retries(retries);
        match home {
            Home::Local(db) => {
                let mut lane = match db.borrow_lane() {
                    Ok(lane) => lane,
                    Err(error) => return no_lane(&error),
                };
                let ended = run_now(call_on(callers, &mut lane, procedure, arguments, results));
                // A lane with an undecided transaction runs no further one.
                if !ended.is_undecided() {
                    db.give_back_lane(lane);
                }
                ended
            }
            Home::Remote(remote) => {
                let mut lane = match remote.lane() {
                    Ok(lane) => lane,
                    Err(error) => return no_lane(&error),
                };
                let call = call_on(callers, &mut lane, procedure, arguments, results);
                let ended = remote.engine.block_on(call);
                if !ended.is_undecided() {
                    remote.give_back(lane);
                }
                ended
            }
        }
    }
}

impl Ended {
    fn is_undecided(&self) -> bool {
        matches!(self.failure, Some(CallFailure::Unknown))
    }
}

fn no_lane(error: &dyn std::error::Error) -> Ended {
    Ended { retries: 0, failure: Some(CallFailure::NoLane(error.to_string())) }
}

async fn call_on<E: Env>(
    callers: &mut Callers,
    lane: &mut Lane<E>,
    procedure: ProcedureId,
    arguments: &[Argument<'_>],
    results: &mut Results,
) -> Ended {
    let failure = match callers.call(lane, procedure, arguments).await {
        Ok(given) => {
            results.clone_from(given);
            None
        }
        Err(error) => Some(error),
    };
    ended(failure, callers.aborts(), results)
}

/// Builds the result of a call from its error and its aborted attempts. Clears the rows if it
/// failed.
fn ended(failure: Option<CallError>, aborts: &[Abort], results: &mut Results) -> Ended {
    if failure.is_some() {
        results.clear();
    }
    let aborted = aborts.len() as u32;
    let is_given_up = matches!(failure, Some(CallError::Aborted(_)));
    let retries = aborted.saturating_sub(u32::from(is_given_up));
    Ended { retries, failure: failure.map(|error| failed(error, retries)) }
}

fn failed(error: CallError, retries: u32) -> CallFailure {
    match error {
        CallError::Sql(error) => CallFailure::Refused {
            sqlstate: error.sqlstate.to_string(),
            message: error.message.clone(),
        },
        CallError::Aborted(reason) => CallFailure::Aborted { reason, retries },
        CallError::Unknown => CallFailure::Unknown,
        CallError::Engine(error) => match error.abort() {
            Some(reason) => CallFailure::Aborted { reason, retries },
            None => CallFailure::Statement(error),
        },
        other => CallFailure::NoLane(other.to_string()),
    }
}
