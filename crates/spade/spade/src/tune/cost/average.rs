//! The paper's way of comparing designs: averages of measured throughputs or latencies, weighted by
//! the frequency of operations [SPADE 4.1, 4.2].
//!
//! Operations share cores and cards, so that no system runs at an average of rates. This is here
//! for comparison.

use super::line::Setting;
use super::measured::path_of;
use crate::design::Access;
use crate::measurement::{AccessPath, Operation, Place};
use crate::tune::model::{Model, Plan};
use crate::tune::search::candidates::Placing;
use crate::tune::workload::accesses::{Ask, Kind};
use layout::Storage;

/// An average over operations.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Average {
    /// Operations per second.
    pub throughput: f64,
    pub latency_ns: f64,
}

impl Model<'_> {
    /// The average of all operations on a table by all procedures, with their shares of local and
    /// remote rows.
    pub fn table_average(&self, plan: &Plan, table: usize) -> Option<Average> {
        let mut sum = Sum::default();
        for (asked, call) in self.asked.iter().zip(self.calls.iter()) {
            for (at, ask) in asked.asks.iter().enumerate().filter(|(_, ask)| ask.table == table) {
                let is_elsewhere = self.machines > 1 && call.home.source.is_some();
                let home = if is_elsewhere { 1.0 - self.remote_calls } else { 1.0 };
                let local = if call.copied[at] { 1.0 } else { call.local[at] * home };
                let weight = asked.share * ask.times;
                if local > 0.0 {
                    sum.add(weight * local, self.single(plan, ask, Place::Local)?);
                }
                if local < 1.0 {
                    sum.add(weight * (1.0 - local), self.single(plan, ask, Place::OneSided)?);
                }
            }
        }
        Some(sum.average())
    }

    /// The average of all operations of a procedure that is called elsewhere.
    pub fn procedure_average(&self, plan: &Plan, number: usize, access: Access) -> Option<Average> {
        let place = match access {
            Access::OneSided => Place::OneSided,
            Access::Shipped => Place::Shipped,
        };
        let mut sum = Sum::default();
        for ask in &self.asked[number].asks {
            sum.add(ask.times, self.single(plan, ask, place)?);
        }
        Some(sum.average())
    }

    /// Throughput and latency of an operation as measured, in a transaction of its own.
    fn single(&self, plan: &Plan, ask: &Ask, place: Place) -> Option<(f64, f64)> {
        // If only one place was measured, all rows are there.
        let place = match place {
            Place::Local if !self.surface.has(Place::Local) => Place::OneSided,
            Place::OneSided if !self.surface.has(Place::OneSided) => Place::Local,
            place => place,
        };
        let table = &plan.tables[ask.table];
        let index = |index: usize| path_of(table.indexes[index]);
        let (operation, path, rows) = match ask.kind {
            Kind::Lookup => (Operation::Lookup, AccessPath::Primary, 1.0),
            Kind::IndexLookup(at) => (Operation::Lookup, index(at), ask.rows),
            Kind::Scan(None) | Kind::Everything => (Operation::Scan, AccessPath::Primary, ask.rows),
            Kind::Scan(Some(at)) => (Operation::Scan, index(at), ask.rows),
            Kind::Insert => (Operation::Insert, AccessPath::Primary, 1.0),
            Kind::Update => (Operation::Update, AccessPath::Primary, 1.0),
            Kind::Delete => (Operation::Delete, AccessPath::Primary, 1.0),
        };
        let through = match ask.kind {
            Kind::IndexLookup(at) | Kind::Scan(Some(at)) => Some(at),
            _ => ask.touched.first().copied(),
        };
        let path = match (ask.kind, through) {
            (Kind::Insert | Kind::Delete, Some(at)) => index(at),
            _ => path,
        };
        let is_table_scan = operation == Operation::Scan && path == AccessPath::Primary;
        let is_hash = table.choice.storage != Storage::Tree;
        let (operation, rows) = match is_table_scan && is_hash {
            true => (Operation::Lookup, ask.rows),
            false => (operation, rows),
        };
        let node_bytes = match (path, through) {
            (AccessPath::SecondaryTree, Some(at)) => table.indexes[at].node_bytes,
            _ => table.choice.node_bytes,
        };
        let cost = self.surface.cost(&Setting {
            operation,
            path,
            place,
            rows,
            storage: table.choice.storage,
            row_bytes: self.shapes[ask.table].row_bytes(),
            slots: table.choice.slots,
            load_percent: match table.choice.placing {
                Placing::Hashed(load) => Some(load),
                _ => None,
            },
            node_bytes,
            replicas: self.replicas,
        })?;
        Some((1e9 / cost.spacing_ns.max(f64::MIN_POSITIVE), cost.latency_ns))
    }
}

#[derive(Default)]
struct Sum {
    weight: f64,
    throughput: f64,
    latency_ns: f64,
}

impl Sum {
    fn add(&mut self, weight: f64, (throughput, latency_ns): (f64, f64)) {
        self.weight += weight;
        self.throughput += weight * throughput;
        self.latency_ns += weight * latency_ns;
    }

    fn average(&self) -> Average {
        if self.weight == 0.0 {
            return Average::default();
        }
        let (throughput, latency_ns) =
            (self.throughput / self.weight, self.latency_ns / self.weight);
        Average { throughput, latency_ns }
    }
}
