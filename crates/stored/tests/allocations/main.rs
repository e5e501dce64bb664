//! Calls of generated code take no memory of the process, but for lists that grow: what they need is kept from call to call.

use fabric::{LocalEnv, run_now};
use std::path::PathBuf;
use stored::{Options, Stored};
use txn::Isolation;
use txn::local::{OpenConfig, open};
use workload::{TransactionResult, Workload};

/// Bytes of memory.
const SERVER_BYTES: u64 = 3 << 30;
/// Calls after which everything that is kept has grown as far as it does.
const PRACTICE: u64 = 20_000;
/// Calls that are counted.
const COUNTED: u64 = 20_000;

/// At most one allocation in so many calls.
const SELDOM: u64 = 1_000;

/// Allocations of calls that commit, and how many calls these are. Errors that procedures raise have texts, which take memory.
fn allocations(name: &str) -> (u64, u64) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../workloads").join(name);
    let options = Options {
        units: Some(1),
        wants_plans: false,
        linked: &[],
        design: None,
        isolation: Isolation::Snapshot,
        seed: 1,
    };
    let stored = Stored::read(&folder, &options).unwrap_or_else(|error| panic!("{error}"));
    let config = OpenConfig { servers: 1, server_bytes: SERVER_BYTES, ..OpenConfig::default() };
    let database = open(&config).expect("memory can be mapped");
    let made = Workload::<LocalEnv>::create_tables(&stored, &database);
    run_now(made).unwrap_or_else(|error| panic!("{error}"));
    let mut lane = run_now(database.lane()).expect("lanes are free");
    let loaded = stored.load_part(&database, &mut lane, 0, 1, &|_| ());
    run_now(loaded).unwrap_or_else(|error| panic!("{error}"));
    let terminal = Workload::<LocalEnv>::terminal(&stored, &database, 0, 1, 1);
    let mut terminal = terminal.unwrap_or_else(|error| panic!("{error}"));
    let (mut count, mut committed) = (0, 0);
    for call in 0..PRACTICE + COUNTED {
        let mut ended = None;
        let counted = allocation_counter::measure(|| {
            ended = Some(run_now(stored.run_one(&mut lane, &mut terminal)));
        });
        let ended = ended.expect("it was called").unwrap_or_else(|error| panic!("{error}"));
        if call >= PRACTICE && matches!(ended.result, TransactionResult::Committed) {
            count += counted.count_total;
            committed += 1;
        }
    }
    (count, committed)
}

#[test]
fn calls_of_generated_code_take_no_memory() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(counted.count_total, 1, "the counter counts");
    let mut much = Vec::new();
    for name in ["smallbank", "tatp", "tpcc", "ycsb"] {
        let (count, committed) = allocations(name);
        println!("{name}: {count} allocations in {committed} calls");
        assert!(committed > COUNTED / 2, "{name}: {committed}");
        // Lists of what is kept grow now and then.
        let is_rare = count * SELDOM <= committed;
        if !is_rare {
            much.push(format!("{name}: {count} allocations in {committed} calls"));
        }
    }
    assert!(much.is_empty(), "{much:?}");
}
