//! The bytes of a connection.

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
pub(super) struct Channel(TcpStream);

impl Channel {
    /// Prepares a stream: what is written goes out at once, and an end that has gone is noticed.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, KEEPALIVE_S)?;
        sockopt::set_tcp_keepintvl(&stream, KEEPALIVE_S)?;
        sockopt::set_tcp_keepcnt(&stream, KEEPALIVE_COUNT)?;
        Ok(Self(stream))
    }

    /// Reads what has arrived; 0 bytes mean that the other end has closed.
    #[inline]
    pub fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.0.read(room)
    }

    /// Writes as much as goes without waiting.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    /// What went wrong since the connection was begun, if anything did.
    pub fn check(&self) -> io::Result<()> {
        self.0.take_error()?.map_or(Ok(()), Err)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
