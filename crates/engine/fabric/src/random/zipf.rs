//! Zipf-distributed ranks in constant time, without a floating-point operation per draw.
//!
//! [Cooper et al. 2010, section 5.3] draws popular records with probability proportional to
//! rank^-theta. The usual generator costs a power per draw, more than a whole read of a local row.
//! We deviate: ranks are grouped into blocks, single ranks at the head, then blocks that grow by 4
//! %; the block is drawn exactly, by Walker's alias method, the rank inside it uniformly. Inside a
//! block the true density varies by less than 4 %, so no rank is off by more than 2 %.

use super::Random;

/// Blocks grow by one part in this many: 4 %.
const GROWTH: u64 = 25;

/// Draws ranks 0, 1, 2, ... with probability proportional to (rank + 1)^-theta.
#[derive(Clone, Debug)]
pub struct Zipf {
    blocks: Vec<Block>,
}

/// A run of ranks, and its column of the alias table.
#[derive(Clone, Copy, Debug)]
struct Block {
    first: u64,
    count: u64,
    /// Draws below this select the column's own block, the others `alias`.
    keep: u64,
    alias: u32,
}

impl Zipf {
    /// The distribution over `items` ranks. Theta 0 is uniform; 0.99 is YCSB's.
    ///
    /// # Panics
    /// If there are no items, or theta is not a number of at least 0.
    pub fn new(items: u64, theta: f64) -> Self {
        assert!(items > 0, "a distribution needs something to draw");
        assert!(theta >= 0.0, "popularity falls with the rank");
        let mut blocks = Vec::new();
        let mut weights = Vec::new();
        let mut first = 0;
        while first < items {
            let count = (first / GROWTH).max(1).min(items - first);
            blocks.push(Block { first, count, keep: 1 << 32, alias: 0 });
            weights.push(weight(first, count, theta));
            first += count;
        }
        fill_alias_table(&mut blocks, &weights);
        Self { blocks }
    }

    /// A rank, from one or two random words.
    #[inline]
    pub fn rank(&self, random: &mut Random) -> u64 {
        let choice = random.word();
        let column = ((choice >> 32) * self.blocks.len() as u64) >> 32;
        let block = &self.blocks[column as usize];
        let own = choice & 0xffff_ffff < block.keep;
        let block = if own { block } else { &self.blocks[block.alias as usize] };
        match block.count {
            1 => block.first,
            count => block.first + random.below(count),
        }
    }
}

/// The sum of (rank + 1)^-theta over a block: exact for short ones, else the integral by which the
/// midpoint rule differs from it by less than a part in a thousand.
fn weight(first: u64, count: u64, theta: f64) -> f64 {
    if count < GROWTH {
        return (first + 1..=first + count).map(|rank| libm::pow(rank as f64, -theta)).sum();
    }
    let (low, high) = (first as f64 + 0.5, (first + count) as f64 + 0.5);
    let flat = 1.0 - theta;
    if flat.abs() < 1e-9 {
        return libm::log(high / low);
    }
    (libm::pow(high, flat) - libm::pow(low, flat)) / flat
}

/// [Vose 1991]: every column holds one block's share and, above it, a piece of one other block.
fn fill_alias_table(blocks: &mut [Block], weights: &[f64]) {
    let total: f64 = weights.iter().sum();
    let scale = weights.len() as f64 / total;
    let mut shares: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..blocks.len()).partition(|&index| shares[index] < 1.0);
    while let (Some(&lesser), Some(&greater)) = (small.last(), large.last()) {
        small.pop();
        blocks[lesser].keep = (shares[lesser] * (1_u64 << 32) as f64) as u64;
        blocks[lesser].alias = greater as u32;
        shares[greater] -= 1.0 - shares[lesser];
        if shares[greater] < 1.0 {
            large.pop();
            small.push(greater);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frequencies(items: u64, theta: f64, draws: u64) -> Vec<f64> {
        let zipf = Zipf::new(items, theta);
        let mut random = Random::new(7);
        let mut counts = vec![0_u64; items as usize];
        for _ in 0..draws {
            counts[zipf.rank(&mut random) as usize] += 1;
        }
        counts.iter().map(|&count| count as f64 / draws as f64).collect()
    }

    #[test]
    fn ranks_are_drawn_as_often_as_their_popularity_says() {
        let (items, theta) = (1000, 0.99);
        let zeta: f64 = (1..=items).map(|rank| libm::pow(rank as f64, -theta)).sum();
        let found = frequencies(items, theta, 2_000_000);
        for rank in [0, 1, 2, 5, 10, 24] {
            let expected = libm::pow(rank as f64 + 1.0, -theta) / zeta;
            let error = (found[rank] - expected).abs() / expected;
            assert!(error < 0.02, "rank {rank}: {} instead of {expected}", found[rank]);
        }
        let tail: f64 = found[500..].iter().sum();
        let expected: f64 = (501..=items).map(|rank| libm::pow(rank as f64, -theta) / zeta).sum();
        assert!((tail - expected).abs() / expected < 0.02, "{tail} instead of {expected}");
    }

    #[test]
    fn theta_zero_is_uniform() {
        let found = frequencies(100, 0.0, 1_000_000);
        assert!(found.iter().all(|frequency| (0.0095..0.0105).contains(frequency)));
    }

    #[test]
    fn one_item_is_always_drawn() {
        assert_eq!(frequencies(1, 0.99, 10), [1.0]);
    }

    #[test]
    fn large_weights_agree_with_sums() {
        let exact: f64 = (10_001..=10_400).map(|rank| libm::pow(rank as f64, -0.7)).sum();
        assert!((weight(10_000, 400, 0.7) - exact).abs() / exact < 1e-6);
        let exact: f64 = (10_001..=10_400).map(|rank| 1.0 / rank as f64).sum();
        assert!((weight(10_000, 400, 1.0) - exact).abs() / exact < 1e-6);
    }
}
