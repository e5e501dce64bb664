//! Draws the operations of a transaction and their records.

use super::config::{Distribution, Mix, SCAN_LENGTH_MAX, YcsbConfig};
use crate::random::Random;
use fabric::random::Zipf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One operation of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub operation: Operation,
    /// The record; for a scan, the first one.
    pub key: u64,
    /// The number of records of a scan, 1 for all other operations.
    pub length: u64,
}

/// An operation on a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Read,
    /// Read it, increment its counter and rewrite a field.
    Update,
    Insert,
    /// Read it and the following records.
    Scan,
}

/// The existing keys, shared by all generators: 0 up to the number of records, which grows by
/// inserts.
#[derive(Debug)]
pub struct Population {
    next: AtomicU64,
    /// The distance between a key claimed here and the next one; the keys between them belong to
    /// other processes.
    step: AtomicU64,
    newest: AtomicU64,
}

impl Population {
    /// Keys 0 to `records` - 1.
    pub fn new(records: u64) -> Self {
        Self { next: records.into(), step: 1.into(), newest: (records - 1).into() }
    }

    /// Leaves the new keys of other processes to them: this process is number `part` of `parts`.
    pub(super) fn share(&self, part: u32, parts: u32) {
        self.next.fetch_add(u64::from(part), Relaxed);
        self.step.store(u64::from(parts), Relaxed);
    }

    /// Claims a key that was never used.
    fn claim(&self) -> u64 {
        self.next.fetch_add(self.step.load(Relaxed), Relaxed)
    }

    /// Publishes that a record was inserted.
    pub fn announce(&self, key: u64) {
        self.newest.fetch_max(key, Relaxed);
    }

    /// The largest key whose insert has committed. Inserts of smaller keys may be under way, or may
    /// have failed.
    pub fn newest(&self) -> u64 {
        self.newest.load(Relaxed)
    }
}

/// Draws transactions; each worker has its own generator, all share the tables inside.
#[derive(Clone, Debug)]
pub struct Generator {
    mix: Mix,
    operations: usize,
    distribution: Distribution,
    records: u64,
    zipf: Arc<Zipf>,
    population: Arc<Population>,
}

impl Generator {
    /// A generator for a validated configuration.
    pub fn new(config: &YcsbConfig, population: Arc<Population>) -> Self {
        assert_eq!(config.validate(), Ok(()));
        let theta = match config.distribution {
            Distribution::Uniform => 0.0,
            Distribution::Zipf { theta } | Distribution::Latest { theta } => theta,
        };
        Self {
            mix: config.mix,
            operations: config.operations_per_transaction as usize,
            distribution: config.distribution,
            records: config.records,
            zipf: Arc::new(Zipf::new(config.records, theta)),
            population,
        }
    }

    /// Fills `steps` with the next transaction. No two steps begin at the same record.
    #[inline]
    pub fn draw(&self, random: &mut Random, steps: &mut Vec<Step>) {
        steps.clear();
        while steps.len() < self.operations {
            let step = self.draw_step(random);
            if steps.iter().all(|earlier| earlier.key != step.key) {
                steps.push(step);
            }
        }
    }

    #[inline]
    fn draw_step(&self, random: &mut Random) -> Step {
        let mut share = random.below(100) as u32;
        let mut falls_to = |part: u32| {
            let chosen = share < part;
            share = share.wrapping_sub(part);
            chosen
        };
        let Mix { read, update, insert, .. } = self.mix;
        if falls_to(read) {
            return Step { operation: Operation::Read, key: self.key(random), length: 1 };
        }
        if falls_to(update) {
            return Step { operation: Operation::Update, key: self.key(random), length: 1 };
        }
        if falls_to(insert) {
            return Step { operation: Operation::Insert, key: self.population.claim(), length: 1 };
        }
        let length = 1 + random.below(SCAN_LENGTH_MAX);
        Step { operation: Operation::Scan, key: self.key(random), length }
    }

    /// The key of a record of the load or, with the latest distribution, among the newest now.
    #[inline]
    fn key(&self, random: &mut Random) -> u64 {
        match self.distribution {
            Distribution::Uniform => random.below(self.records),
            Distribution::Zipf { .. } => scatter(self.zipf.rank(random), self.records),
            Distribution::Latest { .. } => self.population.newest() - self.zipf.rank(random),
        }
    }
}

/// Spreads ranks over the key space, so that popular records are not neighbours. Two ranks may map
/// to one key, as in YCSB.
#[inline]
fn scatter(rank: u64, records: u64) -> u64 {
    let mixed = (rank ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 31).wrapping_mul(0x94d0_49bb_1331_11eb);
    // The product uses the top bits, which a multiplication mixes best.
    ((u128::from(mixed ^ mixed >> 29) * u128::from(records)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(config: &YcsbConfig, transactions: usize) -> Vec<Vec<Step>> {
        let generator = Generator::new(config, Arc::new(Population::new(config.records)));
        let mut random = Random::new(3);
        let draw = |_| {
            let mut steps = Vec::new();
            generator.draw(&mut random, &mut steps);
            steps
        };
        (0..transactions).map(draw).collect()
    }

    #[test]
    fn operations_of_a_transaction_are_on_records_that_differ() {
        let config =
            YcsbConfig { records: 40, operations_per_transaction: 16, ..YcsbConfig::default() };
        for transaction in steps(&config, 500) {
            let mut keys: Vec<u64> = transaction.iter().map(|step| step.key).collect();
            assert!(keys.iter().all(|&key| key < 40));
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), 16);
        }
    }

    #[test]
    fn the_mix_is_kept() {
        let config = YcsbConfig { mix: Mix::B, ..YcsbConfig::default() };
        let drawn = steps(&config, 100_000);
        let updates = drawn.iter().filter(|steps| steps[0].operation == Operation::Update).count();
        assert!((4_700..5_300).contains(&updates), "{updates} updates instead of 5 000");
    }

    #[test]
    fn popular_records_are_popular_and_scattered() {
        let config = YcsbConfig::default();
        let mut counts = vec![0_u32; config.records as usize];
        for transaction in steps(&config, 200_000) {
            counts[transaction[0].key as usize] += 1;
        }
        let mut by_count: Vec<(u32, usize)> =
            counts.iter().enumerate().map(|(key, &count)| (count, key)).collect();
        by_count.sort_unstable();
        by_count.reverse();
        // Rank 1 of 100 000 at theta 0.99 is drawn with probability 1 / 12.8.
        assert!((14_000..17_500).contains(&by_count[0].0), "{}", by_count[0].0);
        let hottest: Vec<usize> = by_count[..10].iter().map(|&(_, key)| key).collect();
        let neighbours = hottest.iter().filter(|&&key| hottest.contains(&(key + 1))).count();
        assert!(neighbours <= 1, "the hottest keys are {hottest:?}");
    }

    #[test]
    fn latest_prefers_what_was_announced_last() {
        let config = YcsbConfig {
            records: 1000,
            mix: Mix::C,
            distribution: Distribution::Latest { theta: 0.99 },
            ..YcsbConfig::default()
        };
        let population = Arc::new(Population::new(1000));
        let generator = Generator::new(&config, population.clone());
        population.announce(1499);
        let mut random = Random::new(3);
        let mut steps = Vec::new();
        let mut recent = 0;
        for _ in 0..1000 {
            generator.draw(&mut random, &mut steps);
            assert!((500..1500).contains(&steps[0].key));
            recent += usize::from(steps[0].key >= 1400);
        }
        assert!(recent > 600, "{recent} of 1000 reads were among the newest hundred");
    }
}
