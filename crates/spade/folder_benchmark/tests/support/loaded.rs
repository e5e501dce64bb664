//! A local database with a workload's tables, loaded by one lane.

use fabric::{LocalEnv, run_now};
use folder_benchmark::Stored;
use txn::local::{OpenConfig, open};
use txn::{Database, Lane};
use workload::Workload;

/// Creates and loads the tables.
pub fn loaded(stored: &Stored, server_bytes: u64) -> (Database<LocalEnv>, Lane<LocalEnv>) {
    let config = OpenConfig { servers: 1, server_bytes, ..OpenConfig::default() };
    let database = open(&config).expect("memory can be mapped");
    let made = Workload::<LocalEnv>::create_tables(stored, &database);
    run_now(made).unwrap_or_else(|error| panic!("{error}"));
    let mut lane = run_now(database.lane()).expect("lanes are free");
    let loaded = stored.load_part(&database, &mut lane, 0, 1, &|_| ());
    run_now(loaded).unwrap_or_else(|error| panic!("{error}"));
    (database, lane)
}
