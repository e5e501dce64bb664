//! A workload on a cluster: everything that costs depend on beside the plan; and the memory that a
//! plan takes.
//!
//! Decision: docs/decisions/0210-designs-are-compared-by-service-times-that-add-up.md

use crate::design::{Access, Partition};
use crate::tune::contention::aggregate::Solution;
use crate::tune::contention::conflicts::MachineGroup;
use crate::tune::contention::fixed_point::Start;
use crate::tune::contention::insert_conflicts::InsertSites;
use crate::tune::cost::memo::Memo;
use crate::tune::cost::procedure::ProcedureCost;
use crate::tune::cost::surface::{Perturbation, Surface};
use crate::tune::cost::versions::UpdateRates;
use crate::tune::search::candidates::{IndexStorage, KeyPlacement, RowStorage, TableShape};
use crate::tune::workload::draws::Drawn;
use crate::tune::workload::grouping::{Grouping, Home, Key, Source, source};
use crate::tune::workload::profile::{Kind, Profile};
use layout::IndexKind;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A design in the tuner's form: how tables are stored, and where procedures execute.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    pub tables: Vec<TablePlan>,
    /// Access to remote rows, by procedure.
    pub access: Vec<Access>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct TablePlan {
    pub choice: RowStorage,
    pub indexes: Vec<IndexStorage>,
    /// Old versions beside each row that is updated.
    pub versions_beside: u32,
    /// Whether the row keeps their memory.
    pub keeps_versions: bool,
}

impl Plan {
    /// The plan as numbers: plans with equal keys are equal.
    pub fn key(&self) -> Vec<u64> {
        let mut key = Vec::with_capacity(8 * self.tables.len());
        for of in &self.tables {
            of.put_key(&mut key);
            key.extend([u64::from(of.versions_beside), u64::from(of.keeps_versions)]);
        }
        key.extend(self.access.iter().map(|of| *of as u64));
        key
    }
}

impl TablePlan {
    /// Appends the storage of the table as numbers, without old versions: their cost does not
    /// depend on anything else.
    pub fn put_key(&self, key: &mut Vec<u64>) {
        let RowStorage { storage, slots, placing, node_bytes } = &self.choice;
        key.push(*storage as u64);
        key.extend([*slots, *node_bytes, self.indexes.len() as u32].map(u64::from));
        match placing {
            KeyPlacement::Ordered => key.push(0),
            KeyPlacement::Hashed(load) => key.extend([1, u64::from(*load)]),
            KeyPlacement::Dense(columns) => {
                key.extend([2, columns.len() as u64]);
                key.extend(columns.iter().flat_map(|(low, count)| [*low as u64, *count]));
            }
        }
        let indexes = self.indexes.iter();
        key.extend(indexes.flat_map(|of| [of.kind as u64, u64::from(of.node_bytes)]));
    }
}

/// Everything that costs depend on beside the plan.
pub struct Model<'a> {
    /// Costs of operations, from measurements.
    pub surface: &'a Surface,
    /// By procedure: what a call executes.
    pub profiles: &'a [Profile],
    /// By table: sizes and statistics.
    pub shapes: &'a [TableShape],
    /// Index kinds that the schema declares, by table.
    pub declared: Rc<Vec<Vec<IndexKind>>>,
    /// How tables are partitioned.
    pub grouping: &'a Grouping,
    /// By procedure: where its calls find their rows.
    pub calls: Rc<Vec<Locality>>,
    /// By group of machines: how often calls of each procedure conflict with others on rows that
    /// they update.
    pub conflict_rates: Rc<Vec<MachineGroup>>,
    /// How often they conflict on leaves and buckets into which they insert.
    pub insert_sites: Rc<InsertSites>,
    /// By procedure and table: how often the rows that it updates are updated.
    pub changes: Rc<Vec<BTreeMap<usize, Rc<UpdateRates>>>>,
    pub machines: u32,
    /// The share of calls that arrive at another machine than their home.
    pub remote_calls: f64,
    /// Copies of each row.
    pub replicas: u32,
    /// Threads of each machine.
    pub threads: u32,
    /// Lanes of each machine.
    pub lanes: u32,
    /// Memo of the throughput of plans: the search evaluates a plan repeatedly.
    pub known: Memo<Vec<u64>, Solution>,
    /// Where the throughput search of the last plan ended: a good start for the next one.
    pub last: RefCell<Option<Rc<[Start]>>>,
    /// Memo of the cost of procedures: plans that are compared differ in one table.
    pub priced: Memo<Priced, ProcedureCost>,
}

/// A procedure, the home machines of its calls, and how its tables are stored.
pub type Priced = (usize, Vec<usize>, Vec<u64>);

/// Where the calls of a procedure find their rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Locality {
    /// The machine with most of its partitioned rows.
    pub home: Home,
    /// For each request: the share of its rows that a call at home finds there.
    pub local: Vec<f64>,
    /// `local` by home machine, if it differs between them; otherwise empty.
    pub local_on: Vec<Vec<f64>>,
    /// Like `local`, for entries of the index that it uses.
    pub entries: Vec<f64>,
    /// Whether every machine has a copy of the rows.
    pub copied: Vec<bool>,
    /// How many more of its remote rows than the mean are on the machine with the most of all
    /// requests, relative to the mean.
    pub skew: Vec<f64>,
    /// The share of its operations whose machine is known from the home's argument before the call
    /// begins. `None` if no argument determines the home.
    pub told: Option<f64>,
}

/// Which argument determines the home of a procedure's calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HomeBy {
    /// The argument that locates most rows. The tuner's design will name it.
    Best,
    /// The variable that the design names.
    Named(usize),
    /// No argument.
    Nothing,
}

impl Locality {
    /// Locates the rows of a procedure under a grouping. `tells(operation, column)` returns whether
    /// the keys of a read are written out from the column that divides its table.
    pub fn new(
        profile: &Profile,
        drawn: Drawn<'_>,
        catalog: &sql::Catalog,
        grouping: &Grouping,
        machines: u32,
        (by, tells): (HomeBy, &dyn Fn(usize, usize) -> bool),
    ) -> Self {
        let keys: Vec<Option<Key>> = (0..catalog.tables.len()).map(|at| grouping.key(at)).collect();
        let key = |table: usize| keys[table].map(|key| key.column);
        let named = match by {
            HomeBy::Named(variable) => Home::by_argument(profile, variable, &|table| keys[table]),
            HomeBy::Best | HomeBy::Nothing => None,
        };
        let mut home =
            named.unwrap_or_else(|| Home::of(profile, drawn, machines, &|table| keys[table]));
        // If nothing determines the home before the first read, calls arrive at any machine.
        let is_told = match home.source {
            Some(Source::Row(at)) => {
                let table = profile.operations[at].table;
                let is_divided = matches!(grouping.tables[table].partition, Partition::By { .. });
                is_divided && keys[table].is_some_and(|key| tells(at, key.column))
            }
            _ => by != HomeBy::Nothing,
        };
        if !is_told {
            home = Home { source: None, ..home };
        }
        let anywhere = 1.0 / f64::from(machines.max(1));
        let (mut local, mut entries, mut copied) = (Vec::new(), Vec::new(), Vec::new());
        let skew = vec![0.0; profile.requests.len()];
        let (mut told, mut all) = (0.0, 0.0);
        for request in &profile.requests {
            let is_copied = grouping.tables[request.table].partition == Partition::Replicated;
            let from = source(&profile.operations, request.operation, &key, 0);
            let rows = match (is_copied, keys[request.table]) {
                (true, _) => 1.0,
                (false, None) => anywhere,
                (false, Some(key)) => home.local(&from, key.group, drawn, machines),
            };
            let by_index = match request.kind {
                Kind::IndexLookup(index) | Kind::Scan(Some(index)) => Some(index),
                _ => None,
            };
            let is_beside = |index: usize| {
                let columns = &catalog.tables[request.table].indexes[index].columns;
                key(request.table).is_some_and(|column| columns.first() == Some(&column))
            };
            let is_apart = by_index.is_some_and(|index| !is_beside(index)) && !is_copied;
            local.push(rows);
            entries.push(if is_apart { anywhere } else { rows });
            copied.push(is_copied);
            if !is_copied {
                all += request.times;
                let is_told = matches!(from, Source::Argument(_)) && !is_apart;
                told += if is_told { request.times * rows } else { 0.0 };
            }
        }
        let is_given = matches!(home.source, Some(Source::Argument(_)));
        let told = (is_given && all > 0.0).then(|| told / all);
        let local_on = vec![Vec::new(); profile.requests.len()];
        Self { home, local, local_on, entries, copied, skew, told }
    }
}

impl Locality {
    /// Whether calls find the same share of their rows at home on every machine.
    pub fn is_alike_on_all(&self) -> bool {
        self.local_on.iter().all(Vec::is_empty)
    }

    /// The shares of an operation's rows and index entries that a call at home on one of these
    /// machines finds there; an empty list means all machines.
    pub fn near(&self, at: usize, machines: &[usize]) -> (f64, f64) {
        let (rows, entries) = (self.local[at], self.entries[at]);
        let on = &self.local_on[at];
        if on.is_empty() || machines.is_empty() {
            return (rows, entries);
        }
        let there =
            machines.iter().map(|machine| on[*machine]).sum::<f64>() / machines.len() as f64;
        (there, if entries == rows { there } else { entries })
    }
}

impl<'a> Model<'a> {
    /// Whether some calls have a home. Without homes, and on a single machine, no call is remote.
    pub fn has_homes(&self) -> bool {
        let mut called =
            self.profiles.iter().zip(self.calls.iter()).filter(|(of, _)| of.share > 0.0);
        self.machines > 1 && called.any(|(_, call)| call.home.source.is_some())
    }

    /// The model with one figure of the measurements perturbed.
    pub fn perturbed<'s>(&'s self, surface: &'s Surface, perturbation: Perturbation) -> Model<'s>
    where
        'a: 's,
    {
        Model {
            surface,
            declared: Rc::clone(&self.declared),
            calls: Rc::clone(&self.calls),
            conflict_rates: Rc::clone(&self.conflict_rates),
            insert_sites: Rc::clone(&self.insert_sites),
            changes: Rc::clone(&self.changes),
            known: self.known.off_by(perturbation.line()),
            last: RefCell::default(),
            priced: self.priced.off_by(perturbation.line()),
            ..*self
        }
    }

    /// The share of a procedure's rows on the home machine of the call.
    pub fn at_home(&self, number: usize) -> f64 {
        let (profile, call) = (&self.profiles[number], &self.calls[number]);
        let all: f64 = profile.requests.iter().map(|request| request.times).sum();
        let local = profile.requests.iter().zip(call.local.iter().zip(&call.entries));
        let local: f64 =
            local.map(|(request, (rows, entries))| request.times * rows.min(*entries)).sum();
        if all > 0.0 { local / all } else { 1.0 }
    }

    pub fn bytes_each(&self, plan: &Plan) -> u64 {
        let each = (0..plan.tables.len()).map(|table| self.table_bytes_each(plan, table));
        each.fold(0, u64::saturating_add)
    }

    /// Bytes of a table and its indexes on each machine.
    pub fn table_bytes_each(&self, plan: &Plan, table: usize) -> u64 {
        let (shape, of) = (&self.shapes[table], &plan.tables[table]);
        let indexes = of.indexes.iter().enumerate();
        let indexes = indexes.map(|(index, choice)| shape.index_bytes(index, *choice));
        let bytes = indexes.fold(shape.bytes(&of.choice), u64::saturating_add);
        self.each(table, bytes).saturating_add(self.version_bytes_each(plan, table))
    }

    /// Bytes of a table's old versions on each machine.
    pub fn version_bytes_each(&self, plan: &Plan, table: usize) -> u64 {
        let (shape, of) = (&self.shapes[table], &plan.tables[table]);
        let bytes = |rows: u64| self.each(table, shape.version_bytes(of.versions_beside, rows));
        match self.surface.version_costs().filter(|_| !of.keeps_versions) {
            // A row has a version buffer only while its old versions are needed.
            Some(version_costs) => {
                let lanes = f64::from(self.lanes) * f64::from(self.machines);
                bytes(libm::ceil(lanes * version_costs.changes) as u64)
            }
            None => bytes(shape.rows),
        }
    }

    /// The part of a table's bytes on each machine.
    fn each(&self, table: usize, bytes: u64) -> u64 {
        match self.grouping.tables[table].partition {
            Partition::Replicated => bytes,
            _ => bytes
                .saturating_mul(u64::from(self.replicas))
                .div_ceil(u64::from(self.machines.max(1))),
        }
    }
}
