//! A compute server: a member of the cluster that executes orders of benchmarks and calls of other
//! members, and exposes its state.
//!
//! Decision: docs/decisions/0095-compute-servers-execute-orders.md

use super::calls::Calls;
use super::cluster_client::ClusterClient;
use super::error::ServerError;
use super::exposure::check_compute_server;
use super::guests::{GuestPlace, Guests};
use super::health::Health;
use super::keys::server_keys;
use super::{PROGRAM, control, detection, events};
use crate::bench::driver::{Standing, Watcher};
use crate::bench::order::{Answer, Done, Line, Order, Ready, Request};
use crate::bench::text::counted;
use crate::bench::worker_metrics::RunMetrics;
use anyhow::{Context, Result, bail, ensure};
use fabric::tcp::TlsKeys;
use fabric::{Secret, tell};
use membership::{Addresses, ClusterFile, ComputeSettings, FabricKind, Member};
use metrics::Endpoint;
use namdb::host::{Moment, sleep_ms, spawn};
use namdb::procedures::Code;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Interval at which the server checks whether it must stop.
const POLL_MS: u64 = 50;
/// Maximal wait for a client's greeting.
const GREETING_TIME: Duration = Duration::from_secs(10);
/// Maximal number of connections that have proven the secret; one of them may have the work.
const CONVERSATIONS_MAX: u64 = 8;
/// Interval of a run's progress reports.
const STANDING_S: f64 = 0.2;
/// Maximal number of lanes per thread.
const LANES_MAX: u32 = 64;
/// Maximal wait for the current run when the server stops.
const END_S: f64 = 10.0;

/// Executes orders; a command supplies it.
pub type Work =
    dyn Fn(&Order, &Surroundings, &AtomicBool, &mut dyn Watcher) -> Result<Done> + Send + Sync;

/// The server's state that work needs.
pub struct Surroundings {
    /// The cluster with its memory servers.
    pub client: ClusterClient,
    /// Metrics that workers update.
    pub run_metrics: RunMetrics,
}

/// A compute server that is a member of its cluster.
pub struct ComputeServer {
    shared: Arc<Shared>,
    listener: TcpListener,
    calls: Calls,
    _control: Endpoint,
}

struct Shared {
    number: u16,
    surroundings: Surroundings,
    settings: ComputeSettings,
    work: Box<Work>,
    secret: Secret,
    /// Keys for encrypted connections; `None` if the cluster does not encrypt.
    keys: Option<TlsKeys>,
    /// Connections that have not proven the secret.
    guests: Arc<Guests>,
    /// Held by the connection whose order is being executed.
    busy: Mutex<()>,
    conversations: AtomicU64,
    health: Arc<Health>,
}

impl ComputeServer {
    /// Opens the server's ports, joins the cluster, and exposes the server's state. `code` is
    /// generated code for shipped procedures, in addition to that of the shipped workloads.
    pub fn start(
        cluster: ClusterFile,
        number: u16,
        (work, code): (Box<Work>, Vec<Code>),
        stop: &'static AtomicBool,
    ) -> Result<Self> {
        let count = cluster.compute.len();
        let settings = cluster.compute.get(usize::from(number)).cloned().with_context(|| {
            format!(
                "the cluster has {}, numbered from 0; there is no {number}: add a section [[compute]] to its file",
                counted(count as u64, "compute server")
            )
        })?;
        check_compute_server(&cluster, number)?;
        let secret = cluster.read_secret()?;
        let keys = server_keys(&cluster, TlsKeys::compute_server_name(number))?;
        let listen = settings.listen.as_str();
        let listener = TcpListener::bind(listen).with_context(|| {
            format!("compute server {number} cannot listen at {listen}; is the port in use?")
        })?;
        let addresses =
            Addresses { work: Some(listener.local_addr()?.to_string()), ..Addresses::default() };
        let mut member = Member::compute_server(number, addresses);
        let epoch = Arc::<AtomicU64>::default();
        let told = control::registry(&cluster, &member, &epoch);
        let calls = Calls::open(&cluster, &settings, (&mut member, &secret), (&told, code))?;
        let run_metrics = RunMetrics::enter(&told);
        let threads = settings.threads;
        let state = move |told: &mut serde_json::Map<_, _>| {
            told.insert("threads".to_owned(), threads.into());
        };
        let health = Arc::new(Health::new(stop));
        let known = (&epoch, &health, &secret);
        let control = control::serve(&settings.control, &told, &member, known, state)?;
        member.addresses.control = Some(control.address().to_string());
        events::takes_work(&cluster, &member.addresses);
        let admission = Some(calls.admission.clone());
        let client = ClusterClient::join_and_admit(cluster, member, &epoch, &health, admission)?;
        if let Some(clock) = client.lease_clock() {
            control::enter_lease(&told, clock);
        }
        if let Some(view) = client.detector_view() {
            detection::enter(&told, &client.cluster, &view);
        }
        events::joined(&client.cluster, client.identity());
        let surroundings = Surroundings { client, run_metrics };
        let (busy, conversations) = (Mutex::default(), AtomicU64::new(0));
        let shared = Shared {
            number,
            surroundings,
            settings,
            work,
            secret,
            keys,
            guests: Arc::default(),
            busy,
            conversations,
            health,
        };
        Ok(Self { shared: Arc::new(shared), listener, calls, _control: control })
    }

    /// Serves until a signal stops the server or the database is lost.
    pub fn serve(self) -> Result<()> {
        let Self { shared, listener, calls, _control } = self;
        let (taker, health) = (shared.clone(), shared.health.clone());
        spawn("work", move || taker.take_work(&listener)).context("no thread can be started")?;
        let callee = shared.clone().take_calls(calls)?;
        while !health.is_over() {
            sleep_ms(POLL_MS);
            tell::refused_before();
        }
        // If all servers are stopped together, others may have left first, which is no loss.
        let loss = health.loss().filter(|_| !health.is_stopped());
        if let Some(loss) = &loss {
            tracing::warn!("no more orders are executed: {loss}");
        }
        // A current run also notices and is awaited; no further one begins.
        let _busy = shared.finish_work()?;
        callee.join().expect("a panic ends the server");
        let client = &shared.surroundings.client;
        client.leave()?;
        tracing::info!("left the cluster");
        match loss {
            Some(loss) => Err(ServerError::DatabaseLost { number: shared.number, loss }.into()),
            None => Ok(()),
        }
    }
}

impl Shared {
    /// Serves every client that connects, each on its own thread.
    fn take_work(self: Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            // A client that left before its greeting does not matter; if memory for a socket is
            // short, clients wait.
            let Ok(stream) = stream else {
                sleep_ms(POLL_MS);
                continue;
            };
            let Ok(place) = self.guests.enter(&stream) else { continue };
            let shared = self.clone();
            // If there is no thread for it, the connection is closed.
            let _ = spawn("conversation", move || shared.receive(stream, place));
        }
    }

    /// Serves a connection once its peer has proven the secret.
    fn receive(&self, stream: TcpStream, place: GuestPlace) {
        let peer = stream.peer_addr();
        let peer = peer.map_or_else(|_| "a peer that has gone".to_owned(), |peer| peer.to_string());
        let note = |stage| place.note(stage);
        let line = match Line::accept(stream, self.keys.as_ref(), &self.secret, note) {
            Ok(line) => line,
            // One that has closed the connection was not refused.
            Err(error) if has_left(&error) => return,
            Err(error) => {
                tell::refused(&peer, &format!("{error:#}"));
                return place.linger();
            }
        };
        drop(place);
        if let Err(error) = self.converse(line) {
            // Clients that only query the server's capacity also close the connection.
            tracing::debug!("a conversation about work ended: {error:#}");
        }
    }

    /// Talks with a member, if there is room for another one.
    fn converse(&self, mut line: Line) -> Result<()> {
        let result = match self.conversations.fetch_add(1, Relaxed) < CONVERSATIONS_MAX {
            true => self.talk(line),
            false => {
                let why = format!("it talks with {CONVERSATIONS_MAX} others, which is its limit");
                line.say(&refused(&why))
            }
        };
        self.conversations.fetch_sub(1, Relaxed);
        result
    }

    /// Executes calls on a separate thread, which ends when the server stops.
    fn take_calls(self: Arc<Self>, calls: Calls) -> Result<JoinHandle<()>> {
        let answer = move || {
            if let Err(error) = calls.serve(&self.surroundings.client, &self.health) {
                tracing::error!("calls are not served: {error:#}");
            }
        };
        spawn("calls", answer).context("no thread can be started")
    }

    /// Waits until no run is in progress, and prevents further ones. The wait is limited: a server
    /// that does not leave the cluster is fenced when its lease ends.
    fn finish_work(&self) -> Result<MutexGuard<'_, ()>> {
        let start = Moment::now();
        loop {
            if let Some(busy) = self.try_work() {
                return Ok(busy);
            }
            if start.elapsed_s() > END_S {
                bail!(
                    "the current run has not ended within {END_S} s; the server stops without it"
                );
            }
            sleep_ms(POLL_MS);
        }
    }

    /// Reserves the server for a run, unless another connection has it.
    fn try_work(&self) -> Option<MutexGuard<'_, ()>> {
        match self.busy.try_lock() {
            Ok(busy) => Some(busy),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn talk(&self, mut line: Line) -> Result<()> {
        let Some(Request::Greeting(greeting)) = line.hear(GREETING_TIME)? else {
            return Ok(());
        };
        let client = &self.surroundings.client;
        let is_meant =
            greeting.cluster == client.cluster.id.0 && greeting.server == client.identity();
        if !is_meant {
            return line.say(&refused("this is not the server that the registry names"));
        }
        if greeting.program != PROGRAM {
            let why = format!("this is namdb {PROGRAM}, you are {}", greeting.program);
            return line.say(&refused(&why));
        }
        if let Some(problem) = self.health.problem().filter(|_| self.health.is_over()) {
            return line.say(&refused(&problem));
        }
        let ComputeSettings { threads, lanes, .. } = self.settings;
        let lanes_max = if client.cluster.fabric == FabricKind::Shm { 1 } else { LANES_MAX };
        let clock = namdb::host::clock_name();
        line.say(&Answer::Ready(Ready { threads, lanes, lanes_max, clock }))?;
        // A client that only wanted the server's capacity has it now.
        let Ok(Some(Request::Order(order))) = line.hear(GREETING_TIME) else { return Ok(()) };
        let Some(busy) = self.try_work() else {
            return line.say(&refused("it is busy with another run"));
        };
        let told = self.carry_out(&order, &mut line);
        let said = line.say(&told);
        // A stopping server waits until here.
        drop(busy);
        said
    }

    fn carry_out(&self, order: &Order, line: &mut Line) -> Answer {
        tracing::info!(arguments = order.arguments.join(" "), "run begins");
        let end = AtomicBool::new(false);
        let mut reporter = Reporter { line, end: &end, health: &self.health, said: Moment::now() };
        let mut run = || (self.work)(order, &self.surroundings, &end, &mut reporter);
        match is_sound(order).and_then(|()| run()) {
            Ok(done) => {
                tracing::info!("run ends");
                Answer::Done(Box::new(done))
            }
            Err(error) => {
                tracing::error!("the run failed: {error:#}");
                Answer::Failed(format!("{error:#}"))
            }
        }
    }
}

/// Whether the error says that the peer has closed the connection.
fn has_left(error: &anyhow::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    matches!(kind, Some(BrokenPipe | ConnectionReset | UnexpectedEof))
}

fn refused(why: &str) -> Answer {
    Answer::Refused(why.to_owned())
}

/// Sends the run's progress to the benchmark, and ends the run if the benchmark or the server ends.
struct Reporter<'a> {
    line: &'a mut Line,
    end: &'a AtomicBool,
    health: &'a Health,
    said: Moment,
}

impl Watcher for Reporter<'_> {
    fn show(&mut self, standing: &Standing) {
        if self.health.is_over() {
            self.end.store(true, Relaxed);
        }
        if self.said.elapsed_s() < STANDING_S || self.end.load(Relaxed) {
            return;
        }
        self.said = Moment::now();
        let said = self.line.say(&Answer::Standing(*standing));
        let heard = self.line.hear::<Request>(Duration::ZERO);
        if said.is_err() || !matches!(heard, Ok(None)) {
            self.end.store(true, Relaxed);
        }
    }

    fn span(&mut self, _span: &crate::bench::driver::Span) {}
}

/// Rejects an order with impossible values.
fn is_sound(order: &Order) -> Result<()> {
    let Order { threads, lanes, threads_in_all, part, .. } = order;
    let sound = (1..=1024).contains(threads)
        && (1..=LANES_MAX).contains(lanes)
        && threads_in_all >= threads;
    ensure!(sound && part.number < part.of, "the order has impossible values: {order:?}");
    Ok(())
}
