//! Wakes a thread that sleeps in `poll`.

use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// The value written to ring, above zero in every byte order.
const RING: [u8; 8] = [1; 8];

/// A descriptor that other threads make readable while its owner sleeps, or is about to.
pub(crate) struct Bell {
    is_asleep: AtomicBool,
    descriptor: OwnedFd,
}

impl Bell {
    pub(crate) fn new() -> std::io::Result<Self> {
        let descriptor = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self { is_asleep: false.into(), descriptor })
    }

    /// Wakes the owner if it sleeps. Its work was made visible before.
    pub(crate) fn ring(&self) {
        if self.is_asleep() && self.is_asleep.swap(false, Ordering::SeqCst) {
            // A full counter wakes the owner too.
            let _ = rustix::io::write(&self.descriptor, &RING);
        }
    }

    /// Announces that the owner is about to sleep; it checks for work once more after this.
    pub(crate) fn arm(&self) {
        self.is_asleep.store(true, Ordering::SeqCst);
    }

    /// Announces that the owner is awake.
    pub(crate) fn disarm(&self) {
        if !self.is_asleep.swap(false, Ordering::SeqCst) {
            // Another thread has rung, or is about to; a late ring costs one spurious wake-up.
            let _ = rustix::io::read(&self.descriptor, &mut [0_u8; 8]);
        }
    }

    /// Whether the owner sleeps and the bell has not rung.
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
