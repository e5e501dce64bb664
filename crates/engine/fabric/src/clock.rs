//! The clock of worlds that run in real time.

use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;
use std::time::Instant;

/// The first call of `now_ns` in this process.
static START: OnceLock<Instant> = OnceLock::new();

/// Nanoseconds since the first call in this process: one clock for all its worlds, so that the
/// events of its threads can be ordered.
#[inline]
pub(crate) fn now_ns() -> u64 {
    START.get_or_init(start).elapsed().as_nanos() as u64
}

#[cold]
#[allow(clippy::disallowed_methods, reason = "this is where Env's clock comes from")]
fn start() -> Instant {
    Instant::now()
}

/// Nanoseconds by which the host's monotonic clock is ahead of the process' clock. Adding it makes
/// times of several processes on one host comparable.
pub fn ahead_of_process_ns() -> i64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec - now_ns() as i64
}
