//! The server side of shared memory: accepts compute processes and executes their calls.

use crate::identity::Admission;
use crate::local::{LocalEnv, LocalWorld, run_now};
use crate::port::Port;
use crate::proof::Challenge;
use crate::service::{Answer, ServiceId};
use crate::shm::callers::Callers;
use crate::shm::calls::Calls;
use crate::shm::directory::{ClaimedName, ListenError, claim};
use crate::tell;
use layout::{NodeId, RegionId};
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{Ordering::SeqCst, fence};
use std::time::{Duration, Instant};

/// Idle rounds between two polls of the sockets, which cost a system call, and the time after which
/// they are polled in any case. On busy processors a round may take many milliseconds, and a
/// connecting process waits for two polls.
const POLL_ROUNDS: u32 = 4;
const POLL_TIME: Duration = Duration::from_millis(1);
/// Limit on connections before their handshake; above it the oldest one is closed.
const GUEST_COUNT_MAX: usize = 64;
/// Time-out of the handshake.
const GUEST_TIME_MAX: Duration = Duration::from_secs(5);
/// Events per poll; the next poll takes the rest.
const EVENT_COUNT: usize = 64;

/// Names of polled descriptors: these two, and from 2 on twice the number of a connection, or twice
/// that of a process plus 1.
const LISTENER: u64 = 0;
const BELL: u64 = 1;
const FIRST_ID: u64 = 1;

/// The port of fabric `shm`: passes the region to accepted callers, and executes their calls. A
/// compute server's port has no region to pass. Handlers run on the serving thread, one after
/// another, and never wait.
pub struct ShmPort {
    pub(super) env: LocalEnv,
    pub(super) admission: Arc<Admission>,
    pub(super) callers: Arc<Callers>,
    connections: Vec<Connection>,
    guests: Vec<Guest>,
    /// Callers ring it to wake this thread.
    pub(super) bell: OwnedFd,
    /// The epoll descriptor of all others.
    epoll_descriptor: OwnedFd,
    listener: OwnedFd,
    /// Whether the last accept failed: the listener is not polled until the next look.
    is_accept_paused: bool,
    last_id: u64,
    rounds: u32,
    /// Whether to poll at once: a caller may have rung, connected or ended.
    must_poll: bool,
    last_poll: Instant,
    _name: ClaimedName,
}

struct Connection {
    id: u64,
    client: Client,
    /// Closed by the server or the caller, whichever ends first.
    _socket: OwnedFd,
}

impl Connection {
    fn peer(&self) -> String {
        format!("process {}", self.client.pid)
    }
}

/// A compute process that has received the region.
pub(super) struct Client {
    /// The name of its process.
    pub process: u64,
    /// Its process number.
    pub pid: i32,
    /// The caller's identity, and the number of its connection.
    pub name: (u64, u64),
    pub calls: Calls,
}

/// A connection before its handshake.
struct Guest {
    id: u64,
    socket: OwnedFd,
    /// `None` before its opening.
    challenge: Option<Challenge>,
    since: Instant,
}

impl ShmPort {
    /// Listens in the folder `directory`, which is created if missing, for callers that may map the
    /// region of this server, `admission.node`, in `world`.
    pub fn new(
        directory: &Path,
        admission: Arc<Admission>,
        world: &Arc<LocalWorld>,
    ) -> Result<Self, ListenError> {
        if world.region_file(RegionId(admission.node.0)).is_none() {
            return Err(ListenError::NotShared(admission.node));
        }
        Self::of_calls(directory, admission, world)
    }

    /// Listens in the folder `directory`, which is created if missing, for callers of this node's
    /// services in `world`; passes them the node's region if it has one.
    pub fn of_calls(
        directory: &Path,
        admission: Arc<Admission>,
        world: &Arc<LocalWorld>,
    ) -> Result<Self, ListenError> {
        let (place, listener) = claim(directory, admission.node)?;
        let failed = |error| ListenError::file(directory, error);
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?;
        let epoll_descriptor = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let port = Self {
            env: world.endpoint(),
            admission,
            callers: Arc::default(),
            connections: Vec::new(),
            guests: Vec::new(),
            bell,
            epoll_descriptor,
            listener,
            is_accept_paused: false,
            last_id: FIRST_ID,
            rounds: 0,
            must_poll: true,
            last_poll: now(),
            _name: place,
        };
        port.watch_descriptor(&port.listener, LISTENER).map_err(failed)?;
        port.watch_descriptor(&port.bell, BELL).map_err(failed)?;
        Ok(port)
    }

    /// The processes that have the region, to count or fence them from another thread.
    pub fn callers(&self) -> &Arc<Callers> {
        &self.callers
    }

    fn watch_descriptor(&self, descriptor: impl AsFd, name: u64) -> rustix::io::Result<()> {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP;
        epoll::add(&self.epoll_descriptor, descriptor, epoll::EventData::new_u64(name), flags)
    }

    /// Polls for the end of a process.
    pub(super) fn watch(&self, pidfd: &OwnedFd, process: u64) -> rustix::io::Result<()> {
        self.watch_descriptor(pidfd, process * 2 + 1)
    }

    pub(super) fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Executes posted calls.
    fn serve_calls(&mut self) -> usize {
        let (env, node) = (&self.env, self.admission.node);
        let mut served = 0;
        let before = self.connections.len();
        self.connections.retain_mut(|connection| {
            match connection
                .client
                .calls
                .serve(|service, request| handle(env, node, service, request))
            {
                Ok(count) => {
                    served += count;
                    true
                }
                Err(_) => {
                    let reason = "it has broken the protocol";
                    tell::refused(&connection.peer(), &reason);
                    self.callers.count_broken();
                    false
                }
            }
        });
        if self.connections.len() < before {
            self.callers.set_connection_count(self.connections.len());
        }
        served
    }

    /// Polls for new connections, first messages and ended processes; returns the number of
    /// accepted callers.
    fn poll_sockets(&mut self) -> usize {
        self.must_poll = false;
        self.last_poll = now();
        if self.is_accept_paused {
            self.is_accept_paused = self.watch_descriptor(&self.listener, LISTENER).is_err();
        }
        let mut admitted = 0;
        for name in self.events() {
            match name {
                LISTENER => self.accept(),
                BELL => self.silence_bell(),
                name if name % 2 == 1 => self.remove_process(name / 2),
                name => admitted += self.handle_readable(name / 2),
            }
        }
        self.dismiss_guests();
        tell::refused_before();
        self.callers.set_connection_count(self.connections.len());
        admitted
    }

    /// The names of all readable descriptors.
    fn events(&self) -> Vec<u64> {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(EVENT_COUNT);
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let spare = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&self.epoll_descriptor, spare, Some(&at_once)) {
            Ok(_) => events.iter().map(|event| event.data.u64()).collect(),
            // Interrupted: the next poll returns the same events.
            Err(_) => Vec::new(),
        }
    }

    fn accept(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let socket = match accept_with(&self.listener, flags) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return,
                // The client has closed the connection meanwhile.
                Err(Errno::CONNABORTED | Errno::INTR) => continue,
                Err(_) => {
                    // Out of descriptors or memory, which may last: the next attempt would fail
                    // too. The listener stays readable, so a thread that polls it would not sleep.
                    self.is_accept_paused =
                        epoll::delete(&self.epoll_descriptor, &self.listener).is_ok();
                    return;
                }
            };
            let id = self.new_id();
            if self.watch_descriptor(&socket, id * 2).is_err() {
                continue;
            }
            if self.guests.len() == GUEST_COUNT_MAX {
                // Silent ones first: a caller of namdb speaks first.
                let silent = self.guests.iter().position(|guest| guest.challenge.is_none());
                self.guests.remove(silent.unwrap_or(0));
            }
            self.guests.push(Guest { id, socket, challenge: None, since: now() });
        }
    }

    fn silence_bell(&self) {
        // An empty bell is no error.
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
    }

    /// Handles a readable connection: a guest has sent a message of its handshake; any other
    /// connection was closed. Returns the number of accepted callers.
    fn handle_readable(&mut self, id: u64) -> usize {
        let Some(index) = self.guests.iter().position(|guest| guest.id == id) else {
            self.disconnect("the connection was closed", |connection| connection.id == id);
            return 0;
        };
        let Guest { socket, challenge, since, .. } = self.guests.remove(index);
        let Some(challenge) = challenge else {
            let challenge = self.challenge(socket.as_fd());
            if challenge.is_some() {
                self.guests.insert(index, Guest { id, socket, challenge, since });
            }
            return 0;
        };
        let Some(client) = self.welcome(id, socket.as_fd(), challenge) else { return 0 };
        // A second connection with the same name replaces the first.
        self.disconnect("it has reconnected", |known| known.client.name == client.name);
        self.connections.push(Connection { id, client, _socket: socket });
        1
    }

    /// Removes a process that has ended, with all its calls.
    fn remove_process(&mut self, process: u64) {
        let reason = "its process has ended";
        self.disconnect(reason, |connection| connection.client.process == process);
        self.callers.forget(process);
    }

    /// Removes connections, and logs the reason.
    fn disconnect(&mut self, reason: &str, is_gone: impl Fn(&Connection) -> bool) {
        self.connections.retain(|connection| {
            let is_gone = is_gone(connection);
            if is_gone {
                tell::gone(&connection.peer(), connection.client.name, &reason);
            }
            !is_gone
        });
    }

    fn dismiss_guests(&mut self) {
        if !self.guests.is_empty() {
            let now = now();
            self.guests.retain(|guest| now.duration_since(guest.since) < GUEST_TIME_MAX);
        }
    }
}

impl Port for ShmPort {
    fn serve(&mut self) -> usize {
        let served = self.serve_calls();
        self.rounds = self.rounds.wrapping_add(1);
        let may_look = self.rounds.is_multiple_of(POLL_ROUNDS);
        if self.must_poll || may_look && (served == 0 || self.last_poll.elapsed() > POLL_TIME) {
            return served + self.poll_sockets();
        }
        served
    }

    fn arm(&mut self) -> bool {
        let segments = || self.connections.iter().map(|one| one.client.calls.segment());
        segments().for_each(|segment| segment.set_sleeping(true));
        // After this fence, slots posted by callers that did not see the flag are visible.
        fence(SeqCst);
        segments().any(|segment| segment.has_posted())
    }

    fn disarm(&mut self) {
        for connection in &self.connections {
            connection.client.calls.segment().set_sleeping(false);
        }
        self.must_poll = true;
    }

    fn descriptors<'a>(&'a self, to: &mut Vec<BorrowedFd<'a>>) {
        to.push(self.epoll_descriptor.as_fd());
    }
}

fn handle(env: &LocalEnv, node: NodeId, service: ServiceId, request: &[u8]) -> Answer {
    let handler = env.world().service(node, service)?;
    run_now(handler.handle(env, request))
}

fn now() -> Instant {
    #[allow(clippy::disallowed_methods, reason = "waiting for a peer is not part of a run")]
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::{Replicas, ServerConfig, Sharing};
    use crate::port::wait_ready;
    use rustix::event::{PollFd, PollFlags};
    use rustix::net::{AddressFamily, SocketType, socket_with};
    use std::sync::mpsc;

    fn port(directory: &Path) -> ShmPort {
        let (node, bytes) = (NodeId(0), 1 << 20);
        let config = ServerConfig {
            node,
            server_count: 1,
            bytes,
            replicas: Replicas::NONE,
            sharing: Sharing::File,
            seed: 1,
        };
        let (world, _) = LocalWorld::memory_server(&config).expect("a little memory");
        let admission = Admission {
            node,
            cluster: 1,
            secret: crate::secret::Secret::new([7; 32]),
            server: 2,
            key: 3,
            region_bytes: bytes,
            program: "0.1.0".to_owned(),
            epoch: 1.into(),
            members: Default::default(),
        };
        ShmPort::new(directory, Arc::new(admission), &world).expect("the place is free")
    }

    #[test]
    fn a_listener_that_fails_is_left_alone_until_the_next_look() {
        let directory = format!("namdb-shm-port-{}", std::process::id());
        let directory = std::env::temp_dir().join(directory);
        let own = directory.clone();
        let (done, ended) = mpsc::channel();
        // A port that retries at once would loop for ever.
        let serve = move || {
            let mut port = port(&own);
            // A socket that does not listen: it has an event, and accepting always fails.
            epoll::delete(&port.epoll_descriptor, &port.listener).expect("it was listened to");
            let kind = (AddressFamily::UNIX, SocketType::SEQPACKET);
            let socket = socket_with(kind.0, kind.1, SocketFlags::NONBLOCK, None);
            port.listener = socket.expect("a socket");
            port.watch_descriptor(&port.listener, LISTENER).expect("a descriptor");
            for _ in 0..3 * POLL_ROUNDS {
                assert_eq!(port.serve(), 0);
                assert!(port.is_accept_paused, "it was refused");
            }
            let mut waited = [PollFd::new(&port.epoll_descriptor, PollFlags::IN)];
            assert!(!wait_ready(&mut waited, 1_000_000), "it can sleep");
            drop(port);
            done.send(()).expect("somebody waits");
        };
        std::thread::Builder::new().spawn(serve).expect("a thread");
        let ended = ended.recv_timeout(Duration::from_secs(20));
        let _ = std::fs::remove_dir_all(&directory);
        ended.expect("it has served");
    }
}
