//! A connection before its startup packet is there.

use crate::connection::stream::receive_now;
use crate::error::{SqlError, fatal, sqlstate};
use crate::message::backend;
use crate::message::startup::{Packet, Startup, packet};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::Instant;

/// Requests for encryption that a client may make before its startup packet: one of each kind.
const REQUESTS_MAX: u32 = 2;

/// A socket, and a part of a startup packet.
pub struct Arrival {
    socket: TcpStream,
    input: Vec<u8>,
    pub deadline: Instant,
    requests: u32,
}

/// The result of looking at an arrival.
pub enum Progress {
    /// The packet is not whole yet.
    Waits,
    /// The client starts a session.
    Starts { socket: TcpStream, input: Vec<u8>, startup: Startup },
    /// The client cancels the statement of another connection.
    Cancels { process: u32, secret: Vec<u8> },
    /// The client is gone, or was refused.
    Ends,
}

impl Arrival {
    /// Takes over an accepted socket.
    pub fn new(socket: TcpStream, deadline: Instant) -> std::io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { socket, input: Vec::new(), deadline, requests: 0 })
    }

    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Receives what is there.
    pub fn advance(mut self) -> (Option<Self>, Progress) {
        let mut buffer = [0; 1024];
        loop {
            match packet(&self.input) {
                Ok(Some((Packet::Ssl | Packet::Gss, length))) => {
                    self.input.drain(..length);
                    self.requests += 1;
                    // The socket's buffer is empty, so one byte fits.
                    let is_sent = std::io::Write::write(&mut &self.socket, b"N").is_ok();
                    if self.requests > REQUESTS_MAX || !is_sent {
                        return (None, Progress::Ends);
                    }
                    continue;
                }
                Ok(Some((Packet::Cancel { process, secret }, _))) => {
                    return (None, Progress::Cancels { process, secret });
                }
                Ok(Some((Packet::Startup(startup), length))) => {
                    self.input.drain(..length);
                    let Self { socket, input, .. } = self;
                    return (None, Progress::Starts { socket, input, startup });
                }
                Ok(None) => {}
                Err(malformed) => {
                    let message = format!("invalid startup packet: {malformed}");
                    self.refuse(&fatal(sqlstate::PROTOCOL_VIOLATION, message));
                    return (None, Progress::Ends);
                }
            }
            match receive_now(self.socket.as_fd(), &mut buffer) {
                Ok(0) => return (None, Progress::Ends),
                Ok(count) => self.input.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    return (Some(self), Progress::Waits);
                }
                Err(_) => return (None, Progress::Ends),
            }
        }
    }

    /// Sends the reason why the client is refused.
    pub fn refuse(&self, refusal: &SqlError) {
        send_refusal(&self.socket, refusal);
    }
}

/// Sends the reason why a client is refused. It fits into the socket's buffer; a client that is
/// gone misses nothing.
pub fn send_refusal(socket: &TcpStream, refusal: &SqlError) {
    let mut message = Vec::new();
    backend::error_response(&mut message, refusal);
    let _ = std::io::Write::write(&mut &*socket, &message);
}
