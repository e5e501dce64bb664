//! The compute processes that have mapped a memory server's region, and how they are fenced.

use crate::shm::socket::{Peer, has_exited};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, pidfd_send_signal};
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Result of a fence: in each case the caller writes nothing any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fenced {
    /// It never mapped the region and will be refused, or its process had already ended.
    Absent,
    /// Its process was killed and has ended.
    Killed,
}

/// Why a caller could not be fenced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FenceError {
    /// The caller is in this process, which would have to kill itself.
    #[error("the caller to be fenced is in the memory server's own process")]
    Own,
    /// This process lacks the permission to kill it.
    #[error("process {pid} cannot be killed: {error}")]
    Kill { pid: i32, error: Errno },
    /// It was killed, but has not ended yet; it may hang in the kernel.
    #[error("process {pid} was killed and has not ended; try again")]
    Alive { pid: i32 },
}

/// The processes that may write to the region of a memory server; for threads other than the
/// polling one.
#[derive(Debug, Default)]
pub struct Callers {
    known: Mutex<Known>,
    connections: AtomicU64,
    broken: AtomicU64,
}

#[derive(Debug, Default)]
struct Known {
    processes: Vec<Process>,
    fenced: BTreeSet<u64>,
}

/// A process that has mapped the region. It may write for as long as it lives, connected or not.
#[derive(Debug)]
struct Process {
    /// The polling thread's name for it.
    id: u64,
    pid: Pid,
    pidfd: Arc<OwnedFd>,
    identities: BTreeSet<u64>,
}

impl Callers {
    /// Ensures that `caller`, an identity from the first message of a compute process, writes
    /// nothing any more: kills its process and waits, at most `within`, for its end. Later
    /// connections with that identity are refused.
    pub fn fence(&self, caller: u64, within: Duration) -> Result<Fenced, FenceError> {
        let found: Vec<(Pid, Arc<OwnedFd>)> = {
            let mut known = self.known();
            known.fenced.insert(caller);
            let its = known.processes.iter().filter(|known| known.identities.contains(&caller));
            its.map(|process| (process.pid, process.pidfd.clone())).collect()
        };
        let mut fenced = Fenced::Absent;
        for (pid, pidfd) in found {
            if has_exited(&pidfd) {
                continue;
            }
            kill(pid, &pidfd, within)?;
            fenced = Fenced::Killed;
        }
        Ok(fenced)
    }

    pub fn connection_count(&self) -> u64 {
        self.connections.load(Relaxed)
    }

    /// Connections that were closed because the caller broke the protocol.
    pub fn broken_count(&self) -> u64 {
        self.broken.load(Relaxed)
    }

    pub(super) fn set_connection_count(&self, count: usize) {
        self.connections.store(count as u64, Relaxed);
    }

    pub(super) fn count_broken(&self) {
        self.broken.fetch_add(1, Relaxed);
    }

    /// Registers a caller that will receive the region: returns the name of its process, and its
    /// descriptor if the process was unknown. `None` if the caller was fenced.
    pub(super) fn enter(
        &self,
        caller: u64,
        peer: Peer,
        new_id: u64,
    ) -> Option<(u64, Option<Arc<OwnedFd>>)> {
        let mut known = self.known();
        if known.fenced.contains(&caller) {
            return None;
        }
        let is_same = |known: &&mut Process| known.pid == peer.pid && !has_exited(&known.pidfd);
        if let Some(process) = known.processes.iter_mut().find(is_same) {
            process.identities.insert(caller);
            return Some((process.id, None));
        }
        let pidfd = Arc::new(peer.pidfd);
        let identities = BTreeSet::from([caller]);
        known.processes.push(Process {
            id: new_id,
            pid: peer.pid,
            pidfd: pidfd.clone(),
            identities,
        });
        Some((new_id, Some(pidfd)))
    }

    /// Removes a process that has ended.
    pub(super) fn forget(&self, id: u64) {
        self.known().processes.retain(|process| process.id != id);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect("no holder panics")
    }
}

/// Kills a process and waits for its end. Its descriptor is readable once all its threads have
/// ended.
fn kill(pid: Pid, pidfd: &OwnedFd, within: Duration) -> Result<(), FenceError> {
    if pid.as_raw_pid() as u32 == std::process::id() {
        return Err(FenceError::Own);
    }
    match pidfd_send_signal(pidfd, Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => return Err(FenceError::Kill { pid: pid.as_raw_pid(), error }),
    }
    #[allow(clippy::disallowed_methods, reason = "waiting for a process is not part of a run")]
    let now = Instant::now;
    let end = now() + within;
    while !has_exited(pidfd) {
        let Some(left) = end.checked_duration_since(now()).filter(|left| !left.is_zero()) else {
            return Err(FenceError::Alive { pid: pid.as_raw_pid() });
        };
        let timeout =
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        // Interrupted or not, the loop checks again.
        let _ = poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&timeout));
    }
    Ok(())
}
