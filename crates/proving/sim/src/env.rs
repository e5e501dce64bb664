//! An endpoint of a simulated world.

use crate::config::Carrier;
use crate::network::NANOSECOND_PS;
use crate::world::Shared;
use fabric::repeat::{Pauses, until_reached};
use fabric::{
    Batch, CallError, CallId, Counters, DynEnv, Env, Fabric, FabricError, FailurePoint, Mutant,
    Note, ReplicaOrder, ServiceId, Verb, replicas,
};
use layout::{GlobalPtr, NodeId, RegionId};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use std::task::{Context, Poll};

/// Before a memory server repeats a batch that a replica did not get.
const PAUSES: Pauses = Pauses { first_ns: 10_000, longest_ns: 1_000_000 };

/// An endpoint bound to a node, with counters and a kill group of its own; clones share both.
pub struct Endpoint(Rc<Own>);

struct Own {
    shared: Rc<Shared>,
    counters: Counters,
    node: NodeId,
    group: u32,
    /// Sessions without a call under way, with the last sequence number of each.
    idle_sessions: RefCell<Vec<CallId>>,
}

impl Clone for Endpoint {
    #[inline]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl Endpoint {
    pub(crate) fn new(shared: Rc<Shared>, node: NodeId, group: u32) -> Self {
        let idle_sessions = RefCell::default();
        Self(Rc::new(Own { shared, counters: Counters::default(), node, group, idle_sessions }))
    }

    /// The endpoint as the one type of world that the engine is compiled for where verbs take time.
    pub fn into_dyn(self) -> DynEnv {
        DynEnv::new(self)
    }

    pub fn node(&self) -> NodeId {
        self.0.node
    }

    /// Whether the endpoint's tasks were killed.
    pub fn is_killed(&self) -> bool {
        self.0.shared.core.borrow().is_dead(self.0.group)
    }

    /// Adds a line to the trace, if the run records one; has no other effect.
    pub fn note(&self, what: std::fmt::Arguments<'_>) {
        let core = &mut *self.0.shared.core.borrow_mut();
        core.trace.note(core.now_ns, self.0.node, what);
    }

    /// The task occupies its core for `duration_ns` from now on: its later posts leave later, its
    /// clock advances, and other tasks of its machine wait; a sleep of 0 ns waits for the end of
    /// that time. Only in worlds with [`crate::Machines`]; otherwise computing takes no time.
    pub fn compute_ns(&self, duration_ns: u64) {
        self.0.shared.core.borrow_mut().turns.spend(duration_ns * NANOSECOND_PS);
    }

    /// As [`Endpoint::compute_ns`], for `count` rows that are read or written without row verbs.
    pub fn compute_rows(&self, count: u64) {
        self.0.shared.core.borrow_mut().pay_for_rows(count);
    }

    pub(crate) fn group(&self) -> u32 {
        self.0.group
    }

    pub(crate) fn belongs_to(&self, shared: &Rc<Shared>) -> bool {
        Rc::ptr_eq(&self.0.shared, shared)
    }

    fn sleep(&self, duration_ns: u64) -> Sleep<'_> {
        let timer = self.0.shared.core.borrow_mut().start_timer(self.0.node, duration_ns);
        Sleep { shared: &self.0.shared, timer }
    }

    fn post_call(&self, node: NodeId, service: ServiceId, request: Vec<u8>) -> Answered<'_> {
        let idle = self.0.idle_sessions.borrow_mut().pop();
        let mut core = self.0.shared.core.borrow_mut();
        let mut id = idle.unwrap_or_else(|| CallId { session: core.calls.session(), sequence: 0 });
        id.sequence += 1;
        let number = core.post_call(id, self.0.group, node, service, request);
        Answered { own: &self.0, id, number }
    }

    /// A memory server of a cluster has only its own region and cannot reach others, except
    /// replicas of its regions.
    fn ensure_in_reach(&self, batch: &Batch) {
        let core = self.0.shared.core.borrow();
        let node = self.0.node;
        if core.nodes[usize::from(node.0)].services != self.0.group {
            return;
        }
        let is_replica_of_own = |place: RegionId| {
            let own = (0..core.config.server_words.len() as u16).map(RegionId);
            let mut own = own.filter(|&region| core.addresses.has_primary(node, region));
            own.any(|region| core.addresses.written(region).any(|replica| replica == place))
        };
        let is_in_reach = |verb: &Verb| {
            matches!(verb, Verb::Fence)
                || core.addresses.primary(verb.target().region()) == node
                || is_replica_of_own(verb.target().region())
        };
        assert!(
            batch.verbs().iter().all(is_in_reach),
            "a service of memory server {} touches another server's region",
            node.0
        );
    }

    /// Mutants may leave out fences; other worlds must not.
    fn ensure_ordered(&self, batch: &Batch) {
        if self.0.shared.core.borrow().config.mutants.is_empty() {
            let unordered = batch.unordered_write();
            assert!(unordered.is_none(), "a write needs a fence before it: {unordered:?}");
        }
    }

    /// Whether it is the endpoint of a memory server whose region has replicas: lost batches are
    /// repeated.
    fn is_replicating_service(&self) -> bool {
        let core = self.0.shared.core.borrow();
        let is_service = core.nodes[usize::from(self.0.node.0)].services == self.0.group;
        is_service && core.config.replica_count > 1 && !core.is_loading
    }

    async fn execute_once(&self, mut batch: Batch) -> Result<Batch, FabricError> {
        self.die_if_killed().await;
        let shared = &*self.0.shared;
        self.ensure_in_reach(&batch);
        self.ensure_ordered(&batch);
        self.address(&mut batch)?;
        self.0.counters.count_batch(&batch);
        if shared.core.borrow().is_loading {
            return shared.core.borrow_mut().load_batch(batch);
        }
        let flight = shared.core.borrow_mut().post(batch, self.0.node, self.0.group);
        let completion = Completion { shared, counters: &self.0.counters, flight: Some(flight) };
        let batch = completion.await?;
        if self.0.counters.is_tracing() {
            self.0.counters.trace_batch(&batch);
        }
        Ok(batch)
    }

    /// Addresses the batch to the places of its regions.
    fn address(&self, batch: &mut Batch) -> Result<(), FabricError> {
        if self.0.shared.core.borrow().config.replica_count > 1 {
            self.misaddress(batch);
        }
        let core = self.0.shared.core.borrow();
        if core.addresses.is_plain() { Ok(()) } else { replicas::address(batch, &core.addresses) }
    }

    /// Leaves out what replicas need. For mutants.
    fn misaddress(&self, batch: &mut Batch) {
        let is_ahead = batch.replica_order() == ReplicaOrder::Ahead;
        if is_ahead && self.mutant(Mutant::ReplicaUnfenced) {
            batch.set_replica_order(ReplicaOrder::Beside);
        }
        if self.mutant(Mutant::ReplicaUnwritten) {
            batch.set_replica_order(ReplicaOrder::Never);
        }
    }

    /// Calls the server of this number itself.
    async fn call_node(
        &self,
        node: NodeId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> Result<Vec<u8>, CallError> {
        self.die_if_killed().await;
        let request_bytes = request.len();
        let is_loading = self.0.shared.core.borrow().is_loading;
        let answer = match is_loading {
            true => self.0.shared.load_call(node, service, &request).await,
            false => self.post_call(node, service, request).await,
        };
        let answer_bytes = answer.as_ref().map_or(0, Vec::len);
        self.0.counters.count_call((request_bytes + answer_bytes) as u64);
        answer
    }

    /// Waits for ever if the endpoint was killed: a task outside its group uses it.
    async fn die_if_killed(&self) {
        if self.is_killed() {
            std::future::pending().await
        }
    }
}

/// An object that is bound to a node of a simulated world.
pub trait AsEndpoint {
    /// # Panics
    /// If it belongs to another world.
    fn endpoint(&self) -> &Endpoint;
}

impl AsEndpoint for Endpoint {
    fn endpoint(&self) -> &Endpoint {
        self
    }
}

impl AsEndpoint for DynEnv {
    fn endpoint(&self) -> &Endpoint {
        self.downcast_ref().expect("the endpoint is of a simulated world")
    }
}

impl Fabric for Endpoint {
    const IMMEDIATE: bool = false;

    #[inline]
    fn is_coherent(&self) -> bool {
        self.0.shared.carrier.is_coherent()
    }

    #[inline]
    fn is_serial(&self) -> bool {
        self.0.shared.carrier == Carrier::Server
    }

    async fn execute(&self, batch: Batch) -> Result<Batch, FabricError> {
        if !self.is_replicating_service() {
            return self.execute_once(batch).await;
        }
        until_reached(self, PAUSES, &batch, async |batch| self.execute_once(batch).await).await
    }

    async fn call(
        &self,
        node: NodeId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> Result<Vec<u8>, CallError> {
        let node = self.0.shared.core.borrow().addresses.server(node);
        self.call_node(node, service, request).await
    }

    async fn call_replica(
        &self,
        replica: RegionId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> Result<Vec<u8>, CallError> {
        self.call_node(self.node_of(replica), service, request).await
    }

    async fn settle(&self, region: RegionId) -> Result<(), FabricError> {
        let places: Vec<RegionId> = {
            let addresses = &self.0.shared.core.borrow().addresses;
            addresses.place(region).into_iter().chain(addresses.written(region)).collect()
        };
        let mut batch = Batch::new();
        for &place in &places {
            batch.read(GlobalPtr::new(place, 0), 1);
        }
        self.execute(batch).await?;
        let mut core = self.0.shared.core.borrow_mut();
        if !core.config.broken.settled {
            for place in places {
                let place = core.addresses.located(place);
                core.settle(self.0.group, place);
            }
        }
        Ok(())
    }

    fn is_given_up(&self, node: NodeId) -> bool {
        let core = self.0.shared.core.borrow();
        let has_heir = core.addresses.replicas(RegionId(node.0)).next().is_some();
        let is_lost = core.memory_is_dead(node) && !has_heir;
        is_lost || core.groups[self.0.group as usize].is_fenced
    }

    fn has_replicas(&self) -> bool {
        self.0.shared.core.borrow().config.replica_count > 1
    }

    fn replicas(&self, region: RegionId) -> Vec<RegionId> {
        self.0.shared.core.borrow().addresses.replicas(region).collect()
    }

    fn written(&self, region: RegionId) -> Vec<RegionId> {
        self.0.shared.core.borrow().addresses.written(region).collect()
    }

    fn unfilled(&self, node: NodeId) -> Vec<(RegionId, RegionId)> {
        self.0.shared.core.borrow().addresses.unfilled(node)
    }

    fn write_beside(&self, first: GlobalPtr, words: u64) {
        self.0.shared.core.borrow_mut().addresses.write_beside(first, words);
    }

    fn is_paused(&self) -> bool {
        self.0.shared.core.borrow().addresses.is_paused()
    }

    fn defers_changes(&self) -> bool {
        self.0.shared.core.borrow().addresses.defers_changes()
    }

    fn is_closed(&self, region: RegionId) -> bool {
        self.0.shared.core.borrow().addresses.place(region).is_none()
    }

    #[inline]
    fn node_of(&self, region: RegionId) -> NodeId {
        self.0.shared.core.borrow().addresses.primary(region)
    }

    fn has_primary(&self, node: NodeId, region: RegionId) -> bool {
        self.0.shared.core.borrow().addresses.has_primary(node, region)
    }

    #[inline]
    fn counters(&self) -> &Counters {
        &self.0.counters
    }
}

impl Env for Endpoint {
    const IS_SIMULATED: bool = true;

    fn now_ns(&self) -> u64 {
        let core = self.0.shared.core.borrow();
        let now_ns = core.now_ns + core.turns.spent_ns();
        core.nodes[usize::from(self.0.node.0)].clock.shows(now_ns)
    }

    async fn sleep_ns(&self, duration_ns: u64) {
        self.sleep(duration_ns).await;
    }

    async fn yield_now(&self) {
        let duration_ns = {
            let core = &mut *self.0.shared.core.borrow_mut();
            core.config.yield_ns.draw(&mut core.random)
        };
        self.sleep(duration_ns).await;
    }

    fn random(&self) -> u64 {
        self.0.shared.core.borrow_mut().nodes[usize::from(self.0.node.0)].random.next()
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.0.shared.spawn(self.0.group, Box::pin(task));
    }

    async fn reach(&self, point: impl FailurePoint) {
        self.die_if_killed().await;
        let (node, group) = (self.0.node, self.0.group);
        let hold_ns = self.0.shared.core.borrow_mut().arrive(point.name(), node, group);
        if let Some(duration_ns) = hold_ns {
            self.sleep(duration_ns).await;
        }
        self.die_if_killed().await;
    }

    fn refuses_memory(&self) -> bool {
        self.0.shared.core.borrow_mut().refuses_memory(self.0.node)
    }

    fn mutant(&self, mutant: Mutant) -> bool {
        let core = &mut *self.0.shared.core.borrow_mut();
        core.points.ask(mutant, &core.config)
    }

    fn note<'a>(&self, note: impl FnOnce() -> Note<'a>) {
        let core = &mut *self.0.shared.core.borrow_mut();
        core.shadow.note(core.now_ns, note());
    }

    fn takes_notes(&self) -> bool {
        self.0.shared.core.borrow().shadow.is_on()
    }
}

/// Waits for a batch. If it is dropped earlier, the world still executes the batch.
struct Completion<'a> {
    shared: &'a Shared,
    counters: &'a Counters,
    flight: Option<u32>,
}

impl Future for Completion<'_> {
    type Output = Result<Batch, FabricError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let flight = self.flight.expect("a completed future is not polled");
        let mut extra = self.shared.extra.borrow_mut();
        let result = self.shared.core.borrow_mut().poll_flight(flight, context.waker(), &mut extra);
        let Some(result) = result else {
            return Poll::Pending;
        };
        if !extra.is_empty() {
            self.counters.count_batch(&extra);
        }
        drop(extra);
        self.flight = None;
        Poll::Ready(result)
    }
}

impl Drop for Completion<'_> {
    fn drop(&mut self) {
        if let Some(flight) = self.flight {
            self.shared.core.borrow_mut().abandon(flight);
        }
    }
}

/// Waits for an answer.
struct Answered<'a> {
    own: &'a Own,
    id: CallId,
    number: u64,
}

impl Future for Answered<'_> {
    type Output = Result<Vec<u8>, CallError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = self.own.shared.core.borrow_mut().poll_call(self.number, context.waker());
        answer.map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for Answered<'_> {
    fn drop(&mut self) {
        self.own.shared.core.borrow_mut().abandon_call(self.number);
        self.own.idle_sessions.borrow_mut().push(self.id);
    }
}

/// Waits for a moment of virtual time.
struct Sleep<'a> {
    shared: &'a Shared,
    timer: u32,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let is_over = self.shared.core.borrow_mut().timers.poll(self.timer, context.waker());
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        self.shared.core.borrow_mut().timers.forget(self.timer);
    }
}
