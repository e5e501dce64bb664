//! Establishes a connection: attempts, each with its handshake.

use crate::identity::{ANSWER_BYTES, Hello, Welcome};
use crate::tcp::buffer::{Inbox, Outbox, is_temporary};
use crate::tcp::channel::Channel;
use crate::tcp::tls::{Session, begins_alert};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io;
use std::net::{SocketAddr, TcpStream};

/// A running attempt.
pub(super) struct Joining {
    pub channel: Channel,
    is_connected: bool,
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
        Ok(Self { channel, is_connected: false, deadline_ns })
    }

    /// Continues the attempt as far as possible without blocking; a welcome completes it.
    pub fn progress(
        &mut self,
        hello: &Hello,
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
            outbox.put_bytes(&hello.encode());
        }
        if !outbox.is_empty() {
            outbox.send(|bytes| self.channel.write(bytes))?;
        }
        self.channel.flush()?;
        match inbox.receive(|room| self.channel.read(room)) {
            Ok(0) if inbox.bytes(2).is_some_and(begins_alert) => {
                return Err(Failure::Refused(
                    "the server accepts TLS only; add a section `tls` to the cluster's file"
                        .to_owned(),
                ));
            }
            Ok(0) => {
                return Err(Failure::Temporary("the server has closed the connection".to_owned()));
            }
            Ok(_) => {}
            Err(error) if is_temporary(&error) => {}
            Err(error) => return Err(error.into()),
        }
        let Some(answer) = inbox.bytes(ANSWER_BYTES) else { return Ok(None) };
        let answer = answer.try_into().expect("as many bytes as were asked for");
        let welcome = Welcome::decode(answer);
        inbox.consume(ANSWER_BYTES / 8);
        welcome.map(Some).map_err(|refusal| Failure::Refused(refusal.to_string()))
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

/// A socket becomes writable when its connection is established or has failed.
fn is_writable(channel: &Channel) -> bool {
    let mut waited = [PollFd::new(channel, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut waited, Some(&now)), Ok(count) if count > 0)
}
