//! Trees that calls add rows to: which leaves are read for that, and which rows stand apart in memory.
//!
//! ```text
//! leaf                |  a  b  c  d  |        a lane that has just added to it has it, and reads nothing
//! in order of memory  a b c d                 as loaded, or added by one call: read together
//! added anywhere      c     a        d   b    each by a lane, at a time: read one by one
//! ```

use super::asked::{Ask, Kind};
use super::candidate::IndexChoice;
use super::cost::Cost;
use super::line::{Setting, USUAL_LOAD};
use super::model::{Model, Plan, TablePlan};
use crate::measurement::{AccessPath, Operation, Place};
use layout::leaf::LeafLayout;
use layout::{IndexKind, Storage};

impl Model<'_> {
    /// Whether inserts were measured by lanes that keep the leaves that they add to.
    pub fn keeps_leaves(&self, table: &TablePlan) -> bool {
        // Real clusters read leaves anew.
        table.choice.storage == Storage::Tree && self.surface.clock().is_some()
    }

    /// How much of its reading an operation does: all of it, but a leaf that it adds to may be kept.
    pub fn is_read(&self, plan: &Plan, number: usize, ask: &Ask) -> f64 {
        let table = &plan.tables[ask.table];
        if ask.kind != Kind::Insert || !self.keeps_leaves(table) {
            return 1.0;
        }
        let rows = self.shapes[ask.table].leaf_rows(&table.choice, None);
        let crowd = rows.and_then(|rows| self.crowds.leaves((ask.table, None), rows, number));
        crowd.map_or(1.0, |crowd| crowd.anew * self.leaves(table, ask))
    }

    /// What a range of the primary key costs. As measured, rows follow each other in memory, and are read together as far as they do.
    pub fn in_order(&self, plan: &Plan, ask: &Ask, place: Place) -> Option<Cost> {
        let table = &plan.tables[ask.table];
        let together =
            self.cost(ask.table, table, Operation::Scan, AccessPath::Primary, place, ask.rows)?;
        let apart = self.apart(plan, ask.table);
        if apart <= 0.0 {
            return Some(together);
        }
        // Rows that an index leads to are read one by one.
        let index = IndexChoice { kind: IndexKind::Tree, node_bytes: table.choice.node_bytes };
        let only = TablePlan { indexes: vec![index], ..table.clone() };
        let path = AccessPath::SecondaryTree;
        let each = self.cost(ask.table, &only, Operation::Scan, path, place, ask.rows);
        Some(each.map_or(together, |each| each.mixed(apart, &together)))
    }

    /// The share of a table's rows that do not stand behind the one before by key: of those that calls add, as many as come to a leaf that
    /// their lane has not added to just before.
    fn apart(&self, plan: &Plan, table: usize) -> f64 {
        let Some(rows) = self.shapes[table].leaf_rows(&plan.tables[table].choice, None) else {
            return 0.0;
        };
        let (mut apart, mut all) = (0.0, 0.0);
        for (number, of) in self.asked.iter().enumerate() {
            let adds = |ask: &&Ask| ask.table == table && ask.kind == Kind::Insert;
            for ask in of.asks.iter().filter(adds) {
                let crowd = self.crowds.leaves((table, None), rows, number);
                let first = if ask.follows { ask.times.min(1.0) } else { ask.times };
                apart += of.share * first * crowd.map_or(0.0, |crowd| crowd.anew);
                all += of.share * ask.times;
            }
        }
        if all > 0.0 { apart / all } else { 0.0 }
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
            load_percent: Some(USUAL_LOAD),
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
