//! The retry policy of transactions: which aborts are retried, and how long to back off before a
//! retry.

use crate::driver::{AbortCounts, Finished, TransactionResult, Whereabouts};
use crate::error::WorkloadError;
use fabric::{Env, Mutant};
use txn::retry::{RETRIES_AT_ONCE, back_off};
use txn::{Abort, Lane, Outcome, RetryUntilDeadline, TxnError};

/// The largest number of retries of a transaction.
pub const RETRIES_MAX: u32 = 200;
// Aborts are counted in bytes.
const _: () = assert!(RETRIES_MAX < u8::MAX as u32);
/// After this time, measured from the failure of the last immediate retry, a transaction is given
/// up. Most retries fail quickly; but a transaction that meets a half-written node or row waits for
/// it before each [`Abort::Contended`], for some tenths of a second on slow links, and
/// `RETRIES_MAX` such retries would take minutes.
pub const RETRIES_NS_MAX: u64 = 1_000_000_000;

/// The attempts at one transaction, all with the same input.
#[derive(Debug, Default)]
pub struct Attempts {
    retries: u32,
    /// The time at which the last immediate retry had failed.
    failed_ns: u64,
    aborts: AbortCounts,
}

impl Attempts {
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Retries `attempt` until the transaction ends, and returns its result. TPC-C, YCSB and
    /// SmallBank, whose instruction counts are recorded, use loops of their own: an async closure
    /// costs 44 more instructions for a transaction of one read (`cargo xtask counts`).
    #[inline]
    pub async fn repeat<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
        mut attempt: impl AsyncFnMut(&mut Lane<E>) -> Result<TransactionResult, WorkloadError>,
    ) -> Result<TransactionResult, WorkloadError> {
        loop {
            let ended = attempt(lane).await;
            if let Some(result) = self.judge(lane.env(), ended).await? {
                return Ok(result);
            }
        }
    }

    /// Evaluates an attempt: `Some` ends the transaction with this result; `None` requests a retry,
    /// after the back-off.
    #[inline]
    pub async fn judge<E: Env>(
        &mut self,
        env: &E,
        attempt: Result<TransactionResult, WorkloadError>,
    ) -> Result<Option<TransactionResult>, WorkloadError> {
        let Some(reason) = aborted(&attempt) else { return attempt.map(Some) };
        self.aborts.add(reason);
        if !reason.is_retryable() || self.are_used_up(env) {
            return Ok(Some(TransactionResult::Aborted(reason)));
        }
        self.retries += 1;
        back_off(env, self.retries).await;
        Ok(None)
    }

    /// Whether the retries are exhausted, by number or by time. Most transactions end before this
    /// needs the clock.
    fn are_used_up<E: Env>(&mut self, env: &E) -> bool {
        if self.retries < RETRIES_AT_ONCE {
            return false;
        }
        let now_ns = env.now_ns();
        if self.retries == RETRIES_AT_ONCE {
            self.failed_ns = now_ns;
        }
        let is_late = now_ns.saturating_sub(self.failed_ns) >= RETRIES_NS_MAX;
        self.retries == RETRIES_MAX || is_late && !env.mutant(Mutant::RetryByNumberOnly)
    }

    #[inline]
    pub fn finish(self, kind: usize, result: TransactionResult, skipped: u32) -> Finished {
        let whereabouts = Whereabouts::default();
        Finished {
            kind,
            result,
            retries: self.retries,
            skipped,
            aborts: self.aborts,
            whereabouts,
            is_shipped: false,
        }
    }
}

/// Runs a transaction of type `kind` to its end.
#[inline]
pub async fn run<E: Env>(
    lane: &mut Lane<E>,
    kind: usize,
    attempt: impl AsyncFnMut(&mut Lane<E>) -> Result<TransactionResult, WorkloadError>,
) -> Result<Finished, WorkloadError> {
    let mut attempts = Attempts::new();
    let result = attempts.repeat(lane, attempt).await?;
    Ok(attempts.finish(kind, result, 0))
}

/// Runs a transaction that a load or a check needs: an abort that is not retryable is an error.
/// [`RetryUntilDeadline`] has the deadline of the retries.
pub async fn insist<E: Env>(
    lane: &mut Lane<E>,
    mut attempt: impl AsyncFnMut(&mut Lane<E>) -> Result<TransactionResult, WorkloadError>,
) -> Result<TransactionResult, WorkloadError> {
    let mut attempts = RetryUntilDeadline::begin(lane.env());
    loop {
        let ended = attempt(lane).await;
        let Some(reason) = aborted(&ended) else { return ended };
        if !attempts.again(lane.env(), reason).await {
            return Err(reason.into());
        }
    }
}

/// The reason why an attempt was aborted, if it was.
///
/// A duplicate key counts as a conflict: the workloads derive keys from counters they have read, so
/// the key can only exist because another transaction has advanced the counter since.
#[inline]
fn aborted(ended: &Result<TransactionResult, WorkloadError>) -> Option<Abort> {
    match ended {
        Ok(TransactionResult::Aborted(reason)) | Err(WorkloadError::Aborted(reason)) => {
            Some(*reason)
        }
        Err(WorkloadError::Statement(TxnError::DuplicateKey { .. })) => Some(Abort::InsertConflict),
        _ => None,
    }
}

/// The result of a transaction with this commit outcome.
#[inline]
pub fn result_of(outcome: Outcome) -> TransactionResult {
    match outcome {
        Outcome::Committed => TransactionResult::Committed,
        Outcome::Aborted(reason) => TransactionResult::Aborted(reason),
        Outcome::Unknown => TransactionResult::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated;
    use fabric::DynEnv;
    use sim::{SimConfig, World};

    /// Runs a transaction whose every attempt fails after `attempt_ns`; returns the virtual time of
    /// all attempts.
    fn failing(attempt_ns: u64) -> (Finished, u64) {
        let world = World::new(SimConfig::new(1).with_servers(&[1 << 20]));
        let (admin, database) = simulated::open(&world);
        world.block_on(&admin, async {
            let mut lane = database.lane().await.expect("lanes are free");
            let start_ns = admin.now_ns();
            let contended = async |lane: &mut Lane<_>| {
                let env: &DynEnv = lane.env();
                env.sleep_ns(attempt_ns).await;
                Err(Abort::Contended.into())
            };
            let finished = run(&mut lane, 0, contended).await.expect("an abort is no error");
            (finished, admin.now_ns() - start_ns)
        })
    }

    #[test]
    fn attempts_that_fail_at_once_are_repeated_by_number() {
        let (finished, passed_ns) = failing(0);
        assert_eq!(finished.result, TransactionResult::Aborted(Abort::Contended));
        assert_eq!(finished.retries, RETRIES_MAX);
        assert!(passed_ns < RETRIES_NS_MAX, "{passed_ns}");
    }

    /// A half-written node that no process repairs costs each attempt this long.
    #[test]
    fn attempts_that_wait_for_long_are_repeated_for_a_second() {
        let attempt_ns = 600_000_000;
        let (finished, passed_ns) = failing(attempt_ns);
        assert_eq!(finished.result, TransactionResult::Aborted(Abort::Contended));
        assert_eq!(finished.retries, RETRIES_AT_ONCE + 2);
        assert!(passed_ns < RETRIES_NS_MAX + 5 * attempt_ns, "{passed_ns}");
    }

    /// Lanes that load a table together may block each other for longer than a transaction retries.
    #[test]
    fn loads_retry_for_longer_than_transactions() {
        let world = World::new(SimConfig::new(1).with_servers(&[1 << 20]));
        let (admin, database) = simulated::open(&world);
        let insisted = |free_ns: u64| {
            world.block_on(&admin, async {
                let mut lane = database.lane().await.expect("lanes are free");
                let free_ns = admin.now_ns() + free_ns;
                let attempt = async |lane: &mut Lane<DynEnv>| {
                    lane.env().sleep_ns(10_000_000).await;
                    match lane.env().now_ns() < free_ns {
                        true => Err(Abort::InsertConflict.into()),
                        false => Ok(TransactionResult::Committed),
                    }
                };
                insist(&mut lane, attempt).await.map_err(|error| error.to_string())
            })
        };
        assert_eq!(insisted(15 * RETRIES_NS_MAX), Ok(TransactionResult::Committed));
        let given_up = insisted(40 * RETRIES_NS_MAX).expect_err("nobody waits for ever");
        assert!(given_up.contains("insert_conflict"), "{given_up}");
    }
}
