//! The clock of the worlds in which time passes by itself.

use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;
use std::time::Instant;

/// When the process first asked.
static START: OnceLock<Instant> = OnceLock::new();

/// Nanoseconds since the process first asked: one clock for all its worlds, so that what its threads note can be put
/// in order.
#[inline]
pub(crate) fn now_ns() -> u64 {
    START.get_or_init(start).elapsed().as_nanos() as u64
}

#[cold]
#[allow(clippy::disallowed_methods, reason = "this is where Env's clock comes from")]
fn start() -> Instant {
    Instant::now()
}

/// What the host's monotonic clock shows more than the process': with it, what processes of one host have noted can
/// be put in order.
pub fn ahead_of_process_ns() -> i64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec - now_ns() as i64
}
