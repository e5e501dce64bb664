//! Trees that calls add rows to: which leaves are read for that, and which rows stand apart in memory.
//!
//! ```text
//! leaf                |  a  b  c  d  |        a lane that has just added to it has it, and reads nothing
//! in order of memory  a b c d                 as loaded, or added by one call: read together
//! added anywhere      c     a        d   b    each by a lane, at a time: read one by one
//! ```
//!
//! Decision: docs/decisions/0287-inserts-and-ranges-are-charged-for-leaves-and-rows.md

use super::line::{Setting, USUAL_NODE};
use super::vector::Cost;
use crate::measurement::{AccessPath, Operation, Place};
use crate::tune::model::{Model, Plan, TablePlan};
use crate::tune::workload::accesses::{Ask, Kind};
use layout::Storage;
use layout::leaf::LeafLayout;

/// Rows that stand apart, of those of a table that calls add to: after a load that leaves room in leaves two of three have another one before
/// them than in memory, and what is loaded in order and added to becomes so.
const APART: f64 = 2.0 / 3.0;

impl Model<'_> {
    /// Whether inserts were measured by lanes that keep the leaves that they add to.
    pub fn keeps_leaves(&self, table: &TablePlan) -> bool {
        // Real clusters read leaves anew.
        table.choice.storage == Storage::Tree && self.surface.clock().is_some()
    }

    /// Of its reading the shares that an operation does of each row, and of waiting for a batch of them: all, but a leaf that it adds to
    /// may be kept, and is read once for all rows that are added to it.
    pub fn is_read(&self, plan: &Plan, number: usize, ask: &Ask) -> (f64, f64) {
        let table = &plan.tables[ask.table];
        if ask.kind != Kind::Insert || !self.keeps_leaves(table) {
            return (1.0, 1.0);
        }
        let rows = self.shapes[ask.table].leaf_rows(&table.choice, None);
        let crowd = rows.and_then(|rows| self.crowds.leaves((ask.table, None), rows, number));
        let (anew, leaves) = (crowd.map_or(1.0, |crowd| crowd.anew), self.leaves(table, ask));
        let each = anew * leaves;
        let any = 1.0 - libm::pow(1.0 - anew, (ask.times * leaves).max(1.0));
        (each, if ask.is_batch { any } else { each })
    }

    /// What a range of the primary key costs. As measured, rows follow each other in memory, and are read together as far as they do.
    pub fn in_order(&self, plan: &Plan, ask: &Ask, place: Place) -> Option<Cost> {
        let (primary, rows) = (AccessPath::Primary, ask.rows);
        let table = &plan.tables[ask.table];
        let together = self.cost(ask.table, table, Operation::Scan, primary, place, rows)?;
        let apart = self.apart(ask.table);
        if apart <= 0.0 {
            return Some(together);
        }
        // Rows that an index leads to are read one by one.
        let scan = |path: AccessPath| {
            self.surface.found(&Setting {
                operation: Operation::Scan,
                path,
                place,
                rows,
                storage: Storage::Tree,
                row_bytes: self.shapes[ask.table].row_bytes(),
                slots: 0,
                load_percent: None,
                node_bytes: USUAL_NODE,
                replicas: 1,
            })
        };
        let one_by_one = scan(AccessPath::SecondaryTree).zip(scan(primary));
        let more = one_by_one.map(|(each, all)| each.minus(&all).at_least_nothing());
        Some(together.plus(&more.unwrap_or_default().times(apart)))
    }

    /// The share of a table's rows that do not stand in memory behind the one before by key: of those that calls add, all but those that
    /// one call adds in this order, or a client that counts on.
    fn apart(&self, table: usize) -> f64 {
        let (mut apart, mut all) = (0.0, 0.0);
        for (number, of) in self.asked.iter().enumerate() {
            let adds = |ask: &&Ask| ask.table == table && ask.kind == Kind::Insert;
            for ask in of.asks.iter().filter(adds) {
                let runs = if ask.rises { ask.times.max(1.0) } else { 1.0 };
                let is_apart = !self.crowds.counts_on((table, None), number);
                apart += if is_apart { of.share * ask.times / runs } else { 0.0 };
                all += of.share * ask.times;
            }
        }
        if all > 0.0 { APART * apart / all } else { 0.0 }
    }

    /// What reading a row costs that is found at once, as one of many in a batch, and what the batch costs beside.
    pub fn one_row(&self, table: usize, place: Place) -> Option<(Cost, Cost)> {
        let lookup = self.surface.cost(&Setting {
            operation: Operation::Lookup,
            path: AccessPath::Primary,
            place,
            rows: 1.0,
            storage: Storage::HashInlined,
            row_bytes: self.shapes[table].row_bytes(),
            slots: 1,
            // Without a chain.
            load_percent: None,
            node_bytes: 0,
            replicas: 1,
        })?;
        let beside = self.batch(Storage::HashInlined, place)?;
        let each = lookup.minus(&beside).at_least_nothing();
        Some((each, if place == Place::Local { Cost::default() } else { beside }))
    }

    /// Leaves that are locked for each row that is added: rows that follow each other are in one.
    pub fn leaves(&self, table: &TablePlan, ask: &Ask) -> f64 {
        if !ask.follows || table.choice.storage != Storage::Tree || ask.times <= 1.0 {
            return 1.0;
        }
        let row = self.shapes[ask.table].row;
        let leaf = LeafLayout::within(table.choice.node_bytes, row.key_words, 1, row.checksummed);
        ((1.0 + (ask.times - 1.0) / f64::from(leaf.entries)) / ask.times).min(1.0)
    }
}
