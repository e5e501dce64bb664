//! The connection of an engine thread to one server.
//!
//! Decision: docs/decisions/0079-a-lost-connection-ends-its-requests-and-is-replaced.md

use crate::address_map::AddressMap;
use crate::batch::Batch;
use crate::error::{CallError, FabricError};
use crate::identity::Welcome;
use crate::remote::{Call, Outcome, ServerAddress, Ticket};
use crate::service::ServiceId;
use crate::tcp::buffer::{Inbox, NoFrame, Outbox, is_temporary};
use crate::tcp::channel::Channel;
use crate::tcp::frame::{self, ANSWER_HEADER, Head, kind};
use crate::tcp::join::{Failure, Joining};
use crate::tcp::request::{self, Malformed};
use crate::tcp::spread::{Part, Spreads};
use crate::tcp::tls::{Session, TlsKeys};
use crate::tcp::transport::TcpConfig;
use crate::tcp::{answer, message};
use crate::tell;
use crate::verb::Verb;
use layout::{GlobalPtr, NodeId};
use rustix::event::{PollFd, PollFlags};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

/// Nanoseconds before the second attempt to connect; doubled for each further one.
const RETRY_NS: u64 = 20_000_000;

pub(super) struct Link {
    server: ServerAddress,
    state: State,
    inbox: Inbox,
    outbox: Outbox,
    /// Requests since the first unanswered one, in order; `None` for answered ones. Memory servers
    /// answer in that order, compute servers as calls end.
    pending: VecDeque<Option<PendingRequest>>,
    sequence: u64,
    /// Unanswered groups of requests, with their times.
    owed: VecDeque<Owed>,
    /// Attempts to connect since the last answer.
    attempts: u32,
    /// Why there is no connection, or why the last one was lost.
    reason: String,
}

enum State {
    Open(Channel),
    Joining(Joining),
    /// Until the next attempt, at this time.
    Waiting(u64),
    /// All attempts have failed.
    Lost,
}

/// Requests that were sent together.
struct Owed {
    /// The number of the last of them.
    last: u64,
    since_ns: u64,
}

/// An unanswered request.
enum PendingRequest {
    /// A batch with all its verbs in this request.
    Whole(Ticket, Batch),
    /// Some verbs of a batch.
    Part(Part),
    Call(Ticket, ServiceId),
}

/// Receives completed batches and calls.
pub(super) struct Sink<'a, F> {
    pub spreads: &'a mut Spreads,
    pub map: &'a AddressMap,
    pub complete: &'a mut F,
}

impl Link {
    pub fn new(server: ServerAddress) -> Self {
        Self {
            server,
            state: State::Waiting(0),
            inbox: Inbox::new(),
            outbox: Outbox::default(),
            pending: VecDeque::new(),
            sequence: 0,
            owed: VecDeque::new(),
            attempts: 0,
            reason: String::new(),
        }
    }

    /// No connection: the server is not known yet, or is this process.
    pub fn absent(node: NodeId) -> Self {
        let address = SocketAddr::from(([0, 0, 0, 0], 0));
        let server = ServerAddress { node, address, identity: 0, key: 0, region_bytes: 0 };
        Self { state: State::Lost, ..Self::new(server) }
    }

    /// Whether there is no server to connect to.
    pub fn is_absent(&self) -> bool {
        self.server.identity == 0
    }

    pub fn server(&self) -> &ServerAddress {
        &self.server
    }

    pub fn node(&self) -> NodeId {
        self.server.node
    }

    #[inline]
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Whether all attempts to connect have failed.
    pub fn is_lost(&self) -> bool {
        matches!(self.state, State::Lost)
    }

    /// Why the connection was lost, or why the last attempt has failed.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Appends a request; `body` appends the words after its header.
    #[inline]
    fn post(
        &mut self,
        what: PendingRequest,
        kind: u8,
        epoch: u64,
        body: impl FnOnce(&mut Vec<u64>, &PendingRequest),
    ) {
        debug_assert!(self.is_open());
        self.sequence += 1;
        let words = self.outbox.words();
        let start = words.len();
        words.extend([0, epoch, self.server.key, self.sequence]);
        body(words, &what);
        frame::close(words, start, kind);
        self.pending.push_back(Some(what));
    }

    /// Posts a batch whose verbs all go to this server and fit into one frame.
    #[inline]
    pub fn post_whole(&mut self, ticket: Ticket, batch: Batch, epoch: u64) {
        self.post(PendingRequest::Whole(ticket, batch), kind::BATCH, epoch, |words, what| {
            let PendingRequest::Whole(_, batch) = what else {
                unreachable!("a whole batch was posted")
            };
            let arena = batch.arena();
            batch.verbs().iter().for_each(|verb| request::encode(verb, arena, words));
        });
    }

    /// Posts some verbs of a batch.
    pub fn post_part<'a>(
        &mut self,
        part: Part,
        verbs: impl Iterator<Item = &'a Verb>,
        arena: &[u64],
        epoch: u64,
    ) {
        self.post(PendingRequest::Part(part), kind::BATCH, epoch, |words, _| {
            verbs.for_each(|verb| request::encode(verb, arena, words));
        });
    }

    pub fn post_call(&mut self, ticket: Ticket, call: &Call, epoch: u64) {
        self.post(PendingRequest::Call(ticket, call.service), kind::CALL, epoch, |words, _| {
            message::encode_request(call, words);
        });
    }

    /// Sends requests, receives answers, and closes the connection if an answer is overdue.
    /// `must_read`: read even if no answer is pending, since the server may have closed the
    /// connection.
    #[inline]
    pub fn progress(
        &mut self,
        config: &TcpConfig,
        keys: Option<&TlsKeys>,
        now_ns: u64,
        must_read: bool,
        sink: &mut Sink<'_, impl FnMut(Ticket, Outcome)>,
    ) {
        if !self.is_open() {
            return self.join(config, keys, now_ns);
        }
        if self.pending.is_empty() && !must_read {
            return;
        }
        if self.owed.back().is_none_or(|owed| owed.last < self.sequence) {
            self.owed.push_back(Owed { last: self.sequence, since_ns: now_ns });
        }
        match self.exchange(sink) {
            Ok(has_answered) => {
                if self.is_overdue(has_answered, config, now_ns) {
                    self.lose("the server has not answered in time", now_ns, sink);
                }
            }
            Err(reason) => self.lose(&reason, now_ns, sink),
        }
    }

    /// Whether the oldest unanswered request is overdue.
    ///
    /// A memory server executes requests one after another: any answer brings the pending ones
    /// nearer to their turn, so the server is lost only if it answers nothing for the whole
    /// time-out. With replicas its handlers run beside the verbs, and end by themselves. Handlers
    /// of a compute server run concurrently, so answers to other requests, earlier ones included,
    /// say nothing about one that does not end: there each request has its own time-out from when
    /// it was sent.
    ///
    /// The connection is closed, which also fails later requests that are not overdue. Failing one
    /// request alone would leave its handler in one of the places that the server has for calls of
    /// this connection, until handlers that hang occupy all of them; closing the connection frees
    /// them all.
    #[inline]
    fn is_overdue(&mut self, has_answered: bool, config: &TcpConfig, now_ns: u64) -> bool {
        let first = first(self.sequence, &self.pending);
        while self.owed.front().is_some_and(|owed| owed.last < first) {
            self.owed.pop_front();
        }
        let Some(owed) = self.owed.front_mut() else { return false };
        if has_answered && self.server.node.compute_server().is_none() {
            owed.since_ns = now_ns;
        }
        now_ns - owed.since_ns > config.answer_time_max_ns
    }

    /// Sends and receives as much as possible without blocking; returns whether a request was
    /// answered.
    #[inline]
    fn exchange(
        &mut self,
        sink: &mut Sink<'_, impl FnMut(Ticket, Outcome)>,
    ) -> Result<bool, String> {
        let State::Open(channel) = &mut self.state else { return Ok(false) };
        let mut has_answered = false;
        if !self.outbox.is_empty() {
            self.outbox.send(|bytes| channel.write(bytes)).map_err(|error| error.to_string())?;
        }
        channel.flush().map_err(|error| error.to_string())?;
        loop {
            match self.inbox.receive(|room| channel.read(room)) {
                Ok(0) => return Err("the server has closed the connection".to_owned()),
                Ok(_) => {}
                Err(error) if is_temporary(&error) => return Ok(has_answered),
                Err(error) => return Err(error.to_string()),
            }
            let is_full = self.inbox.is_full();
            while let Some(range) = self.inbox.frame(ANSWER_HEADER).map_err(|NoFrame| garbage())? {
                let [head, sequence, body @ ..] = self.inbox.words(range.clone()) else {
                    unreachable!("a frame has its header")
                };
                let (kind, sequence) = (Head::parse(*head, ANSWER_HEADER), *sequence);
                let kind = kind.ok_or_else(garbage)?.kind;
                if kind == kind::REFUSED {
                    return Err(refusal(body));
                }
                let first = first(self.sequence, &self.pending);
                let what = take(&mut self.pending, sequence, first).ok_or_else(garbage)?;
                accept(what, (kind, body), self.server.node, sink)?;
                self.inbox.consume(range.len());
                self.attempts = 0;
                has_answered = true;
            }
            if !is_full {
                return Ok(has_answered);
            }
        }
    }

    /// Closes the connection: all requests in flight fail as unreachable.
    #[cold]
    pub fn lose(
        &mut self,
        reason: &str,
        now_ns: u64,
        sink: &mut Sink<'_, impl FnMut(Ticket, Outcome)>,
    ) {
        if self.is_open() {
            tell::lost(self.server.node, &self.server.address, reason);
        }
        reason.clone_into(&mut self.reason);
        self.state = State::Waiting(now_ns);
        self.outbox.clear();
        self.inbox.clear();
        self.sequence = 0;
        self.owed.clear();
        for what in std::mem::take(&mut self.pending).into_iter().flatten() {
            fail(what, FabricError::Unreachable(self.server.node), sink);
        }
    }

    fn begin(&self, keys: Option<&TlsKeys>, deadline_ns: u64) -> io::Result<Joining> {
        let session = keys.map(|keys| Session::connect(keys, self.server.node)).transpose()?;
        Joining::begin(self.server.address, session, deadline_ns)
    }

    #[cold]
    fn join(&mut self, config: &TcpConfig, keys: Option<&TlsKeys>, now_ns: u64) {
        if let State::Waiting(next_ns) = self.state
            && next_ns <= now_ns
        {
            self.attempts += 1;
            match self.begin(keys, now_ns + config.connect_time_max_ns) {
                Ok(joining) => self.state = State::Joining(joining),
                Err(error) => self.failed(&error.to_string(), config, now_ns),
            }
        }
        let State::Joining(joining) = &mut self.state else { return };
        let hello = config.caller.hello(&self.server);
        let proven = (&config.caller.secret, &hello);
        match joining.progress(proven, &mut self.inbox, &mut self.outbox) {
            Ok(Some(welcome)) => self.open(&welcome, config, now_ns),
            Ok(None) if joining.deadline_ns >= now_ns => {}
            Ok(None) => self.failed("the server does not answer", config, now_ns),
            Err(Failure::Temporary(reason)) => self.failed(&reason, config, now_ns),
            Err(Failure::Refused(reason)) => {
                self.reason = reason;
                self.state = State::Lost;
            }
        }
    }

    fn open(&mut self, welcome: &Welcome, config: &TcpConfig, now_ns: u64) {
        if welcome.node != self.server.node {
            return self.failed("another server has answered", config, now_ns);
        }
        if let State::Joining(joining) = std::mem::replace(&mut self.state, State::Lost) {
            self.state = State::Open(joining.channel);
            self.server.region_bytes = welcome.region_bytes;
        }
    }

    fn failed(&mut self, reason: &str, config: &TcpConfig, now_ns: u64) {
        reason.clone_into(&mut self.reason);
        self.state = match self.attempts {
            attempts if attempts >= config.attempts_max => State::Lost,
            attempts => State::Waiting(now_ns + (RETRY_NS << attempts.min(10))),
        };
    }

    /// The next moment with work even if nothing arrives.
    pub fn deadline_ns(&self, config: &TcpConfig) -> Option<u64> {
        match &self.state {
            State::Open(_) => {
                self.owed.front().map(|owed| owed.since_ns + config.answer_time_max_ns)
            }
            State::Joining(joining) => Some(joining.deadline_ns),
            State::Waiting(next_ns) => Some(*next_ns),
            State::Lost => None,
        }
    }

    /// The descriptor and events to poll for.
    pub fn descriptor(&self) -> Option<PollFd<'_>> {
        match &self.state {
            State::Open(channel) if self.outbox.is_empty() && !channel.is_unsent() => {
                Some(PollFd::new(channel, PollFlags::IN))
            }
            State::Open(channel) => Some(PollFd::new(channel, PollFlags::IN | PollFlags::OUT)),
            State::Joining(joining) => Some(PollFd::new(&joining.channel, joining.flags())),
            State::Waiting(_) | State::Lost => None,
        }
    }
}

/// Number of the first unanswered request; that of the next request if all are answered.
#[inline]
fn first(sequence: u64, pending: &VecDeque<Option<PendingRequest>>) -> u64 {
    sequence + 1 - pending.len() as u64
}

/// Removes request `sequence` from the pending ones, which begin with number `first`.
#[inline]
fn take(
    pending: &mut VecDeque<Option<PendingRequest>>,
    sequence: u64,
    first: u64,
) -> Option<PendingRequest> {
    let place = usize::try_from(sequence.checked_sub(first)?).ok()?;
    let what = pending.get_mut(place)?.take()?;
    while let Some(None) = pending.front() {
        pending.pop_front();
    }
    Some(what)
}

/// Completes a request with its answer.
#[inline]
fn accept(
    what: PendingRequest,
    (kind, body): (u8, &[u64]),
    node: NodeId,
    sink: &mut Sink<'_, impl FnMut(Ticket, Outcome)>,
) -> Result<(), String> {
    let accepted = match (what, kind) {
        (PendingRequest::Whole(ticket, batch), kind::DONE) => whole(ticket, batch, body, sink),
        (PendingRequest::Part(part), kind::DONE) => {
            let decoded = sink.spreads.accept(&part, sink.map, body);
            decoded.map_err(|Malformed| PendingRequest::Part(part))
        }
        (what @ (PendingRequest::Whole(..) | PendingRequest::Part(_)), kind::OUT_OF_RANGE) => {
            match *body {
                [at, words] => {
                    let at = GlobalPtr::from_word(at);
                    fail(what, FabricError::OutOfRange { at, words: words as u32 }, sink);
                    Ok(())
                }
                _ => Err(what),
            }
        }
        (PendingRequest::Call(ticket, service), kind::ANSWERED) => {
            let answer = message::decode_answer(body, node, service);
            let answer = answer.map_err(|Malformed| PendingRequest::Call(ticket, service));
            answer.map(|answer| (sink.complete)(ticket, Outcome::Call(answer)))
        }
        (what, _) => Err(what),
    };
    accepted.map_err(|what| {
        fail(what, FabricError::Unreachable(node), sink);
        garbage()
    })
}

#[inline]
fn whole(
    ticket: Ticket,
    mut batch: Batch,
    mut body: &[u64],
    sink: &mut Sink<'_, impl FnMut(Ticket, Outcome)>,
) -> Result<(), PendingRequest> {
    let (verbs, arena) = batch.parts_mut();
    for verb in verbs {
        if answer::decode(verb, arena, &mut body).is_err() {
            return Err(PendingRequest::Whole(ticket, batch));
        }
    }
    if !body.is_empty() {
        return Err(PendingRequest::Whole(ticket, batch));
    }
    (sink.complete)(ticket, Outcome::Batch(Ok(batch), 1));
    Ok(())
}

fn fail(
    what: PendingRequest,
    error: FabricError,
    sink: &mut Sink<'_, impl FnMut(Ticket, Outcome)>,
) {
    match what {
        PendingRequest::Whole(ticket, _) => (sink.complete)(ticket, Outcome::Batch(Err(error), 1)),
        PendingRequest::Part(part) => sink.spreads.fail(&part, error),
        PendingRequest::Call(ticket, _) => {
            (sink.complete)(ticket, Outcome::Call(Err(call_error(&error))))
        }
    }
}

/// The error of a call whose connection is lost.
fn call_error(error: &FabricError) -> CallError {
    match *error {
        FabricError::Unreachable(node) => CallError::Unreachable(node),
        _ => CallError::Malformed("a server"),
    }
}

#[cold]
fn garbage() -> String {
    "the server has sent an invalid answer".to_owned()
}

/// The reason that the server gives for closing this connection.
#[cold]
fn refusal(body: &[u64]) -> String {
    let bytes: Vec<u8> = body.iter().flat_map(|word| word.to_le_bytes()).collect();
    let refusal = bytes.as_slice().try_into().map(Welcome::decode);
    match refusal {
        Ok(Err(refusal)) => refusal.to_string(),
        _ => garbage(),
    }
}
