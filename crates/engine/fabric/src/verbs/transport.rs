//! The RDMA transport of an engine thread, over connections of its own or shared ones.

use super::connections::Connections;
use super::members::Owner;
use super::{CompletionQueue, Place, Registered, VerbsConfig, VerbsError};
use crate::address_map::AddressMap;
use crate::batch::Batch;
use crate::remote::bell::Bell;
use crate::remote::{Call, Outcome, Ticket, Transport};
use layout::NodeId;
use rustix::event::{PollFd, PollFlags};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard};

/// Connections to each memory server, and to each called compute server, of this thread or shared.
pub struct VerbsTransport {
    connections: Arc<Mutex<Connections>>,
    /// This thread's index among the threads that share the connections.
    member: u32,
    bell: Arc<Bell>,
    addresses: AddressMap,
    queue: Arc<CompletionQueue>,
    /// The control connections, which a sleeping thread polls.
    controls: Vec<Arc<TcpStream>>,
    ended: Vec<(Ticket, Outcome)>,
}

impl VerbsTransport {
    /// Connects to all servers.
    ///
    /// # Errors
    /// The first server that cannot be reached, or an error of this side's device.
    ///
    /// # Panics
    /// If a peer is not a compute server.
    pub fn connect(config: &VerbsConfig) -> Result<Self, VerbsError> {
        Self::of(Arc::new(Mutex::new(Connections::connect(config)?)))
    }

    /// Connects a memory server to itself for its services, so that the card executes their atomics
    /// too. The server is `node` of `server_count`, and owns `region`.
    pub fn within(
        place: &Place,
        node: NodeId,
        server_count: u16,
        region: &Arc<Registered>,
    ) -> Result<Self, VerbsError> {
        let connections = Connections::within(place, node, server_count, region)?;
        Self::of(Arc::new(Mutex::new(connections)))
    }

    /// Joins existing connections.
    pub(super) fn of(connections: Arc<Mutex<Connections>>) -> Result<Self, VerbsError> {
        let failed = |error| VerbsError::system("make what wakes a thread", error);
        let bell = Arc::new(Bell::new().map_err(failed)?);
        let mut core = lock(&connections);
        let member = core.members.join(bell.clone());
        let (addresses, queue) = (core.addresses().clone(), core.queue().clone());
        drop(core);
        let (controls, ended) = (Vec::new(), Vec::new());
        Ok(Self { connections, member, bell, addresses, queue, controls, ended })
    }

    /// Why the connection to `node` was lost; `None` if it was not.
    pub fn lost(&self, node: NodeId) -> Option<String> {
        lock(&self.connections).lost(node).map(str::to_owned)
    }

    fn owner(&self, ticket: Ticket) -> Owner {
        Owner { member: self.member, ticket }
    }
}

/// Panics if another thread that shares the connections has panicked, as each of them should then.
pub(super) fn lock(connections: &Mutex<Connections>) -> MutexGuard<'_, Connections> {
    connections.lock().expect("no thread that shares the connections panics")
}

impl Drop for VerbsTransport {
    fn drop(&mut self) {
        // After a panic elsewhere no thread uses the members any more.
        if let Ok(mut core) = self.connections.lock() {
            core.members.leave(self.member);
        }
    }
}

impl Transport for VerbsTransport {
    fn is_coherent(&self) -> bool {
        false
    }

    fn addresses(&mut self) -> &AddressMap {
        &self.addresses
    }

    fn post(&mut self, ticket: Ticket, batch: Batch, now_ns: u64) {
        lock(&self.connections).post(self.owner(ticket), batch, now_ns);
    }

    fn call(&mut self, ticket: Ticket, call: Call, now_ns: u64) {
        lock(&self.connections).call(self.owner(ticket), call, now_ns);
    }

    fn progress(&mut self, now_ns: u64, complete: &mut impl FnMut(Ticket, Outcome)) {
        let mut core = lock(&self.connections);
        core.progress(now_ns);
        core.members.take(self.member, &mut self.ended);
        drop(core);
        self.ended.drain(..).for_each(|(ticket, outcome)| complete(ticket, outcome));
    }

    fn arm(&mut self) -> bool {
        self.bell.arm();
        let mut core = lock(&self.connections);
        self.controls.clear();
        self.controls.extend(core.controls().cloned());
        core.arm() | core.members.has_ended(self.member)
    }

    fn disarm(&mut self) {
        self.bell.disarm();
        self.controls.clear();
        lock(&self.connections).disarm();
    }

    fn descriptors<'a>(&'a self, to: &mut Vec<PollFd<'a>>) {
        to.push(PollFd::from_borrowed_fd(self.queue.as_fd(), PollFlags::IN));
        to.push(PollFd::from_borrowed_fd(self.bell.as_fd(), PollFlags::IN));
        to.extend(self.controls.iter().map(|control| PollFd::new(&**control, PollFlags::IN)));
    }

    fn next_deadline_ns(&self) -> Option<u64> {
        lock(&self.connections).next_deadline_ns()
    }

    fn trouble(&self, node: NodeId) -> Option<String> {
        self.lost(node)
    }

    /// A queue pair that is lost stays lost: its user connects again, with other endpoints.
    fn is_given_up(&self, node: NodeId) -> bool {
        self.lost(node).is_some()
    }
}
