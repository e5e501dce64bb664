//! Latency histograms: workers count separately and add their counts from time to time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Upper bounds in nanoseconds: 1, 2 and 5 of each decade, from 1 us to 10 s.
pub(crate) const BOUNDS_NS: [u64; BOUND_COUNT] = {
    let mut bounds = [0; BOUND_COUNT];
    let (mut n, mut decade) = (0, 1000);
    while n < BOUND_COUNT {
        bounds[n] = decade * [1, 2, 5][n % 3];
        n += 1;
        if n % 3 == 0 {
            decade *= 10;
        }
    }
    bounds
};
const BOUND_COUNT: usize = 22;
/// One bucket per bound, and one for larger values.
const BUCKET_COUNT: usize = BOUND_COUNT + 1;

const _: () = assert!(BOUNDS_NS[0] == 1000 && BOUNDS_NS[BOUND_COUNT - 1] == 10_000_000_000);

/// One worker's latencies since it last added them to the histogram.
#[derive(Clone, Debug)]
pub struct LatencyTally {
    buckets: [u64; BUCKET_COUNT],
    sum_ns: u64,
}

/// The latencies of all workers. Any thread may add or read.
#[derive(Debug)]
pub struct LatencyHistogram {
    buckets: [AtomicU64; BUCKET_COUNT],
    sum_ns: AtomicU64,
}

/// A copy of a histogram.
pub(crate) struct LatencyCounts {
    /// Counts per bucket, not cumulative.
    pub(crate) buckets: [u64; BUCKET_COUNT],
    pub(crate) sum_ns: u64,
}

impl Default for LatencyTally {
    fn default() -> Self {
        Self { buckets: [0; BUCKET_COUNT], sum_ns: 0 }
    }
}

impl LatencyTally {
    /// Records a latency. No other thread is involved.
    #[inline]
    pub fn record_ns(&mut self, latency_ns: u64) {
        let bucket = BOUNDS_NS.partition_point(|&bound_ns| bound_ns < latency_ns);
        self.buckets[bucket] += 1;
        self.sum_ns = self.sum_ns.wrapping_add(latency_ns);
    }
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self { buckets: [const { AtomicU64::new(0) }; BUCKET_COUNT], sum_ns: AtomicU64::new(0) }
    }
}

impl LatencyHistogram {
    /// Records a latency without a tally.
    pub fn record_ns(&self, latency_ns: u64) {
        let bucket = BOUNDS_NS.partition_point(|&bound_ns| bound_ns < latency_ns);
        self.sum_ns.fetch_add(latency_ns, Relaxed);
        self.buckets[bucket].fetch_add(1, Relaxed);
    }

    /// Adds a worker's tally and clears it.
    pub fn take(&self, tally: &mut LatencyTally) {
        let LatencyTally { buckets, sum_ns } = std::mem::take(tally);
        // The sum first: a concurrent reader then sees latencies that are too long, not counts
        // without time.
        self.sum_ns.fetch_add(sum_ns, Relaxed);
        for (bucket, count) in self.buckets.iter().zip(buckets) {
            if count > 0 {
                bucket.fetch_add(count, Relaxed);
            }
        }
    }

    pub(crate) fn counts(&self) -> LatencyCounts {
        let mut buckets = [0; BUCKET_COUNT];
        for (count, bucket) in buckets.iter_mut().zip(&self.buckets) {
            *count = bucket.load(Relaxed);
        }
        LatencyCounts { buckets, sum_ns: self.sum_ns.load(Relaxed) }
    }
}

impl LatencyCounts {
    pub(crate) fn add(&mut self, other: &Self) {
        for (count, more) in self.buckets.iter_mut().zip(other.buckets) {
            *count += more;
        }
        self.sum_ns = self.sum_ns.wrapping_add(other.sum_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_counted_at_the_first_bound_that_it_does_not_exceed() {
        let mut tally = LatencyTally::default();
        for latency_ns in [0, 1000, 1001, 2000, 10_000_000_000, 10_000_000_001, u64::MAX >> 1] {
            tally.record_ns(latency_ns);
        }
        let histogram = LatencyHistogram::default();
        histogram.take(&mut tally);
        let counts = histogram.counts();
        assert_eq!(counts.buckets[..3], [2, 2, 0]);
        assert_eq!(counts.buckets[BOUND_COUNT - 1..], [1, 2]);
        histogram.take(&mut tally);
        assert_eq!(histogram.counts().buckets, counts.buckets, "a tally is handed over once");
        histogram.record_ns(1001);
        assert_eq!(histogram.counts().buckets[..3], [2, 3, 0]);
        assert_eq!(histogram.counts().sum_ns - counts.sum_ns, 1001);
    }

    #[test]
    fn several_workers_add_up() {
        let histogram = LatencyHistogram::default();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        let mut tally = LatencyTally::default();
                        tally.record_ns(3000);
                        histogram.take(&mut tally);
                    }
                });
            }
        });
        let counts = histogram.counts();
        assert_eq!((counts.buckets[2], counts.sum_ns), (2000, 6_000_000));
    }
}
