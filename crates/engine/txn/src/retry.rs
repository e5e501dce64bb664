//! Retry policy: exponential back-off, and a deadline of 20 s for loads and checks, which cannot go
//! on without their transaction.
//!
//! Decision: docs/decisions/0003-commits-are-detached-tasks-wherever-verbs-do-not-complete-at.md

use crate::abort::Abort;
use fabric::Env;

/// Number of immediate retries: under first-committer-wins the winner has usually just finished.
pub const RETRIES_AT_ONCE: u32 = 3;
/// The first wait, doubled with every further retry.
const WAIT_NS: u64 = 1_000;
/// The longest wait.
const WAIT_NS_MAX: u64 = 1_000_000;
/// Time from the start of the first attempt after which [`RetryUntilDeadline`] starts no other.
const DEADLINE_NS: u64 = 20_000_000_000;

/// Waits before retry number `retry`, counted from 1.
pub async fn back_off<E: Env>(env: &E, retry: u32) {
    if retry <= RETRIES_AT_ONCE {
        return env.yield_now().await;
    }
    let doublings = (retry - RETRIES_AT_ONCE).min(u64::BITS / 2);
    let wait_ns = (WAIT_NS << doublings).min(WAIT_NS_MAX);
    // Half of the wait is random, so that two losers do not meet again each time.
    env.sleep_ns(wait_ns / 2 + env.random() % (wait_ns / 2)).await;
}

/// The attempts at a transaction of a load or a check. They go on for longer than those of a user's
/// transaction: lanes that load a small table together meet in most of its buckets and leaves, and
/// on a crowded machine each waits for all others. The bound is a time and not a number of
/// attempts, since over a slow link one attempt takes longer than any wait.
#[derive(Debug)]
pub struct RetryUntilDeadline {
    deadline_ns: u64,
    failed: u32,
}

impl RetryUntilDeadline {
    /// Starts the deadline; call it before the first attempt.
    pub fn begin<E: Env>(env: &E) -> Self {
        Self { deadline_ns: env.now_ns().saturating_add(DEADLINE_NS), failed: 0 }
    }

    /// Counts an attempt that failed for `reason`. If another may follow, waits for the back-off
    /// and returns true.
    pub async fn again<E: Env>(&mut self, env: &E, reason: Abort) -> bool {
        self.failed = self.failed.saturating_add(1);
        if !reason.is_retryable() || env.now_ns() >= self.deadline_ns {
            return false;
        }
        back_off(env, self.failed).await;
        true
    }

    /// Number of failed attempts.
    pub fn failed(&self) -> u32 {
        self.failed
    }
}
