//! The shipped workloads with fewer rows, which a simulated cluster loads in a second or two.

use folder_benchmark::{FolderError, Options, Stored};
use sql::{Source, WorkloadFolder};
use std::path::{Path, PathBuf};
use txn::Isolation;

/// The workloads, in descending order of calls per second.
pub(crate) const NAMES: [&str; 4] = ["tatp", "smallbank", "ycsb", "tpcc"];
/// The folder of the shipped workloads in the sources.
const FOLDER: &str = "workloads";
/// The folder of measurements.
const MEASUREMENTS: &str = "crates/spade/spade/measurements";

/// Units of scale for this many machines, and replacements of words in `workload.toml`.
fn scale(name: &str, machines: u64) -> (u64, &'static [(&'static str, &'static str)]) {
    match name {
        "tatp" => (machines, &[("100000 * units", "2000 * units")]),
        "smallbank" => (
            machines,
            &[("4000 * units - 1", "1000 * units - 1"), ("100000 * units", "4000 * units")],
        ),
        "ycsb" => (machines, &[("100000 * units", "2000 * units")]),
        // As many warehouses as lanes, so that calls rarely conflict, with few rows each.
        _ => (
            32 * machines,
            &[
                ("below = 2101", "below = 11"),
                ("[1, 3000]", "[1, 20]"),
                ("each = 30000", "each = 200"),
                ("each = 3000", "each = 20"),
                ("30000 * units", "200 * units"),
                ("constant = 3001", "constant = 21"),
                ("rows = 100_000", "rows = 200"),
                ("\"100000 * units\"", "\"200 * units\""),
                ("each = 100000", "each = 200"),
                ("[1, 100000]", "[1, 200]"),
                ("c = 223, range = [0, 999]", "c = 223, range = [0, 19]"),
            ],
        ),
    }
}

/// The folder of a shipped workload.
pub(crate) fn folder(name: &str) -> PathBuf {
    source(&Path::new(FOLDER).join(name))
}

/// A file of measurements in the repository.
pub(crate) fn measurements(name: &str) -> PathBuf {
    source(&Path::new(MEASUREMENTS).join(name))
}

/// A part of the sources: in the clone in which the program runs, or where it was built.
fn source(path: &Path) -> PathBuf {
    match path.exists() {
        true => path.to_path_buf(),
        false => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path),
    }
}

/// A shipped workload with few rows on each of these machines, under its default design: the folder
/// as read, and as run.
///
/// # Errors
/// If its files are missing or invalid.
/// Its files are not there, or not in order.
pub(crate) fn read(
    name: &str,
    machines: u16,
    seed: u64,
) -> Result<(WorkloadFolder, Stored), FolderError> {
    let folder = folder(name);
    let mut read = WorkloadFolder::read(&folder)?;
    let path = folder.join("workload.toml");
    let file = |error| FolderError::DesignFile(path.clone(), error);
    let mut text = std::fs::read_to_string(&path).map_err(file)?;
    let (units, words) = scale(name, machines.into());
    for (from, to) in words {
        assert!(text.contains(from), "the load of {name} does not say {from:?} any more");
        text = text.replace(from, to);
    }
    read.load = sql::read_load(&Source::new("workload.toml", &text), &read.program)?;
    read.load.units = units;
    let options = Options {
        units: Some(units),
        wants_plans: false,
        linked: &[],
        design: None,
        isolation: Isolation::Snapshot,
        seed,
    };
    let stored = Stored::of(&folder, read.clone(), &options)?;
    Ok((read, stored))
}
