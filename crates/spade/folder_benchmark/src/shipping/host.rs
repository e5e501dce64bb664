//! A compute server that executes procedures for other servers.
//!
//! A caller first opens the procedures of a folder ([`OPEN`]), and then calls them ([`CALL`]). The
//! files of the folder come with the request: the host reads no path that a caller names.
//! All handlers run on one thread, which has the database and the [`Lanes`]. Each call in progress
//! has its own opened procedures.
//!
//! Decision: docs/decisions/0268-procedures-are-shipped-to-compute-servers-which-read.md

use super::message::{self, Arrived};
use super::shipper::Opening;
use crate::callers::Callers;
use crate::linked::LinkedCode;
use fabric::{CallError, Env, Reply, Service, ServiceId};
use interpreter::{CallError as CallFailure, Retries, Settings};
use procedure::node::Workload;
use procedure_runtime::ProcedureId;
use shipping::{Lanes, Ownership, database, seats};
use std::sync::{Arc, Mutex};
use txn::{Abort, Database, Isolation, Lane};

/// Opens the procedures of a folder. The request is an [`Opening`]; the response is the number of
/// the folder in calls.
pub const OPEN: ServiceId = ServiceId(230);
/// Executes a call.
pub const CALL: ServiceId = ServiceId(231);
/// The services of a host, with their names.
pub const SERVICES: [(ServiceId, &str); 2] = [(OPEN, "open"), (CALL, "call")];

/// Maximal number of open folders.
const FOLDERS_MAX: usize = 64;
/// First seat of opened procedures; the seats of further folders follow.
const PROCEDURES: u64 = 1 << 48;
/// Maximal time of retries in nanoseconds: callers wait for the response, and other calls for the
/// lane.
const RETRIES_NS_MAX: u64 = 2_000_000_000;
/// Name of the expected message in errors.
const FOR: &str = "a shipped call";

/// Executes shipped procedures on a compute server.
#[derive(Debug)]
pub struct Host {
    lanes: Arc<Lanes>,
    /// Clock: microseconds since 2000-01-01 UTC.
    time_us: fn() -> i64,
    linked: Vec<LinkedCode>,
    folders: Mutex<Vec<Arc<Folder>>>,
}

/// An open folder.
#[derive(Debug)]
struct Folder {
    opening: Opening,
    procedures: Workload,
}

/// Opened procedures of a folder, for one call at a time.
struct Procedures {
    callers: Callers,
    /// In the order of the file.
    ids: Vec<ProcedureId>,
}

impl Host {
    /// A host with these lanes. `time_us` returns microseconds since 2000-01-01 UTC; `linked` is
    /// generated code beside the shipped.
    pub fn new(lanes: Arc<Lanes>, time_us: fn() -> i64, linked: Vec<LinkedCode>) -> Arc<Self> {
        Arc::new(Self { lanes, time_us, linked, folders: Mutex::default() })
    }

    /// Its services; the thread that offers them must have the database and the lanes.
    pub fn services<E: Env>(self: &Arc<Self>) -> [(ServiceId, Arc<dyn Service<E>>); 2] {
        let (open, call) = (OpenService(self.clone()), CallService(self.clone()));
        [(OPEN, Arc::new(open)), (CALL, Arc::new(call))]
    }

    /// The seats that it uses on this thread; dropping the returned value frees them.
    pub fn ownership(&self) -> Ownership {
        Ownership::of((0..FOLDERS_MAX as u64).map(|number| PROCEDURES + number))
    }

    fn open(&self, request: &[u8]) -> Result<Vec<u8>, CallError> {
        self.lanes.enter()?;
        let opening: Opening =
            serde_json::from_slice(request).map_err(|_| CallError::Malformed(FOR))?;
        let mut folders = self.folders.lock().expect("no holder panics");
        let number = match folders.iter().position(|folder| folder.opening == opening) {
            Some(number) => number,
            None if folders.len() == FOLDERS_MAX => {
                let why = format!("it already has {FOLDERS_MAX} folders open; restart it");
                return Err(CallError::Refused(why));
            }
            None => {
                folders.push(Arc::new(Folder::read(opening)?));
                folders.len() - 1
            }
        };
        Ok((number as u32).to_le_bytes().to_vec())
    }

    fn folder(&self, number: u32) -> Result<Arc<Folder>, CallError> {
        let folders = self.folders.lock().expect("no holder panics");
        let folder = folders.get(number as usize).cloned();
        folder.ok_or_else(|| CallError::Refused(format!("it has no folder {number}")))
    }

    async fn call<E: Env>(&self, env: &E, request: &[u8]) -> Result<Vec<u8>, CallError> {
        self.lanes.enter()?;
        let call = message::decode_call(request).ok_or(CallError::Malformed(FOR))?;
        let folder = self.folder(call.folder)?;
        let database = database::<E>()?;
        let mut lane = self.lanes.take(env, &database).await?;
        let seat = PROCEDURES + u64::from(call.folder);
        let opened = match seats::take::<Procedures>(seat) {
            Some(procedures) => Ok(procedures),
            None => folder.open(&database, (self.time_us)(), &self.linked).await,
        };
        let mut procedures = match opened {
            Ok(procedures) => procedures,
            Err(error) => {
                self.lanes.give_back(lane);
                return Err(error);
            }
        };
        let (answer, after) = procedures.carry_out(&mut lane, &call).await;
        match after {
            Reuse::Usual => {
                self.lanes.give_back(lane);
                seats::give(seat, procedures);
            }
            Reuse::Stale => self.lanes.give_back(lane),
            Reuse::Lost => self.lanes.lose(lane),
        }
        answer
    }
}

/// Which resources of a call can be reused.
enum Reuse {
    Usual,
    /// The lane only: tables may have changed, so procedures must be opened again.
    Stale,
    /// Neither lane nor procedures.
    Lost,
}

impl Folder {
    fn read(opening: Opening) -> Result<Self, CallError> {
        let Opening { files, name, fingerprint, .. } = &opening;
        let refused = |error: &dyn ToString| {
            let why = error.to_string();
            CallError::Refused(format!("the compute server cannot use the folder {name}: {why}"))
        };
        let unpacked = files.unpack().map_err(|error| refused(&error))?;
        let read = Workload::read(&unpacked.path).map_err(|error| refused(&error))?;
        if read.fingerprint() != *fingerprint {
            return Err(refused(
                &"its files have changed since the caller has read them; start it again",
            ));
        }
        Ok(Self { opening, procedures: read })
    }

    async fn open<E: Env>(
        &self,
        database: &Database<E>,
        time_us: i64,
        linked: &[LinkedCode],
    ) -> Result<Procedures, CallError> {
        let refused = |error: &dyn ToString| CallError::Refused(error.to_string());
        database.refresh().await.map_err(|error| refused(&error))?;
        let Opening { name, plans_only, is_dated, is_serializable, .. } = &self.opening;
        let epoch_us = match is_dated {
            true => (database.env().now_ns() / 1_000) as i64 - time_us,
            false => 0,
        };
        let isolation = match is_serializable {
            true => Isolation::Serializable,
            false => Isolation::Snapshot,
        };
        let settings = Settings { isolation, epoch_us };
        let callers = match plans_only {
            true => Callers::of_plans(database, &self.procedures, settings),
            false => Callers::open(name, database, &self.procedures, settings, linked),
        };
        let callers = callers.map_err(|error| refused(&error))?;
        let find = |name: &str| callers.find(name).expect("it is one of the workload's");
        let ids = self.procedures.procedures.iter().map(|of| find(&of.routine.name)).collect();
        Ok(Procedures { callers, ids })
    }
}

impl Procedures {
    async fn carry_out<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        call: &Arrived,
    ) -> (Result<Vec<u8>, CallError>, Reuse) {
        let Some(&id) = self.ids.get(call.procedure) else {
            let why = format!("the folder has no procedure {}", call.procedure);
            return (Err(CallError::Refused(why)), Reuse::Usual);
        };
        let within_ns = call.retries.within_ns.map(|within_ns| within_ns.min(RETRIES_NS_MAX));
        self.callers.set_retries(Retries { within_ns, ..call.retries });
        let texts = call.texts();
        let ended = self.callers.call(lane, id, &call.arguments(&texts)).await;
        let ended = ended.map(message::encode_rows);
        let after = match &ended {
            Ok(_) | Err(CallFailure::Sql(_)) => Reuse::Usual,
            Err(CallFailure::Aborted(Abort::CatalogChanged)) => Reuse::Stale,
            Err(CallFailure::Aborted(_)) => Reuse::Usual,
            Err(_) => Reuse::Lost,
        };
        let answer = message::encode_answer(ended, self.callers.aborts());
        (answer.map_err(|error| CallError::Refused(error.to_string())), after)
    }
}

struct OpenService(Arc<Host>);

impl<E: Env> Service<E> for OpenService {
    fn handle<'a>(&'a self, _env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async { self.0.open(request) })
    }
}

struct CallService(Arc<Host>);

impl<E: Env> Service<E> for CallService {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(self.0.call(env, request))
    }
}
