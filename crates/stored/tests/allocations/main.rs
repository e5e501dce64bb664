//! Calls of generated code take no memory of the process: what they need is kept from call to call.

#[path = "../support/loaded.rs"]
mod loaded;

use fabric::run_now;
use loaded::loaded;
use population::Mix;
use std::path::PathBuf;
use stored::{Options, Stored};
use txn::Isolation;
use workload::TransactionResult;

/// Bytes of memory.
const SERVER_BYTES: u64 = 3 << 30;
/// Calls after which everything that is kept has grown as far as it does.
const PRACTICE: u64 = 20_000;
/// Calls that are counted.
const COUNTED: u64 = 20_000;

/// At most one allocation in so many calls: lists of what is kept grow now and then.
const SELDOM: u64 = 500;
/// Procedures whose calls split leaves, merge them, or look behind full buckets, all of which takes memory where it happens: one call in
/// seven at most, and not by generated code.
const MOVING: [&str; 6] = [
    "new_order",
    "payment",
    "delivery",
    "get_new_destination",
    "insert_call_forwarding",
    "delete_call_forwarding",
];

/// Of each procedure its name, allocations of calls that commit, and how many calls these are. Errors that procedures raise have texts,
/// which take memory.
fn allocations(name: &str) -> Vec<(&'static str, u64, u64)> {
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
    let (database, mut lane) = loaded(&stored, SERVER_BYTES);
    let mut callee = stored.callee(&database).unwrap_or_else(|error| panic!("{error}"));
    let mut calls = stored.population().calls(0, 1, Mix::Deck);
    let names = stored.procedure_names().iter();
    let mut all: Vec<(&str, u64, u64)> = names.map(|name| (*name, 0, 0)).collect();
    for call in 0..PRACTICE + COUNTED {
        // Texts of arguments are whoever's who calls.
        let ready = callee.ready(calls.next_call(0));
        let mut ended = None;
        let counted = allocation_counter::measure(|| {
            ended = Some(run_now(callee.carry_out(&mut lane, &ready)));
        });
        let ended = ended.expect("it was called");
        let (ended, _) = ended.unwrap_or_else(|error| panic!("{error}"));
        if call >= PRACTICE && matches!(ended.result, TransactionResult::Committed) {
            all[ended.kind].1 += counted.count_total;
            all[ended.kind].2 += 1;
        }
    }
    all
}

#[test]
fn calls_of_generated_code_take_no_memory() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(counted.count_total, 1, "the counter counts");
    let all = ["smallbank", "tatp", "tpcc", "ycsb"].into_iter().flat_map(allocations);
    let all: Vec<(&str, u64, u64)> = all.filter(|(.., calls)| *calls > 0).collect();
    println!("procedure, allocations, calls: {all:?}");
    let kept = all.iter().filter(|(name, ..)| !MOVING.contains(name));
    let much: Vec<_> =
        kept.clone().filter(|(_, count, calls)| count * SELDOM > *calls + SELDOM).collect();
    assert!(kept.count() >= 14, "{all:?}");
    assert!(much.is_empty(), "{much:?}");
}
