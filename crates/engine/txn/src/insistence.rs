//! Attempts at one transaction: how long to wait before another, and for how long those are made that somebody cannot do
//! without.
//!
//! Decision: docs/decisions/0003-commits-are-detached-tasks-wherever-verbs-do-not-complete-at.md

use crate::abort::Abort;
use fabric::Env;

/// So many retries follow at once: under first-committer-wins the winner has usually just finished.
pub const RETRIES_AT_ONCE: u32 = 3;
/// The first wait, doubled with every further retry.
const WAIT_NS: u64 = 1_000;
/// The longest wait.
const WAIT_NS_MAX: u64 = 1_000_000;
/// No further attempt is made at what cannot be done without, so long after its first has begun.
const INSIST_NS_MAX: u64 = 20_000_000_000;

/// Waits before the retry of this number, of which the first is 1.
pub async fn stand_back<E: Env>(env: &E, retry: u32) {
    if retry <= RETRIES_AT_ONCE {
        return env.yield_now().await;
    }
    let doublings = (retry - RETRIES_AT_ONCE).min(u64::BITS / 2);
    let wait_ns = (WAIT_NS << doublings).min(WAIT_NS_MAX);
    // A random half keeps two losers from meeting again and again.
    env.sleep_ns(wait_ns / 2 + env.random() % (wait_ns / 2)).await;
}

/// The attempts at a transaction that a load or a check cannot do without. Conflicts are waited for longer than those of a
/// transaction whose user may ask for it again: lanes that load a small table together meet in most of its buckets and leaves,
/// and on a crowded machine each has to wait for all others. Time bounds them and not number: where links are slow an attempt
/// takes longer than any wait.
#[derive(Debug)]
pub struct Insistence {
    deadline_ns: u64,
    failed: u32,
}

impl Insistence {
    /// Before the first attempt.
    pub fn begin<E: Env>(env: &E) -> Self {
        Self { deadline_ns: env.now_ns().saturating_add(INSIST_NS_MAX), failed: 0 }
    }

    /// Whether to make another attempt now that one has failed for this reason, after waiting here as long as one should.
    pub async fn again<E: Env>(&mut self, env: &E, reason: Abort) -> bool {
        self.failed = self.failed.saturating_add(1);
        if !reason.is_retryable() || env.now_ns() >= self.deadline_ns {
            return false;
        }
        stand_back(env, self.failed).await;
        true
    }

    /// Attempts that have failed.
    pub fn failed(&self) -> u32 {
        self.failed
    }
}
