//! Waits for a lock that was requested.

use super::SessionRows;
use super::held::Queued;
use super::queue::Grant;
use crate::error::SqlError;
use crate::waiting::Waiter;
use std::time::Duration;

/// How long a session waits for a lock, if it has no `lock_timeout`.
const WAIT_MAX: Duration = Duration::from_secs(600);
/// Interval at which a waiting session looks whether its statement should end.
const LOOK: Duration = Duration::from_millis(20);
/// How long a session waits before it looks for a deadlock: most waits are shorter, and a look
/// takes time for all sessions that wait.
const DEADLOCK_AFTER: Duration = Duration::from_millis(10);
/// Interval at which it looks again.
const DEADLOCK_AGAIN: Duration = Duration::from_secs(1);

/// How a part of a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waited {
    Granted(Grant),
    /// The time is over.
    NotYet,
}

impl SessionRows {
    /// Waits for the request of the last statement, at most for `most`.
    ///
    /// # Errors
    /// The statement should end, `lock_timeout` is over (`55P03`), or the sessions that it waits
    /// for wait for it (`40P01`). The request is gone then.
    pub fn wait(
        &self,
        waiter: &dyn Waiter,
        begun_ns: u64,
        most: Duration,
    ) -> Result<Waited, SqlError> {
        let Some(queued) = self.held().queued.clone() else {
            return Ok(Waited::Granted(Grant { is_changed: false }));
        };
        let ended = self.wait_for(&queued, waiter, begun_ns, most);
        match &ended {
            Ok(Waited::NotYet) => {}
            Ok(Waited::Granted(_)) => {
                self.held().queued = None;
                self.locks().waits.end(self.owner());
                self.add(&queued);
            }
            Err(_) => self.cancel(),
        }
        ended
    }

    fn wait_for(
        &self,
        queued: &Queued,
        waiter: &dyn Waiter,
        begun_ns: u64,
        most: Duration,
    ) -> Result<Waited, SqlError> {
        let until_ns = waiter.now_ns().saturating_add(most.as_nanos() as u64);
        let limit = waiter.lock_timeout().unwrap_or(WAIT_MAX).min(WAIT_MAX);
        let first_look_ns = begun_ns.saturating_add(DEADLOCK_AFTER.as_nanos() as u64);
        let mut look_ns = first_look_ns.max(waiter.now_ns());
        let mut has_looked = false;
        let mut granted = queued.signal.granted();
        loop {
            if let Some(grant) = *granted {
                return Ok(Waited::Granted(grant));
            }
            waiter.check()?;
            let now_ns = waiter.now_ns();
            let waited = Duration::from_nanos(now_ns.saturating_sub(begun_ns));
            if waited >= limit {
                return Err(timed_out(limit));
            }
            // Each part of a wait looks, and its end leaves that to the next part.
            if now_ns >= look_ns && (now_ns < until_ns || !has_looked) {
                has_looked = true;
                look_ns = now_ns.saturating_add(DEADLOCK_AGAIN.as_nanos() as u64);
                // Queues are read without this lock.
                drop(granted);
                if self.locks().gives_up(self.owner(), queued.row) {
                    return Err(deadlock());
                }
                granted = queued.signal.granted();
                continue;
            }
            if now_ns >= until_ns {
                return Ok(Waited::NotYet);
            }
            let to_look = Duration::from_nanos(look_ns.saturating_sub(now_ns));
            let rest = Duration::from_nanos(until_ns - now_ns).min(limit - waited).min(to_look);
            let woken = queued.signal.changed().wait_timeout(granted, LOOK.min(rest));
            granted = woken.expect("no holder panics").0;
        }
    }
}

fn timed_out(limit: Duration) -> SqlError {
    match limit < WAIT_MAX {
        true => SqlError::new("55P03", "canceling statement due to lock timeout"),
        false => {
            let detail = format!("Other sessions have held it for {} seconds.", limit.as_secs());
            SqlError::new("55P03", "could not obtain lock on row").detail(detail)
        }
    }
}

fn deadlock() -> SqlError {
    let detail = "This session waits for a row that another one has locked, and that one waits for \
                  rows that this one has locked, directly or through others.";
    let hint = "Repeat the transaction. Transactions that lock rows in the same order do not block \
                each other.";
    SqlError::new("40P01", "deadlock detected").detail(detail).hint(hint)
}
