//! An endpoint of an engine: verbs and calls over a transport, as [`Fabric`] and [`Env`].

use crate::address_map::AddressMap;
use crate::batch::Batch;
use crate::counters::Counters;
use crate::env::{Env, Fabric, FailurePoint};
use crate::error::{CallError, FabricError};
use crate::random::step;
use crate::remote::engine::Shared;
use crate::remote::timers::TimerId;
use crate::remote::transport::{Call, Outcome, Ticket, Transport};
use crate::repeat::{Pauses, until_reached};
use crate::replicas;
use crate::service::{CallId, ServiceId};
use layout::{GlobalPtr, NodeId, RegionId};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Before a service repeats a batch that a replica did not get.
const PAUSES: Pauses = Pauses { first_ns: 100_000, longest_ns: 10_000_000 };

/// An endpoint of an [`crate::remote::Engine`]; clones share its counters.
pub struct RemoteEnv<T: Transport>(Rc<Own<T>>);

struct Own<T: Transport> {
    shared: Rc<Shared<T>>,
    /// Whether it is the endpoint of a memory server's services, whose lost batches are repeated.
    is_service: bool,
    /// Whether regions have replicas. Otherwise regions and servers are where they are named, and
    /// nothing is looked up.
    has_replicas: bool,
    counters: Counters,
    /// Sessions without a running call, with the last sequence number of each. A session has one
    /// call at a time, because a later call lets the server conclude that the caller has given up
    /// on the earlier one.
    idle_sessions: RefCell<Vec<CallId>>,
}

impl<T: Transport> Clone for RemoteEnv<T> {
    #[inline]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Transport> RemoteEnv<T> {
    pub(super) fn new(shared: Rc<Shared<T>>, is_service: bool) -> Self {
        let (counters, idle_sessions) = Default::default();
        let has_replicas = shared.transport.borrow_mut().addresses().has_replicas();
        Self(Rc::new(Own { shared, is_service, has_replicas, counters, idle_sessions }))
    }

    /// Looks something up in the present address map.
    #[inline]
    fn look_up<R>(&self, look: impl FnOnce(&AddressMap) -> R) -> R {
        look(self.0.shared.transport.borrow_mut().addresses())
    }

    /// Writes replicas, too.
    async fn execute_replicated(&self, mut batch: Batch) -> Result<Batch, FabricError> {
        self.look_up(|map| replicas::address(&mut batch, map))?;
        self.execute_once(batch).await
    }

    async fn execute_once(&self, batch: Batch) -> Result<Batch, FabricError> {
        self.0.counters.count_batch(&batch);
        let outcome = self.post(|transport, ticket, now_ns| transport.post(ticket, batch, now_ns));
        let Outcome::Batch(result, messages) = outcome.await else {
            unreachable!("a batch was posted")
        };
        self.0.counters.count_messages(messages);
        let batch = result?;
        if self.0.counters.is_tracing() {
            self.0.counters.trace_batch(&batch);
        }
        Ok(batch)
    }

    /// Calls the server of this number itself.
    async fn call_node(
        &self,
        node: NodeId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> Result<Vec<u8>, CallError> {
        let session = Session::take(&self.0, || self.draw());
        let request_bytes = request.len();
        let call = Call { id: session.id, node, service, request };
        let outcome = self.post(|transport, ticket, now_ns| transport.call(ticket, call, now_ns));
        let Outcome::Call(answer) = outcome.await else { unreachable!("a call was posted") };
        let answer_bytes = answer.as_ref().map_or(0, Vec::len);
        self.0.counters.count_call((request_bytes + answer_bytes) as u64);
        self.0.counters.count_messages(1);
        answer
    }

    /// Reads or configures the transport. `look` must not use the endpoint.
    pub fn with_transport<R>(&self, look: impl FnOnce(&mut T) -> R) -> R {
        look(&mut self.0.shared.transport.borrow_mut())
    }

    #[inline]
    fn post(&self, post: impl FnOnce(&mut T, Ticket, u64)) -> Flying<'_, T> {
        let shared = &*self.0.shared;
        let ticket = shared.flights.borrow_mut().start();
        post(&mut shared.transport.borrow_mut(), ticket, shared.turn_ns.get());
        Flying { shared, ticket: Some(ticket) }
    }

    fn draw(&self) -> u64 {
        let (state, number) = step(self.0.shared.seed.get());
        self.0.shared.seed.set(state);
        number
    }
}

impl<T: Transport> Fabric for RemoteEnv<T> {
    const IMMEDIATE: bool = false;

    #[inline]
    fn is_coherent(&self) -> bool {
        self.0.shared.is_coherent
    }

    #[inline]
    fn is_serial(&self) -> bool {
        self.0.shared.is_serial
    }

    async fn execute(&self, batch: Batch) -> Result<Batch, FabricError> {
        if !self.0.has_replicas {
            return self.execute_once(batch).await;
        }
        if !self.0.is_service {
            return self.execute_replicated(batch).await;
        }
        let post = async |batch| self.execute_replicated(batch).await;
        until_reached(self, PAUSES, &batch, post).await
    }

    async fn call(
        &self,
        node: NodeId,
        service: ServiceId,
        request: Vec<u8>,
    ) -> Result<Vec<u8>, CallError> {
        let node = if self.0.has_replicas { self.look_up(|map| map.server(node)) } else { node };
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
        let mut batch = Batch::new();
        self.look_up(|map| {
            let places = map.place(region).into_iter().chain(map.written(region));
            for place in places {
                batch.read(GlobalPtr::new(place, 0), 1);
            }
        });
        self.execute(batch).await.map(drop)
    }

    fn is_given_up(&self, node: NodeId) -> bool {
        let has_heir =
            |map: &AddressMap| map.is_dead(node) && map.replicas(RegionId(node.0)).next().is_some();
        !self.look_up(has_heir) && self.0.shared.transport.borrow().is_given_up(node)
    }

    #[inline]
    fn node_of(&self, region: RegionId) -> NodeId {
        if self.0.has_replicas { self.look_up(|map| map.primary(region)) } else { NodeId(region.0) }
    }

    fn has_primary(&self, node: NodeId, region: RegionId) -> bool {
        self.look_up(|map| map.has_primary(node, region))
    }

    fn has_replicas(&self) -> bool {
        self.0.has_replicas
    }

    fn replicas(&self, region: RegionId) -> Vec<RegionId> {
        self.look_up(|map| map.replicas(region).collect())
    }

    fn written(&self, region: RegionId) -> Vec<RegionId> {
        self.look_up(|map| map.written(region).collect())
    }

    fn unfilled(&self, node: NodeId) -> Vec<(RegionId, RegionId)> {
        self.look_up(|map| map.unfilled(node))
    }

    fn is_closed(&self, region: RegionId) -> bool {
        self.look_up(|map| map.place(region).is_none())
    }

    fn write_beside(&self, first: GlobalPtr, words: u64) {
        self.0.shared.transport.borrow_mut().write_beside(first, words);
    }

    fn is_paused(&self) -> bool {
        self.look_up(AddressMap::is_paused)
    }

    fn defers_changes(&self) -> bool {
        self.look_up(AddressMap::defers_changes)
    }

    #[inline]
    fn counters(&self) -> &Counters {
        &self.0.counters
    }
}

impl<T: Transport> Env for RemoteEnv<T> {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.0.shared.now_ns()
    }

    async fn sleep_ns(&self, duration_ns: u64) {
        let end_ns = self.now_ns().saturating_add(duration_ns);
        Sleep { shared: &self.0.shared, end_ns, timer: None }.await;
    }

    async fn yield_now(&self) {
        let mut is_back = false;
        std::future::poll_fn(|context| {
            if std::mem::replace(&mut is_back, true) {
                return Poll::Ready(());
            }
            let yields = &self.0.shared.yields;
            yields.set(yields.get() + 1);
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    #[inline]
    fn random(&self) -> u64 {
        self.draw()
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        let shared = &self.0.shared;
        shared.tasks.borrow_mut().add(&shared.ready, Box::pin(task));
    }

    #[inline]
    async fn reach(&self, _point: impl FailurePoint) {}
}

/// The session of a running call; idle again when the call has ended or its future is dropped.
struct Session<'a, T: Transport> {
    own: &'a Own<T>,
    id: CallId,
}

impl<'a, T: Transport> Session<'a, T> {
    fn take(own: &'a Own<T>, draw: impl FnOnce() -> u64) -> Self {
        let idle = own.idle_sessions.borrow_mut().pop();
        let last = idle.unwrap_or_else(|| CallId { session: draw(), sequence: 0 });
        Self { own, id: CallId { sequence: last.sequence + 1, ..last } }
    }
}

impl<T: Transport> Drop for Session<'_, T> {
    fn drop(&mut self) {
        self.own.idle_sessions.borrow_mut().push(self.id);
    }
}

/// Waits for a posted batch or call. Dropping it early leaves the batch or call to the transport.
struct Flying<'a, T> {
    shared: &'a Shared<T>,
    ticket: Option<Ticket>,
}

impl<T> Future for Flying<'_, T> {
    type Output = Outcome;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let ticket = self.ticket.expect("a completed future is not polled");
        let outcome = self.shared.flights.borrow_mut().poll(ticket, context);
        if outcome.is_ready() {
            self.ticket = None;
        }
        outcome
    }
}

impl<T> Drop for Flying<'_, T> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.shared.flights.borrow_mut().abandon(ticket);
        }
    }
}

struct Sleep<'a, T> {
    shared: &'a Shared<T>,
    end_ns: u64,
    timer: Option<TimerId>,
}

impl<T> Future for Sleep<'_, T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.shared.now_ns() >= self.end_ns {
            return Poll::Ready(());
        }
        let mut timers = self.shared.timers.borrow_mut();
        match self.timer {
            Some(timer) => timers.set_waker(timer, context.waker()),
            None => {
                let timer = timers.add(self.end_ns, context.waker());
                drop(timers);
                self.timer = Some(timer);
            }
        }
        Poll::Pending
    }
}

impl<T> Drop for Sleep<'_, T> {
    fn drop(&mut self) {
        if let Some(timer) = self.timer {
            self.shared.timers.borrow_mut().forget(timer);
        }
    }
}
