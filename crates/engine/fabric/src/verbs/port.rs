//! The server side: admits callers, and executes their calls. Verbs do not come here: a memory
//! server's card executes them, a compute server's refuses them.
//!
//! Decisions:
//! - docs/decisions/0088-services-of-a-memory-server-use-its-own-card.md
//! - docs/decisions/0270-calls-over-rdma-use-queue-pairs-and-one-port-serves-both.md

use super::callers::{Living, VerbsCallers};
use super::connections::send;
use super::desk::Desk;
use super::flight::Region;
use super::guest::{Greeting, Guest, GuestProgress};
use super::handshake::{OFFER_BYTES, Offer, is_closed};
use super::line::{Line, Signal, serial_of};
use super::message::{self, Message};
use super::slab::Slab;
use super::staging::{Range, Staging};
use super::transport::VerbsTransport;
use super::{Completion, CompletionQueue, Place, Registered, VerbsError};
use crate::env::Env;
use crate::guests::GuestLimits;
use crate::identity::{Admission, HELLO_BYTES, Hello, Refusal, named};
use crate::patience::Patience;
use crate::port::Port;
use crate::remote::{Engine, RemoteEnv};
use crate::service::{Answer, CallId, ServiceId, Services};
use crate::tell;
use layout::RegionId;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Capacity of the server's completion queue.
const COMPLETIONS: u32 = 16_384;
/// Limit on callers: each needs completions for its receives and answers.
const CALLERS_MAX: usize = 100;
/// Limit on running and unanswered calls of a connection, above which it posts no further receives.
const BEGUN_MAX: usize = 64;
/// Connections accepted at a check, so that a flood leaves time for callers.
const ACCEPTED_AT_ONCE: usize = 16;
/// Interval of checks for new and ended callers while the server is busy.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// The environment of services on a memory server over RDMA.
pub type VerbsEnv = RemoteEnv<VerbsTransport>;

/// Configuration of a memory server.
#[derive(Clone)]
pub struct VerbsServer {
    /// This side's port.
    pub place: Place,
    pub region: Arc<Registered>,
    pub admission: Arc<Admission>,
    /// Number of memory servers of the cluster.
    pub server_count: u16,
    pub services: Services<VerbsEnv>,
}

impl VerbsServer {
    /// Maps and registers a region, and writes its header.
    pub fn region(
        place: &Place,
        region: RegionId,
        bytes: u64,
    ) -> Result<Arc<Registered>, VerbsError> {
        let name = format!("namdb-region-{}", region.0);
        let memory = Registered::map(&name, bytes, &place.device, true)?;
        memory.write_region_header();
        Ok(Arc::new(memory))
    }
}

struct Caller {
    control: TcpStream,
    hello: Hello,
    line: Line,
}

/// The RDMA port of a server: a memory server, or a compute server whose handlers are tasks of `E`.
pub struct VerbsPort<E: Env = VerbsEnv> {
    place: Place,
    admission: Arc<Admission>,
    /// The region for verbs; `None` on a compute server.
    region: Option<Arc<Registered>>,
    listener: TcpListener,
    queue: Arc<CompletionQueue>,
    staging: Staging,
    /// Connections before their handshake, in the order in which they entered.
    guests: Vec<Guest>,
    callers: Vec<Caller>,
    serials: u32,
    desk: Desk<E>,
    /// Runs the handlers of a memory server.
    own: Option<(Engine<VerbsTransport>, VerbsEnv)>,
    /// Answers in flight: their staging memory, and their connections.
    sendings: Slab<(Range, u32)>,
    completions: Vec<Completion>,
    words: Vec<u64>,
    next_check: Option<Instant>,
    /// The server's epoch at the last check.
    epoch: u64,
    /// The callers that stay in the epoch of the last fence.
    living: Living,
    /// The epoch of an unconfirmed fence: calls of removed callers are still running.
    closing: Option<u64>,
    shared: Arc<VerbsCallers>,
}

impl VerbsPort {
    /// Listens at `address` for callers. It stays on the thread that serves it.
    pub fn bind(server: VerbsServer, address: SocketAddr) -> Result<Self, VerbsError> {
        let failed = |error| VerbsError::system("listen for callers", error);
        let listener = TcpListener::bind(address).map_err(failed)?;
        let VerbsServer { place, region, admission, server_count, services } = server;
        let within = VerbsTransport::within(&place, admission.node, server_count, &region)?;
        let engine = Engine::new(within, Patience::default())
            .map_err(|error| VerbsError::system("start the engine of a memory server", error))?;
        let env = engine.endpoint();
        let port = Self::of_calls(place, listener, admission, env.clone(), services)?;
        Ok(Self { region: Some(region), own: Some((engine, env)), ..port })
    }
}

impl<E: Env> VerbsPort<E> {
    /// Executes calls from `listener` of callers that `admission` admits, over connections through
    /// `place`. Handlers are tasks of `env`, whose engine serves this port ([`Engine::attach`]).
    /// There is no region: the card refuses verbs.
    pub fn of_calls(
        place: Place,
        listener: TcpListener,
        admission: Arc<Admission>,
        env: E,
        services: Services<E>,
    ) -> Result<Self, VerbsError> {
        let failed = |error| VerbsError::system("listen for callers", error);
        listener.set_nonblocking(true).map_err(failed)?;
        let queue = CompletionQueue::new(&place.device, COMPLETIONS.min(place.limits.completions))?;
        Ok(Self {
            listener,
            queue,
            staging: Staging::new(&place.device),
            guests: Vec::new(),
            callers: Vec::new(),
            serials: 0,
            desk: Desk::new(admission.node, env, services),
            own: None,
            sendings: Slab::default(),
            completions: Vec::new(),
            words: Vec::new(),
            next_check: None,
            epoch: admission.epoch.load(Ordering::Acquire),
            living: Living::default(),
            closing: None,
            shared: Arc::default(),
            region: None,
            admission,
            place,
        })
    }

    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The connected callers, and the fence that removes some.
    pub fn callers(&self) -> &Arc<VerbsCallers> {
        &self.shared
    }

    /// Removes callers. With their queue pairs they lose all access, and the card drops their
    /// answers.
    fn retain_callers(&mut self, mut is_kept: impl FnMut(&mut Caller) -> bool) {
        let mut index = 0;
        while index < self.callers.len() {
            if is_kept(&mut self.callers[index]) {
                index += 1;
                continue;
            }
            let gone = self.callers.swap_remove(index);
            let name = (gone.hello.caller, gone.hello.endpoint);
            tell::gone(&peer(&gone.control), name, &"it has left, or is no longer admitted");
            let gone = gone.line.serial();
            let its = self.sendings.iter().filter(|(_, (_, serial))| *serial == gone);
            let tokens: Vec<u32> = its.map(|(token, _)| token).collect();
            for token in tokens {
                let (range, _) = self.sendings.take(token).expect("it was found above");
                self.staging.give_back(range);
            }
        }
        self.shared.set_connection_count(self.callers.len());
    }

    /// Checks for new and ended callers.
    fn check_callers(&mut self) {
        self.retain_callers(|caller| !is_closed(&caller.control));
        self.remove_outdated();
        self.accept();
        let mut index = 0;
        while index < self.guests.len() {
            match self.guests[index].read(&self.admission.secret) {
                GuestProgress::Nothing => index += 1,
                GuestProgress::Gone => drop(self.guests.remove(index)),
                GuestProgress::Proven(greeting) => {
                    let guest = self.guests.remove(index);
                    self.answer_handshake(guest.stream, &greeting);
                }
            }
        }
        tell::refused_before();
    }

    /// Accepts guests; those that are too many displace others.
    fn accept(&mut self) {
        for _ in 0..ACCEPTED_AT_ONCE {
            let Ok((stream, address)) = self.listener.accept() else { return };
            let known: Vec<_> = self.guests.iter().map(Guest::known).collect();
            if let Some(index) = GuestLimits::VERBS.displaced(&known, address.ip()) {
                let displaced = self.guests.remove(index);
                let reason = "too many connections have not proven the secret";
                tell::refused(&peer(&displaced.stream), &reason);
            }
            // Dropping a stream closes it, which its caller notices.
            if stream.set_nonblocking(true).and(stream.set_nodelay(true)).is_ok() {
                self.guests.push(Guest::new(stream, address.ip()));
            }
        }
    }

    /// Removes callers of an earlier epoch.
    fn remove_outdated(&mut self) {
        if let Some(living) = self.shared.living_after(self.living.epoch) {
            let epoch = living.epoch;
            self.living = living;
            for caller in &mut self.callers {
                if self.living.identities.contains(&caller.hello.caller) {
                    caller.hello.epoch = caller.hello.epoch.max(epoch);
                }
            }
            self.retain_callers(|caller| caller.hello.epoch >= epoch);
            self.closing = Some(epoch);
        }
        let epoch = self.admission.epoch.load(Ordering::Acquire);
        if epoch != self.epoch {
            self.epoch = epoch;
            let admission = self.admission.clone();
            self.retain_callers(|caller| is_served(&admission, &caller.hello));
        }
    }

    /// Confirms a fence once the last call of removed callers has ended: its handler writes on
    /// their behalf.
    fn close(&mut self) {
        let callers = &self.callers;
        let is_connected = |serial| callers.iter().any(|caller| caller.line.serial() == serial);
        if self.closing.is_some() && self.desk.running().are_all_of(is_connected) {
            self.closing.take().into_iter().for_each(|epoch| self.shared.closed(epoch));
        }
    }

    fn answer_handshake(&mut self, mut stream: TcpStream, greeting: &Greeting) {
        let (hello, offer) = greeting.message.split_at(HELLO_BYTES);
        let hello = hello.try_into().expect("the length was waited for");
        let offer = offer.try_into().expect("the length was waited for");
        let (caller, answer) = match self.admit(hello, offer) {
            Ok((caller, welcome, ours)) => (Some(caller), [&welcome[..], &ours.encode()].concat()),
            Err(refusal) => {
                tell::refused(&peer(&stream), &refusal);
                (None, [&refusal.encode()[..], &[0; OFFER_BYTES]].concat())
            }
        };
        let seal = greeting.proven.seal(&self.admission.secret, &answer);
        // The answer is far shorter than the system's buffer, so a caller that does not receive it
        // has ended.
        let is_sent = stream.write_all(&[&answer[..], &seal].concat()).is_ok();
        if let Some((line, hello)) = caller.filter(|_| is_sent) {
            tell::connected(&peer(&stream), &hello);
            self.callers.push(Caller { control: stream, hello, line });
            self.shared.set_connection_count(self.callers.len());
        }
    }

    #[allow(clippy::type_complexity, reason = "an end, its caller, and the answers to both")]
    fn admit(
        &mut self,
        hello: &[u8; HELLO_BYTES],
        offer: &[u8; OFFER_BYTES],
    ) -> Result<((Line, Hello), [u8; crate::identity::ANSWER_BYTES], Offer), Refusal> {
        let (mut hello, welcome) = self.admission.admit(hello)?;
        let theirs = Offer::decode(offer)?;
        let fence = self.living.epoch;
        if hello.epoch < fence {
            if !self.living.identities.contains(&hello.caller) {
                return Err(Refusal::new(format!(
                    "the caller is of epoch {}, and no longer a member in epoch {fence}; read the configuration again",
                    hello.epoch
                )));
            }
            hello.epoch = fence;
        }
        // A caller that connects again under its name has given up on its earlier requests.
        let name = (hello.caller, hello.endpoint);
        self.retain_callers(|other| (other.hello.caller, other.hello.endpoint) != name);
        if self.callers.len() == CALLERS_MAX {
            return Err(Refusal::new(format!(
                "{} has {CALLERS_MAX} callers, which is its limit; use fewer threads",
                named(self.admission.node)
            )));
        }
        self.serials += 1;
        let refuse = |error: VerbsError| Refusal::new(error);
        let allows_verbs = self.region.is_some();
        let mut line =
            Line::new(&self.place, &self.queue, self.serials, allows_verbs).map_err(refuse)?;
        let region = self.region.as_deref().map(Region::of).unwrap_or_default();
        let ours = Offer { endpoint: line.endpoint(), region };
        line.connect(&theirs.endpoint).map_err(refuse)?;
        Ok(((line, hello), welcome.encode(), ours))
    }

    fn handle(&mut self, completion: &Completion) {
        let serial = serial_of(completion.id);
        let Some(index) = self.callers.iter().position(|caller| caller.line.serial() == serial)
        else {
            return;
        };
        if !completion.is_success {
            return self.retain_callers(|caller| caller.line.serial() != serial);
        }
        let Caller { line, hello, .. } = &mut self.callers[index];
        match line.decode(completion.id) {
            Signal::Nothing => {}
            Signal::Sent(token) => {
                if let Some((range, _)) = self.sendings.take(token) {
                    self.staging.give_back(range);
                }
            }
            Signal::Arrived(slot) => match line.arrived(slot, completion.bytes) {
                Ok(None) => {}
                Ok(Some(Message::Call { id, service, request }))
                    if is_served(&self.admission, hello) =>
                {
                    self.call(serial, id, service, request);
                }
                // Remove a caller that sends anything but a call, or is no longer a member.
                Ok(Some(_)) | Err(_) => {
                    self.retain_callers(|caller| caller.line.serial() != serial);
                }
            },
        }
    }

    fn call(&mut self, serial: u32, id: CallId, service: ServiceId, request: Vec<u8>) {
        if let Some(answer) = self.desk.begin(serial, id, service, request) {
            self.send_answer(serial, id, &answer);
        }
        let is_full = begun(&self.desk, &self.sendings, serial) >= BEGUN_MAX;
        if is_full && let Some(caller) = caller_of(&mut self.callers, serial) {
            caller.line.hold();
        }
    }

    fn send_answers(&mut self) {
        for (serial, id, answer) in self.desk.take_ended() {
            self.send_answer(serial, id, &answer);
            self.desk.record(id, answer);
        }
        for caller in self.callers.iter_mut().filter(|caller| caller.line.is_held()) {
            if begun(&self.desk, &self.sendings, caller.line.serial()) < BEGUN_MAX {
                caller.line.release();
            }
        }
        self.retain_callers(|caller| caller.line.flush().is_ok());
    }

    /// Running handlers of this port's own engine.
    fn own_tasks(&self) -> usize {
        self.own.as_ref().map_or(0, |(engine, _)| engine.task_count())
    }

    /// A caller that has ended, or whose answer finds no memory, receives nothing and times out.
    fn send_answer(&mut self, serial: u32, id: CallId, answer: &Answer) {
        let Some(caller) = caller_of(&mut self.callers, serial) else { return };
        message::answer(id, answer, &mut self.words);
        let token = self.sendings.add((Range::default(), serial));
        match send(&self.words, token, &mut caller.line, &mut self.staging) {
            Ok(range) => {
                self.sendings.get_mut(token).expect("it was added above").0 = range;
            }
            Err(_) => {
                self.sendings.take(token);
            }
        }
    }
}

impl<E: Env> Port for VerbsPort<E> {
    fn serve(&mut self) -> usize {
        let moment = now();
        if self.next_check.is_none_or(|next| moment >= next) {
            self.next_check = Some(moment + CHECK_INTERVAL);
            self.check_callers();
        }
        while matches!(self.queue.poll(&mut self.completions), Ok(1..)) {}
        let completions = std::mem::take(&mut self.completions);
        completions.iter().for_each(|completion| self.handle(completion));
        let count = completions.len();
        self.completions = completions;
        self.completions.clear();
        if let Some((engine, env)) = self.own.as_ref().filter(|(own, _)| own.task_count() > 0) {
            engine.block_on(env.yield_now());
        }
        self.send_answers();
        self.close();
        // Handlers that wait for the card count as work, too.
        count + self.own_tasks()
    }

    fn arm(&mut self) -> bool {
        let is_armed = self.queue.arm().is_ok();
        while matches!(self.queue.poll(&mut self.completions), Ok(1..)) {}
        !is_armed || !self.completions.is_empty() || self.own_tasks() > 0
    }

    fn disarm(&mut self) {
        self.queue.quiet();
        self.next_check = None;
    }

    fn descriptors<'a>(&'a self, to: &mut Vec<BorrowedFd<'a>>) {
        to.push(self.queue.as_fd());
        to.push(self.listener.as_fd());
        to.extend(self.guests.iter().map(|guest| guest.stream.as_fd()));
        to.extend(self.callers.iter().map(|caller| caller.control.as_fd()));
    }
}

/// Whether to execute calls of a connection that began with `hello`.
fn is_served(admission: &Admission, hello: &Hello) -> bool {
    admission.is_current(hello.epoch, hello.key, hello.caller)
}

/// Calls of a connection that are running, or whose answers are in flight.
fn begun<E: Env>(desk: &Desk<E>, sendings: &Slab<(Range, u32)>, serial: u32) -> usize {
    let answered = sendings.iter().filter(|(_, (_, to))| *to == serial);
    desk.running().count_of(serial) + answered.count()
}

fn caller_of(callers: &mut [Caller], serial: u32) -> Option<&mut Caller> {
    callers.iter_mut().find(|caller| caller.line.serial() == serial)
}

fn now() -> Instant {
    #[allow(clippy::disallowed_methods, reason = "callers of a network are not part of a run")]
    Instant::now()
}

/// Peer address of a handshake.
fn peer(stream: &TcpStream) -> String {
    stream.peer_addr().map_or_else(|_| "a caller that has gone".to_owned(), |peer| peer.to_string())
}
