//! How commits of a machine follow each other: their numbers are published in the order in which they were drawn, so that a commit waits for
//! longer ones before it, and each write that publishes takes along all that are through by then.

use super::throughput::Part;

/// Commits in a nanosecond that are none.
const RATE_MIN: f64 = 1e-18;

/// How commits of a machine follow each other.
#[derive(Clone, Copy, Default)]
pub struct Order {
    /// How long a commit waits for numbers that were drawn before its own, on the average.
    pub waits_ns: f64,
    /// Commits in a nanosecond that wait for none: each time one of them ends there is something to be published.
    pub ends: f64,
    /// From the end of one write that publishes to the end of the next.
    pub between_ns: f64,
    /// How long it is of that until somebody begins to.
    idle_ns: f64,
}

/// How commits follow each other. They begin at random; one that takes x is not the last of those that have begun up to it if an earlier one
/// takes longer by more than its head start.
pub fn in_order(parts: &[Part<'_>], rate: f64, slower: &[f64], trip_ns: f64) -> Order {
    // A commit that has remote rows takes two trips more, for locks and for installing.
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
    // From the longest on: the rate of those that are longer, by how much they are altogether, and how long this one waits for them,
    // which from each duration to the next longer one adds up 1 - exp(-(rates by how much longer)).
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
    /// The chance that something has been published in a time.
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
        // One of the long ones began in the 4,000 ns before with a chance of 0.002, and lasts for 2,000 more; half are short.
        assert!((seldom - 0.5 * 0.5e-6 * 4_000.0 * 2_000.0).abs() < 0.01, "{seldom}");
        let often = in_order(&two, 1.0, &[1.0; 2], 0.0).waits_ns;
        assert!((often - 0.5 * 4_000.0).abs() < 10.0, "{often}");
        let ends = in_order(&two, 1.0, &[1.0; 2], 0.0).ends;
        assert!((ends - 0.5).abs() < 1e-9, "only the long ones end for others: {ends}");
    }
}
