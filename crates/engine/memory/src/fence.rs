//! The epoch up to which a memory server has fenced dead members, and a wait for the end of what
//! they had it do.
//!
//! A server executes nothing any more of members that are missing in this epoch: their connections
//! are closed, or their processes killed. Recovery asks every server before it touches what the
//! dead have left.
//!
//! Handlers of callers that have given up may still write. A server is filled only when those have
//! ended.

use crate::handlers::Handlers;
use crate::message::{Reader, Writer};
use fabric::{CallError, Env, Reply, Service, ServiceId};
use layout::{NodeId, RegionId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The service that tells the fenced epoch.
pub const FENCE_SERVICE: ServiceId = ServiceId(5);
/// Longest wait for the end of handlers, and first and longest pause between two looks.
const REST_NS_MAX: u64 = 2_000_000_000;
const PAUSE_NS: u64 = 10_000;
const PAUSE_NS_MAX: u64 = 1_000_000;

/// The epoch of a memory server; clones share it.
#[derive(Clone, Default)]
pub struct FencedEpoch(Arc<AtomicU64>);

impl FencedEpoch {
    /// Records that all members are fenced that `epoch` lacks.
    pub fn raise(&self, epoch: u64) {
        self.0.fetch_max(epoch, Ordering::AcqRel);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// Answers with the fenced epoch, or when the handlers under way have ended.
pub struct FenceService {
    pub node: NodeId,
    pub fenced: FencedEpoch,
    pub handlers: Handlers,
}

impl<E: Env> Service<E> for FenceService {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            if !request.is_empty() {
                let region = Reader::new(request, "the fence service").number()?;
                let region = u16::try_from(region).map(RegionId);
                let region = region.map_err(|_| CallError::Malformed("the fence service"))?;
                self.rest(env, region).await?;
            }
            Ok(Writer::new().number(self.fenced.get()).finish())
        })
    }
}

impl FenceService {
    /// Waits for the handlers that have begun, and for what they have lost on the way.
    async fn rest<E: Env>(&self, env: &E, region: RegionId) -> Result<(), CallError> {
        let begun = self.handlers.begun();
        let (deadline_ns, mut pause_ns) = (env.now_ns().saturating_add(REST_NS_MAX), PAUSE_NS);
        while !self.handlers.have_ended(begun) {
            if env.now_ns() >= deadline_ns {
                return Err(CallError::Refused("a handler does not end".to_owned()));
            }
            env.sleep_ns(pause_ns).await;
            pause_ns = (2 * pause_ns).min(PAUSE_NS_MAX);
        }
        if !env.has_primary(self.node, region) {
            return Err(CallError::Unreachable(region.server()));
        }
        env.settle(region).await.map_err(|_| CallError::Unreachable(region.server()))
    }
}

/// Waits until the handlers that the server of a region has begun have ended, and nothing that they
/// have posted takes effect later.
pub async fn rest<E: Env>(env: &E, region: RegionId) -> Result<(), CallError> {
    let request = Writer::new().number(u64::from(region.0)).finish();
    env.call(region.server(), FENCE_SERVICE, request).await.map(drop)
}

/// The epoch up to which the server that has a region or a replica has fenced dead members.
pub async fn fenced_epoch<E: Env>(env: &E, place: RegionId) -> Result<u64, CallError> {
    let answer = env.call_replica(place, FENCE_SERVICE, Vec::new()).await?;
    Reader::new(&answer, "a fenced epoch").number()
}
