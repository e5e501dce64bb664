//! The connections of an engine thread, or of several that share them, to all memory servers, and
//! to compute servers that they call.
//!
//! Decision: docs/decisions/0103-threads-share-queue-pairs-beyond-a-number.md

use super::flight::{Flight, Progress, Region, Ways};
use super::handshake::{Offer, introduce, is_closed};
use super::line::{COMPLETIONS_OF_LINE, FIRST_STAGING, Line, Signal, serial_of};
use super::members::{Members, Owner};
use super::message::{self, Message, PIECE_BYTES};
use super::slab::Slab;
use super::staging::{Range, Staging};
use super::{Action, Completion, CompletionQueue, Piece, Place, Registered, VerbsError};
use crate::address_map::AddressMap;
use crate::batch::Batch;
use crate::error::{CallError, FabricError};
use crate::remote::{Call, Caller, Outcome, ServerAddress};
use layout::NodeId;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// Interval of checks whether servers have closed their control connections, in nanoseconds.
const CHECK_INTERVAL_NS: u64 = 20_000_000;
/// Bit of a token: it belongs to a message, not to a batch.
const MESSAGE: u32 = 1 << 30;

/// Configuration of connections to servers.
#[derive(Clone)]
pub struct VerbsConfig {
    /// This side's port.
    pub place: Place,
    pub caller: Caller,
    /// Compute servers to call.
    pub peers: Vec<ServerAddress>,
    /// Whether these must be running. If not, calls to one that does not run fail as unreachable.
    pub needs_peers: bool,
    /// Nanoseconds without an answer after which the connection to a server is lost.
    pub answer_time_max_ns: u64,
}

impl VerbsConfig {
    /// Default of `answer_time_max_ns`.
    pub const ANSWER_TIME_MAX_NS: u64 = 10_000_000_000;

    /// A configuration with the default time-out, for memory servers only.
    pub fn new(place: Place, caller: Caller) -> Self {
        let answer_time_max_ns = Self::ANSWER_TIME_MAX_NS;
        Self { place, caller, peers: Vec::new(), needs_peers: true, answer_time_max_ns }
    }
}

/// A call without an answer.
struct Calling {
    owner: Owner,
    call: crate::service::CallId,
    node: NodeId,
    since_ns: u64,
}

/// A message in flight, and its connection.
struct Sending {
    range: Range,
    node: NodeId,
}

/// One connection to each memory server, and to each called compute server. A lost one stays lost:
/// its user connects again.
///
/// All lists have one entry per server: memory servers by number, then called compute servers.
pub(super) struct Connections {
    queue: Arc<CompletionQueue>,
    staging: Staging,
    ways: Ways,
    nodes: Vec<NodeId>,
    /// The far ends of connections to this process itself.
    far_ends: Vec<Line>,
    /// `None` for this process itself and for lost servers.
    controls: Vec<Option<Arc<TcpStream>>>,
    flights: Slab<Flight>,
    sendings: Slab<Sending>,
    calls: Vec<Calling>,
    /// The threads that share the connections, and their completed operations.
    pub(super) members: Members,
    completions: Vec<Completion>,
    words: Vec<u64>,
    reasons: Vec<Option<String>>,
    answer_time_max_ns: u64,
    next_check_ns: u64,
}

impl Connections {
    /// Connects to all servers.
    ///
    /// # Panics
    /// If a peer is not a compute server.
    pub(super) fn connect(config: &VerbsConfig) -> Result<Self, VerbsError> {
        let servers = config.caller.servers.len() as u16;
        for peer in &config.peers {
            assert!(peer.node.compute_server().is_some(), "peers are compute servers");
        }
        let peers = config.peers.iter().map(|peer| peer.node).collect();
        let mut connections = Self::without_ways(&config.place, servers, peers)?;
        connections.answer_time_max_ns = config.answer_time_max_ns;
        for (number, server) in config.caller.servers.iter().chain(&config.peers).enumerate() {
            let is_needed = config.needs_peers || server.node.compute_server().is_none();
            match connections.open(config, number, server) {
                Err(error) if !is_needed => connections.reasons[number] = Some(error.to_string()),
                opened => opened?,
            }
        }
        Ok(connections)
    }

    /// Connects to the server with this index.
    fn open(
        &mut self,
        config: &VerbsConfig,
        number: usize,
        server: &ServerAddress,
    ) -> Result<(), VerbsError> {
        let mut line = Line::new(&config.place, &self.queue, number as u32 + 1, false)?;
        let offer = Offer { endpoint: line.endpoint(), region: Region::default() };
        let time_max = Duration::from_nanos(config.answer_time_max_ns);
        let hello = config.caller.hello(server);
        let (control, theirs) =
            introduce(server.address, (&config.caller.secret, &hello), &offer, time_max)?;
        line.connect(&theirs.endpoint)?;
        self.ways.lines[number] = Some(line);
        if let Some(region) = self.ways.regions.get_mut(number) {
            *region = theirs.region;
        }
        self.controls[number] = Some(Arc::new(control));
        Ok(())
    }

    /// As [`super::VerbsTransport::within`].
    pub(super) fn within(
        place: &Place,
        node: NodeId,
        server_count: u16,
        region: &Arc<Registered>,
    ) -> Result<Self, VerbsError> {
        let mut connections = Self::without_ways(place, server_count, Vec::new())?;
        let mut near = Line::new(place, &connections.queue, 1, false)?;
        let mut far = Line::new(place, &connections.queue, 2, true)?;
        near.connect(&far.endpoint())?;
        far.connect(&near.endpoint())?;
        let number = usize::from(node.0);
        connections.ways.lines[number] = Some(near);
        connections.ways.regions[number] = Region::of(region);
        connections.far_ends.push(far);
        Ok(connections)
    }

    /// Connections without lines yet, for `server_count` memory servers and `peers`.
    fn without_ways(
        place: &Place,
        server_count: u16,
        peers: Vec<NodeId>,
    ) -> Result<Self, VerbsError> {
        let nodes: Vec<NodeId> = (0..server_count).map(NodeId).chain(peers).collect();
        let count = nodes.len();
        // Two: within a server, both ends report to this queue.
        let completions = count.max(2) as u32 * COMPLETIONS_OF_LINE;
        let queue = CompletionQueue::new(&place.device, completions.min(place.limits.completions))?;
        Ok(Self {
            queue,
            staging: Staging::new(&place.device),
            ways: Ways {
                addresses: AddressMap::one_region_per_server(server_count),
                lines: (0..count).map(|_| None).collect(),
                regions: vec![Region::default(); usize::from(server_count)],
            },
            nodes,
            far_ends: Vec::new(),
            controls: (0..count).map(|_| None).collect(),
            flights: Slab::default(),
            sendings: Slab::default(),
            calls: Vec::new(),
            members: Members::default(),
            completions: Vec::new(),
            words: Vec::new(),
            reasons: vec![None; count],
            answer_time_max_ns: VerbsConfig::ANSWER_TIME_MAX_NS,
            next_check_ns: 0,
        })
    }

    pub(super) fn queue(&self) -> &Arc<CompletionQueue> {
        &self.queue
    }

    pub(super) fn addresses(&self) -> &AddressMap {
        &self.ways.addresses
    }

    /// Descriptors that become readable when a server ends, one for each connected server.
    pub(super) fn controls(&self) -> impl Iterator<Item = &Arc<TcpStream>> {
        self.controls.iter().flatten()
    }

    /// The index of a server.
    fn place_of(&self, node: NodeId) -> Option<usize> {
        self.nodes.iter().position(|&other| other == node)
    }

    /// Why the connection to `node` was lost, if it was.
    pub(super) fn lost(&self, node: NodeId) -> Option<&str> {
        self.reasons[self.place_of(node)?].as_deref()
    }

    /// Whether any connection was lost.
    pub(super) fn is_broken(&self) -> bool {
        self.reasons.iter().any(Option::is_some)
    }

    /// Posts the next wave of a flight, or completes it.
    fn continue_flight(&mut self, token: u32) {
        let flight = self.flights.get_mut(token).expect("it is under way");
        if flight.advance(token, &mut self.ways, &mut self.staging) == Progress::Ended {
            let flight = self.flights.take(token).expect("it was under way");
            self.members.end(flight.owner, Outcome::Batch(flight.outcome(), 0));
        }
    }

    /// The wave on one server is complete or has failed.
    fn record_wave(&mut self, token: u32, node: NodeId, failure: Option<FabricError>) {
        let Some(flight) = self.flights.get_mut(token) else { return };
        flight.waits_for.retain(|&other| other != node);
        flight.failure = flight.failure.take().or(failure);
        if flight.waits_for.is_empty() {
            flight.end_wave(&mut self.staging);
            self.continue_flight(token);
        }
    }

    /// Closes the connection to the server at `place`; all operations in flight and later ones
    /// fail.
    fn lose(&mut self, place: usize, reason: impl FnOnce() -> String) {
        // Closing the queue pair ends the card's access to local memory.
        let Some(line) = self.ways.lines[place].take() else { return };
        drop(line);
        let node = self.nodes[place];
        self.reasons[place] = Some(reason());
        if let Some(control) = self.controls[place].take() {
            // Sleeping threads hold it too, and the server must learn at once that this end is
            // closed.
            let _closed_is_fine = control.shutdown(Shutdown::Both);
        }
        let waiting =
            |(token, flight): (u32, &Flight)| flight.waits_for.contains(&node).then_some(token);
        let tokens: Vec<u32> = self.flights.iter().filter_map(waiting).collect();
        for token in tokens {
            self.record_wave(token, node, Some(FabricError::Unreachable(node)));
        }
        let sent = |(token, sending): (u32, &Sending)| (sending.node == node).then_some(token);
        let tokens: Vec<u32> = self.sendings.iter().filter_map(sent).collect();
        for token in tokens {
            let sending = self.sendings.take(token).expect("it is under way");
            self.staging.give_back(sending.range);
        }
        let members = &mut self.members;
        self.calls.retain(|call| {
            let is_lost = call.node == node;
            if is_lost {
                members.end(call.owner, Outcome::Call(Err(CallError::Unreachable(node))));
            }
            !is_lost
        });
    }

    /// Posts waiting requests on all connections; a connection that fails is lost.
    fn flush(&mut self) {
        for place in 0..self.ways.lines.len() {
            let Some(line) = &mut self.ways.lines[place] else { continue };
            if let Err(error) = line.flush() {
                self.lose(place, || error.to_string());
            }
        }
    }

    fn poll(&mut self) {
        // An error of the queue itself affects every connection: without progress, all time out.
        while matches!(self.queue.poll(&mut self.completions), Ok(1..)) {}
    }

    fn handle(&mut self, completion: &Completion) {
        let serial = serial_of(completion.id);
        let is_its =
            |line: &Option<Line>| line.as_ref().is_some_and(|line| line.serial() == serial);
        let Some(place) = self.ways.lines.iter().position(is_its) else { return };
        if !completion.is_success {
            let status = completion.status;
            return self
                .lose(place, || format!("the device ended the connection, status {status}"));
        }
        let line = self.ways.lines[place].as_mut().expect("it was found above");
        match line.decode(completion.id) {
            Signal::Nothing => {}
            Signal::Sent(token) if token & MESSAGE != 0 => {
                if let Some(sending) = self.sendings.take(token & !MESSAGE) {
                    self.staging.give_back(sending.range);
                }
            }
            Signal::Sent(token) => self.record_wave(token, self.nodes[place], None),
            Signal::Arrived(slot) => match line.arrived(slot, completion.bytes) {
                Ok(None) => {}
                Ok(Some(Message::Answer { id, answer })) => {
                    // A repeated answer has no waiting call.
                    let index = self.calls.iter().position(|call| call.call == id);
                    if let Some(index) = index {
                        let call = self.calls.swap_remove(index);
                        self.members.end(call.owner, Outcome::Call(answer));
                    }
                }
                Ok(Some(Message::Call { .. })) => {
                    self.lose(place, || "it calls its caller".to_owned())
                }
                Err(error) => self.lose(place, || error.to_string()),
            },
        }
    }

    /// Closes connections to servers that have closed their control connection, or do not answer in
    /// time.
    fn check_servers(&mut self, now_ns: u64) {
        for place in 0..self.controls.len() {
            if self.controls[place].as_ref().is_some_and(|control| is_closed(control)) {
                self.lose(place, || "it closed the connection".to_owned());
            }
        }
        let overdue_ns = now_ns.saturating_sub(self.answer_time_max_ns);
        let late_calls = self.calls.iter().filter(|call| call.since_ns < overdue_ns);
        let mut late: Vec<NodeId> = late_calls.map(|call| call.node).collect();
        let late_flights = self.flights.iter().filter(|(_, flight)| flight.since_ns < overdue_ns);
        late.extend(late_flights.flat_map(|(_, flight)| flight.waits_for.iter().copied()));
        for node in late {
            let milliseconds = self.answer_time_max_ns / 1_000_000;
            let place = self.place_of(node).expect("something was posted to it");
            self.lose(place, || format!("it has not answered for {milliseconds} ms"));
        }
    }

    /// When the oldest operation in flight is overdue.
    pub(super) fn next_deadline_ns(&self) -> Option<u64> {
        let flights = self.flights.iter().map(|(_, flight)| flight.since_ns);
        let oldest_ns = flights.chain(self.calls.iter().map(|call| call.since_ns)).min();
        Some(oldest_ns? + self.answer_time_max_ns + 1)
    }

    pub(super) fn post(&mut self, owner: Owner, batch: Batch, now_ns: u64) {
        let token = self.flights.add(Flight::new(owner, batch, now_ns));
        self.continue_flight(token);
    }

    pub(super) fn call(&mut self, owner: Owner, call: Call, now_ns: u64) {
        let node = call.node;
        let unreachable = Outcome::Call(Err(CallError::Unreachable(node)));
        let line = self.place_of(node).and_then(|place| self.ways.lines[place].as_mut());
        let Some(line) = line else { return self.members.end(owner, unreachable) };
        if call.request.len() as u64 > message::BODY_BYTES_MAX {
            let refusal = CallError::Refused(message::too_long("a request", call.request.len()));
            return self.members.end(owner, Outcome::Call(Err(refusal)));
        }
        message::call(call.id, call.service, &call.request, &mut self.words);
        let token = self.sendings.add(Sending { range: Range::default(), node });
        match send(&self.words, token | MESSAGE, line, &mut self.staging) {
            Ok(range) => {
                self.sendings.get_mut(token).expect("it was added above").range = range;
                self.calls.push(Calling { owner, call: call.id, node, since_ns: now_ns });
            }
            Err(error) => {
                self.sendings.take(token);
                let refusal = CallError::Refused(error.to_string());
                self.members.end(owner, Outcome::Call(Err(refusal)));
            }
        }
    }

    /// Posts waiting requests, and handles completions.
    pub(super) fn progress(&mut self, now_ns: u64) {
        self.flush();
        self.poll();
        if !self.completions.is_empty() {
            let completions = std::mem::take(&mut self.completions);
            completions.iter().for_each(|completion| self.handle(completion));
            self.completions = completions;
            self.completions.clear();
            // Requests that waited for room, and next waves.
            self.flush();
        }
        if now_ns >= self.next_check_ns {
            self.next_check_ns = now_ns + CHECK_INTERVAL_NS;
            self.check_servers(now_ns);
        }
    }

    /// Makes the queue's descriptor readable with the next completion. Returns whether there are
    /// completions already.
    pub(super) fn arm(&mut self) -> bool {
        let is_armed = self.queue.arm().is_ok();
        self.poll();
        !is_armed || !self.completions.is_empty()
    }

    /// Announces that a member is awake. Arms the queue again for members that still sleep: this
    /// one may have taken their event.
    pub(super) fn disarm(&mut self) {
        self.queue.quiet();
        self.next_check_ns = 0;
        if self.members.is_any_asleep() {
            // If this fails, they check after their longest sleep.
            let _looked_at_later = self.queue.arm();
        }
    }
}

impl Region {
    /// The region in `memory`.
    pub(super) fn of(memory: &Registered) -> Self {
        Self { address: memory.memory_address(), key: memory.remote_key(), bytes: memory.bytes() }
    }
}

/// Sends the words of a message. Returns their staging memory, in use until the completion of
/// `token`.
pub(super) fn send(
    words: &[u64],
    token: u32,
    line: &mut Line,
    staging: &mut Staging,
) -> Result<Range, VerbsError> {
    let bytes = words.len() as u64 * layout::WORD_BYTES;
    let range = staging.take(bytes)?;
    staging.put(range, 0, words);
    line.know(staging.memories());
    let memory = FIRST_STAGING + range.memory;
    for at in (0..bytes).step_by(PIECE_BYTES as usize) {
        let length = PIECE_BYTES.min(bytes - at) as u32;
        line.push(Action::Send, Piece { memory, offset: range.offset + at, bytes: length });
    }
    line.signal_last(token);
    Ok(range)
}
