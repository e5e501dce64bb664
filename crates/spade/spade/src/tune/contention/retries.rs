//! Time of a call beyond its latency alone: waits for snapshots and publishing, and failed
//! attempts.

use super::commit_order::Order;
use super::throughput::{CallClass, Cluster};
use crate::tune::cost::surface::Clock;

/// Maximal probability that an attempt fails.
const FAILED_MAX: f64 = 0.99;
/// Below this, conflict probabilities of a call's rows are added.
const SELDOM: f64 = 0.01;
/// Retry policy of crate `interpreter`: number of immediate retries,
const AT_ONCE: u32 = 3;
/// then a back-off in nanoseconds, doubled each time,
const WAIT_NS: f64 = 2_000.0;
/// up to this limit,
const WAIT_NS_MAX: f64 = 1_000_000.0;
/// with random jitter of up to half of it: the mean share.
const WAIT_SHARE: f64 = 0.75;

/// How the last call of a lane ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// It wrote nothing.
    Reads,
    /// It committed.
    Commit,
    /// It aborted, and the next attempt needs a new snapshot.
    Abort,
}

/// A call class at a given throughput.
pub struct Call<'c, 'a> {
    pub part: &'c CallClass<'a>,
    pub cluster: &'c Cluster,
    pub rate: f64,
    /// Ratio of its latency with queueing to its latency alone.
    pub slower: f64,
    /// The share of calls that commit.
    pub commits: f64,
    /// The order of commits on its machine.
    pub in_order: Order,
}

impl Call<'_, '_> {
    fn is_writer(&self) -> bool {
        self.part.cost.commit_ns > 0.0
    }

    /// Time that its commit waits until it is published.
    fn unpublished_ns(&self) -> f64 {
        match self.cluster.clock {
            Some(Clock { trip_ns, .. }) if self.is_writer() => {
                self.in_order.waits_ns + trip_ns / self.in_order.between_ns * trip_ns / 2.0
            }
            _ => 0.0,
        }
    }

    /// Time that it waits until it is published and for its next snapshot.
    pub fn taken_ns(&self) -> f64 {
        let busy_ns = self.part.cost.latency_ns * self.slower + self.unpublished_ns();
        self.unpublished_ns()
            + self.snapshot_ns(busy_ns, if self.is_writer() { After::Commit } else { After::Reads })
    }

    /// Mean wait for the next snapshot of a lane that was busy for `busy_ns`. Vectors arrive one
    /// after another. A vector is one trip old on arrival, plus the time to freeze it. Later
    /// publications are in the next vector.
    fn snapshot_ns(&self, busy_ns: f64, after: After) -> f64 {
        let Some(Clock { trip_ns, freeze_ns }) = self.cluster.clock else { return 0.0 };
        let behind_ns = trip_ns + 1.5 * freeze_ns;
        let round_ns = 2.0 * trip_ns;
        // After a commit, the vector must include it; other calls need a publication that is up to
        // one trip old.
        let from_ns =
            busy_ns + behind_ns - if after == After::Commit { trip_ns / 2.0 } else { trip_ns };
        let rounds = mean_rounds(from_ns / round_ns, trip_ns / round_ns);
        let wait_ns = (rounds * round_ns - busy_ns).max(0.0);
        let is_missing = match after {
            After::Reads => self.is_missing(busy_ns, behind_ns, trip_ns),
            After::Commit | After::Abort => 1.0,
        };
        is_missing * wait_ns
    }

    /// Probability that the current vector misses a publication when a call begins after one that
    /// wrote nothing. If that one waited for the vector, publications since its freezing count,
    /// otherwise those while it was busy. A lane always waits after its commit.
    fn is_missing(&self, busy_ns: f64, behind_ns: f64, trip_ns: f64) -> f64 {
        let since = |time_ns: f64| self.in_order.publishes_within(time_ns, trip_ns);
        let (new, old, commits) = (since(busy_ns + behind_ns), since(busy_ns), self.commits);
        let found = commits * new + (1.0 - commits) * old;
        found / (1.0 - (1.0 - commits) * (new - old)).max(found).max(f64::MIN_POSITIVE)
    }

    /// Attempts per call; and the time of failed attempts, including back-off.
    pub fn repeated(&self) -> (f64, f64) {
        if !self.is_writer() {
            return (1.0, 0.0);
        }
        let CallClass { cost, of_procedure, conflict_rates, has_others, .. } = *self.part;
        let trip_ns = self.cluster.clock.map_or(0.0, |clock| clock.trip_ns);
        let freeze_ns = self.cluster.clock.map_or(0.0, |clock| clock.freeze_ns);
        // The time from one snapshot to the next that contains the call's update. No other call can
        // update the row meanwhile.
        let taken_ns =
            cost.latency_ns * self.slower + self.unpublished_ns() + trip_ns + 1.5 * freeze_ns;
        // An attempt fails when its lock batch returns; it neither installs nor publishes.
        let locked_ns = ((cost.commit_ns - trip_ns) / 2.0).max(0.0);
        let until_ns = (cost.latency_ns - cost.commit_ns + locked_ns).max(0.0);
        let failed_ns = until_ns + self.snapshot_ns(until_ns * self.slower, After::Abort);
        let (crowded, stale) = (self.crowded(locked_ns), self.part.insert_conflicts.stale);
        let (mut attempts, mut lost_ns) = (1.0, 0.0);
        for conflict in conflict_rates {
            let others = if has_others { conflict.others } else { 0.0 };
            let changes = self.rate * (of_procedure * conflict.own + others);
            // Each of its rows may conflict.
            let all = changes * taken_ns;
            let fails = match conflict.rows {
                rows if rows > 1.0 && all > SELDOM => {
                    // One minus the probability that no row conflicts.
                    1.0 - libm::exp(rows * libm::log1p(-(all / rows).min(1.0)))
                }
                _ => all,
            };
            let fails = (1.0 - (1.0 - fails.min(1.0)) * (1.0 - crowded)).min(FAILED_MAX);
            // A stale leaf fails the first attempt, and the retry reads it. The latency of a call
            // does not include that read.
            let first = 1.0 - (1.0 - fails) * (1.0 - stale);
            let again = first / (1.0 - fails);
            attempts += conflict.share * again;
            let anew_ns = stale * cost.adds_ns;
            lost_ns += conflict.share * (again * failed_ns + anew_ns + waits_ns(first, fails));
        }
        (attempts, lost_ns)
    }

    /// Probability that another call locks the leaf or bucket between this call's read and its
    /// lock. A read or lock takes effect halfway through its round trip; a lock holder needs as
    /// much time again to write and unlock.
    fn crowded(&self, locked_ns: f64) -> f64 {
        let CallClass { cost, of_procedure, insert_conflicts, has_others, .. } = *self.part;
        let others = if has_others { insert_conflicts.others } else { 0.0 };
        let adds = self.rate * (of_procedure * insert_conflicts.own + others);
        let exposed_ns = (cost.adds_ns / 2.0 + locked_ns / 2.0 + locked_ns) * self.slower;
        if adds > 0.0 { 1.0 - libm::exp(-adds * exposed_ns) } else { 0.0 }
    }
}

/// The mean of `ceil(x)` for x uniform in `from .. from + width`.
fn mean_rounds(from: f64, width: f64) -> f64 {
    // The integral of `ceil` from 0.
    let up_to = |at: f64| {
        let whole = libm::floor(at);
        whole * (whole + 1.0) / 2.0 + (at - whole) * (whole + 1.0)
    };
    let from = from.max(0.0);
    (up_to(from + width) - up_to(from)) / width
}

/// Mean back-off time of a call. `first` is the probability that the first attempt fails, `fails`
/// that of the others.
fn waits_ns(first: f64, fails: f64) -> f64 {
    let mut likely = (0..AT_ONCE).map(|_| fails).product::<f64>() * first;
    let (mut wait_ns, mut sum) = (WAIT_NS, 0.0);
    while wait_ns < WAIT_NS_MAX {
        sum += likely * wait_ns;
        likely *= fails;
        wait_ns *= 2.0;
    }
    WAIT_SHARE * (sum + likely * WAIT_NS_MAX / (1.0 - fails))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_whole() {
        assert!((mean_rounds(0.2, 0.5) - 1.0).abs() < 1e-12);
        assert!((mean_rounds(0.75, 0.5) - 1.5).abs() < 1e-12);
        assert!((mean_rounds(2.25, 0.5) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn waits_between_attempts_begin_after_three_and_double() {
        assert_eq!(waits_ns(0.0, 0.0), 0.0);
        let few = waits_ns(0.01, 0.01);
        assert!((few / (0.01_f64.powi(4) * 1_500.0) - 1.02).abs() < 0.01, "{few}");
        assert!(waits_ns(0.6, 0.6) > 5.0 * waits_ns(0.4, 0.4));
    }
}
