//! A workload with a design on a cluster: everything that what it costs depends on, and how much memory it takes.
//!
//! Decision: docs/decisions/0210-designs-are-compared-by-service-times-that-add-up.md

use crate::design::{Access, Partition};
use crate::tune::contention::aggregate::Reached;
use crate::tune::contention::conflicts::Group;
use crate::tune::contention::fixed_point::Start;
use crate::tune::contention::insert_conflicts::Crowds;
use crate::tune::cost::memo::Kept;
use crate::tune::cost::procedure::Costs;
use crate::tune::cost::surface::{Surface, Sway};
use crate::tune::cost::versions::Again;
use crate::tune::search::candidates::{Choice, IndexChoice, Placing, Shape};
use crate::tune::workload::accesses::{Asked, Kind};
use crate::tune::workload::draws::Drawn;
use crate::tune::workload::grouping::{Grouping, Home, Key, Source, source};
use layout::IndexKind;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// How all tables are stored, and where procedures are carried out.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// By table.
    pub tables: Vec<TablePlan>,
    /// By procedure.
    pub access: Vec<Access>,
}

/// How a table is stored.
#[derive(Clone, PartialEq, Debug)]
pub struct TablePlan {
    /// Its rows.
    pub choice: Choice,
    /// Its indexes.
    pub indexes: Vec<IndexChoice>,
    /// Old versions beside each row that is changed.
    pub versions_beside: u32,
    /// Whether their memory stays with the row.
    pub keeps_versions: bool,
}

impl Plan {
    /// All of it as numbers: plans with equal keys are equal.
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
    /// Adds all of it as numbers but for old versions, which cost what they do whatever else is so.
    pub fn put_key(&self, key: &mut Vec<u64>) {
        let Choice { storage, slots, placing, node_bytes } = &self.choice;
        key.push(*storage as u64);
        key.extend([*slots, *node_bytes, self.indexes.len() as u32].map(u64::from));
        match placing {
            Placing::Ordered => key.push(0),
            Placing::Hashed(load) => key.extend([1, u64::from(*load)]),
            Placing::Dense(columns) => {
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
    /// What was measured.
    pub surface: &'a Surface,
    /// The procedures.
    pub asked: &'a [Asked],
    /// The tables.
    pub shapes: &'a [Shape],
    /// The kind that the schema declares of each table's indexes.
    pub declared: Rc<Vec<Vec<IndexKind>>>,
    /// Where rows are.
    pub grouping: &'a Grouping,
    /// The procedures as they find their rows.
    pub calls: Rc<Vec<Call>>,
    /// How calls of each procedure meet others in the rows that they change, on groups of machines.
    pub meetings: Rc<Vec<Group>>,
    /// How they meet where they add rows.
    pub crowds: Rc<Crowds>,
    /// How often others change the rows that calls of each procedure change, by table.
    pub changes: Rc<Vec<BTreeMap<usize, Rc<Again>>>>,
    /// Machines of the cluster.
    pub machines: u32,
    /// The share of calls that come to another machine than that of their rows.
    pub remote_calls: f64,
    /// Copies of each row.
    pub replicas: u32,
    /// Threads of each machine.
    pub threads: u32,
    /// Lanes of each machine.
    pub lanes: u32,
    /// What plans come to that were asked for, by their keys: who compares plans asks for each more than once.
    pub known: Kept<Vec<u64>, Reached>,
    /// Where machines were found to be by the plan that was asked for last.
    pub last: RefCell<Option<Rc<[Start]>>>,
    /// What procedures cost, by what that depends on: plans that are compared differ in one table.
    pub priced: Kept<Priced, Costs>,
}

/// A procedure, the machines that its calls are at home on, and how its tables are stored.
pub type Priced = (usize, Vec<usize>, Vec<u64>);

/// Where a procedure finds its rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// Where most of its partitioned rows are.
    pub home: Home,
    /// Of each operation that is asked: the share of its rows that a call at home finds there.
    pub local: Vec<f64>,
    /// The same of a call on each machine, where that differs; else nothing.
    pub local_on: Vec<Vec<f64>>,
    /// The same as `local` of the entries of the index that it goes by.
    pub entries: Vec<f64>,
    /// Whether its rows are copied to all machines.
    pub copied: Vec<bool>,
    /// How much more of its remote rows than the mean are on the machine that has most of all, as a share of the mean.
    pub skew: Vec<f64>,
    /// The share of its operations whose machine the home's argument tells before the call begins; none if no argument does.
    pub told: Option<f64>,
}

/// Which argument tells where a procedure's calls are at home.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Whichever tells most rows: what is designed is going to name it.
    Best,
    /// The variable that a design names.
    Named(usize),
    /// None.
    Nothing,
}

impl Call {
    /// Of a procedure under a grouping. `tells` says of the row that an operation finds, by position, whether what it is found by is
    /// written out from the column, by position, that divides its table.
    pub fn new(
        asked: &Asked,
        drawn: Drawn<'_>,
        catalog: &sql::Catalog,
        grouping: &Grouping,
        machines: u32,
        (by, tells): (By, &dyn Fn(usize, usize) -> bool),
    ) -> Self {
        let keys: Vec<Option<Key>> = (0..catalog.tables.len()).map(|at| grouping.key(at)).collect();
        let key = |table: usize| keys[table].map(|key| key.column);
        let named = match by {
            By::Named(variable) => Home::by_argument(asked, variable, &|table| keys[table]),
            By::Best | By::Nothing => None,
        };
        let mut home =
            named.unwrap_or_else(|| Home::of(asked, drawn, machines, &|table| keys[table]));
        // Calls come to any machine where nothing tells it before their first row is read.
        let is_told = match home.source {
            Some(Source::Row(at)) => {
                let table = asked.operations[at].table;
                let is_divided = matches!(grouping.tables[table].partition, Partition::By { .. });
                is_divided && keys[table].is_some_and(|key| tells(at, key.column))
            }
            _ => by != By::Nothing,
        };
        if !is_told {
            home = Home { source: None, ..home };
        }
        let anywhere = 1.0 / f64::from(machines.max(1));
        let (mut local, mut entries, mut copied) = (Vec::new(), Vec::new(), Vec::new());
        let skew = vec![0.0; asked.asks.len()];
        let (mut told, mut all) = (0.0, 0.0);
        for ask in &asked.asks {
            let is_copied = grouping.tables[ask.table].partition == Partition::Replicated;
            let from = source(&asked.operations, ask.operation, &key, 0);
            let rows = match (is_copied, keys[ask.table]) {
                (true, _) => 1.0,
                (false, None) => anywhere,
                (false, Some(key)) => home.local(&from, key.group, drawn, machines),
            };
            let by_index = match ask.kind {
                Kind::IndexLookup(index) | Kind::Scan(Some(index)) => Some(index),
                _ => None,
            };
            let is_beside = |index: usize| {
                let columns = &catalog.tables[ask.table].indexes[index].columns;
                key(ask.table).is_some_and(|column| columns.first() == Some(&column))
            };
            let is_apart = by_index.is_some_and(|index| !is_beside(index)) && !is_copied;
            local.push(rows);
            entries.push(if is_apart { anywhere } else { rows });
            copied.push(is_copied);
            if !is_copied {
                all += ask.times;
                let is_told = matches!(from, Source::Given(_)) && !is_apart;
                told += if is_told { ask.times * rows } else { 0.0 };
            }
        }
        let is_given = matches!(home.source, Some(Source::Given(_)));
        let told = (is_given && all > 0.0).then(|| told / all);
        let local_on = vec![Vec::new(); asked.asks.len()];
        Self { home, local, local_on, entries, copied, skew, told }
    }
}

impl Call {
    /// Whether calls find as many of their rows at home whatever machine that is.
    pub fn is_alike_on_all(&self) -> bool {
        self.local_on.iter().all(Vec::is_empty)
    }

    /// The share of an operation's rows, and of the entries that it goes by, that a call at home on one of these machines finds there; on
    /// any machine if none is named.
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
    /// Whether some calls have a home. Of a single machine, and where no call has one, none comes to another machine than that.
    pub fn has_homes(&self) -> bool {
        let mut called = self.asked.iter().zip(self.calls.iter()).filter(|(of, _)| of.share > 0.0);
        self.machines > 1 && called.any(|(_, call)| call.home.source.is_some())
    }

    /// The same by measurements of which something is off.
    pub fn swayed<'s>(&'s self, surface: &'s Surface, sway: Sway) -> Model<'s>
    where
        'a: 's,
    {
        Model {
            surface,
            declared: Rc::clone(&self.declared),
            calls: Rc::clone(&self.calls),
            meetings: Rc::clone(&self.meetings),
            crowds: Rc::clone(&self.crowds),
            changes: Rc::clone(&self.changes),
            known: self.known.off_by(sway.line()),
            last: RefCell::default(),
            priced: self.priced.off_by(sway.line()),
            ..*self
        }
    }

    /// The share of a procedure's rows on the machine that the call is at home on.
    pub fn at_home(&self, number: usize) -> f64 {
        let (asked, call) = (&self.asked[number], &self.calls[number]);
        let all: f64 = asked.asks.iter().map(|ask| ask.times).sum();
        let local = asked.asks.iter().zip(call.local.iter().zip(&call.entries));
        let local: f64 = local.map(|(ask, (rows, entries))| ask.times * rows.min(*entries)).sum();
        if all > 0.0 { local / all } else { 1.0 }
    }

    /// Bytes on each machine.
    pub fn bytes_each(&self, plan: &Plan) -> u64 {
        let each = (0..plan.tables.len()).map(|table| self.table_bytes_each(plan, table));
        each.fold(0, u64::saturating_add)
    }

    /// Bytes of a table on each machine, with its indexes.
    pub fn table_bytes_each(&self, plan: &Plan, table: usize) -> u64 {
        let (shape, of) = (&self.shapes[table], &plan.tables[table]);
        let indexes = of.indexes.iter().enumerate();
        let indexes = indexes.map(|(index, choice)| shape.index_bytes(index, *choice));
        let bytes = indexes.fold(shape.bytes(&of.choice), u64::saturating_add);
        self.each(table, bytes).saturating_add(self.version_bytes_each(plan, table))
    }

    /// Bytes of old versions on each machine, of those of a table.
    pub fn version_bytes_each(&self, plan: &Plan, table: usize) -> u64 {
        let (shape, of) = (&self.shapes[table], &plan.tables[table]);
        let bytes = |rows: u64| self.each(table, shape.version_bytes(of.versions_beside, rows));
        match self.surface.aging().filter(|_| !of.keeps_versions) {
            // What is given back was with a row for as long as it was needed.
            Some(aging) => {
                let lanes = f64::from(self.lanes) * f64::from(self.machines);
                bytes(libm::ceil(lanes * aging.changes) as u64)
            }
            None => bytes(shape.rows),
        }
    }

    /// Of a table's bytes those on each machine.
    fn each(&self, table: usize, bytes: u64) -> u64 {
        match self.grouping.tables[table].partition {
            Partition::Replicated => bytes,
            _ => bytes
                .saturating_mul(u64::from(self.replicas))
                .div_ceil(u64::from(self.machines.max(1))),
        }
    }
}
