//! Lines of measured points that differ in one size alone, and the settings that are found between them.
//!
//! Decision: docs/decisions/0250-throughput-is-forecast-from-what-a-lane-waits.md

use super::vector::Cost;
use crate::measurement::{AccessPath, Operation, Parameters, Place, storage_name};
use layout::Storage;
use std::fmt;

/// Slots of a bucket of the usual design.
pub const USUAL_SLOTS: u32 = 8;
/// Its planned load, in percent.
pub const USUAL_LOAD: u32 = 65;
/// Its nodes, in bytes.
pub const USUAL_NODE: u32 = 512;
/// Its rows, in bytes.
pub const USUAL_ROW: f64 = 64.0;
/// Rows of its scans.
const USUAL_SCAN: u32 = 16;

/// An operation on a design.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setting {
    /// What is done.
    pub operation: Operation,
    /// What leads to the rows.
    pub path: AccessPath,
    /// Where it is done.
    pub place: Place,
    /// Rows of a lookup or a scan.
    pub rows: f64,
    /// Where rows live.
    pub storage: Storage,
    /// Bytes of a row beside a key of 8 bytes.
    pub row_bytes: f64,
    /// Slots of a bucket.
    pub slots: u32,
    /// Planned load in percent; none where rows are placed by counting, and no bucket has a chain.
    pub load_percent: Option<u32>,
    /// Bytes of a node, of the table or the index.
    pub node_bytes: u32,
    /// Copies of each row.
    pub replicas: u32,
}

/// A line of points that differ in the size of their rows alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Line {
    /// What is done.
    pub operation: Operation,
    /// What leads to the rows.
    pub path: AccessPath,
    /// Where it is done.
    pub place: Place,
    /// Rows of a lookup or a scan.
    pub rows: u32,
    /// Where rows live.
    pub storage: Storage,
    /// Slots of a bucket; none of trees.
    pub slots: u32,
    /// Planned load in percent; none of trees.
    pub load_percent: u32,
    /// Bytes of a node, if there are nodes.
    pub node_bytes: u32,
    /// Copies of each row.
    pub replicas: u32,
}

/// A setting by which its cost is found again: its line without the usual in place of its own, bits of rows and of their size, and
/// whether rows are placed by counting.
pub type Known = (Line, u64, u64, bool);

impl Setting {
    /// By what its cost is found again.
    pub fn known(&self) -> Known {
        let line = Line {
            operation: self.operation,
            path: self.path,
            place: self.place,
            rows: 0,
            storage: self.storage,
            slots: self.slots,
            load_percent: self.load_percent.unwrap_or_default(),
            node_bytes: self.node_bytes,
            replicas: self.replicas,
        };
        (line, self.rows.to_bits(), self.row_bytes.to_bits(), self.load_percent.is_none())
    }
}

impl Line {
    /// That of a measured point.
    pub fn of(parameters: &Parameters) -> Self {
        Self {
            operation: parameters.operation,
            path: parameters.path,
            place: parameters.place,
            rows: parameters.rows,
            storage: parameters.storage,
            slots: parameters.neighbourhood,
            load_percent: parameters.load_percent,
            node_bytes: parameters.node_bytes,
            replicas: parameters.replicas,
        }
    }

    /// The usual design through the setting's path.
    pub fn usual(setting: &Setting) -> Self {
        let has_nodes =
            setting.storage == Storage::Tree || setting.path == AccessPath::SecondaryTree;
        let (slots, load_percent) = hash_shape(setting.storage);
        Self {
            operation: setting.operation,
            path: setting.path,
            place: setting.place,
            rows: if setting.operation == Operation::Scan { USUAL_SCAN } else { 1 },
            storage: setting.storage,
            slots,
            load_percent,
            node_bytes: if has_nodes { USUAL_NODE } else { 0 },
            replicas: 1,
        }
    }

    /// The usual design through the primary key. Rows that a scan of an index leads to are looked up there.
    pub fn usual_primary(setting: &Setting) -> Self {
        let is_scan = setting.operation == Operation::Scan && setting.storage != Storage::Tree;
        let operation = if is_scan { Operation::Lookup } else { setting.operation };
        Self::usual(&Setting { operation, path: AccessPath::Primary, ..*setting })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let through = match self.path {
            AccessPath::Primary => "the primary key",
            AccessPath::SecondaryHash => "a secondary hash index",
            AccessPath::SecondaryTree => "a secondary tree",
        };
        let (operation, storage, place) = (self.operation, storage_name(self.storage), self.place);
        write!(f, "{operation} through {through} of rows in {storage} ({place})")
    }
}

/// Whether an operation changes nothing.
pub fn is_read(operation: Operation) -> bool {
    matches!(operation, Operation::Lookup | Operation::Scan)
}

/// Where memory is read for an operation at a place.
pub fn carried_out(place: Place) -> Place {
    if place == Place::Shipped { Place::Local } else { place }
}

/// Slots and load of the usual design; nothing of trees.
pub fn hash_shape(storage: Storage) -> (u32, u32) {
    if storage == Storage::Tree { (0, 0) } else { (USUAL_SLOTS, USUAL_LOAD) }
}

/// The cost at a place of a line of points. There is at least one.
pub fn line_at(points: &[(f64, Cost)], at: f64) -> Cost {
    let [first, .., last] = points else { return points[0].1 };
    let (from, to) = if at <= first.0 {
        (first, &points[1])
    } else if at >= last.0 {
        (&points[points.len() - 2], last)
    } else {
        let next = points.iter().position(|point| point.0 >= at).unwrap_or(points.len() - 1);
        (&points[next.max(1) - 1], &points[next.max(1)])
    };
    if to.0 == from.0 {
        return from.1;
    }
    let share = (at - from.0) / (to.0 - from.0);
    to.1.mixed(share, &from.1)
}

/// The cost at a place of a line of points, or at its nearest end.
pub fn line_within(points: &[(f64, Cost)], at: f64) -> Cost {
    let ends = points.first().zip(points.last());
    line_at(points, ends.map_or(at, |(first, last)| at.clamp(first.0, last.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(latency_ns: f64) -> Cost {
        Cost { latency_ns, ..Cost::default() }
    }

    #[test]
    fn between_points_is_a_line_and_beyond_it_goes_on() {
        let points = [(10.0, cost(100.0)), (20.0, cost(200.0)), (40.0, cost(240.0))];
        let at = |at: f64| line_at(&points, at).latency_ns;
        assert_eq!(
            [5.0, 10.0, 15.0, 20.0, 30.0, 60.0].map(at),
            [50.0, 100.0, 150.0, 200.0, 220.0, 280.0]
        );
        assert_eq!(line_at(&points[..1], 99.0).latency_ns, 100.0);
        assert_eq!(line_within(&points, 60.0).latency_ns, 240.0);
        assert_eq!(line_within(&points, 1.0).latency_ns, 100.0);
    }
}
