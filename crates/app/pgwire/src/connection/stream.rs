//! A client's socket with its buffers.

use crate::wire::Wire;
use rustix::net::RecvFlags;
use std::io::ErrorKind;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Bytes that one system call reads at most.
const READ_BYTES: usize = 8 << 10;
/// Buffers that are larger are returned to the allocator when the client is silent.
const KEPT_BYTES_MAX: usize = 1 << 10;
/// Output that is sent before more is produced.
pub const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// How long a client may read nothing while there is output for it.
const SEND_WAIT: Duration = Duration::from_secs(60);

/// The socket, and bytes received and to send.
pub struct Stream {
    wire: Wire,
    input: Vec<u8>,
    pub output: Vec<u8>,
}

/// The result of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received {
    Bytes,
    /// Nothing within the time.
    Silence,
    /// The client has closed the connection, or the network has.
    End,
}

impl Stream {
    /// Takes over a socket and the bytes that were already received. Reads wait for `linger`.
    pub fn new(wire: Wire, input: Vec<u8>, linger: Duration) -> std::io::Result<Self> {
        let socket = wire.tcp();
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(linger))?;
        socket.set_write_timeout(Some(SEND_WAIT))?;
        Ok(Self { wire, input, output: Vec::new() })
    }

    pub fn socket(&self) -> BorrowedFd<'_> {
        self.wire.socket()
    }

    /// The received bytes. The caller returns the rest by [`Stream::put_input`].
    pub fn take_input(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.input)
    }

    /// Returns the bytes of [`Stream::take_input`] without the first `done`.
    pub fn put_input(&mut self, mut input: Vec<u8>, done: usize) {
        debug_assert!(self.input.is_empty(), "it was taken");
        input.drain(..done);
        self.input = input;
    }

    /// Receives more bytes; waits for them unless `is_pressed`.
    pub fn receive(&mut self, is_pressed: bool) -> Received {
        // A long message is received with fewer calls the more of it is there.
        let wanted = READ_BYTES.max(self.input.len().min(1 << 20));
        let flags = if is_pressed { RecvFlags::DONTWAIT } else { RecvFlags::empty() };
        match self.wire.receive(&mut self.input, wanted, flags) {
            Ok(0) => Received::End,
            Ok(_) => Received::Bytes,
            Err(error) if is_timeout(&error) => Received::Silence,
            Err(_) => Received::End,
        }
    }

    /// Sends the output. False if the client does not take it.
    #[must_use]
    pub fn flush(&mut self) -> bool {
        if self.output.is_empty() {
            return true;
        }
        let is_sent = self.wire.send(&self.output).is_ok();
        self.output.clear();
        is_sent
    }

    /// Tells the client that nothing more follows.
    pub fn end(&mut self) {
        self.wire.end();
    }

    pub fn is_encrypted(&self) -> bool {
        self.wire.is_encrypted()
    }

    /// Returns memory that a silent client does not need.
    pub fn shrink(&mut self) {
        if self.output.capacity() > KEPT_BYTES_MAX {
            self.output = Vec::new();
        }
        if self.input.is_empty() {
            self.input = Vec::new();
        } else if self.input.capacity() > 2 * self.input.len() + KEPT_BYTES_MAX {
            self.input.shrink_to_fit();
        }
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
