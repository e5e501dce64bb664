//! The epoch up to which a memory server has fenced dead members.
//!
//! A server executes nothing any more of members that are missing in this epoch: their connections
//! are closed, or their processes killed. Recovery asks every server before it touches what the
//! dead have left.

use crate::message::{Reader, Writer};
use fabric::{CallError, Env, Reply, Service, ServiceId};
use layout::NodeId;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The service that tells the fenced epoch.
pub const FENCE_SERVICE: ServiceId = ServiceId(5);

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

/// Answers with the fenced epoch.
pub struct FenceService(pub FencedEpoch);

impl<E: Env> Service<E> for FenceService {
    fn handle<'a>(&'a self, _env: &'a E, _request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move { Ok(Writer::new().number(self.0.get()).finish()) })
    }
}

/// The epoch up to which `server` has fenced dead members.
pub async fn fenced_epoch<E: Env>(env: &E, server: NodeId) -> Result<u64, CallError> {
    let answer = env.call(server, FENCE_SERVICE, Vec::new()).await?;
    Reader::new(&answer, "a fenced epoch").number()
}
