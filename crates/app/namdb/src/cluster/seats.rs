//! The connections of threads to clusters that a network reaches.
//!
//! Connections and lanes over them stay with their thread, but a session may move to another one.
//! So a session holds no connections: each transaction borrows a seat of the thread that runs it.
//! Idle seats wait in a thread-local list, and are closed when the thread ends.

use super::{Fault, Remote, Seat};
use crate::host::{Moment, sleep_ms};
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// While a process has more slots of the cluster than this, a thread without a session keeps none.
const SLOTS_KEPT: u32 = 16;
/// How long [`close`] waits for threads that are ending.
const CLOSE_WAIT_MS: u64 = 1_000;
const CLOSE_LOOK_MS: u64 = 1;

thread_local! {
    static IDLE: RefCell<Vec<Seat>> = const { RefCell::new(Vec::new()) };
}

/// A seat of this thread, which becomes idle when this is dropped.
pub(crate) struct BorrowedSeat(Option<Seat>);

impl BorrowedSeat {
    /// An idle seat of this thread, or a new one.
    pub fn take(remote: &Arc<Remote>) -> Result<Self, Fault> {
        let seat = match take_idle(remote) {
            Some(seat) => seat,
            None => Seat::open(remote)?,
        };
        Ok(Self(Some(seat)))
    }
}

const BORROWED: &str = "the seat is borrowed until this is dropped";

impl Deref for BorrowedSeat {
    type Target = Seat;

    #[inline]
    fn deref(&self) -> &Seat {
        self.0.as_ref().expect(BORROWED)
    }
}

impl DerefMut for BorrowedSeat {
    #[inline]
    fn deref_mut(&mut self) -> &mut Seat {
        self.0.as_mut().expect(BORROWED)
    }
}

impl Drop for BorrowedSeat {
    fn drop(&mut self) {
        // The next transaction connects again if a connection is lost.
        let seat = self.0.take().filter(|seat| !seat.is_broken());
        if let Some(seat) = seat {
            keep_idle(seat);
        }
    }
}

fn take_idle(remote: &Arc<Remote>) -> Option<Seat> {
    let take = |idle: &RefCell<Vec<Seat>>| {
        let mut idle = idle.borrow_mut();
        let position = idle.iter().position(|seat| Arc::ptr_eq(&seat.remote, remote))?;
        Some(idle.swap_remove(position))
    };
    // A thread that is ending has none.
    IDLE.try_with(take).ok().flatten()
}

fn keep_idle(seat: Seat) {
    let mut seat = Some(seat);
    // If the thread is ending, the seat is closed here.
    let _ = IDLE.try_with(|idle| idle.borrow_mut().extend(seat.take()));
}

/// A session has ended on this thread, or rests: the thread gives its slot back if this process has
/// many.
pub(crate) fn rest(remote: &Arc<Remote>) {
    if remote.slots() <= SLOTS_KEPT {
        return;
    }
    if let Some(mut seat) = take_idle(remote) {
        seat.release_slot();
        keep_idle(seat);
    }
}

/// The database is dropped: closes the seats of this thread, and waits for threads that have ended
/// and are closing theirs. Seats of threads that go on are closed when these end.
pub(crate) fn close(remote: &Arc<Remote>) {
    // Leaving waits for memory servers, so not while the list is borrowed.
    while let Some(seat) = take_idle(remote) {
        drop(seat);
    }
    let start = Moment::now();
    // Every seat has a reference. The last one leaves the cluster.
    while Arc::strong_count(remote) > 1 && start.elapsed_ms() < CLOSE_WAIT_MS {
        sleep_ms(CLOSE_LOOK_MS);
    }
}
