//! Attempts at one call: which failures deserve another, and how long to wait before it.

use fabric::Env;
use txn::Abort;
use txn::retry::{RETRIES_AT_ONCE, back_off};

/// Attempts beyond the first before a call is given up.
pub const RETRIES_MAX: u32 = 200;
/// No further attempt is made so long after the last that followed at once has failed.
pub const RETRIES_NS_MAX: u64 = 1_000_000_000;

/// How often, and for how long, a call is tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retries {
    /// Attempts beyond the first before it is given up.
    pub count_max: u32,
    /// No further attempt is made so many nanoseconds after the call began. One that is under way is not cut short.
    pub within_ns: Option<u64>,
}

impl Default for Retries {
    /// [`RETRIES_MAX`] of them, and [`RETRIES_NS_MAX`] after those that follow at once.
    fn default() -> Self {
        Self { count_max: RETRIES_MAX, within_ns: None }
    }
}

/// The attempts at one call.
#[derive(Debug, Default)]
pub struct Attempts {
    /// Those beyond the first.
    pub retries: u32,
    bounds: Retries,
    /// When the call began, if that matters.
    begun_ns: u64,
    /// When the last retry that followed at once had failed.
    failed_ns: u64,
}

impl Attempts {
    /// None yet.
    pub fn new<E: Env>(env: &E, bounds: Retries) -> Self {
        // The clock is asked only where somebody set a time.
        let begun_ns = bounds.within_ns.map_or(0, |_| env.now_ns());
        Self { bounds, begun_ns, ..Self::default() }
    }

    /// Whether to try once more, after waiting here as long as one should.
    pub async fn again<E: Env>(&mut self, env: &E, reason: Abort) -> bool {
        // The next attempt finds the row that was inserted meanwhile, and tells of it as PostgreSQL does.
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
        now_ns.saturating_sub(self.failed_ns) >= RETRIES_NS_MAX
    }
}
