//! The rows that a window function sees, for each row of a partition.

use sql_value::Value;
use sql_value::order::order;
use std::cmp::Ordering;
use std::ops::Range;

/// Rows of a partition that are equal in the window's order.
pub(super) struct Peers {
    /// The group of each row.
    of_row: Vec<usize>,
    /// The first row of each group, and the number of rows.
    starts: Vec<usize>,
}

impl Peers {
    /// Groups sorted rows by these columns.
    pub fn of<'r>(rows: impl Iterator<Item = &'r [Value]>, columns: &[usize]) -> Self {
        let (mut of_row, mut starts) = (Vec::new(), Vec::new());
        let mut last: Option<&[Value]> = None;
        for (at, row) in rows.enumerate() {
            let is_same = |last: &[Value]| {
                columns.iter().all(|&column| order(&last[column], &row[column]).is_eq())
            };
            if !last.is_some_and(is_same) {
                starts.push(at);
            }
            of_row.push(starts.len() - 1);
            last = Some(row);
        }
        starts.push(of_row.len());
        Self { of_row, starts }
    }

    /// Number of rows of the partition.
    pub fn len(&self) -> usize {
        self.of_row.len()
    }

    /// The number of a row's group.
    pub fn group(&self, row: usize) -> usize {
        self.of_row[row]
    }

    /// The rows that are equal to a row.
    pub fn around(&self, row: usize) -> Range<usize> {
        let group = self.of_row[row];
        self.starts[group]..self.starts[group + 1]
    }

    /// The first row of a group, or the end of the partition.
    fn start(&self, group: usize) -> usize {
        self.starts[group.min(self.starts.len() - 1)]
    }
}

/// A bound of a frame, with its distance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameEdge {
    Unbounded,
    CurrentRow,
    Preceding(usize),
    Following(usize),
}

/// The values of the key of a range, sorted, and those at both bounds for each row.
pub(super) struct RangeKeys {
    pub keys: Vec<Value>,
    pub starts: Option<Vec<Value>>,
    pub ends: Option<Vec<Value>>,
    pub descending: bool,
    /// The keys that are not null; nulls are all at one end.
    pub places: Range<usize>,
}

/// The unit of a frame.
pub(super) enum Unit {
    Rows,
    Groups,
    /// `None` without distances.
    Range(Option<RangeKeys>),
}

/// The frames of a partition's rows.
pub(super) struct Frames<'p> {
    pub peers: &'p Peers,
    pub unit: Unit,
    pub start: FrameEdge,
    pub end: FrameEdge,
}

impl Frames<'_> {
    /// The frame of a row; it may be empty.
    pub fn of(&self, row: usize) -> Range<usize> {
        let (start, end) = match &self.unit {
            Unit::Rows => (self.start_in_rows(row), self.end_in_rows(row)),
            Unit::Groups => (self.start_in_groups(row), self.end_in_groups(row)),
            Unit::Range(keys) => {
                (self.start_in_range(keys.as_ref(), row), self.end_in_range(keys.as_ref(), row))
            }
        };
        let end = end.min(self.peers.len());
        start.min(end)..end
    }

    fn start_in_rows(&self, row: usize) -> usize {
        match self.start {
            FrameEdge::Unbounded => 0,
            FrameEdge::CurrentRow => row,
            FrameEdge::Preceding(distance) => row.saturating_sub(distance),
            FrameEdge::Following(distance) => row.saturating_add(distance),
        }
    }

    fn end_in_rows(&self, row: usize) -> usize {
        match self.end {
            FrameEdge::Unbounded => self.peers.len(),
            FrameEdge::CurrentRow => row + 1,
            FrameEdge::Preceding(distance) => (row + 1).saturating_sub(distance),
            FrameEdge::Following(distance) => (row + 1).saturating_add(distance),
        }
    }

    fn start_in_groups(&self, row: usize) -> usize {
        let group = self.peers.group(row);
        match self.start {
            FrameEdge::Unbounded => 0,
            FrameEdge::CurrentRow => self.peers.start(group),
            FrameEdge::Preceding(distance) => self.peers.start(group.saturating_sub(distance)),
            FrameEdge::Following(distance) => self.peers.start(group.saturating_add(distance)),
        }
    }

    fn end_in_groups(&self, row: usize) -> usize {
        let group = self.peers.group(row);
        match self.end {
            FrameEdge::Unbounded => self.peers.len(),
            FrameEdge::CurrentRow => self.peers.start(group + 1),
            FrameEdge::Preceding(distance) => {
                self.peers.start((group + 1).saturating_sub(distance))
            }
            FrameEdge::Following(distance) => {
                self.peers.start((group + 1).saturating_add(distance))
            }
        }
    }

    fn start_in_range(&self, keys: Option<&RangeKeys>, row: usize) -> usize {
        match (self.start, keys) {
            (FrameEdge::Unbounded, _) => 0,
            (FrameEdge::Preceding(_) | FrameEdge::Following(_), Some(keys)) => {
                match keys.starts.as_ref().map(|starts| &starts[row]) {
                    Some(bound) if !bound.is_null() => {
                        keys.place(|key| keys.compare(key, bound).is_lt())
                    }
                    _ => self.peers.around(row).start,
                }
            }
            _ => self.peers.around(row).start,
        }
    }

    fn end_in_range(&self, keys: Option<&RangeKeys>, row: usize) -> usize {
        match (self.end, keys) {
            (FrameEdge::Unbounded, _) => self.peers.len(),
            (FrameEdge::Preceding(_) | FrameEdge::Following(_), Some(keys)) => {
                match keys.ends.as_ref().map(|ends| &ends[row]) {
                    Some(bound) if !bound.is_null() => {
                        keys.place(|key| keys.compare(key, bound).is_le())
                    }
                    _ => self.peers.around(row).end,
                }
            }
            _ => self.peers.around(row).end,
        }
    }
}

impl RangeKeys {
    /// The order of two keys in the partition.
    fn compare(&self, one: &Value, other: &Value) -> Ordering {
        let found = order(one, other);
        if self.descending { found.reverse() } else { found }
    }

    /// The first key that is not null and not `before`.
    fn place(&self, before: impl Fn(&Value) -> bool) -> usize {
        self.places.start + self.keys[self.places.clone()].partition_point(before)
    }

    /// The keys that are not null.
    pub fn places(keys: &[Value]) -> Range<usize> {
        let first = keys.iter().position(|key| !key.is_null()).unwrap_or(keys.len());
        first..first + keys[first..].iter().take_while(|key| !key.is_null()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(numbers: &[Option<i64>]) -> Vec<Vec<Value>> {
        let value = |number: &Option<i64>| vec![number.map_or(Value::Null, Value::Int)];
        numbers.iter().map(value).collect()
    }

    fn frames(
        keys: &[Option<i64>],
        unit: Unit,
        start: FrameEdge,
        end: FrameEdge,
    ) -> Vec<Range<usize>> {
        let rows = values(keys);
        let peers = Peers::of(rows.iter().map(Vec::as_slice), &[0]);
        let frames = Frames { peers: &peers, unit, start, end };
        (0..keys.len()).map(|row| frames.of(row)).collect()
    }

    const KEYS: [Option<i64>; 5] = [Some(1), Some(2), Some(2), Some(5), None];

    #[test]
    fn rows_and_groups_are_counted_from_the_row() {
        let (one, two) = (FrameEdge::Preceding(1), FrameEdge::Following(1));
        assert_eq!(frames(&KEYS, Unit::Rows, one, two), [0..2, 0..3, 1..4, 2..5, 3..5]);
        assert_eq!(frames(&KEYS, Unit::Groups, one, two), [0..3, 0..4, 0..4, 1..5, 3..5]);
        let far = FrameEdge::Following(usize::MAX);
        assert_eq!(
            frames(&KEYS, Unit::Rows, far, FrameEdge::Unbounded),
            [5..5, 5..5, 5..5, 5..5, 5..5]
        );
        let before = FrameEdge::Preceding(3);
        assert_eq!(
            frames(&KEYS, Unit::Groups, before, FrameEdge::Preceding(2)),
            [0..0, 0..0, 0..0, 0..1, 0..3]
        );
    }

    #[test]
    fn ranges_are_distances_of_keys_and_nulls_are_peers_of_nulls() {
        let shifted = |by: i64| {
            let value = |key: &Option<i64>| key.map_or(Value::Null, |key| Value::Int(key + by));
            Some(KEYS.iter().map(value).collect())
        };
        let keys: Vec<Value> = values(&KEYS).into_iter().flatten().collect();
        let range = RangeKeys {
            places: RangeKeys::places(&keys),
            keys,
            starts: shifted(-1),
            ends: shifted(3),
            descending: false,
        };
        let (start, end) = (FrameEdge::Preceding(1), FrameEdge::Following(3));
        let found = frames(&KEYS, Unit::Range(Some(range)), start, end);
        assert_eq!(found, [0..3, 0..4, 0..4, 3..4, 4..5]);
        let bounds = (FrameEdge::Unbounded, FrameEdge::CurrentRow);
        assert_eq!(
            frames(&KEYS, Unit::Range(None), bounds.0, bounds.1),
            [0..1, 0..3, 0..3, 0..4, 0..5]
        );
    }
}
