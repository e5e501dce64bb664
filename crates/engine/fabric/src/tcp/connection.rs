//! A server's connection to one engine thread of a caller.
//!
//! Decision: docs/decisions/0077-back-pressure-means-not-reading.md

use crate::guests::GuestStage;
use crate::identity::{ANSWER_BYTES, HELLO_BYTES, Refusal, named};
use crate::linger::Linger;
use crate::proof::{self, Challenge, OPENING_BYTES, PROOF_BYTES, Proven, Purpose, Stranger};
use crate::secret::Secret;
use crate::tcp::buffer::{Inbox, NoFrame, Outbox, is_temporary};
use crate::tcp::carry::{Carried, Carry, Origin, no_request, refuse};
use crate::tcp::channel::Channel;
use crate::tcp::frame::REQUEST_HEADER;
use crate::tcp::port::CONNECTIONS_MAX;
use crate::tell;
use rustix::event::epoll::EventFlags;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// Limit on unsent answer words; above it the server executes no further request of the connection.
/// One more answer may exceed it, and those to running calls.
const WAITING_WORDS_MAX: usize = 64 * 1024;
/// Limit on running calls of a connection, above which no further request of it is read. As many as
/// a thread has lanes.
const BEGUN_MAX: usize = 64;

/// The name of a caller's connection: the caller's identity, and the connection's number.
pub(super) type Name = (u64, u64);

pub(super) struct Connection {
    channel: Channel,
    /// Address of the peer.
    peer: SocketAddr,
    inbox: Inbox,
    outbox: Outbox,
    /// `None` before the handshake.
    name: Option<Name>,
    /// The challenge that a guest has to answer; `None` before its opening.
    challenge: Option<Challenge>,
    /// Whether it has sent anything.
    has_spoken: bool,
    /// Whether its opening has the cluster's mark.
    is_marked: bool,
    /// Index in its port, and number among all connections that the port ever had.
    number: (usize, u64),
    /// Requests whose answers come later.
    begun: usize,
    /// Whether received requests were not executed because too many answers are unsent or pending.
    has_left: bool,
    /// Whether the connection is closing: no request is read, and it lingers when the last words
    /// are sent.
    is_ending: bool,
    /// `Some` once the last words are sent.
    linger: Option<Linger>,
    /// The events that epoll waits for.
    pub interest: EventFlags,
}

/// The result of serving a connection once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Served {
    /// Number of executed requests.
    Requests(usize),
    /// A successful handshake: older connections with the same name end.
    Joined(Name),
    /// The last words are sent, and the connection lingers for a limited time.
    Lingers,
    Over,
    /// The connection has failed, and the failure is logged.
    Failed,
}

impl Connection {
    /// A connection with this index in its port, and this number among all that the port ever had.
    pub fn new(channel: Channel, peer: SocketAddr, number: (usize, u64)) -> Self {
        Self {
            channel,
            peer,
            number,
            begun: 0,
            inbox: Inbox::new(),
            outbox: Outbox::default(),
            name: None,
            challenge: None,
            has_spoken: false,
            is_marked: false,
            has_left: false,
            is_ending: false,
            linger: None,
            interest: EventFlags::IN,
        }
    }

    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub fn name(&self) -> Option<Name> {
        self.name
    }

    /// The connection before its handshake, as the limits see it. In a handshake of TLS the first
    /// bytes are not for this server.
    pub fn stage(&self) -> GuestStage {
        match self.has_spoken || self.channel.has_received() {
            _ if self.is_ending => GuestStage::Ended,
            _ if self.is_marked => GuestStage::Marked,
            true => GuestStage::Spoken,
            false => GuestStage::Silent,
        }
    }

    /// Whether it has lingered for too long.
    pub fn is_late(&self) -> bool {
        self.linger.as_ref().is_some_and(Linger::is_late)
    }

    /// The events that the connection waits for: requests, room for answers, or both.
    #[inline]
    pub fn wanted(&self) -> EventFlags {
        let mut wanted = EventFlags::empty();
        let reads = self.linger.is_some() || !self.is_ending && !self.is_full();
        wanted.set(EventFlags::IN, reads);
        wanted.set(EventFlags::OUT, self.has_unsent());
        wanted
    }

    #[inline]
    fn has_unsent(&self) -> bool {
        !self.outbox.is_empty() || self.channel.is_unsent()
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.outbox.left() > WAITING_WORDS_MAX || self.begun >= BEGUN_MAX
    }

    /// The buffer for a late answer, unless the request came from another connection. The answer is
    /// sent when the connection is served next.
    pub fn late(&mut self, to: Origin) -> Option<&mut Vec<u64>> {
        if self.number.1 != to.connection {
            return None;
        }
        self.begun -= 1;
        Some(self.outbox.words())
    }

    /// Sends unsent answers, receives once, executes complete frames, and sends their answers.
    /// `has_room`: the port has a place for another member.
    #[inline]
    pub fn serve(&mut self, carrier: &mut impl Carry, has_room: bool) -> Served {
        match self.try_serve(carrier, has_room) {
            Ok(served) => served,
            Err(error) => self.fail(&error),
        }
    }

    /// Logs a failed connection. Before the handshake the cause is wrong keys or a foreign client,
    /// unless it has just left.
    #[cold]
    fn fail(&mut self, error: &io::Error) -> Served {
        match self.name {
            Some(name) => tell::gone(&self.peer, name, error),
            None if has_left(error) => {}
            None => tell::refused(&self.peer, error),
        }
        // The last words are an alert of TLS.
        if self.name.is_none() && error.kind() == io::ErrorKind::InvalidData {
            self.is_ending = true;
            return self.close().unwrap_or(Served::Failed);
        }
        Served::Failed
    }

    /// Ends a connection whose last words are sent; it is over when the peer has closed its side,
    /// too, or is late.
    #[cold]
    fn close(&mut self) -> io::Result<Served> {
        if let Some(linger) = &mut self.linger {
            let is_over = linger.is_over(self.channel.stream());
            return Ok(if is_over { Served::Over } else { Served::Requests(0) });
        }
        self.linger = Some(self.channel.linger()?);
        Ok(Served::Lingers)
    }

    #[inline]
    fn try_serve(&mut self, carrier: &mut impl Carry, has_room: bool) -> io::Result<Served> {
        if self.linger.is_some() {
            return self.close();
        }
        if self.has_unsent() && !self.send()? && (self.is_ending || self.is_full()) {
            return Ok(Served::Requests(0));
        }
        if self.is_ending {
            return self.close();
        }
        let mut served = 0;
        if self.has_left {
            served = self.carry_out(carrier);
        }
        while !self.has_left && !self.is_ending {
            match self.inbox.receive(|room| self.channel.read(room)) {
                Ok(0) => return Ok(Served::Over),
                Ok(_) => {}
                Err(error) if is_temporary(&error) => break,
                Err(error) => return Err(error),
            }
            if self.name.is_none() {
                return self.greet(carrier, has_room);
            }
            let may_be_more = self.inbox.is_full();
            served += self.carry_out(carrier);
            // No event announces decrypted bytes that are already in this process.
            if !may_be_more {
                break;
            }
        }
        if self.has_unsent() && self.send()? && self.is_ending {
            return self.close();
        }
        Ok(Served::Requests(served))
    }

    /// Executes frames until the next one is incomplete, or too many answers are unsent.
    #[inline]
    fn carry_out(&mut self, carrier: &mut impl Carry) -> usize {
        let Some((caller, _)) = self.name else { unreachable!("the handshake comes first") };
        let from = Origin { place: self.number.0, connection: self.number.1, caller };
        let mut served = 0;
        self.has_left = true;
        while !self.is_full() && !self.is_ending {
            let refusal = match self.inbox.frame(REQUEST_HEADER) {
                Ok(None) => {
                    self.has_left = false;
                    break;
                }
                Ok(Some(range)) => {
                    served += 1;
                    let words = range.len();
                    let frame = self.inbox.words(range);
                    let carried = carrier.carry_out(from, frame, self.outbox.words());
                    self.inbox.consume(words);
                    carried.map(|carried| self.begun += usize::from(carried == Carried::Begun))
                }
                Err(NoFrame) => Err(no_request()),
            };
            if let Err(refusal) = refusal {
                tell::refused(&self.peer, &refusal);
                refuse(&refusal, self.outbox.words());
                self.is_ending = true;
            }
        }
        served
    }

    /// Continues a guest's handshake with what has arrived.
    #[cold]
    fn greet(&mut self, carrier: &impl Carry, has_room: bool) -> io::Result<Served> {
        self.has_spoken = true;
        let Some(challenge) = self.challenge.take() else {
            return self.challenge(&carrier.admission().secret);
        };
        let Some(bytes) = self.inbox.bytes(PROOF_BYTES + HELLO_BYTES) else {
            self.challenge = Some(challenge);
            return Ok(Served::Requests(0));
        };
        let (proof, hello) = bytes.split_first_chunk().expect("a proof is first");
        let hello: &[u8; HELLO_BYTES] = hello.try_into().expect("as many bytes as were asked for");
        let admission = carrier.admission();
        let proven = match challenge.check(&admission.secret, Purpose::Verbs, proof, hello) {
            Ok(proven) => proven,
            Err(stranger) => return self.turn_away(&stranger),
        };
        let served = match admission.admit(hello) {
            Ok(_) if !has_room => {
                let node = named(admission.node);
                let full = format!("{node} has {CONNECTIONS_MAX} connections, which is its limit");
                self.refuse(&Refusal::new(full), &proven, carrier)
            }
            Ok((hello, welcome)) => {
                tell::connected(&self.peer, &hello);
                let name = (hello.caller, hello.endpoint);
                self.name = Some(name);
                self.answer(&welcome.encode(), &proven, carrier);
                Served::Joined(name)
            }
            Err(refusal) => self.refuse(&refusal, &proven, carrier),
        };
        self.inbox.consume((PROOF_BYTES + HELLO_BYTES) / 8);
        // A refused caller sends nothing that is still needed.
        if self.send()? && self.is_ending { self.close() } else { Ok(served) }
    }

    /// Answers a guest's opening with a challenge.
    fn challenge(&mut self, secret: &Secret) -> io::Result<Served> {
        let Some(opening) = self.inbox.bytes(OPENING_BYTES) else { return Ok(Served::Requests(0)) };
        let opening = opening.try_into().expect("as many bytes as were asked for");
        self.is_marked = proof::is_marked(opening, secret);
        match Challenge::to(opening) {
            Ok(challenge) => {
                self.inbox.consume(OPENING_BYTES / 8);
                self.outbox.put_bytes(&challenge.encode());
                self.challenge = Some(challenge);
                self.send()?;
                Ok(Served::Requests(0))
            }
            Err(stranger) => self.turn_away(&stranger),
        }
    }

    /// Ends the connection of a stranger, who learns the version of the protocol and nothing else.
    fn turn_away(&mut self, stranger: &Stranger) -> io::Result<Served> {
        tell::refused(&self.peer, stranger);
        self.outbox.put_bytes(&proof::version());
        self.is_ending = true;
        if self.send()? { self.close() } else { Ok(Served::Requests(1)) }
    }

    fn refuse(&mut self, refusal: &Refusal, proven: &Proven, carrier: &impl Carry) -> Served {
        tell::refused(&self.peer, refusal);
        self.answer(&refusal.encode(), proven, carrier);
        self.is_ending = true;
        Served::Requests(1)
    }

    fn answer(&mut self, answer: &[u8; ANSWER_BYTES], proven: &Proven, carrier: &impl Carry) {
        self.outbox.put_bytes(answer);
        self.outbox.put_bytes(&proven.seal(&carrier.admission().secret, answer));
    }

    /// Sends as much as possible without blocking; returns whether nothing is left.
    #[inline]
    fn send(&mut self) -> io::Result<bool> {
        if !self.outbox.is_empty() {
            self.outbox.send(|bytes| self.channel.write(bytes))?;
        }
        self.channel.flush()?;
        Ok(!self.has_unsent())
    }
}

/// Whether the error says that the peer has closed the connection.
fn has_left(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}
