//! Sizes in bytes: a number, or a text with a unit.

use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;
use std::fmt;

/// Units with their shifts.
const UNITS: [(&str, u32); 4] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];

/// Writes the largest unit that divides the number.
pub fn serialize<S: Serializer>(bytes: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    let unit = UNITS.iter().rev().find(|(_, shift)| bytes.trailing_zeros() >= *shift);
    match unit {
        Some((name, shift)) if *bytes > 0 => {
            serializer.serialize_str(&format!("{} {name}", bytes >> shift))
        }
        _ => serializer.serialize_u64(*bytes),
    }
}

/// Parses `4294967296`, `"4 GiB"` or `"4GiB"`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(SizeVisitor)
}

struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = u64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number of bytes, or a text such as \"4 GiB\"")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        u64::try_from(number)
            .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        parse(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

fn parse(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let number: u64 = digits.parse().ok()?;
    let unit = unit.trim();
    if unit.is_empty() {
        return Some(number);
    }
    let (_, shift) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    number.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_or_are_bytes() {
        assert_eq!(parse("4096"), Some(4096));
        assert_eq!(parse("4 GiB"), Some(4 << 30));
        assert_eq!(parse("512mib"), Some(512 << 20));
        assert_eq!(["GiB", "4 GB", "-1", "99999999999 TiB", ""].map(parse), [None; 5]);
    }
}
