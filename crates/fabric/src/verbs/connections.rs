//! The connections of an engine thread, or of several that share them, to all memory servers, and to compute servers that
//! they call.

use super::flight::{Flight, Progress, Region, Ways};
use super::handshake::{Offer, introduce, is_closed};
use super::line::{COMPLETIONS_OF_LINE, FIRST_STAGING, Line, Told, serial_of};
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

/// Nanoseconds between two looks whether servers have closed their control connections.
const LOOK_EVERY_NS: u64 = 20_000_000;
/// In a token: it is of a message, not of a batch.
const MESSAGE: u32 = 1 << 30;

/// What connections to servers are made of.
#[derive(Clone)]
pub struct VerbsConfig {
    /// This side's port.
    pub place: Place,
    /// Who connects.
    pub caller: Caller,
    /// Compute servers that are called.
    pub peers: Vec<ServerAddress>,
    /// Whether those have to be there. If not, calls of one that is not are answered as unreachable.
    pub needs_peers: bool,
    /// Nanoseconds in which a server answers; else the connection to it is lost.
    pub answer_time_max_ns: u64,
}

impl VerbsConfig {
    /// Nanoseconds in which servers answer, if nobody says otherwise.
    pub const ANSWER_TIME_MAX_NS: u64 = 10_000_000_000;

    /// With the time that holds if nobody says otherwise, to memory servers alone.
    pub fn new(place: Place, caller: Caller) -> Self {
        let answer_time_max_ns = Self::ANSWER_TIME_MAX_NS;
        Self { place, caller, peers: Vec::new(), needs_peers: true, answer_time_max_ns }
    }
}

/// A call that waits for its answer.
struct Calling {
    owner: Owner,
    call: crate::service::CallId,
    node: NodeId,
    since_ns: u64,
}

/// A message under way, and the connection that it goes through.
struct Sending {
    range: Range,
    node: NodeId,
}

/// One connection to each memory server, and to each compute server that is called. One that is lost stays lost: whoever
/// wants it again connects anew.
///
/// What is kept of each connection stands at the server's place: memory servers by number, then those that are called.
pub(super) struct Connections {
    queue: Arc<CompletionQueue>,
    staging: Staging,
    ways: Ways,
    nodes: Vec<NodeId>,
    /// The far ends of connections with this process itself.
    far_ends: Vec<Line>,
    /// None for this process itself, and none to servers that are lost.
    controls: Vec<Option<Arc<TcpStream>>>,
    flights: Slab<Flight>,
    sendings: Slab<Sending>,
    calls: Vec<Calling>,
    /// Who uses them, and what has ended for each.
    pub(super) members: Members,
    completions: Vec<Completion>,
    words: Vec<u64>,
    /// Why connections were lost.
    reasons: Vec<Option<String>>,
    answer_time_max_ns: u64,
    next_look_ns: u64,
}

impl Connections {
    /// Connects to all servers.
    ///
    /// # Panics
    /// If a peer is none of the compute servers.
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

    /// Connects to the server at a place.
    fn open(
        &mut self,
        config: &VerbsConfig,
        number: usize,
        server: &ServerAddress,
    ) -> Result<(), VerbsError> {
        let mut line = Line::new(&config.place, &self.queue, number as u32 + 1, false)?;
        let offer = Offer { endpoint: line.endpoint(), region: Region::default() };
        let time_max = Duration::from_nanos(config.answer_time_max_ns);
        let (control, theirs) =
            introduce(server.address, &config.caller.hello(server), &offer, time_max)?;
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

    /// Room for the ways to so many memory servers, and to `peers`.
    fn without_ways(
        place: &Place,
        server_count: u16,
        peers: Vec<NodeId>,
    ) -> Result<Self, VerbsError> {
        let nodes: Vec<NodeId> = (0..server_count).map(NodeId).chain(peers).collect();
        let count = nodes.len();
        // Two: within a server, both ends tell this queue.
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
            next_look_ns: 0,
        })
    }

    pub(super) fn queue(&self) -> &Arc<CompletionQueue> {
        &self.queue
    }

    pub(super) fn addresses(&self) -> &AddressMap {
        &self.ways.addresses
    }

    /// Becomes readable when a server is gone, one for each server that is not.
    pub(super) fn controls(&self) -> impl Iterator<Item = &Arc<TcpStream>> {
        self.controls.iter().flatten()
    }

    /// The place of a server.
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

    /// Posts the next wave of a flight, or ends it.
    fn go_on(&mut self, token: u32) {
        let flight = self.flights.get_mut(token).expect("it is under way");
        if flight.go_on(token, &mut self.ways, &mut self.staging) == Progress::Ended {
            let flight = self.flights.take(token).expect("it was under way");
            self.members.end(flight.owner, Outcome::Batch(flight.outcome(), 0));
        }
    }

    /// The completion of a wave from one server has come, or never will.
    fn wave_told(&mut self, token: u32, node: NodeId, failure: Option<FabricError>) {
        let Some(flight) = self.flights.get_mut(token) else { return };
        flight.waits_for.retain(|&other| other != node);
        flight.failure = flight.failure.take().or(failure);
        if flight.waits_for.is_empty() {
            flight.end_wave(&mut self.staging);
            self.go_on(token);
        }
    }

    /// Everything under way on the connection to the server at `place` ends, and so does everything later.
    fn lose(&mut self, place: usize, reason: impl FnOnce() -> String) {
        // With the queue pair the card's access to this side's memory ends.
        let Some(line) = self.ways.lines[place].take() else { return };
        drop(line);
        let node = self.nodes[place];
        self.reasons[place] = Some(reason());
        if let Some(control) = self.controls[place].take() {
            // Threads that sleep hold it, too, and the server is to learn at once that its end is of no use any more.
            let _closed_is_fine = control.shutdown(Shutdown::Both);
        }
        let waiting =
            |(token, flight): (u32, &Flight)| flight.waits_for.contains(&node).then_some(token);
        let tokens: Vec<u32> = self.flights.iter().filter_map(waiting).collect();
        for token in tokens {
            self.wave_told(token, node, Some(FabricError::Unreachable(node)));
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

    /// Posts what waits, on all connections; those that refuse are lost.
    fn flush(&mut self) {
        for place in 0..self.ways.lines.len() {
            let Some(line) = &mut self.ways.lines[place] else { continue };
            if let Err(error) = line.flush() {
                self.lose(place, || error.to_string());
            }
        }
    }

    fn poll(&mut self) {
        // An error of the queue itself shows with every connection: none makes progress, and all are given up.
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
        match line.told(completion.id) {
            Told::Nothing => {}
            Told::Sent(token) if token & MESSAGE != 0 => {
                if let Some(sending) = self.sendings.take(token & !MESSAGE) {
                    self.staging.give_back(sending.range);
                }
            }
            Told::Sent(token) => self.wave_told(token, self.nodes[place], None),
            Told::Arrived(slot) => match line.arrived(slot, completion.bytes) {
                Ok(None) => {}
                Ok(Some(Message::Answer { id, answer })) => {
                    // Nobody waits for an answer that comes twice.
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

    /// Gives up servers that have closed their control connection, or do not answer in time.
    fn look(&mut self, now_ns: u64) {
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

    /// The moment at which the oldest of what is under way is overdue.
    pub(super) fn next_deadline_ns(&self) -> Option<u64> {
        let flights = self.flights.iter().map(|(_, flight)| flight.since_ns);
        let oldest_ns = flights.chain(self.calls.iter().map(|call| call.since_ns)).min();
        Some(oldest_ns? + self.answer_time_max_ns + 1)
    }

    pub(super) fn post(&mut self, owner: Owner, batch: Batch, now_ns: u64) {
        let token = self.flights.add(Flight::new(owner, batch, now_ns));
        self.go_on(token);
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

    /// Posts what waits, and learns what has ended.
    pub(super) fn progress(&mut self, now_ns: u64) {
        self.flush();
        self.poll();
        if !self.completions.is_empty() {
            let completions = std::mem::take(&mut self.completions);
            completions.iter().for_each(|completion| self.handle(completion));
            self.completions = completions;
            self.completions.clear();
            // What waited for room, and the next waves.
            self.flush();
        }
        if now_ns >= self.next_look_ns {
            self.next_look_ns = now_ns + LOOK_EVERY_NS;
            self.look(now_ns);
        }
    }

    /// Has the next completion make the queue's descriptor readable. Whether something came meanwhile.
    pub(super) fn arm(&mut self) -> bool {
        let is_armed = self.queue.arm().is_ok();
        self.poll();
        !is_armed || !self.completions.is_empty()
    }

    /// A member is awake. Whoever still sleeps is woken as before: the event that this one took may have been its.
    pub(super) fn disarm(&mut self) {
        self.queue.quiet();
        self.next_look_ns = 0;
        if self.members.is_any_asleep() {
            // One that cannot be armed is looked at when the longest sleep is over.
            let _looked_at_later = self.queue.arm();
        }
    }
}

impl Region {
    /// The region that `memory` is.
    pub(super) fn of(memory: &Registered) -> Self {
        Self { address: memory.memory_address(), key: memory.remote_key(), bytes: memory.bytes() }
    }
}

/// Sends the words of a message. Returns the staging memory that they stand in until the completion of `token`.
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
    line.tell_last(token);
    Ok(range)
}
