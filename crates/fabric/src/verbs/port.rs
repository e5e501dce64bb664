//! A memory server's side: lets callers in, and carries out their calls. Verbs pass it by.

use super::callers::{Living, VerbsCallers};
use super::connections::send;
use super::flight::Region;
use super::handshake::{OFFER_BYTES, Offer, is_closed};
use super::line::{Line, Told, serial_of};
use super::message::{self, Message};
use super::running::Running;
use super::slab::Slab;
use super::staging::{Range, Staging};
use super::transport::VerbsTransport;
use super::{Completion, CompletionQueue, Place, Registered, VerbsError};
use crate::env::Env;
use crate::error::CallError;
use crate::identity::{Admission, HELLO_BYTES, Hello, Refusal};
use crate::patience::Patience;
use crate::port::Port;
use crate::remote::{Engine, RemoteEnv};
use crate::service::{Answer, AnswerRecord, Arrival, CallId, Service, ServiceId};
use crate::tell;
use layout::RegionId;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Completions that the server's queue holds.
const COMPLETIONS: u32 = 16_384;
/// Callers there may be at a time: each has up to as many completions as its places for messages and answers.
const CALLERS_MAX: usize = 100;
/// Callers that are being let in at a time; others wait with the system.
const GREETINGS_MAX: usize = 16;
/// How long a caller may take to say who it is.
const GREETING_TIME_MAX: Duration = Duration::from_secs(2);
/// How often connections are looked at while the server is busy.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The environment of services on a memory server that is reached by RDMA.
pub type VerbsEnv = RemoteEnv<VerbsTransport>;

/// What a memory server is made of.
#[derive(Clone)]
pub struct VerbsServer {
    /// This side's port.
    pub place: Place,
    /// The server's region.
    pub region: Arc<Registered>,
    /// Whom it lets in.
    pub admission: Arc<Admission>,
    /// Memory servers there are in all.
    pub server_count: u16,
    /// What it offers.
    pub services: BTreeMap<ServiceId, Arc<dyn Service<VerbsEnv>>>,
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

/// Somebody who has connected and not yet said who it is.
struct Greeting {
    stream: TcpStream,
    bytes: Vec<u8>,
    since: Instant,
}

/// Somebody who was let in.
struct Caller {
    control: TcpStream,
    hello: Hello,
    line: Line,
}

/// Where a memory server is reached by RDMA.
pub struct VerbsPort {
    server: VerbsServer,
    listener: TcpListener,
    queue: Arc<CompletionQueue>,
    staging: Staging,
    greetings: Vec<Greeting>,
    callers: Vec<Caller>,
    serials: u32,
    engine: Engine<VerbsTransport>,
    env: VerbsEnv,
    record: AnswerRecord,
    running: Running,
    /// What handlers have answered.
    answers: Rc<RefCell<Vec<(CallId, Answer)>>>,
    /// Answers under way: where they stand, and whose they are.
    sendings: Slab<(Range, u32)>,
    completions: Vec<Completion>,
    words: Vec<u64>,
    next_look: Option<Instant>,
    /// The server's epoch when it was last looked at.
    epoch: u64,
    /// Who goes on in the epoch of the last fence.
    living: Living,
    /// The epoch of a fence that nobody was told of: what was called by those who left is still under way.
    closing: Option<u64>,
    shared: Arc<VerbsCallers>,
}

impl VerbsPort {
    /// Listens at `address` for callers. It belongs to the thread that serves it.
    pub fn bind(server: VerbsServer, address: SocketAddr) -> Result<Self, VerbsError> {
        let failed = |error| VerbsError::system("listen for callers", error);
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let (place, node) = (&server.place, server.admission.node);
        let within = VerbsTransport::within(place, node, server.server_count, &server.region)?;
        let engine = Engine::new(within, Patience::default())
            .map_err(|error| VerbsError::system("start the engine of a memory server", error))?;
        let queue = CompletionQueue::new(&place.device, COMPLETIONS.min(place.limits.completions))?;
        Ok(Self {
            listener,
            queue,
            staging: Staging::new(&place.device),
            greetings: Vec::new(),
            callers: Vec::new(),
            serials: 0,
            env: engine.endpoint(),
            engine,
            record: AnswerRecord::default(),
            running: Running::default(),
            answers: Rc::default(),
            sendings: Slab::default(),
            completions: Vec::new(),
            words: Vec::new(),
            next_look: None,
            epoch: server.admission.epoch.load(Ordering::Acquire),
            living: Living::default(),
            closing: None,
            shared: Arc::default(),
            server,
        })
    }

    /// Where callers connect to.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Who is connected, and who shall be no more.
    pub fn callers(&self) -> &Arc<VerbsCallers> {
        &self.shared
    }

    /// Lets go of callers. With their queue pairs they lose all access, and the card forgets their answers.
    fn keep(&mut self, mut is_kept: impl FnMut(&mut Caller) -> bool) {
        let mut index = 0;
        while index < self.callers.len() {
            if is_kept(&mut self.callers[index]) {
                index += 1;
                continue;
            }
            let gone = self.callers.swap_remove(index);
            let name = (gone.hello.caller, gone.hello.endpoint);
            tell::gone(&peer(&gone.control), name, &"it has left, or may not stay");
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

    /// Lets callers in and out.
    fn look(&mut self) {
        self.keep(|caller| !is_closed(&caller.control));
        self.put_out();
        while self.greetings.len() < GREETINGS_MAX
            && let Ok((stream, _)) = self.listener.accept()
        {
            // A stream that cannot be set up is dropped, which tells its caller.
            if stream.set_nonblocking(true).and(stream.set_nodelay(true)).is_ok() {
                let bytes = Vec::with_capacity(HELLO_BYTES + OFFER_BYTES);
                self.greetings.push(Greeting { stream, bytes, since: now() });
            }
        }
        let mut index = 0;
        while index < self.greetings.len() {
            match self.greetings[index].read() {
                Heard::Nothing => index += 1,
                Heard::Gone => drop(self.greetings.swap_remove(index)),
                Heard::All => {
                    let greeting = self.greetings.swap_remove(index);
                    self.greet(greeting);
                }
            }
        }
    }

    /// Lets go of callers whose epoch is over.
    fn put_out(&mut self) {
        if let Some(living) = self.shared.living_after(self.living.epoch) {
            let epoch = living.epoch;
            self.living = living;
            for caller in &mut self.callers {
                if self.living.identities.contains(&caller.hello.caller) {
                    caller.hello.epoch = caller.hello.epoch.max(epoch);
                }
            }
            self.keep(|caller| caller.hello.epoch >= epoch);
            self.closing = Some(epoch);
        }
        let epoch = self.server.admission.epoch.load(Ordering::Acquire);
        if epoch != self.epoch {
            self.epoch = epoch;
            self.keep(|caller| caller.hello.epoch >= epoch);
        }
    }

    /// A fence is up when the last call of those who left has ended: its handler writes on their behalf.
    fn close(&mut self) {
        let callers = &self.callers;
        let is_connected = |serial| callers.iter().any(|caller| caller.line.serial() == serial);
        if self.closing.is_some() && self.running.are_all_of(is_connected) {
            self.closing.take().into_iter().for_each(|epoch| self.shared.closed(epoch));
        }
    }

    /// Answers somebody who has said who it is.
    fn greet(&mut self, mut greeting: Greeting) {
        let (hello, offer) = greeting.bytes.split_at(HELLO_BYTES);
        let hello = hello.try_into().expect("the length was waited for");
        let offer = offer.try_into().expect("the length was waited for");
        let answer = match self.admit(hello, offer) {
            Ok((caller, welcome, ours)) => {
                let mut answer = welcome.to_vec();
                answer.extend(ours.encode());
                Ok((caller, answer))
            }
            Err(refusal) => {
                tell::refused(&peer(&greeting.stream), &refusal);
                Err(refusal.encode())
            }
        };
        match answer {
            // The answer is far smaller than the system's buffer, so a caller that cannot take it is gone.
            Ok(((line, hello), answer)) => {
                if greeting.stream.write_all(&answer).is_ok() {
                    tell::connected(&peer(&greeting.stream), &hello);
                    self.callers.push(Caller { control: greeting.stream, hello, line });
                    self.shared.set_connection_count(self.callers.len());
                }
            }
            Err(refusal) => {
                let _gone_is_fine = greeting.stream.write_all(&refusal);
            }
        }
    }

    #[allow(clippy::type_complexity, reason = "an end, its caller, and what both are told")]
    fn admit(
        &mut self,
        hello: &[u8; HELLO_BYTES],
        offer: &[u8; OFFER_BYTES],
    ) -> Result<((Line, Hello), [u8; crate::identity::ANSWER_BYTES], Offer), Refusal> {
        let (mut hello, welcome) = self.server.admission.admit(hello)?;
        let theirs = Offer::decode(offer)?;
        let fence = self.living.epoch;
        if hello.epoch < fence {
            if !self.living.identities.contains(&hello.caller) {
                return Err(Refusal::new(format!(
                    "the caller is of epoch {}, and no member any more in epoch {fence}; read the configuration anew",
                    hello.epoch
                )));
            }
            hello.epoch = fence;
        }
        // Whoever connects again under its name has given up on what it posted before.
        let name = (hello.caller, hello.endpoint);
        self.keep(|other| (other.hello.caller, other.hello.endpoint) != name);
        if self.callers.len() == CALLERS_MAX {
            return Err(Refusal::new(format!(
                "memory server {} has {CALLERS_MAX} callers, which is its limit; use fewer threads",
                self.server.admission.node.0
            )));
        }
        self.serials += 1;
        let refuse = |error: VerbsError| Refusal::new(error);
        let mut line =
            Line::new(&self.server.place, &self.queue, self.serials, true).map_err(refuse)?;
        let ours = Offer { endpoint: line.endpoint(), region: Region::of(&self.server.region) };
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
            return self.keep(|caller| caller.line.serial() != serial);
        }
        let line = &mut self.callers[index].line;
        match line.told(completion.id) {
            Told::Nothing => {}
            Told::Sent(token) => {
                if let Some((range, _)) = self.sendings.take(token) {
                    self.staging.give_back(range);
                }
            }
            Told::Arrived(slot) => match line.arrived(slot, completion.bytes) {
                Ok(None) => {}
                Ok(Some(Message::Call { id, service, request })) => {
                    self.call(serial, id, service, request);
                }
                // Whoever sends what is no call is no caller of ours.
                Ok(Some(Message::Answer { .. })) | Err(_) => {
                    self.keep(|caller| caller.line.serial() != serial);
                }
            },
        }
    }

    fn call(&mut self, serial: u32, id: CallId, service: ServiceId, request: Vec<u8>) {
        match self.record.arrive(id) {
            Arrival::Repeat(answer) => self.send_answer(serial, id, &answer),
            Arrival::Stale => {}
            Arrival::Handle if !self.running.begin(id, serial) => {}
            Arrival::Handle => {
                let node = self.server.admission.node;
                let (env, answers) = (self.env.clone(), self.answers.clone());
                let handler = self.server.services.get(&service).cloned();
                self.env.spawn(async move {
                    let answer = match &handler {
                        Some(handler) => handler.handle(&env, &request).await,
                        None => Err(CallError::NoSuchService(node, service)),
                    };
                    answers.borrow_mut().push((id, answer));
                });
            }
        }
    }

    fn send_answers(&mut self) {
        let answers = std::mem::take(&mut *self.answers.borrow_mut());
        for (id, answer) in answers {
            let serial = self.running.end(id);
            self.send_answer(serial, id, &answer);
            self.record.record(id, answer);
        }
        self.keep(|caller| caller.line.flush().is_ok());
    }

    /// A caller that is gone, or for which there is no memory, hears nothing, and gives up in its time.
    fn send_answer(&mut self, serial: u32, id: CallId, answer: &Answer) {
        let caller = self.callers.iter_mut().find(|caller| caller.line.serial() == serial);
        let Some(caller) = caller else { return };
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

impl Port for VerbsPort {
    fn serve(&mut self) -> usize {
        let moment = now();
        if self.next_look.is_none_or(|next| moment >= next) {
            self.next_look = Some(moment + LOOK_EVERY);
            self.look();
        }
        while matches!(self.queue.poll(&mut self.completions), Ok(1..)) {}
        let completions = std::mem::take(&mut self.completions);
        completions.iter().for_each(|completion| self.handle(completion));
        let count = completions.len();
        self.completions = completions;
        self.completions.clear();
        if self.engine.task_count() > 0 {
            self.engine.block_on(self.env.yield_now());
        }
        self.send_answers();
        self.close();
        // Handlers that wait for the card are something to do, too.
        count + self.engine.task_count()
    }

    fn arm(&mut self) -> bool {
        let is_armed = self.queue.arm().is_ok();
        while matches!(self.queue.poll(&mut self.completions), Ok(1..)) {}
        !is_armed || !self.completions.is_empty() || self.engine.task_count() > 0
    }

    fn disarm(&mut self) {
        self.queue.quiet();
        self.next_look = None;
    }

    fn descriptors<'a>(&'a self, to: &mut Vec<BorrowedFd<'a>>) {
        to.push(self.queue.as_fd());
        to.push(self.listener.as_fd());
        to.extend(self.greetings.iter().map(|greeting| greeting.stream.as_fd()));
        to.extend(self.callers.iter().map(|caller| caller.control.as_fd()));
    }
}

/// What was heard from somebody who is to say who it is.
enum Heard {
    Nothing,
    Gone,
    All,
}

impl Greeting {
    fn read(&mut self) -> Heard {
        let missing = HELLO_BYTES + OFFER_BYTES - self.bytes.len();
        let mut piece = [0; HELLO_BYTES + OFFER_BYTES];
        match self.stream.read(&mut piece[..missing]) {
            Ok(0) => Heard::Gone,
            Ok(count) => {
                self.bytes.extend_from_slice(&piece[..count]);
                if count == missing { Heard::All } else { Heard::Nothing }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if self.since.elapsed() > GREETING_TIME_MAX { Heard::Gone } else { Heard::Nothing }
            }
            Err(_) => Heard::Gone,
        }
    }
}

fn now() -> Instant {
    #[allow(clippy::disallowed_methods, reason = "callers of a network are not part of a run")]
    Instant::now()
}

/// Where a caller's introduction came from.
fn peer(stream: &TcpStream) -> String {
    stream.peer_addr().map_or_else(|_| "a caller that has gone".to_owned(), |peer| peer.to_string())
}
