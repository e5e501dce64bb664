//! An engine thread's part in connections to all memory servers.

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
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// One connection to each memory server, of this thread alone or of several.
pub struct VerbsTransport {
    connections: Arc<Mutex<Connections>>,
    /// This thread's place among those that share them.
    member: u32,
    bell: Arc<Bell>,
    addresses: AddressMap,
    queue: Arc<CompletionQueue>,
    /// Those that a sleeping thread looks at.
    controls: Vec<Arc<TcpStream>>,
    ended: Vec<(Ticket, Outcome)>,
    /// From the engine's clock to that of the connections, which began before.
    ahead_ns: Option<u64>,
}

impl VerbsTransport {
    /// Connects to all servers.
    ///
    /// # Errors
    /// The first server that cannot be reached, or what this side's device refuses.
    pub fn connect(config: &VerbsConfig) -> Result<Self, VerbsError> {
        Self::of(Arc::new(Mutex::new(Connections::connect(config)?)))
    }

    /// A connection of a memory server with itself, for its services: what they swap, the card swaps. Of
    /// `server_count` servers this is `node`, which has `region`.
    pub fn within(
        place: &Place,
        node: NodeId,
        server_count: u16,
        region: &Arc<Registered>,
    ) -> Result<Self, VerbsError> {
        let connections = Connections::within(place, node, server_count, region)?;
        Self::of(Arc::new(Mutex::new(connections)))
    }

    fn of(connections: Arc<Mutex<Connections>>) -> Result<Self, VerbsError> {
        let failed = |error| VerbsError::system("make what wakes a thread", error);
        let bell = Arc::new(Bell::new().map_err(failed)?);
        let mut core = lock(&connections);
        let member = core.members.join(bell.clone());
        let (addresses, queue) = (core.addresses().clone(), core.queue().clone());
        drop(core);
        let (controls, ended) = (Vec::new(), Vec::new());
        Ok(Self { connections, member, bell, addresses, queue, controls, ended, ahead_ns: None })
    }

    /// Why the connection to `node` was lost, if it was.
    pub fn lost(&self, node: NodeId) -> Option<String> {
        lock(&self.connections).lost(node).map(str::to_owned)
    }

    /// The moment `now_ns` of the engine's clock, by that of the connections.
    fn moment(&mut self, now_ns: u64) -> u64 {
        let connections = &self.connections;
        let ahead = || lock(connections).now_ns().saturating_sub(now_ns);
        now_ns + *self.ahead_ns.get_or_insert_with(ahead)
    }

    fn owner(&self, ticket: Ticket) -> Owner {
        Owner { member: self.member, ticket }
    }
}

/// Poisoned connections are those of a thread that has panicked, as whoever shares them should.
fn lock(connections: &Mutex<Connections>) -> MutexGuard<'_, Connections> {
    connections.lock().expect("no thread that shares the connections panics")
}

impl Drop for VerbsTransport {
    fn drop(&mut self) {
        // After a panic elsewhere there is nobody to tell.
        if let Ok(mut core) = self.connections.lock() {
            core.members.leave(self.member);
        }
    }
}

impl Transport for VerbsTransport {
    const COHERENT: bool = false;

    fn addresses(&self) -> &AddressMap {
        &self.addresses
    }

    fn post(&mut self, ticket: Ticket, batch: Batch, now_ns: u64) {
        let (owner, now_ns) = (self.owner(ticket), self.moment(now_ns));
        lock(&self.connections).post(owner, batch, now_ns);
    }

    fn call(&mut self, ticket: Ticket, call: Call, now_ns: u64) {
        let (owner, now_ns) = (self.owner(ticket), self.moment(now_ns));
        lock(&self.connections).call(owner, call, now_ns);
    }

    fn progress(&mut self, now_ns: u64, complete: &mut impl FnMut(Ticket, Outcome)) {
        let now_ns = self.moment(now_ns);
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
        lock(&self.connections).disarm();
    }

    fn descriptors<'a>(&'a self, to: &mut Vec<PollFd<'a>>) {
        to.push(PollFd::from_borrowed_fd(self.queue.as_fd(), PollFlags::IN));
        to.push(PollFd::from_borrowed_fd(self.bell.as_fd(), PollFlags::IN));
        to.extend(self.controls.iter().map(|control| PollFd::new(&**control, PollFlags::IN)));
    }

    fn next_deadline_ns(&self) -> Option<u64> {
        let deadline_ns = lock(&self.connections).next_deadline_ns()?;
        Some(deadline_ns.saturating_sub(self.ahead_ns.unwrap_or(0)))
    }

    fn trouble(&self, node: NodeId) -> Option<String> {
        self.lost(node)
    }
}

/// The connections of a process: each thread has its own up to a number, and from there on threads share them.
///
/// A card keeps the state of few hundred queue pairs close at hand, and a memory server has room for some more:
/// with a queue pair for each of many threads of many processes both would run out.
pub struct VerbsShare {
    config: VerbsConfig,
    queue_pairs_max: u32,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    connections: Vec<Weak<Mutex<Connections>>>,
    /// How many there have been; the number of the next.
    made: u64,
}

impl VerbsShare {
    /// At most `queue_pairs_max` queue pairs to each memory server, made by `config` but for the endpoint's number.
    pub fn new(config: VerbsConfig, queue_pairs_max: u32) -> Self {
        assert!(queue_pairs_max > 0, "a process needs a queue pair");
        Self { config, queue_pairs_max, used: Mutex::default() }
    }

    /// The port that connections go through.
    pub fn place(&self) -> &Place {
        &self.config.place
    }

    /// Connections for this thread: new ones, or those that the fewest threads use. Who has lost a server gets
    /// others.
    ///
    /// # Errors
    /// As [`VerbsTransport::connect`].
    pub fn connect(&self) -> Result<VerbsTransport, VerbsError> {
        let mut used = self.used.lock().expect("no holder panics");
        let of_use = |connections: &Arc<Mutex<Connections>>| !lock(connections).is_broken();
        let sound: Vec<_> =
            used.connections.iter().filter_map(Weak::upgrade).filter(of_use).collect();
        used.connections = sound.iter().map(Arc::downgrade).collect();
        if sound.len() >= self.queue_pairs_max as usize {
            let fewest = sound.into_iter().min_by_key(|shared| lock(shared).members.count());
            return VerbsTransport::of(fewest.expect("there is one at least"));
        }
        let config = VerbsConfig { endpoint: used.made, ..self.config.clone() };
        used.made += 1;
        let connections = Arc::new(Mutex::new(Connections::connect(&config)?));
        used.connections.push(Arc::downgrade(&connections));
        VerbsTransport::of(connections)
    }
}
