//! The encoding of numbers that processes send to the one that checks for all.
//!
//! Decision: docs/decisions/0096-one-clock-per-process-ordered-by-the-hosts-clock.md

use crate::error::WorkloadError;
use std::str::FromStr;

pub(crate) fn write(numbers: &[impl ToString]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Parses exactly N numbers.
pub(crate) fn read<T: FromStr, const N: usize>(testimony: &str) -> Result<[T; N], WorkloadError> {
    let numbers: Result<Vec<T>, _> = testimony.split(' ').map(str::parse).collect();
    let numbers = numbers.ok().and_then(|numbers| <[T; N]>::try_from(numbers).ok());
    numbers.ok_or_else(|| WorkloadError::Testimony(format!("`{testimony}` is not {N} numbers")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_arrive_as_they_are_and_nothing_else_does() {
        let numbers = [-3, i64::MAX];
        assert_eq!(read::<i64, 2>(&write(&numbers)).expect("they were written"), numbers);
        for wrong in ["", "1", "1 2 3", "1 x", "1  2"] {
            assert!(read::<i64, 2>(wrong).is_err(), "{wrong}");
        }
        assert!(read::<u64, 1>("-1").is_err());
    }
}
