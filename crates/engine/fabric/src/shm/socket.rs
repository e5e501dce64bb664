//! Unix sockets that preserve message boundaries and pass descriptors, and the identity of their
//! peers.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, chmod};
use rustix::io::{self, Errno};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, recvmsg,
    sendmsg, socket_with, sockopt,
};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// Length of the accept queue; further connections block in `connect`.
const BACKLOG: i32 = 64;
pub(super) const DESCRIPTOR_COUNT: usize = 3;

/// The value that rings a bell: not 0 in any byte order.
pub(super) const RING: [u8; 8] = [1; 8];

/// A non-blocking socket that listens at `path`. Only this user can connect: the mode is set before
/// the socket listens.
pub(super) fn listen(path: &Path) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    chmod(path, Mode::RUSR | Mode::WUSR)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// Connects to the server at `path`; `timeout` limits every operation on the connection.
pub(super) fn connect(path: &Path, timeout: Duration) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    for direction in [sockopt::Timeout::Send, sockopt::Timeout::Recv] {
        sockopt::set_socket_timeout(&socket, direction, Some(timeout))?;
    }
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

/// Sends a message with descriptors.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    assert!(descriptors.len() <= DESCRIPTOR_COUNT);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_COUNT))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives a message with its descriptors; returns its length, which is at most that of `bytes`.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    bytes: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTOR_COUNT))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::TRUNC;
    let received = recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, flags)?;
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(handed_over) = message {
            descriptors.extend(handed_over);
        }
    }
    Ok((received.bytes, descriptors))
}

/// The process at the other end of a connection.
pub(super) struct Peer {
    pub pid: Pid,
    pub uid: u32,
    /// Identifies this process even when it has ended and another one has its number.
    pub pidfd: OwnedFd,
}

/// The process at the other end.
pub(super) fn peer(socket: BorrowedFd<'_>) -> io::Result<Peer> {
    let credentials = sockopt::socket_peercred(socket)?;
    let pidfd = pidfd_open(credentials.pid, PidfdFlags::empty())?;
    // Another process may have taken over the number before it was opened; then the connection is
    // closed.
    if is_ready(socket, PollFlags::HUP | PollFlags::RDHUP) {
        return Err(Errno::CONNRESET);
    }
    Ok(Peer { pid: credentials.pid, uid: credentials.uid.as_raw(), pidfd })
}

/// Whether a process has ended.
pub(super) fn has_exited(pidfd: &OwnedFd) -> bool {
    is_ready(pidfd.as_fd(), PollFlags::IN)
}

fn is_ready(descriptor: BorrowedFd<'_>, flags: PollFlags) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(descriptor, flags)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&at_once)).is_ok_and(|_| polled[0].revents().intersects(flags))
}
