//! Cost of one operation of a procedure: reading, batches, and writing rows and index entries.

use super::line::{USUAL_LOAD, USUAL_SLOTS};
use super::measured::path_of;
use super::vector::Cost;
use crate::measurement::{AccessPath, Operation, Place};
use crate::tune::model::{Model, Plan, TablePlan};
use crate::tune::search::candidates::{Choice, Placing};
use crate::tune::workload::accesses::{Ask, Kind};
use layout::Storage;

/// What an operation costs at a place.
#[derive(Clone, Copy, Default)]
pub struct Parts {
    /// Finding its rows, as one of many in a batch.
    pub each: Cost,
    /// What a batch of remote rows costs beside.
    pub batch: Cost,
    /// What a call whose rows are all local costs beside, once.
    pub fixed: Cost,
    /// Writing.
    pub write: Cost,
}

impl Parts {
    /// The same with such shares of reading each row, and of the batch.
    pub fn read(self, (each, batch): (f64, f64)) -> Self {
        Self { each: self.each.times(each), batch: self.batch.times(batch), ..self }
    }
}

impl Model<'_> {
    /// An operation's parts where rows and entries are local with such shares.
    pub fn mixed(&self, plan: &Plan, ask: &Ask, rows: f64, entries: f64) -> Option<Parts> {
        let at = |row, entry| self.parts(plan, ask, row, entry);
        let by_rows = |entry| match rows {
            rows if rows >= 1.0 => at(Place::Local, entry),
            rows if rows <= 0.0 => at(Place::OneSided, entry),
            rows => {
                let (local, remote) = (at(Place::Local, entry)?, at(Place::OneSided, entry)?);
                Some(Parts {
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
                Some(Parts {
                    each: local.each.mixed(entries, &remote.each),
                    batch: remote.batch,
                    fixed: local.fixed,
                    write: local.write.mixed(entries, &remote.write),
                })
            }
        }
    }

    fn parts(&self, plan: &Plan, ask: &Ask, row: Place, entry: Place) -> Option<Parts> {
        let table = &plan.tables[ask.table];
        let of = |operation, path, place, rows| {
            self.cost(ask.table, table, operation, path, place, rows)
        };
        let lookup = of(Operation::Lookup, AccessPath::Primary, row, 1.0)?;
        let beside = self.batch(table.choice.storage, row)?;
        let each = lookup.minus(&beside).at_least_nothing();
        let nothing = Cost::default();
        let (batch, fixed) =
            if row == Place::Local { (nothing, beside) } else { (beside, nothing) };
        let none = Parts::default();
        let maintained = |operation: Operation| {
            let plain = of(operation, AccessPath::Primary, entry, 1.0)?;
            let mut each = ask.touched.iter().map(|index| {
                let path = path_of(table.indexes[*index]);
                let cost = self.indexed(ask, table, operation, path, *index, entry)?;
                Some(cost.minus(&plain).at_least_nothing())
            });
            each.try_fold(Cost::default(), |sum, cost| Some(sum.plus(&cost?)))
        };
        let writing = |operation: Operation| {
            let write = of(operation, AccessPath::Primary, row, 1.0)?;
            Some(write.minus(&lookup).at_least_nothing())
        };
        Some(match ask.kind {
            Kind::Lookup => Parts { each, batch, fixed, ..none },
            Kind::IndexLookup(index) => self.through_index(ask, table, index, (row, entry))?,
            Kind::Scan(None) => {
                let scan = self.in_order(plan, ask, row)?;
                Parts { each: scan.minus(&fixed).at_least_nothing(), fixed, ..none }
            }
            Kind::Scan(Some(index)) => {
                let worse = if row == Place::Local { entry } else { row };
                let path = AccessPath::SecondaryTree;
                let scan = self.indexed(ask, table, Operation::Scan, path, index, worse)?;
                let fixed = if worse == Place::Local { fixed } else { nothing };
                Parts { each: scan.minus(&fixed).at_least_nothing(), fixed, ..none }
            }
            Kind::Everything => {
                let rows = self.shapes[ask.table].rows as f64;
                Parts { each: each.times(rows), batch, fixed, ..none }
            }
            Kind::Insert if self.keeps_leaves(table) => {
                let kept = self.kept_insert(table, ask, row, (each, batch))?;
                Parts { write: kept.write.plus(&maintained(Operation::Insert)?), ..kept }
            }
            Kind::Insert => {
                let mut write = writing(Operation::Insert)?;
                write.machines.atomics_ns *= self.leaves(table, ask);
                let write = write.plus(&maintained(Operation::Insert)?);
                Parts { each, batch, fixed, write }
            }
            Kind::Delete => {
                let write = writing(Operation::Delete)?.plus(&maintained(Operation::Delete)?);
                Parts { write, ..none }
            }
            Kind::Update => {
                let mut write = writing(Operation::Update)?;
                if !ask.touched.is_empty() {
                    write = write.plus(&maintained(Operation::Insert)?);
                    write = write.plus(&maintained(Operation::Delete)?);
                }
                Parts { write, ..none }
            }
        })
    }

    /// A row that is added to a leaf which may be kept: as measured nothing was read, and what a call costs beside is in it. What it takes
    /// to find a row, and to wait for a batch of them, is given; whoever finds nothing in a leaf reads no row behind it.
    fn kept_insert(
        &self,
        table: &TablePlan,
        ask: &Ask,
        row: Place,
        (each, batch): (Cost, Cost),
    ) -> Option<Parts> {
        let fixed = self.batch(Storage::Tree, Place::Local)?;
        let insert =
            self.cost(ask.table, table, Operation::Insert, AccessPath::Primary, row, 1.0)?;
        let write = insert.minus(&fixed).at_least_nothing().of_leaves(self.leaves(table, ask));
        let (rows, beside) = self.one_row(ask.table, row)?;
        let each = each.minus(&rows).at_least_nothing();
        let batch = batch.minus(&beside).at_least_nothing();
        Some(Parts { each, batch, fixed, write })
    }

    /// A look-up through an index whose entry and row are at these places: the row's one first.
    fn through_index(
        &self,
        ask: &Ask,
        table: &TablePlan,
        index: usize,
        (row, entry): (Place, Place),
    ) -> Option<Parts> {
        let path = path_of(table.indexes[index]);
        let through = self.indexed(ask, table, Operation::Lookup, path, index, row)?;
        // An index leads to the row itself, which is one read wherever it lives.
        let beside = self.batch(Storage::HashInlined, row)?;
        let read = through.minus(&self.entry(ask, table, index, row)?).minus(&beside);
        let read = read.at_least_nothing().times(ask.rows);
        let each = self.entry(ask, table, index, entry)?.plus(&read);
        let none = Parts { each, ..Parts::default() };
        Some(match row {
            Place::Local => Parts { fixed: beside, ..none },
            _ => Parts { batch: beside, ..none },
        })
    }

    /// What finding an entry of an index costs, without the row: as measured with rows that are inlined, since those of other storages are
    /// not found through it as they are without it.
    fn entry(&self, ask: &Ask, table: &TablePlan, index: usize, place: Place) -> Option<Cost> {
        let choice = Choice {
            storage: Storage::HashInlined,
            slots: USUAL_SLOTS,
            placing: Placing::Hashed(USUAL_LOAD),
            node_bytes: 0,
        };
        let inlined = TablePlan { choice, ..table.clone() };
        let path = path_of(table.indexes[index]);
        let through = self.indexed(ask, &inlined, Operation::Lookup, path, index, place)?;
        let direct =
            self.cost(ask.table, &inlined, Operation::Lookup, AccessPath::Primary, place, 1.0)?;
        Some(through.minus(&direct).at_least_nothing())
    }
}
