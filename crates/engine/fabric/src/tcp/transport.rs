//! The TCP connections of an engine thread to all memory servers, and to compute servers that it
//! calls.

use crate::address_map::AddressMap;
use crate::batch::Batch;
use crate::clock;
use crate::error::CallError;
use crate::identity::named;
use crate::local::LocalWorld;
use crate::port::wait_ready;
use crate::remote::{Call, Caller, Outcome, ServerAddress, Ticket, Transport};
use crate::shared_map::{AddressMapCopy, SharedAddressMap};
use crate::tcp::frame::CALL_BYTES_MAX;
use crate::tcp::link::{Link, Sink};
use crate::tcp::request::weight;
use crate::tcp::spread::{FRAME_WEIGHT_MAX, OwnMemory, Servers, Spreads};
use crate::tcp::tls::TlsKeys;
use crate::verb::Verb;
use layout::{GlobalPtr, NodeId, RegionId};
use rustix::event::PollFd;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Configuration of the connections of one engine thread.
#[derive(Clone, Debug)]
pub struct TcpConfig {
    /// The caller; every message carries its epoch.
    pub caller: Caller,
    /// Compute servers to call.
    pub peers: Vec<ServerAddress>,
    /// Whether these must be running. If not, calls to one that does not run fail as unreachable.
    pub needs_peers: bool,
    /// Nanoseconds without an answer after which the connection to a server is lost.
    pub answer_time_max_ns: u64,
    /// Time-out of one attempt to connect, in nanoseconds.
    pub connect_time_max_ns: u64,
    /// Attempts to connect, at the start and after each loss; when all have failed, the server
    /// stays lost until [`TcpTransport::set_server`].
    pub attempts_max: u32,
    /// The servers of each region; `None` if region n is on server n and nowhere else.
    pub addresses: Option<SharedAddressMap>,
}

impl TcpConfig {
    /// A configuration with default time-outs.
    pub fn new(caller: Caller) -> Self {
        Self {
            addresses: None,
            caller,
            peers: Vec::new(),
            needs_peers: true,
            answer_time_max_ns: Self::ANSWER_TIME_MAX_NS,
            connect_time_max_ns: Self::CONNECT_TIME_MAX_NS,
            attempts_max: Self::ATTEMPTS_MAX,
        }
    }

    /// Names no memory servers that have died.
    pub fn leave_out_dead(&mut self) {
        self.renew_servers();
        if let Some(map) = self.addresses.as_ref().map(SharedAddressMap::copy) {
            // Those that are empty may come and go: nobody waits for them.
            self.caller.servers.retain(|server| map.is_used(server.node));
        }
    }

    /// Names the servers that have taken the place of others.
    fn renew_servers(&mut self) {
        let known = self.addresses.as_ref().map(SharedAddressMap::servers);
        for server in known.unwrap_or_default() {
            self.caller.servers.retain(|before| before.node != server.node);
            self.caller.servers.push(server);
        }
        self.caller.servers.sort_by_key(|server| server.node);
    }

    /// Default of `answer_time_max_ns`.
    pub const ANSWER_TIME_MAX_NS: u64 = 5_000_000_000;
    /// Default of `connect_time_max_ns`.
    pub const CONNECT_TIME_MAX_NS: u64 = 2_000_000_000;
    /// Default of `attempts_max`.
    pub const ATTEMPTS_MAX: u32 = 5;
}

/// A server that was unreachable at the start.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{} at {address} cannot be reached: {reason}", named(*node))]
pub struct ConnectError {
    pub node: NodeId,
    pub address: SocketAddr,
    /// The error of the server or the system.
    pub reason: String,
}

/// One connection to each memory server, and to each called compute server.
///
/// A connection is lost when the peer closes it, refuses a message, sends an invalid answer, or
/// does not answer in time. All requests in flight then fail as unreachable, and so do requests
/// that are posted without a connection. Meanwhile a bounded number of attempts is made to
/// reconnect to the same server, not to a successor: a restarted server has another identity and
/// refuses. With the handshake of the new connection the server closes the old one, so nothing that
/// was lost with it happens later.
pub struct TcpTransport {
    config: TcpConfig,
    /// `Some` if connections are encrypted.
    keys: Option<TlsKeys>,
    addresses: AddressMapCopy,
    /// This process's own memory, if it is a memory server with replicas.
    own: Option<OwnMemory>,
    /// Indexed by the node's number.
    links: Vec<Link>,
    /// Connections to compute servers.
    peers: Vec<Link>,
    spreads: Spreads,
    /// Batches and calls that ended before they were posted.
    ended: Vec<(Ticket, Outcome)>,
    /// Whether the engine has slept: connections may have been closed.
    must_read: bool,
}

impl TcpTransport {
    /// Connects to all servers and waits for their welcomes.
    ///
    /// Memory servers that the configuration does not name count as dead.
    ///
    /// # Errors
    /// The first server that cannot be reached.
    ///
    /// # Panics
    /// If a memory server's number is too high, or a peer is not a compute server.
    pub fn connect(config: TcpConfig) -> Result<Self, ConnectError> {
        Self::connect_by(config, None)
    }

    /// As [`TcpTransport::connect`], over encrypted connections, to servers with valid
    /// certificates.
    ///
    /// # Errors
    /// The first server that cannot be reached.
    ///
    /// # Panics
    /// As [`TcpTransport::connect`].
    pub fn connect_encrypted(config: TcpConfig, keys: TlsKeys) -> Result<Self, ConnectError> {
        Self::connect_by(config, Some(keys))
    }

    fn connect_by(config: TcpConfig, keys: Option<TlsKeys>) -> Result<Self, ConnectError> {
        for peer in &config.peers {
            assert!(peer.node.compute_server().is_some(), "peers are compute servers");
        }
        let peers = config.peers.iter().cloned().map(Link::new).collect();
        let mut transport = Self { peers, ..Self::of(config, keys, None) };
        transport.wait_open()?;
        Ok(transport)
    }

    /// The connections of a memory server with replicas to the others, for its services. Verbs to
    /// its own memory are executed at once, by this thread, which must be the one that serves the
    /// port: see [`TcpPort::of_replicas`](crate::TcpPort::of_replicas).
    ///
    /// It waits for nobody; [`TcpTransport::set_server`] tells servers that are unknown yet.
    pub fn of_memory_server(
        config: TcpConfig,
        keys: Option<TlsKeys>,
        node: NodeId,
        world: Arc<LocalWorld>,
    ) -> Self {
        let own = OwnMemory { node, world };
        Self { own: Some(own), ..Self::of(config, keys, Some(node)) }
    }

    /// Without connections to peers. `own` is the number of this memory server.
    fn of(config: TcpConfig, keys: Option<TlsKeys>, own: Option<NodeId>) -> Self {
        let addresses = config.addresses.clone().unwrap_or_else(|| {
            let count = config.caller.servers.len() as u16;
            SharedAddressMap::new(AddressMap::one_region_per_server(count))
        });
        let mut addresses = AddressMapCopy::new(addresses);
        Self {
            links: links(&config.caller.servers, addresses.get(), own),
            addresses,
            config,
            keys,
            own: None,
            peers: Vec::new(),
            spreads: Spreads::default(),
            ended: Vec::new(),
            must_read: true,
        }
    }

    /// Ends the connections to memory servers that have died: a host that has vanished does not say
    /// so.
    #[inline]
    fn leave_dead(&mut self, complete: &mut impl FnMut(Ticket, Outcome)) {
        let Some(map) = self.addresses.news() else { return };
        for link in &mut self.links {
            if !link.is_absent() && map.is_dead(link.node()) {
                let mut sink = Sink { spreads: &mut self.spreads, map, complete };
                link.lose("the server has died", 0, &mut sink);
                *link = Link::absent(link.node());
            }
        }
        self.follow_successors();
    }

    /// Connects to memory servers that have taken the place of others.
    #[cold]
    fn follow_successors(&mut self) {
        let servers = self.addresses.servers();
        let map = self.addresses.get();
        let living: Vec<ServerAddress> =
            servers.into_iter().filter(|server| !map.is_dead(server.node)).collect();
        living.into_iter().for_each(|server| self.renew_server(server));
    }

    /// Posts the next parts of batches for several servers.
    #[inline]
    fn advance(&mut self, complete: &mut impl FnMut(Ticket, Outcome)) {
        if !self.spreads.has_answered() {
            return;
        }
        let epoch = self.epoch();
        let mut servers = Servers {
            links: &mut self.links,
            map: self.addresses.get(),
            own: self.own.as_ref(),
            epoch,
        };
        self.spreads.advance(&mut servers, complete);
    }

    fn wait_open(&mut self) -> Result<(), ConnectError> {
        loop {
            let now_ns = clock::now_ns();
            self.progress(now_ns, &mut |_, _| unreachable!("nothing was posted"));
            let is_needed = |link: &Link| {
                let is_memory_server = link.node().compute_server().is_none();
                !link.is_absent() && (self.config.needs_peers || is_memory_server)
            };
            if let Some(link) = self.all().find(|link| link.is_lost() && is_needed(link)) {
                let (node, address) = (link.node(), link.server().address);
                return Err(ConnectError { node, address, reason: link.reason().to_owned() });
            }
            if self.all().all(|link| link.is_open() || link.is_lost()) {
                return Ok(());
            }
            let mut waited = Vec::new();
            self.descriptors_of(&mut waited, |link| !link.is_open() && !link.is_lost());
            let next_ns = self.next_deadline_ns().unwrap_or(u64::MAX);
            wait_ready(&mut waited, next_ns.saturating_sub(now_ns));
        }
    }

    fn all(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().chain(&self.peers)
    }

    /// The connection to server `node`.
    fn link(&self, node: NodeId) -> Option<&Link> {
        match node.compute_server() {
            None => self.links.get(usize::from(node.0)),
            Some(_) => self.peers.iter().find(|link| link.node() == node),
        }
    }

    fn link_mut(&mut self, node: NodeId) -> Option<&mut Link> {
        match node.compute_server() {
            None => self.links.get_mut(usize::from(node.0)),
            Some(_) => self.peers.iter_mut().find(|link| link.node() == node),
        }
    }

    /// Replaces a memory server that has restarted or moved: requests in flight to its predecessor
    /// fail as unreachable, and attempts to connect start again.
    ///
    /// # Panics
    /// If there is no server with this number.
    pub fn set_server(&mut self, server: ServerAddress) {
        let place = usize::from(server.node.0);
        let ended = &mut self.ended;
        let mut complete = |ticket, outcome| ended.push((ticket, outcome));
        let map = self.addresses.get();
        let mut sink = Sink { spreads: &mut self.spreads, map, complete: &mut complete };
        self.links[place].lose("the server has a successor", 0, &mut sink);
        self.links[place] = Link::new(server);
        // It may have died meanwhile.
        self.addresses.tell_again();
    }

    /// As [`TcpTransport::set_server`], if the server is not known yet, or is another one than the
    /// known one. A server whose number is too high is ignored.
    pub fn renew_server(&mut self, server: ServerAddress) {
        let is_own = self.own.as_ref().is_some_and(|own| own.node == server.node);
        let known = self.link(server.node).map(|link| link.server().identity);
        if !is_own && known.is_some_and(|known| known != server.identity) {
            self.set_server(server);
        }
    }

    /// Address, identity and region size of a server.
    ///
    /// # Panics
    /// If there is no server with this number.
    pub fn server(&self, node: NodeId) -> &ServerAddress {
        self.link(node).expect("there is such a server").server()
    }

    /// Why there is no connection to a server; `None` if there is one.
    pub fn lost(&self, node: NodeId) -> Option<&str> {
        let link = self.link(node)?;
        (!link.is_open()).then(|| link.reason())
    }

    #[inline]
    fn epoch(&self) -> u64 {
        self.config.caller.epoch.load(Ordering::Relaxed)
    }

    fn descriptors_of<'a>(&'a self, to: &mut Vec<PollFd<'a>>, wanted: impl Fn(&Link) -> bool) {
        let links = self.all().filter(|link| wanted(link));
        to.extend(links.filter_map(Link::descriptor));
    }
}

/// A connection to each memory server except `own`; absent ones to those that are not known.
fn links(servers: &[ServerAddress], map: &AddressMap, own: Option<NodeId>) -> Vec<Link> {
    let count = map.server_count();
    assert!(servers.iter().all(|server| server.node.0 < count), "servers are numbered from 0");
    let link = |node: NodeId| {
        let known = servers.iter().find(|server| server.node == node && own != Some(node));
        known.cloned().map_or(Link::absent(node), Link::new)
    };
    (0..count).map(|number| link(NodeId(number))).collect()
}

/// The only region that a batch goes to, if it fits into one frame.
#[inline]
fn only_region(batch: &Batch) -> Option<RegionId> {
    let region = batch.verbs().first()?.target().region();
    let mut words = 0;
    for verb in batch.verbs() {
        if verb.target().region() != region && !matches!(verb, Verb::Fence) {
            return None;
        }
        words += weight(verb);
    }
    (words <= FRAME_WEIGHT_MAX).then_some(region)
}

impl Transport for TcpTransport {
    fn is_coherent(&self) -> bool {
        true
    }

    fn is_serial(&self) -> bool {
        true
    }

    #[inline]
    fn addresses(&mut self) -> &AddressMap {
        self.addresses.get()
    }

    fn write_beside(&mut self, first: GlobalPtr, words: u64) {
        if self.addresses.get().has_replicas() {
            self.addresses.change(|map| map.write_beside(first, words));
        }
    }

    #[inline]
    fn post(&mut self, ticket: Ticket, batch: Batch, _now_ns: u64) {
        let epoch = self.epoch();
        let map = self.addresses.get();
        let region = only_region(&batch).filter(|it| usize::from(it.0) < map.region_count());
        let node = region.map(|region| map.host(region));
        match node.and_then(|node| self.links.get_mut(usize::from(node.0))) {
            Some(link) if link.is_open() => link.post_whole(ticket, batch, epoch),
            // This also reports any error.
            _ => self.spreads.add(ticket, batch),
        }
    }

    fn call(&mut self, ticket: Ticket, call: Call, _now_ns: u64) {
        let epoch = self.epoch();
        let error = match self.link_mut(call.node) {
            _ if call.request.len() > CALL_BYTES_MAX => CallError::Refused(format!(
                "the request has {} bytes, at most {CALL_BYTES_MAX} fit into a message",
                call.request.len()
            )),
            Some(link) if link.is_open() => return link.post_call(ticket, &call, epoch),
            _ => CallError::Unreachable(call.node),
        };
        self.ended.push((ticket, Outcome::Call(Err(error))));
    }

    #[inline]
    fn progress(&mut self, now_ns: u64, complete: &mut impl FnMut(Ticket, Outcome)) {
        for (ticket, outcome) in self.ended.drain(..) {
            complete(ticket, outcome);
        }
        // Send parts for several servers together with all other requests; verbs after a fence need
        // not wait for the next turn.
        self.leave_dead(complete);
        self.advance(complete);
        let must_read = std::mem::take(&mut self.must_read);
        let mut sink = Sink { spreads: &mut self.spreads, map: self.addresses.get(), complete };
        for link in self.links.iter_mut().chain(&mut self.peers) {
            link.progress(&self.config, self.keys.as_ref(), now_ns, must_read, &mut sink);
        }
        self.advance(complete);
    }

    fn arm(&mut self) -> bool {
        self.must_read = true;
        !self.ended.is_empty()
    }

    fn disarm(&mut self) {}

    fn descriptors<'a>(&'a self, to: &mut Vec<PollFd<'a>>) {
        self.descriptors_of(to, |_| true);
    }

    fn next_deadline_ns(&self) -> Option<u64> {
        self.all().filter_map(|link| link.deadline_ns(&self.config)).min()
    }

    fn trouble(&self, node: NodeId) -> Option<String> {
        let why = self.lost(node)?;
        Some(format!("at {}, {why}", self.server(node).address))
    }

    fn is_given_up(&self, node: NodeId) -> bool {
        self.link(node).is_none_or(Link::is_lost)
    }
}

impl std::fmt::Debug for TcpTransport {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("TcpTransport")
            .field("servers", &self.config.caller.servers)
            .finish()
    }
}
