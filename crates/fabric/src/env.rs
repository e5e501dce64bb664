//! The two traits between protocols and worlds.

use crate::batch::Batch;
use crate::counters::Counters;
use crate::error::{CallError, FabricError};
use crate::mutant::Mutant;
use crate::service::ServiceId;
use layout::{GlobalPtr, NodeId};
use std::future::Future;

/// A named point right after a remotely visible effect, where the simulator may hold, kill or reorder.
pub trait FailurePoint: Copy {
    /// The point's name, unique over all protocols: `commit::LocksHeld`.
    fn name(self) -> &'static str;
}

/// Verbs and calls.
pub trait Fabric {
    /// Whether every verb has completed before `execute` first returns: a world without waiting. Code
    /// that would hand a commit to a task of its own need not do so there.
    const IMMEDIATE: bool;

    /// Whether all memory is coherent with the CPUs that see it. Rows carry no checksum then.
    fn is_coherent(&self) -> bool;

    /// Whether all words of a verb are touched at one moment for all others. It is where the server's processor
    /// carries out all verbs of all others, one after another.
    #[inline]
    fn is_serial(&self) -> bool {
        false
    }

    /// Posts a batch and waits for all of it: one round trip (and one per fence).
    fn execute(&self, batch: Batch) -> impl Future<Output = Result<Batch, FabricError>>;

    /// As [`Self::execute`], without a future around it, for worlds where nothing waits.
    ///
    /// # Panics
    /// In all other worlds: ask [`Self::IMMEDIATE`] first.
    fn execute_now(&self, _batch: &mut Batch) -> Result<(), FabricError> {
        unreachable!("verbs of this world take time")
    }

    /// Hints that a verb of the next batch reads or writes these words. Worlds that reach memory
    /// through the processor's caches prefetch them, so that the cache misses of a batch overlap
    /// with each other and with posting the rest.
    #[inline]
    fn prefetch(&self, _at: GlobalPtr, _words: u32) {}

    /// Calls `service` on `node` and waits for its answer.
    fn call(
        &self,
        node: NodeId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> impl Future<Output = Result<Vec<u8>, CallError>>;

    /// The node that a region lives on: the first of its replicas, see [`crate::AddressMap`].
    fn node_of(&self, region: layout::RegionId) -> NodeId;

    /// What this endpoint has sent.
    fn counters(&self) -> &Counters;
}

/// The world around a protocol. Protocols know no other clock, randomness or threads.
pub trait Env: Fabric + Clone + 'static {
    /// Nanoseconds since some fixed moment; never goes back.
    fn now_ns(&self) -> u64;

    /// Waits.
    fn sleep_ns(&self, duration_ns: u64) -> impl Future<Output = ()>;

    /// Lets others run: between two tries of a loop that waits for somebody else.
    fn yield_now(&self) -> impl Future<Output = ()>;

    /// A random number.
    fn random(&self) -> u64;

    /// Runs a task that nobody waits for.
    fn spawn(&self, task: impl Future<Output = ()> + 'static);

    /// Announces that a failure point was reached. Nothing in production.
    fn reach(&self, point: impl FailurePoint) -> impl Future<Output = ()>;

    /// Whether a guard is removed in this world, to show that a test notices.
    #[inline]
    fn mutant(&self, _mutant: Mutant) -> bool {
        false
    }

    /// Whether this node's memory must be treated as full. Only simulated worlds ever say so.
    #[inline]
    fn refuses_memory(&self) -> bool {
        false
    }
}
