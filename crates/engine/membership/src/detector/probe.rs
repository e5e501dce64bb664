//! Probes of suspected members, each from a socket of its own: the kernel reports to a connected
//! socket that the peer's host refuses its datagrams.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// A probe under way.
pub(super) struct Probe {
    pub member: u64,
    pub until_ns: u64,
    socket: UdpSocket,
}

/// The response to a probe so far.
pub(super) enum Response {
    None,
    Datagram(usize),
    /// Nobody has the port.
    Refused,
}

impl Probe {
    /// Sends a probe to `to`.
    ///
    /// # Errors
    /// Descriptors are short, or there is no route.
    pub fn send(member: u64, to: SocketAddr, bytes: &[u8], until_ns: u64) -> std::io::Result<Self> {
        let socket = UdpSocket::bind(any_like(to))?;
        socket.set_nonblocking(true)?;
        socket.connect(to)?;
        socket.send(bytes)?;
        Ok(Self { member, until_ns, socket })
    }

    pub fn receive(&self, bytes: &mut [u8]) -> Response {
        match self.socket.recv(bytes) {
            Ok(count) => Response::Datagram(count),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Response::Refused,
            Err(_) => Response::None,
        }
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Any address and port of this host, of the family of `to`.
pub(super) fn any_like(to: SocketAddr) -> SocketAddr {
    match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}
