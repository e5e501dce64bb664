//! What a call takes beside what it takes alone: waits for snapshots and to be published, and attempts that fail since others were there.

use super::commit_order::Order;
use super::throughput::{Cluster, Part};
use crate::tune::cost::surface::Clock;

/// The share of attempts that fail, at most.
const FAILED_MAX: f64 = 0.99;
/// Below that, the chances of a call's rows to be taken are added up.
const SELDOM: f64 = 0.01;
/// As crate `interpreter` repeats calls: so many times at once,
const AT_ONCE: u32 = 3;
/// then after a wait of so many nanoseconds, doubled each time,
const WAIT_NS: f64 = 2_000.0;
/// up to this,
const WAIT_NS_MAX: f64 = 1_000_000.0;
/// and a random half of it less.
const WAIT_SHARE: f64 = 0.75;

/// What a lane has done last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// A call that has changed nothing.
    Reads,
    /// One that has.
    Commit,
    /// An attempt that was aborted: the next one has another snapshot.
    Abort,
}

/// A call of a part at some throughput.
pub struct Call<'c, 'a> {
    pub part: &'c Part<'a>,
    pub cluster: &'c Cluster,
    pub rate: f64,
    /// How many times longer it takes than alone, for waits at stages.
    pub slower: f64,
    /// The share of calls that commit.
    pub commits: f64,
    /// How commits of its machine follow each other.
    pub in_order: Order,
}

impl Call<'_, '_> {
    fn is_writer(&self) -> bool {
        self.part.cost.commit_ns > 0.0
    }

    /// How long its commit waits to be published.
    fn unpublished_ns(&self) -> f64 {
        match self.cluster.clock {
            Some(Clock { trip_ns, .. }) if self.is_writer() => {
                self.in_order.waits_ns + trip_ns / self.in_order.between_ns * trip_ns / 2.0
            }
            _ => 0.0,
        }
    }

    /// How long it waits for its next snapshot and to be published.
    pub fn taken_ns(&self) -> f64 {
        let busy_ns = self.part.cost.latency_ns * self.slower + self.unpublished_ns();
        self.unpublished_ns()
            + self.snapshot_ns(busy_ns, if self.is_writer() { After::Commit } else { After::Reads })
    }

    /// How long whoever has been busy since its last snapshot waits for the next. Fetched vectors come one after another; a vector has
    /// what was published a trip, and the time to freeze it, before it came. What has been published since must be in the next one.
    fn snapshot_ns(&self, busy_ns: f64, after: After) -> f64 {
        let Some(Clock { trip_ns, freeze_ns }) = self.cluster.clock else { return 0.0 };
        let behind_ns = trip_ns + 1.5 * freeze_ns;
        let round_ns = 2.0 * trip_ns;
        // Whose own commit is the newest thing that was published waits for that; others for one that is up to a trip old.
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

    /// The chance that the vector that is here lacks something when a call begins behind one that has changed nothing. If that one
    /// has waited for the vector, which was behind when it came, whatever was published since then counts; else, what was while it was
    /// busy. Whoever comes behind a commit has waited.
    fn is_missing(&self, busy_ns: f64, behind_ns: f64, trip_ns: f64) -> f64 {
        let since = |time_ns: f64| self.in_order.publishes_within(time_ns, trip_ns);
        let (new, old, commits) = (since(busy_ns + behind_ns), since(busy_ns), self.commits);
        let found = commits * new + (1.0 - commits) * old;
        found / (1.0 - (1.0 - commits) * (new - old)).max(found).max(f64::MIN_POSITIVE)
    }

    /// Attempts that it takes, and the time of those that fail, with the waits behind them.
    pub fn repeated(&self) -> (f64, f64) {
        if !self.is_writer() {
            return (1.0, 0.0);
        }
        let Part { cost, of_procedure, meetings, has_others, .. } = *self.part;
        let trip_ns = self.cluster.clock.map_or(0.0, |clock| clock.trip_ns);
        let freeze_ns = self.cluster.clock.map_or(0.0, |clock| clock.freeze_ns);
        // From one snapshot to the next that has what a call with the first has changed: meanwhile nobody else can change the row.
        let taken_ns =
            cost.latency_ns * self.slower + self.unpublished_ns() + trip_ns + 1.5 * freeze_ns;
        // An attempt fails when its locks are answered: installing and publishing are left out.
        let locked_ns = ((cost.commit_ns - trip_ns) / 2.0).max(0.0);
        let until_ns = (cost.latency_ns - cost.commit_ns + locked_ns).max(0.0);
        let failed_ns = until_ns + self.snapshot_ns(until_ns * self.slower, After::Abort);
        let (crowded, stale) = (self.crowded(locked_ns), self.part.crowd.stale);
        let (mut attempts, mut lost_ns) = (1.0, 0.0);
        for meeting in meetings {
            let others = if has_others { meeting.others } else { 0.0 };
            let changes = self.rate * (of_procedure * meeting.own + others);
            // Each of its rows may be taken.
            let all = changes * taken_ns;
            let fails = match meeting.rows {
                rows if rows > 1.0 && all > SELDOM => {
                    // One less the power of what is left of each row.
                    1.0 - libm::exp(rows * libm::log1p(-(all / rows).min(1.0)))
                }
                _ => all,
            };
            let fails = (1.0 - (1.0 - fails.min(1.0)) * (1.0 - crowded)).min(FAILED_MAX);
            // What a lane takes for known it reads anew after it has failed, which a call is not counted with.
            let first = 1.0 - (1.0 - fails) * (1.0 - stale);
            let again = first / (1.0 - fails);
            attempts += meeting.share * again;
            let anew_ns = stale * cost.adds_ns;
            lost_ns += meeting.share * (again * failed_ns + anew_ns + waits_ns(first, fails));
        }
        (attempts, lost_ns)
    }

    /// The chance that an attempt fails since another call has locked a leaf or a bucket from the time on at which this one has read it to
    /// the time at which it locks it. Halfway through a read or a batch of locks is when it is done; whoever has the lock writes and gives it
    /// back with as much time in between.
    fn crowded(&self, locked_ns: f64) -> f64 {
        let Part { cost, of_procedure, crowd, has_others, .. } = *self.part;
        let others = if has_others { crowd.others } else { 0.0 };
        let adds = self.rate * (of_procedure * crowd.own + others);
        let exposed_ns = (cost.adds_ns / 2.0 + locked_ns / 2.0 + locked_ns) * self.slower;
        if adds > 0.0 { 1.0 - libm::exp(-adds * exposed_ns) } else { 0.0 }
    }
}

/// The mean of the whole number at or above a number that is anything from `from` on to `width` more.
fn mean_rounds(from: f64, width: f64) -> f64 {
    // The integral of the ceiling from 0.
    let up_to = |at: f64| {
        let whole = libm::floor(at);
        whole * (whole + 1.0) / 2.0 + (at - whole) * (whole + 1.0)
    };
    let from = from.max(0.0);
    (up_to(from + width) - up_to(from)) / width
}

/// How long a call waits between attempts: of the first one such a share fails, of others another one.
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
