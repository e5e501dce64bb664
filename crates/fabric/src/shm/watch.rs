//! A thread of a compute process that notices when a memory server is gone.

use crate::local::LocalWorld;
use crate::shm::socket::RING;
use layout::NodeId;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Weak};

/// Held by those whose servers are watched: the thread ends when the last of them is gone.
pub(super) struct Watch {
    stop: OwnedFd,
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Only this one ever writes to it, once, so that it never blocks or fails.
        let _ = rustix::io::write(&self.stop, &RING);
    }
}

/// What tells that a server is gone: both become readable.
pub(super) struct Watched {
    pub node: NodeId,
    pub pidfd: OwnedFd,
    /// The server says nothing on it after the welcome, and closes it when it does not serve us any more.
    pub socket: OwnedFd,
}

impl Watch {
    /// Nothing so far.
    pub fn new() -> rustix::io::Result<Arc<Self>> {
        Ok(Arc::new(Self { stop: eventfd(0, EventfdFlags::CLOEXEC)? }))
    }

    /// Starts the thread.
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
