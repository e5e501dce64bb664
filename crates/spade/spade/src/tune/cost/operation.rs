//! Cost of one operation of a procedure: reading, batches, and writing rows and index entries.

use super::line::{USUAL_LOAD, USUAL_SLOTS};
use super::measured::path_of;
use super::vector::Cost;
use crate::measurement::{AccessPath, Operation, Place};
use crate::tune::model::{Model, Plan, TablePlan};
use crate::tune::search::candidates::{KeyPlacement, RowStorage};
use crate::tune::workload::profile::{Kind, Request};
use layout::Storage;

/// The cost of an operation, divided by how often each part occurs in a call.
#[derive(Clone, Copy, Default)]
pub struct OperationCost {
    /// Finding one row, as one of many in a batch.
    pub each: Cost,
    /// Fixed cost of a batch with remote rows.
    pub batch: Cost,
    /// Fixed cost of a call without remote rows, once per call.
    pub fixed: Cost,
    /// Writing one row and its index entries.
    pub write: Cost,
}

impl OperationCost {
    /// Scales the cost of reading a row and of waiting for a batch.
    pub fn read(self, (each, batch): (f64, f64)) -> Self {
        Self { each: self.each.times(each), batch: self.batch.times(batch), ..self }
    }
}

impl Model<'_> {
    /// The cost if these shares of rows and of index entries are local.
    pub fn mixed(
        &self,
        plan: &Plan,
        request: &Request,
        rows: f64,
        entries: f64,
    ) -> Option<OperationCost> {
        let at = |row, entry| self.parts(plan, request, row, entry);
        let by_rows = |entry| match rows {
            rows if rows >= 1.0 => at(Place::Local, entry),
            rows if rows <= 0.0 => at(Place::OneSided, entry),
            rows => {
                let (local, remote) = (at(Place::Local, entry)?, at(Place::OneSided, entry)?);
                Some(OperationCost {
                    each: local.each.mixed(rows, &remote.each),
                    batch: remote.batch,
                    fixed: local.fixed,
                    write: local.write.mixed(rows, &remote.write),
                })
            }
        };
        match entries {
            entries if entries >= 1.0 => by_rows(Place::Local),
            entries if entries <= 0.0 => by_rows(Place::OneSided),
            entries => {
                let (local, remote) = (by_rows(Place::Local)?, by_rows(Place::OneSided)?);
                Some(OperationCost {
                    each: local.each.mixed(entries, &remote.each),
                    batch: remote.batch,
                    fixed: local.fixed,
                    write: local.write.mixed(entries, &remote.write),
                })
            }
        }
    }

    fn parts(
        &self,
        plan: &Plan,
        request: &Request,
        row: Place,
        entry: Place,
    ) -> Option<OperationCost> {
        let table = &plan.tables[request.table];
        let of = |operation, path, place, rows| {
            self.cost(request.table, table, operation, path, place, rows)
        };
        let lookup = of(Operation::Lookup, AccessPath::Primary, row, 1.0)?;
        let beside = self.batch(table.choice.storage, row)?;
        let each = lookup.minus(&beside).at_least_zero();
        let nothing = Cost::default();
        let (batch, fixed) =
            if row == Place::Local { (nothing, beside) } else { (beside, nothing) };
        let none = OperationCost::default();
        let maintained = |operation| self.maintenance(request, table, operation, entry);
        let writing = |operation: Operation| {
            let write = of(operation, AccessPath::Primary, row, 1.0)?;
            Some(write.minus(&lookup).at_least_zero())
        };
        Some(match request.kind {
            Kind::Lookup => OperationCost { each, batch, fixed, ..none },
            Kind::IndexLookup(index) => self.through_index(request, table, index, (row, entry))?,
            Kind::Scan(None) => {
                let scan = self.in_order(plan, request, row)?;
                OperationCost { each: scan.minus(&fixed).at_least_zero(), fixed, ..none }
            }
            Kind::Scan(Some(index)) => {
                let worse = if row == Place::Local { entry } else { row };
                let path = AccessPath::SecondaryTree;
                let scan = self.indexed(request, table, Operation::Scan, path, index, worse)?;
                let fixed = if worse == Place::Local { fixed } else { nothing };
                OperationCost { each: scan.minus(&fixed).at_least_zero(), fixed, ..none }
            }
            Kind::Everything => {
                let rows = self.shapes[request.table].rows as f64;
                OperationCost { each: each.times(rows), batch, fixed, ..none }
            }
            Kind::Insert if self.keeps_leaves(table) => {
                let kept = self.kept_insert(table, request, row, (each, batch))?;
                OperationCost { write: kept.write.plus(&maintained(Operation::Insert)?), ..kept }
            }
            Kind::Insert => {
                let mut write = writing(Operation::Insert)?;
                write.machines.atomics_ns *= self.leaves(table, request);
                let write = write.plus(&maintained(Operation::Insert)?);
                OperationCost { each, batch, fixed, write }
            }
            Kind::Delete => {
                let write = writing(Operation::Delete)?.plus(&maintained(Operation::Delete)?);
                OperationCost { write, ..none }
            }
            Kind::Update => {
                let mut write = writing(Operation::Update)?;
                if !request.touched.is_empty() {
                    write = write.plus(&maintained(Operation::Insert)?);
                    write = write.plus(&maintained(Operation::Delete)?);
                }
                OperationCost { write, ..none }
            }
        })
    }

    /// The cost of inserting or deleting the index entries of a row.
    fn maintenance(
        &self,
        request: &Request,
        table: &TablePlan,
        operation: Operation,
        entry: Place,
    ) -> Option<Cost> {
        let plain = self.cost(request.table, table, operation, AccessPath::Primary, entry, 1.0)?;
        let mut each = request.touched.iter().map(|index| {
            let path = path_of(table.indexes[*index]);
            let cost = self.indexed(request, table, operation, path, *index, entry)?;
            Some(cost.minus(&plain).at_least_zero())
        });
        each.try_fold(Cost::default(), |sum, cost| Some(sum.plus(&cost?)))
    }

    /// An insert into a leaf that may be cached. The measured insert read nothing and includes the
    /// fixed cost of a call. `each` and `batch` are the costs of finding a row; a search that finds
    /// no entry in the leaf reads no row.
    fn kept_insert(
        &self,
        table: &TablePlan,
        request: &Request,
        row: Place,
        (each, batch): (Cost, Cost),
    ) -> Option<OperationCost> {
        let fixed = self.batch(Storage::Tree, Place::Local)?;
        let insert =
            self.cost(request.table, table, Operation::Insert, AccessPath::Primary, row, 1.0)?;
        let write = insert.minus(&fixed).at_least_zero().of_leaves(self.leaves(table, request));
        let (rows, beside) = self.one_row(request.table, row)?;
        let each = each.minus(&rows).at_least_zero();
        let batch = batch.minus(&beside).at_least_zero();
        Some(OperationCost { each, batch, fixed, write })
    }

    /// A lookup through an index whose row and entry may be on different machines.
    fn through_index(
        &self,
        request: &Request,
        table: &TablePlan,
        index: usize,
        (row, entry): (Place, Place),
    ) -> Option<OperationCost> {
        let path = path_of(table.indexes[index]);
        let through = self.indexed(request, table, Operation::Lookup, path, index, row)?;
        // The entry points to the row, which takes one read with every storage.
        let beside = self.batch(Storage::HashInlined, row)?;
        let read = through.minus(&self.entry(request, table, index, row)?).minus(&beside);
        let read = read.at_least_zero().times(request.rows);
        let each = self.entry(request, table, index, entry)?.plus(&read);
        let none = OperationCost { each, ..OperationCost::default() };
        Some(match row {
            Place::Local => OperationCost { fixed: beside, ..none },
            _ => OperationCost { batch: beside, ..none },
        })
    }

    /// The cost of finding an index entry without reading its row. It is derived from inlined rows:
    /// with other storages, a lookup by primary key finds the row in another way.
    fn entry(
        &self,
        request: &Request,
        table: &TablePlan,
        index: usize,
        place: Place,
    ) -> Option<Cost> {
        let choice = RowStorage {
            storage: Storage::HashInlined,
            slots: USUAL_SLOTS,
            placing: KeyPlacement::Hashed(USUAL_LOAD),
            node_bytes: 0,
        };
        let inlined = TablePlan { choice, ..table.clone() };
        let path = path_of(table.indexes[index]);
        let through = self.indexed(request, &inlined, Operation::Lookup, path, index, place)?;
        let direct =
            self.cost(request.table, &inlined, Operation::Lookup, AccessPath::Primary, place, 1.0)?;
        Some(through.minus(&direct).at_least_zero())
    }
}
