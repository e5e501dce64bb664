//! Notes of other threads to the detector's thread.

use super::observer::KnownMember;
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;

pub(super) enum Note {
    /// The members of an epoch.
    Map {
        epoch: u64,
        members: Vec<KnownMember>,
    },
    /// A connection of this member was lost.
    Doubt(u64),
    /// The registry did not answer a decision about this member.
    Undecided(u64),
    Stop,
}

/// Rings the bell: not 0 in any byte order.
const RING: [u8; 8] = [1; 8];

/// Notes, and a descriptor that is readable while there are some.
pub(super) struct Inbox {
    notes: Mutex<Vec<Note>>,
    bell: OwnedFd,
}

impl Inbox {
    pub fn new() -> std::io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { notes: Mutex::default(), bell })
    }

    pub fn put(&self, note: Note) {
        self.notes.lock().expect("no holder panics").push(note);
        // It fails only if it was rung many times and not heard, so it still rings.
        let _ = rustix::io::write(&self.bell, &RING);
    }

    /// Takes all notes, in order.
    pub fn take(&self) -> Vec<Note> {
        // Nothing to read if nobody has rung.
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        std::mem::take(&mut *self.notes.lock().expect("no holder panics"))
    }

    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
