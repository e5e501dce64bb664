//! Calls by generated code allocate no memory: buffers are reused from call to call.

#[path = "../support/loaded.rs"]
mod loaded;

use datagen::Mix;
use fabric::run_now;
use folder_benchmark::{Options, Stored};
use loaded::loaded;
use std::path::PathBuf;
use txn::Isolation;
use workload::TransactionResult;

const SERVER_BYTES: u64 = 3 << 30;
/// Warm-up calls, after which reused buffers no longer grow.
const PRACTICE: u64 = 20_000;
const COUNTED: u64 = 20_000;

/// At most one allocation per this number of calls: lists of reused buffers grow occasionally.
const SELDOM: u64 = 500;
/// Procedures whose calls split leaves, merge leaves, or follow overflow chains. Each of these
/// allocates memory outside of generated code, in at most one of [`EACH`] calls.
const MOVING: [&str; 6] = [
    "new_order",
    "payment",
    "delivery",
    "get_new_destination",
    "insert_call_forwarding",
    "delete_call_forwarding",
];
const EACH: u64 = 4;

/// Committed calls of a procedure. Errors that procedures raise have texts, which are allocated.
#[derive(Clone, Copy, Debug)]
struct Counts {
    procedure: &'static str,
    calls: u64,
    /// Calls that allocated, and the number of all allocations.
    taking: u64,
    allocations: u64,
}

fn allocations(name: &str) -> Vec<Counts> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(name);
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
    let none =
        |name: &&'static str| Counts { procedure: name, calls: 0, taking: 0, allocations: 0 };
    let mut all: Vec<Counts> = names.map(none).collect();
    for call in 0..PRACTICE + COUNTED {
        // The caller owns the texts of arguments.
        let ready = callee.ready(calls.next_call(0));
        let mut ended = None;
        let counted = allocation_counter::measure(|| {
            ended = Some(run_now(callee.carry_out(&mut lane, &ready)));
        });
        let ended = ended.expect("it was called");
        let ended = ended.unwrap_or_else(|error| panic!("{error}"));
        if call >= PRACTICE && matches!(ended.result, TransactionResult::Committed) {
            let of = &mut all[ended.kind];
            of.calls += 1;
            of.taking += u64::from(counted.count_total > 0);
            of.allocations += counted.count_total;
        }
    }
    all
}

#[test]
fn calls_of_generated_code_take_no_memory() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(counted.count_total, 1, "the counter counts");
    let all = ["smallbank", "tatp", "tpcc", "ycsb"].into_iter().flat_map(allocations);
    let all: Vec<Counts> = all.filter(|of| of.calls > 0).collect();
    println!("{all:#?}");
    let is_moving = |of: &Counts| MOVING.contains(&of.procedure);
    let (moving, kept): (Vec<Counts>, Vec<Counts>) = all.iter().partition(|of| is_moving(of));
    assert!(kept.len() >= 14 && moving.len() == MOVING.len(), "{all:?}");
    let much = |of: &Counts| of.allocations * SELDOM > of.calls + SELDOM;
    assert!(!kept.iter().any(much), "{kept:?}");
    assert!(moving.iter().all(|of| of.taking * EACH <= of.calls), "{moving:?}");
}
