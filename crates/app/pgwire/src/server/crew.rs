//! The threads that serve connections: as many as have work, reused when they have none.

use crate::clock;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a thread without work lives.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// A pool of threads.
pub struct Crew<J: Send + 'static> {
    state: Mutex<State<J>>,
    changed: Condvar,
    /// Number of jobs, as of the last change.
    waiting: AtomicUsize,
    count_max: usize,
    work: Box<dyn Fn(J) + Send + Sync>,
}

struct State<J> {
    jobs: VecDeque<J>,
    idle: usize,
    count: usize,
}

impl<J: Send + 'static> Crew<J> {
    /// A pool of at most `count_max` threads that do `work`.
    pub fn with_work(count_max: usize, work: impl Fn(J) + Send + Sync + 'static) -> Self {
        assert!(count_max > 0, "somebody must do the work");
        let state = State { jobs: VecDeque::new(), idle: 0, count: 0 };
        let (changed, work) = (Condvar::new(), Box::new(work));
        let waiting = AtomicUsize::new(0);
        Self { state: Mutex::new(state), changed, waiting, count_max, work }
    }

    /// Gives a job to an idle thread, or to a new one.
    pub fn give(self: &Arc<Self>, job: J) {
        let mut state = self.lock();
        state.jobs.push_back(job);
        self.waiting.store(state.jobs.len(), Relaxed);
        if state.idle >= state.jobs.len() {
            drop(state);
            self.changed.notify_one();
            return;
        }
        if state.count >= self.count_max {
            return;
        }
        state.count += 1;
        drop(state);
        let crew = self.clone();
        if let Err(error) = clock::spawn("pgwire-worker", move || crew.run()) {
            // The job waits for one of the other threads.
            self.lock().count -= 1;
            tracing::error!("no thread can be started for a connection: {error}");
        }
    }

    /// Whether jobs wait for a thread.
    pub fn is_pressed(&self) -> bool {
        // Each message of each client looks here, and mostly no job waits: no lock then.
        if self.waiting.load(Relaxed) == 0 {
            return false;
        }
        let state = self.lock();
        state.jobs.len() > state.idle && state.count >= self.count_max
    }

    /// Number of threads.
    pub fn count(&self) -> usize {
        self.lock().count
    }

    fn run(&self) {
        while let Some(job) = self.next() {
            // A panic is a fault of ours. It ends one connection, whose job owns it.
            let work = std::panic::AssertUnwindSafe(|| (self.work)(job));
            if std::panic::catch_unwind(work).is_err() {
                tracing::error!("a connection has ended with a panic of the server");
            }
        }
    }

    fn next(&self) -> Option<J> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                self.waiting.store(state.jobs.len(), Relaxed);
                return Some(job);
            }
            state.idle += 1;
            let waited = self.changed.wait_timeout(state, IDLE_MAX);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = guard;
            state.idle -= 1;
            if timeout.timed_out() && state.jobs.is_empty() {
                state.count -= 1;
                return None;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        // Jobs run outside of the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
