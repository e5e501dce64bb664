//! Binary search in records that begin with a key.
//!
//! Decision: docs/decisions/0050-the-leaf-cache-is-sorted-chunks-of-words.md

use super::view::is_below;

/// Number of records with a key below `key`. Records are `stride` words long, begin with their
/// keys, and are sorted by them.
#[inline]
pub(super) fn count_below(records: &[u64], stride: usize, key: &[u64]) -> usize {
    let count = records.len() / stride;
    // Most tables have keys of one or two words, and indexes up to four: these compare as one or
    // two numbers.
    match *key {
        [only] => partition(count, |index| records[index * stride] < only),
        [first, second] => {
            let key = wide(first, second);
            partition(count, |index| {
                wide(records[index * stride], records[index * stride + 1]) < key
            })
        }
        [first, second, third] => {
            let key = (wide(first, second), third);
            partition(count, |index| {
                let record = &records[index * stride..][..3];
                is_pair_below((wide(record[0], record[1]), record[2]), key)
            })
        }
        [first, second, third, fourth] => {
            let key = (wide(first, second), wide(third, fourth));
            partition(count, |index| {
                let record = &records[index * stride..][..4];
                is_pair_below((wide(record[0], record[1]), wide(record[2], record[3])), key)
            })
        }
        _ => partition(count, |index| is_below(&records[index * stride..][..key.len()], key)),
    }
}

/// Number of records with a key up to and including `key`.
#[inline]
pub(super) fn count_to(records: &[u64], stride: usize, key: &[u64]) -> usize {
    let below = count_below(records, stride, key);
    let holds = records[below * stride..].starts_with(key);
    below + usize::from(holds)
}

/// The first of `count` positions for which `is_below` is false; it is true for all before.
#[inline]
fn partition(count: usize, is_below: impl Fn(usize) -> bool) -> usize {
    if count == 0 {
        return 0;
    }
    // Always the same number of branch-free steps: the position of a key cannot be predicted.
    let (mut base, mut size) = (0, count);
    while size > 1 {
        let half = size / 2;
        base = std::hint::select_unpredictable(is_below(base + half), base + half, base);
        size -= half;
    }
    base + usize::from(is_below(base))
}

/// Whether one pair sorts before another, without a branch, for [`partition`].
#[inline]
fn is_pair_below<T: Ord>(one: (u128, T), other: (u128, T)) -> bool {
    (one.0 < other.0) | ((one.0 == other.0) & (one.1 < other.1))
}

/// Two words as one number with the same order.
#[inline]
pub(super) fn wide(first: u64, second: u64) -> u128 {
    u128::from(first) << 64 | u128::from(second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_agree_with_counting(
            mut keys in prop::collection::btree_set(prop::collection::vec(0_u64..4, 1..=5), 0..40),
            key in prop::collection::vec(0_u64..4, 1..=5),
        ) {
            keys.retain(|other| other.len() == key.len());
            let stride = key.len() + 1;
            let records: Vec<u64> =
                keys.iter().flat_map(|key| key.iter().copied().chain([9])).collect();
            let below = keys.iter().filter(|other| **other < key).count();
            let to = keys.iter().filter(|other| **other <= key).count();
            prop_assert_eq!(count_below(&records, stride, &key), below);
            prop_assert_eq!(count_to(&records, stride, &key), to);
        }
    }
}
