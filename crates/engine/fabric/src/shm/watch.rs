//! A thread of a compute process that notices the end of memory servers.
//!
//! Decision: docs/decisions/0075-a-fenced-process-is-killed.md

use crate::local::LocalWorld;
use crate::shm::socket::RING;
use layout::NodeId;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Weak};

/// Held by the callers of the watched servers: the thread ends with the last of them.
pub(super) struct Watch {
    stop: OwnedFd,
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Written only here and only once, so it never blocks or fails.
        let _ = rustix::io::write(&self.stop, &RING);
    }
}

/// The two descriptors that become readable when a server ends.
pub(super) struct Watched {
    pub node: NodeId,
    pub pidfd: OwnedFd,
    /// Silent after the welcome; the server closes it when it stops serving this process.
    pub socket: OwnedFd,
}

impl Watch {
    pub fn new() -> rustix::io::Result<Arc<Self>> {
        Ok(Arc::new(Self { stop: eventfd(0, EventfdFlags::CLOEXEC)? }))
    }

    pub fn start(&self, world: Weak<LocalWorld>, watched: Vec<Watched>) -> std::io::Result<()> {
        let stop = self.stop.try_clone()?;
        let thread = std::thread::Builder::new().name("namdb-shm-watch".to_owned());
        thread.spawn(move || watch(&stop, &world, watched))?;
        Ok(())
    }
}

fn watch(stop: &OwnedFd, world: &Weak<LocalWorld>, mut watched: Vec<Watched>) {
    while !watched.is_empty() {
        let descriptors = watched.iter().flat_map(|server| [&server.pidfd, &server.socket]);
        let descriptors = descriptors.chain([stop]);
        let mut polled: Vec<PollFd<'_>> = descriptors
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor.as_fd(), PollFlags::IN))
            .collect();
        if poll(&mut polled, None).is_err() {
            // Interrupted by a signal.
            continue;
        }
        let is_ready: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
        let Some(world) = world.upgrade().filter(|_| is_ready.last() == Some(&false)) else {
            return;
        };
        let mut ready = is_ready.chunks(2).map(|both| both.contains(&true));
        watched.retain(|server| {
            let is_gone = ready.next() == Some(true);
            if is_gone {
                world.lose(server.node);
            }
            !is_gone
        });
    }
}
