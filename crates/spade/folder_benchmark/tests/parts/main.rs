//! The shipped workloads with tables in parts on three memory servers, compared with the same on
//! one: equal calls end in the same way, and checks hold.

#[path = "../../../../sql/datagen/tests/loaded/small.rs"]
mod small;

use datagen::{Calls, Mix};
use fabric::{LocalEnv, run_now};
use folder_benchmark::{Callee, Options, Stored};
use layout::Storage;
use small::{path, small};
use spade::design::{Design, Partition};
use std::collections::BTreeMap;
use txn::local::{OpenConfig, open};
use txn::{Database, Isolation, Lane, TableMemory};
use workload::{RunTotals, Workload, WorkloadError};

const SERVERS: u16 = 3;
/// Units of scale: each server has one warehouse.
const UNITS: u64 = 3;
/// Memory of all servers in bytes.
const BYTES: u64 = 3 << 30;
const CALLS: usize = 1_500;

fn stored(workload: &str, wants_plans: bool) -> Stored {
    let options = Options {
        units: Some(UNITS),
        wants_plans,
        linked: &[],
        design: None,
        isolation: Isolation::Snapshot,
        seed: 1,
    };
    Stored::of(&path(workload), small(workload), &options).unwrap_or_else(|error| panic!("{error}"))
}

/// The design with each table partitioned by the first column of its key.
fn partitioned(stored: &Stored, change: impl Fn(&mut Design)) -> Stored {
    let mut design = stored.design().clone();
    change(&mut design);
    let catalog = &stored.ready().catalog;
    for table in &mut design.tables {
        let of = catalog.table(&table.table).expect("it is in the schema");
        if of.has_hidden_key() || of.name == "item" {
            continue;
        }
        let columns = vec![of.columns[of.primary_key[0]].name.clone()];
        // The first column of its key is not a warehouse.
        let group = if of.name == "history" { "history" } else { "all" };
        table.partition = Partition::By { columns, group: group.to_owned() };
    }
    stored.with_design(design).unwrap_or_else(|error| panic!("{error}"))
}

struct Loaded {
    database: Database<LocalEnv>,
    lane: Lane<LocalEnv>,
    callee: Callee,
    stored: Stored,
}

impl Loaded {
    fn new(stored: &Stored, servers: u16) -> Self {
        let server_bytes = BYTES / u64::from(servers);
        let database = open(&OpenConfig { servers, server_bytes, ..OpenConfig::default() });
        let database = database.expect("memory can be mapped");
        let made = Workload::<LocalEnv>::create_tables(stored, &database);
        let name = Workload::<LocalEnv>::name(stored);
        run_now(made).unwrap_or_else(|error| panic!("{name} on {servers}: {error}"));
        let mut lane = run_now(database.lane()).expect("lanes are free");
        for step in [true, false] {
            let done: Result<(), WorkloadError> = match step {
                true => run_now(stored.load_part(&database, &mut lane, 0, 1, &|_| ())),
                false => run_now(stored.verify_part(&database, &mut lane, 0, 1)),
            };
            done.unwrap_or_else(|error| panic!("{error}"));
        }
        let callee = stored.callee(&database).unwrap_or_else(|error| panic!("{error}"));
        Self { database, lane, callee, stored: stored.clone() }
    }

    fn call(&mut self, call: datagen::Call) -> String {
        let ready = self.callee.ready(call);
        let ended = run_now(self.callee.carry_out(&mut self.lane, &ready));
        let finished = ended.unwrap_or_else(|error| panic!("{error}"));
        format!("{:?}, {} rows", finished.result, self.callee.rows())
    }

    /// Checks the folder's checks and all structures.
    fn check(&mut self) {
        let names = Workload::<LocalEnv>::table_names(&self.stored);
        let totals = RunTotals::new(self.stored.procedure_names().len());
        let results = run_now(self.stored.check(&self.database, &mut self.lane, &totals, false));
        let results = results.unwrap_or_else(|error| panic!("{error}"));
        // It counts order lines behind those of a full-size load.
        let is_of_size = |name: &str| name == "stock counts its lines";
        let broken = results.iter().filter(|result| !result.ok && !is_of_size(result.name));
        let broken: Vec<_> = broken.collect();
        assert!(broken.is_empty(), "{broken:?}");
        run_now(self.lane.rest()).expect("the oracle answers");
        let report = run_now(self.database.check_tables(&|name| names.contains(&name)));
        let report = report.expect("the servers answer");
        assert_eq!((report.errors, report.locks), (Vec::new(), Vec::new()));
        assert!(report.lines.len() >= names.len());
    }

    /// Number of rows by table.
    fn counts(&mut self) -> BTreeMap<&'static str, u64> {
        let names = Workload::<LocalEnv>::table_names(&self.stored);
        let mut txn = run_now(self.lane.begin(Isolation::Snapshot)).expect("begins");
        let count = |name: &&'static str| {
            let table = self.database.table(name).expect("it was made");
            let mut rows = 0;
            run_now(txn.for_each(table, &mut |_| rows += 1)).expect("readable");
            (*name, rows)
        };
        names.iter().map(count).collect()
    }
}

/// Executes equal calls on one server and on three; returns the number of parts or copies of each
/// table.
fn behaves_alike(stored: &Stored) -> BTreeMap<String, u32> {
    let (mut one, mut parts) = (Loaded::new(stored, 1), Loaded::new(stored, SERVERS));
    let mut calls = Calls::new(stored.population().clone(), 0, 1, Mix::Deck);
    for number in 0..CALLS {
        let call = calls.next_call(0);
        let name = stored.procedure_names()[call.procedure];
        assert_eq!(one.call(call.clone()), parts.call(call), "{name}, call {number}");
    }
    assert_eq!(one.counts(), parts.counts());
    one.check();
    parts.check();
    let usage = run_now(parts.database.memory_usage()).expect("the servers answer");
    let parts = TableMemory::of_whole_tables(usage).into_iter();
    parts
        .filter(|(name, _)| name != "system")
        .map(|(name, of)| (name, of.parts.max(of.copies)))
        .collect()
}

#[test]
fn partitioned_workloads_do_in_parts_what_they_do_as_a_whole() {
    for (workload, wants_plans) in
        [("tpcc", false), ("tpcc", true), ("tatp", false), ("smallbank", false), ("ycsb", false)]
    {
        let parts = behaves_alike(&partitioned(&stored(workload, wants_plans), |_| {}));
        let whole: Vec<&str> =
            parts.iter().filter(|(_, parts)| **parts == 1).map(|(name, _)| name.as_str()).collect();
        let expected: &[&str] = if workload == "tpcc" { &["item"] } else { &[] };
        assert_eq!(whole, expected, "{workload}");
    }
}

/// Updates reach all copies; the check of structures compares the copies.
#[test]
fn copied_workloads_do_what_they_do_as_a_whole() {
    for (workload, wants_plans) in
        [("tpcc", false), ("tpcc", true), ("tatp", false), ("smallbank", false), ("ycsb", false)]
    {
        let stored = stored(workload, wants_plans);
        let mut design = stored.design().clone();
        design.tables.iter_mut().for_each(|table| table.partition = Partition::Replicated);
        let copies = behaves_alike(&stored.with_design(design).expect("it fits"));
        assert!(copies.values().all(|&copies| copies == u32::from(SERVERS)), "{copies:?}");
    }
}

/// A tree without ordered scans is divided by a hash. Statements that read the whole tree do not
/// depend on its order.
#[test]
fn hashed_trees_are_read_by_key_and_as_a_whole() {
    let design = |design: &mut Design| {
        for table in &mut design.tables {
            table.storage = Storage::Tree;
            table.placement = spade::design::Placement::Hashed { load_percent: 65 };
        }
    };
    for workload in ["smallbank", "tatp"] {
        let stored = partitioned(&stored(workload, true), design);
        let mut design = stored.design().clone();
        for table in &mut design.tables {
            let columns = vec!["balance".to_owned()];
            let has_it = stored.ready().catalog.table(&table.table);
            if has_it.is_some_and(|of| of.columns.iter().any(|column| column.name == "balance")) {
                table.partition = Partition::By { columns, group: "other".to_owned() };
            }
        }
        let parts = behaves_alike(&stored.with_design(design).expect("it fits"));
        assert!(parts.values().all(|&parts| parts == u32::from(SERVERS)), "{parts:?}");
    }
}
