//! A small loaded database of read-only records, for tests of runs.

use super::driver::{self, Run, RunPlan, Span, Standing, Watcher};
use super::load::{self, Loaded};
use super::part::Part;
use super::world::{self, WorldPlan};
use namdb::Db;
use std::sync::atomic::AtomicBool;
use workload::Ycsb;
use workload::ycsb::{Mix, YcsbConfig};

pub fn loaded() -> (Db, Ycsb, Loaded) {
    let config = YcsbConfig { records: 1000, mix: Mix::C, ..YcsbConfig::default() };
    let workload = Ycsb::new(config).expect("the configuration is sound");
    let plan = WorldPlan {
        servers: 1,
        memory_bytes: Some(48 << 20),
        threads: 1,
        oracle: namdb::Oracle::DoubleCollect,
        seed: 1,
        directory: Default::default(),
    };
    let db = world::open(&plan, 0).expect("this machine has 48 MiB");
    let stop = AtomicBool::new(false);
    let loaded = load::load(&db, &workload, 1, &stop).expect("1000 records fit");
    (db, workload, loaded)
}

struct Nobody;

impl Watcher for Nobody {
    fn show(&mut self, _standing: &Standing) {}
    fn span(&mut self, _span: &Span) {}
}

/// Runs reads for a short time.
pub fn run(db: &Db, workload: &Ycsb) -> Run {
    let plan = RunPlan {
        threads: 1,
        warm_up_s: 0.0,
        window_s: 0.05,
        windows: 1,
        seed: 1,
        rate: None,
        part: Part::WHOLE,
        run_metrics: None,
    };
    let stop = AtomicBool::new(false);
    driver::run(db, workload, &plan, &stop, &mut Nobody).expect("it only reads")
}
