//! Inserts into trees: which leaves an insert reads, and which rows are out of order in memory.
//!
//! ```text
//! leaf                |  a  b  c  d  |        cached by the lane that inserted last: no read
//! in order of memory  a b c d                 loaded, or inserted by one call: one read for all
//! inserted anywhere   c     a        d   b    by several lanes over time: one read per row
//! ```
//!
//! Decision: docs/decisions/0287-inserts-and-ranges-are-charged-for-leaves-and-rows.md

use super::line::{Setting, USUAL_NODE};
use super::vector::Cost;
use crate::measurement::{AccessPath, Operation, Place};
use crate::tune::model::{Model, Plan, TablePlan};
use crate::tune::workload::profile::{Kind, Request};
use layout::Storage;
use layout::leaf::LeafLayout;

/// Share of out-of-order rows in a table that grows at random keys. After a load that leaves room
/// in leaves, two of three rows have another predecessor by key than in memory; a table that was
/// loaded in order approaches this as it grows.
const APART: f64 = 2.0 / 3.0;

impl Model<'_> {
    /// Whether inserts were measured with cached leaves.
    pub fn keeps_leaves(&self, table: &TablePlan) -> bool {
        // On real clusters an insert reads its leaf again.
        table.choice.storage == Storage::Tree && self.surface.clock().is_some()
    }

    /// The shares of row reads and of batch waits that an operation needs: 1, except for inserts
    /// into cached leaves. All rows that one statement inserts into a leaf share one read.
    pub fn is_read(&self, plan: &Plan, number: usize, request: &Request) -> (f64, f64) {
        let table = &plan.tables[request.table];
        if request.kind != Kind::Insert || !self.keeps_leaves(table) {
            return (1.0, 1.0);
        }
        let rows = self.shapes[request.table].leaf_rows(&table.choice, None);
        let insert_conflicts =
            rows.and_then(|rows| self.insert_sites.leaves((request.table, None), rows, number));
        let (uncached, leaves) = (
            insert_conflicts.map_or(1.0, |insert_conflicts| insert_conflicts.uncached),
            self.leaves(table, request),
        );
        let each = uncached * leaves;
        let any = 1.0 - libm::pow(1.0 - uncached, (request.times * leaves).max(1.0));
        (each, if request.is_batch { any } else { each })
    }

    /// The cost of a range scan of the primary key. In the measurements consecutive rows are
    /// adjacent in memory and are read together; rows out of order are read one by one.
    pub fn in_order(&self, plan: &Plan, request: &Request, place: Place) -> Option<Cost> {
        let (primary, rows) = (AccessPath::Primary, request.rows);
        let table = &plan.tables[request.table];
        let together = self.cost(request.table, table, Operation::Scan, primary, place, rows)?;
        let apart = self.apart(request.table);
        if apart <= 0.0 {
            return Some(together);
        }
        // A scan through a secondary index reads its rows one by one.
        let scan = |path: AccessPath| {
            self.surface.found(&Setting {
                operation: Operation::Scan,
                path,
                place,
                rows,
                storage: Storage::Tree,
                row_bytes: self.shapes[request.table].row_bytes(),
                slots: 0,
                load_percent: None,
                node_bytes: USUAL_NODE,
                replicas: 1,
            })
        };
        let one_by_one = scan(AccessPath::SecondaryTree).zip(scan(primary));
        let more = one_by_one.map(|(each, all)| each.minus(&all).at_least_zero());
        Some(together.plus(&more.unwrap_or_default().times(apart)))
    }

    /// The share of rows that are not adjacent to their predecessor by key: random inserts. Rows
    /// inserted by one call in key order, or by a client that counts up, are adjacent.
    fn apart(&self, table: usize) -> f64 {
        let (mut apart, mut all) = (0.0, 0.0);
        for (number, of) in self.profiles.iter().enumerate() {
            let adds = |request: &&Request| request.table == table && request.kind == Kind::Insert;
            for request in of.requests.iter().filter(adds) {
                let runs = if request.rises { request.times.max(1.0) } else { 1.0 };
                let is_apart = !self.insert_sites.counts_on((table, None), number);
                apart += if is_apart { of.share * request.times / runs } else { 0.0 };
                all += of.share * request.times;
            }
        }
        if all > 0.0 { APART * apart / all } else { 0.0 }
    }

    /// The cost of reading a row without search, as one of many in a batch; and the fixed cost of
    /// the batch.
    pub fn one_row(&self, table: usize, place: Place) -> Option<(Cost, Cost)> {
        let lookup = self.surface.cost(&Setting {
            operation: Operation::Lookup,
            path: AccessPath::Primary,
            place,
            rows: 1.0,
            storage: Storage::HashInlined,
            row_bytes: self.shapes[table].row_bytes(),
            slots: 1,
            // `None`: no chain.
            load_percent: None,
            node_bytes: 0,
            replicas: 1,
        })?;
        let beside = self.batch(Storage::HashInlined, place)?;
        let each = lookup.minus(&beside).at_least_zero();
        Some((each, if place == Place::Local { Cost::default() } else { beside }))
    }

    /// Leaves locked per inserted row: consecutive rows share leaves.
    pub fn leaves(&self, table: &TablePlan, request: &Request) -> f64 {
        if !request.follows || table.choice.storage != Storage::Tree || request.times <= 1.0 {
            return 1.0;
        }
        let row = self.shapes[request.table].row;
        let leaf = LeafLayout::within(table.choice.node_bytes, row.key_words, 1, row.checksummed);
        ((1.0 + (request.times - 1.0) / f64::from(leaf.entries)) / request.times).min(1.0)
    }
}
