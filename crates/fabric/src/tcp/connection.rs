//! A connection of a server to one engine thread of a caller.

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

/// Words of answers that may wait for their reader; the server carries out no further request of a
/// connection before there are fewer. One answer may come on top, and those to calls that are under way.
const WAITING_WORDS_MAX: usize = 64 * 1024;
/// Calls of a connection whose handlers may be under way; no further request of it is read before there are fewer. As
/// many as a thread has lanes.
const BEGUN_MAX: usize = 64;

/// Names a caller's connection: its identity, and which of its connections it is.
pub(super) type Name = (u64, u64);

pub(super) struct Connection {
    channel: Channel,
    /// Who is at the other end.
    peer: SocketAddr,
    inbox: Inbox,
    outbox: Outbox,
    /// None until the handshake.
    name: Option<Name>,
    /// Where it is in its port, and which of all that the port ever had.
    number: (usize, u64),
    /// Requests whose answers come later.
    begun: usize,
    /// Requests that arrived were left alone, because too many answers waited, or were to come.
    has_left: bool,
    /// No request is read any more; the connection ends when its last words are sent.
    is_ending: bool,
    /// What the system was told to wait for.
    pub interest: EventFlags,
}

/// What a look at a connection has brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Served {
    /// So many requests.
    Requests(usize),
    /// A handshake that ended well: connections of the same name end.
    Joined(Name),
    /// The connection is over.
    Over,
    /// The connection has failed, which was told.
    Failed,
}

impl Connection {
    /// A connection that has this place in its port, and this number among all that it ever had.
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

    /// What the connection has to wait for: requests, that its caller reads the answers, or both.
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

    /// Where an answer goes that comes later, unless this is not the connection that the request came from. It is sent when
    /// the connection is served next.
    pub fn late(&mut self, to: Origin) -> Option<&mut Vec<u64>> {
        if self.number.1 != to.connection {
            return None;
        }
        self.begun -= 1;
        Some(self.outbox.words())
    }

    /// Sends what waits, receives once, carries out what has arrived whole, and sends the answers.
    #[inline]
    pub fn serve(&mut self, carrier: &mut impl Carry) -> Served {
        match self.try_serve(carrier) {
            Ok(served) => served,
            Err(error) => self.fail(&error),
        }
    }

    /// The connection does not work any more. Before the handshake that is a matter of keys, or of a stranger.
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
            // What an encrypted connection has taken from the system, nobody announces again.
            if !may_be_more {
                break;
            }
        }
        if self.has_unsent() && self.send()? && self.is_ending {
            return Ok(Served::Over);
        }
        Ok(Served::Requests(served))
    }

    /// Carries out frames until one has not arrived whole, or too many answers wait.
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
        // Whoever is refused has said all that it will be asked.
        if self.send()? && self.is_ending { Ok(Served::Over) } else { Ok(served) }
    }

    /// Ends a connection before its handshake.
    pub fn end(&mut self, refusal: &Refusal) {
        tell::refused(&self.peer, refusal);
        self.outbox.put_bytes(&refusal.encode());
        self.is_ending = true;
    }

    /// Sends as much as goes without waiting; whether nothing is left.
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
