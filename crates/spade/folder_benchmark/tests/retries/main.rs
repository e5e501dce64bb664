//! Committed calls report their number of retries, by generated code and by the interpreter.

#[path = "../support/loaded.rs"]
mod loaded;

use fabric::{LocalEnv, run_now};
use folder_benchmark::{Options, Stored};
use interpreter::Settings;
use loaded::loaded;
use procedure_runtime::{Argument, Caller};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use txn::{Database, Isolation};

const THREADS: usize = 4;
/// Maximal number of calls per thread.
const CALLS_MAX: u32 = 2_000_000;
const SERVER_BYTES: u64 = 256 << 20;

fn small_bank() -> Stored {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads/smallbank");
    let isolation = Isolation::Snapshot;
    let options = Options {
        units: Some(1),
        wants_plans: true,
        linked: &[],
        design: None,
        isolation,
        seed: 0,
    };
    Stored::read(&folder, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// Pays into one account until a call of some thread commits after a retry.
fn pay(database: &Database<LocalEnv>, stored: &Stored, is_found: &AtomicBool) {
    let mut lane = run_now(database.lane()).expect("lanes are free");
    let caller = Caller::of_plans(database, stored.ready(), Settings::default());
    let mut caller = caller.unwrap_or_else(|error| panic!("{error}"));
    let procedure = caller.find("deposit_checking").expect("the workload has it");
    let arguments = [Argument::Int(7), Argument::Int(1)];
    for _ in 0..CALLS_MAX {
        let before = caller.counts().retries;
        let called = run_now(caller.call(&mut lane, procedure, &arguments));
        called.map(drop).unwrap_or_else(|error| panic!("{error}"));
        let aborts = caller.aborts().len() as u64;
        assert_eq!(caller.counts().retries - before, aborts);
        if aborts > 0 {
            is_found.store(true, Relaxed);
        }
        if is_found.load(Relaxed) {
            return;
        }
    }
}

#[test]
fn retries_of_the_executor_are_counted_where_a_call_commits() {
    let stored = small_bank();
    let (database, _lane) = loaded(&stored, SERVER_BYTES);
    let is_found = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let (database, stored, is_found) = (database.clone(), &stored, &is_found);
            scope.spawn(move || pay(&database, stored, is_found));
        }
    });
    assert!(is_found.into_inner(), "threads that write the same row never met");
}
