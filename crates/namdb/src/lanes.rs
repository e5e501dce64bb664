//! Lanes for sessions: few, lent from transaction to transaction.
//!
//! A lane is what runs a transaction, and every lane makes each snapshot a word longer. Sessions are many
//! and mostly idle, so they borrow: ten thousand sessions do not make ten thousand lanes.
//!
//! With frozen vectors a lane is only sure to see its own commits, and a session must see what it has
//! committed: there it waits for the lane it had before.

use crate::error::TransactionError;
use fabric::{LocalEnv, run_now};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;
use txn::{Database, Lane};

/// How long a session waits for a lane before it reports that none is to be had.
const WAIT_MS_MAX: u64 = 10_000;

/// The lanes of a database.
pub(crate) struct LanePool {
    state: Mutex<State>,
    returned: Condvar,
    lane_count_max: u32,
}

struct State {
    /// The last returned is the first to be lent: its memory is still in the caches.
    idle: Vec<BorrowedLane>,
    lane_count: u32,
}

/// A lane with its number in the pool.
pub(crate) struct BorrowedLane {
    number: u32,
    pub(crate) lane: Lane<LocalEnv>,
}

impl BorrowedLane {
    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

impl LanePool {
    pub(crate) fn new(lane_count_max: u32) -> Self {
        assert!(lane_count_max > 0, "somebody has to run the transactions");
        let state = State { idle: Vec::new(), lane_count: 0 };
        Self { state: Mutex::new(state), returned: Condvar::new(), lane_count_max }
    }

    /// A lane for one transaction: the one with number `wanted`, else any; opened now if none is idle and
    /// fewer than the most are there. `database` gives a handle of its own to a new one.
    pub(crate) fn borrow(
        &self,
        wanted: Option<u32>,
        database: impl FnOnce() -> Database<LocalEnv>,
    ) -> Result<BorrowedLane, TransactionError> {
        let mut state = self.lock();
        let number = loop {
            let fits = |lane: &BorrowedLane| wanted.is_none_or(|wanted| wanted == lane.number);
            if let Some(index) = state.idle.iter().rposition(fits) {
                return Ok(state.idle.remove(index));
            }
            if wanted.is_none() && state.lane_count < self.lane_count_max {
                state.lane_count += 1;
                break state.lane_count;
            }
            let wait = Duration::from_millis(WAIT_MS_MAX);
            let (next, timeout) =
                self.returned.wait_timeout(state, wait).expect("no holder of the pool panics");
            state = next;
            if timeout.timed_out() && !state.idle.iter().any(fits) {
                return Err(TransactionError::Busy { waited_ms: WAIT_MS_MAX });
            }
        };
        drop(state);
        // One that cannot be opened stays counted: it would not open the next time either.
        let lane = run_now(database().lane())?;
        Ok(BorrowedLane { number, lane })
    }

    /// Takes a lane back.
    pub(crate) fn give_back(&self, mut lane: BorrowedLane) {
        // Changes of the catalog and the collection of old versions wait for lanes that are not at rest. One
        // that cannot say so is not waited for longer than a transaction may take.
        let _ = run_now(lane.lane.rest());
        self.lock().idle.push(lane);
        self.returned.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of the pool panics")
    }
}
