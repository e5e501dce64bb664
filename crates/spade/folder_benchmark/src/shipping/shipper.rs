//! Ships calls to the owner of their rows; the caller executes them if the owner does not.
//!
//! Decision: docs/decisions/0268-procedures-are-shipped-to-compute-servers-which-read.md

use super::host::{CALL, OPEN};
use super::message::{self, Ended};
use crate::design::Home;
use crate::shipped_folder::ShippedFolder;
use fabric::{CallError, Env};
use interpreter::{CallError as CallFailure, Retries};
use layout::NodeId;
use procedure_runtime::{Argument, Results};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use txn::Abort;

/// After a failure, an owner is not called for this time, in nanoseconds.
const PAUSE_NS: u64 = 1_000_000_000;

/// Identifies the procedures of a folder for a host.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Opening {
    /// The files of tables, procedures and plans: a host reads no path that a caller names.
    pub files: ShippedFolder,
    pub name: String,
    /// Fingerprint of procedures, tables and plans.
    pub fingerprint: u32,
    /// Whether the interpreter executes all calls.
    pub plans_only: bool,
    /// Whether `now()` returns the current time; otherwise it starts with the year 2000.
    pub is_dated: bool,
    /// Serializable or snapshot isolation.
    pub is_serializable: bool,
}

/// The owners to which calls of a folder are shipped.
#[derive(Debug)]
pub struct Owners {
    /// For each procedure, where its calls have their rows.
    homes: Vec<Option<Home>>,
    /// For each memory server, the compute server that owns its rows. `None` for the caller's own,
    /// and for servers without owner.
    servers: Vec<Option<NodeId>>,
    /// An encoded [`Opening`].
    opening: Vec<u8>,
    /// Whether a failing owner was logged.
    has_told: AtomicBool,
}

impl Owners {
    /// Ships calls to `servers`: for each memory server, the compute server that owns its rows.
    /// `None` for the caller's own, and for servers without owner. `homes` has the home of each
    /// procedure's calls.
    pub fn new(
        homes: Vec<Option<Home>>,
        servers: Vec<Option<NodeId>>,
        opening: &Opening,
    ) -> Arc<Self> {
        let opening = serde_json::to_vec(opening).expect("it is texts and numbers");
        Arc::new(Self { homes, servers, opening, has_told: AtomicBool::new(false) })
    }
}

/// Ships the calls of one thread.
pub struct Shipper {
    owners: Arc<Owners>,
    known: BTreeMap<NodeId, OwnerState>,
}

/// The state of an owner.
enum OwnerState {
    /// It has opened the folder under this number.
    Open(u32),
    /// It failed, and is called again after this time.
    Silent { until_ns: u64 },
}

/// The outcome of a call that an owner executed.
#[derive(Clone, PartialEq, Debug)]
pub struct Shipped {
    /// The error; `None` if it committed, and its rows are in the results.
    pub failure: Option<CallFailure>,
    /// The reasons of aborted attempts.
    pub aborts: Vec<Abort>,
}

impl Shipper {
    pub fn new(owners: Arc<Owners>) -> Self {
        Self { owners, known: BTreeMap::new() }
    }

    /// Whether calls of a procedure are shipped.
    pub fn ships(&self, procedure: usize) -> bool {
        self.owners.homes[procedure].is_some_and(|home| home.is_shipped)
    }

    /// The owner to which a call is shipped, if any.
    pub fn owner(&self, procedure: usize, arguments: &[Argument<'_>]) -> Option<NodeId> {
        let home = self.owners.homes[procedure].filter(|home| home.is_shipped)?;
        let server = home.server_of(arguments)?;
        self.owners.servers.get(usize::from(server)).copied().flatten()
    }

    /// Ships a call. `None` if the owner did not execute it, so that the caller must.
    pub async fn ship<E: Env>(
        &mut self,
        env: &E,
        owner: NodeId,
        (procedure, retries): (usize, Retries),
        arguments: &[Argument<'_>],
        results: &mut Results,
    ) -> Option<Shipped> {
        let folder = self.opened(env, owner).await?;
        let request = message::encode_call(folder, procedure as u16, retries, arguments);
        let answer = match env.call(owner, CALL, request).await {
            Ok(answer) => answer,
            Err(CallError::Unreachable(_)) => {
                // The owner may have executed the call although the response was lost.
                self.pause(env, owner, &CallError::Unreachable(owner));
                return Some(unknown());
            }
            Err(error) => {
                self.pause(env, owner, &error);
                return None;
            }
        };
        let mut aborts = Vec::new();
        let failure = match message::decode_answer(&answer, results, &mut aborts) {
            Some(Ended::Committed) => None,
            Some(Ended::Failed(failure)) => Some(failure),
            None => return Some(unknown()),
        };
        Some(Shipped { failure, aborts })
    }

    /// The folder's number at the owner; opens the folder if necessary.
    async fn opened<E: Env>(&mut self, env: &E, owner: NodeId) -> Option<u32> {
        match self.known.get(&owner) {
            Some(OwnerState::Open(number)) => return Some(*number),
            Some(OwnerState::Silent { until_ns }) if env.now_ns() < *until_ns => return None,
            _ => {}
        }
        let answer = env.call(owner, OPEN, self.owners.opening.clone()).await;
        let number = answer.and_then(|answer| {
            let number =
                answer.try_into().map_err(|_| CallError::Malformed("a folder's number"))?;
            Ok(u32::from_le_bytes(number))
        });
        match number {
            Ok(number) => {
                self.known.insert(owner, OwnerState::Open(number));
                Some(number)
            }
            Err(error) => {
                self.pause(env, owner, &error);
                None
            }
        }
    }

    /// Stops calling an owner for a while.
    fn pause<E: Env>(&mut self, env: &E, owner: NodeId, why: &CallError) {
        if !self.owners.has_told.swap(true, Relaxed) {
            tracing::warn!("calls are executed here, because {owner} does not execute them: {why}");
        }
        let until_ns = env.now_ns().saturating_add(PAUSE_NS);
        self.known.insert(owner, OwnerState::Silent { until_ns });
    }
}

/// The outcome if it is unknown whether the call was executed.
fn unknown() -> Shipped {
    Shipped { failure: Some(CallFailure::Unknown), aborts: Vec::new() }
}
