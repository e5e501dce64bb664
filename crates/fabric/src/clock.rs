//! The clock of the worlds in which time passes by itself.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the host's monotonic clock: the same for all processes of a host, so that what they note can be
/// put in order, and of no meaning beyond it.
#[inline]
pub(crate) fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
