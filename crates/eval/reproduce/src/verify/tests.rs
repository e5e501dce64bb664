//! Folders on small clusters behave as their designs say, and the same again.

use super::*;
use folder_benchmark::Options;
use layout::Storage;
use spade::design::{Access, Design, Partition};
use spade::measurement::Measurements;
use spade::tune::{self, Input};
use std::path::{Path, PathBuf};
use txn::Isolation;
use workload::driver::About;

/// A cluster whose machines need more memory than can be simulated is refused before anything is
/// created.
#[test]
fn more_memory_than_is_simulated_is_refused() {
    let cluster = Cluster {
        profile: "connectx3-fdr".to_owned(),
        machines: 4,
        lanes: 8,
        replicas: 1,
        remote_calls: 0.1,
        seed: 1,
    };
    assert!(cluster.plan(15 << 30).is_ok());
    for (bytes, told) in [(17 << 30, "would need 32 GiB"), (u64::MAX, "GiB of simulated memory")] {
        let error = cluster.plan(bytes).expect_err("nobody has so much").to_string();
        assert!(error.contains(told), "{error}");
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(name)
}

fn options(units: Option<u64>, wants_plans: bool) -> Options<'static> {
    let isolation = Isolation::Snapshot;
    Options { units, wants_plans, linked: &[], design: None, isolation, seed: 1 }
}

/// The folder with a hundredth of its load.
fn small(name: &str) -> Stored {
    let folder = folder(name);
    let text = std::fs::read_to_string(folder.join("workload.toml")).expect("it is there");
    let text =
        text.replace("100000 * units", "1200 * units").replace("4000 * units", "400 * units");
    let mut read = sql::WorkloadFolder::read(&folder).expect("it is in order");
    let source = sql::Source::new("workload.toml", &text);
    read.load = sql::read_load(&source, &read.program).expect("it is in order");
    Stored::of(&folder, read, &options(Some(1), false)).expect("it fits")
}

fn cluster(lanes: u32) -> Cluster {
    let profile = "connectx3-fdr".to_owned();
    Cluster { profile, machines: 3, lanes, replicas: 1, remote_calls: 0.1, seed: 1 }
}

/// The design with all tables in one group, partitioned by the first column of their keys and this
/// argument of calls.
fn partitioned(stored: &Stored, by: &str, access: Access) -> Design {
    let mut design = stored.design().clone();
    for table in &mut design.tables {
        let columns = vec!["s_id".to_owned()];
        table.partition = Partition::By { columns, group: "subscriber".to_owned() };
    }
    for procedure in &mut design.procedures {
        let is_told = procedure.procedure.starts_with("get_")
            || procedure.procedure == "update_subscriber_data";
        procedure.by = is_told.then(|| by.to_owned());
        procedure.access = if is_told { access } else { Access::OneSided };
    }
    design
}

#[test]
fn partitioned_tatp_is_at_home_and_what_is_shipped_is_one_call() {
    let stored = small("tatp");
    let spread = measure(&stored, &cluster(4), &|_| ()).expect("it is sound");
    let with = |access| {
        let design = partitioned(&stored, "subscriber_id", access);
        measure(&stored.with_design(design).expect("it fits"), &cluster(4), &|_| ())
            .expect("it is sound")
    };
    let (verbs, shipped) = (with(Access::OneSided), with(Access::Shipped));
    assert!(verbs.calls_per_s > 1.3 * spread.calls_per_s, "{verbs:?} {spread:?}");
    // One call in ten is made on another machine, which ships it, and reads nothing itself.
    let verbs_of = |measured: &Measured| measured.procedures[1].traffic.expect("it is called")[0];
    assert!(verbs_of(&shipped) < 0.95 * verbs_of(&verbs), "{shipped:?} {verbs:?}");
    // Nine of ten subscribers are on the machine that reads them.
    let alone = |measured: &Measured| measured.procedures[0].alone_ns.expect("it is called");
    assert!(alone(&verbs) < alone(&spread), "{verbs:?} {spread:?}");
    assert_eq!(with(Access::Shipped), shipped, "equal seeds measure the same");
}

/// A call reads the local copy of a copied table; the load has filled all copies.
#[test]
fn calls_read_the_copy_of_their_machine() {
    let stored = small("tatp");
    let with = |partition: Partition| {
        let mut design = stored.design().clone();
        let read = design.tables.iter_mut().find(|table| table.table == "access_info");
        read.expect("it is in the schema").partition = partition;
        stored.with_design(design).expect("it fits")
    };
    let copied = with(Partition::Replicated);
    let measured = |stored: &Stored| {
        let measured = measure(stored, &cluster(4), &|_| ()).expect("it is sound");
        let reading = measured.procedures.iter().find(|of| of.procedure == "get_access_data");
        reading.and_then(|of| of.alone_ns).expect("it is called")
    };
    let (here, anywhere) = (measured(&copied), measured(&with(Partition::RoundRobin)));
    // Two of three rows are on another machine if the table is distributed.
    assert!(here < 0.6 * anywhere, "{here} {anywhere}");
    let checked = crate::bench::folder(&copied, &cluster(4), &|_| ()).expect("it is sound");
    let damaged = checked.checks.iter().find(|check| check.about == About::Data && !check.ok);
    assert_eq!(damaged.map(|check| &check.detail), None);
    assert!(!checked.checks.is_empty());
}

/// A folder of this crate, tuned for four machines with ConnectX-3.
struct Tuned {
    files: sql::WorkloadFolder,
    workload: procedure::Workload,
    measurements: Measurements,
    asked: tune::Options,
    /// The folder without a design.
    untuned: Stored,
    tuned: Stored,
}

impl Tuned {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
        let files = sql::WorkloadFolder::read(&folder).expect("it is in order");
        let workload = procedure::Workload::read(&folder).expect("it has its plans");
        let measured = include_str!("../../../../spade/spade/measurements/connectx3-fdr-4.json");
        let measurements = Measurements::parse(measured).expect("they are shipped");
        let asked = tune::Options { machines: Some(4), ..tune::Options::default() };
        let input = Input { folder: &files, workload: &workload, measurements: &measurements };
        let tuning = tune::tune(input, &asked).expect("all was measured");
        let untuned = Stored::read(&folder, &options(None, true)).expect("it fits");
        let tuned = untuned.with_design(tuning.design).expect("it fits");
        Self { files, workload, measurements, asked, untuned, tuned }
    }

    /// The measurement of a design; its forecast must be within `share`, and that of each call
    /// alone within `of_each`.
    fn within(&self, stored: &Stored, share: f64, of_each: f64) -> Measured {
        let Self { files: folder, workload, measurements, .. } = self;
        let input = Input { folder, workload, measurements };
        let forecast =
            tune::forecast(input, &self.asked, stored.design()).expect("all was measured");
        let cluster = Cluster { machines: 4, ..cluster(32) };
        let found = measure(stored, &cluster, &|_| ()).expect("it is sound");
        let error = forecast.forecast.transactions_per_s[1] / found.calls_per_s - 1.0;
        assert!(error.abs() < share, "{error}");
        for (forecast, found) in forecast.procedures.iter().zip(&found.procedures) {
            // Procedures of frequency 0 are not called.
            let Some(alone_ns) = found.alone_ns else { continue };
            let error = 1000.0 * forecast.latency_us[1] / alone_ns - 1.0;
            assert!(error.abs() < of_each, "{}: {error}", found.procedure);
        }
        found
    }
}

/// Inserts in the middle of a key range split leaves as rarely as in the long run, from the first
/// call on, because the load leaves room. A commit reads leaves before it adds rows to them, and
/// reads randomly inserted rows one by one.
#[test]
fn inserts_in_the_middle_are_as_fast_as_forecast() {
    let orders = Tuned::new("orders");
    let table = orders.tuned.design().tables.iter().find(|table| table.table == "orders");
    assert_eq!(table.map(|of| of.storage), Some(Storage::Tree), "a call goes through it in order");
    let [tuned, untuned] =
        [&orders.tuned, &orders.untuned].map(|stored| orders.within(stored, 0.25, 0.2).calls_per_s);
    assert!(tuned > 1.5 * untuned, "{tuned} {untuned}");
}

/// An index whose first column is not that of the key is on all machines, hash-partitioned by the
/// columns that range scans fix, and does not keep the table together. Rows that foreign keys refer
/// to are read after the change, and validated.
#[test]
fn references_and_indexes_apart_are_built_as_they_are_forecast() {
    let items = Tuned::new("items");
    let divisions = items.tuned.divisions(4);
    assert!(
        divisions.iter().all(|of| matches!(of, folder_benchmark::Division::Parts(_))),
        "{divisions:?}"
    );
    let tuned = items.within(&items.tuned, 0.15, 0.2);
    let untuned = items.within(&items.untuned, 0.15, 0.35);
    assert!(tuned.calls_per_s > 1.4 * untuned.calls_per_s, "{tuned:?} {untuned:?}");
    // Both rows that a row of `watch` refers to are read in one round trip; otherwise there is
    // another one.
    let trips = untuned.procedures[2].traffic.expect("it is called")[1];
    assert!(trips < 6.3, "{trips}");
}
