//! The two traits between protocols and worlds.
//!
//! Decision: docs/decisions/0005-mutants-exist-only-in-simulated-worlds.md

use crate::batch::Batch;
use crate::counters::Counters;
use crate::error::{CallError, FabricError};
use crate::mutant::Mutant;
use crate::note::Note;
use crate::service::ServiceId;
use crate::upkeep::JournalOf;
use layout::{GlobalPtr, NodeId};
use std::future::Future;

/// A named point right after a remotely visible effect, where the simulator may pause, kill or
/// reorder.
pub trait FailurePoint: Copy {
    /// The point's name, unique over all protocols: `commit::LocksHeld`.
    fn name(self) -> &'static str;
}

/// Verbs and calls of one endpoint.
pub trait Fabric {
    /// Whether every verb has completed before `execute` first returns. Then a commit need not be
    /// moved to a task of its own.
    const IMMEDIATE: bool;

    /// Whether all memory is coherent with the CPUs that access it. Rows have no checksum then.
    fn is_coherent(&self) -> bool;

    /// Whether each verb accesses all its words atomically with respect to other verbs. This holds
    /// where the server's processor executes all verbs one after another.
    #[inline]
    fn is_serial(&self) -> bool {
        false
    }

    /// Posts a batch and waits for its completion: one round trip, and one more per fence.
    fn execute(&self, batch: Batch) -> impl Future<Output = Result<Batch, FabricError>>;

    /// As [`Self::execute`], without a future, for worlds with [`Self::IMMEDIATE`].
    ///
    /// # Panics
    /// In all other worlds.
    fn execute_now(&self, _batch: &mut Batch) -> Result<(), FabricError> {
        unreachable!("verbs of this world take time")
    }

    /// Hints that a verb of the next batch reads or writes these words, which are probably not
    /// cached. Worlds that access memory through the processor's caches prefetch them, so that the
    /// misses of a batch overlap with each other and with posting the rest.
    #[inline]
    fn prefetch(&self, _at: GlobalPtr, _words: u32) {}

    /// Calls `service` on `node` and waits for its answer.
    fn call(
        &self,
        node: NodeId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> impl Future<Output = Result<Vec<u8>, CallError>>;

    /// As [`Self::call`], to the server that has a replica, even if another one answers for its
    /// region.
    fn call_replica(
        &self,
        replica: layout::RegionId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> impl Future<Output = Result<Vec<u8>, CallError>> {
        self.call(self.node_of(replica), service, request)
    }

    /// Waits for one round trip to a region's server. Afterwards nothing that this endpoint lost
    /// there earlier, with a batch that failed, takes effect any more: a connection replaces its
    /// predecessor, and the server executes nothing of that one any more.
    fn settle(&self, region: layout::RegionId) -> impl Future<Output = Result<(), FabricError>> {
        let mut batch = Batch::new();
        batch.read(GlobalPtr::new(region, 0), 1);
        let done = self.execute(batch);
        async move { done.await.map(drop) }
    }

    /// Whether no further attempt is made to reach a server.
    fn is_given_up(&self, _node: NodeId) -> bool {
        false
    }

    /// The primary node of a region, see [`crate::AddressMap`].
    fn node_of(&self, region: layout::RegionId) -> NodeId;

    /// Whether a region of this number exists, is open, and has its primary on a node.
    fn has_primary(&self, node: NodeId, region: layout::RegionId) -> bool {
        node.region() == region
    }

    /// Whether regions have replicas.
    #[inline]
    fn has_replicas(&self) -> bool {
        false
    }

    /// The replicas of a region that have all of it.
    fn replicas(&self, _region: layout::RegionId) -> Vec<layout::RegionId> {
        Vec::new()
    }

    /// The replicas of a region that get its writes: those that are being filled, too.
    fn written(&self, region: layout::RegionId) -> Vec<layout::RegionId> {
        self.replicas(region)
    }

    /// The regions that a memory server which has returned is to be filled with, and the names of
    /// their replicas there.
    fn unfilled(&self, _node: NodeId) -> Vec<(layout::RegionId, layout::RegionId)> {
        Vec::new()
    }

    /// Whether the server of a region has died, and no replica was promoted yet: only writes are
    /// possible, and locks in it have ended.
    #[inline]
    fn is_closed(&self, _region: layout::RegionId) -> bool {
        false
    }

    /// The replicas of these words are written beside them: see [`crate::AddressMap`].
    fn write_beside(&self, _first: GlobalPtr, _words: u64) {}

    /// Whether no change of the catalog may begin: see [`crate::AddressMap::defers_changes`].
    #[inline]
    fn defers_changes(&self) -> bool {
        false
    }

    /// Whether the server with these words has died, and no replica was promoted yet, or a server
    /// is being filled. Nothing that takes locks begins then.
    #[inline]
    fn is_paused(&self) -> bool {
        false
    }

    /// Whether a work of upkeep on this endpoint was undone, because a memory server has died. It
    /// holds no lock any more, and its batches are refused.
    fn is_undone(&self) -> bool {
        false
    }

    /// Counts the traffic of this endpoint.
    fn counters(&self) -> &Counters;
}

/// The world around a protocol: the only clock, randomness and tasks that protocols use.
pub trait Env: Fabric + Clone + 'static {
    /// Whether failure points and mutants do anything: in simulated worlds alone.
    const IS_SIMULATED: bool = false;

    /// Nanoseconds since some fixed moment; monotonic.
    fn now_ns(&self) -> u64;

    fn sleep_ns(&self, duration_ns: u64) -> impl Future<Output = ()>;

    /// Lets other tasks run, between two attempts of a loop that waits for another task.
    fn yield_now(&self) -> impl Future<Output = ()>;

    fn random(&self) -> u64;

    /// Runs a detached task.
    fn spawn(&self, task: impl Future<Output = ()> + 'static);

    /// Reports that a failure point was reached. Does nothing in production.
    fn reach(&self, point: impl FailurePoint) -> impl Future<Output = ()>;

    /// Whether this world removes the guard `_name`, to show that a test notices.
    #[inline]
    fn mutant(&self, _mutant: Mutant) -> bool {
        false
    }

    /// Tells a simulated world what a transaction does. Elsewhere nothing is called.
    #[inline]
    fn note<'a>(&self, _note: impl FnOnce() -> Note<'a>) {}

    /// Whether [`Env::note`] does anything, for what must be collected for a note.
    #[inline]
    fn takes_notes(&self) -> bool {
        false
    }

    /// This endpoint for one work of upkeep, which holds locks and must not stop half way: lost
    /// batches are repeated ([`Insistent`](crate::Insistent)), and those that others must complete
    /// or undo are written to the journal. In worlds whose engine is not compiled for it, the
    /// endpoint itself.
    fn for_upkeep(&self, _journal: Option<JournalOf<Self>>) -> Self {
        self.clone()
    }

    /// Whether this node's memory must be treated as full. Only simulated worlds return `true`.
    #[inline]
    fn refuses_memory(&self) -> bool {
        false
    }
}
