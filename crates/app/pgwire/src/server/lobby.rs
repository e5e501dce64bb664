//! The lobby: one thread waits for all clients that have nothing to serve.
//!
//! It accepts connections, reads startup packets, executes cancel requests, and watches the sockets
//! of silent clients. When a client sends something, its connection goes to a thread of the crew.

use super::arrival::{Arrival, Gate, Progress, Welcome, send_refusal};
use super::cancel::Registration;
use super::crew::Crew;
use super::shared::Shared;
use crate::clock;
use crate::connection::{Connection, Left};
use crate::error::{fatal, sqlstate};
use crate::session::{Database, Session};
use crate::wire::Wire;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Sockets that are accepted and have not started.
pub const ARRIVALS_MAX: usize = 1_000;
/// Arrivals that are looked at between two looks at the silent clients: each may be a handshake,
/// which takes a millisecond.
const ARRIVALS_PER_ROUND: usize = 16;
/// Events of one system call.
const EVENTS_MAX: usize = 256;
/// Interval at which the deadlines of arrivals are looked at.
const LOOK: Duration = Duration::from_millis(250);
const LISTENER: u64 = 0;
const WAKE: u64 = 1;

/// Work for the crew.
pub enum Job<D: Database> {
    /// Opens the session of a client.
    Start { wire: Wire, input: Vec<u8>, welcome: Box<Welcome>, registration: Registration },
    /// Goes on with a connection whose client has sent something.
    Serve(Box<Connection<D::Session>>),
    /// Ends a connection whose client was silent for too long.
    Expire(Box<Connection<D::Session>>),
}

/// Connections of silent clients.
struct Silent<S: Session> {
    /// By the number of their socket's event, with the end of a limited silence.
    connections: BTreeMap<u64, (Box<Connection<S>>, Option<Instant>)>,
    /// The limited ones, the first end first.
    ends: BTreeSet<(Instant, u64)>,
}

impl<S: Session> Default for Silent<S> {
    fn default() -> Self {
        Self { connections: BTreeMap::new(), ends: BTreeSet::new() }
    }
}

impl<S: Session> Silent<S> {
    /// Adds a connection; true if its silence ends first.
    fn insert(
        &mut self,
        number: u64,
        connection: Box<Connection<S>>,
        end: Option<Instant>,
    ) -> bool {
        self.connections.insert(number, (connection, end));
        let Some(end) = end else { return false };
        self.ends.insert((end, number));
        self.first_end() == Some(end)
    }

    fn remove(&mut self, number: u64) -> Option<Box<Connection<S>>> {
        let (connection, end) = self.connections.remove(&number)?;
        if let Some(end) = end {
            self.ends.remove(&(end, number));
        }
        Some(connection)
    }

    fn first_end(&self) -> Option<Instant> {
        self.ends.first().map(|(end, _)| *end)
    }
}

/// The lobby's thread and the crew use it.
pub struct Lobby<D: Database> {
    epoll: OwnedFd,
    wake: OwnedFd,
    next: AtomicU64,
    silent: Mutex<Silent<D::Session>>,
    shared: Arc<Shared>,
    gate: Gate,
}

impl<D: Database> Lobby<D> {
    pub fn new(listener: &TcpListener, shared: Arc<Shared>, gate: Gate) -> std::io::Result<Self> {
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&epoll, &wake, EventData::new_u64(WAKE), EventFlags::IN)?;
        let (next, silent) = (AtomicU64::new(WAKE + 1), Mutex::default());
        Ok(Self { epoll, wake, next, silent, shared, gate })
    }

    /// Makes the thread look whether the server stops, and at the silent clients.
    pub fn wake(&self) {
        let _ = rustix::io::write(&self.wake, &1u64.to_le_bytes());
    }

    /// Serves a connection on the calling thread until its client is silent; then it waits here.
    pub fn serve(&self, mut connection: Box<Connection<D::Session>>, crew: &Crew<Job<D>>) {
        if connection.serve(|| crew.is_pressed()) == Left::Ended {
            return;
        }
        let limit = connection.silence_limit();
        // The thread has already waited for the client.
        let linger = self.shared.limits.linger;
        let end = limit.map(|limit| clock::now() + limit.after.saturating_sub(linger));
        // Under the lock: the event may come at once.
        let mut silent = self.lock();
        let number = self.next.fetch_add(1, Relaxed);
        let (data, socket) = (EventData::new_u64(number), connection.stream().socket());
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ONESHOT;
        match epoll::add(&self.epoll, socket, data, flags) {
            Ok(()) => {
                if silent.insert(number, connection, end) {
                    self.wake();
                }
            }
            Err(error) => tracing::error!("a silent connection cannot be watched: {error}"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Silent<D::Session>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Main loop of the lobby's thread, until the server stops.
    pub fn run(&self, listener: &TcpListener, crew: &Arc<Crew<Job<D>>>) {
        let mut arrivals = BTreeMap::new();
        let mut events = Vec::with_capacity(EVENTS_MAX);
        while !self.shared.is_stopping() {
            events.clear();
            let look = (!arrivals.is_empty()).then_some(LOOK);
            let end = self.lock().first_end();
            let end = end.map(|end| end.saturating_duration_since(clock::now()));
            let timeout = look.into_iter().chain(end).min();
            // The longest time-outs fit, too: they have 32 bits of milliseconds.
            let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
            let spare = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, spare, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::error!("waiting for clients fails: {error}");
                    clock::sleep(LOOK);
                }
            }
            let numbers = || events.iter().map(|event| event.data.u64());
            for number in numbers() {
                match number {
                    LISTENER | WAKE => {}
                    number if arrivals.contains_key(&number) => {}
                    number => self.serve_again(number, crew),
                }
            }
            let (mut heard, arrived) = (0, |number: &u64| *number > WAKE);
            for number in numbers().filter(arrived) {
                if let Some(arrival) = arrivals.remove(&number) {
                    // The next round reports the others again.
                    match heard < ARRIVALS_PER_ROUND {
                        true => self.advance(number, arrival, &mut arrivals, crew),
                        false => drop(arrivals.insert(number, arrival)),
                    }
                    heard += 1;
                }
            }
            for number in numbers() {
                match number {
                    LISTENER => self.accept(listener, &mut arrivals),
                    WAKE => self.drain_wake(),
                    _ => {}
                }
            }
            self.end_late(&mut arrivals);
            self.end_silent(crew);
        }
        let refusal = fatal(sqlstate::CANNOT_CONNECT_NOW, "the database system is shutting down");
        arrivals.values_mut().for_each(|arrival| arrival.refuse(&refusal));
    }

    /// Ends the connections of all silent clients.
    pub fn stop_silent(&self) {
        let silent = std::mem::take(&mut *self.lock());
        for (mut connection, _) in silent.connections.into_values() {
            connection.stop();
        }
    }

    /// Gives a connection whose client has sent something to the crew.
    fn serve_again(&self, number: u64, crew: &Arc<Crew<Job<D>>>) {
        let connection = self.lock().remove(number);
        if let Some(connection) = connection {
            let _ = epoll::delete(&self.epoll, connection.stream().socket());
            crew.give(Job::Serve(connection));
        }
    }

    fn drain_wake(&self) {
        let _ = rustix::io::read(&self.wake, &mut [0; 8]);
    }

    /// Gives connections whose clients were silent for too long to the crew, which ends them: a
    /// roll-back may take time.
    fn end_silent(&self, crew: &Arc<Crew<Job<D>>>) {
        let now = clock::now();
        loop {
            let mut silent = self.lock();
            let late = silent.ends.first().copied().filter(|(end, _)| *end <= now);
            let Some((_, number)) = late else { return };
            let connection = silent.remove(number);
            drop(silent);
            if let Some(connection) = connection {
                let _ = epoll::delete(&self.epoll, connection.stream().socket());
                crew.give(Job::Expire(connection));
            }
        }
    }

    fn accept(&self, listener: &TcpListener, arrivals: &mut BTreeMap<u64, Arrival>) {
        // A bound, so that a flood of connections does not keep others waiting.
        for _ in 0..EVENTS_MAX {
            let socket = match listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    // Such as too many open files: the client waits in the listener's queue.
                    tracing::warn!("a connection cannot be accepted: {error}");
                    clock::sleep(Duration::from_millis(10));
                    return;
                }
            };
            if arrivals.len() >= ARRIVALS_MAX
                && let Some((_, mut oldest)) = arrivals.pop_first()
            {
                // A login takes milliseconds: the oldest one is the least likely to end.
                self.shared.counters.count_refused();
                let message = "sorry, too many clients that have not logged in";
                oldest.refuse(&fatal(sqlstate::TOO_MANY_CONNECTIONS, message));
            }
            let deadline = clock::now() + self.shared.limits.startup;
            let Ok(arrival) = Arrival::new(socket, deadline) else { continue };
            let number = self.next.fetch_add(1, Relaxed);
            // Level-triggered: an arrival reads all that is there.
            let flags = EventFlags::IN | EventFlags::RDHUP;
            let data = EventData::new_u64(number);
            if epoll::add(&self.epoll, arrival.socket(), data, flags).is_ok() {
                arrivals.insert(number, arrival);
            }
        }
    }

    fn advance(
        &self,
        number: u64,
        arrival: Arrival,
        arrivals: &mut BTreeMap<u64, Arrival>,
        crew: &Arc<Crew<Job<D>>>,
    ) {
        let (waiting, progress) = arrival.advance(&self.gate);
        if let Some(waiting) = waiting {
            arrivals.insert(number, waiting);
        }
        match progress {
            Progress::Waits | Progress::Ends => {}
            Progress::Cancels { process, secret } => {
                if self.shared.keys.cancel(process, &secret) {
                    self.shared.counters.count_cancel();
                }
            }
            Progress::Starts { mut wire, input, welcome } => {
                let _ = epoll::delete(&self.epoll, wire.tcp());
                let keys = &self.shared.keys;
                match keys.register(self.shared.limits.connections_max) {
                    Some(registration) => {
                        self.shared.counters.count_connection();
                        let welcome = Box::new(welcome);
                        crew.give(Job::Start { wire, input, welcome, registration });
                    }
                    None => self.refuse_too_many(&mut wire),
                }
            }
        }
    }

    fn refuse_too_many(&self, wire: &mut Wire) {
        self.shared.counters.count_refused();
        let limit = self.shared.limits.connections_max;
        let mut refusal = fatal(sqlstate::TOO_MANY_CONNECTIONS, "sorry, too many clients already");
        refusal.hint = Some(format!(
            "The server accepts {limit} connections; `namdb start --connections` raises it."
        ));
        send_refusal(wire, &refusal);
    }

    /// Ends arrivals that have not sent their startup packet in time.
    fn end_late(&self, arrivals: &mut BTreeMap<u64, Arrival>) {
        if arrivals.is_empty() {
            return;
        }
        let now = clock::now();
        arrivals.retain(|_, arrival| {
            let is_late = arrival.deadline <= now;
            if is_late {
                self.shared.counters.count_refused();
                let message = "canceling authentication due to timeout";
                arrival.refuse(&fatal("57014", message));
            }
            !is_late
        });
    }
}
