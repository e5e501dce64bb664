//! A connection before its session: startup packet, encryption, proof of the user.

use crate::connection::start::session_options;
use crate::error::{Result, SqlError, fatal, sqlstate};
use crate::login::scram::{Exchange, MESSAGE_BYTES_MAX};
use crate::login::{Doorman, Entry, enter};
use crate::message::backend;
use crate::message::frontend::{self, Frame, Frontend};
use crate::message::reader::Reader;
use crate::message::startup::{Packet, Startup, packet};
use crate::session::{Login, SessionOptions};
use crate::tls::Tls;
use crate::wire::Wire;
use rustix::net::RecvFlags;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Instant;

/// Requests for encryption that a client may make before its startup packet: one of each kind.
const REQUESTS_MAX: u32 = 2;
/// Bytes that one system call reads.
const READ_BYTES: usize = 1 << 10;
/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 0x16;

/// A socket, and what the client has sent so far.
pub struct Arrival {
    wire: Wire,
    input: Vec<u8>,
    pub deadline: Instant,
    requests: u32,
    /// Whether the client has begun with a TLS handshake, without a request.
    is_direct: bool,
    phase: Phase,
}

enum Phase {
    /// The startup packet is missing.
    Packet,
    /// The proof of the user is missing.
    Proof(Box<Exchange>, Box<Welcome>),
}

/// A client that may have a session.
pub struct Welcome {
    pub startup: Startup,
    pub options: SessionOptions,
    /// The answer of the doorman, which the client has satisfied.
    pub login: Box<Login>,
    pub is_local: bool,
}

/// Decides what clients may do before they have a session.
pub struct Gate {
    pub doorman: Doorman,
    pub tls: Option<std::sync::Arc<Tls>>,
}

/// The result of looking at an arrival.
pub enum Progress {
    /// Something is missing yet.
    Waits,
    /// The client starts a session.
    Starts { wire: Wire, input: Vec<u8>, welcome: Welcome },
    /// The client cancels the statement of another connection.
    Cancels { process: u32, secret: Vec<u8> },
    /// The client is gone, or was refused.
    Ends,
}

/// The result of looking at the received bytes.
enum Seen {
    /// More bytes are needed.
    Part,
    /// Look again.
    More,
    Progress(Progress),
    /// The client is welcome.
    Welcome(Box<Welcome>),
}

impl Arrival {
    /// Takes over an accepted socket.
    pub fn new(socket: TcpStream, deadline: Instant) -> std::io::Result<Self> {
        socket.set_nonblocking(true)?;
        // Answers of a login are short and awaited.
        socket.set_nodelay(true)?;
        let (wire, input) = (Wire::new(socket), Vec::new());
        Ok(Self { wire, input, deadline, requests: 0, is_direct: false, phase: Phase::Packet })
    }

    pub fn socket(&self) -> &TcpStream {
        self.wire.tcp()
    }

    /// Receives what is there.
    pub fn advance(mut self, gate: &Gate) -> (Option<Self>, Progress) {
        loop {
            let seen = match self.look(gate) {
                Ok(seen) => seen,
                Err(refusal) => {
                    self.refuse(&refusal);
                    return (None, Progress::Ends);
                }
            };
            match seen {
                Seen::More => continue,
                Seen::Progress(progress) => return (None, progress),
                Seen::Welcome(welcome) => {
                    let Self { wire, input, .. } = self;
                    return (None, Progress::Starts { wire, input, welcome: *welcome });
                }
                Seen::Part => {}
            }
            match self.wire.receive(&mut self.input, READ_BYTES, RecvFlags::DONTWAIT) {
                Ok(0) => return (None, Progress::Ends),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return (Some(self), Progress::Waits);
                }
                Err(_) => return (None, Progress::Ends),
            }
        }
    }

    fn look(&mut self, gate: &Gate) -> Result<Seen> {
        match std::mem::replace(&mut self.phase, Phase::Packet) {
            Phase::Packet => self.look_at_packet(gate),
            Phase::Proof(exchange, welcome) => self.look_at_proof(exchange, welcome),
        }
    }

    fn look_at_packet(&mut self, gate: &Gate) -> Result<Seen> {
        if self.input.first() == Some(&HANDSHAKE)
            && let Some(refused) = self.begin_directly(gate)
        {
            return Ok(refused);
        }
        if self.is_direct && self.wire.is_ready() && !self.wire.names_protocol() {
            // A browser or another protocol was led here.
            return Ok(Seen::Progress(Progress::Ends));
        }
        let malformed = |malformed| {
            let message = format!("invalid startup packet: {malformed}");
            fatal(sqlstate::PROTOCOL_VIOLATION, message)
        };
        let Some((packet, length)) = packet(&self.input).map_err(malformed)? else {
            return Ok(Seen::Part);
        };
        self.input.drain(..length);
        match packet {
            Packet::Ssl => self.answer_request(gate.tls.as_deref()),
            Packet::Gss => self.answer_request(None),
            Packet::Cancel { process, secret } => {
                Ok(Seen::Progress(Progress::Cancels { process, secret }))
            }
            Packet::Startup(startup) => self.greet(gate, startup),
        }
    }

    /// The client begins with TLS, as version 17 of PostgreSQL's clients may do.
    fn begin_directly(&mut self, gate: &Gate) -> Option<Seen> {
        let loaded = gate.tls.as_ref().filter(|_| !self.wire.is_encrypted())?.current();
        self.is_direct = true;
        let received = std::mem::take(&mut self.input);
        match self.wire.encrypt(loaded, &received) {
            Ok(()) => Some(Seen::Part),
            Err(_) => Some(Seen::Progress(Progress::Ends)),
        }
    }

    /// Answers a request for encryption.
    fn answer_request(&mut self, tls: Option<&Tls>) -> Result<Seen> {
        self.requests += 1;
        if self.requests > REQUESTS_MAX {
            return Ok(Seen::Progress(Progress::Ends));
        }
        let tls = tls.filter(|_| !self.wire.is_encrypted());
        // The socket's buffer is empty, so one byte fits.
        let answer = if tls.is_some() { b"S" } else { b"N" };
        if self.wire.send(answer).is_err() {
            return Ok(Seen::Progress(Progress::Ends));
        }
        let Some(tls) = tls else { return Ok(Seen::More) };
        if !self.input.is_empty() {
            // Somebody may have put them there; they would count as if they were encrypted.
            let message = "received unencrypted data after SSL request";
            let detail = "This could be either a client-software bug or evidence of an attempted \
                          man-in-the-middle attack.";
            return Err(fatal(sqlstate::PROTOCOL_VIOLATION, message).detail(detail));
        }
        match self.wire.encrypt(tls.current(), &[]) {
            Ok(()) => Ok(Seen::Part),
            Err(_) => Ok(Seen::Progress(Progress::Ends)),
        }
    }

    /// The client has said who it is.
    fn greet(&mut self, gate: &Gate, startup: Startup) -> Result<Seen> {
        let options = session_options(&startup)?;
        let peer = self.wire.tcp().peer_addr().map(|peer| peer.ip().to_canonical());
        let is_local = peer.is_ok_and(|peer| peer.is_loopback());
        if gate.tls.is_some() && !self.wire.is_encrypted() && !is_local {
            let message = "clients of other hosts must encrypt the connection";
            let refusal = fatal(sqlstate::INVALID_AUTHORIZATION, message);
            return Err(refusal.hint("Connect with sslmode=require or sslmode=verify-full."));
        }
        let login = (gate.doorman)(&options.user, &options.database, is_local);
        let entry = enter(login.clone(), &options.user, self.wire.binding().cloned())?;
        let welcome = Box::new(Welcome { startup, options, login: Box::new(login), is_local });
        match entry {
            Entry::Open => Ok(Seen::Welcome(welcome)),
            Entry::Proof(exchange) => {
                let mut message = Vec::new();
                backend::authentication_mechanisms(&mut message, exchange.mechanisms());
                self.phase = Phase::Proof(exchange, welcome);
                Ok(self.sent(&message, Seen::More))
            }
        }
    }

    fn look_at_proof(
        &mut self,
        mut exchange: Box<Exchange>,
        welcome: Box<Welcome>,
    ) -> Result<Seen> {
        let bytes = match frontend::frame(&self.input, MESSAGE_BYTES_MAX) {
            Frame::Whole { bytes, .. } => bytes,
            Frame::Partial { .. } => {
                self.phase = Phase::Proof(exchange, welcome);
                return Ok(Seen::Part);
            }
            Frame::Invalid { .. } => {
                return Err(fatal(sqlstate::PROTOCOL_VIOLATION, "invalid SASL message length"));
            }
        };
        let message: Vec<u8> = self.input.drain(..bytes).collect();
        let data = match frontend::parse(&message)? {
            Frontend::Password(data) => data,
            // The client has no password.
            Frontend::Terminate => return Ok(Seen::Progress(Progress::Ends)),
            _ => {
                let message = format!("expected SASL response, got message type {}", message[0]);
                return Err(fatal(sqlstate::PROTOCOL_VIOLATION, message));
            }
        };
        let mut answer = Vec::new();
        if exchange.has_begun() {
            let last = exchange.end(data)?;
            backend::authentication_sasl(&mut answer, backend::SASL_FINAL, &last);
            return Ok(self.sent(&answer, Seen::Welcome(welcome)));
        }
        let mut reader = Reader::new(data);
        let mechanism = reader.text()?;
        let first = reader.value()?.unwrap_or_default();
        let first = exchange.begin(mechanism, first)?;
        backend::authentication_sasl(&mut answer, backend::SASL_CONTINUE, &first);
        self.phase = Phase::Proof(exchange, welcome);
        Ok(self.sent(&answer, Seen::More))
    }

    /// Sends a message, which fits into the socket's buffer.
    fn sent(&mut self, message: &[u8], seen: Seen) -> Seen {
        match self.wire.send(message) {
            Ok(()) => seen,
            Err(_) => Seen::Progress(Progress::Ends),
        }
    }

    /// Sends the reason why the client is refused.
    pub fn refuse(&mut self, refusal: &SqlError) {
        send_refusal(&mut self.wire, refusal);
    }
}

/// Sends the reason why a client is refused. It fits into the socket's buffer; a client that is
/// gone misses nothing. A client in the middle of a handshake learns nothing: it could not read it.
pub fn send_refusal(wire: &mut Wire, refusal: &SqlError) {
    if !wire.is_ready() {
        return;
    }
    let mut message = Vec::new();
    let mut refusal = refusal.clone();
    refusal.severity = crate::error::Severity::Fatal;
    backend::error_response(&mut message, &refusal);
    let _ = wire.send(&message);
    wire.end();
}
