//! Lines of measured points that differ only in the size of rows, and interpolation between them.
//!
//! Decision: docs/decisions/0250-throughput-is-forecast-from-what-a-lane-waits.md

use super::vector::Cost;
use crate::measurement::{AccessPath, Operation, Parameters, Place, storage_name};
use layout::Storage;
use std::fmt;

/// Slots of a bucket in the usual design, the one that most points were measured with.
pub const USUAL_SLOTS: u32 = 8;
/// Planned load of the usual design, in percent.
pub const USUAL_LOAD: u32 = 65;
/// Node size of the usual design, in bytes.
pub const USUAL_NODE: u32 = 512;
/// Row size of the usual design, in bytes.
pub const USUAL_ROW: f64 = 64.0;
/// Rows of a scan in the usual design.
const USUAL_SCAN: u32 = 16;

/// An operation on a table design: the arguments of the cost function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setting {
    pub operation: Operation,
    pub path: AccessPath,
    pub place: Place,
    /// Rows of a lookup or scan.
    pub rows: f64,
    pub storage: Storage,
    /// Bytes of a row beside a key of 8 bytes.
    pub row_bytes: f64,
    pub slots: u32,
    /// Planned load in percent. `None` for dense placement, where no bucket has an overflow chain.
    pub load_percent: Option<u32>,
    /// Node size of the table or the index, in bytes.
    pub node_bytes: u32,
    pub replicas: u32,
}

/// Points that differ only in the size of their rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Line {
    pub operation: Operation,
    pub path: AccessPath,
    pub place: Place,
    /// Rows of a lookup or scan.
    pub rows: u32,
    pub storage: Storage,
    /// Slots of a bucket; 0 for trees.
    pub slots: u32,
    /// Planned load in percent; 0 for trees.
    pub load_percent: u32,
    /// Bytes of a node; 0 without nodes.
    pub node_bytes: u32,
    pub replicas: u32,
}

/// The key by which the memo finds the cost of a setting: its other fields as a line, the bits of
/// row count and row size, and whether the placement is dense.
pub type SettingKey = (Line, u64, u64, bool);

impl Setting {
    /// The key for the memo.
    pub fn key(&self) -> SettingKey {
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
    /// The line of a measured point.
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

    /// The line of the usual design with the same operation, path, place and storage.
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

    /// The same line through the primary key. Scans of an index over hashed rows become lookups.
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

pub fn is_read(operation: Operation) -> bool {
    matches!(operation, Operation::Lookup | Operation::Scan)
}

/// Where a shipped operation accesses memory: on the owner's machine.
pub fn executed_at(place: Place) -> Place {
    if place == Place::Shipped { Place::Local } else { place }
}

/// Slots and planned load of the usual design; 0 for trees.
pub fn hash_shape(storage: Storage) -> (u32, u32) {
    if storage == Storage::Tree { (0, 0) } else { (USUAL_SLOTS, USUAL_LOAD) }
}

/// Interpolates at `at`, and extrapolates beyond both ends. `points` is not empty.
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

/// Interpolates at `at`, or returns the nearer end beyond the ends.
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
    fn costs_are_interpolated_and_extrapolated_linearly() {
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
