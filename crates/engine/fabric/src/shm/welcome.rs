//! The server's side of the handshake: demands the proof of the cluster's secret, checks the
//! caller, and passes it the region and a segment for calls.

use crate::identity::{HELLO_BYTES, Hello, Refusal, Welcome};
use crate::proof::{
    self, Challenge, OPENING_BYTES, PROOF_BYTES, Proven, Purpose, SEAL_BYTES, Stranger,
};
use crate::shm::calls::Calls;
use crate::shm::port::{Client, ShmPort};
use crate::shm::segment::Segment;
use crate::shm::socket::{Peer, peer, receive, send};
use crate::tell;
use layout::RegionId;
use rustix::io::Errno;
use rustix::process::geteuid;
use std::os::fd::{AsFd, BorrowedFd};

/// A caller with the secret, checked, that has received nothing yet.
struct Admitted {
    hello: Hello,
    welcome: Welcome,
    /// The name of its process, and the process number.
    process: (u64, i32),
    segment: Segment,
}

impl ShmPort {
    /// Reads the opening from `socket`, and sends the challenge. `None` if the caller has left or
    /// is a stranger.
    pub(super) fn challenge(&self, socket: BorrowedFd<'_>) -> Option<Challenge> {
        let mut opening = [0; OPENING_BYTES];
        let challenge = match receive(socket, &mut opening) {
            Ok((0, _)) | Err(_) => return None,
            Ok((OPENING_BYTES, _)) => Challenge::to(&opening),
            Ok(_) => Err(Stranger::Foreign),
        };
        let challenge = challenge.map_err(|stranger| turn_away(socket, &stranger)).ok()?;
        send(socket, &challenge.encode(), &[]).ok()?;
        Some(challenge)
    }

    /// Reads proof and hello from `socket`, and replies with the region if there is one, a segment
    /// for calls and the bell. `None` if the caller has left or is refused.
    pub(super) fn welcome(
        &mut self,
        id: u64,
        socket: BorrowedFd<'_>,
        challenge: Challenge,
    ) -> Option<Client> {
        let mut bytes = [0; PROOF_BYTES + HELLO_BYTES];
        let length = receive(socket, &mut bytes).ok()?.0;
        if length == 0 {
            return None;
        }
        let (proof, hello) = bytes.split_first_chunk().expect("a proof is first");
        let hello: &[u8; HELLO_BYTES] = hello.try_into().expect("the hello is last");
        let proven = match length == bytes.len() {
            true => challenge.check(&self.admission.secret, Purpose::Verbs, proof, hello),
            false => Err(Stranger::Foreign),
        };
        let proven = proven.map_err(|stranger| turn_away(socket, &stranger)).ok()?;
        match self.admit(id, socket, hello) {
            Ok(admitted) => self.hand_over(socket, &proven, admitted?),
            Err(refusal) => {
                tell::refused(&"a process of this host", &refusal);
                // A caller that has ended does not read it.
                let _ = send(socket, &self.sealed(&proven, &refusal.encode()), &[]);
                None
            }
        }
    }

    /// Checks the caller and its process. `Ok(None)` if it has closed the connection.
    fn admit(
        &mut self,
        id: u64,
        socket: BorrowedFd<'_>,
        hello: &[u8; HELLO_BYTES],
    ) -> Result<Option<Admitted>, Refusal> {
        let Some(other) = own_user(socket)? else { return Ok(None) };
        let (hello, welcome) = self.admission.admit(hello)?;
        let failed =
            |error| Refusal::new(format!("the server cannot accept another caller: {error}"));
        let segment = Segment::create().map_err(failed)?;
        let pid = other.pid.as_raw_pid();
        // From here on the process counts as a writer.
        let entered = self.callers.clone().enter(hello.caller, other, id);
        let Some((process, pidfd)) = entered else {
            return Err(Refusal::new(
                "the caller was declared dead; start it again under a new identity",
            ));
        };
        if let Some(pidfd) = pidfd {
            self.watch(&pidfd, process).map_err(|error| {
                self.callers.forget(process);
                failed(error.into())
            })?;
        }
        Ok(Some(Admitted { hello, welcome, process: (process, pid), segment }))
    }

    fn hand_over(
        &self,
        socket: BorrowedFd<'_>,
        proven: &Proven,
        admitted: Admitted,
    ) -> Option<Client> {
        let Admitted { hello, welcome, process: (process, pid), segment } = admitted;
        let region = self.env.world().region_file(RegionId(self.admission.node.0));
        let for_calls = [segment.file(), self.bell.as_fd()];
        let handed_over: Vec<_> = region.into_iter().chain(for_calls).collect();
        send(socket, &self.sealed(proven, &welcome.encode()), &handed_over).ok()?;
        tell::connected(&format!("process {pid}"), &hello);
        let name = (hello.caller, hello.endpoint);
        Some(Client { process, pid, name, calls: Calls::new(segment) })
    }

    /// An answer with its seal.
    fn sealed(&self, proven: &Proven, answer: &[u8]) -> Vec<u8> {
        let seal: [u8; SEAL_BYTES] = proven.seal(&self.admission.secret, answer);
        [answer, &seal].concat()
    }
}

/// The caller's process, if it is of this user. `Ok(None)` if it has closed the connection.
fn own_user(socket: BorrowedFd<'_>) -> Result<Option<Peer>, Refusal> {
    let other = match peer(socket) {
        Ok(other) => other,
        Err(Errno::CONNRESET | Errno::SRCH) => return Ok(None),
        Err(error) => {
            return Err(Refusal::new(format!(
                "the caller's process cannot be watched ({error}); run both where they see each other's processes"
            )));
        }
    };
    let own = geteuid().as_raw();
    if other.uid != own {
        return Err(Refusal::new(format!(
            "the caller runs as user {}, this server as user {own}; run both as one user",
            other.uid
        )));
    }
    Ok(Some(other))
}

/// A stranger learns the version of the protocol and nothing else.
fn turn_away(socket: BorrowedFd<'_>, stranger: &Stranger) {
    tell::refused(&"a process of this host", stranger);
    // A caller that has ended does not read it.
    let _ = send(socket, &proof::version(), &[]);
}
