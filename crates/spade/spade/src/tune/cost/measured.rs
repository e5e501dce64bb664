//! Measured cost of an operation on a table as a plan stores it.

use super::line::{Setting, USUAL_LOAD, USUAL_NODE, USUAL_ROW, USUAL_SLOTS};
use super::vector::Cost;
use crate::measurement::{AccessPath, Operation, Place};
use crate::tune::model::{Model, TablePlan};
use crate::tune::search::candidates::{IndexStorage, KeyPlacement};
use crate::tune::workload::profile::Request;
use layout::{IndexKind, Storage};

/// Rows of the batched lookup from which the cost of a further row is derived.
const BATCH_ROWS: f64 = 16.0;

impl Model<'_> {
    /// The shares of local rows and index entries. Both are 0 if memory servers are separate
    /// machines, because then all rows are remote.
    pub fn near(&self, shares: (f64, f64)) -> (f64, f64) {
        if self.surface.has(Place::Local) { shares } else { (0.0, 0.0) }
    }

    /// The cost of an operation on a table, or on its only index.
    pub fn cost(
        &self,
        number: usize,
        table: &TablePlan,
        operation: Operation,
        path: AccessPath,
        place: Place,
        rows: f64,
    ) -> Option<Cost> {
        let choice = &table.choice;
        // If memory servers are separate machines, all rows are remote.
        let place = match place {
            Place::Local if !self.surface.has(Place::Local) => Place::OneSided,
            other => other,
        };
        let node_bytes = match (path, choice.storage) {
            (AccessPath::SecondaryTree, _) => table
                .indexes
                .iter()
                .find(|index| index.kind == IndexKind::Tree)
                .map_or(USUAL_NODE, |index| index.node_bytes),
            (_, Storage::Tree) => choice.node_bytes,
            _ => 0,
        };
        self.surface.cost(&Setting {
            operation,
            path,
            place,
            rows,
            storage: choice.storage,
            row_bytes: self.shapes[number].row_bytes(),
            slots: choice.slots,
            load_percent: match choice.placing {
                KeyPlacement::Hashed(load) => Some(load),
                _ => None,
            },
            node_bytes,
            replicas: self.replicas,
        })
    }

    /// [`Model::cost`] through one of several indexes.
    pub fn indexed(
        &self,
        request: &Request,
        table: &TablePlan,
        operation: Operation,
        path: AccessPath,
        index: usize,
        place: Place,
    ) -> Option<Cost> {
        let only = TablePlan { indexes: vec![table.indexes[index]], ..table.clone() };
        let rows = if operation == Operation::Scan { request.rows } else { 1.0 };
        self.cost(request.table, &only, operation, path, place, rows)
    }

    /// The fixed cost of a batch: the cost of a single lookup minus that of a further row in a
    /// batch.
    pub fn batch(&self, storage: Storage, place: Place) -> Option<Cost> {
        let (slots, load_percent) =
            if storage == Storage::Tree { (0, None) } else { (USUAL_SLOTS, Some(USUAL_LOAD)) };
        let setting = Setting {
            operation: Operation::Lookup,
            path: AccessPath::Primary,
            place,
            rows: 1.0,
            storage,
            row_bytes: USUAL_ROW,
            slots,
            load_percent,
            node_bytes: if storage == Storage::Tree { USUAL_NODE } else { 0 },
            replicas: 1,
        };
        let alone = self.surface.cost(&setting)?;
        // In the measured batches, consecutive rows of a tree share leaves; rows of a workload may
        // not. So the cost of a further row is that of a bucket.
        let setting = match storage {
            Storage::Tree => Setting {
                storage: Storage::HashOutside,
                slots: USUAL_SLOTS,
                load_percent: Some(USUAL_LOAD),
                node_bytes: 0,
                ..setting
            },
            _ => setting,
        };
        let one = self.surface.cost(&setting)?;
        let many = self.surface.cost(&Setting { rows: BATCH_ROWS, ..setting })?;
        let further = many.minus(&one).times(1.0 / (BATCH_ROWS - 1.0));
        Some(alone.minus(&further).at_least_zero())
    }
}

pub fn path_of(index: IndexStorage) -> AccessPath {
    match index.kind {
        IndexKind::Hash => AccessPath::SecondaryHash,
        IndexKind::Tree => AccessPath::SecondaryTree,
    }
}
