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
use crate::tune::search::candidates::KeyPlacement;
use crate::tune::workload::profile::{Kind, Request};
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
        for (profile, call) in self.profiles.iter().zip(self.calls.iter()) {
            for (at, request) in
                profile.requests.iter().enumerate().filter(|(_, request)| request.table == table)
            {
                let is_elsewhere = self.machines > 1 && call.home.source.is_some();
                let home = if is_elsewhere { 1.0 - self.remote_calls } else { 1.0 };
                let local = if call.copied[at] { 1.0 } else { call.local[at] * home };
                let weight = profile.share * request.times;
                if local > 0.0 {
                    sum.add(weight * local, self.single(plan, request, Place::Local)?);
                }
                if local < 1.0 {
                    sum.add(weight * (1.0 - local), self.single(plan, request, Place::OneSided)?);
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
        for request in &self.profiles[number].requests {
            sum.add(request.times, self.single(plan, request, place)?);
        }
        Some(sum.average())
    }

    /// Throughput and latency of an operation as measured, in a transaction of its own.
    fn single(&self, plan: &Plan, request: &Request, place: Place) -> Option<(f64, f64)> {
        // If only one place was measured, all rows are there.
        let place = match place {
            Place::Local if !self.surface.has(Place::Local) => Place::OneSided,
            Place::OneSided if !self.surface.has(Place::OneSided) => Place::Local,
            place => place,
        };
        let table = &plan.tables[request.table];
        let index = |index: usize| path_of(table.indexes[index]);
        let (operation, path, rows) = match request.kind {
            Kind::Lookup => (Operation::Lookup, AccessPath::Primary, 1.0),
            Kind::IndexLookup(at) => (Operation::Lookup, index(at), request.rows),
            Kind::Scan(None) | Kind::Everything => {
                (Operation::Scan, AccessPath::Primary, request.rows)
            }
            Kind::Scan(Some(at)) => (Operation::Scan, index(at), request.rows),
            Kind::Insert => (Operation::Insert, AccessPath::Primary, 1.0),
            Kind::Update => (Operation::Update, AccessPath::Primary, 1.0),
            Kind::Delete => (Operation::Delete, AccessPath::Primary, 1.0),
        };
        let through = match request.kind {
            Kind::IndexLookup(at) | Kind::Scan(Some(at)) => Some(at),
            _ => request.touched.first().copied(),
        };
        let path = match (request.kind, through) {
            (Kind::Insert | Kind::Delete, Some(at)) => index(at),
            _ => path,
        };
        let is_table_scan = operation == Operation::Scan && path == AccessPath::Primary;
        let is_hash = table.choice.storage != Storage::Tree;
        let (operation, rows) = match is_table_scan && is_hash {
            true => (Operation::Lookup, request.rows),
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
            row_bytes: self.shapes[request.table].row_bytes(),
            slots: table.choice.slots,
            load_percent: match table.choice.placing {
                KeyPlacement::Hashed(load) => Some(load),
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
