//! Values in random permutations: no value repeats before all others have come.
//!
//! Decision: docs/decisions/0180-loads-draw-rows-per-parent-row-and-values-in-random-orders.md

use fabric::random::{Random, step};

/// The first random stream of permutations.
pub(crate) const STREAM: u32 = 2 << 28;

/// The last permutation of each column, because the next row usually needs the same one.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    seed: u64,
    last: Vec<Order>,
}

/// A permutation of `positions.len()` values.
#[derive(Clone, Debug, Default)]
struct Order {
    /// The group of rows, and the number of the permutation within the group.
    of: (u64, u64),
    positions: Vec<u32>,
}

impl Orders {
    /// Permutations for `count` columns.
    pub fn new(seed: u64, count: usize) -> Self {
        Self { seed, last: vec![Order::default(); count] }
    }

    /// The value of row number `count` of `group` in the sequence of permutations of `column`; it
    /// is less than `values`.
    pub fn at(&mut self, column: usize, group: u64, count: u64, values: u64) -> u64 {
        let (round, at) = (count / values, count % values);
        let order = &mut self.last[column];
        if order.positions.len() as u64 != values || order.of != (group, round) {
            order.of = (group, round);
            order.positions.clear();
            order.positions.extend(0..values as u32);
            let item = step(group).1 ^ round;
            Random::stream(self.seed, STREAM + column as u32, item).shuffle(&mut order.positions);
        }
        u64::from(order.positions[at as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_every_value_once_and_can_be_entered_anywhere() {
        let mut orders = Orders::new(7, 2);
        let all: Vec<u64> = (0..30).map(|count| orders.at(0, 3, count, 10)).collect();
        let rounds: Vec<&[u64]> = all.chunks(10).collect();
        for round in &rounds {
            let mut sorted = round.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..10).collect::<Vec<u64>>());
        }
        assert!(rounds[0] != rounds[1] && rounds[1] != rounds[2]);
        let mut others = Orders::new(7, 2);
        let backwards: Vec<u64> = (0..30).rev().map(|count| others.at(0, 3, count, 10)).collect();
        assert!(backwards.iter().rev().eq(&all));
        let other_rows: Vec<u64> = (0..30).map(|count| orders.at(0, 4, count, 10)).collect();
        let other_column: Vec<u64> = (0..30).map(|count| orders.at(1, 3, count, 10)).collect();
        assert!(other_rows != all && other_column != all);
    }
}
