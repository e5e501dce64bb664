//! Lanes for handlers of calls, all on the thread that serves them, which has the database.
//!
//! Lanes that nobody ships anything to are given up soon, since others wait for lanes: who drops a table, and who collects
//! garbage.

use crate::seats::{self, Ownership};
use fabric::{CallError, Env};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use txn::{Database, Lane};

/// Seats with the database.
const DATABASE: u64 = u64::MAX - 1;
/// Seats with lanes.
const LANES: u64 = u64::MAX - 2;
/// Nanoseconds that a call waits for a lane: shorter than its caller waits for the answer.
const LANE_WAIT_NS_MAX: u64 = 2_000_000_000;

/// The lanes of a compute server for what is shipped to it.
#[derive(Debug)]
pub struct Lanes {
    max: u32,
    /// Those that there are, at work or free.
    count: AtomicU32,
    /// Calls so far, and when it was last looked whether there are new ones.
    calls: AtomicU64,
    seen: AtomicU64,
    is_ending: AtomicBool,
}

impl Lanes {
    /// At most so many, and none yet.
    pub fn new(max: u32) -> Arc<Self> {
        Arc::new(Self {
            max,
            count: AtomicU32::new(0),
            calls: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            is_ending: AtomicBool::new(false),
        })
    }

    /// Has handlers of this thread work with this database, until what is returned ends.
    pub fn offer<E: Env>(database: Database<E>) -> Ownership {
        seats::give(DATABASE, database);
        Ownership::of([LANES, DATABASE])
    }

    /// Takes no further call.
    pub fn end(&self) {
        self.is_ending.store(true, Relaxed);
    }

    /// Gives up the lanes of this thread that are free, if there was no call since this was asked last; how many are left.
    pub fn rest<E: Env>(&self) -> u32 {
        let calls = self.calls.load(Relaxed);
        if self.seen.swap(calls, Relaxed) == calls {
            while let Some(lane) = seats::take::<Lane<E>>(LANES) {
                self.lose(lane);
            }
        }
        self.count()
    }

    /// Those that there are, at work or free.
    pub fn count(&self) -> u32 {
        self.count.load(Relaxed)
    }

    /// Notes that a call has come.
    ///
    /// # Errors
    /// No call is taken any more.
    pub fn enter(&self) -> Result<(), CallError> {
        self.ensure_open()?;
        self.calls.fetch_add(1, Relaxed);
        Ok(())
    }

    /// A free lane, or a new one; to be given back, or lost.
    ///
    /// # Errors
    /// None became free in time, or none can be opened.
    pub async fn take<E: Env>(
        &self,
        env: &E,
        database: &Database<E>,
    ) -> Result<Lane<E>, CallError> {
        let deadline_ns = env.now_ns().saturating_add(LANE_WAIT_NS_MAX);
        while env.now_ns() < deadline_ns {
            self.ensure_open()?;
            if let Some(lane) = seats::take(LANES) {
                return Ok(lane);
            }
            if self.count() < self.max {
                self.count.fetch_add(1, Relaxed);
                return database.lane().await.map_err(|error| {
                    self.count.fetch_sub(1, Relaxed);
                    CallError::Refused(error.to_string())
                });
            }
            env.yield_now().await;
        }
        let (lanes, wait_s) = (self.max, LANE_WAIT_NS_MAX / 1_000_000_000);
        Err(CallError::Refused(format!(
            "none of the compute server's {lanes} lanes became free within {wait_s} s; give it more (`lanes`), or ship less \
             at a time"
        )))
    }

    /// Takes a lane back, for another call.
    pub fn give_back<E: Env>(&self, lane: Lane<E>) {
        seats::give(LANES, lane);
    }

    /// Gives up a lane that may take no further transaction: the next call asks for one that does.
    pub fn lose<E: Env>(&self, lane: Lane<E>) {
        drop(lane);
        self.count.fetch_sub(1, Relaxed);
    }

    fn ensure_open(&self) -> Result<(), CallError> {
        match self.is_ending.load(Relaxed) {
            true => Err(ending()),
            false => Ok(()),
        }
    }
}

/// This thread's database.
///
/// # Errors
/// It is offered no more.
pub fn database<E: Env>() -> Result<Database<E>, CallError> {
    let database: Database<E> = seats::take(DATABASE).ok_or_else(ending)?;
    seats::give(DATABASE, database.clone());
    Ok(database)
}

fn ending() -> CallError {
    CallError::Refused("the compute server ends".to_owned())
}
