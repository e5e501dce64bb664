//! The bytes of a connection.

use crate::tcp::tls::Session;
use rustix::net::sockopt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Seconds without a sign of life after which the other end is asked for one, and between such questions.
const KEEPALIVE_S: Duration = Duration::from_secs(5);
/// Unanswered questions after which the connection is lost.
const KEEPALIVE_COUNT: u32 = 3;

/// A connection that never waits.
pub(super) struct Channel {
    stream: TcpStream,
    /// Where it is encrypted.
    session: Option<Box<Session>>,
}

impl Channel {
    /// Prepares a stream: what is written goes out at once, and an end that has gone is noticed.
    pub fn new(stream: TcpStream, session: Option<Session>) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, KEEPALIVE_S)?;
        sockopt::set_tcp_keepintvl(&stream, KEEPALIVE_S)?;
        sockopt::set_tcp_keepcnt(&stream, KEEPALIVE_COUNT)?;
        Ok(Self { stream, session: session.map(Box::new) })
    }

    /// Reads what has arrived; 0 bytes mean that the other end has closed.
    #[inline]
    pub fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match &mut self.session {
            None => self.stream.read(room),
            Some(session) => session.read(&mut self.stream, room),
        }
    }

    /// Writes as much as goes without waiting.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.session {
            None => self.stream.write(bytes),
            Some(session) => session.write(&mut self.stream, bytes),
        }
    }

    /// Sends what was written and waits in this process, as far as it goes without waiting.
    pub fn flush(&mut self) -> io::Result<()> {
        self.session.as_mut().map_or(Ok(()), |session| session.flush(&mut self.stream))
    }

    /// Whether something that was written waits in this process.
    #[inline]
    pub fn is_unsent(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.is_unsent())
    }

    /// What went wrong since the connection was begun, if anything did.
    pub fn check(&self) -> io::Result<()> {
        self.stream.take_error()?.map_or(Ok(()), Err)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
