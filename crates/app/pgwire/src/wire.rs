//! A client's socket, encrypted or not.

use crate::tls::{Loaded, PROTOCOL};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustls::ServerConnection;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Bytes that one call reads from a TLS session.
const CHUNK_BYTES: usize = 4 << 10;

/// A socket with its TLS session.
pub struct Wire {
    socket: TcpStream,
    tls: Option<Box<ServerConnection>>,
    binding: Option<Arc<[u8]>>,
}

/// The socket as a TLS session reads it.
struct Raw<'s>(&'s TcpStream, RecvFlags);

impl Read for Raw<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            match recv(self.0, &mut *room, self.1) {
                Err(Errno::INTR) => {}
                read => return Ok(read?.0),
            }
        }
    }
}

impl Wire {
    pub fn new(socket: TcpStream) -> Self {
        Self { socket, tls: None, binding: None }
    }

    pub fn tcp(&self) -> &TcpStream {
        &self.socket
    }

    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether the handshake has ended.
    pub fn is_ready(&self) -> bool {
        self.tls.as_ref().is_none_or(|tls| !tls.is_handshaking())
    }

    /// Whether the client has named PostgreSQL's protocol in its handshake.
    pub fn names_protocol(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.alpn_protocol() == Some(PROTOCOL))
    }

    /// Identifies the server's certificate, if the connection is encrypted.
    pub fn binding(&self) -> Option<&Arc<[u8]>> {
        self.binding.as_ref()
    }

    /// Expects a TLS handshake from now on, and at its beginning these bytes.
    ///
    /// # Errors
    /// The library refuses its configuration, or the bytes begin no handshake.
    pub fn encrypt(&mut self, loaded: Loaded, received: &[u8]) -> io::Result<()> {
        let session = ServerConnection::new(loaded.config).map_err(io::Error::other)?;
        let mut session = Box::new(session);
        let mut rest = received;
        while !rest.is_empty() {
            session.read_tls(&mut rest)?;
            session.process_new_packets().map_err(io::Error::other)?;
        }
        flush(&mut session, &self.socket)?;
        (self.tls, self.binding) = (Some(session), loaded.binding);
        Ok(())
    }

    /// Appends received bytes; returns their number, 0 at the end. Reads as much as one call of the
    /// system gives, at most `most` bytes of a plain socket.
    ///
    /// # Errors
    /// Those of the socket, `WouldBlock` included, and of the TLS session.
    pub fn receive(
        &mut self,
        input: &mut Vec<u8>,
        most: usize,
        flags: RecvFlags,
    ) -> io::Result<usize> {
        let before = input.len();
        let Some(tls) = &mut self.tls else {
            input.reserve(most);
            loop {
                match recv(&self.socket, rustix::buffer::spare_capacity(input), flags) {
                    Err(Errno::INTR) => {}
                    read => return Ok(read.map(|(received, _)| received)?),
                }
            }
        };
        loop {
            let is_open = drain(tls, input)?;
            if input.len() > before || !is_open {
                return Ok(input.len() - before);
            }
            if tls.read_tls(&mut Raw(&self.socket, flags))? == 0 {
                return Ok(0);
            }
            let processed = tls.process_new_packets();
            // The handshake's next message, or the alert with its error.
            let flushed = flush(tls, &self.socket);
            processed.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            flushed?;
        }
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return (&self.socket).write_all(bytes) };
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = tls.writer().write(rest)?;
            rest = &rest[taken..];
            flush(tls, &self.socket)?;
            if taken == 0 && !rest.is_empty() {
                return Err(ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }

    /// Tells an encrypted client that nothing more follows, so that it can distinguish the end from
    /// one that somebody else has made.
    pub fn end(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            // A client that is gone misses nothing.
            let _ = flush(tls, &self.socket);
        }
    }
}

/// Moves all decrypted bytes; false if the client has ended its side.
fn drain(tls: &mut ServerConnection, input: &mut Vec<u8>) -> io::Result<bool> {
    let mut chunk = [0; CHUNK_BYTES];
    loop {
        match tls.reader().read(&mut chunk) {
            Ok(0) => return Ok(false),
            Ok(count) => input.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        }
    }
}

fn flush(tls: &mut ServerConnection, socket: &TcpStream) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(&mut &*socket)?;
    }
    Ok(())
}
