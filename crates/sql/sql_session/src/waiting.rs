//! Waits for what other sessions hold, until it is free, or the waiting statement should end.

use crate::error::SqlError;
use std::sync::{Condvar, MutexGuard};
use std::time::Duration;

/// How long a session waits for a table or for the catalog.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(10);
/// How long those who come to share something let one go first who waits for all of it.
const COURTESY: Duration = Duration::from_secs(1);
/// Interval at which a waiting session looks whether its statement should end.
const LOOK: Duration = Duration::from_millis(20);

/// A session that waits.
pub(crate) trait Waiter {
    /// Fails if the statement should end.
    fn check(&self) -> Result<(), SqlError>;

    fn now_ns(&self) -> u64;

    /// `lock_timeout`, if it is set.
    fn lock_timeout(&self) -> Option<Duration>;
}

/// The time for which a session lets others go first.
#[derive(Clone, Copy)]
pub(crate) struct Courtesy {
    until_ns: u64,
}

impl Courtesy {
    pub fn new(waiter: &dyn Waiter) -> Self {
        Self { until_ns: waiter.now_ns().saturating_add(COURTESY.as_nanos() as u64) }
    }

    pub fn is_over(self, waiter: &dyn Waiter) -> bool {
        waiter.now_ns() >= self.until_ns
    }
}

/// Waits until a condition holds, at most for a time; `busy` is the error if it never does.
pub(crate) fn wait_until<'g, T>(
    (waiter, most): (&dyn Waiter, Duration),
    changed: &Condvar,
    mut guard: MutexGuard<'g, T>,
    mut is_free: impl FnMut(&mut T) -> bool,
    busy: impl FnOnce() -> SqlError,
) -> Result<MutexGuard<'g, T>, SqlError> {
    let mut begun_ns = None;
    loop {
        if is_free(&mut guard) {
            return Ok(guard);
        }
        waiter.check()?;
        let now_ns = waiter.now_ns();
        let waited = Duration::from_nanos(now_ns - *begun_ns.get_or_insert(now_ns));
        let limit = waiter.lock_timeout().unwrap_or(most).min(most);
        if waited >= limit {
            return Err(match limit < most {
                true => SqlError::new("55P03", "canceling statement due to lock timeout"),
                false => busy(),
            });
        }
        let woken = changed.wait_timeout(guard, LOOK.min(limit - waited));
        guard = woken.expect("no holder panics").0;
    }
}
