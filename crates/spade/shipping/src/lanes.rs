//! A compute server's lanes for shipped calls, all on the thread that serves the calls and has the
//! database.
//!
//! Idle lanes are closed soon, since other operations wait for all lanes: dropping a table, and
//! garbage collection.
//!
//! Decision: docs/decisions/0269-lanes-for-handlers-are-a-crate-of-their-own.md

use crate::seats::{self, Ownership};
use fabric::{CallError, Env};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use txn::{Database, Lane};

/// Seats that hold the database.
const DATABASE: u64 = u64::MAX - 1;
/// Seats that hold lanes.
const LANES: u64 = u64::MAX - 2;
/// How long a call waits for a lane, in nanoseconds: shorter than its caller waits for the
/// response.
const LANE_WAIT_NS_MAX: u64 = 2_000_000_000;

/// The lanes of a compute server for shipped calls.
#[derive(Debug)]
pub struct Lanes {
    max: u32,
    /// Number of open lanes, busy or idle.
    count: AtomicU32,
    /// Number of calls so far, and that number at the last call of [`Lanes::rest`].
    calls: AtomicU64,
    seen: AtomicU64,
    is_ending: AtomicBool,
}

impl Lanes {
    /// Creates a pool of at most `max` lanes, none of them open.
    pub fn new(max: u32) -> Arc<Self> {
        Arc::new(Self {
            max,
            count: AtomicU32::new(0),
            calls: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            is_ending: AtomicBool::new(false),
        })
    }

    /// Lets handlers on this thread use this database, until the returned guard is dropped.
    pub fn offer<E: Env>(database: Database<E>) -> Ownership {
        seats::give(DATABASE, database);
        Ownership::of([LANES, DATABASE])
    }

    /// Refuses further calls.
    pub fn end(&self) {
        self.is_ending.store(true, Relaxed);
    }

    /// Closes the idle lanes of this thread if there was no call since the last `rest`; returns the
    /// number of lanes left.
    pub fn rest<E: Env>(&self) -> u32 {
        let calls = self.calls.load(Relaxed);
        if self.seen.swap(calls, Relaxed) == calls {
            while let Some(lane) = seats::take::<Lane<E>>(LANES) {
                self.lose(lane);
            }
        }
        self.count()
    }

    /// Number of open lanes, busy or idle.
    pub fn count(&self) -> u32 {
        self.count.load(Relaxed)
    }

    /// Notes that a call has arrived.
    ///
    /// # Errors
    /// No further calls are accepted.
    pub fn enter(&self) -> Result<(), CallError> {
        self.ensure_open()?;
        self.calls.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Takes an idle lane, or opens one; the caller must give it back or lose it.
    ///
    /// # Errors
    /// No lane became idle in time, or no lane can be opened.
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
            "none of the compute server's {lanes} lanes became free within {wait_s} s; configure more `lanes`, or ship fewer \
             calls at a time"
        )))
    }

    /// Makes a lane available to another call.
    pub fn give_back<E: Env>(&self, lane: Lane<E>) {
        seats::give(LANES, lane);
    }

    /// Closes a lane that may be lost; the next call opens a new one.
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

/// Returns this thread's database.
///
/// # Errors
/// The database is no longer offered.
pub fn database<E: Env>() -> Result<Database<E>, CallError> {
    let database: Database<E> = seats::take(DATABASE).ok_or_else(ending)?;
    seats::give(DATABASE, database.clone());
    Ok(database)
}

fn ending() -> CallError {
    CallError::Refused("the compute server ends".to_owned())
}
