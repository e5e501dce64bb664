//! The server: a lobby for silent clients, and a crew of threads for the others.
//!
//! ```text
//! lobby    accepts, and waits for silent clients   arrival  a connection before it has started
//! crew     threads that serve connections          cancel   the keys of connections
//! shared   limits and counts
//! ```
//!
//! Decision: docs/decisions/0330-a-connection-has-a-thread-only-while-it-works.md

pub(crate) mod arrival;
pub mod cancel;
mod crew;
mod lobby;
pub mod shared;

pub use lobby::ARRIVALS_MAX;

use crate::clock;
use crate::connection::Connection;
use crate::login::Doorman;
use crate::session::Database;
use crate::tls::Tls;
use arrival::Gate;
use crew::Crew;
use lobby::{Job, Lobby};
use shared::{Counts, Limits, Shared};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Interval at which a stopping server looks for connections that have ended.
const LOOK: Duration = Duration::from_millis(2);

/// A running server. Dropping it stops it.
pub struct Server<D: Database> {
    address: SocketAddr,
    shared: Arc<Shared>,
    lobby: Arc<Lobby<D>>,
    crew: Arc<Crew<Job<D>>>,
    thread: Option<JoinHandle<()>>,
}

/// Reads the numbers of a server, from any thread. It does not keep the server alive.
#[derive(Clone)]
pub struct Gauges {
    shared: Arc<Shared>,
    threads: Arc<dyn Fn() -> usize + Send + Sync>,
}

impl Gauges {
    pub fn counts(&self) -> Counts {
        self.shared.counters.counts()
    }

    /// Number of connections.
    pub fn connections(&self) -> usize {
        self.shared.keys.count()
    }

    /// Number of threads that serve connections.
    pub fn threads(&self) -> usize {
        (self.threads)()
    }

    pub fn is_stopping(&self) -> bool {
        self.shared.is_stopping()
    }
}

impl<D: Database> Server<D> {
    /// Serves the clients that connect to a listener.
    ///
    /// # Errors
    /// The system has no more files or threads.
    pub fn start(listener: TcpListener, database: D, limits: Limits) -> std::io::Result<Self> {
        Self::start_with(listener, database, limits, None)
    }

    /// As [`Server::start`]; clients may encrypt their connections, and those of other hosts must.
    ///
    /// # Errors
    /// The system has no more files or threads.
    pub fn start_with(
        listener: TcpListener,
        database: D,
        limits: Limits,
        tls: Option<Arc<Tls>>,
    ) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(limits));
        let asked = database.clone();
        let doorman: Doorman =
            Arc::new(move |user, database, is_local| asked.login(user, database, is_local));
        let gate = Gate { doorman, tls };
        let lobby = Arc::new(Lobby::new(&listener, shared.clone(), gate)?);
        // Each connection may hold what another one waits for, so each may get a thread.
        let count_max = shared.limits.connections_max.max(1);
        let (served, state) = (lobby.clone(), shared.clone());
        let crew = Arc::new_cyclic(|crew: &std::sync::Weak<Crew<Job<D>>>| {
            let crew = crew.clone();
            Crew::with_work(count_max, move |job| {
                let Some(crew) = crew.upgrade() else { return };
                let connection = match job {
                    Job::Serve(connection) => Some(connection),
                    Job::Expire(mut connection) => {
                        connection.expire();
                        None
                    }
                    Job::Start { wire, input, welcome, registration } => {
                        Connection::start(&database, wire, input, *welcome, &state, registration)
                            .map(Box::new)
                    }
                };
                if let Some(connection) = connection {
                    served.serve(connection, &crew);
                }
            })
        });
        let (waiting, workers) = (lobby.clone(), crew.clone());
        let thread = clock::spawn("pgwire-lobby", move || waiting.run(&listener, &workers))?;
        Ok(Self { address, shared, lobby, crew, thread: Some(thread) })
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A handle that reads the server's numbers.
    pub fn gauges(&self) -> Gauges {
        let crew = Arc::downgrade(&self.crew);
        let threads = move || crew.upgrade().map_or(0, |crew| crew.count());
        Gauges { shared: self.shared.clone(), threads: Arc::new(threads) }
    }

    /// Stops: accepts no more, ends silent connections, and waits for running statements up to the
    /// limit. Returns the number of connections that were still running then.
    pub fn stop(&mut self) -> usize {
        self.shared.stop();
        self.lobby.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let deadline = clock::now() + self.shared.limits.drain;
        loop {
            self.lobby.stop_silent();
            match self.shared.keys.count() {
                0 => return 0,
                left if clock::now() >= deadline => return left,
                _ => clock::sleep(LOOK),
            }
        }
    }
}

impl<D: Database> Drop for Server<D> {
    fn drop(&mut self) {
        self.stop();
    }
}
