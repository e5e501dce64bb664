//! The server's side of the handshake: checks the caller, and passes it the region and a segment
//! for calls.

use crate::identity::{HELLO_BYTES, Refusal};
use crate::shm::calls::Calls;
use crate::shm::port::{Client, ShmPort};
use crate::shm::segment::Segment;
use crate::shm::socket::{peer, receive, send};
use crate::tell;
use layout::RegionId;
use rustix::io::Errno;
use rustix::process::geteuid;
use std::os::fd::{AsFd, BorrowedFd};

impl ShmPort {
    /// Reads the first message from `socket`, and replies with the region if there is one, a
    /// segment for calls and the bell. `Ok(None)` if the caller has closed the connection.
    pub(super) fn welcome(
        &mut self,
        id: u64,
        socket: BorrowedFd<'_>,
    ) -> Result<Option<Client>, Refusal> {
        let mut bytes = [0; HELLO_BYTES];
        match receive(socket, &mut bytes) {
            Ok((HELLO_BYTES, _)) => {}
            Ok((0, _)) | Err(_) => return Ok(None),
            Ok((other, _)) => {
                return Err(Refusal::new(format!(
                    "a first message has {HELLO_BYTES} bytes, this one {other}; the caller is not a namdb of this version"
                )));
            }
        }
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
        let (hello, welcome) = self.admission.admit(&bytes)?;
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
        let region = self.env.world().region_file(RegionId(self.admission.node.0));
        let for_calls = [segment.file(), self.bell.as_fd()];
        let handed_over: Vec<_> = region.into_iter().chain(for_calls).collect();
        if send(socket, &welcome.encode(), &handed_over).is_err() {
            return Ok(None);
        }
        tell::connected(&format!("process {pid}"), &hello);
        let name = (hello.caller, hello.endpoint);
        Ok(Some(Client { process, pid, name, calls: Calls::new(segment) }))
    }
}
