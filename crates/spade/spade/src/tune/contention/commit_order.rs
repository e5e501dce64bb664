//! The order of commits on a machine. Timestamps are published in the order in which they were
//! drawn, so that a commit waits for longer ones before it, and each publishing write includes all
//! commits that have ended by then.

use super::throughput::CallClass;

/// Below this rate, the machine commits nothing.
const RATE_MIN: f64 = 1e-18;

/// Statistics of the commits of a machine.
#[derive(Clone, Copy, Default)]
pub struct Order {
    /// Mean time that a commit waits for earlier timestamps.
    pub waits_ns: f64,
    /// Commits per nanosecond that wait for none: each makes something ready to publish.
    pub ends: f64,
    /// Time from the end of one publishing write to the end of the next.
    pub between_ns: f64,
    /// The part of that time in which nothing is ready to publish.
    idle_ns: f64,
}

/// Computes the statistics. Commits begin at random. A commit waits if an earlier one takes longer
/// by more than its head start.
pub fn in_order(parts: &[CallClass<'_>], rate: f64, slower: &[f64], trip_ns: f64) -> Order {
    // A commit with remote rows takes two more trips: lock and install.
    let commits = parts.iter().zip(slower).filter(|(part, _)| part.cost.commit_ns > 0.0);
    let each = commits.flat_map(|(part, slower)| {
        let (far, rate) = (part.cost.far.min(1.0), part.share * rate);
        let longer_ns = 2.0 * trip_ns.min(part.cost.commit_ns / 3.0);
        let near_ns = (part.cost.commit_ns - far * longer_ns).max(0.0);
        [(near_ns * slower, rate * (1.0 - far)), ((near_ns + longer_ns) * slower, rate * far)]
    });
    let mut commits: Vec<(f64, f64)> = each.filter(|(_, rate)| *rate > 0.0).collect();
    commits.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut order = Order::default();
    // From the longest duration down. `slope` is the rate of longer commits, `longer` the sum of
    // their rates times the difference in duration, `waits_ns` the mean wait: the integral of 1 -
    // exp(-longer) over durations.
    let (mut slope, mut longer, mut waits_ns, mut last_ns) = (0.0, 0.0, 0.0, 0.0);
    for (ns, rate) in commits {
        let width = if slope > 0.0 { last_ns - ns } else { 0.0 };
        let still = match slope * width > 0.0 {
            true => libm::exp(-longer) * (1.0 - libm::exp(-slope * width)) / slope,
            false => width,
        };
        waits_ns += width - still;
        longer += slope * width;
        order.waits_ns += rate * waits_ns;
        order.ends += rate * libm::exp(-longer);
        (slope, last_ns) = (slope + rate, ns);
    }
    order.waits_ns = if slope > 0.0 { order.waits_ns / slope } else { 0.0 };
    order.idle_ns = libm::exp(-order.ends * trip_ns) / order.ends.max(RATE_MIN);
    order.between_ns = trip_ns + order.idle_ns;
    order
}

impl Order {
    /// Probability that something was published within a time.
    pub fn publishes_within(&self, time_ns: f64, trip_ns: f64) -> f64 {
        let none_ns = match time_ns < trip_ns {
            true => trip_ns - time_ns + self.idle_ns,
            false => self.idle_ns * libm::exp(-self.ends * (time_ns - trip_ns)),
        };
        1.0 - none_ns / self.between_ns
    }
}

#[cfg(test)]
mod tests {
    use super::super::throughput::tests::part;
    use super::*;

    #[test]
    fn numbers_wait_for_longer_commits_before_them() {
        let equal = [part(5_000.0, 4_000.0, 0.0)];
        let order = in_order(&equal, 1e-3, &[1.0], 0.0);
        assert_eq!((order.waits_ns, order.ends), (0.0, 1e-3));
        let mut two = [part(5_000.0, 1_000.0, 0.0), part(9_000.0, 5_000.0, 0.0)];
        (two[0].share, two[1].share) = (0.5, 0.5);
        let seldom = in_order(&two, 1e-6, &[1.0; 2], 0.0).waits_ns;
        // One of the long ones began within the previous 4,000 ns with probability 0.002 and lasts
        // 2,000 ns more on average; half of the commits are short.
        assert!((seldom - 0.5 * 0.5e-6 * 4_000.0 * 2_000.0).abs() < 0.01, "{seldom}");
        let often = in_order(&two, 1.0, &[1.0; 2], 0.0).waits_ns;
        assert!((often - 0.5 * 4_000.0).abs() < 10.0, "{often}");
        let ends = in_order(&two, 1.0, &[1.0; 2], 0.0).ends;
        assert!((ends - 0.5).abs() < 1e-9, "only the long ones end for others: {ends}");
    }
}
