//! A blocking TLS stream, for other connections between processes of a cluster.

use crate::tcp::tls::{Session, TlsKeys};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// An encrypted stream with certificates on both sides. Time-outs are those of its socket.
pub struct TlsStream {
    session: Session,
    socket: TcpStream,
}

impl TlsStream {
    /// The accepting side; the handshake takes at most `within`.
    ///
    /// # Errors
    /// The peer has no valid certificate, does not speak TLS, or does not answer in time.
    pub fn accept(keys: &TlsKeys, socket: TcpStream, within: Duration) -> io::Result<Self> {
        Self::shake_hands(Session::accept(keys)?, socket, within)
    }

    /// The connecting side, which expects a certificate for `name`; the handshake takes at most
    /// `within`.
    ///
    /// # Errors
    /// The peer has no valid certificate, does not speak TLS, or does not answer in time.
    pub fn connect(
        keys: &TlsKeys,
        name: String,
        socket: TcpStream,
        within: Duration,
    ) -> io::Result<Self> {
        Self::shake_hands(Session::connect_by_name(keys, name)?, socket, within)
    }

    /// One step at a time with a common deadline, so that a peer cannot prolong it by sending
    /// single bytes.
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

    /// The socket, to set its time-outs.
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
            // The peer does not read, and the socket's time-out has passed.
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(()),
        }
    }
}

fn now() -> Instant {
    #[allow(clippy::disallowed_methods, reason = "a handshake's time is not part of a run")]
    Instant::now()
}
