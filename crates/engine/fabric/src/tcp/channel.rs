//! The byte stream of a connection.

use crate::linger::Linger;
use crate::tcp::tls::Session;
use rustix::net::sockopt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Interval of TCP keep-alive probes.
const KEEPALIVE_S: Duration = Duration::from_secs(5);
/// Unanswered probes after which the connection is lost.
const KEEPALIVE_COUNT: u32 = 3;

/// A non-blocking connection.
pub(super) struct Channel {
    stream: TcpStream,
    /// `Some` if the connection is encrypted.
    session: Option<Box<Session>>,
}

impl Channel {
    /// Prepares a stream: no delay for small messages, keep-alive to detect a lost peer.
    pub fn new(stream: TcpStream, session: Option<Session>) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, KEEPALIVE_S)?;
        sockopt::set_tcp_keepintvl(&stream, KEEPALIVE_S)?;
        sockopt::set_tcp_keepcnt(&stream, KEEPALIVE_COUNT)?;
        Ok(Self { stream, session: session.map(Box::new) })
    }

    /// Reads arrived bytes; 0 means that the peer has closed the connection.
    #[inline]
    pub fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match &mut self.session {
            None => self.stream.read(room),
            Some(session) => session.read(&mut self.stream, room),
        }
    }

    /// Writes as much as possible without blocking.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.session {
            None => self.stream.write(bytes),
            Some(session) => session.write(&mut self.stream, bytes),
        }
    }

    /// Sends encrypted bytes that are still buffered here, as far as possible without blocking.
    pub fn flush(&mut self) -> io::Result<()> {
        self.session.as_mut().map_or(Ok(()), |session| session.flush(&mut self.stream))
    }

    /// Whether encrypted bytes are still buffered here.
    #[inline]
    pub fn is_unsent(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.is_unsent())
    }

    /// Whether the peer of an encrypted connection has sent anything.
    pub fn has_received(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.has_received())
    }

    /// Ends this side, with a notice if the connection is encrypted; discards what still arrives.
    pub fn linger(&mut self) -> io::Result<Linger> {
        if let Some(session) = &mut self.session {
            // A peer that does not take the notice hears of the end by the socket.
            let _ = session.end(&mut self.stream);
        }
        Linger::begin(&self.stream)
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The stream's pending error, if there is one.
    pub fn check(&self) -> io::Result<()> {
        self.stream.take_error()?.map_or(Ok(()), Err)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
