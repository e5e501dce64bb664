//! Input over shared memory that no correct caller sends.

use crate::fabrics::rendezvous::{Rendezvous, SECRET};
use fabric::identity::ANSWER_BYTES;
use fabric::proof::{self, Claim, Purpose, SEAL_BYTES};
use layout::NodeId;
use rustix::io::{Errno, pwrite, write};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, connect, recv, recvmsg, send, socket_with, sockopt,
};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The time within which a server must answer or hang up.
const BOUND: Duration = Duration::from_secs(5);
/// Number of callers that write garbage.
const ROUNDS: u64 = 10;
/// Bytes of garbage: more than the first slots of a segment.
const GARBAGE_BYTES: usize = 16 * 4096;

/// Sends nonsense instead of a hello, keeps a connection silent, and writes garbage into the place
/// of calls.
pub fn over_shared_memory(place: &Rendezvous) -> Result<(), String> {
    let failed = |errno: Errno| format!("a socket: {errno}");
    for length in [1, 127, 129, 5000] {
        let stranger = open_connection(place).map_err(failed)?;
        send(&stranger, &vec![0x20; length], SendFlags::NOSIGNAL).map_err(failed)?;
        let (bytes, _) = answer(&stranger).map_err(failed)?;
        if bytes != proof::version() {
            return Err(format!("the server answered {length} bytes of nonsense with {bytes:?}"));
        }
    }
    let _silent = open_connection(place).map_err(failed)?;
    for round in 0..ROUNDS {
        let broken = open_connection(place).map_err(failed)?;
        let hello = place.hello(NodeId(0), 100 + round);
        send(&broken, &proof::opening(&SECRET), SendFlags::NOSIGNAL).map_err(failed)?;
        let (challenge, _) = answer(&broken).map_err(failed)?;
        let challenge = challenge.try_into().map_err(|_| "the challenge has a wrong length")?;
        let (_, proof) = Claim::to(&challenge, &SECRET, Purpose::Verbs, &hello.encode());
        let message = [&proof[..], &hello.encode()].concat();
        send(&broken, &message, SendFlags::NOSIGNAL).map_err(failed)?;
        let (_, descriptors) = answer(&broken).map_err(failed)?;
        let [_region, segment, bell]: [OwnedFd; 3] =
            descriptors.try_into().map_err(|_| "an accepted caller must get three descriptors")?;
        // Write behind the flags first, so that the server finds the garbage when the flags are
        // set.
        pwrite(&segment, &garbage(round, GARBAGE_BYTES), 4096).map_err(failed)?;
        pwrite(&segment, &[0xff; 8], 0).map_err(failed)?;
        write(&bell, &[1; 8]).map_err(failed)?;
        let (_, bytes) = recv(&broken, &mut [0; 1], RecvFlags::empty()).map_err(failed)?;
        if bytes > 0 {
            return Err("a server answered a caller that wrote garbage".to_owned());
        }
    }
    Ok(())
}

/// Bytes that are the same in every run.
pub fn garbage(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    let mut next = || {
        // Xorshift: random enough for garbage.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..count).map(|_| next()).collect()
}

/// Opens a connection to server 0 and sends nothing.
fn open_connection(place: &Rendezvous) -> Result<OwnedFd, Errno> {
    let kind = SocketType::SEQPACKET;
    let socket = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(BOUND))?;
    let path = place.folder.path().join("memory-server-0.socket");
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

/// The answer, with the descriptors that are attached to it.
fn answer(socket: &OwnedFd) -> Result<(Vec<u8>, Vec<OwnedFd>), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = vec![0; ANSWER_BYTES + SEAL_BYTES];
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let received = recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
    bytes.truncate(received);
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(given) = message {
            descriptors.extend(given);
        }
    }
    Ok((bytes, descriptors))
}
