//! A small HTTP endpoint: `/metrics`, `/status` and `/healthz`, on a thread of its own.
//!
//! One thread and no socket that blocks: a client that is slow or silent has its connection until its time
//! is up, and nobody waits for it. Connections, requests and time are bounded; when all connections are
//! taken, the one that was opened first makes room. Each answer ends its connection.

mod connection;
mod http;

use crate::clock;
use crate::registry::Registry;
use connection::{Connection, Progress};
use http::Pages;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Pause after a connection could not be accepted for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// What `/status` and `/healthz` say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// A JSON document.
    pub json: String,
    /// Why the server does not do its work, in a sentence; none if it does.
    pub problem: Option<String>,
}

impl Status {
    /// Of a server that does its work.
    pub fn healthy(json: String) -> Self {
        Self { json, problem: None }
    }
}

/// What clients may take of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Connections at a time.
    pub connections: usize,
    /// How long one may last, from its start to the last byte.
    pub connection_time: Duration,
}

impl Default for Bounds {
    /// Enough for a few scrapers, each with a network that loses a packet.
    fn default() -> Self {
        Self { connections: 32, connection_time: Duration::from_secs(5) }
    }
}

/// Why there is no endpoint.
#[derive(Debug, thiserror::Error)]
#[error(
    "status and metrics cannot be served at {address} ({why}); free that address, or write another `control` into \
     the cluster's file"
)]
pub struct EndpointError {
    /// Where.
    pub address: String,
    /// What happened.
    #[source]
    pub why: std::io::Error,
}

/// An endpoint that serves until it is stopped or dropped.
#[must_use = "an endpoint that is dropped serves no more"]
pub struct Endpoint {
    address: SocketAddr,
    /// Its other end becomes readable when this one is closed.
    lifeline: Option<UnixStream>,
    server: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Where it is reached: the port is known even if any was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends its thread and closes its sockets, answers under way too.
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

/// Serves the registry, and what `status` says, at an address such as `127.0.0.1:0`. `status` is called by the
/// endpoint's thread for each request and must not wait for others.
pub fn serve(
    address: &str,
    registry: &Registry,
    status: impl Fn() -> Status + Send + 'static,
) -> Result<Endpoint, EndpointError> {
    serve_within(Bounds::default(), address, registry, status)
}

/// As [`serve`], with other bounds.
pub fn serve_within(
    bounds: Bounds,
    address: &str,
    registry: &Registry,
    status: impl Fn() -> Status + Send + 'static,
) -> Result<Endpoint, EndpointError> {
    assert!(bounds.connections > 0, "somebody has to be served");
    let pages = Pages { registry: registry.clone(), status: Box::new(status) };
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
    /// In the order in which they were opened, so the first has the least time left.
    connections: Vec<Connection>,
}

/// What has something to do.
struct Ready {
    is_over: bool,
    has_caller: bool,
    /// By place of the connection.
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

    /// Sleeps until there is something to do, or a connection's time is up.
    fn wait(&self, now: Instant) -> Ready {
        let mut waited =
            vec![PollFd::new(&self.end, PollFlags::IN), PollFd::new(&self.listener, PollFlags::IN)];
        waited.extend(self.connections.iter().map(|connection| {
            let wanted = if connection.is_writing() { PollFlags::OUT } else { PollFlags::IN };
            PollFd::new(connection.socket(), wanted)
        }));
        let left = self.connections.first().map(|first| first.until.duration_since(now));
        let timeout = left.map(|left| Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        });
        // An interruption leaves nothing ready, and the next round waits again.
        let _ = poll(&mut waited, timeout.as_ref());
        let mut is_ready = waited.iter().map(|waited| !waited.revents().is_empty());
        Ready {
            is_over: is_ready.next().expect("it is waited for"),
            has_caller: is_ready.next().expect("it is waited for"),
            connections: is_ready.collect(),
        }
    }

    /// Takes one connection; if there are more, the next round takes the next.
    fn accept(&mut self) {
        match self.listener.accept() {
            Ok((socket, _)) => {
                if self.connections.len() == self.bounds.connections {
                    self.connections.remove(0);
                }
                let until = clock::now() + self.bounds.connection_time;
                self.connections.extend(Connection::new(socket, until));
            }
            // Who called has left.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                ) => {}
            // The caller stays and would be noticed at once again.
            Err(_) => clock::sleep(ACCEPT_PAUSE),
        }
    }
}
