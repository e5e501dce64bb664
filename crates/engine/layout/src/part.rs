//! Partitioned and copied tables: each part is a table on one memory server, and the first part's
//! name denotes all of them. Parts have some of the rows each, or are copies and have all rows.

use serde::{Deserialize, Serialize};

/// Largest number of parts of a table.
pub const PARTS_MAX: u16 = 256;

/// The part of a table that a table is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// The name of part 0.
    pub of: String,
    pub number: u16,
    pub count: u16,
    /// How keys select their part.
    pub rule: PartRule,
}

/// How keys select their part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PartRule {
    /// By ranges of the key's first column: `values` consecutive values from `smallest` on are
    /// divided into equal ranges, one for each part; smaller values go to the first part, larger
    /// ones to the last.
    Ranges {
        smallest: i64,
        /// Number of values, at least 1.
        values: u64,
    },
    /// By the hash of the key's first `columns` columns, at least 1. Rows with equal values there
    /// are in one part, in the order of their keys.
    Hashed { columns: u16 },
    /// Each part has all rows.
    Copied,
}

impl PartRule {
    /// Whether the parts are copies of each other.
    pub fn is_copied(&self) -> bool {
        matches!(self, Self::Copied)
    }

    /// The values of part `number` of `count`, counted from the smallest; `None` without ranges.
    pub fn values(&self, number: u16, count: u16) -> Option<std::ops::Range<u64>> {
        let Self::Ranges { values, .. } = *self else { return None };
        let from = |number: u16| {
            let from = (u128::from(values) * u128::from(number)).div_ceil(u128::from(count));
            u64::try_from(from).expect("it is no more than all values")
        };
        Some(from(number)..from(number + 1))
    }

    /// The part, of `count`, for a value of the first column; `None` without ranges.
    pub fn part_of(&self, value: i64, count: u16) -> Option<u16> {
        let Self::Ranges { smallest, values } = *self else { return None };
        let last = i128::from(values) - 1;
        let distance = (i128::from(value) - i128::from(smallest)).clamp(0, last);
        Some((distance * i128::from(count) / i128::from(values)) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_value_is_in_the_range_of_its_part(
            smallest: i32, values in 1_u64..10_000, count in 1_u16..20, value: i32,
        ) {
            let rule = PartRule::Ranges { smallest: smallest.into(), values };
            let part = rule.part_of(value.into(), count).expect("it goes by ranges");
            prop_assert!(part < count);
            let distance = (i64::from(value) - i64::from(smallest)).clamp(0, values as i64 - 1);
            let range = rule.values(part, count).expect("it goes by ranges");
            prop_assert!(range.contains(&(distance as u64)), "{range:?}");
        }
    }

    #[test]
    fn parts_are_as_large_as_each_other() {
        let rule = PartRule::Ranges { smallest: 1, values: 10 };
        let ranges: Vec<_> = (0..4).filter_map(|number| rule.values(number, 4)).collect();
        assert_eq!(ranges, [0..3, 3..5, 5..8, 8..10]);
        assert_eq!(PartRule::Hashed { columns: 1 }.values(0, 4), None);
        assert_eq!(PartRule::Copied.values(0, 4), None);
    }
}
