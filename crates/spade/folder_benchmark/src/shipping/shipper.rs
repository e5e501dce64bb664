//! Whoever calls procedures where their rows are: sends a call to the owner of its rows, and has it carried out here if the
//! owner does not.
//!
//! Decision: docs/decisions/0268-procedures-are-shipped-to-compute-servers-which-read.md

use super::host::{CALL, OPEN};
use super::message::{self, Ended};
use crate::design::Home;
use fabric::{CallError, Env};
use interpreter::{CallError as CallFailure, Retries};
use layout::NodeId;
use procedure_runtime::{Argument, Results};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use txn::Abort;

/// An owner that has refused, or cannot be reached, is not asked for so long.
const PAUSE_NS: u64 = 1_000_000_000;

/// The procedures of a folder, as hosts are told of them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Opening {
    /// Where hosts find the folder: a whole path.
    pub folder: String,
    /// The workload's name.
    pub name: String,
    /// Of its procedures, tables and plans.
    pub fingerprint: u32,
    /// Whether the executor of plans carries out all calls.
    pub plans_only: bool,
    /// Whether `now()` says what time it is; else it counts from the year 2000.
    pub is_dated: bool,
    /// Whether transactions are serializable; else they see snapshots.
    pub is_serializable: bool,
}

/// Where calls of a folder are sent.
#[derive(Debug)]
pub struct Owners {
    /// Of each procedure, where its calls have their rows.
    homes: Vec<Option<Home>>,
    /// Of each memory server, the compute server that owns what is there; none where that is whoever calls, or nobody.
    servers: Vec<Option<NodeId>>,
    /// An [`Opening`].
    opening: Vec<u8>,
    /// Whether an owner that does not carry out calls was told of.
    has_told: AtomicBool,
}

impl Owners {
    /// Calls of the folder go to `servers`: of each memory server, the compute server that owns what is there; none where
    /// that is whoever calls, or nobody. `homes` tells where those of each procedure have their rows.
    pub fn new(
        homes: Vec<Option<Home>>,
        servers: Vec<Option<NodeId>>,
        opening: &Opening,
    ) -> Arc<Self> {
        let opening = serde_json::to_vec(opening).expect("it is texts and numbers");
        Arc::new(Self { homes, servers, opening, has_told: AtomicBool::new(false) })
    }
}

/// Sends calls of one thread.
pub struct Shipper {
    owners: Arc<Owners>,
    known: BTreeMap<NodeId, Known>,
}

/// What is known of an owner.
enum Known {
    /// It has the folder under this number.
    Open(u32),
    /// It is asked again at this time.
    Silent { until_ns: u64 },
}

/// What came of a call that an owner has carried out.
#[derive(Clone, PartialEq, Debug)]
pub struct Shipped {
    /// Why it did not commit, if so; else its rows are among the results.
    pub failure: Option<CallFailure>,
    /// Why attempts were aborted.
    pub aborts: Vec<Abort>,
}

impl Shipper {
    /// Sends calls to these owners.
    pub fn new(owners: Arc<Owners>) -> Self {
        Self { owners, known: BTreeMap::new() }
    }

    /// Whether calls of a procedure are sent at all.
    pub fn ships(&self, procedure: usize) -> bool {
        self.owners.homes[procedure].is_some_and(|home| home.is_shipped)
    }

    /// The owner to which a call is sent, if it is.
    pub fn owner(&self, procedure: usize, arguments: &[Argument<'_>]) -> Option<NodeId> {
        let home = self.owners.homes[procedure].filter(|home| home.is_shipped)?;
        let server = home.server_of(arguments)?;
        self.owners.servers.get(usize::from(server)).copied().flatten()
    }

    /// Has an owner carry out a call. None if it does not and has not: it is to be made here.
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
                // The call may have arrived, and only its answer been lost.
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

    /// The folder's number at an owner that carries out calls of it.
    async fn opened<E: Env>(&mut self, env: &E, owner: NodeId) -> Option<u32> {
        match self.known.get(&owner) {
            Some(Known::Open(number)) => return Some(*number),
            Some(Known::Silent { until_ns }) if env.now_ns() < *until_ns => return None,
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
                self.known.insert(owner, Known::Open(number));
                Some(number)
            }
            Err(error) => {
                self.pause(env, owner, &error);
                None
            }
        }
    }

    /// Leaves an owner alone for a while.
    fn pause<E: Env>(&mut self, env: &E, owner: NodeId, why: &CallError) {
        if !self.owners.has_told.swap(true, Relaxed) {
            tracing::warn!("calls are made here, since {owner} does not carry them out: {why}");
        }
        let until_ns = env.now_ns().saturating_add(PAUSE_NS);
        self.known.insert(owner, Known::Silent { until_ns });
    }
}

/// A call of which nobody knows.
fn unknown() -> Shipped {
    Shipped { failure: Some(CallFailure::Unknown), aborts: Vec::new() }
}
