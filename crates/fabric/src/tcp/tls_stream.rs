//! A connection that waits, encrypted like those for verbs: for what else processes of a cluster say to each other.

use crate::tcp::tls::{Session, TlsKeys};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// An encrypted stream whose ends have proved who they are. Bounds on waiting are those of its socket.
pub struct TlsStream {
    session: Session,
    socket: TcpStream,
}

impl TlsStream {
    /// The end that accepts; the handshake takes at most `within`.
    ///
    /// # Errors
    /// The other end cannot prove who it is, does not speak TLS, or is silent.
    pub fn accept(keys: &TlsKeys, socket: TcpStream, within: Duration) -> io::Result<Self> {
        Self::shake_hands(Session::accept(keys)?, socket, within)
    }

    /// The end that connects to the process whose certificate has this name; the handshake takes at most `within`.
    ///
    /// # Errors
    /// The other end cannot prove who it is, does not speak TLS, or is silent.
    pub fn connect(
        keys: &TlsKeys,
        name: String,
        socket: TcpStream,
        within: Duration,
    ) -> io::Result<Self> {
        Self::shake_hands(Session::connect_by_name(keys, name)?, socket, within)
    }

    /// Step by step, so that nobody keeps it open by single bytes.
    fn shake_hands(session: Session, socket: TcpStream, within: Duration) -> io::Result<Self> {
        let mut stream = Self { session, socket };
        let start = now();
        stream.flush()?;
        while stream.session.is_handshaking() {
            let left = within.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            stream.socket.set_read_timeout(Some(left))?;
            if !stream.session.receive(&mut stream.socket)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        stream.flush()?;
        stream.socket.set_read_timeout(None)?;
        Ok(stream)
    }

    /// The socket, for its bounds.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }
}

impl Read for TlsStream {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.session.read(&mut self.socket, room)
    }
}

impl Write for TlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.session.write(&mut self.socket, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.session.flush(&mut self.socket)?;
        match self.session.is_unsent() {
            // The other end does not read, and the socket has a bound.
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(()),
        }
    }
}

fn now() -> Instant {
    #[allow(clippy::disallowed_methods, reason = "a handshake's time is not part of a run")]
    Instant::now()
}
