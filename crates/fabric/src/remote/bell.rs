//! What wakes a thread that sleeps among descriptors.

use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// What is written to ring, in an order of bytes in which it is a number above zero everywhere.
const RING: [u8; 8] = [1; 8];

/// A descriptor that others make readable while its owner sleeps, or is about to.
pub(crate) struct Bell {
    is_asleep: AtomicBool,
    descriptor: OwnedFd,
}

impl Bell {
    pub(crate) fn new() -> std::io::Result<Self> {
        let descriptor = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { is_asleep: false.into(), descriptor })
    }

    /// Wakes the owner if it sleeps. What it is woken for was done before.
    pub(crate) fn ring(&self) {
        if self.is_asleep() && self.is_asleep.swap(false, Ordering::SeqCst) {
            // A bell that was rung too often to count further wakes as well.
            let _ = rustix::io::write(&self.descriptor, &RING);
        }
    }

    /// The owner is about to sleep, and looks after this whether there is something to do.
    pub(crate) fn arm(&self) {
        self.is_asleep.store(true, Ordering::SeqCst);
    }

    /// The owner is awake.
    pub(crate) fn disarm(&self) {
        if !self.is_asleep.swap(false, Ordering::SeqCst) {
            // Somebody rang, or is about to; a bell that rings late costs one look.
            let _ = rustix::io::read(&self.descriptor, &mut [0_u8; 8]);
        }
    }

    /// Whether the owner sleeps and nobody has rung.
    pub(crate) fn is_asleep(&self) -> bool {
        self.is_asleep.load(Ordering::SeqCst)
    }
}

impl AsFd for Bell {
    /// Becomes readable when the bell rings.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
