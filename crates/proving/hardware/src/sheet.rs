//! A section of a profile during parsing: the parser takes each key once, and refuses keys that are
//! left over.

use crate::number::{Basis, Number};
use std::collections::BTreeMap;

/// Picoseconds of a nanosecond.
pub(crate) const NANOSECOND_PS: f64 = 1000.0;
/// The longest time a profile may have: a second.
const NANOSECONDS_MAX: f64 = 1e9;
/// The largest count, size or rate a profile may have: the range of integers that a double
/// represents exactly.
const WHOLE_MAX: f64 = 9e15;

/// The keys of a section that the parser has not taken yet.
pub(crate) struct Sheet<'a> {
    name: &'static str,
    left: BTreeMap<&'a str, &'a Number>,
    /// The first error found.
    problem: Option<String>,
}

impl<'a> Sheet<'a> {
    pub(crate) fn new(name: &'static str, numbers: &'a BTreeMap<String, Number>) -> Self {
        let mut sheet = Self {
            name,
            left: numbers.iter().map(|(key, number)| (key.as_str(), number)).collect(),
            problem: None,
        };
        for (key, number) in numbers {
            if number.source.trim().is_empty() {
                sheet.refuse(key, "has no source; write where the number comes from");
            }
            match (number.basis, number.fits.is_empty()) {
                (Basis::Fitted, true) => {
                    sheet.refuse(key, "is fitted, but `fits` names no published result");
                }
                (Basis::Fitted, false) | (_, true) => {}
                (_, false) => sheet.refuse(key, "has `fits`, which is for fitted numbers only"),
            }
        }
        sheet
    }

    fn refuse(&mut self, key: &str, what: &str) {
        let sentence = format!("{}.{key} {what}", self.name);
        self.problem.get_or_insert(sentence);
    }

    fn take(&mut self, key: &str) -> f64 {
        match self.left.remove(key) {
            Some(number) => number.value,
            None => {
                self.refuse(
                    key,
                    "is missing; add `{ value = .., basis = \"..\", source = \"..\" }`",
                );
                0.0
            }
        }
    }

    /// Takes a time in picoseconds; the key ends with `_ns`.
    pub(crate) fn picoseconds(&mut self, key: &str) -> u64 {
        debug_assert!(key.ends_with("_ns"));
        let value = self.take(key);
        if !(0.0..=NANOSECONDS_MAX).contains(&value) {
            self.refuse(key, "must be from 0 to 1,000,000,000 nanoseconds");
            return 0;
        }
        (value * NANOSECOND_PS + 0.5) as u64
    }

    /// Takes a whole number of at least `least`: a count, bytes, or bytes per second.
    pub(crate) fn whole(&mut self, key: &str, least: u64) -> u64 {
        let value = self.take(key);
        let is_whole =
            value >= least as f64 && value <= WHOLE_MAX && value == (value as u64) as f64;
        if !is_whole {
            self.refuse(key, &format!("must be a whole number, at least {least}"));
            return least;
        }
        value as u64
    }

    /// Ends the section and returns the first error, if any.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        if let Some(key) = self.left.keys().next().copied() {
            self.refuse(key, "is not a key of a profile; compare with the other profiles");
        }
        self.problem.take().map_or(Ok(()), Err)
    }
}
