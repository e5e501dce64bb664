//! TPC-C from loading to checking, at a small scale in a local world.

mod damage;
mod loaded;
mod simulated;

use super::*;
use crate::driver::KindTotals;
use fabric::{LocalEnv, run_now};
use txn::local::{OpenConfig, open};
use txn::{DatabaseConfig, Oracle};

/// Number of warehouses of most tests: enough for remote lines and payments.
const WAREHOUSES: u32 = 3;

fn small(warehouses: u32) -> Tpcc {
    let config = Config { scale: Scale::SMALL, seed: 11, ..Config::new(warehouses) };
    Tpcc::new(config).expect("the configuration makes sense")
}

/// A database with the tables of `tpcc` and all parts loaded.
fn loaded(tpcc: &Tpcc) -> Database<LocalEnv> {
    load_into(open_empty(), tpcc)
}

fn load_into(database: Database<LocalEnv>, tpcc: &Tpcc) -> Database<LocalEnv> {
    run_now(tpcc.create_tables(&database)).expect("the tables are new");
    let mut lane = run_now(database.lane()).expect("lanes are free");
    let parts = Workload::<LocalEnv>::load_parts(tpcc);
    for part in 0..parts {
        run_now(tpcc.load_part(&database, &mut lane, part, parts, &|_| {})).expect("it fits");
    }
    database
}

fn open_empty() -> Database<LocalEnv> {
    open(&OpenConfig { servers: 1, server_bytes: 256 << 20, ..OpenConfig::default() })
        .expect("memory can be mapped")
}

/// Runs `count` transactions on one thread.
fn run(
    tpcc: &Tpcc,
    database: &Database<LocalEnv>,
    (thread, threads): (u32, u32),
    transactions: u32,
) -> RunTotals {
    let mut lane = run_now(database.lane()).expect("lanes are free");
    let mut terminal = tpcc.terminal(database, thread, threads, 5).expect("the tables are there");
    let mut totals = RunTotals::new(TYPE_COUNT);
    for _ in 0..transactions {
        let finished = run_now(tpcc.run_one(&mut lane, &mut terminal)).expect("nothing is wrong");
        totals.add(&finished);
    }
    totals
}

fn check(
    tpcc: &Tpcc,
    database: &Database<LocalEnv>,
    totals: &RunTotals,
    after_load: bool,
) -> Vec<CheckResult> {
    let mut lane = run_now(database.lane()).expect("lanes are free");
    run_now(tpcc.check(database, &mut lane, totals, after_load)).expect("the scan succeeds")
}

fn assert_all_hold(results: &[CheckResult]) {
    let failed: Vec<_> = results.iter().filter(|result| !result.ok).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn a_fresh_load_satisfies_every_check() {
    let tpcc = small(WAREHOUSES);
    let database = loaded(&tpcc);
    let results = check(&tpcc, &database, &RunTotals::new(TYPE_COUNT), true);
    assert_all_hold(&results);
    assert_eq!(results.len(), 1 + 12 + 7 + 5);
}

#[test]
fn one_thread_keeps_every_check_and_commits_the_whole_mix() {
    let tpcc = small(WAREHOUSES);
    let database = loaded(&tpcc);
    let totals = run(&tpcc, &database, (0, 1), 4000);
    assert_all_hold(&check(&tpcc, &database, &totals, false));

    let kinds: Vec<KindTotals> = (0..TYPE_COUNT).map(|kind| totals.kind(kind)).collect();
    let finished = |kind: &KindTotals| kind.committed + kind.rolled_back;
    assert_eq!(kinds.iter().map(finished).collect::<Vec<_>>(), [1800, 1720, 160, 160, 160]);
    assert!((4..50).contains(&kinds[0].rolled_back), "{kinds:?}");
    assert_eq!(totals.committed() + kinds[0].rolled_back, 4000);
    assert_eq!(kinds.iter().map(|kind| kind.retries).sum::<u64>(), 0, "no other transaction runs");
}

#[test]
fn two_threads_keep_every_check() {
    let tpcc = small(WAREHOUSES);
    let database = loaded(&tpcc);
    let totals = run_on_threads(&tpcc, &database, 2, 3000);
    assert_all_hold(&check(&tpcc, &database, &totals, false));
    assert!(totals.committed() > 5800, "{totals:?}");
}

/// Two threads share the only warehouse, so they conflict in every payment and half the orders. The
/// run is long enough for version buffers to be freed often between a row's read and its update.
#[test]
fn two_threads_in_one_warehouse_conflict_and_keep_every_check() {
    let tpcc = small(1);
    let database = loaded(&tpcc);
    let totals = run_on_threads(&tpcc, &database, 2, 20_000);
    assert_all_hold(&check(&tpcc, &database, &totals, false));
}

#[test]
fn two_serializable_threads_keep_every_check() {
    for warehouses in [1, WAREHOUSES] {
        let config = Config {
            scale: Scale::SMALL,
            seed: 12,
            isolation: Isolation::Serializable,
            ..Config::new(warehouses)
        };
        let tpcc = Tpcc::new(config).expect("the configuration makes sense");
        let database = loaded(&tpcc);
        let totals = run_on_threads(&tpcc, &database, 2, 3000);
        assert_all_hold(&check(&tpcc, &database, &totals, false));
        let report = run_now(database.check()).expect("readable");
        assert_eq!((&report.errors, &report.locks), (&Vec::new(), &Vec::new()));
    }
}

#[test]
fn two_threads_with_frozen_snapshots_on_three_servers_keep_every_check() {
    let tpcc = small(1);
    let database = DatabaseConfig { oracle: Oracle::Frozen, ..DatabaseConfig::default() };
    let config =
        OpenConfig { servers: 3, server_bytes: 256 << 20, database, ..OpenConfig::default() };
    let database = load_into(open(&config).expect("memory can be mapped"), &tpcc);
    let totals = run_on_threads(&tpcc, &database, 2, 10_000);
    assert_all_hold(&check(&tpcc, &database, &totals, false));
}

/// Each memory server has two of four warehouses with all tables, and the threads share two slots
/// of the vector: commits wait for each other.
#[test]
fn two_threads_that_share_a_slot_over_partitions_keep_every_check() {
    let config = Config { scale: Scale::SMALL, partitions: 2, seed: 5, ..Config::new(4) };
    let tpcc = Tpcc::new(config).expect("the configuration makes sense");
    let database = DatabaseConfig { shares_slot: true, ..DatabaseConfig::default() };
    let config =
        OpenConfig { servers: 2, server_bytes: 256 << 20, database, ..OpenConfig::default() };
    let database = load_into(open(&config).expect("memory can be mapped"), &tpcc);
    assert_all_hold(&check(&tpcc, &database, &RunTotals::new(TYPE_COUNT), true));
    let totals = run_on_threads(&tpcc, &database, 2, 5000);
    assert_all_hold(&check(&tpcc, &database, &totals, false));
    let slots = run_now(database.vector()).expect("it is there");
    assert_eq!(slots.len(), 2, "{slots:?}");
}

#[allow(clippy::disallowed_methods, reason = "the local world is one of threads")]
fn run_on_threads(
    tpcc: &Tpcc,
    database: &Database<LocalEnv>,
    threads: u32,
    transactions: u32,
) -> RunTotals {
    let tpcc = *tpcc;
    let start = |thread| {
        let database = database.for_thread();
        std::thread::spawn(move || run(&tpcc, &database, (thread, threads), transactions))
    };
    let running: Vec<_> = (0..threads).map(start).collect();
    let mut totals = RunTotals::new(TYPE_COUNT);
    for thread in running {
        totals.merge(&thread.join().expect("the thread did not panic"));
    }
    totals
}

#[test]
fn a_second_run_continues_where_the_first_stopped() {
    let tpcc = small(1);
    let database = loaded(&tpcc);
    let mut totals = run(&tpcc, &database, (0, 1), 300);
    totals.merge(&run(&tpcc, &database, (0, 1), 300));
    assert_all_hold(&check(&tpcc, &database, &totals, false));
}

#[test]
fn deliveries_skip_districts_without_open_orders() {
    let tpcc = Tpcc::new(Config { mix: Mix([0, 0, 0, 100, 0]), ..*small(1).config() })
        .expect("the configuration makes sense");
    let database = loaded(&tpcc);
    let totals = run(&tpcc, &database, (0, 1), 12);
    // Nine of thirty orders are open in each of the ten districts.
    let deliveries = totals.kind(TransactionType::Delivery as usize);
    assert_eq!((deliveries.committed, deliveries.skipped), (12, 30));
    assert_all_hold(&check(&tpcc, &database, &totals, false));
}

#[test]
fn terminals_share_the_warehouses() {
    let tpcc = small(7);
    let database = loaded(&small(1));
    let homes = |thread, threads| {
        let mut terminal = tpcc.terminal(&database, thread, threads, 5).expect("there are tables");
        let mut homes: Vec<i16> = (0..300).map(|_| home(&terminal.draw().1)).collect();
        homes.sort_unstable();
        homes.dedup();
        homes
    };
    assert_eq!(homes(0, 3), [1, 4, 7]);
    assert_eq!(homes(1, 3), [2, 5]);
    assert_eq!(homes(2, 3), [3, 6]);
    assert_eq!(homes(0, 1), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(homes(8, 9), [2]);
}

fn home(input: &Input) -> i16 {
    match input {
        Input::NewOrder(input) => input.warehouse,
        Input::Payment(input) => input.warehouse,
        Input::OrderStatus(input) => input.warehouse,
        Input::Delivery(input) => input.warehouse,
        Input::StockLevel(input) => input.warehouse,
    }
}

#[test]
fn absurd_configurations_are_refused_with_a_sentence() {
    let refused = |config| Tpcc::new(config).expect_err("it is absurd").to_string();
    assert!(refused(Config::new(0)).contains("1 to 32767"));
    assert!(refused(Config::new(32_768)).contains("1 to 32767"));
    assert!(Tpcc::new(Config::new(32_767)).is_ok());
    assert!(refused(Config { mix: Mix([1; 5]), ..Config::new(1) }).contains("100 percent"));
    assert!(refused(Config { distribution_percent: Some(101), ..Config::new(1) }).contains("100"));
    let scale = Scale { items: 3, ..Scale::SMALL };
    assert!(refused(Config { scale, ..Config::new(1) }).contains("15 items"));
}

#[test]
fn a_database_without_tables_says_so() {
    let error = small(1).terminal(&open_empty(), 0, 1, 1).expect_err("nothing was created");
    assert!(error.to_string().contains("create and load"));
}
