//! A small HTTP endpoint: `/metrics`, `/status`, `/healthz` and `/readyz`, on a thread of its own.
//!
//! One thread serves nonblocking sockets: a slow or silent client keeps its connection until its
//! deadline and delays no other. Connections, request sizes and times are limited, in all and for
//! each peer address; a new connection displaces a silent one, or the oldest one. Each answer
//! closes its connection.

mod connection;
mod http;

use crate::clock;
use crate::registry::Registry;
use connection::{Connection, Progress};
use fabric::guests::GuestLimits;
use http::Pages;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Pause after `accept` failed for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// The content of `/status`, `/healthz` and `/readyz`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// A JSON document.
    pub json: String,
    /// Why the server does not work; `None` if it does.
    pub problem: Option<String>,
    /// Why a server that works accepts no clients yet, or no more; `None` if it does.
    pub refusal: Option<String>,
}

impl Status {
    /// The status of a working server.
    pub fn healthy(json: String) -> Self {
        Self { json, problem: None, refusal: None }
    }
}

/// Limits for clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Maximal number of connections.
    pub connections: usize,
    /// Maximal number of connections of one peer address.
    pub per_peer: usize,
    /// Maximal duration of a connection.
    pub connection_time: Duration,
}

impl Default for Bounds {
    /// Suffices for a few scrapers, each on a network that loses a packet.
    fn default() -> Self {
        Self { connections: 64, per_peer: 32, connection_time: Duration::from_secs(5) }
    }
}

/// The readers of the pages.
pub enum Access {
    /// Everybody who reaches the address.
    Everybody,
    /// Holders of a token in the header `Authorization: Bearer TOKEN` that this function accepts.
    /// Others get the code 401 and the version of the protocol, whatever they ask.
    Token(Box<dyn Fn(&str) -> bool + Send>),
}

/// The endpoint cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error(
    "status and metrics cannot be served at {address} ({why}); free that address, or write another `control` into \
     the cluster's file"
)]
pub struct EndpointError {
    pub address: String,
    #[source]
    pub why: std::io::Error,
}

/// An endpoint that serves until it is stopped or dropped.
#[must_use = "an endpoint that is dropped serves no more"]
pub struct Endpoint {
    address: SocketAddr,
    /// Closing it makes the other end readable, which ends the thread.
    lifeline: Option<UnixStream>,
    server: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// The bound address, with the actual port if 0 was requested.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the thread and closes all sockets, including those with unfinished answers.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.lifeline = None;
        if let Some(server) = self.server.take() {
            server.join().expect("the endpoint's thread catches panics of sources");
        }
    }
}

/// Serves the registry and the result of `status` at an address such as `127.0.0.1:0`. The
/// endpoint's thread calls `status` for each request, so it must not block.
pub fn serve(
    address: &str,
    access: Access,
    registry: &Registry,
    status: impl Fn() -> Status + Send + 'static,
) -> Result<Endpoint, EndpointError> {
    serve_within(Bounds::default(), address, access, registry, status)
}

/// Like [`serve`], with other limits.
pub fn serve_within(
    bounds: Bounds,
    address: &str,
    access: Access,
    registry: &Registry,
    status: impl Fn() -> Status + Send + 'static,
) -> Result<Endpoint, EndpointError> {
    assert!(bounds.connections > 0, "at least one connection is allowed");
    let pages = Pages { access, registry: registry.clone(), status: Box::new(status) };
    start(bounds, address, pages).map_err(|why| EndpointError { address: address.to_owned(), why })
}

fn start(bounds: Bounds, address: &str, pages: Pages) -> std::io::Result<Endpoint> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let (lifeline, end) = UnixStream::pair()?;
    let mut server = Server { bounds, pages, listener, end, connections: Vec::new() };
    let thread = clock::spawn("metrics", move || server.run())?;
    Ok(Endpoint { address, lifeline: Some(lifeline), server: Some(thread) })
}

struct Server {
    bounds: Bounds,
    pages: Pages,
    listener: TcpListener,
    end: UnixStream,
    /// In order of acceptance.
    connections: Vec<Connection>,
}

/// The sockets that are ready.
struct Ready {
    is_over: bool,
    has_caller: bool,
    /// Indexed like `connections`.
    connections: Vec<bool>,
}

impl Server {
    fn run(&mut self) {
        loop {
            let now = clock::now();
            self.connections.retain(|connection| connection.until > now);
            let ready = self.wait(now);
            if ready.is_over {
                return;
            }
            let mut is_ready = ready.connections.into_iter();
            self.connections.retain_mut(|connection| {
                let is_ready = is_ready.next().expect("each was waited for");
                !is_ready || connection.advance(&self.pages) == Progress::Open
            });
            if ready.has_caller {
                self.accept();
            }
        }
    }

    /// Sleeps until a socket is ready or a connection's deadline passes.
    fn wait(&self, now: Instant) -> Ready {
        let mut waited =
            vec![PollFd::new(&self.end, PollFlags::IN), PollFd::new(&self.listener, PollFlags::IN)];
        waited.extend(self.connections.iter().map(|connection| {
            let wanted = if connection.is_writing() { PollFlags::OUT } else { PollFlags::IN };
            PollFd::new(connection.socket(), wanted)
        }));
        let until = self.connections.iter().map(|connection| connection.until).min();
        let left = until.map(|until| until.duration_since(now));
        let timeout = left.map(|left| Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        });
        // If `poll` is interrupted, nothing is ready and the next round waits again.
        let _ = poll(&mut waited, timeout.as_ref());
        let mut is_ready = waited.iter().map(|waited| !waited.revents().is_empty());
        Ready {
            is_over: is_ready.next().expect("it is waited for"),
            has_caller: is_ready.next().expect("it is waited for"),
            connections: is_ready.collect(),
        }
    }

    /// Accepts one connection; the next round accepts the next one.
    fn accept(&mut self) {
        match self.listener.accept() {
            Ok((socket, peer)) => {
                let guests: Vec<_> = self.connections.iter().map(Connection::guest).collect();
                let Bounds { connections: in_all, per_peer, connection_time } = self.bounds;
                let limits = GuestLimits { in_all, per_peer };
                if let Some(displaced) = limits.displaced(&guests, peer.ip()) {
                    self.connections.remove(displaced);
                }
                let until = clock::now() + connection_time;
                self.connections.extend(Connection::new(socket, peer.ip(), until));
            }
            // The client has left already.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                ) => {}
            // The client stays in the queue, so without a pause `accept` would fail again at once.
            Err(_) => clock::sleep(ACCEPT_PAUSE),
        }
    }
}
