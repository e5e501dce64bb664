//! Retry policy: which aborts are retried, and how long to back off before each retry.
//!
//! Decision: docs/decisions/0187-hidden-keys-begin-at-a-drawn-place-and-count-from-there.md

use fabric::Env;
use txn::Abort;
use txn::retry::{RETRIES_AT_ONCE, back_off};

/// Default maximum number of retries of a call.
pub const RETRIES_MAX: u32 = 200;
/// Default of [`Retries::patience_ns`].
pub const RETRIES_NS_MAX: u64 = 1_000_000_000;

/// Bounds of the retries of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retries {
    /// Maximum number of retries.
    pub count_max: u32,
    /// No retry starts later than this many nanoseconds after the call began. A running attempt is
    /// not interrupted.
    pub within_ns: Option<u64>,
    /// No retry starts later than this many nanoseconds after the last immediate one has failed.
    pub patience_ns: u64,
}

impl Default for Retries {
    /// At most [`RETRIES_MAX`] retries, within [`RETRIES_NS_MAX`] of the last immediate one.
    fn default() -> Self {
        Self { count_max: RETRIES_MAX, within_ns: None, patience_ns: RETRIES_NS_MAX }
    }
}

/// The state of a call's retries.
#[derive(Debug, Default)]
pub struct Attempts {
    pub retries: u32,
    bounds: Retries,
    /// When the call began; 0 without a time bound.
    begun_ns: u64,
    /// When the last immediate retry failed.
    failed_ns: u64,
}

impl Attempts {
    pub fn new<E: Env>(env: &E, bounds: Retries) -> Self {
        // Read the clock only if there is a time bound.
        let begun_ns = bounds.within_ns.map_or(0, |_| env.now_ns());
        Self { bounds, begun_ns, ..Self::default() }
    }

    /// Decides whether to retry; backs off first if so.
    pub async fn again<E: Env>(&mut self, env: &E, reason: Abort) -> bool {
        // After a unique violation the next attempt sees the row inserted meanwhile, and fails with
        // PostgreSQL's error.
        let is_worth_it = reason.is_retryable() || reason == Abort::UniqueViolation;
        if !is_worth_it || self.are_used_up(env) {
            return false;
        }
        self.retries += 1;
        back_off(env, self.retries).await;
        true
    }

    fn are_used_up<E: Env>(&mut self, env: &E) -> bool {
        if self.retries >= self.bounds.count_max {
            return true;
        }
        let is_late = |within_ns| env.now_ns().saturating_sub(self.begun_ns) >= within_ns;
        if self.bounds.within_ns.is_some_and(is_late) {
            return true;
        }
        if self.retries < RETRIES_AT_ONCE {
            return false;
        }
        let now_ns = env.now_ns();
        if self.retries == RETRIES_AT_ONCE {
            self.failed_ns = now_ns;
        }
        now_ns.saturating_sub(self.failed_ns) >= self.bounds.patience_ns
    }
}
