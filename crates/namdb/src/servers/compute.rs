//! A compute server: a member of the cluster that waits for work, does it, and tells how it fares.

use super::place::Place;
use super::{PROGRAM, events, tell};
use crate::bench::driver::{Standing, Watcher};
use crate::bench::order::{Answer, Done, Line, Order, REQUEST_BYTES_MAX, Ready, Request};
use crate::bench::telling::Telling;
use anyhow::{Context, Result, ensure};
use membership::{Addresses, ClusterFile, ComputeSettings, FabricKind, Member};
use metrics::Endpoint;
use namdb::host::{Moment, sleep_ms, spawn};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

/// Between two looks whether the server is to end.
const LOOK_MS: u64 = 50;
/// How long who connects may take to say what it wants.
const GREETING_TIME: Duration = Duration::from_secs(10);
/// Conversations at a time; one of them may have the work.
const CONVERSATIONS_MAX: u64 = 8;
/// Between two times that a run tells where it stands.
const STANDING_S: f64 = 0.2;
/// Most lanes of a thread.
const LANES_MAX: u32 = 64;
/// How long a run may take to end when the server does.
const END_S: f64 = 10.0;

/// What runs orders: the work is the business of a command, its surroundings are the server's.
pub type Work =
    dyn Fn(&Order, &Surroundings, &AtomicBool, &mut dyn Watcher) -> Result<Done> + Send + Sync;

/// What work needs of the server.
pub struct Surroundings {
    /// Where the memory servers are.
    pub place: Place,
    /// Whom workers tell what they do.
    pub telling: Telling,
}

/// A compute server that is a member of its cluster.
pub struct ComputeServer {
    shared: Arc<Shared>,
    listener: TcpListener,
    _control: Endpoint,
}

struct Shared {
    surroundings: Surroundings,
    settings: ComputeSettings,
    work: Box<Work>,
    /// Held by the conversation whose order is carried out.
    busy: Mutex<()>,
    conversations: AtomicU64,
    /// The server is to end.
    stop: &'static AtomicBool,
}

impl ComputeServer {
    /// Opens its addresses, joins the cluster, and tells how it fares.
    pub fn start(
        cluster: ClusterFile,
        number: u16,
        work: Box<Work>,
        stop: &'static AtomicBool,
    ) -> Result<Self> {
        let count = cluster.compute.len();
        let settings = cluster.compute.get(usize::from(number)).cloned().with_context(|| {
            format!(
                "the cluster has {count} compute servers, numbered from 0; there is no {number}: add a section \
                 [[compute]] to its file"
            )
        })?;
        let listen = settings.listen.as_str();
        let listener = TcpListener::bind(listen).with_context(|| {
            format!("compute server {number} cannot listen at {listen}; is the port in use?")
        })?;
        let addresses =
            Addresses { work: Some(listener.local_addr()?.to_string()), ..Addresses::default() };
        let mut member = Member::compute_server(number, addresses);
        let epoch = Arc::<AtomicU64>::default();
        let told = tell::registry(&cluster, &member, &epoch);
        let telling = Telling::enter(&told);
        let threads = settings.threads;
        let state = move |told: &mut serde_json::Map<_, _>| {
            told.insert("threads".to_owned(), threads.into());
        };
        let control = tell::tell(&settings.control, &told, &member, &epoch, state)?;
        member.addresses.control = Some(control.address().to_string());
        events::takes_work(&cluster, &member.addresses);
        let place = Place::join(cluster, member, &epoch)?;
        if let Some(clock) = place.lease_clock() {
            tell::enter_lease(&told, clock);
        }
        events::joined(&place.cluster, place.identity());
        let surroundings = Surroundings { place, telling };
        let (busy, conversations) = (Mutex::default(), AtomicU64::new(0));
        let shared = Shared { surroundings, settings, work, busy, conversations, stop };
        Ok(Self { shared: Arc::new(shared), listener, _control: control })
    }

    /// Works until it is told to end.
    pub fn serve(self) -> Result<()> {
        let Self { shared, listener, _control } = self;
        let (taker, stop) = (shared.clone(), shared.stop);
        spawn("work", move || taker.take_work(&listener)).context("no thread can be started")?;
        while !stop.load(Relaxed) {
            sleep_ms(LOOK_MS);
        }
        // A run that is under way notices, too, and is waited for.
        let end = Moment::now();
        while shared.conversations.load(Relaxed) > 0 && end.elapsed_s() < END_S {
            sleep_ms(LOOK_MS);
        }
        shared.surroundings.place.leave()?;
        tracing::info!("left the cluster");
        Ok(())
    }
}

impl Shared {
    /// Talks to everybody who connects, each on a thread of its own.
    fn take_work(self: Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            // Whoever has left before it was greeted is no loss; without memory for a socket others wait a little.
            let Ok(stream) = stream else {
                sleep_ms(LOOK_MS);
                continue;
            };
            if self.conversations.fetch_add(1, Relaxed) >= CONVERSATIONS_MAX {
                self.conversations.fetch_sub(1, Relaxed);
                continue;
            }
            let shared = self.clone();
            let talk = move || {
                if let Err(error) = shared.talk(stream) {
                    // Whoever only asks what is there closes the connection, too.
                    tracing::debug!("a conversation about work ended: {error:#}");
                }
                shared.conversations.fetch_sub(1, Relaxed);
            };
            if spawn("conversation", talk).is_err() {
                self.conversations.fetch_sub(1, Relaxed);
            }
        }
    }

    fn talk(&self, stream: TcpStream) -> Result<()> {
        let mut line = Line::new(stream, REQUEST_BYTES_MAX)?;
        let Some(Request::Greeting(greeting)) = line.hear(GREETING_TIME)? else {
            return Ok(());
        };
        let place = &self.surroundings.place;
        let is_meant =
            greeting.cluster == place.cluster.id.0 && greeting.server == place.identity();
        if !is_meant {
            return line.say(&refused("this is another server than the one you look for"));
        }
        if greeting.program != PROGRAM {
            let why = format!("this is namdb {PROGRAM}, you are {}", greeting.program);
            return line.say(&refused(&why));
        }
        let ComputeSettings { threads, lanes, .. } = self.settings;
        let lanes_max = if place.cluster.fabric == FabricKind::Shm { 1 } else { LANES_MAX };
        let clock = namdb::host::clock_name();
        line.say(&Answer::Ready(Ready { threads, lanes, lanes_max, clock }))?;
        // Whoever only wants to know what there is has heard it.
        let Ok(Some(Request::Order(order))) = line.hear(GREETING_TIME) else { return Ok(()) };
        let busy = match self.busy.try_lock() {
            Ok(busy) => busy,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return line.say(&refused("it is at work for somebody else"));
            }
        };
        let told = self.carry_out(&order, &mut line);
        drop(busy);
        line.say(&told)
    }

    fn carry_out(&self, order: &Order, line: &mut Line) -> Answer {
        tracing::info!(arguments = order.arguments.join(" "), "run begins");
        let end = AtomicBool::new(false);
        let mut reporter = Reporter { line, end: &end, stop: self.stop, said: Moment::now() };
        let mut run = || (self.work)(order, &self.surroundings, &end, &mut reporter);
        match is_sound(order).and_then(|()| run()) {
            Ok(done) => {
                tracing::info!("run ends");
                Answer::Done(Box::new(done))
            }
            Err(error) => {
                tracing::error!("the run came to nothing: {error:#}");
                Answer::Failed(format!("{error:#}"))
            }
        }
    }
}

fn refused(why: &str) -> Answer {
    Answer::Refused(why.to_owned())
}

/// Tells the benchmark where the run stands, and ends the run when the benchmark, or the server, is to end.
struct Reporter<'a> {
    line: &'a mut Line,
    end: &'a AtomicBool,
    stop: &'static AtomicBool,
    said: Moment,
}

impl Watcher for Reporter<'_> {
    fn show(&mut self, standing: &Standing) {
        if self.stop.load(Relaxed) {
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

/// Refuses an order that cannot be meant.
fn is_sound(order: &Order) -> Result<()> {
    let Order { threads, lanes, threads_in_all, part, .. } = order;
    let sound = (1..=1024).contains(threads)
        && (1..=LANES_MAX).contains(lanes)
        && threads_in_all >= threads;
    ensure!(sound && part.number < part.of, "the order asks for what no server has: {order:?}");
    Ok(())
}
