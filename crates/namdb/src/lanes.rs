//! Lanes for sessions: few, lent from transaction to transaction.
//!
//! A lane is what runs a transaction, and every lane makes each snapshot a word longer. Sessions are many
//! and mostly idle, so they borrow: ten thousand sessions do not make ten thousand lanes.

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
    /// Lent in the order last returned, first lent: that one's memory is still in the caches.
    idle: Vec<Lane<LocalEnv>>,
    lane_count: u32,
}

impl LanePool {
    pub(crate) fn new(lane_count_max: u32) -> Self {
        assert!(lane_count_max > 0, "somebody has to run the transactions");
        let state = State {
            idle: Vec::new(),
            lane_count: 0,
        };
        Self {
            state: Mutex::new(state),
            returned: Condvar::new(),
            lane_count_max,
        }
    }

    /// A lane for one transaction, opened now if fewer than the most are; `database` gives a handle of
    /// its own to a new one.
    pub(crate) fn borrow(
        &self,
        database: impl FnOnce() -> Database<LocalEnv>,
    ) -> Result<Lane<LocalEnv>, TransactionError> {
        let mut state = self.lock();
        loop {
            if let Some(lane) = state.idle.pop() {
                return Ok(lane);
            }
            if state.lane_count < self.lane_count_max {
                state.lane_count += 1;
                break;
            }
            let wait = Duration::from_millis(WAIT_MS_MAX);
            let (next, timeout) = self
                .returned
                .wait_timeout(state, wait)
                .expect("no holder of the pool panics");
            state = next;
            if timeout.timed_out() && state.idle.is_empty() {
                return Err(TransactionError::Busy {
                    waited_ms: WAIT_MS_MAX,
                });
            }
        }
        drop(state);
        run_now(database().lane()).map_err(|error| {
            self.forget();
            TransactionError::Lane(error)
        })
    }

    /// Takes a lane back.
    pub(crate) fn give_back(&self, lane: Lane<LocalEnv>) {
        self.lock().idle.push(lane);
        self.returned.notify_one();
    }

    /// A lane will not come back: it could not be opened, or its last transaction's outcome is unknown.
    pub(crate) fn forget(&self) {
        let mut state = self.lock();
        assert!(
            state.lane_count > 0,
            "only lanes that were lent are forgotten"
        );
        state.lane_count -= 1;
        drop(state);
        self.returned.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of the pool panics")
    }
}
