//! Establishes a connection: attempts, each with its handshake.

use crate::identity::{ANSWER_BYTES, Hello, Refusal, Welcome};
use crate::proof::{self, CHALLENGE_BYTES, Claim, Purpose, SEAL_BYTES, VERSION_BYTES};
use crate::secret::Secret;
use crate::tcp::buffer::{Inbox, Outbox, is_temporary};
use crate::tcp::channel::Channel;
use crate::tcp::tls::{Session, begins_alert};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io;
use std::net::{SocketAddr, TcpStream};

/// Why conversions of received bytes cannot fail.
const AS_ASKED: &str = "as many bytes as were asked for";

/// A running attempt.
pub(super) struct Joining {
    pub channel: Channel,
    is_connected: bool,
    /// The proof whose answer the server must seal; `None` before its challenge.
    claim: Option<Claim>,
    /// When the attempt times out.
    pub deadline_ns: u64,
}

/// Why an attempt has failed.
#[derive(Debug)]
pub(super) enum Failure {
    Temporary(String),
    /// The server has refused the caller.
    Refused(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // A retry does not change keys or settings.
            io::ErrorKind::InvalidData => Self::Refused(error.to_string()),
            _ => Self::Temporary(error.to_string()),
        }
    }
}

impl Joining {
    pub fn begin(
        address: SocketAddr,
        session: Option<Session>,
        deadline_ns: u64,
    ) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        match rustix::net::connect(&socket, &address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let channel = Channel::new(TcpStream::from(socket), session)?;
        Ok(Self { channel, is_connected: false, claim: None, deadline_ns })
    }

    /// Continues the attempt as far as possible without blocking; a welcome completes it.
    pub fn progress(
        &mut self,
        (secret, hello): (&Secret, &Hello),
        inbox: &mut Inbox,
        outbox: &mut Outbox,
    ) -> Result<Option<Welcome>, Failure> {
        if !self.is_connected {
            if !is_writable(&self.channel) {
                return Ok(None);
            }
            self.channel.check()?;
            self.is_connected = true;
            inbox.clear();
            outbox.clear();
            outbox.put_bytes(&proof::opening(secret));
        }
        self.send(outbox)?;
        let is_closed = match inbox.receive(|room| self.channel.read(room)) {
            Ok(count) => count == 0,
            Err(error) if is_temporary(&error) => false,
            Err(error) => return Err(error.into()),
        };
        if is_closed && inbox.bytes(2).is_some_and(begins_alert) {
            return Err(Failure::Refused(
                "the server accepts TLS only; add a section `tls` to the cluster's file".to_owned(),
            ));
        }
        let answer = match &self.claim {
            None => self.prove(secret, hello, inbox, outbox).map(|()| None),
            Some(claim) => welcome(claim, secret, inbox),
        };
        let answer = answer.map_err(|refusal| Failure::Refused(refusal.to_string()))?;
        if is_closed && answer.is_none() {
            return Err(Failure::Temporary("the server has closed the connection".to_owned()));
        }
        self.send(outbox)?;
        Ok(answer)
    }

    fn send(&mut self, outbox: &mut Outbox) -> io::Result<()> {
        if !outbox.is_empty() {
            outbox.send(|bytes| self.channel.write(bytes))?;
        }
        self.channel.flush()
    }

    /// Answers the server's challenge, if it has arrived.
    fn prove(
        &mut self,
        secret: &Secret,
        hello: &Hello,
        inbox: &mut Inbox,
        outbox: &mut Outbox,
    ) -> Result<(), Refusal> {
        let Some(head) = inbox.bytes(VERSION_BYTES) else { return Ok(()) };
        Claim::is_challenge(head.try_into().expect(AS_ASKED))?;
        let Some(challenge) = inbox.bytes(CHALLENGE_BYTES) else { return Ok(()) };
        let hello = hello.encode();
        let challenge = challenge.try_into().expect(AS_ASKED);
        let (claim, proof) = Claim::to(challenge, secret, Purpose::Verbs, &hello);
        inbox.consume(CHALLENGE_BYTES / 8);
        outbox.put_bytes(&proof);
        outbox.put_bytes(&hello);
        self.claim = Some(claim);
        Ok(())
    }

    /// The events to poll for.
    pub fn flags(&self) -> PollFlags {
        match self.is_connected {
            true if self.channel.is_unsent() => PollFlags::IN | PollFlags::OUT,
            true => PollFlags::IN,
            false => PollFlags::OUT,
        }
    }
}

/// The server's welcome, if it has arrived.
fn welcome(claim: &Claim, secret: &Secret, inbox: &mut Inbox) -> Result<Option<Welcome>, Refusal> {
    let Some(head) = inbox.bytes(VERSION_BYTES) else { return Ok(None) };
    Claim::refusal(head.try_into().expect(AS_ASKED)).map_or(Ok(()), Err)?;
    let Some(sealed) = inbox.bytes(ANSWER_BYTES + SEAL_BYTES) else { return Ok(None) };
    let (answer, seal) = sealed.split_first_chunk().expect(AS_ASKED);
    claim.check(secret, answer, seal.try_into().expect(AS_ASKED))?;
    let welcome = Welcome::decode(answer)?;
    inbox.consume((ANSWER_BYTES + SEAL_BYTES) / 8);
    Ok(Some(welcome))
}

/// A socket becomes writable when its connection is established or has failed.
fn is_writable(channel: &Channel) -> bool {
    let mut waited = [PollFd::new(channel, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut waited, Some(&now)), Ok(count) if count > 0)
}
