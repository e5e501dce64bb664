//! Hash buckets: the distribution of rows over buckets (Poisson), overflow chains, and growth.
//!
//! Decision: docs/decisions/0212-costs-are-the-usual-designs-and-differences-from-it.md

use layout::bucket::overflow_slots;

/// Steps in which growth is simulated.
const GROWTH_STEPS: u32 = 32;
/// Bounds of the distribution: rows per bucket, and probability.
const BUCKET_ROWS_MAX: u32 = 64;
const UNLIKELY: f64 = 1e-12;

/// Overflow blocks that a lookup reads on average.
pub fn chain_blocks(slots: u32, load_percent: u32) -> f64 {
    let (mut reads, mut within, mut mean) = (0.0, 0.0, 0.0);
    for (rows, likely, blocks) in filled(slots, rows_each(slots, load_percent)) {
        // Sum over the rows of a bucket of the blocks read to find each.
        within += blocks;
        reads += likely * within;
        mean += likely * rows;
    }
    reads / mean
}

/// Average rows of a bucket.
fn rows_each(slots: u32, load_percent: u32) -> f64 {
    f64::from(slots) * f64::from(load_percent) / 100.0
}

/// Buckets and blocks of a loaded table, per planned bucket.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Grown {
    /// Buckets: each chained block splits the next bucket in turn (`index::hash`).
    pub buckets: f64,
    /// Overflow blocks.
    pub blocks: f64,
}

/// Simulates the growth of a table while its rows are inserted.
pub fn grown(slots: u32, load_percent: u32) -> Grown {
    let rows = rows_each(slots, load_percent);
    // Share of planned buckets that were split; both halves then have half of the rows.
    let mut split: f64 = 0.0;
    for step in 0..GROWTH_STEPS {
        let there = rows * (f64::from(step) + 0.5) / f64::from(GROWTH_STEPS);
        let chained =
            (1.0 - split) * chance_full(slots, there) + split * chance_full(slots, there / 2.0);
        split = (split + chained * rows / f64::from(GROWTH_STEPS)).min(1.0);
    }
    let blocks =
        |rows: f64| filled(slots, rows).map(|(_, likely, blocks)| likely * blocks).sum::<f64>();
    Grown {
        buckets: 1.0 + split,
        blocks: (1.0 - split) * blocks(rows) + 2.0 * split * blocks(rows / 2.0),
    }
}

/// Probability that bucket and chain are full, so that the next insert chains a block.
fn chance_full(slots: u32, mean: f64) -> f64 {
    let block = overflow_slots(slots);
    let is_full =
        |count: f64| count as u32 >= slots && (count as u32 - slots).is_multiple_of(block);
    filled(slots, mean).filter(|(count, ..)| is_full(*count)).map(|(_, likely, _)| likely).sum()
}

/// For each number of rows in a bucket: the number, its probability, and its overflow blocks.
fn filled(slots: u32, mean: f64) -> impl Iterator<Item = (f64, f64, f64)> {
    let block = f64::from(overflow_slots(slots));
    let mut likely = libm::exp(-mean);
    let each = (1..=BUCKET_ROWS_MAX).map(move |count| {
        likely *= mean / f64::from(count);
        let blocks = libm::ceil(f64::from(count.saturating_sub(slots)) / block);
        (f64::from(count), likely, blocks)
    });
    each.take_while(move |(count, likely, _)| *count < mean || *likely > UNLIKELY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_longer_in_small_and_in_full_buckets() {
        for slots in [1, 2, 4, 8] {
            let by_load = [20, 40, 65, 90].map(|load| chain_blocks(slots, load));
            assert!(by_load.is_sorted() && by_load[0] > 0.0, "{slots}: {by_load:?}");
        }
        for load in [40, 65, 90] {
            let by_slots = [1, 2, 4, 8].map(|slots| chain_blocks(slots, load));
            assert!(by_slots.is_sorted_by(|one, next| one > next), "{load}: {by_slots:?}");
        }
        for (slots, load) in [(1, 65), (2, 40)] {
            let (blocks, reads) = (grown(slots, load).blocks, chain_blocks(slots, load));
            let rows = f64::from(slots * load) / 100.0;
            assert!(blocks > 0.0 && blocks < rows * reads, "{slots} {load}");
        }
        // One slot per bucket, 90 % load: almost a third more buckets. Low loads: few more.
        let full = grown(1, 90);
        assert!(
            (1.25..1.35).contains(&full.buckets) && (0.2..0.3).contains(&full.blocks),
            "{full:?}"
        );
        assert!(grown(2, 40).buckets < 1.05 && grown(8, 65).buckets < grown(8, 90).buckets);
        // A row in a bucket with one slot waits behind half of the others; on average there are
        // 0.65.
        assert!((chain_blocks(1, 65) - 0.325).abs() < 1e-9);
    }
}
