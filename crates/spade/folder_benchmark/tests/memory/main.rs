//! The forecast memory equals the memory that created and loaded tables use.

#[path = "../support/loaded.rs"]
mod loaded;

use fabric::run_now;
use folder_benchmark::{Options, Stored, default_design};
use loaded::loaded;
use spade::design::Design;
use spade::measurement::Measurements;
use spade::tune::{Forecaster, Input, Options as Asked, TableForecast};
use sql::WorkloadFolder;
use std::path::{Path, PathBuf};
use txn::Isolation;

const SERVER_BYTES: u64 = 3 << 30;
/// Maximal relative error for structures that are allocated row by row, leaf by leaf or block by
/// block.
const OFF_MAX: f64 = 0.05;
/// Memory in the lane's pool that is allocated but unused: most of an extent.
const POOL_BYTES: u64 = 4 << 20;

fn folder(workload: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(workload)
}

/// The shipped measurements, relabelled as those of this process, whose rows have no checksums.
fn measured() -> Measurements {
    let file = folder("../crates/spade/spade/measurements/connectx3-fdr.json");
    let text = std::fs::read_to_string(file).expect("they are shipped");
    let shipped = Measurements::parse(&text).expect("this program has written them");
    let mut all = Measurements::default();
    for point in shipped.points() {
        let mut point = point.clone();
        point.parameters.world.fabric = "local".to_owned();
        all.put(point);
    }
    all
}

/// Bytes of each table with its indexes after the load.
fn taken(workload: &str, units: u64, design: &Path) -> Vec<(String, u64)> {
    let options = Options {
        units: Some(units),
        wants_plans: true,
        linked: &[],
        design: Some(design),
        isolation: Isolation::Snapshot,
        seed: 1,
    };
    let stored =
        Stored::read(&folder(workload), &options).unwrap_or_else(|error| panic!("{error}"));
    let (database, _) = loaded(&stored, SERVER_BYTES);
    let usage = run_now(database.memory_usage()).expect("the server answers");
    usage.into_iter().map(|of| (of.name, of.used_bytes)).collect()
}

/// The forecast of each table. Version buffers are excluded, since the load allocates none.
fn forecast(workload: &str, units: u64, design: &Design) -> Vec<TableForecast> {
    let of = folder(workload);
    let files = WorkloadFolder::read(&of).expect("it is shipped");
    let ready = procedure::Workload::read(&of).expect("it is shipped");
    let measured = measured();
    let input = Input { folder: &files, workload: &ready, measurements: &measured };
    let asked = Asked { machines: Some(1), units: Some(units), ..Asked::default() };
    let forecaster = Forecaster::new(input, &asked).unwrap_or_else(|error| panic!("{error}"));
    forecaster.forecast(design).unwrap_or_else(|error| panic!("{error}")).tables
}

fn compare(workload: &str, units: u64, name: &str, design: &Design) {
    let file =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("memory-{workload}-{name}.json"));
    std::fs::write(&file, design.json()).expect("the folder is cargo's");
    let taken = taken(workload, units, &file);
    for table in forecast(workload, units, design) {
        let found = taken.iter().find(|(name, _)| *name == table.table);
        let found = found.map(|(_, bytes)| *bytes).expect("it was made");
        let expected = table.bytes_each - table.version_bytes_each;
        // Dense inlined tables have their full size from the beginning.
        let is_exact = table.stored.starts_with("hash-inlined") && table.stored.ends_with("dense");
        let allowed = match is_exact && table.indexes.is_empty() {
            true => 0,
            false => (OFF_MAX * found as f64) as u64 + POOL_BYTES,
        };
        println!("{workload} {name} {}: {} bytes forecast, {found} taken", table.table, expected);
        assert!(
            expected.abs_diff(found) <= allowed,
            "{workload} by its {name} design, {} ({}): {expected} bytes are forecast, and {found} taken",
            table.table,
            table.stored
        );
    }
}

/// Compares the shipped and the default design of a workload.
fn compare_both(workload: &str, units: u64) {
    let file = folder(workload).join("designs/connectx3-fdr.json");
    let text = std::fs::read_to_string(file).expect("it is shipped");
    let tuned = Design::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    compare(workload, units, "tuned", &tuned);
    let usual = default_design(&folder(workload), None).unwrap_or_else(|error| panic!("{error}"));
    compare(workload, units, "default", &usual);
}

#[test]
fn smallbank_takes_what_is_forecast() {
    compare_both("smallbank", 1);
}

#[test]
fn tatp_takes_what_is_forecast() {
    compare_both("tatp", 1);
}

#[test]
fn tpcc_takes_what_is_forecast() {
    compare_both("tpcc", 1);
}

#[test]
fn ycsb_takes_what_is_forecast() {
    compare_both("ycsb", 1);
}
