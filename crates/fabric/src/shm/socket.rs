//! Unix sockets that keep messages apart and hand descriptors over, and who is at the other end.

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

/// Connections that wait to be accepted; more are held up where they connect.
const BACKLOG: i32 = 64;
/// Descriptors in one message.
pub(super) const DESCRIPTOR_COUNT: usize = 3;

/// What rings a bell: any number but 0, in whatever order of bytes.
pub(super) const RING: [u8; 8] = [1; 8];

/// A socket that listens at `path` and never blocks. Only this user can connect: nobody can before the mode is
/// set, since nobody listens before.
pub(super) fn listen(path: &Path) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    chmod(path, Mode::RUSR | Mode::WUSR)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// A connection to who listens at `path`; it waits for nothing longer than `timeout`.
pub(super) fn connect(path: &Path, timeout: Duration) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    for direction in [sockopt::Timeout::Send, sockopt::Timeout::Recv] {
        sockopt::set_socket_timeout(&socket, direction, Some(timeout))?;
    }
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

/// Sends a message with some descriptors.
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

/// Receives a message and its descriptors; how many bytes it has, of which no more come than `bytes` holds.
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
    /// Its user.
    pub uid: u32,
    /// Names this process even when it is gone and its number belongs to another.
    pub pidfd: OwnedFd,
}

/// Who connected, or who listens.
pub(super) fn peer(socket: BorrowedFd<'_>) -> io::Result<Peer> {
    let credentials = sockopt::socket_peercred(socket)?;
    let pidfd = pidfd_open(credentials.pid, PidfdFlags::empty())?;
    // The number may have become another process's before it was opened; but then the connection is closed.
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
