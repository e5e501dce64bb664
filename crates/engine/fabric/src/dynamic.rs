//! A world behind a pointer.
//!
//! Protocols are generic over [`Env`] and are compiled once for each world. Where verbs take time,
//! an indirect call and a boxed future per batch cost little beside the round trip. All those
//! worlds share this one type, and the engine is compiled twice: for
//! [`LocalEnv`](crate::LocalEnv) and for [`DynEnv`]. See
//! docs/decisions/0291-the-engine-is-compiled-once-per-world.md.

use crate::batch::Batch;
use crate::counters::Counters;
use crate::env::{Env, Fabric, FailurePoint};
use crate::error::{CallError, FabricError};
use crate::insistent::{Copies, Insistent};
use crate::mutant::Mutant;
use crate::note::Note;
use crate::service::ServiceId;
use crate::upkeep::JournalOf;
use layout::{GlobalPtr, NodeId, RegionId};
use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// A future of some world.
type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// An endpoint of any world where verbs take time. Clones share the endpoint and its counters.
#[derive(Clone)]
pub struct DynEnv {
    env: Rc<dyn ObjectEnv>,
    copies: Copies,
    is_coherent: bool,
    is_serial: bool,
    has_replicas: bool,
    is_simulated: bool,
}

impl DynEnv {
    /// # Panics
    /// If verbs of the world complete before they return: [`Fabric::IMMEDIATE`] is false here.
    pub fn new<E: Env>(env: E) -> Self {
        const { assert!(!E::IMMEDIATE, "a world without waiting is compiled for itself") };
        let (is_coherent, is_serial) = (env.is_coherent(), env.is_serial());
        let has_replicas = env.has_replicas();
        let (env, copies) = (Rc::new(env), Copies::default());
        Self { env, copies, is_coherent, is_serial, has_replicas, is_simulated: E::IS_SIMULATED }
    }

    /// The same endpoint, but lost batches are repeated: see [`Insistent`].
    fn insisting(&self, journal: Option<JournalOf<Self>>) -> Self {
        let copies = self.copies.clone();
        let env = Rc::new(Insistent::new(self.clone(), journal, copies.clone()));
        Self { env, copies, ..*self }
    }

    /// The endpoint itself, if it is of this type.
    pub fn downcast_ref<E: Env>(&self) -> Option<&E> {
        let env: &dyn Any = &*self.env;
        env.downcast_ref()
    }
}

impl Fabric for DynEnv {
    const IMMEDIATE: bool = false;

    #[inline]
    fn is_coherent(&self) -> bool {
        self.is_coherent
    }

    #[inline]
    fn is_serial(&self) -> bool {
        self.is_serial
    }

    #[inline]
    fn execute(&self, batch: Batch) -> impl Future<Output = Result<Batch, FabricError>> {
        self.env.execute(batch)
    }

    #[inline]
    fn call(
        &self,
        node: NodeId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> impl Future<Output = Result<Vec<u8>, CallError>> {
        self.env.call(node, service, request)
    }

    fn call_replica(
        &self,
        replica: RegionId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> impl Future<Output = Result<Vec<u8>, CallError>> {
        self.env.call_replica(replica, service, request)
    }

    fn settle(&self, region: RegionId) -> impl Future<Output = Result<(), FabricError>> {
        self.env.settle(region)
    }

    fn is_given_up(&self, node: NodeId) -> bool {
        self.env.is_given_up(node)
    }

    #[inline]
    fn node_of(&self, region: RegionId) -> NodeId {
        self.env.node_of(region)
    }

    fn has_primary(&self, node: NodeId, region: RegionId) -> bool {
        self.env.has_primary(node, region)
    }

    #[inline]
    fn has_replicas(&self) -> bool {
        self.has_replicas
    }

    fn replicas(&self, region: RegionId) -> Vec<RegionId> {
        self.env.replicas(region)
    }

    fn written(&self, region: RegionId) -> Vec<RegionId> {
        self.env.written(region)
    }

    fn unfilled(&self, node: NodeId) -> Vec<(RegionId, RegionId)> {
        self.env.unfilled(node)
    }

    #[inline]
    fn is_closed(&self, region: RegionId) -> bool {
        self.has_replicas && self.env.is_closed(region)
    }

    fn write_beside(&self, first: GlobalPtr, words: u64) {
        if self.has_replicas {
            self.env.write_beside(first, words);
        }
    }

    #[inline]
    fn is_paused(&self) -> bool {
        self.has_replicas && self.env.is_paused()
    }

    fn defers_changes(&self) -> bool {
        self.has_replicas && self.env.defers_changes()
    }

    fn is_undone(&self) -> bool {
        self.env.is_undone()
    }

    #[inline]
    fn counters(&self) -> &Counters {
        self.env.counters()
    }
}

impl Env for DynEnv {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.env.now_ns()
    }

    #[inline]
    fn sleep_ns(&self, duration_ns: u64) -> impl Future<Output = ()> {
        self.env.sleep_ns(duration_ns)
    }

    #[inline]
    fn yield_now(&self) -> impl Future<Output = ()> {
        self.env.yield_now()
    }

    #[inline]
    fn random(&self) -> u64 {
        self.env.random()
    }

    #[inline]
    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.env.spawn(Box::pin(task));
    }

    #[inline]
    async fn reach(&self, point: impl FailurePoint) {
        if self.is_simulated {
            self.env.reach(point.name()).await;
        }
    }

    #[inline]
    fn mutant(&self, mutant: Mutant) -> bool {
        self.is_simulated && self.env.mutant(mutant)
    }

    #[inline]
    fn note<'a>(&self, note: impl FnOnce() -> Note<'a>) {
        if self.is_simulated {
            self.env.note(&note());
        }
    }

    #[inline]
    fn takes_notes(&self) -> bool {
        self.is_simulated && self.env.takes_notes()
    }

    #[inline]
    fn refuses_memory(&self) -> bool {
        self.is_simulated && self.env.refuses_memory()
    }

    fn for_upkeep(&self, journal: Option<JournalOf<Self>>) -> Self {
        self.insisting(journal)
    }
}

/// [`Env`] without generics.
trait ObjectEnv: Any {
    fn execute(&self, batch: Batch) -> Boxed<'_, Result<Batch, FabricError>>;
    fn call(
        &self,
        node: NodeId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> Boxed<'_, Result<Vec<u8>, CallError>>;
    fn call_replica(
        &self,
        replica: RegionId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> Boxed<'_, Result<Vec<u8>, CallError>>;
    fn settle(&self, region: RegionId) -> Boxed<'_, Result<(), FabricError>>;
    fn is_given_up(&self, node: NodeId) -> bool;
    fn node_of(&self, region: RegionId) -> NodeId;
    fn has_primary(&self, node: NodeId, region: RegionId) -> bool;
    fn replicas(&self, region: RegionId) -> Vec<RegionId>;
    fn written(&self, region: RegionId) -> Vec<RegionId>;
    fn unfilled(&self, node: NodeId) -> Vec<(RegionId, RegionId)>;
    fn is_closed(&self, region: RegionId) -> bool;
    fn write_beside(&self, first: GlobalPtr, words: u64);
    fn is_paused(&self) -> bool;
    fn defers_changes(&self) -> bool;
    fn is_undone(&self) -> bool;
    fn counters(&self) -> &Counters;
    fn now_ns(&self) -> u64;
    fn sleep_ns(&self, duration_ns: u64) -> Boxed<'_, ()>;
    fn yield_now(&self) -> Boxed<'_, ()>;
    fn random(&self) -> u64;
    fn spawn(&self, task: Boxed<'static, ()>);
    fn reach(&self, point: &'static str) -> Boxed<'_, ()>;
    fn mutant(&self, mutant: Mutant) -> bool;
    fn note(&self, note: &Note<'_>);
    fn takes_notes(&self) -> bool;
    fn refuses_memory(&self) -> bool;
}

/// A failure point by its name.
#[derive(Clone, Copy)]
struct Named(&'static str);

impl FailurePoint for Named {
    fn name(self) -> &'static str {
        self.0
    }
}

impl<E: Env> ObjectEnv for E {
    fn execute(&self, batch: Batch) -> Boxed<'_, Result<Batch, FabricError>> {
        Box::pin(Fabric::execute(self, batch))
    }

    fn call(
        &self,
        node: NodeId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> Boxed<'_, Result<Vec<u8>, CallError>> {
        Box::pin(Fabric::call(self, node, service, request))
    }

    fn call_replica(
        &self,
        replica: RegionId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> Boxed<'_, Result<Vec<u8>, CallError>> {
        Box::pin(Fabric::call_replica(self, replica, service, request))
    }

    fn settle(&self, region: RegionId) -> Boxed<'_, Result<(), FabricError>> {
        Box::pin(Fabric::settle(self, region))
    }

    fn is_given_up(&self, node: NodeId) -> bool {
        Fabric::is_given_up(self, node)
    }

    fn node_of(&self, region: RegionId) -> NodeId {
        Fabric::node_of(self, region)
    }

    fn has_primary(&self, node: NodeId, region: RegionId) -> bool {
        Fabric::has_primary(self, node, region)
    }

    fn replicas(&self, region: RegionId) -> Vec<RegionId> {
        Fabric::replicas(self, region)
    }

    fn written(&self, region: RegionId) -> Vec<RegionId> {
        Fabric::written(self, region)
    }

    fn unfilled(&self, node: NodeId) -> Vec<(RegionId, RegionId)> {
        Fabric::unfilled(self, node)
    }

    fn is_closed(&self, region: RegionId) -> bool {
        Fabric::is_closed(self, region)
    }

    fn write_beside(&self, first: GlobalPtr, words: u64) {
        Fabric::write_beside(self, first, words);
    }

    fn is_paused(&self) -> bool {
        Fabric::is_paused(self)
    }

    fn defers_changes(&self) -> bool {
        Fabric::defers_changes(self)
    }

    fn is_undone(&self) -> bool {
        Fabric::is_undone(self)
    }

    fn counters(&self) -> &Counters {
        Fabric::counters(self)
    }

    fn now_ns(&self) -> u64 {
        Env::now_ns(self)
    }

    fn sleep_ns(&self, duration_ns: u64) -> Boxed<'_, ()> {
        Box::pin(Env::sleep_ns(self, duration_ns))
    }

    fn yield_now(&self) -> Boxed<'_, ()> {
        Box::pin(Env::yield_now(self))
    }

    fn random(&self) -> u64 {
        Env::random(self)
    }

    fn spawn(&self, task: Boxed<'static, ()>) {
        Env::spawn(self, task);
    }

    fn reach(&self, point: &'static str) -> Boxed<'_, ()> {
        Box::pin(Env::reach(self, Named(point)))
    }

    fn mutant(&self, mutant: Mutant) -> bool {
        Env::mutant(self, mutant)
    }

    fn note(&self, note: &Note<'_>) {
        Env::note(self, || *note);
    }

    fn takes_notes(&self) -> bool {
        Env::takes_notes(self)
    }

    fn refuses_memory(&self) -> bool {
        Env::refuses_memory(self)
    }
}
