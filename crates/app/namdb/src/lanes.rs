//! A pool of lanes, lent to sessions for one transaction each.
//!
//! A lane runs one transaction at a time, and every lane makes each snapshot one word longer.
//! Sessions are numerous and mostly idle, so they borrow lanes: 10,000 sessions do not need 10,000
//! lanes.
//!
//! An SQL session parks its open transaction when lanes are scarce.
//!
//! Any lane will do: a snapshot covers everything that was committed through any handle of the
//! database before it was taken, so a session sees its own commits on every lane.
//!
//! Decisions:
//! - docs/decisions/0023-64-slots-by-default.md
//! - docs/decisions/0224-a-session-in-this-process-borrows-a-lane-per-call.md

use crate::error::TransactionError;
use crate::host::Moment;
use fabric::{LocalEnv, run_now};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;
use txn::{Database, Lane, LaneError};

/// How long a session waits for a lane before it reports that none is to be had.
pub(crate) const WAIT_MS_MAX: u64 = 10_000;
/// Between two attempts at a slot, where other processes have all.
const SLOT_LOOK_MS: u64 = 10;
/// Between two looks whether a waiting session gives up.
const GIVE_UP_LOOK_MS: u64 = 20;

/// The lanes of one database.
pub(crate) struct LanePool {
    state: Mutex<State>,
    returned: Condvar,
    lane_count_max: u32,
    /// Number of idle lanes, as of the last change.
    idle_count: AtomicU32,
    /// Number of lanes, as of the last change.
    lane_count: AtomicU32,
}

struct State {
    /// Last returned, first lent: that lane's memory is still in the processor's caches. With the
    /// thread that returned it.
    idle: Vec<(ThreadMark, Lane<LocalEnv>)>,
    lane_count: u32,
}

/// Distinguishes the threads that live at a time.
type ThreadMark = usize;

fn thread_mark() -> ThreadMark {
    thread_local! {
        static MARK: u8 = const { 0 };
    }
    MARK.with(|mark| std::ptr::from_ref(mark).addr())
}

impl State {
    /// Takes the lane that the calling thread has returned last, or else the last one of all:
    /// another thread's lane would come with cache misses, and so would its own one for that
    /// thread.
    fn pop(&mut self) -> Option<Lane<LocalEnv>> {
        let mark = thread_mark();
        let own = self.idle.iter().rposition(|(of, _)| *of == mark);
        let last = self.idle.len().checked_sub(1)?;
        Some(self.idle.remove(own.unwrap_or(last)).1)
    }
}

impl LanePool {
    pub(crate) fn new(lane_count_max: u32) -> Self {
        assert!(lane_count_max > 0, "somebody has to run the transactions");
        let state = State { idle: Vec::new(), lane_count: 0 };
        let (idle_count, lane_count) = (AtomicU32::new(0), AtomicU32::new(0));
        let (state, returned) = (Mutex::new(state), Condvar::new());
        Self { state, returned, lane_count_max, idle_count, lane_count }
    }

    /// The maximum of lanes, and so of transactions at a time.
    pub(crate) fn lane_count_max(&self) -> u32 {
        self.lane_count_max
    }

    /// Whether more than half of the lanes are in use, as far as the calling thread knows.
    #[cfg(feature = "sql")]
    pub(crate) fn are_scarce(&self) -> bool {
        let in_use = self.lane_count.load(Relaxed).saturating_sub(self.idle_count.load(Relaxed));
        2 * in_use > self.lane_count_max
    }

    fn pop(&self, state: &mut State) -> Option<Lane<LocalEnv>> {
        let lane = state.pop();
        self.idle_count.store(state.idle.len() as u32, Relaxed);
        lane
    }

    /// Borrows a lane for one transaction. Opens a new one, on its own handle from `database`, if
    /// no lane is idle and the maximum is not reached. Waits no longer than until `gives_up`.
    pub(crate) fn borrow(
        &self,
        database: impl Fn() -> Database<LocalEnv>,
        gives_up: Option<&dyn Fn() -> bool>,
    ) -> Result<Lane<LocalEnv>, TransactionError> {
        let mut state = self.lock();
        if let Some(lane) = self.pop(&mut state) {
            return Ok(lane);
        }
        let start = Moment::now();
        loop {
            let mut wait_ms = WAIT_MS_MAX.saturating_sub(start.elapsed_ms());
            if state.lane_count < self.lane_count_max {
                state.lane_count += 1;
                self.lane_count.store(state.lane_count, Relaxed);
                drop(state);
                let opened = run_now(database().lane());
                let Err(error) = opened else { return Ok(opened?) };
                state = self.lock();
                state.lane_count -= 1;
                self.lane_count.store(state.lane_count, Relaxed);
                if !matches!(error, LaneError::Exhausted(_)) || wait_ms == 0 {
                    return Err(error.into());
                }
                wait_ms = wait_ms.min(SLOT_LOOK_MS);
            } else if wait_ms == 0 {
                return Err(TransactionError::Busy { waited_ms: WAIT_MS_MAX });
            }
            if let Some(gives_up) = gives_up {
                if gives_up() {
                    return Err(TransactionError::Busy { waited_ms: start.elapsed_ms() });
                }
                wait_ms = wait_ms.min(GIVE_UP_LOOK_MS);
            }
            // Lanes that others take first do not make the wait longer.
            let none_idle = |state: &mut State| state.idle.is_empty();
            let wait = Duration::from_millis(wait_ms);
            let waited = self.returned.wait_timeout_while(state, wait, none_idle);
            state = waited.expect("no holder of the pool panics").0;
            if let Some(lane) = self.pop(&mut state) {
                return Ok(lane);
            }
        }
    }

    /// Returns a lane to the pool.
    pub(crate) fn give_back(&self, mut lane: Lane<LocalEnv>) {
        // Catalog changes and garbage collection wait for lanes that are not at rest. If announcing
        // the rest fails, they wait at most the maximal duration of a transaction.
        let _ = run_now(lane.rest());
        let mut state = self.lock();
        state.idle.push((thread_mark(), lane));
        self.idle_count.store(state.idle.len() as u32, Relaxed);
        drop(state);
        self.returned.notify_one();
    }

    /// Sends all idle lanes home, where their database finds them.
    pub(crate) fn close(&self) {
        let idle = std::mem::take(&mut self.lock().idle);
        drop(idle);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of the pool panics")
    }
}
