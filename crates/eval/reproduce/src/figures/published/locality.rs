//! [ZB17 7.3, figure 6]: new orders alone on eight machines, by the share of them that access
//! another warehouse, with and without locality, with the protocol as printed.

use super::super::degrees;
use super::scalability::standard;
use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Outcome, Table};
use crate::published::{self, Plan, Seen};
use baselines::nam_db::Placement;
use sim::Reach;
use workload::tpcc::Mix;

/// Machines with a memory server and a compute server each; one more has the vector.
const MACHINES: u16 = 7;
/// Warehouses of each: 203 for the text's 200.
const WAREHOUSES: u32 = 29;
/// Threads of each compute server, as in figure 4 with locality; the text does not print them here.
const THREADS: u16 = 30;
const WHY: [&str; 2] = [
    "with locality cores are the limit, without it the engines of the cards, as the run shows; what limited the original is not \
     printed, nor how many threads it had. The table shows what the gain depends on",
    "a card's engine is busy all the time; how many threads there were, and how many records a bucket had, is not printed. It is \
     printed as more than this",
];

/// Other possible settings of the original: description, threads of each compute server, ports, and
/// a factor on the time of a row.
const OTHERWISE: [(&str, u16, u64, u64); 7] = [
    ("7 threads of each compute server", 7, published::PORTS, 1),
    ("60 threads of each compute server", 60, published::PORTS, 1),
    ("one port in use", THREADS, 1, 1),
    ("rows take cores twice as long", THREADS, published::PORTS, 2),
    ("rows take cores 4 times as long", THREADS, published::PORTS, 4),
    ("rows take cores 8 times as long", THREADS, published::PORTS, 8),
    ("rows take cores 16 times as long", THREADS, published::PORTS, 16),
];

/// Runs both over all degrees of distribution.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let others = &OTHERWISE[..run.quick_or(3, OTHERWISE.len())];
    let mut steps = Steps::of(degrees::count(run) + others.len());
    let both = degrees::both(
        run,
        &mut steps,
        |run, percent, reach| published::run(&plan(run, percent, reach)),
        Seen::new_orders_per_s,
        |seen, name| {
            let mut said = vec![seen.sentence(name, MACHINES + 1)];
            said.extend(seen.sentences());
            said
        },
    );
    let mut rows = Vec::new();
    for &(name, threads, ports, row_times) in others {
        steps.next(run, name);
        rows.push(degrees::row(name, |percent, reach| {
            let plan = Plan { threads, ports, row_times, ..plan(run, percent, reach) };
            published::run(&plan).new_orders_per_s()
        }));
    }
    let sample = plan(run, 0, Reach::Card);
    Outcome {
        parameters: vec![
            ("machines beside the vector's", MACHINES.to_string()),
            ("warehouses of each", WAREHOUSES.to_string()),
            ("threads of each compute server", THREADS.to_string()),
            ("loaded per warehouse", Plan::scale_sentence()),
            ("ports in use", published::PORTS.to_string()),
            ("window in virtual ns", sample.window_ns.to_string()),
        ],
        x: Axis { title: "distributed new orders, percent", is_logarithmic: false },
        y: Axis { title: "million new orders per second", is_logarithmic: false },
        tables: vec![Table {
            shows: "Influences on the printed numbers; none is fitted to them".to_owned(),
            columns: degrees::COLUMNS.map(str::to_owned).to_vec(),
            rows,
        }],
        compared: both.compared(WHY),
        series: both.series,
        notes: both.notes,
    }
}

fn plan(run: &Run<'_>, percent: u32, reach: Reach) -> Plan {
    Plan {
        memory_servers: MACHINES,
        compute_servers: MACHINES,
        threads: THREADS,
        warehouses_each: WAREHOUSES,
        mix: Mix::NEW_ORDER_ONLY,
        distribution_percent: Some(percent),
        machine: Some(reach),
        placement: Placement::Partitions(WAREHOUSES),
        warm_ns: run.quick_or(500_000, 1_000_000),
        window_ns: run.quick_or(1_000_000, 3_000_000),
        ..standard(run, 2, true)
    }
}
