//! Parses numbers of machines.

use simulated_cluster::MACHINES_MAX;
use std::str::FromStr;

/// Minimal number of machines: a single one has no other machine to reach.
const MACHINES_MIN: u16 = 2;

/// Numbers of machines, distinct and ascending.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machines(pub Vec<u16>);

impl FromStr for Machines {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all = Vec::new();
        for part in text.split(',') {
            match part.split_once("..") {
                None => all.push(number(part)?),
                Some((first, last)) => {
                    let (first, last) = (number(first)?, number(last)?);
                    if first > last {
                        return Err(format!("{part} is descending; use {last}..{first}"));
                    }
                    let doubled = std::iter::successors(Some(first), |count| Some(2 * count));
                    all.extend(doubled.take_while(|&count| count < last));
                    all.push(last);
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        Ok(Self(all))
    }
}

fn number(text: &str) -> Result<u16, String> {
    match text.trim().parse() {
        Ok(count) if (MACHINES_MIN..=MACHINES_MAX).contains(&count) => Ok(count),
        _ => Err(format!(
            "a cluster has {MACHINES_MIN} to {MACHINES_MAX} machines, not {text:?}; examples: 5, or 5,50, or \
             5..50"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_read() {
        let read = |text: &str| text.parse::<Machines>().map(|machines| machines.0);
        assert_eq!(read("5"), Ok(vec![5]));
        assert_eq!(read("50,5, 5"), Ok(vec![5, 50]));
        assert_eq!(read("5..50"), Ok(vec![5, 10, 20, 40, 50]));
        assert_eq!(read("3..3,8..16"), Ok(vec![3, 8, 16]));
        for wrong in ["", "1", "5..", "5-50", "-3", "201", "many", "5..50..60"] {
            let said = read(wrong).expect_err(wrong);
            assert!(said.starts_with("a cluster has 2 to 200 machines"), "{said}");
        }
        assert_eq!(read("50..5"), Err("50..5 is descending; use 5..50".to_owned()));
    }
}
