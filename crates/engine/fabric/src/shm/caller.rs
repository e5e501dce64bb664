//! The compute process's side of calls to one memory server.

use crate::error::CallError;
use crate::local::Caller;
use crate::patience::{Patience, Step, Waiter};
use crate::service::{Answer, ServiceId};
use crate::shm::answer::decode;
use crate::shm::segment::{
    Head, Kind, MESSAGE_BYTES_MAX, PIECE_BYTES_MAX, SLOT_COUNT, Segment, Slot,
};
use crate::shm::socket::RING;
use crate::shm::watch::Watch;
use layout::NodeId;
use rustix::thread::futex;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Spin time of a caller: most answers of a server that is awake on another processor take no
/// longer. On the same processor the answer waits until the caller yields.
const SPIN_NS: u64 = 4000;

/// A connection to a memory server whose region this process has mapped.
pub(super) struct SegmentCaller {
    node: NodeId,
    segment: Segment,
    /// Wakes the server's polling thread.
    bell: OwnedFd,
    slots: Mutex<OwnSlots>,
    is_lost: AtomicBool,
    timeout: Duration,
    /// Stops the watching thread with the last caller of a world.
    _watch: Arc<Watch>,
}

/// Slots without a running call of this process.
struct OwnSlots {
    free: Vec<OwnSlot>,
    /// Slots whose callers have given up while the server still has them.
    abandoned: Vec<OwnSlot>,
}

/// The caller's private state of a slot.
struct OwnSlot {
    index: u32,
    /// The turn at which the server returned it, or will return it.
    turn: u32,
    /// Number of the last call.
    sequence: u64,
}

impl SegmentCaller {
    /// `timeout` limits a call, including the wait for a free slot.
    pub fn new(
        node: NodeId,
        segment: Segment,
        bell: OwnedFd,
        timeout: Duration,
        watch: Arc<Watch>,
    ) -> Self {
        let free = (0..SLOT_COUNT).rev().map(|index| OwnSlot { index, turn: 0, sequence: 0 });
        let slots = OwnSlots { free: free.collect(), abandoned: Vec::new() };
        Self {
            node,
            segment,
            bell,
            slots: slots.into(),
            is_lost: false.into(),
            timeout,
            _watch: watch,
        }
    }

    fn unreachable(&self) -> CallError {
        CallError::Unreachable(self.node)
    }

    fn slots(&self) -> MutexGuard<'_, OwnSlots> {
        self.slots.lock().expect("no holder panics")
    }

    /// Takes a free slot; waits if there is none.
    fn take_slot(&self, deadline: Instant) -> Result<OwnSlot, CallError> {
        loop {
            if self.is_lost.load(Relaxed) {
                return Err(self.unreachable());
            }
            let mut slots = self.slots();
            let came_back = |own: &OwnSlot| self.segment.slot(own.index).turn() == own.turn;
            if let Some(index) = slots.abandoned.iter().position(came_back) {
                return Ok(slots.abandoned.swap_remove(index));
            }
            if let Some(own) = slots.free.pop() {
                return Ok(own);
            }
            drop(slots);
            if now() >= deadline {
                return Err(self.unreachable());
            }
            std::thread::yield_now();
        }
    }

    /// Executes one call through the slot `own`.
    fn exchange(
        &self,
        own: &mut OwnSlot,
        service: ServiceId,
        request: &[u8],
        deadline: Instant,
    ) -> Answer {
        own.sequence += 1;
        let mut head = Head {
            kind: Kind::Request,
            code: service.0,
            piece_bytes: 0,
            total_bytes: request.len(),
            sequence: own.sequence,
        };
        let mut rest = request;
        let mut given = loop {
            let (piece, later) = rest.split_at(rest.len().min(PIECE_BYTES_MAX));
            head.piece_bytes = piece.len();
            let given = self.hand_over_and_wait(own, &head, piece, deadline)?;
            rest = later;
            match given.kind {
                Kind::More if !rest.is_empty() => {}
                Kind::Answer => break given,
                _ => return Err(CallError::Malformed("a call: the server lost its thread")),
            }
        };
        let mut answer = Vec::new();
        let (code, total_bytes) = (given.code, given.total_bytes);
        loop {
            let is_next = (given.kind, given.code, given.total_bytes)
                == (Kind::Answer, code, total_bytes)
                && given.piece_bytes <= total_bytes - answer.len();
            if !is_next {
                return Err(CallError::Malformed("a call: the pieces of its answer do not match"));
            }
            self.segment.slot(own.index).take_piece(&given, &mut answer);
            if answer.len() == total_bytes {
                return decode(code, answer);
            }
            if given.piece_bytes == 0 {
                return Err(CallError::Malformed("a call: its answer is incomplete"));
            }
            head = Head { kind: Kind::Fetch, code: 0, piece_bytes: 0, ..head };
            given = self.hand_over_and_wait(own, &head, &[], deadline)?;
        }
    }

    /// Hands the slot to the server and waits for its return; returns the slot's head.
    fn hand_over_and_wait(
        &self,
        own: &mut OwnSlot,
        head: &Head,
        piece: &[u8],
        deadline: Instant,
    ) -> Result<Head, CallError> {
        let slot = self.segment.slot(own.index);
        let posted = own.turn.wrapping_add(1);
        own.turn = posted.wrapping_add(1);
        slot.hand_over(posted, head, piece);
        let rings = self.segment.post(own.index);
        if rings {
            // A full bell rings already.
            let _ = rustix::io::write(&self.bell, &RING);
        }
        self.wait(slot, own.turn, rings, deadline)?;
        let given = slot.head().filter(|given| given.sequence == head.sequence);
        given.ok_or(CallError::Malformed("a call: the server's words are invalid"))
    }

    /// Waits for `turn`: spins at first, since the server is mostly awake.
    fn wait(
        &self,
        slot: Slot<'_>,
        turn: u32,
        has_rung: bool,
        deadline: Instant,
    ) -> Result<(), CallError> {
        // The kernel tends to wake a thread on its waker's processor, so the waker must not spin
        // there.
        let spin_ns = if has_rung { 0 } else { SPIN_NS };
        let patience = Patience { spin_ns, ..Patience::default() };
        let mut waiter = Waiter::new(patience);
        let sleep = futex_time(patience.sleep_ns_max);
        loop {
            let seen = slot.turn();
            if seen == turn {
                return Ok(());
            }
            if self.is_lost.load(Relaxed) {
                return Err(self.unreachable());
            }
            match waiter.idle() {
                Step::Spin | Step::Yield => {}
                Step::Sleep => {
                    slot.set_waiting(true);
                    // Returns at once if the turn has changed; a lost server is noticed after the
                    // time-out.
                    let _ =
                        futex::wait(slot.turn_word(), futex::Flags::empty(), seen, Some(&sleep));
                    slot.set_waiting(false);
                    if now() >= deadline {
                        return Err(self.unreachable());
                    }
                }
            }
        }
    }
}

impl Caller for SegmentCaller {
    fn call(&self, service: ServiceId, request: &[u8]) -> Answer {
        if request.len() > MESSAGE_BYTES_MAX {
            let sentence = format!(
                "the request has {} bytes, at most {MESSAGE_BYTES_MAX} can be sent",
                request.len()
            );
            return Err(CallError::Refused(sentence));
        }
        let deadline = now() + self.timeout;
        let mut own = self.take_slot(deadline)?;
        let answer = self.exchange(&mut own, service, request, deadline);
        let came_back = self.segment.slot(own.index).turn() == own.turn;
        let mut slots = self.slots();
        let to = if came_back { &mut slots.free } else { &mut slots.abandoned };
        to.push(own);
        answer
    }

    fn lose(&self) {
        self.is_lost.store(true, Relaxed);
        for index in 0..SLOT_COUNT {
            // Most slots have no waiting thread.
            let _ = futex::wake(
                self.segment.slot(index).turn_word(),
                futex::Flags::empty(),
                u32::MAX >> 1,
            );
        }
    }
}

fn futex_time(duration_ns: u64) -> futex::Timespec {
    futex::Timespec {
        tv_sec: (duration_ns / 1_000_000_000) as i64,
        tv_nsec: (duration_ns % 1_000_000_000) as i64,
    }
}

fn now() -> Instant {
    #[allow(clippy::disallowed_methods, reason = "waiting for a peer is not part of a run")]
    Instant::now()
}
