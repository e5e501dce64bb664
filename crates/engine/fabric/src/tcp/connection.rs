//! A server's connection to one engine thread of a caller.
//!
//! Decision: docs/decisions/0077-back-pressure-means-not-reading.md

use crate::identity::{HELLO_BYTES, Refusal};
use crate::tcp::buffer::{Inbox, NoFrame, Outbox, is_temporary};
use crate::tcp::carry::{Carried, Carry, Origin, no_request, refuse};
use crate::tcp::channel::Channel;
use crate::tcp::frame::REQUEST_HEADER;
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
    /// Index in its port, and number among all connections that the port ever had.
    number: (usize, u64),
    /// Requests whose answers come later.
    begun: usize,
    /// Whether received requests were not executed because too many answers are unsent or pending.
    has_left: bool,
    /// Whether the connection is closing: no request is read, and it ends when the last words are
    /// sent.
    is_ending: bool,
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
            has_left: false,
            is_ending: false,
            interest: EventFlags::IN,
        }
    }

    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub fn name(&self) -> Option<Name> {
        self.name
    }

    /// The events that the connection waits for: requests, room for answers, or both.
    #[inline]
    pub fn wanted(&self) -> EventFlags {
        let mut wanted = EventFlags::empty();
        wanted.set(EventFlags::IN, !self.is_ending && !self.is_full());
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
    #[inline]
    pub fn serve(&mut self, carrier: &mut impl Carry) -> Served {
        match self.try_serve(carrier) {
            Ok(served) => served,
            Err(error) => self.fail(&error),
        }
    }

    /// Logs a failed connection. Before the handshake the cause is wrong keys or a foreign client.
    #[cold]
    fn fail(&self, error: &io::Error) -> Served {
        match self.name {
            Some(name) => tell::gone(&self.peer, name, error),
            None => tell::refused(&self.peer, error),
        }
        Served::Failed
    }

    #[inline]
    fn try_serve(&mut self, carrier: &mut impl Carry) -> io::Result<Served> {
        if self.has_unsent() && !self.send()? && (self.is_ending || self.is_full()) {
            return Ok(Served::Requests(0));
        }
        if self.is_ending {
            return Ok(Served::Over);
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
                return self.greet(carrier);
            }
            let may_be_more = self.inbox.is_full();
            served += self.carry_out(carrier);
            // No event announces decrypted bytes that are already in this process.
            if !may_be_more {
                break;
            }
        }
        if self.has_unsent() && self.send()? && self.is_ending {
            return Ok(Served::Over);
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

    fn greet(&mut self, carrier: &impl Carry) -> io::Result<Served> {
        let Some(hello) = self.inbox.bytes(HELLO_BYTES) else { return Ok(Served::Requests(0)) };
        let hello = hello.try_into().expect("as many bytes as were asked for");
        let served = match carrier.admission().admit(hello) {
            Ok((hello, welcome)) => {
                tell::connected(&self.peer, &hello);
                let name = (hello.caller, hello.endpoint);
                self.name = Some(name);
                self.outbox.put_bytes(&welcome.encode());
                Served::Joined(name)
            }
            Err(refusal) => {
                self.end(&refusal);
                Served::Requests(1)
            }
        };
        self.inbox.consume(HELLO_BYTES / 8);
        // A refused caller sends nothing that is still needed.
        if self.send()? && self.is_ending { Ok(Served::Over) } else { Ok(served) }
    }

    /// Closes a connection before its handshake.
    pub fn end(&mut self, refusal: &Refusal) {
        tell::refused(&self.peer, refusal);
        self.outbox.put_bytes(&refusal.encode());
        self.is_ending = true;
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

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}
