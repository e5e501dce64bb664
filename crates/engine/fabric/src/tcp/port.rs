//! The TCP port of a server.
//!
//! Decisions:
//! - docs/decisions/0078-few-connections-are-read-in-turn-many-are-polled.md
//! - docs/decisions/0079-a-lost-connection-ends-its-requests-and-is-replaced.md

use crate::env::Env;
use crate::guests::{GUEST_TIME_MAX, Guest, GuestLimits};
use crate::identity::Admission;
use crate::local::{LocalEnv, LocalWorld};
use crate::port::Port;
use crate::service::Services;
use crate::tcp::carry::{Carrier, Carry};
use crate::tcp::channel::Channel;
use crate::tcp::connection::{Connection, Name, Served};
use crate::tcp::desk::Desk;
use crate::tcp::replicating::ReplicatingCarrier;
use crate::tcp::tls::{Session, TlsKeys};
use crate::tcp::under_way::CallsUnderWay;
use crate::tell;
use layout::RegionId;
use rustix::event::{Timespec, epoll};
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Limit on the connections of callers that have proven the secret; further ones are refused.
pub const CONNECTIONS_MAX: u64 = 512;
/// Connections accepted between two rounds of serving, so that a flood leaves time for members.
const ACCEPTED_AT_ONCE: usize = 16;
/// Up to this many connections are all read in each round, with one system call each; above it,
/// `epoll` reports which of them are readable.
const DIRECT_COUNT_MAX: u64 = 3;
/// Rounds of direct reading between two polls for new connections. On busy processors a round may
/// take many milliseconds.
const POLL_ROUNDS: u32 = 16;
/// Events per poll; the next round takes the rest.
const EVENTS_AT_ONCE: usize = 64;
/// Name of the listener's events; events of connections are named by index.
const LISTENER: u64 = u64::MAX;

/// The connections of one server, used by its own thread only.
///
/// A connection holds at most one frame's worth of requests and a bounded number of answers. The
/// port stops reading from a caller that does not read its answers (back-pressure).
pub struct TcpPort<C = Carrier> {
    listener: TcpListener,
    /// `Some` if connections are encrypted.
    keys: Option<TlsKeys>,
    epoll: OwnedFd,
    /// Whether the last accept failed: the listener is not polled until the next look.
    is_accept_paused: bool,
    carrier: C,
    places: Vec<Option<Entry>>,
    /// Number of connections so far.
    entered: u64,
    /// Places that are in use.
    open: u64,
    /// Places of guests, in the order in which they entered.
    guests: Vec<usize>,
    /// Places of connections that linger, in the order in which they began.
    lingering: Vec<usize>,
    /// Number of open connections of members, for other threads.
    count: Arc<AtomicU64>,
    /// Indexes of connections to serve in this round.
    ready: Vec<usize>,
    rounds: u32,
}

struct Entry {
    connection: Connection,
    since: Instant,
}

impl TcpPort<Carrier> {
    /// Listens at `address` for callers that `admission` admits. Their verbs access the region of
    /// this node in `world`, their calls its services. With port 0 the system chooses one. Memory
    /// that other processes can map is refused.
    pub fn bind(
        address: impl ToSocketAddrs,
        world: Arc<LocalWorld>,
        admission: Arc<Admission>,
    ) -> io::Result<Self> {
        Self::bind_by(address, world, admission, None)
    }

    /// As [`TcpPort::bind`], over encrypted connections, for callers with a certificate of the
    /// cluster only.
    pub fn bind_encrypted(
        address: impl ToSocketAddrs,
        world: Arc<LocalWorld>,
        admission: Arc<Admission>,
        keys: TlsKeys,
    ) -> io::Result<Self> {
        Self::bind_by(address, world, admission, Some(keys))
    }

    fn bind_by(
        address: impl ToSocketAddrs,
        world: Arc<LocalWorld>,
        admission: Arc<Admission>,
        keys: Option<TlsKeys>,
    ) -> io::Result<Self> {
        if world.region_file(RegionId(admission.node.0)).is_some() {
            // Callers rely on being the only writers there.
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "memory that other processes can map is not served by messages; serve private memory",
            ));
        }
        Self::of(TcpListener::bind(address)?, Carrier::new(world, admission), keys)
    }

    /// The endpoint that executes the callers' verbs: its counters count them.
    pub fn endpoint(&self) -> &LocalEnv {
        self.carrier.env()
    }
}

impl<E: Env> TcpPort<ReplicatingCarrier<E>> {
    /// As [`TcpPort::bind`], for a memory server with replicas, encrypted if there are keys.
    /// Handlers of calls are tasks of `env`, whose engine serves this port.
    pub fn of_replicas(
        listener: TcpListener,
        world: Arc<LocalWorld>,
        admission: Arc<Admission>,
        keys: Option<TlsKeys>,
        (env, services): (E, Services<E>),
    ) -> io::Result<Self> {
        let calls = Desk::new(admission.clone(), env, services);
        let verbs = Carrier::new(world, admission);
        Self::of(listener, ReplicatingCarrier::new(verbs, calls), keys)
    }

    /// The endpoint that executes the callers' verbs: its counters count them.
    pub fn endpoint(&self) -> &LocalEnv {
        self.carrier.verbs().env()
    }

    /// The calls whose handlers run.
    pub fn under_way(&self) -> &CallsUnderWay {
        self.carrier.calls().under_way()
    }
}

impl<E: Env> TcpPort<Desk<E>> {
    /// Executes calls from `listener` of callers that `admission` admits, encrypted if there are
    /// keys. Handlers are tasks of `env`, whose engine serves this port
    /// ([`crate::Engine::attach`]). There is no region: verbs are refused.
    pub fn of_calls(
        listener: TcpListener,
        admission: Arc<Admission>,
        keys: Option<TlsKeys>,
        env: E,
        services: Services<E>,
    ) -> io::Result<Self> {
        Self::of(listener, Desk::new(admission, env, services), keys)
    }
}

impl<C: Carry> TcpPort<C> {
    fn of(listener: TcpListener, carrier: C, keys: Option<TlsKeys>) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        listen(&epoll, &listener)?;
        Ok(Self {
            listener,
            keys,
            epoll,
            is_accept_paused: false,
            carrier,
            places: Vec::new(),
            entered: 0,
            open: 0,
            guests: Vec::new(),
            lingering: Vec::new(),
            count: Arc::default(),
            ready: Vec::new(),
            rounds: 0,
        })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The number of open connections of callers that have proven the secret, kept up to date.
    pub fn connections(&self) -> &Arc<AtomicU64> {
        &self.count
    }

    /// Polls for readable connections, and accepts new ones.
    fn poll_sockets(&mut self) {
        self.ready.clear();
        if self.is_accept_paused {
            self.is_accept_paused = listen(&self.epoll, &self.listener).is_err();
        }
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut events = [const { MaybeUninit::uninit() }; EVENTS_AT_ONCE];
        let Ok((events, _)) = epoll::wait(&self.epoll, &mut events[..], Some(&now)) else { return };
        let mut connects = false;
        for event in events {
            match event.data.u64() {
                LISTENER => connects = true,
                place => self.ready.push(place as usize),
            }
        }
        if connects {
            self.accept();
        }
        self.end_late_handshakes();
        self.end_late_closes();
        tell::refused_before();
    }

    #[cold]
    fn accept(&mut self) {
        // The listener stays readable, so the next round accepts further ones.
        for _ in 0..ACCEPTED_AT_ONCE {
            let (stream, peer) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The client has closed the connection meanwhile.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    // Out of descriptors or memory, which may last: the next attempt would fail
                    // too. The listener stays readable, so a thread that polls it would not sleep.
                    self.is_accept_paused = epoll::delete(&self.epoll, &self.listener).is_ok();
                    return;
                }
            };
            // A connection that cannot be set up is closed, and its caller notices that.
            let session = self.keys.as_ref().map(Session::accept).transpose();
            let channel = session.and_then(|session| Channel::new(stream, session));
            let Ok(channel) = channel else { continue };
            self.make_room(peer.ip());
            let free = self.places.iter().position(Option::is_none);
            let place = free.unwrap_or(self.places.len());
            self.entered += 1;
            self.enter(place, Connection::new(channel, peer, (place, self.entered)));
        }
    }

    /// Closes a guest if there would be too many with another one from this address.
    fn make_room(&mut self, peer: IpAddr) {
        let guest = |place: &usize| {
            let connection =
                &self.places[*place].as_ref().expect("guests are connected").connection;
            Guest { peer: connection.peer().ip(), stage: connection.stage() }
        };
        let guests: Vec<Guest> = self.guests.iter().map(guest).collect();
        if let Some(index) = GuestLimits::VERBS.displaced(&guests, peer) {
            self.dismiss(self.guests[index], "too many connections have not proven the secret");
        }
    }

    /// Closes the connection of a guest.
    fn dismiss(&mut self, place: usize, reason: &str) {
        if let Some(guest) = &self.places[place] {
            tell::refused(&guest.connection.peer(), &reason);
        }
        self.remove(place);
    }

    fn enter(&mut self, place: usize, connection: Connection) {
        let data = epoll::EventData::new_u64(place as u64);
        if epoll::add(&self.epoll, &connection, data, epoll::EventFlags::IN).is_err() {
            return;
        }
        let entry = Some(Entry { connection, since: now() });
        match self.places.get_mut(place) {
            Some(free) => *free = entry,
            None => self.places.push(entry),
        }
        self.open += 1;
        self.guests.push(place);
        self.ready.push(place);
    }

    fn end_late_handshakes(&mut self) {
        // They are in the order of their deadlines.
        while let Some(&oldest) = self.guests.first()
            && self.places[oldest].as_ref().is_some_and(|it| it.since.elapsed() > GUEST_TIME_MAX)
        {
            self.dismiss(oldest, "it has not completed the handshake in time");
        }
    }

    fn end_late_closes(&mut self) {
        while let Some(&oldest) = self.lingering.first()
            && self.places[oldest].as_ref().is_some_and(|it| it.connection.is_late())
        {
            self.disconnect(oldest, "the connection was closed");
        }
    }

    /// Closes a connection, and logs the reason if its caller was admitted.
    #[cold]
    fn disconnect(&mut self, place: usize, reason: &str) {
        let connection = self.places[place].as_ref().map(|place| &place.connection);
        if let Some((connection, name)) = connection.and_then(|one| Some((one, one.name()?))) {
            tell::gone(&connection.peer(), name, &reason);
        }
        self.remove(place);
    }

    /// Closes a connection; `epoll` forgets a closed descriptor by itself.
    fn remove(&mut self, place: usize) {
        let Some(Entry { connection, .. }) = self.places[place].take() else { return };
        if let Some((caller, _)) = connection.name() {
            self.carrier.admission().members.lost_connection(caller);
        }
        self.open -= 1;
        self.lingering.retain(|&other| other != place);
        // A handshake that fails with its last message leaves a guest with a name.
        match self.guests.iter().position(|&guest| guest == place) {
            Some(index) => {
                self.guests.remove(index);
            }
            None => {
                self.count.fetch_sub(1, Relaxed);
            }
        }
    }

    /// A guest has become a member's connection.
    fn admit(&mut self, place: usize, name: Name) {
        self.guests.retain(|&guest| guest != place);
        self.count.fetch_add(1, Relaxed);
        self.replace(name, place);
    }

    /// Closes connections with the same name: a caller that joins again has given up on the earlier
    /// connection, and none of its requests is executed from here on.
    fn replace(&mut self, name: Name, successor: usize) {
        for place in 0..self.places.len() {
            let is_same = self.places[place]
                .as_ref()
                .is_some_and(|other| place != successor && other.connection.name() == Some(name));
            if is_same {
                self.disconnect(place, "it has reconnected");
            }
        }
    }

    /// Passes late answers to their connections, and marks these to be served.
    #[inline]
    fn take_late(&mut self) {
        while let Some(to) = self.carrier.late() {
            let entry = self.places.get_mut(to.place).and_then(Option::as_mut);
            let waits = entry.and_then(|entry| entry.connection.late(to));
            if waits.is_some() {
                self.ready.push(to.place);
            }
            self.carrier.put_late(waits);
        }
    }

    #[inline]
    fn serve_place(&mut self, place: usize) -> usize {
        let has_room = self.count.load(Relaxed) < CONNECTIONS_MAX;
        let Some(entry) = self.places.get_mut(place).and_then(Option::as_mut) else { return 0 };
        let connection = &mut entry.connection;
        let served = connection.serve(&mut self.carrier, has_room);
        let wanted = connection.wanted();
        if wanted != connection.interest {
            connection.interest = wanted;
            let data = epoll::EventData::new_u64(place as u64);
            if epoll::modify(&self.epoll, &*connection, data, wanted).is_err() {
                if let Served::Joined(name) = served {
                    self.admit(place, name);
                }
                self.disconnect(place, "the kernel no longer watches it");
                return 0;
            }
        }
        match served {
            Served::Requests(count) => count,
            Served::Joined(name) => {
                self.admit(place, name);
                1
            }
            Served::Lingers => {
                self.lingering.push(place);
                1
            }
            Served::Over => {
                self.disconnect(place, "the connection was closed");
                1
            }
            Served::Failed => {
                self.remove(place);
                1
            }
        }
    }
}

impl<C: Carry> Port for TcpPort<C> {
    fn serve(&mut self) -> usize {
        self.rounds = self.rounds.wrapping_add(1);
        let is_direct = self.open <= DIRECT_COUNT_MAX;
        let must_poll = !is_direct || self.rounds.is_multiple_of(POLL_ROUNDS);
        if must_poll {
            self.poll_sockets();
        }
        self.take_late();
        let mut served = 0;
        if is_direct {
            self.ready.clear();
            for place in 0..self.places.len() {
                served += self.serve_place(place);
            }
        } else {
            let mut ready = std::mem::take(&mut self.ready);
            served = ready.iter().map(|&place| self.serve_place(place)).sum();
            ready.clear();
            self.ready = ready;
        }
        served
    }

    fn arm(&mut self) -> bool {
        // The next round polls for new connections, which direct reading does not notice.
        self.rounds = POLL_ROUNDS - 1;
        false
    }

    fn disarm(&mut self) {}

    fn descriptors<'a>(&'a self, to: &mut Vec<BorrowedFd<'a>>) {
        to.push(self.epoll.as_fd());
    }
}

/// Polls the listener.
fn listen(epoll: &OwnedFd, listener: &TcpListener) -> rustix::io::Result<()> {
    epoll::add(epoll, listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)
}

fn now() -> Instant {
    #[allow(clippy::disallowed_methods, reason = "a handshake's time is not part of a run")]
    Instant::now()
}
