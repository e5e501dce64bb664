//! Identities and places: the database, its starts, its segments, and positions in them.

use std::fmt;

/// The random identity of a database, drawn when it is created. Files of another database are
/// refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DatabaseId(pub [u8; 16]);

impl fmt::Display for DatabaseId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for DatabaseId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The number of a start of the database, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Incarnation(pub u32);

/// A byte of the log: of a block's or a group record's first byte, or behind the last one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position {
    /// The number of the segment, counted from 1.
    pub segment: u64,
    /// The offset in its file.
    pub offset: u64,
}

impl Position {
    /// The begin of the log of a new database.
    pub const START: Self = Self { segment: 1, offset: crate::segment::BLOCKS };
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "byte {} of segment {}", self.offset, self.segment)
    }
}

/// The name of a segment's file.
pub fn file_name(segment: u64) -> String {
    format!("redo-{segment:010}.log")
}

/// The segment that is stored in a file of this name; `None` for files of other kinds.
pub fn segment_of(name: &str) -> Option<u64> {
    let number = name.strip_prefix("redo-")?.strip_suffix(".log")?;
    let segment = number.parse().ok()?;
    (file_name(segment) == name && segment > 0).then_some(segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_segments_lead_to_segments() {
        for segment in [1, 77, 9_999_999_999, u64::MAX] {
            assert_eq!(segment_of(&file_name(segment)), Some(segment));
        }
        for name in ["redo-1.log", "redo-0000000000.log", "redo-.log", "redo-+000000001.log"] {
            assert_eq!(segment_of(name), None, "{name}");
        }
        assert_eq!(segment_of("lost-redo-0000000001.log"), None);
    }
}
