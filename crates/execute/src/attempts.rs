//! Attempts at one call: which failures deserve another, and how long to wait before it.

use fabric::Env;
use txn::Abort;

/// Attempts beyond the first before a call is given up.
pub const RETRIES_MAX: u32 = 200;
/// No further attempt is made so long after the last that followed at once has failed.
pub const RETRIES_NS_MAX: u64 = 1_000_000_000;
/// So many retries follow at once: under first-committer-wins the winner has usually just finished.
const RETRIES_AT_ONCE: u32 = 3;
/// The first wait, doubled with every further retry.
const WAIT_NS: u64 = 1_000;
/// The longest wait.
const WAIT_NS_MAX: u64 = 1_000_000;

/// The attempts at one call.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    pub retries: u32,
    /// When the last retry that followed at once had failed.
    failed_ns: u64,
}

impl Attempts {
    /// Whether to try once more, after waiting here as long as one should.
    pub async fn again<E: Env>(&mut self, env: &E, reason: Abort) -> bool {
        // The next attempt finds the row that was inserted meanwhile, and tells of it as PostgreSQL does.
        let is_worth_it = reason.is_retryable() || reason == Abort::UniqueViolation;
        if !is_worth_it || self.are_used_up(env) {
            return false;
        }
        self.retries += 1;
        self.wait(env).await;
        true
    }

    fn are_used_up<E: Env>(&mut self, env: &E) -> bool {
        if self.retries < RETRIES_AT_ONCE {
            return false;
        }
        let now_ns = env.now_ns();
        if self.retries == RETRIES_AT_ONCE {
            self.failed_ns = now_ns;
        }
        self.retries == RETRIES_MAX || now_ns.saturating_sub(self.failed_ns) >= RETRIES_NS_MAX
    }

    async fn wait<E: Env>(&self, env: &E) {
        if self.retries <= RETRIES_AT_ONCE {
            return env.yield_now().await;
        }
        let doublings = (self.retries - RETRIES_AT_ONCE).min(u64::BITS / 2);
        let wait_ns = (WAIT_NS << doublings).min(WAIT_NS_MAX);
        // A random half keeps two losers from meeting again and again.
        env.sleep_ns(wait_ns / 2 + env.random() % (wait_ns / 2)).await;
    }
}
