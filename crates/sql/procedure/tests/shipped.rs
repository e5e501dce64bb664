//! Compares the lowered statements of the shipped workloads with the recorded ones; `NAMDB_BLESS=1`
//! records them again.

use procedure::Workload;
use std::path::{Path, PathBuf};

fn workload(name: &str) -> Workload {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(name);
    Workload::read(&folder).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn check(name: &str, found: &str) {
    let record = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/lowered").join(name);
    if std::env::var_os("NAMDB_BLESS").is_some() {
        std::fs::write(&record, found).expect("the record is written");
    }
    let recorded = std::fs::read_to_string(&record).unwrap_or_default();
    assert_eq!(found, recorded, "{} differs; NAMDB_BLESS=1 records it again", record.display());
}

#[test]
fn statements_are_carried_out_as_recorded() {
    for name in ["tpcc", "tatp", "smallbank", "ycsb"] {
        check(&format!("{name}.txt"), &workload(name).to_string());
    }
}
