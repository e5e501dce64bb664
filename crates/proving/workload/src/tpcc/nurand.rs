//! Non-uniform random numbers [TPC-C 2.1.6].

use super::scale::Scale;
use crate::random::Random;

/// A for customer numbers.
const A_CUSTOMER: i64 = 1023;
/// A for item numbers.
const A_ITEM: i64 = 8191;
const A_LAST_NAME: i64 = 255;

/// The constants C, drawn once per database and run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NurandConstants {
    /// For last names during the load.
    pub last_name_load: i64,
    /// For last names during the run, at the distance that 2.1.6.1 requires.
    pub last_name_run: i64,
    /// For customer numbers.
    pub customer: i64,
    /// For item numbers.
    pub item: i64,
}

impl NurandConstants {
    /// The constants that follow from a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let last_name_load = random.uniform(0, A_LAST_NAME);
        let last_name_run = loop {
            let candidate = random.uniform(0, A_LAST_NAME);
            if is_allowed_delta((candidate - last_name_load).abs()) {
                break candidate;
            }
        };
        let customer = random.uniform(0, A_CUSTOMER);
        Self { last_name_load, last_name_run, customer, item: random.uniform(0, A_ITEM) }
    }

    /// A customer number, 1 up to the number of the district's customers.
    #[inline]
    pub fn customer(&self, random: &mut Random, scale: &Scale) -> i32 {
        let customers = i64::from(scale.customers_per_district);
        nurand(random, A_CUSTOMER, self.customer, 1, customers) as i32
    }

    /// An item number, 1 up to the number of items.
    #[inline]
    pub fn item(&self, random: &mut Random, scale: &Scale) -> i32 {
        nurand(random, A_ITEM, self.item, 1, i64::from(scale.items)) as i32
    }

    /// The number of a last name for a customer of the load.
    pub fn last_name_load(&self, random: &mut Random, scale: &Scale) -> i32 {
        let last = i64::from(scale.last_names()) - 1;
        nurand(random, A_LAST_NAME, self.last_name_load, 0, last) as i32
    }

    /// The number of a last name for a lookup.
    #[inline]
    pub fn last_name_run(&self, random: &mut Random, scale: &Scale) -> i32 {
        let last = i64::from(scale.last_names()) - 1;
        nurand(random, A_LAST_NAME, self.last_name_run, 0, last) as i32
    }
}

/// Allowed distances between the constants of load and run [TPC-C 2.1.6.1].
fn is_allowed_delta(delta: i64) -> bool {
    (65..=119).contains(&delta) && delta != 96 && delta != 112
}

/// NURand(A, x, y) = (((random(0, A) | random(x, y)) + C) % (y - x + 1)) + x.
#[inline]
fn nurand(random: &mut Random, a: i64, c: i64, low: i64, high: i64) -> i64 {
    let or = random.uniform(0, a) | random.uniform(low, high);
    (or + c) % (high - low + 1) + low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_of_load_and_run_are_at_an_allowed_distance() {
        for seed in 0..2000 {
            let constants = NurandConstants::new(seed);
            let delta = (constants.last_name_run - constants.last_name_load).abs();
            assert!(
                (65..=119).contains(&delta) && delta != 96 && delta != 112,
                "seed {seed}: {delta}"
            );
            assert!((0..=255).contains(&constants.last_name_run));
        }
        assert!(!is_allowed_delta(96) && !is_allowed_delta(112) && !is_allowed_delta(64));
    }

    #[test]
    fn numbers_stay_in_their_ranges_at_every_scale() {
        let mut random = Random::new(5);
        let constants = NurandConstants::new(5);
        for scale in [Scale::FULL, Scale::SMALL] {
            for _ in 0..100_000 {
                let customer = constants.customer(&mut random, &scale);
                assert!((1..=scale.customers_per_district).contains(&customer));
                assert!((1..=scale.items).contains(&constants.item(&mut random, &scale)));
                assert!(
                    (0..scale.last_names()).contains(&constants.last_name_run(&mut random, &scale))
                );
                assert!(
                    (0..scale.last_names())
                        .contains(&constants.last_name_load(&mut random, &scale))
                );
            }
        }
    }

    /// The first operand sets half of all bits that the OR sees, so with A = 8191 a number whose
    /// low 13 bits are all set is drawn (3/2)^13 = 194.6 times as often as in a uniform draw, and
    /// one without any set bit there (1/2)^13 times as often.
    #[test]
    fn the_distribution_has_the_skew_that_the_formula_gives() {
        const DRAWS: u32 = 2_000_000;
        let mut random = Random::new(6);
        let constants = NurandConstants { item: 0, ..NurandConstants::new(6) };
        let mut counts = vec![0_u32; Scale::FULL.items as usize + 1];
        for _ in 0..DRAWS {
            counts[constants.item(&mut random, &Scale::FULL) as usize] += 1;
        }
        // With C = 0 the value v = or % 100000 + 1; or = 8191 + k * 8192 gives the hottest items.
        let hot: u32 = (0..12).map(|k| counts[8191 + k * 8192 + 1]).sum();
        let expected = f64::from(DRAWS) * 12.0 * 194.6 / f64::from(Scale::FULL.items);
        let ratio = f64::from(hot) / expected;
        assert!(
            (0.95..1.05).contains(&ratio),
            "{hot} draws of the hottest items, {expected} expected"
        );
        let cold: u32 = (1..12).map(|k| counts[k * 8192 + 1]).sum();
        assert!(cold < 5, "{cold} draws of the coldest items");
    }

    #[test]
    fn every_value_is_reached_where_the_range_is_smaller_than_a() {
        let mut random = Random::new(7);
        let constants = NurandConstants::new(7);
        let mut seen = [false; 31];
        for _ in 0..10_000 {
            seen[constants.customer(&mut random, &Scale::SMALL) as usize] = true;
        }
        assert!(seen[1..].iter().all(|&seen| seen));
    }
}
